"""A pool of real workers over a stand-in for JAX."""

from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.tracing.workers import FAKE_WORKER, TEST, environment_of
from tvls.environments.probe import Environment
from tvls.tracing.pool import WorkerPool


@pytest.fixture(autouse=True)
def named_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TEST, secrets.token_hex(8))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(workspace: Path) -> Environment:
    return environment_of(sys.executable, workspace)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(script=FAKE_WORKER)
    yield pool
    await pool.aclose()
