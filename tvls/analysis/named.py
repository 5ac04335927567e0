"""Definitions that discovery takes for no model, for someone who names them all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tvls.analysis import known
from tvls.analysis.parameters import CALL_METHOD, Texts, init_parameters, method_parameters, parameters
from tvls.analysis.resolve import Library, Resolver
from tvls.analysis.scopes import Assigned, Bindings, Called, Class, Function, Scope, local_imports
from tvls.analysis.targets import function_target, target_at
from tvls.analysis.types import ANY_ARGUMENTS, FoundTarget, Named, Parameter

_DEEPEST = 8


def named_in(path: str, name: str, scope: Scope, resolver: Resolver, texts: Texts) -> Named:
    """A function, class, method or value of the file, be it a target or not."""
    first, *inner = name.split(".")
    found = _only(scope.names.get(first, ()))
    around: Class | None = None
    for part in inner:
        if not isinstance(found, Class):
            return Named()
        around, found = found, _only(found.members.get(part, ()))
    match found:
        case Class() if found.path == path:
            return Named(no_model=_is_no_model(found, resolver))
        case Function() if found.path == path:
            target = _function(found, resolver, texts) if around is None else _method(around, found, resolver, texts)
        case Assigned() if found.path == path and around is None:
            made = list(_modules_of(found.value, resolver))
            target = _module(found, [], made, resolver, texts) if made else None
        case _:
            target = None
    return Named(None if target is None else msgspec.structs.replace(target, discovered=False))


def _only(bindings: Bindings) -> object:
    return bindings[0] if len(bindings) == 1 else None


def _is_no_model(binding: Class, resolver: Resolver) -> bool:
    """Whether all bases of a class are known, and none is a module class."""
    if resolver.kind(binding) is not None:
        return False
    if resolver.has_base(binding, known.RECORDS) or resolver.has_base(binding, known.ENUMERATIONS):
        return True
    known_bases = all(any(resolver.denotations(base)) for owner in resolver.ancestry(binding) for base in owner.bases)
    return known_bases and not resolver.has_outside_base(binding)


def _function(binding: Function, resolver: Resolver, texts: Texts) -> FoundTarget:
    """For PyTorch a function makes the module, and its parameters are not those of the call."""
    found = function_target(binding, texts)
    made = list(_made_by(binding, resolver, set()))
    return _module(binding, found.parameters, made, resolver, texts) if made else found


def _method(owner: Class, binding: Function, resolver: Resolver, texts: Texts) -> FoundTarget | None:
    """A method of a module runs on an instance, made as for the module itself; others make it, if it is one."""
    kind, name = resolver.kind(owner), binding.fact.name
    call = method_parameters(owner, name, resolver, texts)
    place = binding.fact.place
    if {("staticmethod",), ("classmethod",)} & set(binding.fact.decorators):
        of_class = ("classmethod",) in binding.fact.decorators
        taken = call if of_class else parameters(owner.path, owner.line, binding.fact.parameters, texts, owner)
        return _module(binding, taken, [owner], resolver, texts) if kind == "torch.module" else None
    if kind is None or kind == "jax.function":
        return None
    init = init_parameters(owner, kind, resolver, texts)
    return target_at(binding.path, binding.qualname, kind, binding.line, place, texts, call, init)


def _module(
    binding: Function | Assigned, init: list[Parameter], made: Sequence[object], resolver: Resolver, texts: Texts
) -> FoundTarget:
    """What makes, or is, a module of PyTorch; it is called as its class is, where that is told."""
    classes = [found for found in made if isinstance(found, Class)]
    call = method_parameters(classes[0], CALL_METHOD["torch.module"], resolver, texts) if len(classes) == 1 else []
    place = binding.fact.place if isinstance(binding, Function) else binding.place
    return target_at(
        binding.path, binding.qualname, "torch.module", binding.line, place, texts, call or ANY_ARGUMENTS, init
    )


def _made_by(function: Function, resolver: Resolver, seen: set[int]) -> Iterator[object]:
    """Modules of PyTorch that a function makes, itself or by functions that it calls; each class once."""
    scope = resolver.scope(function.path)
    seen.add(id(function))
    if scope is None or len(seen) > _DEEPEST:
        return
    local = local_imports(function.path, function.fact.imports)
    for name in sorted(name for name, called in function.fact.uses if called):
        for found in resolver.named(name, local, scope, function.path):
            yield from _made(found, resolver, seen)


def _modules_of(value: Bindings, resolver: Resolver) -> Iterator[object]:
    """Modules of PyTorch that the value of an assignment is."""
    for found in resolver.denotations(value):
        if isinstance(found, Called):
            for function in resolver.denotations(found.function):
                yield from _made(function, resolver, set())


def _made(found: object, resolver: Resolver, seen: set[int]) -> Iterator[object]:
    """Modules of PyTorch that a call of this makes."""
    match found:
        case Class() if id(found) not in seen and resolver.kind(found) == "torch.module":
            seen.add(id(found))
            yield found
        case Library() if known.class_kind(found.name) == "torch.module" or known.makes_module(found.name):
            yield found
        case Function() if id(found) not in seen:
            yield from _made_by(found, resolver, seen)
        case _:
            pass
