"""Definitions that a person names and discovery has not, as their text tells them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from tvls.analysis.types import ANY_ARGUMENTS, FoundTarget


def named_definition(
    path: Path, name: str, text: str, folder: Path, found: Sequence[FoundTarget]
) -> FoundTarget | None:
    """A definition of the module's top level that discovery takes for no model, for someone who names it all the same.

    Its kind is that of the framework that the file speaks of, its parameters say nothing: the worker looks at the
    object itself.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    for node in body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names.update(target.id for target in targets if isinstance(target, ast.Name))
    if name.partition(".")[0] not in names:
        return None
    source = folder / "src"
    root = Path(found[0].root) if found else source if path.is_relative_to(source) else folder
    parts = path.relative_to(root).with_suffix("").parts
    module = found[0].module if found else ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return FoundTarget(
        path=str(path),
        name=name,
        kind="torch.module" if "torch" in text and "jax" not in text else "jax.function",
        module=module,
        root=str(root),
        line=1,
        column=0,
        end_column=0,
        name_line=1,
        header_end_line=1,
        end_line=1,
        discovered=False,
        parameters=ANY_ARGUMENTS,
    )


def unreachable(name: str, text: str) -> tuple[str, str]:
    """Why a name that stands in a text is none of its module, and what to do; both empty where it does not."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return "", ""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom() if name in _bound(node):
                source = "." * node.level + (node.module or "")
                return f"{name} is imported here, from {source}.", "Name it in the file that defines it."
            case ast.Import() if name in _bound(node):
                return f"{name} is a module that is imported here.", "Name a model of it, in its own file."
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))) if name in _defined(node):
                where = f'{name} is defined under `if __name__ == "__main__"`, which an import does not run.'
                return where, "Define it above."
            case ast.FunctionDef() | ast.AsyncFunctionDef() if name in _defined(node) and node.name != name:
                where = f"{name} is defined inside of {node.name}, and is there only while that runs."
                return where, "Define it at the top of the file, or name a function that returns a model."
            case _:
                pass
    return "", ""


def _bound(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [alias.asname or alias.name for alias in node.names]


def _defined(around: ast.AST) -> Iterator[str]:
    for node in ast.walk(around):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
