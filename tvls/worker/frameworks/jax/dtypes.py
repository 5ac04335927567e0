"""Dtypes by name, both ways."""

from __future__ import annotations

import difflib
import re
from typing import Any, Dict, Final

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.internals import key_implementations
from tvls.worker.job import SetupFault

WIDE = frozenset(("float64", "int64", "uint64", "complex128"))
_NARROW = (
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "complex64"),
    *("bfloat16", "int2", "int4", "uint2", "uint4"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"),
    *("float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
)
ENVIRONMENT: Final = "in the environment that the editor, or the command, is started in"
"""Where the worker has its own from."""
_names: Dict[Any, str] = {}


def dtype_name(dtype: Any) -> str:
    """Name of a dtype: `float32`, `bfloat16`, `key<fry>`, `float0`."""
    name = _names.get(dtype)
    if name is None:
        name = "float0" if dtype == lib.jax.dtypes.float0 else str(getattr(dtype, "name", dtype))
        _names[dtype] = name
    return name


def parse_dtype(name: str, key: str) -> Any:
    """The dtype of a setup. Raises SetupFault for an unknown name and for a 64-bit one where JAX would narrow it."""
    tag = re.fullmatch(r"key<(\w+)>", name)
    if tag is not None:
        return _key_dtype(tag.group(1), key)
    if name in WIDE:
        require_wide(name, key)
        return lib.np.dtype(name)
    scalar: Any = getattr(lib.jax.numpy, "bool_" if name == "bool" else name, None) if name in _NARROW else None
    if scalar is None:
        raise SetupFault("dtype", f"JAX has no dtype {name!r}{_suggest(name, all_dtypes())}", key)
    return lib.np.dtype(scalar)


def require_wide(name: str, key: str) -> None:
    """Raises SetupFault where `name` is a 64-bit dtype and 64-bit values are not enabled."""
    if name in WIDE and not lib.jax.config.jax_enable_x64:
        message = f"{name} needs JAX_ENABLE_X64=1 in the capture environment; JAX would narrow it silently"
        raise SetupFault("dtype", message, key, hint=f"set JAX_ENABLE_X64=1 {ENVIRONMENT}")


def all_dtypes() -> "list[str]":
    """Names that a setup may use with the installed JAX."""
    keys = [f"key<{tag}>" for tag in key_implementations()]
    return [name for name in _NARROW if name == "bool" or hasattr(lib.jax.numpy, name)] + sorted(WIDE) + keys


def _key_dtype(tag: str, key: str) -> Any:
    implementations = key_implementations()
    if tag not in implementations:
        raise SetupFault("dtype", f"no PRNG implementation {tag!r}{_suggest(tag, list(implementations))}", key)
    jax = lib.jax
    return jax.eval_shape(lambda: jax.random.key(0, impl=implementations[tag])).dtype


def _suggest(name: str, known: "list[str]") -> str:
    aliases = {
        "float": "float32",
        "int": "int32",
        "double": "float64",
        "half": "float16",
        "long": "int64",
        "key": "key<fry>",
    }
    close = [aliases[name]] if name in aliases else difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else f"; it has {', '.join(known)}"
