"""A reader of TOML for text that is being written: every key and value with its place, and never a refusal.

What is missing is left open: a key without a value, a string or a bracket that nothing closes. Places are offsets in
characters. `tomllib` decides what a document means; this tells only where in it a person is.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from tvls.setup.keys import Key

ValueKind = Literal["string", "bare", "array", "table", "missing"]

_DEPTH: Final = 100
"""Deeper brackets are passed over."""
MOST_PARTS: Final = 200
"""Of a dotted key. A longer one has no nodes: their paths would cost the square of its length."""
_BLANK: Final = re.compile(r"[ \t\ufeff]*")
_LINE: Final = re.compile(r"[^\r\n]*")
_NAME: Final = re.compile(r"""[^\s=.\[\]{},"'#]+""")
_BARE: Final = re.compile(r"[^,\]}#\r\n]+")
_BASIC: Final = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*("?)')
_LITERAL: Final = re.compile(r"'[^'\r\n]*('?)")
_LONG_BASIC: Final = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*("{3,5}|\Z)', re.DOTALL)
_LONG_LITERAL: Final = re.compile(r"'''(?:[^']|'(?!''))*('{3,5}|\Z)", re.DOTALL)
_NEW_STATEMENT: Final = re.compile(
    r"""[ \t]*(?:\[\[?[ \t]*(?!(?:true|false|inf|nan)\b)[A-Za-z_][\w-]*[ \t]*(?:\.[^\n\]=,]*)?\]"""
    r"""|[\w"'-][\w."' \t-]*=)"""
)
"""A line that belongs to no array: a header, or a key with its equals sign."""


@dataclass(frozen=True, slots=True)
class Part:
    """One name of a dotted key. `start` and `end` hold its quotation marks, too."""

    name: str
    start: int
    end: int


@dataclass(slots=True)
class Value:
    kind: ValueKind
    start: int
    end: int
    text: str = ""
    """What a string holds, or a bare value as written."""
    closed: bool = True
    items: list[Value] = field(default_factory=list["Value"])
    entries: list[Entry] = field(default_factory=list["Entry"])

    @property
    def inner(self) -> tuple[int, int]:
        """Of a string: what is between its quotation marks; of anything else all of it."""
        if self.kind != "string":
            return self.start, self.end
        return self.start + 1, self.end - (1 if self.closed else 0)


@dataclass(slots=True)
class Entry:
    """`a.b = value`. `dot` is the place of a dot that no name follows yet."""

    parts: list[Part]
    value: Value | None
    """None where there is no equals sign."""
    start: int
    end: int
    dot: int | None = None


@dataclass(slots=True)
class Header:
    """`[a.b]` or `[[a.b]]`, with what stands below it; the top of the document has no parts."""

    parts: list[Part]
    array: bool
    start: int
    end: int
    """Of the header itself."""
    dot: int | None = None
    entries: list[Entry] = field(default_factory=list[Entry])
    stop: int = 0
    """Where the next header begins."""


@dataclass(slots=True)
class Document:
    headers: list[Header]
    comments: list[tuple[int, int]]


def read_document(text: str) -> Document:
    return _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at: int = 0
        self.comments: list[tuple[int, int]] = []

    def document(self) -> Document:
        headers = [Header([], False, 0, 0)]
        while True:
            self._skip_lines()
            if self.at >= len(self.text):
                break
            start = self.at
            if self.text[start] == "[":
                headers[-1].stop = start
                headers.append(self._header())
            else:
                headers[-1].entries.append(self._entry(0))
            self._to_line_end()
            if self.at == start:  # nothing of TOML begins here
                self.at += 1
        headers[-1].stop = len(self.text)
        return Document(headers, self.comments)

    # --- space ---

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_blank(self) -> None:
        self.at = _end(_BLANK, self.text, self.at)

    def _skip_lines(self) -> None:
        while True:
            self._skip_blank()
            if self._peek() in ("\n", "\r") and self._peek():
                self.at += 1
            elif self._peek() == "#":
                self._comment()
            else:
                return

    def _comment(self) -> None:
        start = self.at
        self.at = _end(_LINE, self.text, self.at)
        self.comments.append((start, self.at))

    def _to_line_end(self) -> None:
        self._skip_blank()
        if self._peek() == "#":
            self._comment()
        else:
            self.at = _end(_LINE, self.text, self.at)

    # --- statements ---

    def _header(self) -> Header:
        start = self.at
        array = self.text.startswith("[[", start)
        self.at += 2 if array else 1
        parts, dot = self._key()
        self._skip_blank()
        while self._peek() == "]":
            self.at += 1
        return Header(parts, array, start, self.at, dot)

    def _key(self) -> tuple[list[Part], int | None]:
        parts: list[Part] = []
        dot: int | None = None
        while True:
            self._skip_blank()
            start = self.at
            if self._peek() and self._peek() in "\"'":
                found = (_BASIC if self._peek() == '"' else _LITERAL).match(self.text, start)
                assert found is not None  # noqa: S101 (it begins with the mark that was seen)
                self.at = found.end()
                parts.append(Part(_content(found[0], bool(found[1])), start, self.at))
            elif found := _NAME.match(self.text, start):
                self.at = found.end()
                parts.append(Part(found[0], start, self.at))
            else:
                return parts, dot
            dot = None
            self._skip_blank()
            if self._peek() != ".":
                return parts, None
            dot = self.at
            self.at += 1

    def _entry(self, depth: int) -> Entry:
        start = self.at
        parts, dot = self._key()
        end = parts[-1].end if parts else start
        if dot is not None:
            end = self.at
        self._skip_blank()
        if self._peek() != "=":
            return Entry(parts, None, start, end, dot)
        self.at += 1
        after = self.at
        self._skip_blank()
        value = self._value(depth)
        if value is None:
            value = Value("missing", after, self.at, closed=False)
        return Entry(parts, value, start, max(value.end, after), dot)

    # --- values ---

    def _value(self, depth: int) -> Value | None:
        start, mark = self.at, self._peek()
        if depth > _DEPTH:
            return self._too_deep()
        if mark and mark in "\"'":
            return self._string(mark)
        if mark == "[":
            return self._array(depth)
        if mark == "{":
            return self._table(depth)
        found = _BARE.match(self.text, start)
        if found is None or not found[0].strip():
            return None
        text = found[0].rstrip()
        self.at = start + len(text)
        return Value("bare", start, self.at, text)

    def _too_deep(self) -> Value | None:
        start = self.at
        self.at = _end(_LINE, self.text, self.at)
        return Value("bare", start, self.at, "", closed=False) if self.at > start else None

    def _string(self, mark: str) -> Value:
        start = self.at
        if self.text.startswith(mark * 3, start):
            found = (_LONG_BASIC if mark == '"' else _LONG_LITERAL).match(self.text, start)
        else:
            found = (_BASIC if mark == '"' else _LITERAL).match(self.text, start)
        if found is None:  # a backslash at the very end
            self.at = len(self.text)
            return Value("string", start, self.at, self.text[start + 1 :], closed=False)
        self.at = found.end()
        closed = bool(found[1])
        return Value("string", start, self.at, _content(found[0], closed), closed)

    def _array(self, depth: int) -> Value:
        value = Value("array", self.at, self.at, closed=False)
        self.at += 1
        while True:
            line_start = self._skip_to_item()
            if self.at >= len(self.text) or (line_start is not None and _NEW_STATEMENT.match(self.text, line_start)):
                if line_start is not None:
                    self.at = line_start - 1 if line_start else line_start
                break
            mark = self._peek()
            if mark == "]":
                self.at += 1
                value.closed = True
                break
            if mark == ",":
                self.at += 1
                continue
            item = self._value(depth + 1)
            if item is None:  # such as `}`: the array was not closed
                break
            value.items.append(item)
        value.end = self.at
        return value

    def _skip_to_item(self) -> int | None:
        """Past blanks, comments and line ends; the start of the line that the next item is on, where it is another."""
        start = self.at
        self._skip_lines()
        line = self.text.rfind("\n", start, self.at)
        return None if line < 0 else line + 1

    def _table(self, depth: int) -> Value:
        value = Value("table", self.at, self.at, closed=False)
        self.at += 1
        while True:
            self._skip_blank()
            mark = self._peek()
            if mark == "}":
                self.at += 1
                value.closed = True
                break
            if mark == ",":
                self.at += 1
                continue
            if not mark or mark in "\r\n#]":  # an inline table ends with its line
                break
            before = self.at
            value.entries.append(self._entry(depth + 1))
            if self.at == before:
                self.at += 1
        value.end = self.at
        return value


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _content(written: str, closed: bool) -> str:
    """What a string stands for; of one that is not closed, or wrong, what is written."""
    if closed and "\\" not in written and written[:3] not in ('"""', "'''"):
        return written[1:-1]
    if closed:
        try:
            return str(tomllib.loads(f"x = {written}")["x"])
        except tomllib.TOMLDecodeError:
            pass
    width = 3 if written[:3] in ('"""', "'''") else 1
    return written[width : len(written) - width if closed else None]


# --- what stands where -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Node:
    """A key or list element by its full path. `value` is None for a table that a header or a dotted key makes."""

    path: Key
    part: Part | None
    """Where its name stands; None for an element of a list."""
    value: Value | None
    header: bool = False
    """Its name is the last one of a header of a single table."""


def nodes(document: Document) -> Iterator[Node]:
    """Every key and list element in the order of the text. A path can come again: a table has several headers below it.

    Elements of arrays of tables count as in the parsed value: `[[a.b]]` for the second time is `("a", "b", 1)`, and a
    later `[a.b.c]` belongs to it.
    """
    for header, path, above in _headers(document):
        yield from above
        for entry in header.entries:
            yield from _of_entry(entry, path)


def header_path(document: Document, wanted: Header) -> Key:
    """The full path of the table that a header opens."""
    return next(path for header, path, _ in _headers(document) if header is wanted)


def _headers(document: Document) -> Iterator[tuple[Header, Key, list[Node]]]:
    """Each header with the path of its table, and the nodes of its own names."""
    counts: dict[Key, int] = {}
    for header in document.headers:
        path: Key = ()
        above: list[Node] = []
        for index, part in enumerate(header.parts[:MOST_PARTS]):
            path = (*path, part.name)
            last = index == len(header.parts) - 1
            above.append(Node(path, part, None, header=last and not header.array))
            if last and header.array:
                counts[path] = counts.get(path, -1) + 1
            if path in counts:
                path = (*path, counts[path])
                above.append(Node(path, part, None))
        yield header, path, above


def _of_entry(entry: Entry, at: Key) -> Iterator[Node]:
    path = at
    if len(entry.parts) > MOST_PARTS:
        return
    for part in entry.parts[:-1]:
        path = (*path, part.name)
        yield Node(path, part, None)
    if entry.parts:
        yield from _of_value(entry.value, (*path, entry.parts[-1].name), entry.parts[-1])


def _of_value(value: Value | None, path: Key, part: Part | None) -> Iterator[Node]:
    yield Node(path, part, value)
    if value is None:
        return
    for index, item in enumerate(value.items):
        yield from _of_value(item, (*path, index), None)
    for entry in value.entries:
        yield from _of_entry(entry, path)


def keys(document: Document) -> Iterator[list[Part]]:
    """Every dotted key, in no order."""
    entries: list[Entry] = []
    for header in document.headers:
        yield header.parts
        entries += header.entries
    values: list[Value] = []
    while entries or values:
        if entries:
            entry = entries.pop()
            yield entry.parts
            values += [entry.value] if entry.value else []
        else:
            value = values.pop()
            values += value.items
            entries += value.entries
