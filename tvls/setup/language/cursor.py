"""What is at an offset of a setup file: a key that is being written, or a value, and the table around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tvls.setup.keys import Key
from tvls.setup.toml import Document, Entry, Header, Node, Part, Value, header_path, nodes, read_document


@dataclass(frozen=True)
class Cursor:
    place: Literal["key", "value", "header"]
    path: Key
    """Of a key or a name in a header: the table that it is in. Of a value: the value."""
    start: int
    end: int
    """What a completion takes the place of: the name, or the value without its quotation marks."""
    part: Part | None = None
    value: Value | None = None
    assigned: bool = False
    """An equals sign follows the key already."""


class Around:
    """A document with what is looked up in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.document: Document = read_document(text)
        self.nodes: list[Node] = list(nodes(self.document))
        self.values: dict[Key, Value] = {}
        self.parts: dict[Key, Part] = {}
        for node in self.nodes:
            if node.value is not None:
                self.values.setdefault(node.path, node.value)
            if node.part is not None:
                self.parts.setdefault(node.path, node.part)

    def string(self, path: Key) -> str | None:
        value = self.values.get(path)
        return value.text if value is not None and value.kind == "string" else None

    def names(self, path: Key, but: Part | None = None) -> list[str]:
        """Keys of the table at `path`, without one that is being written."""
        size = len(path)
        found = {
            str(node.path[-1]): None
            for node in self.nodes
            if len(node.path) == size + 1 and node.path[:size] == path and (but is None or node.part is not but)
        }
        return list(found)

    def count(self, path: Key) -> int:
        """Elements of the list at `path`."""
        value = self.values.get(path)
        return len(value.items) if value is not None else 0

    def at(self, offset: int) -> Cursor | None:
        """None in a comment, and where nothing of a setup can stand."""
        if any(start < offset <= end for start, end in self.document.comments):
            return None
        header = next(item for item in reversed(self.document.headers) if item.start <= offset)
        if header.parts or header.end > header.start:
            if offset <= header.end:
                return self._in_header(header, offset)
            if "\n" not in self.text[header.end : offset]:
                return None
        path = header_path(self.document, header)
        for entry in header.entries:
            if entry.start <= offset <= entry.end:
                return self._in_entry(entry, path, offset)
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return Cursor("key", path, offset, offset) if not line.strip(" \t\ufeff") else None

    def _in_header(self, header: Header, offset: int) -> Cursor | None:
        if offset == header.start or (self.text[header.end - 1 : header.end] == "]" and offset == header.end):
            return None
        return self._in_key(header.parts, header.dot, (), offset, "header")

    def _in_key(
        self, parts: list[Part], dot: int | None, path: Key, offset: int, place: Literal["key", "header"]
    ) -> Cursor | None:
        for part in parts:
            if part.start <= offset <= part.end:
                return Cursor(place, path, part.start, part.end, part)
            path = (*path, part.name)
        if not parts or (dot is not None and offset > dot):
            return Cursor(place, path, offset, offset)
        return None

    def _in_entry(self, entry: Entry, path: Key, offset: int) -> Cursor | None:
        key_end = entry.parts[-1].end if entry.parts else entry.start
        if entry.value is None or offset <= key_end:
            found = self._in_key(entry.parts, entry.dot, path, offset, "key")
            if found is None or entry.value is None:
                return found
            return Cursor("key", found.path, found.start, found.end, found.part, assigned=True)
        full = (*path, *(part.name for part in entry.parts))
        if entry.value.kind == "missing":
            return Cursor("value", full, offset, offset) if offset >= entry.value.start else None
        return self._in_value(entry.value, full, offset)

    def _in_value(self, value: Value, path: Key, offset: int) -> Cursor | None:
        if not value.start <= offset <= value.end:
            return None
        outside = offset == value.start or (value.closed and offset == value.end)
        match value.kind:
            case "string":
                start, end = value.inner
                if not start <= offset <= end:
                    return None
                return Cursor("value", path, start, end if value.closed else offset, value=value)
            case "array":
                if outside:
                    return None
                index = 0
                for index, item in enumerate(value.items):
                    if item.start <= offset <= item.end:
                        return self._in_value(item, (*path, index), offset)
                index = sum(item.end < offset for item in value.items)
                return Cursor("value", (*path, index), offset, offset)
            case "table":
                if outside:
                    return None
                for entry in value.entries:
                    if entry.start <= offset <= entry.end:
                        return self._in_entry(entry, path, offset)
                before = self.text[value.start : offset].rstrip()
                return Cursor("key", path, offset, offset) if before.endswith(("{", ",")) else None
            case _:
                return Cursor("value", path, value.start, value.end, value=value)
