"""What the source of one definition declares: fields, submodules, and calls in the order written."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import Final

from tvls.analysis.moved import LineMap
from tvls.analysis.source import tree_of
from tvls.analysis.types import Call, Declared, DeclaredField, Method, Span, Submodule

MOST_CALLS: Final = 500
_LONGEST = 200
_FIRST: Final = ("setup", "__init__", "__call__", "forward")
"""Methods that are listed without being called by another, in this order."""

_BUILTINS: Final = frozenset(dir(builtins))

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def declared(lines: list[str], name: str, moved: LineMap | None = None) -> Declared | None:
    """Of the class or function with this qualified name; None where the text has none. Raises `SourceError`.

    `moved` leads from these lines to those that the answer is about.
    """
    module = tree_of("\n".join(lines)).body
    body: Sequence[ast.stmt] = module
    found: ast.stmt | None = None
    for part in name.split("."):
        found = _definition(body, part)
        if found is None:
            return None
        body = found.body if isinstance(found, ast.ClassDef | _Function) else []
    return _Reader(lines, moved).read(found, module) if found is not None else None


def _definition(body: Sequence[ast.stmt], name: str) -> ast.stmt | None:
    """The last definition of a name, in branches too."""
    found: ast.stmt | None = None
    for node in body:
        if isinstance(node, ast.ClassDef | _Function):
            if node.name == name:
                found = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                found = node
        else:
            for inner in _blocks(node):
                found = _definition(inner, name) or found
    return found


def _with_bases(node: ast.ClassDef, module: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements of a class after those of its bases in the same file: what stands later counts."""
    chain = [node]
    for found in chain:  # grows
        for base in found.bases:
            inner = _definition(module, base.id) if isinstance(base, ast.Name) else None
            if isinstance(inner, ast.ClassDef) and inner not in chain:
                chain.append(inner)
    return [statement for found in reversed(chain) for statement in found.body]


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(node, ast.If | ast.Try | ast.TryStar | ast.With):
        yield node.body
        if not isinstance(node, ast.With):
            yield node.orelse
        if isinstance(node, ast.Try | ast.TryStar):
            for handler in node.handlers:
                yield handler.body
            yield node.finalbody


