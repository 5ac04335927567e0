"""Debian's Chromium instead of a downloaded one, and a daemon to look at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.canvas.daemon import INPUT, Daemon, small_model, tvls_open


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: from the first on, Playwright keeps a loop running, which asyncio's tests cannot have."""
    items.sort(key=lambda item: "playwright" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    chromium = os.environ.get("TVLS_TEST_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        pytest.fail("there is no chromium: run `make chromium`, or set TVLS_TEST_CHROMIUM")
    flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium's sandbox does not start as root
    return {**browser_type_launch_args, "executable_path": chromium, "headless": True, "args": flags}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, models_python: str) -> Iterator[Daemon]:
    """One for a module of tests; its address is opened already."""
    folder = small_model(tmp_path_factory.mktemp("canvas") / "net")
    with tvls_open(folder, "model.py:net", models_python, INPUT) as running:
        assert running.cookie
        yield running


@pytest.fixture
def fresh_daemon(tmp_path: Path, models_python: str) -> Iterator[Daemon]:
    """One whose address nobody has opened."""
    folder = small_model(tmp_path / "net")
    with tvls_open(folder, "model.py:net", models_python, INPUT) as running:
        yield running
