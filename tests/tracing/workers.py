"""Requests and environments for tests of workers, and ways to look at the processes that they leave."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tvls.environments.launch import MARK
from tvls.environments.probe import Environment

TEST = "TVLS_TEST"
"""Environment variable by which workers of one test are told from those of another that runs at the same time."""

FAKE_WORKER = Path(__file__).with_name("fake_worker.py")


def request_for(workspace: Path, qualname: str = "net", *, framework: str = "jax", **changes: Any) -> dict[str, Any]:
    """A trace request for a function of `model.py`; `limits`, `args`, `inputs`, `device`, `module`, `path`, `kind`."""
    return {
        "workspace": str(workspace),
        "sysPath": changes.get("sysPath", [str(workspace)]),
        "target": {
            "kind": changes.get("kind", "jax.function"),
            "module": changes.get("module", "model"),
            "qualname": qualname,
            "path": changes.get("path", "model.py"),
            "line": 1,
        },
        "setup": {
            "profile": "p",
            "digest": "sha256:00",
            "framework": framework,
            "mode": "eval",
            "device": changes.get("device", "cpu"),
            "seed": 0,
            "init": {"args": [], "kwargs": {}},
            "inputs": changes.get("inputs", {"args": changes.get("args", []), "kwargs": {}}),
        },
        "limits": changes.get("limits", {}),
    }


def environment_of(python: str, folder: Path) -> Environment:
    """An environment that needs no probing: for tests that are not about probing."""
    return Environment(
        command=(python,),
        folder=str(folder),
        executable=python,
        prefix=str(Path(python).parent.parent),
        python="3",
        libraries={},
        paths=(),
        fingerprint="",
    )


def marked_processes() -> list[psutil.Process]:
    """Every live process that a worker of this test started, however it hides."""
    found = []
    for process in psutil.process_iter():
        try:
            environ = process.environ()
            if MARK in environ and environ.get(TEST) == os.environ[TEST] and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def marked_sessions() -> set[int]:
    """Sessions of those. A warm worker and the fork that it keeps ahead are one; each trace is one of its own."""
    found: set[int] = set()
    for process in marked_processes():
        with contextlib.suppress(ProcessLookupError):
            found.add(os.getsid(process.pid))
    return found


def traces_of(zygote: int) -> list[psutil.Process]:
    """Traces and all that they started. Each trace is a session of its own; the fork that waits ahead not yet."""
    found = []
    try:
        session = os.getsid(zygote)
        for process in psutil.Process(zygote).children(recursive=True):
            with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
                if process.status() != psutil.STATUS_ZOMBIE and os.getsid(process.pid) != session:
                    found.append(process)
    except (ProcessLookupError, psutil.NoSuchProcess):
        return []
    return found


async def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {seconds} s")
        await asyncio.sleep(0.02)
