"""The byte stream of LSP: header section, blank line, body. Any split of the stream gives the same messages."""

from __future__ import annotations

import re
from typing import Final

MAX_BODY: Final = 1 << 30
"""A longer announced body is not a message but a broken stream."""
MAX_HEADER: Final = 64 * 1024

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*([0-9]{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class BrokenStreamError(Exception):
    """Nothing after this point of the stream can be trusted."""


class BadHeader:
    """A header section without a usable `Content-Length`: one message was lost, the stream goes on behind it."""


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Framer:
    """Cuts a stream into message bodies. Feed it chunks as they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None

    def feed(self, chunk: bytes) -> list[bytes | BadHeader]:
        """Messages that are complete now. Raises BrokenStreamError where no later message could be found."""
        self._buffer += chunk
        found: list[bytes | BadHeader] = []
        while True:
            if self._length is None:
                end = _BLANK_LINE.search(self._buffer, 0, MAX_HEADER)
                if end is None:
                    if len(self._buffer) >= MAX_HEADER:
                        raise BrokenStreamError(f"no end of the header section in {MAX_HEADER} bytes")
                    return found
                header = bytes(self._buffer[: end.start()])
                del self._buffer[: end.end()]
                length = _LENGTH.search(header)
                if length is None:
                    found.append(BadHeader())
                    continue
                self._length = int(length[1])
                if self._length > MAX_BODY:
                    raise BrokenStreamError(f"a message of {self._length} bytes")
            if len(self._buffer) < self._length:
                return found
            found.append(bytes(memoryview(self._buffer)[: self._length]))
            del self._buffer[: self._length]
            self._length = None
