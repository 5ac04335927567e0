"""The warm worker: a process with the framework imported that forks a trace worker for every request.

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
from typing import Any, Dict, List, Tuple

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
        versions = trace.load_framework(framework).versions
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - told to the daemon
        traceback.print_exc()
        _tell(control, {"broken": f"{type(fault).__name__}: {fault}"})
        return 1
    preloaded = trace.preloaded_modules()
    gc.collect()
    gc.freeze()  # the collector must not touch, and thereby copy, the pages that children share
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
        _serve(control, wakeup, preloaded)
    finally:
        containment.end_all_children()
    return 0


def _serve(control: socket.socket, wakeup: int, preloaded: trace.Preloaded) -> None:
    traces: Dict[int, int] = {}  # pid → id
    buffer = bytearray()
    fds: List[int] = []
    poll = select.poll()
    poll.register(control.fileno(), select.POLLIN)
    poll.register(wakeup, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if wakeup in ready and signal.SIGTERM in os.read(wakeup, 4096):
            return
        try:
            _reap(control, traces)
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
                    _fork(control, traces, message["fork"], (line_fd, stderr_fd, wakeup), preloaded)
                elif "kill" in message:
                    for pid, identity in traces.items():
                        if identity == message["kill"]:
                            containment.kill_group(pid)
        except (BrokenPipeError, ConnectionResetError):
            return


def _tell(control: socket.socket, message: Dict[str, Any]) -> None:
    control.sendall(json.dumps(message).encode("utf-8") + b"\n")


def _reap(control: socket.socket, traces: Dict[int, int]) -> None:
    """Collect what has ended; end what a trace left behind."""
    for pid, code in containment.reap(traces):
        identity = traces.pop(pid, None)
        if identity is not None:
            _tell(control, {"exited": identity, "status": code})
    # Orphans of a trace that ended come to this process; their own children come when they have ended in turn.
    containment.kill_children(spare=traces)


def _fork(
    control: socket.socket,
    traces: Dict[int, int],
    identity: int,
    fds: Tuple[int, int, int],
    preloaded: trace.Preloaded,
) -> None:
    line_fd, stderr_fd, wakeup = fds
    zygote = os.getpid()
    try:
        pid = os.fork()
    except OSError as fault:
        _tell(control, {"failed": identity, "message": f"cannot fork: {fault.strerror}"})
        pid = -1
    if pid == 0:
        reset_signals()
        control.close()
        os.close(wakeup)
        serve_fork(line_fd, stderr_fd, zygote, preloaded)
    os.close(line_fd)
    os.close(stderr_fd)
    if pid > 0:
        traces[pid] = identity
        _tell(control, {"forked": identity, "pid": pid})
