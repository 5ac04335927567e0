"""One file's statements as plain facts: what is imported, defined and assigned, and which names a function uses.

Facts belong to one top-level statement, hold no syntax tree, and count lines from that statement's first line (0), so
they stay valid when the statement moves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tvls.analysis.types import ParameterKind

Dotted = tuple[str, ...]
Span = tuple[int, int, int, int]
"""First line, first column, last line, end column; columns in UTF-8 bytes."""


@dataclass(slots=True, frozen=True)
class Call:
    """A call as a value; arguments in the order written, keyword arguments last."""

    function: Value
    arguments: tuple[Value, ...]


@dataclass(slots=True, frozen=True)
class Choice:
    """`a if c else b`, `a or b`."""

    options: tuple[Value, ...]


@dataclass(slots=True, frozen=True)
class ParameterFact:
    name: str
    kind: ParameterKind
    annotation: Span | None
    default: Span | None


@dataclass(slots=True, frozen=True)
class Place:
    """Where a definition stands: first line and column, the point after the last header expression, last line."""

    line: int
    column: int
    header: tuple[int, int]
    end_line: int


@dataclass(slots=True, frozen=True)
class FunctionFact:
    name: str
    place: Place
    parameters: tuple[ParameterFact, ...]
    decorators: tuple[Value, ...]
    uses: frozenset[tuple[Dotted, bool]]
    """Dotted names that the body loads from outside the function, and whether it calls them."""
    imports: tuple[Op, ...]
    """Imports inside the body."""
    traceable: bool
    """Not a coroutine and not a generator."""


@dataclass(slots=True, frozen=True)
class FieldFact:
    """An annotated assignment in a class body."""

    name: str
    annotation: Span
    default: Span | None
    factory: bool
    """`default` is a function that makes the default."""
    keyword_only: bool
    class_variable: bool
    """`ClassVar`, or a dataclass field with `init=False`."""


@dataclass(slots=True, frozen=True)
class ClassFact:
    name: str
    place: Place
    bases: tuple[Value, ...]
    decorators: tuple[Value, ...]
    keyword_only: bool
    fields: tuple[FieldFact, ...]
    body: tuple[Op, ...]


Value = Dotted | Call | Choice | FunctionFact | None
"""What an expression may denote; a `FunctionFact` is a lambda, `None` anything that is not followed."""


@dataclass(slots=True, frozen=True)
class Import:
    """`import module` (`name` is `None`) or `from module import name`, bound to `bound`."""

    bound: str
    module: str
    name: str | None
    level: int


@dataclass(slots=True, frozen=True)
class Star:
    module: str
    level: int


@dataclass(slots=True, frozen=True)
class Assign:
    names: tuple[str, ...]
    value: Value
    place: Place
    type: Span | None = None
    """The expression, where it is one that annotations may use, `Shape = tuple[int, ...]`; in a class, where it is a
    number or text, which a member of an enumeration may have."""


@dataclass(slots=True, frozen=True)
class Exports:
    """`__all__ = [...]`, or an extension of it."""

    names: tuple[str, ...]
    extend: bool


@dataclass(slots=True, frozen=True)
class Delete:
    names: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class Branch:
    """Alternatives of which one runs; none may run unless `exhaustive`."""

    arms: tuple[Arm, ...]
    exhaustive: bool


@dataclass(slots=True, frozen=True)
class Arm:
    body: tuple[Op, ...]
    imported: bool = True
    """False for what an import of the module never runs: under `TYPE_CHECKING`, under `__name__ == "__main__"`."""


Op = Import | Star | Assign | Exports | Delete | Branch | ClassFact | FunctionFact


def facts_of(statements: Iterable[ast.stmt], first_line: int) -> tuple[Op, ...]:
    """Facts of statements; `first_line` is the 1-based line that becomes line 0."""
    return tuple(_Reader(first_line).block(statements))


@dataclass(slots=True)
class _Reader:
    first_line: int
    in_class: bool = False
    fields: list[FieldFact] = field(default_factory=list["FieldFact"])
    keyword_only: bool = False

    # --- statements ---

    def block(self, statements: Iterable[ast.stmt]) -> list[Op]:
        ops: list[Op] = []
        for statement in statements:
            self.statement(statement, ops)
        return ops

    def statement(self, node: ast.stmt, ops: list[Op]) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                ops.extend(imports_of(node))
            case ast.ClassDef():
                ops.append(self.class_fact(node))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                ops.append(self.function_fact(node))
            case ast.Assign():
                self.assignment(node.targets, node.value, node, ops)
            case ast.AnnAssign():
                if self.in_class and isinstance(node.target, ast.Name):
                    self.field(node.target.id, node)
                if node.value is not None:
                    self.assignment([node.target], node.value, node, ops)
            case ast.AugAssign(target=ast.Name(id=name)):
                if name == "__all__":
                    ops.append(Exports(_strings(node.value), extend=True))
                else:
                    ops.append(Assign((name,), None, self.place(node)))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="__all__")), args=[argument])):
                ops.append(Exports(_strings(argument), extend=True))
            case ast.Delete():
                ops.append(Delete(tuple(t.id for t in node.targets if isinstance(t, ast.Name))))
            case ast.If():
                ops.append(self.conditional(node))
            case ast.Try() | ast.TryStar():
                arms = [Arm(tuple(self.block([*node.body, *node.orelse])))]
                arms.extend(Arm(tuple(self.block(handler.body))) for handler in node.handlers)
                ops.append(Branch(tuple(arms), exhaustive=True))
                ops.extend(self.block(node.finalbody))
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    if item.optional_vars is not None:
                        self.assignment([item.optional_vars], None, node, ops)
                ops.extend(self.block(node.body))
            case ast.For() | ast.AsyncFor() | ast.While():
                body: list[Op] = []
                if not isinstance(node, ast.While):
                    self.assignment([node.target], None, node, body)
                body.extend(self.block([*node.body, *node.orelse]))
                ops.append(Branch((Arm(tuple(body)),), exhaustive=False))
            case ast.Match():
                ops.append(Branch(tuple(Arm(tuple(self.block(case.body))) for case in node.cases), exhaustive=False))
            case _ if node.__class__.__name__ == "TypeAlias":  # which an `ast` before 3.12 does not have
                alias: Any = node
                self.assignment([alias.name], alias.value, node, ops)
            case _:
                pass

    def conditional(self, node: ast.If) -> Branch:
        arms: list[Arm] = []
        reached = True
        while True:
            then, otherwise = _imported(node.test)
            arms.append(Arm(tuple(self.block(node.body)), reached and then))
            reached = reached and otherwise
            if len(node.orelse) != 1 or not isinstance(following := node.orelse[0], ast.If):
                break
            node = following  # `elif`: one more arm, not one more level
        if node.orelse:
            arms.append(Arm(tuple(self.block(node.orelse)), reached))
        return Branch(tuple(arms), exhaustive=bool(node.orelse))

    def assignment(self, targets: list[ast.expr], value: ast.expr | None, node: ast.stmt, ops: list[Op]) -> None:
        place = self.place(node)
        plain: list[str] = []
        for target in targets:
            if isinstance(target, ast.Name):
                plain.append(target.id)
            elif isinstance(target, ast.Tuple | ast.List):
                elements = value.elts if isinstance(value, ast.Tuple | ast.List) else []
                starred = any(isinstance(e, ast.Starred) for e in [*target.elts, *elements])
                if len(elements) != len(target.elts) or starred:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            ops.append(Assign((name.id,), None, place))
                else:
                    for part, element in zip(target.elts, elements, strict=True):
                        self.assignment([part], element, node, ops)
        if "__all__" in plain and value is not None:
            ops.append(Exports(_strings(value), extend=False))
        if plain:
            ops.append(Assign(tuple(plain), self.value(value), place, self.type(value)))

    def type(self, value: ast.expr | None) -> Span | None:
        if self.in_class:
            return self.span(value) if isinstance(value, ast.Constant) else None
        written = isinstance(value, ast.Subscript | ast.BinOp | ast.Name | ast.Attribute)
        return self.span(value) if written else None

    # --- values ---

    def value(self, node: ast.expr | None) -> Value:
        match node:
            case ast.Name() | ast.Attribute():
                return dotted(node)
            case ast.Subscript():
                return self.value(node.value)
            case ast.NamedExpr():
                return self.value(node.value)
            case ast.IfExp():
                return Choice((self.value(node.body), self.value(node.orelse)))
            case ast.BoolOp():
                return Choice(tuple(self.value(v) for v in node.values))
            case ast.Call():
                arguments = [*node.args, *(k.value for k in node.keywords)]
                return Call(self.value(node.func), tuple(self.value(a) for a in arguments))
            case ast.Lambda():
                return self.lambda_fact(node)
            case _:
                return None

    def span(self, node: ast.expr | None) -> Span | None:
        if node is None:
            return None
        return (
            node.lineno - self.first_line,
            node.col_offset,
            (node.end_lineno or node.lineno) - self.first_line,
            node.end_col_offset or node.col_offset,
        )

    def place(self, node: ast.stmt | ast.expr, header: Iterable[ast.expr | ast.arg | None] = ()) -> Place:
        ends = [(n.end_lineno or 0, n.end_col_offset or 0) for n in header if n is not None]
        line, column = max(ends, default=(node.lineno, node.col_offset))
        return Place(
            node.lineno - self.first_line,
            node.col_offset,
            (line - self.first_line, column),
            (node.end_lineno or node.lineno) - self.first_line,
        )

    # --- definitions ---

    def class_fact(self, node: ast.ClassDef) -> ClassFact:
        inner = _Reader(self.first_line, in_class=True)
        body = inner.block(node.body)
        keywords = {k.arg: k.value for k in node.keywords}
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                keywords |= {k.arg: k.value for k in decorator.keywords}
        kw_only = keywords.get("kw_only")
        return ClassFact(
            node.name,
            self.place(node, [*node.bases, *(k.value for k in node.keywords)]),
            tuple(self.value(base) for base in node.bases),
            tuple(self.value(d) for d in node.decorator_list),
            isinstance(kw_only, ast.Constant) and kw_only.value is True,
            tuple(inner.fields),
            tuple(body),
        )

    def field(self, name: str, node: ast.AnnAssign) -> None:
        annotation = node.annotation
        while isinstance(annotation, ast.Subscript) and _last(annotation.value) == "Annotated":
            elements = annotation.slice
            annotation = elements.elts[0] if isinstance(elements, ast.Tuple) and elements.elts else annotation.value
        outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
        word = _last(outer)
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            word = annotation.value.partition("[")[0].rpartition(".")[2].strip()
        if word == "KW_ONLY":
            self.keyword_only = True
            return
        default, factory = self.span(node.value), False
        keyword_only, initialised = self.keyword_only, True
        if isinstance(node.value, ast.Call) and _last(node.value.func) == "field":
            keywords = {k.arg: k.value for k in node.value.keywords}
            factory = "default" not in keywords
            default = self.span(keywords.get("default") or keywords.get("default_factory"))
            match keywords.get("init"):
                case ast.Constant(value=False):
                    initialised = False
                case _:
                    pass
            match keywords.get("kw_only"):
                case ast.Constant(value=bool(value)):
                    keyword_only = value
                case _:
                    pass
        written = self.span(node.annotation)
        if written is not None:
            self.fields.append(
                FieldFact(name, written, default, factory, keyword_only, word == "ClassVar" or not initialised),
            )

    def function_fact(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> FunctionFact:
        parameters = self.parameters(node.args)
        header = [*_arguments(node.args), *node.args.defaults, *node.args.kw_defaults, node.returns]
        for argument in _arguments(node.args):
            header.append(argument.annotation)
        uses, imports, traceable = (frozenset[tuple[Dotted, bool]](), (), True) if self.in_class else _body(node)
        return FunctionFact(
            node.name,
            self.place(node, header),
            parameters,
            tuple(self.value(d) for d in node.decorator_list),
            uses,
            imports,
            traceable and isinstance(node, ast.FunctionDef),
        )

    def lambda_fact(self, node: ast.Lambda) -> FunctionFact:
        uses, imports, traceable = _body(node)
        return FunctionFact("<lambda>", self.place(node), self.parameters(node.args), (), uses, imports, traceable)

    def parameters(self, arguments: ast.arguments) -> tuple[ParameterFact, ...]:
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
        only = len(arguments.posonlyargs)
        facts = [
            self.parameter(a, "positional_only" if i < only else "positional_or_keyword", d)
            for i, (a, d) in enumerate(zip(positional, defaults, strict=True))
        ]
        if arguments.vararg:
            facts.append(self.parameter(arguments.vararg, "var_positional", None))
        facts.extend(
            self.parameter(a, "keyword_only", d)
            for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        )
        if arguments.kwarg:
            facts.append(self.parameter(arguments.kwarg, "var_keyword", None))
        return tuple(facts)

    def parameter(self, node: ast.arg, kind: ParameterKind, default: ast.expr | None) -> ParameterFact:
        return ParameterFact(node.arg, kind, self.span(node.annotation), self.span(default))


def imports_of(node: ast.Import | ast.ImportFrom) -> list[Op]:
    if isinstance(node, ast.Import):
        return [
            Import(
                alias.asname or alias.name.partition(".")[0],
                alias.name if alias.asname else alias.name.partition(".")[0],
                None,
                0,
            )
            for alias in node.names
        ]
    module = node.module or ""
    return [
        Star(module, node.level)
        if alias.name == "*"
        else Import(alias.asname or alias.name, module, alias.name, node.level)
        for alias in node.names
    ]


def dotted(node: ast.expr) -> Dotted | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return tuple(reversed(parts))


def _owner(node: ast.expr) -> ast.expr:
    """What a chain of attributes starts from: chains are long, so they are not walked once for each link."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _strings(node: ast.expr) -> tuple[str, ...]:
    elements = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return tuple(e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str))


