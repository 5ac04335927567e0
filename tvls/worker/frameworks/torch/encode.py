"""Arguments of an operation that are not tensors, as data. What is not plain data is named by its type."""

from __future__ import annotations

import enum
import math
from typing import Any, Callable, Dict, List, Optional, cast

from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.frameworks.torch.tensors import is_tensor, plain_dtype
from tvls.worker.job import type_name

_DEEPEST = 8

Operand = Callable[[Any], Optional[int]]
"""From a tensor to its position among the operands; None for one that was put into an argument by the call."""


def encode(value: Any, operand: Operand, depth: int = 0) -> Any:
    """One argument as JSON data; a tensor in it becomes `{"operand": position}`."""
    kind = cast("type[Any]", type(value))
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return number(value)
    if kind is complex:
        return [number(value.real), number(value.imag)]
    if is_tensor(value):
        position = operand(value)
        return {"opaque": type_name(value)} if position is None else {"operand": position}
    if depth >= _DEEPEST:
        return {"opaque": type_name(value)}
    if isinstance(value, (list, tuple, lib.torch.Size)):
        return [encode(item, operand, depth + 1) for item in cast("List[Any]", value)]
    if kind is dict:
        return {str(key): encode(item, operand, depth + 1) for key, item in value.items()}
    if kind is slice:
        return {"slice": [encode(part, operand, depth + 1) for part in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return "..."
    return _known(value)


def _known(value: Any) -> Any:
    torch = lib.torch
    if isinstance(value, torch.dtype):
        return plain_dtype(value)
    if isinstance(value, (torch.device, torch.memory_format, torch.layout)):
        return str(value).replace("torch.", "")
    if isinstance(value, enum.Enum):
        return value.name
    for plain in (bool, int, float, str):  # a subclass, such as NumPy's float64
        if isinstance(value, plain):
            return encode(plain(value), _no_operand)
    return {"opaque": type_name(value)}


def _no_operand(value: Any) -> int:
    raise AssertionError(value)


def number(value: float) -> Any:
    """A float as JSON has it; `nan`, `inf` and `-inf` are strings."""
    return value if math.isfinite(value) else str(value)


def static(value: Any) -> Dict[str, Any]:
    """Entry of a leaf that is no tensor: plain data as it is, anything else by its type."""
    data: Any = encode(value, _no_operand)
    opaque = isinstance(data, dict) and "opaque" in data
    return cast("Dict[str, Any]", data) if opaque else {"static": data}
