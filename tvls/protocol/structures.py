"""What generators of client types ask about a structure, whatever language they write."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

from msgspec import inspect as types_of

Texts = Mapping[str, Mapping[str, str]]
"""Type → field on the wire → what is said of it."""

Structure = types_of.StructType | types_of.TypedDictType


def doc_lines(kind: Structure) -> list[str]:
    """The docstring of a structure; empty where it has only the one that Python writes."""
    text, name = kind.cls.__doc__, kind.cls.__name__
    return inspect.cleandoc(text).splitlines() if text and not text.startswith(("dict(", f"{name}(")) else []


def field_types(field: types_of.Field) -> Sequence[types_of.Type]:
    """Alternatives of a field. One that may be absent is never sent as null, so null is left out of them."""
    kind = field.type
    if not field.required and isinstance(kind, types_of.UnionType):
        return [part for part in kind.types if not isinstance(part, types_of.NoneType)]
    return [kind]
