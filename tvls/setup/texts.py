"""Values of a setup as a person reads and types them in one line: `float32[2, 3]`, `3`, `true`, `{ a = 1 }`."""

from __future__ import annotations

import json
import re
from typing import Any, Final, cast

from tvls.protocol.types_setup import FieldType
from tvls.setup.placeholders import UNKNOWN, is_ask, is_open
from tvls.setup.shorthand import TextError, parse_shape, parse_value

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+(?:_[0-9]+)*")


def show_value(value: Any) -> str:
    """One line for a value; empty for a placeholder."""
    if is_ask(value):
        return ""
    match value:
        case {"kind": "none"}:
            return "None"
        case {"kind": "tensor"}:
            tensor = cast("dict[str, Any]", value)
            plain = {"kind", "shape", "dtype"}.issuperset(tensor)
            if plain and isinstance(tensor.get("dtype"), str) and isinstance(tensor.get("shape"), list):
                return f"{tensor['dtype']}[{_dimensions(tensor['shape'])}]"
            return inline(value)
        case _:
            return inline(value)


def show_shape(shape: Any) -> str:
    """`2, 3`; `[]` for that of a scalar; empty where nothing of it is known."""
    if not isinstance(shape, list):
        return "" if shape is None or shape == UNKNOWN else inline(shape)
    return _dimensions(cast("list[Any]", shape)) or "[]"


def _dimensions(shape: list[Any]) -> str:
    return ", ".join(
        dim[1:] if is_open(dim) and dim != UNKNOWN else dim if dim == UNKNOWN else inline(dim) for dim in shape
    )


def read_text(text: str, kind: FieldType, *, optional: bool = False) -> Any:
    """The value that a person typed into a field of this type. Raises TextError."""
    text = text.strip() if kind != "string" else text
    if optional and text.strip() in {"None", "none"}:
        return {"kind": "none"}
    match kind:
        case "integer" | "dimension":
            if not _INTEGER.fullmatch(text) or (kind == "dimension" and text.startswith("-")):
                what = "a dimension is a whole number of 0 or more" if kind == "dimension" else "this is a whole number"
                raise TextError(f"{what}, not {text!r}", "Such as 2.")
            return int(text)
        case "number":
            try:
                return int(text) if _INTEGER.fullmatch(text) else float(text)
            except ValueError:
                raise TextError(f"this is a number, not {text!r}", "Such as 0.1.") from None
        case "boolean":
            if text.lower() not in {"true", "false"}:
                raise TextError(f"this is true or false, not {text!r}", "Write true or false.")
            return text.lower() == "true"
        case "string" | "dtype" | "choice":
            return text
        case "shape":
            inner = text[1:-1] if text[:1] + text[-1:] in {"[]", "()"} else text
            return parse_shape(inner, open_dimensions=True)
        case _:
            return parse_value(text, for_form=True)


def inline(value: Any) -> str:
    """A value as TOML writes it in one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(inline(item) for item in cast('list[Any]', value))}]"
        case dict():
            pairs = [f"{bare(name)} = {inline(item)}" for name, item in cast("dict[str, Any]", value).items()]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
        case _:
            return str(value)  # a date of a file that has one where it does not belong


def bare(name: str) -> str:
    """A key as TOML writes it."""
    return name if _BARE.fullmatch(name) else inline(name)
