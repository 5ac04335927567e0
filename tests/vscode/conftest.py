"""Debian's Chromium, and VS Code with the extension in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.canvas.conftest import browser_type_launch_args as browser_type_launch_args
from tests.vscode.code_server import EXTENSION, INSTALLED, TRUSTED, VSCode, server_settings, vscode


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "viewport": {"width": 1440, "height": 900}}


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    if not (INSTALLED / "version").is_file() or not (EXTENSION / "tvls.vsix").is_file():
        pytest.fail("run `make vscode vscode-editor` first: VS Code or the packaged extension is not there")


@pytest.fixture
def trusting(tmp_path: Path, models_python: str) -> Iterator[VSCode]:
    """VS Code to which every folder is trusted."""
    with vscode(tmp_path / "vscode", {**server_settings(models_python), **TRUSTED}) as running:
        yield running


@pytest.fixture
def editor(tmp_path: Path, models_python: str) -> Iterator[VSCode]:
    with vscode(tmp_path / "vscode", server_settings(models_python)) as running:
        yield running
