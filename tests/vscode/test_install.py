"""Without a server anywhere, the extension installs its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.vscode.code_server import EXTENSION, TRUSTED, vscode
from tests.vscode.window import lens

SECONDS = 150_000


def test_a_server_of_its_own(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # R1
    page.set_default_timeout(SECONDS)
    expect.set_options(timeout=SECONDS)
    folder = tmp_path / "sample"
    shutil.copytree(EXTENSION / "media" / "sample", folder)
    places = os.environ["PATH"].split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(place for place in places if not (Path(place) / "tvls").exists()))
    with vscode(tmp_path / "vscode", TRUSTED, source=False) as editor:
        page.goto(editor.url(folder, opened=folder / "model.py"))
        offer = page.locator(".notification-toast", has_text="found no server")
        offer.get_by_role("button", name="Install Server").click()
        expect(lens(page)).to_have_count(3)
        (daemon,) = editor.daemons()
        assert daemon.cmdline()[0].startswith(str(tmp_path / "vscode"))
