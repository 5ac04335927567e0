"""The targets of one file: which definitions can be opened, where they stand and which parameters they take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from tvls.analysis import known
from tvls.analysis.facts import Place
from tvls.analysis.parameters import CALL_METHOD, Texts, init_parameters, method_parameters, parameters
from tvls.analysis.resolve import Library, Resolver
from tvls.analysis.scopes import Assigned, Bindings, Called, Class, Function, Scope
from tvls.analysis.types import FoundTarget, Parameter
from tvls.capture.document import TargetKind

_KEYWORD = re.compile(rb"(?:async\s+)?(?:def|class)\s+(?=[^\s\\])")


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
                        yield function_target(binding, texts)
                case Assigned() if binding.path == path and binding.imported:
                    yield from _assigned(binding, resolver, texts)
                case _:
                    pass


def _assigned(binding: Assigned, resolver: Resolver, texts: Texts) -> Iterator[FoundTarget]:
    if binding.original:  # `f = wrap(f)`: the definition is what a person opens
        found = list(_definitions(binding.path, [binding.original], resolver, texts))
        if not found and _makes_program(binding.value, resolver):
            found = [
                function_target(f, texts) for f in binding.original if isinstance(f, Function) and f.fact.traceable
            ]
        yield from found
        return
    if "." in binding.qualname:
        return
    lambdas = [f for f in binding.value if isinstance(f, Function)]
    if any(resolver.is_program(f) for f in lambdas) or _makes_program(binding.value, resolver):
        inner = _wrapped(binding.value, resolver)
        taken = parameters(inner.path, inner.line, inner.fact.parameters, texts) if inner else []
        yield target_at(binding.path, binding.qualname, "jax.function", binding.line, binding.place, texts, taken)


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
        call = method_parameters(binding, CALL_METHOD[kind], resolver, texts)
        init = init_parameters(binding, kind, resolver, texts)
        found = target_at(binding.path, binding.qualname, kind, binding.line, binding.fact.place, texts, call, init)
        constructed = kind != "flax.linen" and any("__init__" in owner.members for owner in resolver.ancestry(binding))
        more = not constructed and resolver.has_outside_base(binding)
        yield msgspec.structs.replace(found, more_init_parameters=True) if more else found
    yield from _definitions(binding.path, binding.members.values(), resolver, texts)


def _is_called(binding: Class, resolver: Resolver) -> bool:
    """Whether an Equinox module is a function: many hold data alone."""
    ancestry = resolver.ancestry(binding)
    bases = (found for owner in ancestry for base in owner.bases for found in resolver.denotations(base))
    layer = any(isinstance(b, Library) and b.name not in known.ROOT_CLASSES and known.class_kind(b.name) for b in bases)
    return layer or any("__call__" in owner.members for owner in ancestry)


def function_target(binding: Function, texts: Texts) -> FoundTarget:
    fact = binding.fact
    taken = parameters(binding.path, binding.line, fact.parameters, texts)
    return target_at(binding.path, binding.qualname, "jax.function", binding.line, fact.place, texts, taken)


# --- places ----------------------------------------------------------------------------------------------------------


def target_at(
    path: str,
    qualname: str,
    kind: TargetKind,
    offset: int,
    place: Place,
    texts: Texts,
    call: list[Parameter],
    init: list[Parameter] | None = None,
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
        parameters=call,
        init_parameters=init or [],
        types=texts.types.reachable([*call, *(init or [])]),
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
