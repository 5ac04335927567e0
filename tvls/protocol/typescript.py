"""The protocol as TypeScript: an interface for each structure, and the requests and notifications by name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from msgspec import inspect as types_of

from tvls.protocol.registry import Method, Notification
from tvls.protocol.structures import Structure, Texts, doc_lines, field_types


def module(
    note: str,
    kinds: Sequence[type],
    methods: Sequence[Method],
    notifications: Sequence[Notification],
    codes: Mapping[str, int],
    allowed: Sequence[str],
    texts: Texts,
) -> str:
    """Text of a TypeScript module: `kinds` and what they are made of, and what is sent by which name."""
    structures: dict[str, str] = {}
    for kind in kinds:
        _type(types_of.type_info(kind), structures, texts)
    requests = [
        f"  /** {method.summary} */\n"
        f'  "{method.name}": {{ params: {method.params.__name__}; result: {method.result.__name__} }};\n'
        for method in methods
    ]
    told = [f'  /** {note.summary} */\n  "{note.name}": {note.params.__name__};\n' for note in notifications]
    errors = [f"  {kind}: {code},\n" for kind, code in codes.items()]
    return (
        f"// {note}\n\n"
        "// Fields that may be left out have the defaults of protocol/SPEC.md. Tolerate unknown fields and words.\n\n"
        + f"export interface Requests {{\n{''.join(requests)}}}\n\n"
        + f"export interface Notifications {{\n{''.join(told)}}}\n\n"
        + "/** Codes of errors by `ErrorData.kind`. */\n"
        + f"export const ErrorCodes = {{\n{''.join(errors)}}} as const;\n\n"
        + "/** What a page or a panel may ask; hosts refuse everything else. */\n"
        + "export const ALLOWED_IN_A_PAGE: readonly string[] = [\n"
        + "".join(f'  "{name}",\n' for name in allowed)
        + "];\n\n"
        + "\n".join(structures[name] for name in sorted(structures))
    )


def _type(kind: types_of.Type, structures: dict[str, str], texts: Texts) -> str:
    """A type in TypeScript. Structures that it names are added to `structures`."""
    match kind:
        case types_of.StrType():
            return "string"
        case types_of.IntType() | types_of.FloatType():
            return "number"
        case types_of.BoolType():
            return "boolean"
        case types_of.NoneType():
            return "null"
        case types_of.AnyType():
            return "unknown"
        case types_of.LiteralType():
            return " | ".join(json.dumps(value) for value in kind.values)
        case types_of.ListType():
            item = _type(kind.item_type, structures, texts)
            return f"({item})[]" if " | " in item else f"{item}[]"
        case types_of.DictType():
            return f"Record<string, {_type(kind.value_type, structures, texts)}>"
        case types_of.UnionType():
            return " | ".join(_type(part, structures, texts) for part in kind.types)
        case types_of.StructType() | types_of.TypedDictType():
            _add_structure(kind, structures, texts)
            return kind.cls.__name__
        case _:
            raise TypeError(f"TypeScript has no form for {kind}")


def _add_structure(kind: Structure, structures: dict[str, str], texts: Texts) -> None:
    name = kind.cls.__name__
    if name in structures:
        return
    structures[name] = ""  # a type may contain itself
    lines: list[str] = []
    if said := doc_lines(kind):
        lines += ["/**", *(f" * {line}".rstrip() for line in said), " */"]
    lines.append(f"export interface {name} {{")
    for field in kind.fields:
        text = texts.get(name, {}).get(field.encode_name)
        if text:
            lines.append(f"  /** {text} */")
        shown = " | ".join(_type(part, structures, texts) for part in field_types(field))
        lines.append(f"  {field.encode_name}{'' if field.required else '?'}: {shown};")
    structures[name] = "\n".join([*lines, "}", ""])
