"""What a person wrote, as the annotation of its place takes it: a list as a tuple, a name as the member it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from tvls.analysis.types import Enumeration, NamedType
from tvls.setup.annotations import Hint, hint_of
from tvls.setup.objects import fields_of, object_in

Types = Mapping[str, NamedType]


def as_annotated(value: Any, hint: Hint, types: Types) -> Any:
    """The value with lists in the place of tuples, and names or values of members, made what is meant.

    What fits no annotation stays as it is: to tell is the matter of `objects.fit_value`.
    """
    hint = _alternative(value, hint)
    if (found := object_in(value)) is not None:
        name, fields = found
        hints = {field.name: hint_of(field, types) for field in fields_of(types, name)}
        made = {field: as_annotated(item, hints.get(field, Hint()), types) for field, item in fields.items()}
        return {**value, "fields": made}
    match value:
        case list():
            items = _items(cast("list[Any]", value), hint, types)
            return {"kind": "tuple", "items": items} if hint.type == "tuple" else items
        case {"kind": "tuple", "items": list()}:
            return {**value, "items": _items(value["items"], hint, types)}
        case {"kind": "dict", "items": dict()}:
            return {**value, "items": _parts(value["items"], hint, types)}
        case {"kind": _}:
            return value
        case dict():
            return _parts(cast("dict[str, Any]", value), hint, types)
        case str() | int() | float() if hint.type == "choice":
            option = option_of(value, hint, types)
            return value if option is ... else option
        case _:
            return value


def _items(items: list[Any], hint: Hint, types: Types) -> list[Any]:
    return [as_annotated(item, hint.of_item(index), types) for index, item in enumerate(items)]


def _parts(table: dict[str, Any], hint: Hint, types: Types) -> dict[str, Any]:
    return {name: as_annotated(item, hint.of_item(name), types) for name, item in table.items()}


def _alternative(value: Any, hint: Hint) -> Hint:
    """Of `int | tuple[int, ...]`: the tuple, where the value is a list and no other part takes one."""
    if not isinstance(value, list) or hint.type != "value":
        return hint
    tuples = [part for part in hint.alternatives if part.type == "tuple"]
    known = all(part.type not in {"value", "list"} or part.only_factory for part in hint.alternatives)
    return tuples[0] if len(tuples) == 1 and known else hint


def option_of(written: Any, hint: Hint, types: Types) -> Any:
    """The option of a choice that was written: itself, a member by its name (`AVG`, `Pool.AVG`), or by its value where
    one member alone has that; `...` for none."""
    if hint.allows(written):
        return written
    members = [cast("dict[str, str]", option) for option in hint.options if isinstance(option, dict)]
    if isinstance(written, str):
        named = [option for option in members if written in _names(option)]
        if len(named) == 1:
            return named[0]
    valued = [option for option in members if _has_value(option, written, types)]
    return valued[0] if len(valued) == 1 else ...


def option_name(option: Any) -> str:
    """What a person types for an option."""
    return cast("dict[str, str]", option)["member"] if isinstance(option, dict) else str(option)


def _names(option: dict[str, str]) -> set[str]:
    module, _, qualname = option["class"].partition(":")
    prefixes = ("", f"{qualname.rpartition('.')[2]}.", f"{qualname}.", f"{module}.{qualname}.")
    return {f"{prefix}{option['member']}" for prefix in prefixes}


def _has_value(option: dict[str, str], written: Any, types: Types) -> bool:
    match types.get(option["class"]):
        case Enumeration(values=values) if option["member"] in values:
            value = values[option["member"]]
            return type(value) is type(written) and value == written
        case _:
            return False
