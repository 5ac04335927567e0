"""Objects of a setup: of dataclasses and named tuples of the workspace, by the fields that they are made with."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from tvls.analysis.types import Enumeration, NamedType, Record
from tvls.protocol.types import MissingValue
from tvls.setup.annotations import Hint, assumed_class, hint_of, literal
from tvls.setup.findings import Finding, describe, did_you_mean
from tvls.setup.keys import Key, show_key
from tvls.setup.kinds import ParameterLike, value_kind
from tvls.setup.texts import inline

Types = Mapping[str, NamedType]


def make_object(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "object", "class": name, "fields": fields}


def object_in(value: Any) -> tuple[str, dict[str, Any]] | None:
    """Class and fields of a value that is an object."""
    match value:
        case {"kind": "object", "class": str() as name}:
            fields: Any = cast("dict[str, Any]", value).get("fields", {})
            return (name, cast("dict[str, Any]", fields)) if isinstance(fields, dict) else None
        case _:
            return None


def fields_of(types: Types, name: str) -> Sequence[ParameterLike]:
    """Parameters that an object of a class is made with; none of a class that is not known."""
    match types.get(name):
        case Record(parameters=parameters):
            return [p for p in parameters if p.kind in {"positional_or_keyword", "keyword_only"}]
        case _:
            return []


def default_fields(parameter: ParameterLike, hint: Hint, types: Types) -> dict[str, str] | None:
    """What the default of a parameter gives the fields of the object that it makes, as source text.

    None where it makes no object, or one that a setup cannot repeat.
    """
    if hint.type != "object" or parameter.default is None:
        return None
    try:
        call = ast.parse(parameter.default.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    if not isinstance(call, ast.Call) or parameter.names.get(ast.unparse(call.func)) not in hint.classes[:1]:
        return None
    names = [field.name for field in fields_of(types, hint.classes[0])]
    given = dict(zip(names, map(ast.unparse, call.args), strict=False))
    given |= {keyword.arg or "": ast.unparse(keyword.value) for keyword in call.keywords}
    known = given.keys() <= set(names) and all(literal(text) is not ... for text in given.values())
    return given if known and len(given) == len(call.args) + len(call.keywords) else None


# --- do they fit -----------------------------------------------------------------------------------------------------


def fit_value(value: Any, hint: Hint, types: Types, at: Key, name: str) -> Iterator[Finding | MissingValue]:
    """Whether the objects and members in the value of the parameter `name` are what its annotation says."""
    if (fault := _plain_fault(value, hint, name)) is not None:
        yield Finding(at, fault)
        return
    match value:
        case {"kind": "object", "class": str() as of}:
            faults = list(_class_fault(of, hint, types, (*at, "class"), name))
            yield from faults or _fit_fields(value, types, at)
        case {"kind": "enum", "class": str() as of, "member": str() as member}:
            yield from _class_fault(of, hint, types, (*at, "class"), name)
            match types.get(of):
                case Enumeration(members=members) if member not in members:
                    hint_text = did_you_mean(member, members) or f" (it has {', '.join(members)})"
                    yield Finding((*at, "member"), f"{_short(of)} has no member {member!r}{hint_text}")
                case _:
                    pass
        case {"kind": "tuple", "items": list()}:
            yield from _fit_items(enumerate(value["items"]), hint, types, (*at, "items"), name)
        case {"kind": _}:
            pass
        case dict():
            table = cast("dict[str, Any]", value)
            if hint.type == "object":
                written = inline(make_object(hint.classes[0], table))
                message = (
                    f"{name} takes an object of {_short(hint.classes[0])}, and this is a dictionary: write {written}"
                )
                yield Finding(at, message, "warning")
            else:
                yield from _fit_items(table.items(), hint, types, at, name)
        case list():
            yield from _fit_items(enumerate(cast("list[Any]", value)), hint, types, at, name)
        case _:
            pass


def _plain_fault(value: Any, hint: Hint, name: str) -> str | None:
    """Why a value that is no object is not what the annotation says, with what to write.

    Python takes it all the same, and the program goes another way than with the value that was meant.
    """
    match value, hint.type:
        case {"kind": _}, _:
            return None
        case list(), "tuple":
            written = inline({"kind": "tuple", "items": value})
            return f"{name} takes a tuple, and this is a list: write {written}"
        case _, "choice" if hint.options and not hint.allows(value):
            names = ", ".join(inline(option) for option in hint.options if not isinstance(option, dict))
            members = [cast("dict[str, str]", option) for option in hint.options if isinstance(option, dict)]
            if not members:
                return f"{name} is one of {names}, not {describe(value)}"
            meant = next((option for option in members if option["member"] == value), members[0])
            of = " or ".join(map(_short, hint.classes))
            known = ", ".join(filter(None, [names, *(option["member"] for option in members)]))
            return f"{name} is a member of {of} ({known}), not {describe(value)}: write {inline(meant)}"
        case _:
            return None


def _fit_items(pairs: Any, hint: Hint, types: Types, at: Key, name: str) -> Iterator[Finding | MissingValue]:
    for part, item in pairs:
        yield from fit_value(item, hint.of_item(part), types, (*at, part), f"{name}[{part!r}]")


def _class_fault(of: str, hint: Hint, types: Types, at: Key, name: str) -> Iterator[Finding]:
    if hint.classes and of not in hint.classes:
        close = did_you_mean(of, hint.classes)
        yield Finding(at, f"{name} takes {' or '.join(map(_short, hint.classes))}, not {_short(of)!r}{close}")


def _fit_fields(value: dict[str, Any], types: Types, at: Key) -> Iterator[Finding | MissingValue]:
    of, given = object_in(value) or ("", {})
    if not isinstance(record := types.get(of), Record):
        return
    known = {field.name: field for field in fields_of(types, of)}
    takes_any = any(p.kind == "var_keyword" for p in record.parameters)
    for name, inner in given.items():
        key = (*at, "fields", name)
        if name in known:
            yield from fit_value(inner, declared_hint(known[name], types), types, key, name)
        elif not takes_any:
            close = did_you_mean(name, known) or f" (it has {', '.join(known) or 'none'})"
            yield Finding(key, f"{_short(of)} has no field {name!r}{close}", on="key")
    for field in known.values():
        if field.default is None and field.name not in given:
            yield MissingValue(
                key=show_key((*at, "fields", field.name)),
                parameter=field.name,
                kind=value_kind(field),
                annotation=field.annotation,
            )


def declared_hint(parameter: ParameterLike, types: Types) -> Hint:
    """As `hint_of`, without what only a default or a name tells: one that has a tuple may take a list as well."""
    hint = hint_of(parameter, types)
    told = parameter.annotation is not None or (hint.type != "tuple" and not assumed_class(parameter))
    return hint if told else Hint()


def _short(name: str) -> str:
    return name.partition(":")[2]
