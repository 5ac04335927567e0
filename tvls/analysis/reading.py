"""Bytes of a source file, from regular files alone: opening a FIFO or a device may wait, or never end."""

# Paths are plain strings here, as in modules.py.

from __future__ import annotations

import os
import stat
from contextlib import suppress

LARGEST = 16 * 1024 * 1024
"""Bytes of a file (characters of a buffer) above which it is no source that a person writes."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_PIECE = 1024 * 1024


class UnreadableError(Exception):
    """The path holds nothing that can be source: too large, or no regular file. The message says which."""


def encode_buffer(text: str) -> bytes:
    """Bytes of an unsaved text. Raises `UnreadableError`."""
    if len(text) > LARGEST:
        raise UnreadableError(f"the text is longer than {LARGEST >> 20} million characters")
    return text.encode(errors="surrogatepass")


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
