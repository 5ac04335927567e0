"""Text documents as the editor has them, and the text of files that it has not opened."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from tvls.protocol import types as t
from tvls.reading import read_source
from tvls.server.positions import (
    DEFAULT_ENCODING,
    Encoding,
    from_byte_column,
    from_index,
    line_starts,
    to_byte_column,
    to_index,
    without_line_end,
)
from tvls.uris import is_file_uri, to_path, to_uri

_CLOSED_FILES: Final = 64
"""Files whose lines are kept for conversions, while their size and time of change stay."""


@dataclass(kw_only=True)
class Text:
    """A text with its lines."""

    text: str = field(repr=False)
    _starts: list[int] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def starts(self) -> list[int]:
        if self._starts is None:
            self._starts = line_starts(self.text)
        return self._starts

    @property
    def line_count(self) -> int:
        return len(self.starts)

    def line(self, number: int) -> str:
        """A 0-based line without its end; empty where there is none."""
        starts = self.starts
        if not 0 <= number < len(starts):
            return ""
        end = starts[number + 1] if number + 1 < len(starts) else len(self.text)
        return without_line_end(self.text[starts[number] : end])

    def offset(self, position: lsp.Position, encoding: Encoding) -> int:
        """Offset of a position; outside the text it is the nearest one inside."""
        if position.line >= len(self.starts):
            return len(self.text)
        return self.starts[position.line] + to_index(self.line(position.line), position.character, encoding)

    def position_at(self, offset: int, encoding: Encoding) -> lsp.Position:
        """LSP position of an offset, which is not inside of a line end."""
        line = bisect_right(self.starts, offset) - 1
        return lsp.Position(line, from_index(self.line(line), offset - self.starts[line], encoding))

    def range(self, start: int, end: int, encoding: Encoding) -> lsp.Range:
        """LSP range of two offsets."""
        return lsp.Range(start=self.position_at(start, encoding), end=self.position_at(end, encoding))

    def position(self, line: int, byte_column: int, encoding: Encoding) -> t.Position:
        """LSP position of a 0-based line and UTF-8 byte column."""
        if line >= self.line_count:
            last = self.line_count - 1
            text = self.line(last)
            return t.Position(line=last, character=from_index(text, len(text), encoding))
        return t.Position(line=line, character=from_byte_column(self.line(line), byte_column, encoding))


@dataclass(kw_only=True)
class Document(Text):
    """An open buffer."""

    uri: str
    language: str
    version: int
    path: Path

    @property
    def is_file(self) -> bool:
        return is_file_uri(self.uri)

    def apply(self, changes: Iterable[lsp.TextDocumentContentChangeEvent], encoding: Encoding) -> None:
        """Applies the changes of one notification in order."""
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                start = self.offset(change.range.start, encoding)
                end = self.offset(change.range.end, encoding)
                start, end = min(start, end), max(start, end)
                self.text = self.text[:start] + change.text + self.text[end:]
            else:
                self.text = change.text
            self._starts = None


class Documents:
    """Open buffers by URI; two spellings of one file URI are one buffer."""

    def __init__(self) -> None:
        self.encoding: Encoding = DEFAULT_ENCODING
        self._open: dict[Path, Document] = {}
        self._closed: dict[Path, tuple[tuple[int, int], Text]] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._open.values()))

    def open(self, item: lsp.TextDocumentItem) -> Document:
        path = to_path(item.uri)
        document = Document(uri=item.uri, language=item.language_id, version=item.version, path=path, text=item.text)
        self._open[path] = document
        return document

    def change(self, uri: str, version: int, changes: Iterable[lsp.TextDocumentContentChangeEvent]) -> Document | None:
        """None where the document is not open."""
        document = self.get(uri)
        if document is not None:
            document.apply(changes, self.encoding)
            document.version = version
        return document

    def close(self, uri: str) -> Document | None:
        return self._open.pop(to_path(uri), None)

    def get(self, uri: str) -> Document | None:
        return self._open.get(to_path(uri))

    def at(self, path: Path) -> Document | None:
        return self._open.get(path)

    def uri(self, path: Path) -> str:
        """The URI of a file in the client's own spelling, where it has one."""
        document = self._open.get(path)
        return document.uri if document is not None else to_uri(path)

    def text_at(self, path: Path) -> Text | None:
        """The buffer's text, or the file's as Python reads it; None where neither can be read."""
        if (document := self._open.get(path)) is not None:
            return document
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            kept = self._closed.pop(path, None)
            if kept is None or kept[0] != stamp:
                kept = (stamp, Text(text=_decode(path, read_source(str(path)))))
        except (OSError, ValueError):  # ValueError: a path with a NUL
            return None
        self._closed[path] = kept  # the last one used is the last one dropped
        if len(self._closed) > _CLOSED_FILES:
            del self._closed[next(iter(self._closed))]
        return kept[1]

    def location(
        self, path: Path, line: int, column: int | None, end_line: int | None, end_column: int | None
    ) -> t.Location:
        """Location of a 1-based line and 0-based UTF-8 byte columns; without a column, the line's text."""
        text = self.text_at(path)
        first = max(line - 1, 0)
        last = max(first, end_line - 1 if end_line is not None else first)
        if text is None:  # the file is gone: columns of ASCII text are right in every encoding
            start = t.Position(line=first, character=column or 0)
            end = t.Position(line=last, character=end_column or column or 0)
            return t.Location(uri=self.uri(path), range=t.Range(start=start, end=end))
        content = text.line(first)
        if column is None:
            indent = len(content) - len(content.lstrip())
            start = text.position(first, from_index(content, indent, "utf-8"), self.encoding)
            end = text.position(first, from_index(content, len(content), "utf-8"), self.encoding)
        else:
            start = text.position(first, column, self.encoding)
            whole = from_index(text.line(last), len(text.line(last)), "utf-8")
            end = text.position(last, end_column if end_column is not None else whole, self.encoding)
        return t.Location(uri=self.uri(path), range=t.Range(start=start, end=end))

    def position_to_bytes(self, path: Path, position: t.Position) -> tuple[int, int]:
        """1-based line and 0-based UTF-8 byte column of an LSP position."""
        text = self.text_at(path)
        if text is None:
            return position.line + 1, position.character
        return position.line + 1, to_byte_column(text.line(position.line), position.character, self.encoding)


def _decode(path: Path, data: bytes) -> str:
    return decode_source(data) if path.suffix in (".py", ".pyi") else data.decode("utf-8-sig", "replace")


def decode_source(data: bytes) -> str:
    """Text of a Python file by its byte-order mark or coding line; damaged bytes become U+FFFD."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:  # an unknown or contradictory coding line
        encoding = "utf-8-sig"
    return data.decode(encoding, "replace")
