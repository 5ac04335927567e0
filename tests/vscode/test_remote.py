"""Where the browser is not on the machine of the code: what VS Code's address leads to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.vscode.code_server import EXTENSION, TRUSTED, server_settings, vscode
from tests.vscode.window import lens, patient


def test_a_page_through_the_address_of_the_editor(
    page: Page, context: BrowserContext, tmp_path: Path, models_python: str
) -> None:  # R28
    patient(page)
    folder = tmp_path / "sample"
    shutil.copytree(EXTENSION / "media" / "sample", folder)
    target = {"uri": (folder / "model.py").as_uri(), "name": "net"}
    keys = [{"key": "ctrl+alt+b", "command": "tvls.server.openInBrowser", "args": target}]
    with vscode(tmp_path / "vscode", {**server_settings(models_python), **TRUSTED}, proxy=True) as editor:
        (editor.state / "user" / "User" / "keybindings.json").write_text(json.dumps(keys))
        page.goto(editor.url(folder, opened=folder / "model.py"))
        expect(lens(page)).to_have_count(3)
        page.locator(".view-line", has_text="def net").first.click()
        with context.expect_page() as opening:
            page.keyboard.press("Control+Alt+b")
        opened = opening.value
        assert opened.url.startswith(f"{editor.address}/proxy/")
        expect(opened.locator('.canvas .box[data-id*="dot_general"]').first).to_be_visible()
        expect(opened.locator(".badge.freshness, [data-badge=freshness]").first).to_have_text("fresh")
