"""What stands at a place of a text: the function whose code it is, and what it does with the name there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from tvls.graph.annotations import lines_of_returns

Function = tuple[str, ...]
"""Names of the classes and functions around, from the outside in, without `<locals>` and comprehensions."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Place(NamedTuple):
    function: Function | None
    """None outside of functions."""
    name: ast.Name | ast.arg | None
    part: Part | None
    """A subscript or attribute, where the place is in what it asks for."""


class Part(NamedTuple):
    """`state.params["w"]`"""

    of: ast.Name
    path: tuple[str | int, ...]
    subscripts: tuple[bool, ...]
    """Which keys of the path are those of subscripts; the others are attributes."""
    node: ast.Subscript | ast.Attribute


class Definition(NamedTuple):
    function: Function
    returns: tuple[int, ...]
    """Lines of its `return`s."""


class Text:
    """A text that Python reads."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.definitions = {
            (node.lineno, node.name): Definition(function, tuple(lines_of_returns(node)))
            for node, function in _definitions(tree, ())
            if not isinstance(node, ast.ClassDef)
        }
        self.classes = {
            (node.lineno, node.name): name for node, name in _definitions(tree, ()) if isinstance(node, ast.ClassDef)
        }

    def at(self, line: int, column: int) -> Place:
        """1-based line, UTF-8 byte column."""
        function: Function | None = None
        around: Function = ()
        node: ast.AST = self.tree
        part = name = None
        while True:
            found = next(
                (child for child in _inside(node) if _contains(child, line, column)),
                None,
            )
            if found is None:
                return Place(function, name, part)
            if isinstance(node, _FUNCTIONS) and (isinstance(found, ast.arg) or not _is_outside(node, found)):
                function = around = (*around, _name(node))
            elif isinstance(node, ast.ClassDef) and found in node.body:
                around = (*around, node.name)
                function = None
            if isinstance(found, ast.Subscript | ast.Attribute) and not _contains(found.value, line, column):
                part = _part(found)
            name = found if isinstance(found, ast.Name | ast.arg) else None
            node = found


def text_of(lines: Sequence[str]) -> Text | None:
    """None where there is none, or the daemon's Python cannot read it."""
    return _text_of("\n".join(lines)) if lines else None


@lru_cache(maxsize=16)
def _text_of(text: str) -> Text | None:
    try:
        return Text(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _definitions(
    node: ast.AST, around: Function
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, Function]]:
    work: list[tuple[ast.AST, Function]] = [(node, around)]
    while work:
        at, around = work.pop()
        if isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            around = (*around, at.name)
            yield at, around
        elif isinstance(at, ast.Lambda):
            around = (*around, "<lambda>")
        work += [(child, around) for child in ast.iter_child_nodes(at)]


def _inside(node: ast.AST) -> Iterator[ast.expr | ast.stmt | ast.arg]:
    """The nodes with a position directly inside of a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr | ast.stmt | ast.arg):
            yield child
        else:
            yield from _inside(child)


def _contains(node: ast.expr | ast.stmt | ast.arg, line: int, column: int) -> bool:
    start = node.lineno, node.col_offset
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.decorator_list:
        start = node.decorator_list[0].lineno, 0
    return start <= (line, column) < (node.end_lineno or 0, node.end_col_offset or 0)


def _is_outside(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, found: ast.AST) -> bool:
    """Whether what is inside of a function's text belongs to the function around: a default, a decorator."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    return found not in body


def _name(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> str:
    return "<lambda>" if isinstance(function, ast.Lambda) else function.name


def _part(node: ast.Subscript | ast.Attribute) -> Part | None:
    if not isinstance(node.ctx, ast.Load):
        return None  # it may not be there yet
    keys: list[tuple[str | int, bool]] = []
    at: ast.expr = node
    while True:
        match at:
            case ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as key)):
                keys.append((key, True))
            case ast.Attribute(value=value, attr=key):
                keys.append((key, False))
            case ast.Name():
                path, subscripts = zip(*reversed(keys), strict=True)
                return Part(at, path, subscripts, node)
            case _:
                return None
        at = value
