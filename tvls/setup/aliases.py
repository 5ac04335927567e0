"""Names that annotations use and the same file defines: type aliases, enumerations of strings, classes of settings."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import msgspec

from tvls.analysis.types import FoundTarget, Parameter

_DEPTH = 8
"""Aliases of aliases that are followed."""


def with_aliases(target: FoundTarget, text: str | None) -> FoundTarget:
    """The target with the annotations of its parameters written out as far as `text`, its file, says what they mean.

    A string enumeration becomes the `Literal` of its values, which are equal to its members.
    """
    if text is None or not any(p.annotation for p in (*target.parameters, *target.init_parameters)):
        return target
    try:
        known = _definitions(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return target
    if not known:
        return target
    return msgspec.structs.replace(
        target,
        parameters=_expanded(target.parameters, known),
        init_parameters=_expanded(target.init_parameters, known),
    )


def _definitions(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp() as value):
                found[name] = value
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as value):
                if name[:1].isupper():  # `Array = jax.Array`
                    found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                if ast.unparse(node.annotation).endswith("TypeAlias"):
                    found[name] = value
            case ast.ClassDef(name=name) if (values := _members(node)) is not None:
                found[name] = ast.Subscript(ast.Name("Literal"), ast.Tuple([ast.Constant(value) for value in values]))
            case _:
                # `type Shape = …`, which Pythons before 3.12 do not read
                if node.__class__.__name__ == "TypeAlias":
                    found[ast.unparse(node).split()[1].partition("[")[0]] = ast.parse(
                        ast.unparse(node).partition("=")[2].strip(), mode="eval"
                    ).body
    return found


def _members(node: ast.ClassDef) -> list[str] | None:
    """Values of a class such as `class Mode(str, Enum)`; None for any other class."""
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    if not ("StrEnum" in bases or {"str", "Enum"} <= bases):
        return None
    values: list[str] = []
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as value)):
                values.append(value)
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="auto") | ast.Attribute(attr="auto"))
            ):
                if "StrEnum" not in bases:
                    return None
                values.append(name.lower())
            case _:
                pass
    return values or None


def _expanded(parameters: Sequence[Parameter], known: dict[str, ast.expr]) -> list[Parameter]:
    return [msgspec.structs.replace(p, annotation=_written_out(p.annotation, known)) for p in parameters]


def _written_out(annotation: str | None, known: dict[str, ast.expr]) -> str | None:
    if annotation is None:
        return None
    try:
        tree = ast.parse(annotation.strip().strip("\"'"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return annotation
    writer = _Writer(known)
    written = writer.visit(tree)
    return ast.unparse(written) if writer.changed else annotation


class _Writer(ast.NodeTransformer):
    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known
        self.depth = 0
        self.changed = False

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.known or self.depth >= _DEPTH:
            return node
        self.changed = True
        self.depth += 1
        found = self.visit(ast.parse(ast.unparse(self.known[node.id]), mode="eval").body)
        self.depth -= 1
        return found
