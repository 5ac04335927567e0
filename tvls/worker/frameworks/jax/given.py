"""Which values of the setup a failure may be about: those of a type that its message names."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, cast

_SETUP = "_tvls_setup"
"""Attribute of exceptions: the setup of the call that failed."""
_MENTIONED = re.compile(
    r"<class '(\w+)'>|'(str|list|tuple|dict|float|int|bool|NoneType)'|\bis an? (str|list|dict|tuple)\b"
)
_SHAPE = re.compile(r"Shapes must be 1D sequences of concrete values of integer type, got (.*?)\.?$", re.M)
_MOST = 3


def remember(fault: BaseException, setup: Mapping[str, Any]) -> None:
    """Have those who explain an exception know the setup of the call."""
    if not hasattr(fault, _SETUP):
        setattr(fault, _SETUP, setup)


def suspects(fault: BaseException, full: str) -> Optional[str]:
    """A sentence that names the values by their keys, such as `inputs.kwargs.y`, or None where there is none, or many.

    A table with the shape and dtype of a tensor that is none is named before all others.
    """
    setup: Mapping[str, Any] = getattr(fault, _SETUP, {})
    if not isinstance(fault, (TypeError, ValueError, AttributeError, IndexError)):
        return None
    values = list(_values(setup))
    for key, value in values:
        if type(value) is dict and {"shape", "dtype"} <= cast("Dict[str, Any]", value).keys():
            return f"`{key}` of the setup is a dictionary: an array has kind = 'tensor'"
    found = [(key, value) for key, value in values if _is_meant(value, full)]
    if not found or len(found) > _MOST:
        return None
    return "; ".join(f"`{key}` of the setup is {_what(value)}" for key, value in found)


def _values(setup: Mapping[str, Any]) -> Iterator[Tuple[str, Any]]:
    for part in ("inputs", "init"):
        call: Any = setup.get(part) or {}
        for index, item in enumerate(call.get("args", ())):
            yield from _inside(f"{part}.args[{index}]", item)
        for name, item in call.get("kwargs", {}).items():
            yield from _inside(f"{part}.kwargs.{name}", item)


def _inside(key: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """A value and what it holds, as Python has them; arrays left out."""
    if isinstance(value, dict):
        table = cast("Dict[str, Any]", value)
        kind = table.get("kind")
        if kind in ("tensor", "enum"):
            return
        if kind == "none":
            yield key, None
        elif kind == "object":
            for name, item in table.get("fields", {}).items():
                yield from _inside(f"{key}.fields.{name}", item)
        elif kind in ("tuple", "dict") and "items" in table:
            items: Any = table["items"]
            yield from _inside(f"{key}.items", tuple(items) if kind == "tuple" else items)
        else:
            yield key, table
            for name, item in table.items():
                yield from _inside(f"{key}.{name}", item)
    elif isinstance(value, (list, tuple)):
        yield key, value
        for index, item in enumerate(cast("List[Any]", value)):
            yield from _inside(f"{key}[{index}]", item)
    else:
        yield key, value


def untraced_shape(full: str) -> Optional[str]:
    """What was given for a shape, by JAX's message, where that is no traced value."""
    found = _SHAPE.match(full)
    return None if found is None or "Trace" in found.group(1) else found.group(1)


def _is_meant(value: Any, full: str) -> bool:
    shape = untraced_shape(full)
    if shape is not None:
        if not isinstance(value, (str, float, list)):
            return False
        forms = [repr(cast("object", value))]
        if isinstance(value, list):  # which Flax freezes
            forms.append(repr(tuple(cast("List[Any]", value))))
        return str(cast("object", value)) == shape or any(_holds(shape, form) for form in forms)
    return type(value).__name__ in {name for names in _MENTIONED.findall(full) for name in names if name}


def _holds(text: str, value: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", text) is not None


def _what(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, (str, bool, int, float)):
        text = repr(value)
        return f"the {type(value).__name__} {text if len(text) <= 40 else text[:39] + '…'}"
    return f"a {type(value).__name__}"
