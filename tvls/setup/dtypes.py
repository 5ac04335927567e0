"""Names of element types that a setup can ask for: one table for saved setups, requests and the command line."""

from __future__ import annotations

import difflib
import re
import sys
from typing import Final, Literal

import msgspec

Family = Literal["bool", "int", "uint", "float", "complex", "key"]


class DType(msgspec.Struct, frozen=True):
    """An element type.

    `low` and `high` are its least and greatest finite number, of a complex type those of either part; None for keys.
    """

    name: str
    family: Family
    bits: int
    low: int | float | None = None
    high: int | float | None = None


def _integers(family: Literal["int", "uint"], bits: int) -> DType:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if family == "int" else (0, 2**bits - 1)
    return DType(f"{family}{bits}", family, bits, low, high)


_WIDTHS: Final = (1, 2, 4, 8, 16, 32, 64)
_FLOATS: Final[dict[str, tuple[int, float]]] = {
    # Bits, and the greatest finite number.
    "float16": (16, 65504.0),
    "float32": (32, (2 - 2.0**-23) * 2.0**127),
    "float64": (64, sys.float_info.max),
    "bfloat16": (16, (2 - 2.0**-7) * 2.0**127),
    "float4_e2m1fn": (4, 6.0),
    "float6_e2m3fn": (6, 7.5),
    "float6_e3m2fn": (6, 28.0),
    "float8_e3m4": (8, 15.5),
    "float8_e4m3": (8, 240.0),
    "float8_e4m3b11fnuz": (8, 30.0),
    "float8_e4m3fn": (8, 448.0),
    "float8_e4m3fnuz": (8, 240.0),
    "float8_e5m2": (8, 57344.0),
    "float8_e5m2fnuz": (8, 57344.0),
    "float8_e8m0fnu": (8, 2.0**127),
}
_LEAST: Final = {"float8_e8m0fnu": 2.0**-127}
"""Of the types that are not symmetric: powers of two alone."""

DTYPES: Final[dict[str, DType]] = {
    dtype.name: dtype
    for dtype in (
        DType("bool", "bool", 8, 0, 1),
        *(_integers("int", bits) for bits in _WIDTHS),
        *(_integers("uint", bits) for bits in _WIDTHS),
        *(DType(name, "float", bits, _LEAST.get(name, -high), high) for name, (bits, high) in _FLOATS.items()),
        DType("complex64", "complex", 64, -_FLOATS["float32"][1], _FLOATS["float32"][1]),
        DType("complex128", "complex", 128, -_FLOATS["float64"][1], _FLOATS["float64"][1]),
    )
}

ALIASES: Final[dict[str, str]] = {
    **{f"i{bits}": f"int{bits}" for bits in _WIDTHS},
    **{f"s{bits}": f"int{bits}" for bits in _WIDTHS},
    **{f"u{bits}": f"uint{bits}" for bits in _WIDTHS},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{name.replace("float", "f", 1): name for name in _FLOATS if name.startswith(("float4_", "float6_", "float8_"))},
    "bf16": "bfloat16",
    "c64": "complex64",
    "c128": "complex128",
    "bool_": "bool",
    "pred": "bool",
    "half": "float16",
    "long": "int64",
    "short": "int16",
    "double": "float64",
}

_KEY: Final = re.compile(r"key<\s*([A-Za-z_][A-Za-z0-9_]*)\s*>")
_KEY_NAMES: Final = {"threefry": "fry", "threefry2x32": "fry", "unsafe_rbg": "urbg"}


def resolve_dtype(text: str) -> DType:
    """The element type that `text` names, by its full name or an alias such as `f32`.

    Typed PRNG keys are `key<fry>`, `key<rbg>` and `key<urbg>`; the names of the implementations are accepted, too, and
    so are tags of other implementations, which only the capture environment knows.
    Raises ValueError with a message that says what is close.
    """
    name = text.strip()
    for prefix in ("jnp.", "jax.numpy.", "np.", "numpy.", "torch."):
        name = name.removeprefix(prefix)
    if (dtype := DTYPES.get(ALIASES.get(name, name))) is not None:
        return dtype
    if match := _KEY.fullmatch(name):
        return DType(f"key<{_KEY_NAMES.get(match[1], match[1])}>", "key", 0)
    if name.lower() != name and name.lower() in (DTYPES | ALIASES):
        raise ValueError(f"{text!r} is not a dtype; did you mean {ALIASES.get(name.lower(), name.lower())!r}?")
    if name in {"key", "prng_key", "key<>"}:
        raise ValueError(f"{text!r} does not say which PRNG; a typed key is 'key<fry>'")
    if name in {"int", "uint", "float", "complex", "float8"}:
        widths = [known for known in DTYPES if re.fullmatch(rf"{name}(8|16|32|64|128|_.*)", known)]
        raise ValueError(f"{text!r} does not say how many bits; choose one of {', '.join(widths)}")
    common = [known for known, dtype in DTYPES.items() if dtype.bits >= 4]  # nobody means int1 by int31
    close = difflib.get_close_matches(name.lower(), [*common, *ALIASES, "key<fry>"], n=1)
    hint = f"; did you mean {ALIASES.get(close[0], close[0])!r}?" if close else "; 'float32' or 'int32' would be"
    raise ValueError(f"{text!r} is not a dtype{hint}")
