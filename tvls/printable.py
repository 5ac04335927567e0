"""Text of unknown origin, made safe to show in a terminal or a document."""

from __future__ import annotations

import re

_UNSEEN = "\0-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
_IN_A_LINE = re.compile(f"[{_UNSEEN}]")
_IN_A_TEXT = re.compile(f"(?![\t\n])[{_UNSEEN}]")


def printable(text: str) -> str:
    """One line with what a terminal would obey or hide, and what no encoding holds, written as `\\x1b`, `\\udcff`…"""
    return text if text.isascii() and text.isprintable() else _IN_A_LINE.sub(written_out, text)


def printable_text(text: str) -> str:
    """As `printable`, for a text whose lines end and are indented."""
    return _IN_A_TEXT.sub(written_out, text)


def written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
