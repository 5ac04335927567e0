"""Waiting for processes without threads, and ending them with everything that they started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable

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
    """SIGKILL to the session that `process` was started in. Does nothing once it has been waited for.

    It may have ended: as long as nobody has waited for it, its number is its own, and what it started can be ended.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def guard(process: subprocess.Popen[bytes]) -> Callable[[], None]:
    """Have the session of `process` killed if the daemon ends, in whatever way, before the answer is called.

    For as long as no code of ours runs in `process`, which would see to that itself: an interpreter can hang before it
    comes to it, or be a wrapper. The answer may be called again, and takes about a millisecond.
    """
    if sys.platform == "win32":
        return lambda: None
    script = 'read -r _ || kill -s KILL -- "-$1"'  # the end of its standard input is the end of the daemon
    try:
        keeper = subprocess.Popen(
            ["/bin/sh", "-c", script, "tvls-guard", str(process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )
    except OSError:  # no shell, or no more processes: what the worker does by itself has to be enough
        return lambda: None

    def release() -> None:
        keeper.kill()  # first, so that it does not see the end of its standard input
        keeper.wait()
        if keeper.stdin is not None:
            keeper.stdin.close()

    return release


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
