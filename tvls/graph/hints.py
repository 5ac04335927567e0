"""Shapes after the names that a line assigns, as inlay hints show them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tvls.capture.document import Failure
from tvls.graph.annotations import dimension_names
from tvls.graph.hover import TIMES, ranked
from tvls.graph.index import GraphIndex
from tvls.graph.observations import Held, seen_by
from tvls.protocol import types as t

_INLINE = 2
"""Arrays of an object that a hint has room for."""


@dataclass(frozen=True)
class Hint:
    line: int
    """1-based, as it was traced."""
    end: int
    """UTF-8 byte column of what the hint stands after."""
    label: str
    tooltip: str
    name: str
    """The parameter or variable."""
    freshness: t.Freshness


def hints(asked: GraphIndex | Failure, path: str, lines: Sequence[str], freshness: t.Freshness) -> list[Hint]:
    """What every parameter and assigned variable of a file held that the trace saw, in the order of the file.

    `path` is workspace-relative, `lines` its text as it was traced. A name that several lines assign has a hint on
    each, with what it held there.
    """
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return []  # newer syntax than that of the daemon's Python: the hover reads single lines, this does not
    seen, evidence = seen_by(asked, path)
    found: list[Hint] = []
    for name in _assigned(tree):
        held = seen.bound(path, name.line, name.text)
        if held:
            label, others = _label(held, name.dimensions)
            tooltip = f"{others}{TIMES}{held.total():,} · {evidence} · {freshness}"
            found.append(Hint(name.line, name.end, f": {label}", tooltip, name.text, freshness))
    return sorted(found, key=lambda hint: (hint.line, hint.end))


class _Name(NamedTuple):
    text: str
    line: int
    """Where a trace would have seen it."""
    end: int
    dimensions: Sequence[str]
    """What the annotation calls them; empty where none does."""


def _assigned(tree: ast.AST) -> Iterator[_Name]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign():
                for assigned in node.targets:
                    yield from _names(assigned)
            case ast.AugAssign() | ast.NamedExpr() | ast.For() | ast.AsyncFor():
                yield from _names(node.target)
            case ast.AnnAssign(target=ast.Name() as target):
                dimensions = dimension_names(node.annotation)
                if node.annotation.end_lineno == node.lineno:
                    yield _Name(target.id, node.lineno, node.annotation.end_col_offset or 0, dimensions)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _parameters(node)
            case _:
                pass


def _names(target: ast.expr) -> Iterator[_Name]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield _Name(node.id, node.lineno, node.end_col_offset or 0, ())


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[_Name]:
    given = function.args
    for parameter in [*given.posonlyargs, *given.args, *given.kwonlyargs]:
        if parameter.lineno == parameter.end_lineno:
            dimensions = dimension_names(parameter.annotation)
            yield _Name(parameter.arg, parameter.lineno, parameter.end_col_offset or 0, dimensions)


def _label(held: Held, dimensions: Sequence[str]) -> tuple[str, str]:
    """The most frequent type, with how many others there are; and the others in words."""
    label, *others = [kind.text(dimensions, _INLINE) for kind, _ in ranked(held)]
    return (f"{label} +{len(others)}", f"also {', '.join(others)}\n\n") if others else (label, "")
