"""The private line to the daemon: one request in, frames out.

A frame is one byte of kind, eight bytes of big-endian length, and the payload.
"""

from __future__ import annotations

import contextlib
import os
from builtins import len, memoryview
from json import dumps, loads
from os import _exit, close, fstat, getpid, read, write
from typing import Any, Dict

# All of that is bound here, before user code runs: what it puts into `builtins`, `json` or `os` changes nothing here.

PROGRESS = b"P"
DOCUMENT = b"D"
NEEDS_COLD = b"C"


class Channel:
    """Reads from one descriptor and writes to another (or the same) for the process that made it, and for no other.

    User code may fork and return twice, or close descriptors it does not know and open its own in their place: neither
    may write into the answer, nor the answer into a file of the user's.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.owner = getpid()
        self.identity = _identity(write_fd)

    def read_request(self) -> Dict[str, Any]:
        """One JSON object, ended by a newline or by the end of the stream."""
        received = bytearray()
        while b"\n" not in received[-65536:]:
            chunk = read(self.read_fd, 65536)
            if not chunk:
                break
            received += chunk
        return loads(received.decode("utf-8"))

    def progress(self, phase: str) -> None:
        self.send(PROGRESS, dumps({"phase": phase}).encode("utf-8"))

    def send(self, kind: bytes, payload: bytes) -> None:
        """Raises OSError where the line is gone; ends the process where this is a fork made by user code."""
        if getpid() != self.owner:
            _exit(0)
        if _identity(self.write_fd) != self.identity:
            raise OSError("the code being traced closed the descriptor that the answer goes to")
        _write_all(self.write_fd, kind + len(payload).to_bytes(8, "big") + payload)

    def close_in_forks(self) -> None:
        """A process that user code forks must not keep the line open."""
        os.register_at_fork(after_in_child=self._close)

    def _close(self) -> None:
        for fd in {self.read_fd, self.write_fd}:
            with contextlib.suppress(OSError):  # user code closed it before us
                close(fd)


def _identity(fd: int) -> tuple[int, int]:
    try:
        status = fstat(fd)
    except OSError:
        return (-1, -1)
    return status.st_dev, status.st_ino


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[write(fd, view[: 1 << 20]) :]
