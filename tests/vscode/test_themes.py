"""The panel takes the editor's colours, and keeps what they promise to those who need contrast."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from playwright.sync_api import Frame, Page, expect

from tests.canvas.test_access import violations
from tests.vscode.code_server import EXTENSION, VSCode
from tests.vscode.window import box, freshness, lens, panel, patient

THEMES = {
    "Dark Modern": ("vscode-dark", "rgb(31, 31, 31)"),
    "Default High Contrast": ("vscode-high-contrast", "rgb(0, 0, 0)"),
    "Default High Contrast Light": ("vscode-high-contrast-light", "rgb(255, 255, 255)"),
}


def test_themes(page: Page, trusting: VSCode, tmp_path: Path) -> None:
    patient(page)
    folder = tmp_path / "sample"
    shutil.copytree(EXTENSION / "media" / "sample", folder)
    (folder / ".vscode").mkdir()
    page.goto(trusting.url(folder, opened=folder / "model.py"))
    lens(page).first.click()
    graph = panel(page)
    expect(freshness(graph)).to_have_text("fresh")
    box(graph, "dot_general").click()
    expect(lens(page, "fresh")).to_be_visible()  # although the code lost the focus in the moment of the change
    for theme, (kind, background) in THEMES.items():
        (folder / ".vscode" / "settings.json").write_text(json.dumps({"workbench.colorTheme": theme}))
        body = graph.locator(f"body.{kind}")
        expect(body).to_have_css("background-color", background)
        if "contrast" in kind:
            border = body.evaluate("body => getComputedStyle(body).getPropertyValue('--vscode-contrastBorder')")
            expect(box(graph, "norm").locator("rect").first).to_have_css("stroke", rgb(border))
        assert violations(_frame(page)) == []


def _frame(page: Page) -> Frame:
    outer = page.locator("iframe.webview.ready").element_handle()
    frame = outer and outer.content_frame()
    inner = frame and frame.wait_for_selector("#active-frame")
    found = inner and inner.content_frame()
    assert found
    return found


def rgb(colour: str) -> str:
    red, green, blue = (int(colour.strip()[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"
