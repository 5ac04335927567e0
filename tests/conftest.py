"""Environments that tests of more than one part trace in."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PICTURES = REPOSITORY / "build" / "screenshots"


def pytest_configure() -> None:
    """What shells start in the background ignores Ctrl-C, and so would all that tests start and interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Keeps what the page of a browser test looked like at its end, while all that it shows is still there."""
    page = getattr(item, "funcargs", {}).get("page")
    if page is not None and not page.is_closed():
        name = re.sub(r"[^\w.-]+", "-", item.name).strip("-")
        page.screenshot(path=PICTURES / item.path.parent.name / f"{name}.png")


@pytest.fixture(scope="session")
def models_python() -> str:
    """A Python with JAX and Flax and nothing of ours. Missing is a failure: tests that need it prove promises."""
    python = os.environ.get("TVLS_TEST_PYTHON", str(REPOSITORY / ".venv-models" / "bin" / "python"))
    if not Path(python).is_file():
        pytest.fail(f"{python} is not there: run `make models`, or set TVLS_TEST_PYTHON")
    return python


@pytest.fixture(scope="session")
def torch_python() -> str:
    """A Python with PyTorch and without JAX."""
    python = os.environ.get("TVLS_TEST_TORCH", str(REPOSITORY / ".venv-torch" / "bin" / "python"))
    if not Path(python).is_file():
        pytest.fail(f"{python} is not there: run `make torch`, or set TVLS_TEST_TORCH")
    return python
