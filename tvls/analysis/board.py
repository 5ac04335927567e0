"""What the analysis process is at, for the client to read at any moment, even when the process hangs or is stopped.

A few bytes of shared memory instead of messages: an index writes them for every file, and nobody reads them but when
the process says nothing for long.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
import tempfile
from typing import IO

_RECORD = struct.Struct("<Q16s")
IDLE = bytes(16)
"""The mark of no file."""


def mark_of(path: str, content: bytes) -> bytes:
    """16 bytes that stand for a file with a certain content."""
    digest = hashlib.blake2b(path.encode(errors="surrogatepass"), digest_size=16)
    digest.update(b"\0")
    digest.update(content)
    return digest.digest()


class Board:
    """A count of steps and the mark of the file at hand. One process writes."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, mmap.PAGESIZE)
        self._steps = 0

    def write(self, mark: bytes) -> None:
        """One more step, on the file with this mark."""
        self._steps += 1
        _RECORD.pack_into(self._memory, 0, self._steps, mark)

    def read(self) -> tuple[int, bytes]:
        """Steps so far, and the mark."""
        return _RECORD.unpack_from(self._memory, 0)

    def close(self) -> None:
        self._memory.close()


def board_file() -> IO[bytes]:
    """A nameless file for a new board."""
    file = tempfile.TemporaryFile(prefix="tvls-", buffering=0)  # noqa: SIM115 - the caller closes it
    file.truncate(mmap.PAGESIZE)
    return file