def _imported(test: ast.expr) -> tuple[bool, bool]:
    """Does an import of the module run the branch of `if test`, and that of its `else`?"""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            then, otherwise = _imported(operand)
            return otherwise, then
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False, True
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()]):
            return False, True
        case ast.Compare(ops=[ast.Eq()], comparators=[ast.Name(id="__name__")]):
            return False, True
        case _:
            return True, True


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    extra = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


_Body = tuple[frozenset[tuple[Dotted, bool]], tuple[Op, ...], bool]


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> _Body:
    """Names that a function's own body loads. Bodies of functions inside it, and annotations, are not its own.

    Comprehensions and lambdas are part of the body. This walks every node of every function: keep it lean.
    """
    uses: set[tuple[Dotted, bool]] = set()
    imports: list[Op] = []
    local = {a.arg for a in _arguments(function.args)}
    outer: set[str] = set()
    generator = False
    stack: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                uses.add(((node.id,), False))
            else:
                local.add(node.id)
            continue
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name is None:
                stack.append(_owner(node.func))
            else:
                uses.add((name, True))
            stack.extend(node.args)
            stack.extend(k.value for k in node.keywords)
        elif isinstance(node, ast.Attribute):
            name = dotted(node)
            if name is None:
                stack.append(_owner(node))
            else:
                uses.add((name, False))
        elif isinstance(node, ast.Constant):
            continue
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            local.add(node.name)
            stack.extend(node.decorator_list)
            stack.extend(node.args.defaults)
            stack.extend(d for d in node.args.kw_defaults if d is not None)
        elif isinstance(node, ast.ClassDef):
            local.add(node.name)
            stack.extend(node.decorator_list)
        elif isinstance(node, ast.Lambda):
            local.update(a.arg for a in _arguments(node.args))
            stack.append(node.body)
            stack.extend(node.args.defaults)
        elif isinstance(node, ast.AnnAssign):
            stack.append(node.target)
            if node.value is not None:
                stack.append(node.value)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports.extend(imports_of(node))
        elif isinstance(node, ast.Global | ast.Nonlocal):
            outer.update(node.names)
        else:
            if isinstance(node, ast.Yield | ast.YieldFrom):
                generator = True
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
                if node.name:
                    local.add(node.name)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                local.add(node.rest)
            for name in node._fields:
                child = getattr(node, name, None)
                if isinstance(child, ast.AST):
                    stack.append(child)
                elif isinstance(child, list):
                    stack.extend(c for c in child if isinstance(c, ast.AST))  # pyright: ignore[reportUnknownVariableType]
    local -= outer
    return frozenset(u for u in uses if u[0][0] not in local), tuple(imports), not generator