class _Reader:
    def __init__(self, lines: list[str], moved: LineMap | None) -> None:
        self.lines = lines
        self.moved = moved
        self.calls = 0

    def read(self, node: ast.stmt, module: Sequence[ast.stmt]) -> Declared:
        if isinstance(node, ast.ClassDef):
            return self.of_class(node, module)
        if isinstance(node, _Function):
            method = self.method(node, frozenset())
            return Declared(fields=self.parameters(node, skip=0), methods=[method], total_calls=self.calls)
        # `fast = jax.jit(net)`: what it names is declared where that is defined.
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        for argument in value.args if isinstance(value, ast.Call) else []:
            inner = _definition(module, argument.id) if isinstance(argument, ast.Name) else None
            if isinstance(inner, ast.ClassDef | _Function):
                return self.read(inner, module)
        return Declared()

    def of_class(self, node: ast.ClassDef, module: Sequence[ast.stmt]) -> Declared:
        body = _with_bases(node, module)
        methods = {inner.name: inner for inner in body if isinstance(inner, _Function)}
        fields = [
            DeclaredField(inner.target.id, self.text(inner.annotation), self.optional(inner.value), self.span(inner))
            for inner in body
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)
            if "ClassVar" not in self.text(inner.annotation)
        ]
        if "__init__" in methods:
            fields += self.parameters(methods["__init__"], skip=1)
        submodules = [found for method in methods.values() for found in self.submodules(method)]
        names = frozenset(found.name for found in submodules)
        listed: dict[str, Method] = {}
        pending = [name for name in _FIRST if name in methods]
        while pending:
            name = pending.pop(0)
            if name not in listed:
                method = listed[name] = self.method(methods[name], names)
                called = [call.callee.removeprefix("self.") for call in method.calls if call.callee.startswith("self.")]
                pending += [inner for inner in called if inner in methods]
        return Declared(fields=fields, submodules=submodules, methods=list(listed.values()), total_calls=self.calls)

    def parameters(self, node: _Function, skip: int) -> list[DeclaredField]:
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
        pairs = [*zip(positional, defaults, strict=True)][skip:]
        pairs += [*zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
        return [
            DeclaredField(argument.arg, self.optional(argument.annotation), self.optional(default), self.span(argument))
            for argument, default in pairs
        ]

    def submodules(self, method: _Function) -> Iterator[Submodule]:
        for node in ast.walk(method):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if (
                    isinstance(target, ast.Attribute)
                    and isinstance(target.value, ast.Name)
                    and target.value.id == "self"
                    and (made := self.constructed(node.value)) is not None
                ):
                    yield Submodule(target.attr, made, self.text(node.value), self.span(node))

    def constructed(self, value: ast.expr) -> str | None:
        """What an expression constructs, by the look of its name: one object, or a list of them."""
        if isinstance(value, ast.Call):
            last = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
            return self.text(value.func) if last[:1].isupper() else None
        items = [value.elt] if isinstance(value, ast.ListComp | ast.GeneratorExp) else []
        items += value.elts if isinstance(value, ast.List | ast.Tuple) else []
        if isinstance(value, ast.DictComp):
            items = [value.value]
        elif isinstance(value, ast.Dict):
            items = value.values
        elif isinstance(value, ast.IfExp):
            items = [value.body, value.orelse]
        return next((made for item in items if (made := self.constructed(item)) is not None), None)

    # --- calls ---

    def method(self, node: _Function, submodules: frozenset[str]) -> Method:
        found: list[Call] = []
        for call, within in self.calls_of(node.body, ()):
            callee = call.func.func if isinstance(call.func, ast.Call) else call.func
            name = self.text(callee)
            self.calls += 1
            if self.calls <= MOST_CALLS:
                own = name.removeprefix("self.").partition("[")[0] if name.startswith("self.") else None
                submodule = own if own in submodules else None
                found.append(Call(name, self.text(call), list(within), submodule, self.span(call)))
        returns = f" -> {self.text(node.returns)}" if node.returns is not None else ""
        signature = f"{node.name}({ast.unparse(node.args)}){returns}"
        span = Span(node.lineno, node.col_offset, node.lineno, None)
        return Method(node.name, _short(signature), found, self.placed(span))

    def calls_of(self, nodes: Sequence[ast.AST], within: tuple[str, ...]) -> Iterator[tuple[ast.Call, tuple[str, ...]]]:
        """Calls in the order in which they are written, with the statements around them."""
        for node in nodes:
            match node:
                case ast.If():
                    yield from self.calls_of([node.test], within)
                    condition = self.text(node.test)
                    yield from self.calls_of(node.body, (*within, f"if {condition}"))
                    yield from self.calls_of(node.orelse, (*within, f"if not ({condition})"))
                case ast.For() | ast.AsyncFor():
                    yield from self.calls_of([node.iter], within)
                    head = f"for {self.text(node.target)} in {self.text(node.iter)}"
                    yield from self.calls_of(node.body, (*within, head))
                    yield from self.calls_of(node.orelse, within)
                case ast.While():
                    inner = (*within, f"while {self.text(node.test)}")
                    yield from self.calls_of([node.test, *node.body], inner)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    yield from self.calls_of(node.decorator_list, within)
                    yield from self.calls_of(node.body, (*within, f"def {node.name}"))
                case ast.Lambda():
                    yield from self.calls_of([node.body], (*within, "lambda"))
                case ast.IfExp():
                    condition = self.text(node.test)
                    yield from self.calls_of([node.body], (*within, f"if {condition}"))
                    yield from self.calls_of([node.test], within)
                    yield from self.calls_of([node.orelse], (*within, f"if not ({condition})"))
                case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                    loops = [f"for {self.text(each.target)} in {self.text(each.iter)}" for each in node.generators]
                    items = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                    yield from self.calls_of(items, (*within, *loops))
                    yield from self.calls_of([each.iter for each in node.generators], within)
                case ast.Call():
                    inner = node.func if isinstance(node.func, ast.Call) else None
                    callee = inner.func if inner is not None else node.func
                    plain = isinstance(callee, ast.Name) and callee.id in _BUILTINS
                    if not plain and not self.text(callee).startswith("super()"):
                        yield node, within
                    yield from self.calls_of([callee], within)
                    for call in [inner, node] if inner is not None else [node]:
                        yield from self.calls_of([*call.args, *(k.value for k in call.keywords)], within)
                case ast.ClassDef():
                    pass  # a class of its own
                case _:
                    yield from self.calls_of([*ast.iter_child_nodes(node)], within)

    # --- text ---

    def optional(self, node: ast.expr | None) -> str | None:
        return None if node is None else self.text(node)

    def text(self, node: ast.expr) -> str:
        """As it is written, on one line."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        pieces = [line.encode(errors="surrogatepass") for line in self.lines[first : last + 1]]
        pieces[-1] = pieces[-1][: node.end_col_offset]
        pieces[0] = pieces[0][node.col_offset :]
        return _short(" ".join(b"\n".join(pieces).decode(errors="replace").split()))

    def span(self, node: ast.expr | ast.stmt | ast.arg) -> Span:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset
        return self.placed(Span(node.lineno, node.col_offset, end_line, end_column))

    def placed(self, span: Span) -> Span:
        if self.moved is None:
            return span
        line = self.moved.at_most(span.line - 1) + 1
        if self.moved.exact(span.line - 1) is None:  # the line was edited: its columns say nothing any more
            return Span(line, 0, line, None)
        return Span(line, span.column, max(line, self.moved.at_most(span.end_line - 1) + 1), span.end_column)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
