"""What a factory file defines, told from its text."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import msgspec

from tvls.analysis.types import Parameter


class Definition(msgspec.Struct, frozen=True):
    """A name that can be called. `line` is 1-based, `column` and `end_column` are 0-based UTF-8 bytes."""

    name: str
    line: int
    column: int
    end_column: int
    parameters: list[Parameter] | None = None
    """None where the text does not tell them: of a class, or a value."""
    doc: str = ""


class PythonFile(msgspec.Struct, frozen=True):
    definitions: list[Definition]
    complete: bool
    """The file has no other top-level names: it imports no `*`, and makes none when it is asked."""
    bare: frozenset[str]
    """Classes without bases, which have no methods but their own."""

    def lacks(self, name: str) -> bool:
        """Whether the file surely has no such name."""
        head, _, rest = name.partition(".")
        if self.find(head) is None:
            return self.complete
        return bool(rest) and head in self.bare and self.find(name) is None

    def find(self, name: str) -> Definition | None:
        return next((item for item in self.definitions if item.name == name), None)


def read_python(text: str) -> PythonFile | None:
    """Top-level names of a file, and static and class methods of its classes. None for text that is no valid Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: dict[str, Definition] = {}
    complete = True
    bare: set[str] = set()
    for node in _statements(tree.body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                complete = complete and node.name != "__getattr__"
                found[node.name] = _function(node, node.name, text, bound=False)
            case ast.ClassDef():
                found[node.name] = Definition(node.name, *_name_place(node, text), doc=ast.get_docstring(node) or "")
                for member in node.body:
                    if isinstance(member, ast.FunctionDef) and _is_static(member):
                        name = f"{node.name}.{member.name}"
                        found[name] = _function(member, name, text, bound=_decorated(member, "classmethod"))
                if not node.bases and not node.decorator_list and not node.keywords:
                    bare.add(node.name)
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    complete = complete and alias.name != "*"
                    name = (alias.asname or alias.name).partition(".")[0]
                    found[name] = Definition(name, alias.lineno, alias.col_offset, alias.end_col_offset or 0)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            end = name.end_col_offset or name.col_offset
                            found[name.id] = Definition(name.id, name.lineno, name.col_offset, end)
            case _:
                pass
    return PythonFile(list(found.values()), complete, frozenset(bare))


def _statements(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """Statements of a module's own scope, those in branches included."""
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody"):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _statements(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from _statements(handler.body)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, text: str, *, bound: bool) -> Definition:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    parameters = [
        Parameter(
            item.arg,
            "positional_only" if index < len(arguments.posonlyargs) else "positional_or_keyword",
            _written(item.annotation),
            _written(default),
        )
        for index, (item, default) in enumerate(zip(positional, defaults, strict=True))
    ][1 if bound else 0 :]
    if arguments.vararg:
        parameters.append(Parameter(arguments.vararg.arg, "var_positional"))
    parameters += [
        Parameter(item.arg, "keyword_only", _written(item.annotation), _written(default))
        for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        parameters.append(Parameter(arguments.kwarg.arg, "var_keyword"))
    # A decorator may change what the function takes.
    plain = all(_decorated(node, "staticmethod") or _decorated(node, "classmethod") for _ in node.decorator_list)
    return Definition(name, *_name_place(node, text), parameters if plain else None, ast.get_docstring(node) or "")


def _written(node: ast.expr | None) -> str | None:
    return None if node is None else ast.unparse(node)


def _name_place(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, text: str) -> tuple[int, int, int]:
    """Line and columns of the name behind `def` or `class`."""
    line = text.encode("utf-8", "replace").split(b"\n")[node.lineno - 1]
    name = node.name.encode()
    column = max(line.find(name, node.col_offset), node.col_offset)
    return node.lineno, column, column + len(name)


def _is_static(node: ast.FunctionDef) -> bool:
    return _decorated(node, "staticmethod") or _decorated(node, "classmethod")


def _decorated(node: ast.FunctionDef | ast.AsyncFunctionDef, by: str) -> bool:
    return any(isinstance(item, ast.Name) and item.id == by for item in node.decorator_list)
