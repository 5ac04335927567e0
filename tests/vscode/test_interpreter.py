"""The Python extension's selection is followed: by stand-ins for it, with the APIs that it publishes the types of."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.vscode.code_server import EXTENSION, TRUSTED, server_settings, stand_in, vscode
from tests.vscode.window import freshness, lens, panel, patient


@pytest.mark.parametrize("newer", [False, True], ids=["ms-python.python", "ms-python.vscode-python-envs"])
def test_the_selection_of_the_python_extension(page: Page, tmp_path: Path, models_python: str, newer: bool) -> None:
    patient(page)
    folder = tmp_path / "sample"
    shutil.copytree(EXTENSION / "media" / "sample", folder)

    def select(python: str) -> None:
        (folder / ".vscode").mkdir(exist_ok=True)
        (folder / ".vscode" / "settings.json").write_text(json.dumps({"python.defaultInterpreterPath": python}))

    select(models_python)
    settings: dict[str, Any] = {**server_settings(models_python), **TRUSTED}
    del settings["tvls.interpreter"]
    settings["python.useEnvironmentsExtension"] = newer  # both are installed, as usual; off, the newer one has no API
    packages = [stand_in(name, tmp_path) for name in ("python", "environments")]
    with vscode(tmp_path / "vscode", settings, others=packages) as editor:
        page.goto(editor.url(folder, opened=folder / "model.py"))
        lens(page).first.click()
        graph = panel(page)
        expect(freshness(graph)).to_have_text("fresh")

        # Another selection counts at once, with nothing asked for: the graph is of another Python's libraries.
        select(sys.executable)
        expect(freshness(graph)).to_have_text("stale")
        select(models_python)
        expect(freshness(graph)).to_have_text("fresh")
