"""Python newer than the interpreter that runs the analysis.

The parser of libcst knows grammar that an older `ast` does not: type parameters, `type` statements, `except A, B:`,
nested f-strings, template strings. It is some ten times slower, so it is asked only about text that `ast` refused. What
is new is then rewritten to older Python that binds the same names, with every other character left on its line and
column.
"""

# ruff: noqa: N802 - libcst names its visitor methods

from __future__ import annotations

import ast
import itertools
import re
from bisect import bisect_right
from contextlib import suppress

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

_HINT = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*\[|type[ \t]+\w+[ \t]*[\[=]|except[* \t][^:(\n]*,)"
    r"|\b[rR]?[tT][rR]?['\"]",
    re.MULTILINE,
)
"""Cheap, and true for all newer syntax but that of f-strings."""
_F_STRING = re.compile(r"\b[rR]?[fF][rR]?['\"]")
_START = re.compile(r"(?!else\b|elif\b|except\b|finally\b|case\b)[^\s#)\]}]")
_TRIPLE = re.compile(r"\"{3}|'{3}")
_ROUNDS = 32
"""Statements with f-strings of newer Python that are looked for in one text, one parse each."""


def parsed(text: str, error: SyntaxError) -> ast.Module | None:
    """Tree of a text that `ast` refused with `error`, or `None` where it is no newer Python either.

    Raises what `ast.parse` may raise besides `SyntaxError`.
    """
    blocks = _blocks(text.split("\n"))
    unsure = False
    for number, (line, block) in enumerate(blocks):
        if _HINT.search(block):
            older = _rewritten(block, strings=False)
            unsure = unsure or (older is None and ("\\" in block or _TRIPLE.search(block) is not None))
            blocks[number] = (line, older or block)
    for _ in range(_ROUNDS):
        try:
            return ast.parse("\n".join(block for _, block in blocks))
        except SyntaxError as again:
            error = again
        number = bisect_right([line for line, _ in blocks], (error.lineno or 1) - 1) - 1
        line, block = blocks[number]
        older = _rewritten(block, strings=True) if _F_STRING.search(block) else None
        if older is None and _F_STRING.search(block) and number + 1 < len(blocks):
            # An f-string over several lines may look like two statements.
            block += "\n" + blocks[number + 1][1]
            older = _rewritten(block, strings=True)
            if older is not None:
                del blocks[number + 1]
        if older is None or older == block:
            break
        blocks[number] = (line, older)
    if unsure:  # the text may have been divided in the middle of a statement
        for strings in (False, True):
            older = _rewritten(text, strings)
            with suppress(SyntaxError):
                if older is not None:
                    return ast.parse(older)
    return None


def _blocks(lines: list[str]) -> list[tuple[int, str]]:
    """First line (0-based) and text of what are probably the top-level statements."""
    starts: list[int] = [0]
    quote = ""
    decorated = False
    for number, line in enumerate(lines):
        if not quote and number and _START.match(line) and not lines[number - 1].endswith("\\"):
            if not decorated:
                starts.append(number)
            decorated = line.startswith("@")
        for found in _TRIPLE.findall(line):
            quote = found if not quote else "" if found == quote else quote
    return [(a, "\n".join(lines[a:b])) for a, b in itertools.pairwise([*starts, len(lines)])]


def _rewritten(text: str, strings: bool) -> str | None:
    """Older Python that binds the same names, or `None` where libcst cannot read the text.

    `strings`: also blank out f-strings. The result is not certain to parse.
    """
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    except (cst.ParserSyntaxError, RecursionError, ValueError):
        return None
    lines = text.split("\n")
    collector = _Collector(strings)
    wrapper.visit(collector)
    for area, replacement in collector.edits:
        _replace(lines, area, replacement)
    return "\n".join(lines)


class _Collector(cst.CSTVisitor):
    """Areas to replace; no area lies inside another."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, strings: bool) -> None:
        super().__init__()
        self.strings = strings
        self.edits: list[tuple[CodeRange, str]] = []

    def area(self, node: cst.CSTNode) -> CodeRange:
        found = self.get_metadata(PositionProvider, node)
        if not isinstance(found, CodeRange):
            raise TypeError("libcst gave no range")
        return found

    def visit_TypeParameters(self, node: cst.TypeParameters) -> bool:
        self.edits.append((self.area(node), ""))
        return False

    def visit_TypeAlias(self, node: cst.TypeAlias) -> bool:
        # `type X[T] = v` binds X as `X = v` does.
        end = self.area(node.type_parameters or node.name).end
        self.edits.append((CodeRange(self.area(node).start, end), node.name.value))
        node.value.visit(self)
        return False

    def visit_ExceptHandler_type(self, node: cst.ExceptHandler) -> None:
        if isinstance(node.type, cst.Tuple) and not node.type.lpar:
            area = self.area(node.type)
            self.edits.append((CodeRange(self.area(node.type.elements[0].value).end, area.end), ""))

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return self._blank(node) if self.strings else False

    def visit_TemplatedString(self, node: cst.TemplatedString) -> bool:
        return self._blank(node)

    def _blank(self, node: cst.CSTNode) -> bool:
        area = self.area(node)
        quote = '"' if area.start.line == area.end.line else '"""'
        self.edits.append((area, quote + "\0" + quote))
        return False


def _replace(lines: list[str], area: CodeRange, replacement: str) -> None:
    """Puts `replacement` at the start of an area and blanks the rest by bytes; `\\0` in it stands for the blanks."""
    start, end = area.start, area.end
    head, _, tail = replacement.partition("\0")
    for number in range(start.line - 1, end.line):
        line = lines[number]
        first = start.column if number == start.line - 1 else 0
        last = end.column if number == end.line - 1 else len(line)
        blank = " " * len(line[first:last].encode())
        if number == start.line - 1:
            blank = head + blank[len(head) :]
        if number == end.line - 1 and tail:
            blank = blank[: len(blank) - len(tail)] + tail
        lines[number] = line[:first] + blank + line[last:]
