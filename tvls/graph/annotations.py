"""What annotations such as jaxtyping's `Float[Array, "batch width"]` call the dimensions of what a trace saw."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from tvls.graph.text import long_type


def dimension_names(annotation: ast.expr | None) -> tuple[str, ...]:
    """Words of an annotation, one for each dimension; empty where it has none."""
    match annotation:
        case ast.Subscript(slice=ast.Tuple(elts=[_, ast.Constant(value=str(text))])):
            return tuple(text.split())
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return dimension_names(left) or dimension_names(right)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return dimension_names(inner)
        case _:
            return ()


def names_by_line(lines: Sequence[str]) -> Mapping[tuple[int, str], tuple[str, ...]]:
    """Of the annotated parameters, variables and results (`return`) of a text, by where a trace sees them."""
    return _names_by_line("\n".join(lines))


@lru_cache(maxsize=16)
def _names_by_line(text: str) -> Mapping[tuple[int, str], tuple[str, ...]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}  # newer syntax than that of the daemon's Python
    return {(line, name): names for line, name, names in _annotated(tree) if names}


def _annotated(tree: ast.AST) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                yield node.lineno, name, dimension_names(annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                given = node.args
                for parameter in [*given.posonlyargs, *given.args, *given.kwonlyargs]:
                    yield parameter.lineno, parameter.arg, dimension_names(parameter.annotation)
                result = dimension_names(node.returns)
                for line in [node.lineno, *lines_of_returns(node)]:
                    yield line, "return", result
            case _:
                pass


def lines_of_returns(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[int]:
    work: list[ast.AST] = [*function.body]
    while work:
        node = work.pop()
        if isinstance(node, ast.Return):
            yield node.lineno
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            work += ast.iter_child_nodes(node)


def named_type(shape: Sequence[int], dtype: str, names: Sequence[str]) -> str:
    """`float32[batch=2, 3]`"""
    # A name stands for one dimension each; with `...` or `*batch` the places are not known.
    if len(names) != len(shape) or any(word.startswith(("*", "...")) for word in names):
        return long_type(shape, dtype)
    words = [word.lstrip("#?").partition("=")[0] for word in names]
    parts = [
        f"{word}={size}" if word.isidentifier() and word != "_" else str(size)
        for word, size in zip(words, shape, strict=True)
    ]
    return f"{dtype}[{', '.join(parts)}]"
