"""Waiting for processes without threads, and ending them with everything that they started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess

import psutil

from tvls.environments.launch import MARK


async def ended(process: subprocess.Popen[bytes]) -> int:
    """Exit code of `process` (negative: the signal) once it has ended. May be awaited by several tasks."""
    watch = _open_pidfd(process) if process.poll() is None else None
    if watch is not None:
        loop = asyncio.get_running_loop()
        event = asyncio.Event()
        loop.add_reader(watch, event.set)
        try:
            await event.wait()
        finally:
            loop.remove_reader(watch)
            os.close(watch)
    while (code := process.poll()) is None:  # noqa: ASYNC110  (nothing sets an event where there is no pidfd)
        await asyncio.sleep(0.01)
    return code


def _open_pidfd(process: subprocess.Popen[bytes]) -> int | None:
    if not hasattr(os, "pidfd_open"):  # macOS
        return None
    try:
        return os.pidfd_open(process.pid)
    except OSError:  # a kernel or sandbox without it, or no descriptor left: poll instead
        return None


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the session that `process` was started in. Does nothing once it has been waited for."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def kill_marked(mark: str) -> int:
    """SIGKILL to every process that inherited `mark`, wherever it has moved to. Returns how many there were.

    The last resort where the process that watches over its descendants was itself killed. Takes milliseconds for each
    hundred processes of the machine: call it in a thread.
    """
    killed = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark:
                process.kill()
                killed += 1
    return killed
