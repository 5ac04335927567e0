"""Bytes of files that somebody else put there, from regular files alone: opening a FIFO or a device may wait, or never
end."""

# Paths are plain strings here: a Path costs more than the call.

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import Final

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a file (characters of a buffer) above which it is no source that a person writes."""

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_PIECE: Final = 1024 * 1024


class UnreadableError(OSError):
    """The path holds nothing that can be source: too large, or no regular file. The message says which."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EINVAL, message)

    def __str__(self) -> str:
        return str(self.strerror)


def read_source(path: str) -> bytes:
    """At most `LARGEST` bytes of a regular file. Never waits for a writer. Raises `UnreadableError`, `OSError`."""
    descriptor = os.open(path, _FLAGS)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise UnreadableError("the path is no regular file")
        if found.st_size > LARGEST:
            raise UnreadableError(f"the file is larger than {LARGEST >> 20} MB")
        pieces: list[bytes] = []
        size = 0
        while piece := os.read(descriptor, min(_PIECE, LARGEST + 1 - size)):
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST:  # it grew, or its size was not told beforehand
                raise UnreadableError(f"the file is larger than {LARGEST >> 20} MB")
        return b"".join(pieces)
    finally:
        with suppress(OSError):
            os.close(descriptor)
