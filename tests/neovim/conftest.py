from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def nvim_path() -> str:
    """Neovim 0.11 or newer: the one of the development environment, unless another is named."""
    path = os.environ.get("TVLS_TEST_NVIM", str(Path(sys.executable).parent / "nvim"))
    if not shutil.which(path):
        pytest.fail(f"{path} is not there: run `make env`, or set TVLS_TEST_NVIM")
    return path
