"""What stands in a setup for a value that nobody has stated yet, so that it can be written down and found again.

- `"?"` in place of a shape, a dimension or a dtype; `"?batch"` is a dimension with a name. An expression in names,
  `"?2*n"`, follows once they are known.
- `{ kind = "ask" }` in place of any other value.

A profile with placeholders is incomplete, which is a question to the person and no mistake.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, cast

from tvls.setup.inside import arguments_in, walk

UNKNOWN: Final = "?"


def ask() -> dict[str, Any]:
    """The placeholder of an argument."""
    return {"kind": "ask"}


def is_ask(value: Any) -> bool:
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("kind") == "ask"


def is_open(part: Any) -> bool:
    """Whether a shape, a dimension or a dtype is a placeholder."""
    return isinstance(part, str) and part.startswith(UNKNOWN)


def is_open_shape(shape: Any) -> bool:
    return is_open(shape) or (isinstance(shape, list) and any(is_open(dim) for dim in cast("list[Any]", shape)))


def names_in(dimension: Any) -> list[str]:
    """Names that a dimension depends on, in the order written; empty for a number and for `"?"`."""
    if not is_open(dimension) or dimension == UNKNOWN:
        return []
    try:
        tree = ast.parse(dimension[1:], mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return []
    return list(dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)))


def resolve_dimension(dimension: Any, known: Mapping[str, int]) -> Any:
    """The number that a named dimension or an expression comes to; as it was, where a name is not known."""
    names = names_in(dimension)
    if not names or any(name not in known for name in names):
        return dimension
    try:
        number = _evaluate(ast.parse(dimension[1:], mode="eval").body, known)
    except (ValueError, ArithmeticError):
        return dimension
    return number if number >= 0 else dimension


def _evaluate(node: ast.expr, known: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            return known[name]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _evaluate(left, known) + _evaluate(right, known)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _evaluate(left, known) - _evaluate(right, known)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _evaluate(left, known) * _evaluate(right, known)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _evaluate(left, known) // _evaluate(right, known)
        case _:
            raise ValueError("no arithmetic")


def resolve_shapes(table: dict[str, Any], known: Mapping[str, int]) -> dict[str, Any]:
    """A copy of a profile's table in which the named dimensions of every tensor are numbers, where they are known."""
    resolved = deepcopy(table)
    for shape in shapes_in(resolved):
        shape[:] = [resolve_dimension(dim, known) for dim in shape]
    return resolved


def shapes_in(table: dict[str, Any]) -> Iterator[list[Any]]:
    """The shape of every tensor in a profile's table that has one."""
    for at, argument in arguments_in(table):
        for _, value in walk(argument, at):
            match value:
                case {"kind": "tensor", "shape": list()}:
                    yield cast("list[Any]", value["shape"])
                case _:
                    pass
