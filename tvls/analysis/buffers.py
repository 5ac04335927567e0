"""Unsaved texts as the bytes that a file with them would have."""

from __future__ import annotations

from tvls.reading import LARGEST, UnreadableError


def encode_buffer(text: str) -> bytes:
    """Raises `UnreadableError`."""
    if len(text) > LARGEST:
        raise UnreadableError(f"the text is longer than {LARGEST >> 20} million characters")
    return text.encode(errors="surrogatepass")
