"""The profile that source alone gives a target: what is stated filled in, what is not a placeholder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Final, cast

import msgspec

from tvls.setup.annotations import Hint, assumed_class, hint_of
from tvls.setup.inside import parts_of
from tvls.setup.keys import Key, show_key
from tvls.setup.kinds import ParameterLike
from tvls.setup.objects import Types, fields_of, make_object, object_in
from tvls.setup.placeholders import UNKNOWN, ask
from tvls.setup.profile import Framework
from tvls.setup.required import TargetLike, framework_of, is_supplied

USUAL_DTYPE: Final = "float32"
_KEY_NAMES: Final = re.compile(r"(.*_)?(rng|prng)(_?key)?|rng_key|prng_key")
_PERHAPS_KEY_NAMES: Final = re.compile(r"(.*_)?(sub)?key")
_ATTENTION_NAMES: Final = frozenset({"q", "query", "queries", "v", "value", "values"})
"""Beside one of these a `key` is an array of numbers."""
_INTEGER_NAMES: Final = re.compile(
    r"tokens?|labels?|idx|senders|receivers|(.*_)?(ids|tokens|labels|positions|index|indices|segments)"
)
_BOOLEAN_NAMES: Final = re.compile(r"(.*_)?mask")


class Slot(msgspec.Struct, frozen=True):
    """A parameter with the place that its argument has in the profile."""

    parameter: ParameterLike
    key: Key
    """Such as `("inputs", "args", 0)`."""
    hint: Hint
    given: bool
    """The profile has a value there."""


def slots(target: TargetLike, part: str, call: dict[str, Any]) -> Iterator[Slot]:
    """Parameters of the construction (`init`) or of the call (`inputs`), each with its place in the profile.

    `call` is what the profile has; a parameter without a value gets the place where it would be written.
    """
    args: list[Any] = call.get("args", [])
    kwargs: dict[str, Any] = call.get("kwargs", {})
    parameters: Sequence[ParameterLike] = target.parameters if part == "inputs" else target.init_parameters
    positional = [p for p in parameters if p.kind in {"positional_only", "positional_or_keyword"}]
    by_position = len(args)
    for parameter in parameters:
        if parameter.kind in {"var_positional", "var_keyword"}:
            continue
        if is_supplied(parameter, (part,), target) and parameter.name not in kwargs:
            continue
        index = next((i for i, p in enumerate(positional) if p is parameter), None)
        hint = hint_of(parameter, target.types)
        if index is not None and index < len(args):
            yield Slot(parameter, (part, "args", index), hint, True)
        elif parameter.name in kwargs and parameter.kind != "positional_only":
            yield Slot(parameter, (part, "kwargs", parameter.name), hint, True)
        else:
            by_place = index == by_position and part == "inputs" and parameter.default is None
            if index is not None and (by_place or parameter.kind == "positional_only"):
                by_position += 1
                yield Slot(parameter, (part, "args", index), hint, False)
            else:
                yield Slot(parameter, (part, "kwargs", parameter.name), hint, False)


def draft_profile(target: TargetLike) -> tuple[dict[str, Any], set[str]]:
    """The table of a new profile, and the keys in it that nothing states: usual values, to be looked at."""
    drafting = Drafting.of(target)
    calls: dict[str, dict[str, Any]] = {}
    for part in ("init", "inputs"):
        call: dict[str, Any] = {"args": [], "kwargs": {}}
        for slot in slots(target, part, call):
            if slot.parameter.default is not None:
                continue
            hint = slot.hint
            if _is_random_key(slot, target):
                hint = msgspec.structs.replace(hint, dtype="key<fry>")
                drafting.assumed.add(show_key((*slot.key, "dtype")))
            if assumed_class(slot.parameter) and hint.type == "object":
                drafting.assumed.add(show_key(slot.key))
            value = drafted(hint, slot.parameter.name, slot.key, drafting)
            if slot.key[1] == "args":
                call["args"].append(value)
            else:
                call["kwargs"][slot.parameter.name] = value
        calls[part] = call
    return {
        "kind": "model",
        "framework": drafting.framework,
        "model": f"{target.module}:{target.name}",
        "mode": "eval",
        "device": "cpu",
        "grad_enabled": False,
        "seed": 0,
        **calls,
    }, drafting.assumed


def _is_random_key(slot: Slot, target: TargetLike) -> bool:
    """Whether an array called `key` is most likely one of `jax.random`."""
    if slot.hint.type != "tensor" or slot.hint.dtype is not None or slot.hint.shape or target.kind == "torch.module":
        return False
    names = {parameter.name for parameter in (*target.parameters, *target.init_parameters)}
    return _PERHAPS_KEY_NAMES.fullmatch(slot.parameter.name) is not None and not names & _ATTENTION_NAMES


class Drafting(msgspec.Struct, frozen=True):
    """What values are drafted for, and the keys of what nothing states."""

    framework: Framework
    types: Types
    assumed: set[str]

    @staticmethod
    def of(target: TargetLike) -> Drafting:
        return Drafting(framework_of(target.kind), target.types, set())


def drafted(hint: Hint, name: str, key: Key, drafting: Drafting, inside: frozenset[str] = frozenset()) -> Any:
    """What is known of a value; `inside` are the classes of the objects around it."""
    if hint.type == "tensor":
        return _drafted_tensor(hint, name, key, drafting)
    if hint.type == "tuple" and hint.items and all(item.type == "tensor" for item in hint.items):
        items = [_drafted_tensor(item, name, (*key, "items", index), drafting) for index, item in enumerate(hint.items)]
        return {"kind": "tuple", "items": items}
    if hint.type == "choice" and len(hint.options) == 1 and not hint.optional:
        return hint.options[0]
    if hint.type == "object" and len(hint.classes) == 1 and not hint.optional and hint.classes[0] not in inside:
        return drafted_object(hint.classes[0], key, drafting, inside)
    return ask()


def drafted_object(name: str, key: Key, drafting: Drafting, inside: frozenset[str] = frozenset()) -> dict[str, Any]:
    """An object with the fields that its class has no default for."""
    types = drafting.types
    fields = {
        field.name: drafted(hint_of(field, types), field.name, (*key, "fields", field.name), drafting, inside | {name})
        for field in fields_of(types, name)
        if field.default is None
    }
    return make_object(name, fields)


def _drafted_tensor(hint: Hint, name: str, key: Key, drafting: Drafting) -> dict[str, Any]:
    dtype = hint.dtype
    if dtype is None:
        dtype = usual_dtype(name, drafting.framework)
        drafting.assumed.add(show_key((*key, "dtype")))
    shape: Any = UNKNOWN if hint.shape is None else list(hint.shape)
    if dtype == "key<fry>" and hint.shape is None:
        shape = []  # a typed key is a scalar; a batch of keys is made by the program
        drafting.assumed.add(show_key((*key, "shape")))
    return {"kind": "tensor", "shape": shape, "dtype": dtype}


def usual_dtype(name: str, framework: Framework) -> str:
    """The dtype that parameters of this name usually have: indices of PyTorch are of 64 bits."""
    if _KEY_NAMES.fullmatch(name) and framework == "jax":
        return "key<fry>"
    if _INTEGER_NAMES.fullmatch(name):
        return "int64" if framework == "torch" else "int32"
    return "bool" if _BOOLEAN_NAMES.fullmatch(name) else USUAL_DTYPE


def name_dimensions(target: TargetLike, table: dict[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """The table with the dimensions of annotations in the place of its numbers, and what each stands for.

    Nothing is named where a number does not fit its annotation, or a name would stand for two numbers.
    """
    known: dict[str, int] = {}
    named: list[tuple[Key, list[Any]]] = []
    for slot in all_slots(target, table):
        value = value_at(table, slot.key)
        if not slot.given or slot.hint.shape is None or not isinstance(value, dict):
            continue
        shape: Any = cast("dict[str, Any]", value).get("shape")
        wanted = list(slot.hint.shape)
        if not isinstance(shape, list) or len(cast("list[Any]", shape)) != len(wanted):
            continue
        stated = cast("list[Any]", shape)
        for dim, number in zip(wanted, stated, strict=True):
            if isinstance(dim, int):
                if dim != number and isinstance(number, int):
                    return table, {}
            elif dim[1:].isidentifier() and isinstance(number, int) and known.setdefault(dim[1:], number) != number:
                return table, {}
        dims = [
            dim if isinstance(dim, str) and dim[1:].isidentifier() else number
            for dim, number in zip(wanted, stated, strict=True)
        ]
        named.append(((*slot.key, "shape"), dims))
    result: dict[str, Any] = deepcopy(table) if named else table
    for key, dims in named:
        value_at(result, key[:-1])["shape"] = dims
    return result, known


def all_slots(target: TargetLike, table: dict[str, Any]) -> Iterator[Slot]:
    """Every parameter, each with the fields of the objects in its value behind it."""
    for part in ("init", "inputs"):
        call: Any = table.get(part, {})
        if isinstance(call, dict) and "factory" not in call and not (part == "init" and takes_no_init(target)):
            for slot in slots(target, part, sound_call(cast("dict[str, Any]", call))):
                yield slot
                yield from inner_slots(value_at(table, slot.key), slot.key, target.types)


def inner_slots(value: Any, key: Key, types: Types) -> Iterator[Slot]:
    """Fields of the objects in the value at `key`."""
    if (found := object_in(value)) is not None:
        name, fields = found
        for field in fields_of(types, name):
            at = (*key, "fields", field.name)
            yield Slot(field, at, hint_of(field, types), field.name in fields)
            yield from inner_slots(fields.get(field.name), at, types)
    else:
        for part, item in parts_of(value):
            yield from inner_slots(item, (*key, *part), types)


def takes_no_init(target: TargetLike) -> bool:
    return target.kind == "jax.function" and not target.init_parameters  # which an Equinox module may have


def sound_call(call: dict[str, Any]) -> dict[str, Any]:
    """The call with lists and tables where the file has something else, which is reported elsewhere."""
    args, kwargs = call.get("args"), call.get("kwargs")
    return {"args": args if isinstance(args, list) else [], "kwargs": kwargs if isinstance(kwargs, dict) else {}}


def value_at(table: Any, key: Key) -> Any:
    """The value at a place; `...` where there is none."""
    for part in key:
        match table:
            case dict() if isinstance(part, str):
                table = cast("dict[str, Any]", table).get(part, ...)
            case list() if isinstance(part, int):
                items = cast("list[Any]", table)
                table = items[part] if part < len(items) else ...
            case _:
                return ...
    return table
