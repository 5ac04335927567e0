"""The setup form without a graph."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.vscode.code_server import EXTENSION, VSCode
from tests.vscode.window import box, command, freshness, lens, panel, patient


def test_edit_setup_before_any_graph(page: Page, trusting: VSCode, tmp_path: Path) -> None:  # R10
    patient(page)
    folder = tmp_path / "sample"
    shutil.copytree(EXTENSION / "media" / "sample", folder)
    model, setup = folder / "model.py", folder / "tensorviz.toml"
    ran = tmp_path / "ran"
    model.write_text(f"open({str(ran)!r}, 'w').close()\n{model.read_text()}")
    page.goto(trusting.url(folder, opened=model))
    expect(lens(page)).to_have_count(3)

    # Of the model at the cursor, with what the file has; nothing is traced for it.
    page.locator(".view-line", has_text="def net").first.click()
    command(page, "TensorViz: Edit Setup")
    form = panel(page)
    shape = form.locator(".setup-form").get_by_label("shape").first
    expect(shape).to_have_value("8, 16")
    expect(form.get_by_role("button", name="Open as it is")).to_be_visible()
    assert not ran.exists()

    # What is saved is opened.
    shape.fill("4, 16")
    form.get_by_role("button", name="Save and open").click()
    expect(freshness(form)).to_have_text("fresh")
    assert "[4, 16]" in setup.read_text()
    assert ran.exists()

    # With a graph, the form stands in its panel.
    command(page, "TensorViz: Edit Setup")
    expect(shape).to_have_value("4, 16")
    form.get_by_role("button", name="Back to the graph").click()
    expect(box(form, "dot_general")).to_be_visible()

    # A renamed file takes its panel along: for Python the model has another name now, which its profile does not have.
    page.locator(".explorer-folders-view .monaco-list-row", has_text="model.py").click()
    page.keyboard.press("F2")
    name = page.locator(".explorer-folders-view .monaco-inputbox input")
    name.fill("other.py")
    name.press("Enter")
    page.locator(".tab", has_text="net").click()
    expect(form.locator(".banner", has_text="is for model:net, not for other:net")).to_be_visible()
