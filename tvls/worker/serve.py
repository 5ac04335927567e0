"""Answering one request: in a fork of the warm worker, or in a process of its own under a supervisor."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import traceback
from typing import NoReturn, Optional

from tvls.worker import containment, trace
from tvls.worker.channel import DOCUMENT, NEEDS_COLD, Channel

_exit = os._exit  # as it is before user code, which may put something else there that returns
_HANDLED = ("SIGCHLD", "SIGTERM")


def wake_on_signals() -> int:
    """A descriptor that becomes readable at SIGCHLD and SIGTERM; each byte is the signal's number."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for name in _HANDLED:
        signal.signal(getattr(signal, name), _noted)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return read


def _noted(number: int, frame: object) -> None:
    """The wake-up descriptor carries the signal."""


def reset_signals() -> None:
    """Undo `wake_on_signals` in a fork."""
    write = signal.set_wakeup_fd(-1)
    if write >= 0:
        os.close(write)
    for name in _HANDLED:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def serve_fork(line_fd: int, stderr_fd: int, zygote: int, preloaded: trace.Preloaded) -> NoReturn:
    """Run one trace in a fork of the warm worker and end the process."""
    os.dup2(stderr_fd, 2)
    os.dup2(stderr_fd, 1)
    os.close(stderr_fd)
    _answer(line_fd, line_fd, zygote, preloaded)


def serve_alone(read_fd: int, write_fd: int) -> NoReturn:
    """Run one trace in this process and end it: where there is no fork, and for a person at a terminal."""
    _answer(read_fd, write_fd, None, None)


def supervise(read_fd: int, write_fd: int) -> int:
    """Run one trace in a child and end with its exit code, or at once when `read_fd` is closed by its writer. Leaves no
    descendant behind either way."""
    wakeup = wake_on_signals()
    containment.adopt_orphans()
    supervisor = os.getpid()
    child = os.fork()
    if child == 0:
        reset_signals()
        os.close(wakeup)
        _answer(read_fd, write_fd, supervisor, None)
    os.close(write_fd)
    poll = select.poll()
    poll.register(read_fd, 0)  # the request is the child's to read; only the hang-up is ours
    poll.register(wakeup, select.POLLIN)
    code: Optional[int] = None
    while code is None:
        ready = {fd for fd, _ in poll.poll()}
        if read_fd in ready or (wakeup in ready and signal.SIGTERM in os.read(wakeup, 4096)):
            break
        for pid, status in containment.reap({child}):
            if pid == child:
                code = status
    containment.end_all_children()
    if code is not None and code < 0:  # pass the signal on
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        containment.no_core_files()
        os.kill(supervisor, -code)
    return 1 if code is None else code


def _answer(read_fd: int, write_fd: int, parent: Optional[int], preloaded: Optional[trace.Preloaded]) -> NoReturn:
    code = 1
    try:
        if parent is not None:
            os.setsid()
            containment.die_with_parent(parent)
            containment.adopt_orphans()
        channel = Channel(read_fd, write_fd)
        channel.close_in_forks()
        request = channel.read_request()
        workspace, roots = request["workspace"], request["sysPath"]
        outdated = None if preloaded is None else trace.preloaded_from(preloaded, workspace, roots)
        if outdated is not None:
            channel.send(NEEDS_COLD, json.dumps({"module": outdated}).encode("utf-8"))
        else:
            trace.prepare_imports(workspace, roots, request["target"].get("path"))
            containment.limit_resources(trace.make_limits(request.get("limits", {})).memory_bytes)
            channel.send(DOCUMENT, trace.run(request, channel.progress, preloaded))
        code = 0
    except BaseException:  # noqa: BLE001 - told on standard error and by the exit code
        traceback.print_exc()
    finally:
        # No clean-up of the user's: threads, atexit handlers and buffers of forks end here.
        try:
            sys.stderr.flush()
        finally:
            _exit(code)
