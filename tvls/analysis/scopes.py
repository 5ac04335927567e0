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
    Span,
    Star,
    Value,
)
from tvls.analysis.source import Chunk

Bindings = tuple["Binding", ...]
"""What a name may be bound to; more than one where branches differ. Empty: bound to something that is not followed."""

_MOST_ALTERNATIVES = 64
_MOST_STARS = 256
_LONGEST_NAME = 1000
"""Alternatives of a name, star imports of a module and characters of a qualified name that are followed, the latest of
them. Their number multiplies along a chain of definitions, and no person writes as many."""


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


TypePlace = tuple[int, Span]
"""The line that the span counts from, and the span."""


@dataclass(slots=True)
class Scope:
    """Names of a module after it has run. `stars` are the modules whose names it also has, the latest last."""

    names: dict[str, Bindings]
    stars: tuple[Imported, ...]
    exports: frozenset[str] | None
    """`__all__`, where it is written out."""
    imports: tuple[tuple[str, int], ...]
    """Modules (and levels) imported at the top level."""
    types: dict[str, TypePlace]
    """Names that are assigned what may be a type."""


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
        builder.types,
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
        self.layers: list[dict[str, Bindings | None]] = [{}]
        """What is bound, and above it what the arms of the branches being read change; `None` is deleted."""
        self.stars: tuple[Imported, ...] = ()
        self.starred: dict[Star, Imported] = {}
        self.exports: list[str] | None = None
        self.imports: list[tuple[str, int]] = outer.imports if outer else []
        self.types: dict[str, TypePlace] = {}

    def run(self, ops: Iterable[Op]) -> None:
        for op in ops:
            self.op(op)

    def op(self, op: Op) -> None:
        match op:
            case Import():
                self.imports.append((op.module, op.level))
                self.layers[-1][op.bound] = (Imported(self.path, op.module, op.name, op.level),)
            case Star():
                self.imports.append((op.module, op.level))
                self.star(op)
            case ClassFact():
                self.layers[-1][op.name] = () if self.too_long(op.name) else (self.class_binding(op),)
            case FunctionFact():
                bound = () if self.too_long(op.name) else (self.function_binding(op, self.prefix + op.name),)
                self.layers[-1][op.name] = bound
            case Assign():
                self.assign(op)
            case Exports():
                if op.extend and self.exports is not None:
                    self.exports.extend(op.names)
                else:
                    self.exports = list(op.names)
            case Delete():
                for name in op.names:
                    self.layers[-1][name] = None
            case Branch():
                self.branch(op)

    def star(self, op: Star) -> None:
        self.starred.pop(op, None)
        self.starred[op] = Imported(self.path, op.module, None, op.level)
        if len(self.starred) > _MOST_STARS:
            del self.starred[next(iter(self.starred))]
        self.stars = tuple(self.starred.values())

    def branch(self, op: Branch) -> None:
        flag = self.imported
        changes: dict[str, list[tuple[int, Bindings]]] = {}
        for number, arm in enumerate(op.arms):
            self.layers.append({})
            self.imported = flag and arm.imported
            self.run(arm.body)
            for name, bound in self.layers.pop().items():
                changes.setdefault(name, []).append((number, bound or ()))
        self.imported = flag
        for name, hits in changes.items():
            # What the name was before stands where the first arm leaves it alone.
            place = next((k for k, (number, _) in enumerate(hits) if number != k), len(hits))
            bound = [b for _, bindings in hits[:place] for b in bindings]
            if place < len(op.arms) or not op.exhaustive:
                bound += self.own(name) or ()
            bound += [b for _, bindings in hits[place:] for b in bindings]
            self.layers[-1][name] = _distinct(bound)

    def assign(self, op: Assign) -> None:
        value = op.value
        for name in op.names:
            if op.type is not None:
                self.types[name] = (self.line, op.type)
            else:
                self.types.pop(name, None)
            bound = self.value(value)
            if self.too_long(name):
                self.layers[-1][name] = ()
            elif isinstance(value, Call | FunctionFact):
                original: Bindings = ()
                if isinstance(value, Call) and (name,) in value.arguments:
                    original = tuple(b for b in self.own(name) or () if isinstance(b, Function | Class | Assigned))
                assigned = Assigned(self.path, self.prefix + name, self.line, op.place, bound, original, self.imported)
                self.layers[-1][name] = (assigned,)
            else:
                self.layers[-1][name] = bound

    def value(self, value: Value) -> Bindings:
        match value:
            case None:
                return ()
            case Choice():
                return _distinct(b for option in value.options for b in self.value(option))
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

    def too_long(self, name: str) -> bool:
        return len(self.prefix) + len(name) > _LONGEST_NAME

    def lookup(self, name: str) -> Bindings | None:
        found = self.own(name)
        return self.outer.lookup(name) if found is None and self.outer else found

    def own(self, name: str) -> Bindings | None:
        """What the name is bound to here, whatever it is outside."""
        return next((layer[name] for layer in reversed(self.layers) if name in layer), None)

    @property
    def names(self) -> dict[str, Bindings]:
        return {name: bound for name, bound in self.layers[0].items() if bound is not None}

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


def _distinct(bindings: Iterable[Binding]) -> Bindings:
    found = {id(binding): binding for binding in bindings}
    return tuple(found.values())[-_MOST_ALTERNATIVES:]
