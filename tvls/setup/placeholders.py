"""What stands in a setup for a value that nobody has stated yet, so that it can be written down and found again.

- `"?"` in place of a shape, a dimension or a dtype; `"?batch"` is a dimension with a name. An expression in names,
  `"?2*n"`, follows once they are known.
- `{ kind = "ask" }` in place of any other value.

A profile with placeholders is incomplete, which is a question to the person and no mistake.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from tvls.setup.keys import Key

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


def find_asks(value: Any, at: Key) -> Iterator[Key]:
    """Places of the arguments in a setup value that are placeholders."""
    match value:
        case {"kind": "ask"}:
            yield at
        case list():
            for index, item in enumerate(cast("list[Any]", value)):
                yield from find_asks(item, (*at, index))
        case dict():
            for name, item in cast("dict[str, Any]", value).items():
                yield from find_asks(item, (*at, name))
        case _:
            pass


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


def resolve_shapes(value: Any, known: Mapping[str, int]) -> Any:
    """A copy of a setup value in which the named dimensions of every tensor are numbers, as far as they are known."""
    match value:
        case list():
            return [resolve_shapes(item, known) for item in cast("list[Any]", value)]
        case {"kind": "tensor", "shape": list()}:
            tensor = cast("dict[str, Any]", value)
            return {**tensor, "shape": [resolve_dimension(dim, known) for dim in tensor["shape"]]}
        case dict():
            return {name: resolve_shapes(item, known) for name, item in cast("dict[str, Any]", value).items()}
        case _:
            return value


def shapes_in(value: Any) -> Iterator[list[Any]]:
    """The shape of every tensor in a setup value that has one."""
    match value:
        case list():
            for item in cast("list[Any]", value):
                yield from shapes_in(item)
        case {"kind": "tensor"}:
            shape: Any = cast("dict[str, Any]", value).get("shape")
            if isinstance(shape, list):
                yield cast("list[Any]", shape)
        case dict():
            for item in cast("dict[str, Any]", value).values():
                yield from shapes_in(item)
        case _:
            pass
