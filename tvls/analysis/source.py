"""Text to facts: decoding, parsing, and re-reading only the top-level statements that an edit touched."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from dataclasses import dataclass

from tvls.analysis.facts import Op, facts_of
from tvls.analysis.types import ParseError
from tvls.common_ends import common_ends
from tvls.printable import printable


class SourceError(Exception):
    """The text is not valid Python. `error` says where and why."""

    def __init__(self, line: int, message: str, syntax: bool = True) -> None:
        super().__init__(message)
        self.error = ParseError(line, printable(message), syntax)


@dataclass(slots=True, frozen=True)
class Chunk:
    """Lines that hold whole top-level statements, so that a module is the sum of its chunks."""

    line: int
    """First line, 0-based; facts count from here."""
    ops: tuple[Op, ...]


@dataclass(slots=True, frozen=True)
class Source:
    lines: list[str]
    chunks: list[Chunk]


def decode(data: bytes) -> str:
    """Text of a source file by its own declaration (BOM, coding line, UTF-8). Raises `SourceError`."""
    try:
        if data.isascii() and b"coding" not in data[:200]:
            return data.decode("ascii")
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError, ValueError, TypeError) as error:
        raise SourceError(0, f"the file cannot be decoded: {error}", syntax=False) from error


_NEWLINE = re.compile("\r\n?")


def lines_of(text: str) -> list[str]:
    """Lines as Python's tokenizer counts them: only LF, CRLF and CR end one."""
    text = text.removeprefix("\ufeff")
    return (_NEWLINE.sub("\n", text) if "\r" in text else text).split("\n")


def parse(text: str, previous: Source | None = None) -> Source:
    """Facts of a text, reusing those of `previous` for statements that are the same. Raises `SourceError`."""
    lines = lines_of(text)
    if previous is not None:
        if lines == previous.lines:
            return previous
        if (updated := _update(lines, previous)) is not None:
            return updated
    return Source(lines, _chunks(lines, 0))


def _update(lines: list[str], previous: Source) -> Source | None:
    """The facts after an edit, from the changed statements and their neighbours; `None` where those cannot stand alone.

    Sound because modules concatenate: two texts that are valid modules by themselves are, one after the other, the
    module with the statements of both.
    """
    old, chunks = previous.lines, previous.chunks
    before, after = common_ends(old, lines)
    starts = [chunk.line for chunk in chunks]
    first = max(bisect_right(starts, max(before - 1, 0)) - 1, 0)
    last = bisect_right(starts, len(old) - after)
    moved = len(lines) - len(old)
    start = chunks[first].line
    end = chunks[last].line + moved if last < len(chunks) else len(lines)
    try:
        fresh = _chunks(lines[start:end], start)
    except SourceError:
        return None
    rest = [Chunk(chunk.line + moved, chunk.ops) for chunk in chunks[last:]]
    return Source(lines, [*chunks[:first], *fresh, *rest])


def _chunks(lines: list[str], offset: int) -> list[Chunk]:
    """Chunks of lines that are a module by themselves and start at line `offset` of the file."""
    body = tree_of("\n".join(lines)).body
    groups: list[tuple[int, list[ast.stmt]]] = []
    end = 0
    for node in body:
        line = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        joined = line > 1 and lines[line - 2].endswith("\\")
        if groups and (line <= end or joined):
            groups[-1][1].append(node)
        else:
            groups.append((line if groups else 1, [node]))
        end = node.end_lineno or node.lineno
    if not groups:
        return [Chunk(offset, ())]
    try:
        return [Chunk(line - 1 + offset, facts_of(nodes, line)) for line, nodes in groups]
    except (RecursionError, MemoryError) as error:
        raise SourceError(0, "the text is nested too deeply", syntax=False) from error


_WHITE = r"(?:[ \t\f]|\\\r?\n)*+"
_PART = rf"\.{_WHITE}\w++{_WHITE}"
_LONG_CHAIN = re.compile(rf"{_PART}(?:{_PART}){{99,}}+")
_BEFORE = re.compile(r"(?:[\w., \t\f]|\n\r?\\)*+")
"""Read backwards: what may stand between `import` and a module's name."""
_IMPORT_WORD = re.compile(r"\b(?:tropmi|morf)\b")
_LOOK_BACK = 4096


def _check_imports(text: str) -> None:
    """Refuses imports of endless dotted names, for which Python's parser takes memory by the square of their length."""
    if text.count(".") < 100:
        return
    for chain in _LONG_CHAIN.finditer(text):
        before = text[max(0, chain.start() - _LOOK_BACK) : chain.start()][::-1]
        found = _BEFORE.match(before)
        run = found[0] if found else ""
        if len(run) == _LOOK_BACK or _IMPORT_WORD.search(run):
            raise SourceError(text.count("\n", 0, chain.start()) + 1, "the name of the imported module is too long")


def tree_of(text: str) -> ast.Module:
    """Syntax of a text, newer syntax rewritten. Raises `SourceError`."""
    _check_imports(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and the like are the user's linter's business
        try:
            try:
                return ast.parse(text)
            except SyntaxError as error:
                from tvls.analysis.newer_syntax import parsed  # libcst: only for text that needs it

                tree = parsed(text, error)
                if tree is None:
                    raise SourceError(error.lineno or 0, error.msg) from error
                return tree
        except (ValueError, RecursionError, MemoryError) as error:
            nested = not isinstance(error, ValueError)
            message = "the text is nested too deeply, or too long" if nested else str(error)
            raise SourceError(0, message, syntax=not nested) from error
