"""The warm worker: a process with the framework imported that forks a trace worker for every request.

While nothing is traced it keeps one fork ahead. That has traced something small, and so has made the pages its own that
every trace writes to: a good part of what a small model costs.

It stays single-threaded and never runs code of a workspace. Over its control socket it hears, one JSON object a line,
`{"fork": id}` (with two descriptors: the line for request and answer, and standard error) and `{"kill": id}`, and it
tells `{"hello": {...}}` or `{"broken": message}`, `{"forked": id, "pid": pid}`, `{"failed": id, "message": ...}` and
`{"exited": id, "status": code}` (negative: the signal). When the socket ends it ends every trace, and itself.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import select
import signal
import socket
import sys
import time
import traceback
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Tuple

from tvls.worker import containment, trace
from tvls.worker.serve import reset_signals, serve_fork, wake_on_signals


def run(framework: str, control_fd: int) -> int:
    control = socket.socket(fileno=control_fd)
    control.setblocking(True)
    # While it imports, nothing else would end it with the daemon; which may have gone before it came to this line.
    containment.die_with_parent(os.getppid())
    if containment.hung_up(control_fd):
        return 1
    began = time.monotonic()
    try:
        versions, preloaded = warm_up(framework)
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - told to the daemon
        traceback.print_exc()
        _tell(control, {"broken": f"{type(fault).__name__}: {fault}"})
        return 1
    containment.outlive_parent()
    containment.adopt_orphans()
    hello = {
        "pid": os.getpid(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "framework": framework,
        "versions": versions,
        "threads": containment.thread_count(),
        "seconds": round(time.monotonic() - began, 3),
    }
    wakeup = wake_on_signals()
    _tell(control, {"hello": hello})
    try:
        _Zygote(framework, control, wakeup, preloaded).serve()
    finally:
        containment.end_all_children()
    return 0


def warm_up(framework: str) -> Tuple[Dict[str, str], trace.Preloaded]:
    """Import a framework for forks of this process. Its versions, and what is imported now."""
    versions = trace.load_framework(framework).versions
    preloaded = trace.preloaded_modules()
    gc.collect()
    gc.freeze()  # the collector must not touch, and thereby copy, the pages that children share
    return versions, preloaded


def prepare_fork(framework: str) -> None:
    """What a fork can do before its request is known."""
    trace.load_framework(framework).adapter.preload()


def _tell(control: socket.socket, message: Dict[str, Any]) -> None:
    control.sendall(json.dumps(message).encode("utf-8") + b"\n")


class _Ahead(NamedTuple):
    """A fork that waits for the descriptors of a request at the other side of `end`."""

    pid: int
    end: socket.socket


class _Zygote:
    def __init__(self, framework: str, control: socket.socket, wakeup: int, preloaded: trace.Preloaded) -> None:
        self._framework = framework
        self._control = control
        self._wakeup = wakeup
        self._preloaded = preloaded
        self._pid = os.getpid()
        self._traces: Dict[int, int] = {}  # pid → id
        self._ahead: Optional[_Ahead] = None
        self._forks_ahead = True

    def serve(self) -> None:
        control, wakeup = self._control, self._wakeup
        buffer = bytearray()
        fds: List[int] = []
        poll = select.poll()
        poll.register(control.fileno(), select.POLLIN)
        poll.register(wakeup, select.POLLIN)
        while True:
            if self._forks_ahead and self._ahead is None and not self._traces and not poll.poll(0):
                self._fork_ahead()
            ready = {fd for fd, _ in poll.poll()}
            if wakeup in ready and signal.SIGTERM in os.read(wakeup, 4096):
                return
            try:
                self._reap()
                if control.fileno() not in ready:
                    continue
                data, received, _, _ = socket.recv_fds(control, 65536, 64)
                if not data:
                    return
                fds += received
                buffer += data
                while b"\n" in buffer:
                    line, _, rest = buffer.partition(b"\n")
                    buffer[:] = rest
                    message = json.loads(line)
                    if "fork" in message:
                        line_fd, stderr_fd = fds[:2]
                        del fds[:2]
                        self._start(message["fork"], line_fd, stderr_fd)
                    elif "kill" in message:
                        for pid, identity in self._traces.items():
                            if identity == message["kill"]:
                                containment.kill_group(pid)
            except (BrokenPipeError, ConnectionResetError):
                return

    def _reap(self) -> None:
        """Collect what has ended; end what a trace left behind."""
        for pid, code in containment.reap(self._traces):
            identity = self._traces.pop(pid, None)
            if identity is not None:
                _tell(self._control, {"exited": identity, "status": code})
            elif self._ahead is not None and pid == self._ahead.pid:
                self._ahead.end.close()
                self._ahead = None
                self._forks_ahead = False  # the next would end as this one did
        # Orphans of a trace that ended come to this process; their own children come when they have ended in turn.
        ahead = () if self._ahead is None else (self._ahead.pid,)
        containment.kill_children(spare={*self._traces, *ahead})

    def _start(self, identity: int, line_fd: int, stderr_fd: int) -> None:
        try:
            pid = self._hand_over(line_fd, stderr_fd) or os.fork()
        except OSError as fault:
            _tell(self._control, {"failed": identity, "message": f"cannot fork: {fault.strerror}"})
            pid = -1
        if pid == 0:
            self._leave()
            serve_fork(line_fd, stderr_fd, self._pid, self._preloaded)
        os.close(line_fd)
        os.close(stderr_fd)
        if pid > 0:
            self._traces[pid] = identity
            _tell(self._control, {"forked": identity, "pid": pid})

    def _hand_over(self, line_fd: int, stderr_fd: int) -> Optional[int]:
        """Give a request to the fork that waits. Its process id, or None where there is none."""
        if self._ahead is None:
            return None
        (pid, end), self._ahead = self._ahead, None
        with end:
            try:
                socket.send_fds(end, [b"\0"], [line_fd, stderr_fd])
            except (BrokenPipeError, ConnectionResetError):  # it has ended, and is reaped as any child
                return None
        return pid

    def _fork_ahead(self) -> None:
        mine, other = socket.socketpair()
        try:
            pid = os.fork()
        except OSError:  # a request that comes then tells
            mine.close()
            other.close()
            self._forks_ahead = False
            return
        if pid == 0:
            mine.close()
            self._leave()
            self._wait(other)
        other.close()
        self._ahead = _Ahead(pid, mine)

    def _leave(self) -> None:
        """Let go in a fork of what is the zygote's."""
        reset_signals()
        self._control.close()
        os.close(self._wakeup)
        if self._ahead is not None:
            self._ahead.end.close()

    def _wait(self, end: socket.socket) -> NoReturn:
        fds: List[int] = []
        try:
            containment.die_with_parent(self._pid)
            prepare_fork(self._framework)
            with end:
                fds = socket.recv_fds(end, 1, 2)[1]
        except BaseException:  # noqa: BLE001 - told on standard error
            traceback.print_exc()
        if len(fds) != 2:  # the zygote has ended
            os._exit(1)
        serve_fork(fds[0], fds[1], self._pid, self._preloaded)
