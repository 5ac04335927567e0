"""Where each key and value of a TOML document stands, also of one with mistakes."""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from tvls.setup.keys import Key
from tvls.setup.toml import MOST_PARTS, keys, nodes, read_document


class Span(msgspec.Struct, frozen=True):
    """A stretch of text: 0-based lines, columns in UTF-8 bytes of the line, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Place(msgspec.Struct, frozen=True):
    """Where a key is written first, and its value. For a table with a header both are the header's key."""

    key: Span
    value: Span


Places = dict[Key, Place]


class Lines:
    """Spans of a text by offsets."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]

    def span(self, start: int, end: int) -> Span:
        return Span(*self._place(start), *self._place(end))

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset) - 1
        return line, len(self._text[self._starts[line] : offset].encode("utf-8", "replace"))


def find_places(text: str) -> Places:
    """Every key and list element of `text`, by its full path; of invalid text, what can be told apart."""
    lines = Lines(text)
    places: Places = {}
    for node in nodes(read_document(text)):
        if node.path in places:
            continue
        value = None
        if node.value is not None and (node.value.kind != "missing" or node.part is None):
            value = lines.span(node.value.start, node.value.end)
        key = value if node.part is None else lines.span(node.part.start, node.part.end)
        if key is not None:
            places[node.path] = Place(key, value or key)
    return places


def find_endless_key(text: str) -> Span | None:
    """The first dotted key with more parts than anyone writes: reading it costs the square of its length."""
    if all(line.count(".") <= MOST_PARTS for line in text.split("\n")):
        return None
    endless = (parts for parts in keys(read_document(text)) if len(parts) > MOST_PARTS)
    parts = next(endless, None)
    return None if parts is None else Lines(text).span(parts[0].start, parts[-1].end)


def find_duplicate(text: str) -> tuple[Key, Span, Span] | None:
    """The first key, or table by its header, that is given a second time, with both places."""
    seen: dict[Key, tuple[int, int]] = {}
    for node in nodes(read_document(text)):
        if node.part is None or (node.value is None and not node.header):
            continue
        here = node.part.start, node.part.end
        first = seen.setdefault(node.path, here)
        if first != here:
            lines = Lines(text)
            return node.path, lines.span(*first), lines.span(*here)
    return None
