"""A person opens a folder in VS Code and works: the real editor, the real server, real JAX and Flax."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.vscode.code_server import VSCode
from tests.vscode.window import box, freshness, lens, panel, patient, replace, toast

MODEL = """\
import jax
import jax.numpy as jnp
from flax import linen as nn

open("RAN", "w").close()


class MLP(nn.Module):
    width: int = 32

    @nn.compact
    def __call__(self, x):
        hidden = nn.relu(nn.Dense(self.width)(x))
        scaled = hidden * 2.0
        return nn.Dense(4)(scaled)
"""


def test_from_an_untrusted_folder_to_a_graph_that_follows(page: Page, editor: VSCode, tmp_path: Path) -> None:
    # R1, R4, R10, R25, R26, R27, R28
    patient(page)
    folder, ran = tmp_path / "net", tmp_path / "ran"
    folder.mkdir()
    model = folder / "model.py"
    model.write_text(MODEL.replace("RAN", str(ran)))
    graph = panel(page)

    # Restricted Mode: the lens is there, and nothing runs.
    page.goto(editor.url(folder, opened=model))
    lens(page).click()
    toast(page, "which is in Restricted Mode").get_by_role("button", name="Manage Workspace Trust").click()
    assert not ran.exists()
    assert page.locator("iframe.webview.ready").count() == 0

    # Trust, and the form with what only the person knows.
    trust = page.locator(".monaco-modal-editor-block, .workspace-trust-editor").first
    trust.locator(".workspace-trust-buttons-row a.monaco-button", has_text=re.compile("^Trust$")).first.click()
    page.locator(".monaco-modal-editor-block").get_by_role("button", name="Close").last.click()
    lens(page).click()
    graph.get_by_label("shape").fill("8, 16")
    graph.get_by_role("button", name="Save and open").click()
    expect(box(graph, "MLP/Dense_0")).to_be_visible()
    assert ran.exists()
    assert "shape = [8, 16]" in (folder / "tensorviz.toml").read_text()
    expect(freshness(graph)).to_have_text("fresh")

    # A node goes to its line, beside the graph, and the code learns its shapes.
    box(graph, "MLP/mul").click()
    expect(page.locator(".line-numbers.active-line-number")).to_have_text("14")
    expect(page.locator(".selected-text").first).to_be_visible()
    page.locator(".view-line", has_text="scaled = hidden").get_by_text("hidden", exact=False).first.hover()
    expect(page.locator(".monaco-hover", has_text="float32[8, 32]").first).to_contain_text("inferred · fresh")
    page.keyboard.press("Escape")

    # The graph follows what is saved.
    replace(page, "* 2.0", "* 2.0 + 1.0")
    expect(freshness(graph)).to_have_text("stale")
    page.keyboard.press("ControlOrMeta+s")
    expect(box(graph, "MLP/add")).to_be_visible()
    expect(freshness(graph)).to_have_text("fresh")

    # A shape that does not fit: a mark on the line, and the graph before it is still shown.
    replace(page, "* 2.0 + 1.0", "@ jnp.ones((5, 5))")
    page.keyboard.press("ControlOrMeta+s")
    expect(graph.locator(".banner.failed")).to_be_visible()
    expect(page.locator(".squiggly-error").first).to_be_visible()
    expect(lens(page, "failed")).to_be_visible()

    # Undone, it is as it was.
    page.keyboard.press("ControlOrMeta+z")
    page.keyboard.press("ControlOrMeta+s")
    expect(freshness(graph)).to_have_text("fresh")
    expect(graph.locator(".banner.failed")).to_have_count(0)
    expect(page.locator(".squiggly-error")).to_have_count(0)

    # A server that dies comes back, and so does the graph.
    (daemon,) = editor.daemons()
    daemon.kill()
    expect(graph.locator(".banner.disconnected")).to_be_visible()
    expect(graph.locator(".banner.disconnected")).to_have_count(0)
    expect(box(graph, "MLP/add")).to_be_visible()
    expect(freshness(graph)).to_have_text("fresh")
    (again,) = editor.daemons()
    assert again.pid != daemon.pid

    # The window is loaded again: the panel is where it was.
    page.wait_for_timeout(8000)  # VS Code in a browser writes down every five seconds what is open
    page.goto(editor.url(folder))
    expect(box(graph, "MLP/add")).to_be_visible()
    expect(freshness(graph)).to_have_text("fresh")
