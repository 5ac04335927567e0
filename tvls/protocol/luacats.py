"""The protocol as LuaCATS annotations: a class for each structure, for the Neovim plugin and for checkers of Lua."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from msgspec import inspect as types_of

from tvls.protocol.registry import Method
from tvls.protocol.structures import Structure, Texts, doc_lines, field_types

_BASIC: Mapping[type[types_of.Type], str] = {
    types_of.StrType: "string",
    types_of.IntType: "integer",
    types_of.FloatType: "number",
    types_of.BoolType: "boolean",
    types_of.NoneType: "nil",
    types_of.AnyType: "any",
}


def module(note: str, kinds: Sequence[type], methods: Sequence[Method], texts: Texts) -> str:
    """Text of a Lua file that holds nothing but types: `kinds`, and what they are made of."""
    classes: dict[str, str] = {}
    for kind in kinds:
        _type(types_of.type_info(kind), classes, texts)
    words = "\n".join(f"---| {json.dumps(method.name)} # {method.summary}" for method in methods)
    return (
        f"---@meta\n-- {note}\n"
        "-- Fields that may be left out have the defaults of protocol/SPEC.md. Tolerate unknown fields and words.\n\n"
        f"---@alias tvls.Method\n{words}\n\n" + "\n".join(classes[name] for name in sorted(classes))
    )


def _type(kind: types_of.Type, classes: dict[str, str], texts: Texts) -> str:
    """A type as LuaCATS writes it. Structures that it names are added to `classes`."""
    basic = _BASIC.get(type(kind))
    if basic is not None:
        return basic
    match kind:
        case types_of.LiteralType():
            return "|".join(json.dumps(value) for value in kind.values)
        case types_of.ListType():
            item = _type(kind.item_type, classes, texts)
            return f"({item})[]" if "|" in item else f"{item}[]"
        case types_of.DictType():
            return f"table<string, {_type(kind.value_type, classes, texts)}>"
        case types_of.UnionType():
            return "|".join(_type(part, classes, texts) for part in kind.types)
        case types_of.StructType() | types_of.TypedDictType():
            _add_class(kind, classes, texts)
            return f"tvls.{kind.cls.__name__}"
        case _:
            raise TypeError(f"LuaCATS has no form for {kind}")


def _add_class(kind: Structure, classes: dict[str, str], texts: Texts) -> None:
    name = kind.cls.__name__
    if name in classes:
        return
    classes[name] = ""  # a type may contain itself
    lines = [f"---{line}".rstrip() for line in doc_lines(kind)]
    lines.append(f"---@class tvls.{name}")
    for field in kind.fields:
        text = texts.get(name, {}).get(field.encode_name, "")
        optional = "" if field.required else "?"
        shown = "|".join(_type(part, classes, texts) for part in field_types(field))
        lines.append(f"---@field {field.encode_name}{optional} {shown} {text}".rstrip())
    classes[name] = "\n".join([*lines, ""])
