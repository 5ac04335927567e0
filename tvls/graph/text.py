"""How shapes, dtypes, places in a call and labels are written for people."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from typing import Any

from tvls.capture.document import Operand, Scope, Value

_SHORT = (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"))
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def operation_label(primitive: str) -> str:
    """`linear` of `torch.nn.functional.linear`; names of JAX have no package."""
    return primitive.rpartition(".")[2] or primitive


def short_dtype(dtype: str) -> str:
    """As in a jaxpr: `float32` → `f32`, `bfloat16` → `bf16`, `float8_e4m3fn` → `f8_e4m3fn`; others stay as they are."""
    for long, short in _SHORT:
        rest = dtype.removeprefix(long)
        if rest != dtype and rest[:1].isdigit():
            return short + rest
    return dtype


def shape_text(shape: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def long_type(shape: Sequence[int], dtype: str) -> str:
    """`float32[2, 3]`"""
    return dtype + shape_text(shape)


def short_type(shape: Sequence[int], dtype: str) -> str:
    """`f32[2,3]`"""
    return f"{short_dtype(dtype)}[{','.join(map(str, shape))}]"


def value_text(value: Value) -> str:
    """`f32[2,3]`, with a star for a weak type."""
    return short_type(value["shape"], value["dtype"]) + ("*" if value.get("weakType") else "")


def literal_text(operand: Operand) -> str:
    """`1.0:f32`; an array literal with its shape."""
    literal: Any = operand.get("literal")
    dtype = operand.get("dtype")
    if isinstance(literal, str):
        text = literal
    elif isinstance(literal, float):
        text = float_text(literal, dtype or "")
    else:
        text = json.dumps(literal, ensure_ascii=False)
    if dtype is None:
        return text
    shape = operand.get("shape")
    return f"{text}:{short_type(shape, dtype) if shape else short_dtype(dtype)}"


def float_text(number: float, dtype: str) -> str:
    """The shortest decimal that means the same number in its own precision: `1e-06`, not `9.999999974752427e-07`."""
    code = {"float32": "<f", "float16": "<e"}.get(dtype)
    if code is not None:
        try:
            stored = struct.pack(code, number)
        except OverflowError:
            return repr(number)
        for digits in range(1, 10):
            shorter = float(f"{number:.{digits}g}")
            try:
                if struct.pack(code, shorter) == stored:
                    return repr(shorter)
            except OverflowError:  # rounded up past the largest number
                continue
    return repr(number)


def size_text(size: int) -> str:
    """Three digits and a decimal unit: `498 MB`, `1.25 kB`."""
    scaled, unit = float(size), 0
    while scaled >= 999.5 and unit < len(_UNITS) - 1:
        scaled, unit = scaled / 1000, unit + 1
    return f"{scaled:.0f} {_UNITS[unit]}" if unit == 0 or scaled >= 99.95 else f"{scaled:.3g} {_UNITS[unit]}"


def measured_text(value: Value) -> str:
    """What was measured of a value: `24 bytes · memory 3 · min 0 · max 1 · mean 0.5 · …`; empty where nothing was."""
    parts: list[str] = []
    if "bytes" in value:
        parts.append(size_text(value["bytes"]))
    if "storage" in value:
        parts.append(f"memory {value['storage']}")
    if "statistics" in value:
        found = value["statistics"]
        numbers = {name: found.get(name) for name in ("min", "max", "mean", "std")}
        parts += [f"{name} {number:.4g}" for name, number in numbers.items() if number is not None]
        counts = f"zeros {found['zeros']} · NaN {found['nan']} · infinite {found['infinite']}"
        parts.append(f"{counts} of {plural(found['elements'], 'element')}")
    return " · ".join(parts)


def child_place(place: str, key: str | int) -> str:
    """Place of a child in a nested structure: `args` and 0 → `args[0]`, `args[0]` and `x` → `args[0].x`."""
    if isinstance(key, int):
        return f"{place}[{key}]"
    if _IDENTIFIER.fullmatch(key):
        return f"{place}.{key}" if place else key
    return f"{place}[{json.dumps(key, ensure_ascii=False)}]"


def scope_label(scope: Scope) -> str:
    """Name of the module or function, else what kind of scope it is."""
    name = scope.get("name")
    if name:
        return name
    path = scope.get("path")
    if path:
        return path.rsplit("/", 1)[-1]
    return scope.get("class") or scope["kind"]


def plural(count: int, noun: str) -> str:
    """`1 operation`, `1,204 operations`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
