"""The targets of one file: which definitions can be opened, where they stand and which parameters they take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from tvls.analysis import known
from tvls.analysis.facts import FieldFact, FunctionFact, ParameterFact, Place, Span
from tvls.analysis.resolve import Library, Resolver
from tvls.analysis.scopes import Assigned, Bindings, Called, Class, Function, Scope
from tvls.analysis.types import FoundTarget, Parameter
from tvls.capture.document import TargetKind

CALL_METHOD: dict[TargetKind, str] = {
    "jax.function": "__call__",  # of an Equinox module
    "flax.linen": "__call__",
    "flax.nnx": "__call__",
    "torch.module": "forward",
}

_KEYWORD = re.compile(rb"(?:async\s+)?(?:def|class)\s+(?=[^\s\\])")


class Texts:
    """Source text of spans, over files."""

    def __init__(self, resolver: Resolver, lines: Callable[[str], list[str]]) -> None:
        self.resolver = resolver
        self.lines = lines

    def span(self, path: str, offset: int, span: Span | None) -> str | None:
        if span is None:
            return None
        lines = self.lines(path)
        first, start, last, end = span
        if first == last:
            return _cut(lines[first + offset], start, end)
        parts = [_cut(lines[first + offset], start, None)]
        parts += lines[first + offset + 1 : last + offset]
        parts.append(_cut(lines[last + offset], 0, end))
        return " ".join(part.strip() for part in parts)


def _cut(line: str, start: int, end: int | None) -> str:
    return (
        line[start:end] if line.isascii() else line.encode(errors="surrogatepass")[start:end].decode(errors="replace")
    )


def targets_of(path: str, scope: Scope, resolver: Resolver, texts: Texts) -> list[FoundTarget]:
    """Every target that the file at `path` defines and an import of it can reach, in the order of lines."""
    found = list(_definitions(path, scope.names.values(), resolver, texts))
    unique = {(t.line, t.name): t for t in found}
    return sorted(unique.values(), key=lambda t: (t.line, t.column, t.name))


def _definitions(path: str, bindings: Iterable[Bindings], resolver: Resolver, texts: Texts) -> Iterator[FoundTarget]:
    for alternatives in bindings:
        for binding in alternatives:
            match binding:
                case Class() if binding.path == path and binding.imported:
                    yield from _class(binding, resolver, texts)
                case Function() if binding.path == path and binding.imported and "." not in binding.qualname:
                    if binding.fact.name != "<lambda>" and resolver.is_program(binding):
                        yield _function(binding, texts)
                case Assigned() if binding.path == path and binding.imported:
                    yield from _assigned(binding, resolver, texts)
                case _:
                    pass


def _assigned(binding: Assigned, resolver: Resolver, texts: Texts) -> Iterator[FoundTarget]:
    if binding.original:  # `f = wrap(f)`: the definition is what a person opens
        found = list(_definitions(binding.path, [binding.original], resolver, texts))
        if not found and _makes_program(binding.value, resolver):
            found = [_function(f, texts) for f in binding.original if isinstance(f, Function) and f.fact.traceable]
        yield from found
        return
    if "." in binding.qualname:
        return
    lambdas = [f for f in binding.value if isinstance(f, Function)]
    if any(resolver.is_program(f) for f in lambdas) or _makes_program(binding.value, resolver):
        inner = _wrapped(binding.value, resolver)
        parameters = _parameters(inner.path, inner.line, inner.fact.parameters, texts) if inner else []
        yield _found(binding.path, binding.qualname, "jax.function", binding.line, binding.place, texts, parameters)


def _makes_program(value: Bindings, resolver: Resolver) -> bool:
    """Is a value `jax.jit(f)` or the like, of something that is no class?"""
    for call in resolver.denotations(value):
        if not isinstance(call, Called) or not call.arguments:
            continue
        for function in resolver.denotations(call.function):
            name = resolver.library_name(function)
            if name in known.HAIKU_TRANSFORMS or (
                name.startswith(("jax.", "flax.nnx."))
                and known.is_transform(name)
                and name.rpartition(".")[2] in known.MAKES_FUNCTION
            ):
                return not any(resolver.kind_of(d) for d in resolver.denotations(call.arguments[0]))
    return False


def _wrapped(value: Bindings, resolver: Resolver) -> Function | None:
    """The function inside `jax.jit(jax.vmap(f))`."""
    seen: set[int] = set()
    while True:
        found = next(iter(resolver.denotations(value)), None)
        if found is None or id(found) in seen or isinstance(found, Function):
            return found if isinstance(found, Function) else None
        seen.add(id(found))
        if isinstance(found, Assigned):
            value = found.value
        elif isinstance(found, Called) and found.arguments:
            value = found.arguments[0]
        else:
            return None


def _class(binding: Class, resolver: Resolver, texts: Texts) -> Iterator[FoundTarget]:
    kind = resolver.kind(binding)
    if (
        kind is not None
        and resolver.root_kind(binding) is None
        and (kind != "jax.function" or _is_called(binding, resolver))
    ):
        call = _method_parameters(binding, CALL_METHOD[kind], resolver, texts)
        init = _init_parameters(binding, kind, resolver, texts)
        found = _found(binding.path, binding.qualname, kind, binding.line, binding.fact.place, texts, call, init)
        more = kind == "flax.linen" and resolver.has_outside_base(binding)
        yield msgspec.structs.replace(found, more_init_parameters=True) if more else found
    yield from _definitions(binding.path, binding.members.values(), resolver, texts)


def _is_called(binding: Class, resolver: Resolver) -> bool:
    """Whether an Equinox module is a function: many hold data alone."""
    ancestry = resolver.ancestry(binding)
    bases = (found for owner in ancestry for base in owner.bases for found in resolver.denotations(base))
    layer = any(isinstance(b, Library) and b.name not in known.ROOT_CLASSES and known.class_kind(b.name) for b in bases)
    return layer or any("__call__" in owner.members for owner in ancestry)


def _function(binding: Function, texts: Texts) -> FoundTarget:
    fact = binding.fact
    parameters = _parameters(binding.path, binding.line, fact.parameters, texts)
    return _found(binding.path, binding.qualname, "jax.function", binding.line, fact.place, texts, parameters)


# --- parameters ------------------------------------------------------------------------------------------------------


def _parameters(path: str, offset: int, facts: Iterable[ParameterFact], texts: Texts) -> list[Parameter]:
    return [
        Parameter(f.name, f.kind, texts.span(path, offset, f.annotation), texts.span(path, offset, f.default))
        for f in facts
    ]


def _without_self(fact: FunctionFact) -> tuple[ParameterFact, ...]:
    first = fact.parameters[:1]
    return fact.parameters[1:] if first and first[0].kind.startswith("positional") else fact.parameters


def _method_parameters(binding: Class, name: str, resolver: Resolver, texts: Texts) -> list[Parameter]:
    if (found := resolver.method(binding, name)) is None:
        return []
    owner, fact = found
    return _parameters(owner.path, owner.line, _without_self(fact), texts)


def _init_parameters(binding: Class, kind: TargetKind, resolver: Resolver, texts: Texts) -> list[Parameter]:
    if kind == "flax.linen":
        return _fields(binding, resolver, texts, own_only_of_dataclasses=False)
    for owner in resolver.ancestry(binding):
        if "__init__" in owner.members:
            return _method_parameters(owner, "__init__", resolver, texts)
        if resolver.is_dataclass(owner):
            return _fields(owner, resolver, texts, own_only_of_dataclasses=True)
    if kind == "jax.function":  # every Equinox module is a dataclass
        return _fields(binding, resolver, texts, own_only_of_dataclasses=False)
    return []


def _fields(binding: Class, resolver: Resolver, texts: Texts, own_only_of_dataclasses: bool) -> list[Parameter]:
    """Dataclass fields, inherited ones first; a field that is declared again keeps its first place."""
    fields: dict[str, tuple[Class, FieldFact]] = {}
    for owner in reversed(resolver.ancestry(binding)):
        if own_only_of_dataclasses and not resolver.is_dataclass(owner):
            continue
        if not own_only_of_dataclasses and resolver.kind(owner) is None and not resolver.is_dataclass(owner):
            continue  # annotations of a plain mixin make no fields
        if resolver.root_kind(owner) is not None:
            continue
        for fact in owner.fact.fields:
            if fact.class_variable:
                fields.pop(fact.name, None)
            else:
                fields[fact.name] = (owner, fact)
    return [
        Parameter(
            fact.name,
            "keyword_only" if fact.keyword_only or owner.fact.keyword_only else "positional_or_keyword",
            texts.span(owner.path, owner.line, fact.annotation),
            _default(fact, texts.span(owner.path, owner.line, fact.default)),
        )
        for owner, fact in fields.values()
        if fact.name not in {"parent", "name"}
    ]


def _default(fact: FieldFact, text: str | None) -> str | None:
    return f"{text}()" if text is not None and fact.factory else text


# --- places ----------------------------------------------------------------------------------------------------------


def _found(
    path: str,
    qualname: str,
    kind: TargetKind,
    offset: int,
    place: Place,
    texts: Texts,
    parameters: list[Parameter],
    init_parameters: list[Parameter] | None = None,
) -> FoundTarget:
    lines = texts.lines(path)
    short = qualname.rpartition(".")[2]
    name_line = offset + place.line
    text = lines[name_line].encode(errors="surrogatepass")
    column = place.column
    if keyword := _KEYWORD.match(text, column):
        column = keyword.end()
    elif not text.startswith(short.encode(), column) and name_line + 1 < len(lines):
        # `class \\` and the name on the next line
        name_line += 1
        text = lines[name_line].encode(errors="surrogatepass")
        column = len(text) - len(text.lstrip())
    root, module = texts.resolver.home(path)
    return FoundTarget(
        path=path,
        name=qualname,
        kind=kind,
        module=module,
        root=root,
        line=offset + place.line + 1,
        column=column,
        end_column=column + len(short.encode()),
        name_line=name_line + 1,
        header_end_line=_header_end(lines, offset, place) + 1,
        end_line=offset + place.end_line + 1,
        parameters=parameters,
        init_parameters=init_parameters or [],
    )


def _header_end(lines: list[str], offset: int, place: Place) -> int:
    """Line of the colon after a header's last expression; only brackets, commas and comments stand in between."""
    line, column = place.header[0] + offset, place.header[1]
    last = place.end_line + offset
    while line <= last:
        rest = lines[line].encode(errors="surrogatepass")[column:].partition(b"#")[0]
        if b":" in rest:
            return line
        line, column = line + 1, 0
    return place.line + offset
