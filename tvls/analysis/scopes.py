"""Facts to bindings: what each name of a module is bound to, in the order in which the module runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tvls.analysis.facts import (
    Assign,
    Branch,
    Call,
    Choice,
    ClassFact,
    Delete,
    Exports,
    FunctionFact,
    Import,
    Op,
    Place,
    Star,
    Value,
)
from tvls.analysis.source import Chunk

Bindings = tuple["Binding", ...]
"""What a name may be bound to; more than one where branches differ. Empty: bound to something that is not followed."""


@dataclass(slots=True, eq=False)
class Imported:
    """An import, to be followed from the file at `path`."""

    path: str
    module: str
    name: str | None
    level: int


@dataclass(slots=True, eq=False)
class Member:
    """Attributes of a name; `name` is looked up in the stars of the module where `owner` is `None`."""

    path: str
    name: str
    owner: Bindings | None
    stars: tuple[Imported, ...]
    attributes: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Called:
    """The result of a call."""

    function: Bindings
    arguments: tuple[Bindings, ...]


@dataclass(slots=True, eq=False)
class Function:
    path: str
    qualname: str
    line: int
    """Line that the fact's lines count from, 0-based."""
    fact: FunctionFact
    decorators: tuple[Bindings, ...]
    imported: bool


@dataclass(slots=True, eq=False)
class Class:
    path: str
    qualname: str
    line: int
    fact: ClassFact
    bases: tuple[Bindings, ...]
    decorators: tuple[Bindings, ...]
    imported: bool
    members: dict[str, Bindings] = field(default_factory=dict[str, "Bindings"])


@dataclass(slots=True, eq=False)
class Assigned:
    """`name = f(...)` or `name = lambda ...`. `original`: what the name was before, where the call wraps just that."""

    path: str
    qualname: str
    line: int
    place: Place
    value: Bindings
    original: Bindings
    imported: bool


Binding = Imported | Member | Called | Function | Class | Assigned


@dataclass(slots=True)
class Scope:
    """Names of a module after it has run. `stars` are the modules whose names it also has, the latest last."""

    names: dict[str, Bindings]
    stars: tuple[Imported, ...]
    exports: frozenset[str] | None
    """`__all__`, where it is written out."""
    imports: tuple[tuple[str, int], ...]
    """Modules (and levels) imported at the top level."""


def scope_of(path: str, chunks: Iterable[Chunk]) -> Scope:
    builder = _Builder(path)
    for chunk in chunks:
        builder.line = chunk.line
        builder.run(chunk.ops)
    return Scope(
        builder.names,
        builder.stars,
        None if builder.exports is None else frozenset(builder.exports),
        tuple(dict.fromkeys(builder.imports)),
    )


def local_imports(path: str, ops: Iterable[Op]) -> dict[str, Bindings]:
    """Names that the imports inside a function bind."""
    return {op.bound: (Imported(path, op.module, op.name, op.level),) for op in ops if isinstance(op, Import)}


class _Builder:
    def __init__(self, path: str, outer: _Builder | None = None, prefix: str = "") -> None:
        self.path = path
        self.outer = outer
        self.prefix = prefix
        self.line = outer.line if outer else 0
        self.imported: bool = outer.imported if outer else True
        self.names: dict[str, Bindings] = {}
        self.stars: tuple[Imported, ...] = ()
        self.exports: list[str] | None = None
        self.imports: list[tuple[str, int]] = outer.imports if outer else []

    def run(self, ops: Iterable[Op]) -> None:
        for op in ops:
            self.op(op)

    def op(self, op: Op) -> None:
        match op:
            case Import():
                self.imports.append((op.module, op.level))
                self.names[op.bound] = (Imported(self.path, op.module, op.name, op.level),)
            case Star():
                self.imports.append((op.module, op.level))
                self.stars = (*self.stars, Imported(self.path, op.module, None, op.level))
            case ClassFact():
                self.names[op.name] = (self.class_binding(op),)
            case FunctionFact():
                self.names[op.name] = (self.function_binding(op, self.prefix + op.name),)
            case Assign():
                self.assign(op)
            case Exports():
                self.exports = [*(self.exports or ()), *op.names] if op.extend else list(op.names)
            case Delete():
                for name in op.names:
                    self.names.pop(name, None)
            case Branch():
                self.branch(op)

    def branch(self, op: Branch) -> None:
        before, flag = self.names, self.imported
        results: list[dict[str, Bindings]] = []
        for arm in op.arms:
            self.names, self.imported = dict(before), flag and arm.imported
            self.run(arm.body)
            results.append(self.names)
        if not op.exhaustive:
            results.append(before)
        self.names, self.imported = dict(before), flag
        changed = {n: None for result in results for n, bound in result.items() if before.get(n) is not bound}
        changed |= {n: None for result in results if len(result) < len(before) for n in before if n not in result}
        for name in changed:
            merged = {id(b): b for result in results for b in result.get(name, ())}
            self.names[name] = tuple(merged.values())

    def assign(self, op: Assign) -> None:
        value = op.value
        for name in op.names:
            bound = self.value(value)
            if isinstance(value, Call | FunctionFact):
                original: Bindings = ()
                if isinstance(value, Call) and (name,) in value.arguments:
                    original = tuple(b for b in self.names.get(name, ()) if isinstance(b, Function | Class | Assigned))
                assigned = Assigned(self.path, self.prefix + name, self.line, op.place, bound, original, self.imported)
                self.names[name] = (assigned,)
            else:
                self.names[name] = bound

    def value(self, value: Value) -> Bindings:
        match value:
            case None:
                return ()
            case Choice():
                return tuple(b for option in value.options for b in self.value(option))
            case Call():
                return (Called(self.value(value.function), tuple(self.value(a) for a in value.arguments)),)
            case FunctionFact():
                return (self.function_binding(value, self.prefix + value.name),)
            case (name, *attributes):
                owner = self.lookup(name)
                if owner is not None and not attributes:
                    return owner
                return (Member(self.path, name, owner, self.all_stars(), tuple(attributes)),)
            case _:
                return ()

    def lookup(self, name: str) -> Bindings | None:
        if name in self.names:
            return self.names[name]
        return self.outer.lookup(name) if self.outer else None

    def all_stars(self) -> tuple[Imported, ...]:
        return self.outer.all_stars() if self.outer else self.stars

    def function_binding(self, fact: FunctionFact, qualname: str) -> Function:
        decorators = tuple(self.value(d) for d in fact.decorators)
        return Function(self.path, qualname, self.line, fact, decorators, self.imported)

    def class_binding(self, fact: ClassFact) -> Class:
        bases = tuple(self.value(base) for base in fact.bases)
        decorators = tuple(self.value(d) for d in fact.decorators)
        inner = _Builder(self.path, self, f"{self.prefix}{fact.name}.")
        inner.run(fact.body)
        return Class(self.path, self.prefix + fact.name, self.line, fact, bases, decorators, self.imported, inner.names)
