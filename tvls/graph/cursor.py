"""Cursors of paged answers: a position, tied to the question that it continues."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from tvls.protocol.errors import TvlsError


def question(parts: Iterable[str]) -> str:
    """Short fingerprint of what was asked, order and boundaries of the parts included."""
    digest = blake2b(digest_size=6)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def write_cursor(asked: str, offset: int) -> str:
    return f"{offset}.{asked}"


def read_cursor(cursor: str | None, asked: str, total: int) -> int:
    """Offset of the page. Raises `cursorInvalid` for a cursor of another question, or one that no page ended with."""
    if cursor is None:
        return 0
    offset, _, fingerprint = cursor.partition(".")
    if not (offset.isascii() and offset.isdecimal() and len(offset) <= 12):
        raise _invalid("This cursor did not come from an earlier page.")
    if fingerprint != asked:
        raise _invalid("This cursor belongs to another question.")
    if not 0 < int(offset) < total:
        raise _invalid("This cursor points past the last page.")
    return int(offset)


def _invalid(message: str) -> TvlsError:
    return TvlsError("cursorInvalid", message, "Ask without a cursor, and go on with the one that the answer gives.")
