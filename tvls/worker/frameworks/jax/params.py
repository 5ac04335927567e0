"""Parameters of an equation as data. What is not plain data is named by its type: no address, no path, no `repr`."""

from __future__ import annotations

import enum
import json
import math
import re
from typing import Any, Callable, Dict, List, Optional

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import is_array
from tvls.worker.frameworks.jax.dtypes import dtype_name
from tvls.worker.frameworks.jax.internals import object_primitive
from tvls.worker.job import type_name, type_of

SMALL = 8
"""Elements up to which the values of an array that stands in the program are kept."""

_UNSTABLE = re.compile(r"\bat 0x[0-9a-fA-F]{4,}|0x[0-9a-fA-F]{8,}")
_PATH = re.compile(r"(?:^|[\s'\"(=])(?:/[^/\s]+){2,}|[A-Za-z]:\\")
Body = Callable[[Any, str], int]
"""From a subprogram and its role to the index of its body."""


def encode_params(params: Dict[str, Any], body: Body) -> Dict[str, Any]:
    """The parameters of one equation, in order of name; subprograms become `{"body": index}`."""
    return {name: encode(params[name], _role(name), body) for name in sorted(params)}


def _role(name: str) -> str:
    if name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        return "body"
    if name == "jaxprs":
        return ""
    return name[: -len("_jaxpr")] if name.endswith("_jaxpr") else name


def encode(value: Any, role: str, body: Body) -> Any:
    """One parameter as JSON data."""
    kind = type_of(value)
    if value is None or kind is bool or kind is int:
        return value
    if kind is str:
        return {"opaque": "builtins.str"} if _UNSTABLE.search(value) or _PATH.search(value) else value
    if kind is float or kind is complex:
        return number(value)
    if kind is tuple or kind is list:
        if any(_is_jaxpr(item) for item in value):
            return [encode(item, f"{role}[{index}]", body) for index, item in enumerate(value)]
        return [encode(item, role, body) for item in value]
    if kind is dict:
        return _dictionary(value, role, body)
    return _object(value, role, body)


def _object(value: Any, role: str, body: Body) -> Any:
    kind = type_of(value)
    if _is_jaxpr(value):
        return {"body": body(value, role)}
    dtype = _as_dtype(value)
    if dtype is not None:
        return dtype
    primitive = object_primitive(value)
    if primitive is not None:
        return {"name": primitive[0], "params": encode_params(primitive[1], body)}
    name: Any = getattr(value, "name", None)
    if isinstance(value, enum.Enum):
        return value.name
    if kind.__name__ == "PRNGImpl" and isinstance(name, str):
        return name
    fields: Any = getattr(kind, "_fields", None)
    if issubclass(kind, tuple) and fields is not None:
        return {str(field): encode(getattr(value, field), _inner(role, field), body) for field in fields}
    if issubclass(kind, (set, frozenset)):
        items: List[Any] = [encode(item, role, body) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    if is_array(value) or isinstance(value, lib.np.generic):
        return array(value)
    if isinstance(value, (bool, int, float, complex)):
        return number(value)
    if isinstance(value, lib.jax.sharding.PartitionSpec):
        return [encode(item, role, body) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if _is_placement(value):
        return None if type(value).__name__ == "UnspecifiedValue" else _text(value)
    if issubclass(kind, (tuple, list)) and kind.__module__.startswith("jax"):
        return [encode(item, role, body) for item in value]
    if _is_abstract(value):
        return aval_data(value)
    if isinstance(name, str) and kind.__module__.startswith("jaxlib") and hasattr(type_of(value), name):
        return name  # an enumeration of the compiled library
    return {"opaque": type_name(value)}


def _inner(role: str, field: object) -> str:
    return f"{role}.{field}" if role else str(field)


def _is_jaxpr(value: Any) -> bool:
    return isinstance(value, (lib.core.Jaxpr, lib.core.ClosedJaxpr))


def _as_dtype(value: Any) -> Optional[str]:
    np = lib.np
    if isinstance(value, np.dtype) or type(value).__name__ == "KeyTy":
        return dtype_name(value)
    if isinstance(value, type):
        return dtype_name(np.dtype(value)) if issubclass(value, np.generic) else None
    return dtype_name(np.dtype(value.dtype)) if type(value).__name__ == "_ScalarMeta" else None


def _is_placement(value: Any) -> bool:
    sharding = lib.jax.sharding
    known = (sharding.Sharding, sharding.Mesh, getattr(sharding, "AbstractMesh", sharding.Mesh))
    return isinstance(value, (*known, lib.jax.Device)) or type(value).__name__ == "UnspecifiedValue"


def _text(value: Any) -> Any:
    text = str(value)
    return {"opaque": type_name(value)} if _UNSTABLE.search(text) else text


def _is_abstract(value: Any) -> bool:
    return isinstance(value, lib.jax.core.AbstractValue)


def aval_data(aval: Any) -> Dict[str, Any]:
    """Shape, dtype and weak type of an abstract value; its type name where it has no shape."""
    shape: Any = getattr(aval, "shape", None)
    dtype: Any = getattr(aval, "dtype", None)
    if shape is None or dtype is None:
        return {"opaque": type_name(aval)}
    data: Dict[str, Any] = {"shape": [_dim(dim) for dim in shape], "dtype": dtype_name(dtype)}
    if getattr(aval, "weak_type", False):
        data["weakType"] = True
    return data


def _dim(dim: Any) -> Any:
    return int(dim) if isinstance(dim, (int, lib.np.integer)) else str(dim)


def _dictionary(value: Dict[Any, Any], role: str, body: Body) -> Dict[str, Any]:
    named: Dict[str, Any] = {}
    for key, item in value.items():
        name = key if isinstance(key, str) else repr(key) if type(key) in (int, bool, float) else type_name(key)
        while name in named:
            name += "'"
        named[name] = item
    return {name: encode(named[name], _inner(role, name), body) for name in sorted(named)}


def number(value: Any) -> Any:
    """A Python number as JSON: `nan`, `inf` and `-inf` as strings, complex as `[real, imaginary]`."""
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    value = float(value)
    return value if math.isfinite(value) else str(value)


def array(value: Any) -> Any:
    """An array that stands in the program: a scalar as number, a small one with values, others by shape and dtype."""
    data = aval_data(value)
    if not hasattr(value, "tolist") or not isinstance(value.dtype, lib.np.dtype) or value.size > SMALL:
        return data
    items = numbers(value)
    return items if value.ndim == 0 else {**data, "values": items}


def numbers(value: Any) -> Any:
    """The elements of a small array, nested as its shape is."""

    def nest(item: Any) -> Any:
        return [nest(part) for part in item] if isinstance(item, list) else number(_python(item))  # pyright: ignore[reportUnknownVariableType]

    return nest(lib.np.asarray(value).tolist())


def _python(item: Any) -> Any:
    if isinstance(item, (bool, int, float, complex)):
        return item
    return int(item) if hasattr(item, "__index__") else float(item)  # int4, bfloat16 and their like
