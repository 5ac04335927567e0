"""What the extension gives VS Code, asked from within: clients/vscode/test/host/host.ts."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import Page

from tests.vscode.code_server import EXTENSION, server_settings, vscode

SECONDS = 150


def test_in_the_extension_host(page: Page, tmp_path: Path, models_python: str) -> None:
    # R1, R25, R28, R35, R39
    folder = tmp_path / "sample"
    shutil.copytree(EXTENSION / "media" / "sample", folder)
    said: list[str] = []
    ended: list[int] = []
    page.expose_function("codeAutomationLog", lambda kind, arguments: said.append(f"{kind}: {arguments}"))
    page.expose_function("codeAutomationExit", lambda code, *_: ended.append(code))
    with vscode(tmp_path / "vscode", server_settings(models_python), host_tests=True) as editor:
        options = {
            "extensionDevelopmentPath": str(EXTENSION),
            "extensionTestsPath": str(EXTENSION / "build" / "host.js"),
        }
        page.goto(editor.url(folder, **options))
        for _ in range(SECONDS * 5):
            if ended:
                break
            page.wait_for_timeout(200)
        assert ended == [0], "\n".join([*said[-20:], editor.logs()])
