"""What a parameter holds, told from its annotation, default or name: never by importing anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol

ValueKind = Literal["tensor", "value", "unknown"]


class ParameterLike(Protocol):
    """A parameter as the analysis reads it; annotation and default are source text."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def annotation(self) -> str | None: ...
    @property
    def default(self) -> str | None: ...
    @property
    def names(self) -> Mapping[str, str]: ...


_ARRAY_TYPES: Final = frozenset(
    {"Array", "ArrayLike", "ndarray", "Tensor", "PRNGKeyArray", "NDArray", "KeyArray", "ShapeDtypeStruct", "Tracer"}
    | {"FloatTensor", "LongTensor", "BoolTensor", "IntTensor", "ArrayTree"}
)
_SHAPED: Final = re.compile(r"(Float|Int|UInt|Complex|BFloat)\d*|Bool|Num|Real|Inexact|Integer|Shaped|Key|Key8|Scalar")
_VALUE_TYPES: Final = frozenset(
    {"int", "str", "bool", "float", "complex", "Literal", "LiteralString", "SupportsInt", "SupportsFloat"}
)
_CONTAINERS: Final = frozenset(
    {"list", "tuple", "set", "frozenset", "dict", "List", "Tuple", "Dict", "Sequence", "Iterable", "Mapping", "Set"}
)
_WRAPPERS: Final = frozenset({"Optional", "Union", "Annotated", "Final", "ClassVar", "Required"})
_ARRAY_NAMES: Final = re.compile(
    r"(x|y|z|xs|ys|q|k|v|inputs?|targets?|labels?|batch_x|images?|img|tokens?|idx|(.*_)?(ids|mask|masks|logits|embeddings?)"
    r"|hidden(_states?)?|quer(y|ies)|keys?|values?|rng|rng_key|key|features?|frames?|audio|waveform|patches)"
)


def value_kind(parameter: ParameterLike) -> ValueKind:
    """Whether a parameter holds an array, a plain value, or what cannot be told from source."""
    if parameter.annotation is not None:
        try:
            kinds = _annotation_kinds(ast.parse(parameter.annotation.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError):
            return "unknown"
        kind = _one_kind(kinds)
        return "value" if kind == "unknown" and parameter.names else kind
    if parameter.default is not None:
        try:
            default: Any = ast.literal_eval(parameter.default.strip())
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            return "unknown"
        if default is not None:
            return "value"
    return "tensor" if _ARRAY_NAMES.fullmatch(parameter.name) else "unknown"


def _one_kind(kinds: set[ValueKind]) -> ValueKind:
    if "tensor" in kinds:  # `ArrayLike | float`: a shape can be stated
        return "tensor"
    return "value" if kinds == {"value"} else "unknown"


def _annotation_kinds(node: ast.expr) -> set[ValueKind]:
    match node:
        case ast.Constant(value=None):
            return set()
        case ast.Constant(value=str() as text):
            return _annotation_kinds(ast.parse(text.strip(), mode="eval").body)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _annotation_kinds(left) | _annotation_kinds(right)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return {_name_kind(name)}
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            return _subscript_kinds(name, inner)
        case _:
            return {"unknown"}


def _name_kind(name: str) -> ValueKind:
    if name in _ARRAY_TYPES:
        return "tensor"
    return "value" if name in _VALUE_TYPES else "unknown"


def _subscript_kinds(name: str, inner: ast.expr) -> set[ValueKind]:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        return {"value"}
    if name in _ARRAY_TYPES or _SHAPED.fullmatch(name):
        return {"tensor"}
    if name == "Annotated":
        return _annotation_kinds(parts[0])
    kinds: set[ValueKind] = set()
    for part in parts:
        if not (isinstance(part, ast.Constant) and part.value is ...):
            kinds |= _annotation_kinds(part)
    if name in _WRAPPERS:
        return kinds
    if name in _CONTAINERS:  # a list of arrays has a structure that only the user knows
        return {"value"} if kinds == {"value"} else {"unknown"}
    return {"unknown"}
