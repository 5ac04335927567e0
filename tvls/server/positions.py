"""Positions in text: lines by the rules of LSP, columns in its encodings, and the UTF-8 bytes that Python counts.

A line ends at `\\n`, `\\r\\n` or `\\r` and nowhere else; Python's `splitlines` also ends it at form feeds and U+2028.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
ENCODINGS: Final[tuple[Encoding, ...]] = ("utf-8", "utf-16", "utf-32")
DEFAULT_ENCODING: Final[Encoding] = "utf-16"
"""What LSP means where client and server agreed on nothing."""

_LINE_END = re.compile(r"\r\n|\n|\r")


def choose_encoding(offered: list[str] | None) -> Encoding:
    """The first encoding of the client's list that there is; UTF-16 without one."""
    for name in offered or []:
        for known in ENCODINGS:
            if known == name:
                return known
    return DEFAULT_ENCODING


def line_starts(text: str) -> list[int]:
    """Offset of each line's first character. A text that ends with a line end has an empty last line."""
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def without_line_end(line: str) -> str:
    return line.rstrip("\r\n")


def _units(char: str, encoding: Encoding) -> int:
    code = ord(char)
    if encoding == "utf-16":
        return 2 if code > 0xFFFF else 1
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def to_index(line: str, character: int, encoding: Encoding) -> int:
    """Index in `line` (without its end) of a column. Past the end is the end; inside a character is before it."""
    if character <= 0:
        return 0
    if encoding == "utf-32" or line.isascii():
        return min(character, len(line))
    units = 0
    for index, char in enumerate(line):
        units += _units(char, encoding)
        if units > character:
            return index
    return len(line)


def from_index(line: str, index: int, encoding: Encoding) -> int:
    """Column of an index in `line`."""
    head = line[: max(index, 0)]
    if encoding == "utf-32" or head.isascii():
        return len(head)
    return sum(_units(char, encoding) for char in head)


def to_byte_column(line: str, character: int, encoding: Encoding) -> int:
    return from_index(line, to_index(line, character, encoding), "utf-8")


def from_byte_column(line: str, byte_column: int, encoding: Encoding) -> int:
    return from_index(line, to_index(line, byte_column, "utf-8"), encoding)
