"""Python newer than the interpreter that runs the analysis.

The parser of libcst knows grammar that an older `ast` does not: type parameters, `type` statements, `except A, B:`,
nested f-strings, template strings. It is some ten times slower, so it is asked only about text that `ast` refused. What
is new is then rewritten to older Python that binds the same names, with every other character left on its line and
column.
"""

# ruff: noqa: N802 - libcst names its visitor methods

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

_HINT = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*\[|type[ \t]+\w+[ \t]*[\[=]|except[* \t][^:(\n]*,)"
    r"|\b[rR]?[tT][rR]?['\"]",
    re.MULTILINE,
)
_F_STRING = re.compile(r"\b[rR]?[fF][rR]?['\"]")


def may_hold_newer_syntax(text: str, error: SyntaxError) -> bool:
    """A cheap test that has to be true for every text that `rewritten` can help; `error` is what `ast` said."""
    in_string = "f-string" in error.msg or (
        "unterminated" in error.msg and _F_STRING.search(error.text or "") is not None
    )
    return in_string or _HINT.search(text) is not None


def rewritten(text: str, strings: bool) -> str | None:
    """Older Python that binds the same names, or `None` where libcst cannot read the text either.

    `strings`: also blank out f-strings and template strings. The result is not certain to parse.
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
        return self._string(node)

    def visit_TemplatedString(self, node: cst.TemplatedString) -> bool:
        return self._string(node)

    def _string(self, node: cst.CSTNode) -> bool:
        if self.strings:
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


def older_forms(text: str, error: SyntaxError) -> Iterable[str]:
    """Rewritings to try, the smaller first."""
    if may_hold_newer_syntax(text, error):
        for strings in (False, True):
            form = rewritten(text, strings)
            if form is None:
                return
            yield form
