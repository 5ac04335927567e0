"""Values of a setup to Python values, with tensor tables turned into whatever a framework makes of them.

A table is a dictionary unless its `kind` is `tensor`, `tuple`, `dict`, `object`, `enum` or `none`. Tensor tables are
checked here (shape, limits) and handed to the framework as `TensorSpec`; no element of an array is computed. Classes of
objects and enumerations are those of the workspace.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple, cast

from tvls.capture.limits import Limits
from tvls.worker.job import SetupFault


@dataclass(frozen=True)
class TensorSpec:
    """A described array. `key` is its place in the setup, such as `inputs.args[0]`; no dimension is negative."""

    key: str
    shape: Tuple[int, ...]
    dtype: str
    requires_grad: bool
    generator: Mapping[str, Any]


@dataclass
class Budget:
    """Counts described arrays against the limits; one budget covers all values of one call."""

    limits: Limits
    arrays: int = 0
    elements: int = 0

    def take(self, shape: Sequence[int], key: str) -> None:
        """Count one array. Raises SetupFault (kind `limit`) where the call describes too many arrays or elements."""
        self.arrays += 1
        self.elements += math.prod(shape)
        if self.arrays > self.limits.input_arrays:
            message = f"the setup describes more than {self.limits.input_arrays:,} arrays"
            raise SetupFault("limit", message, key, "input_arrays")
        if self.elements > self.limits.input_elements:
            message = (
                f"the described arrays have {self.elements:,} elements or more in total; "
                f"the limit is {self.limits.input_elements:,}. An inputs factory has no such limit"
            )
            raise SetupFault("limit", message, key, "input_elements")


MakeTensor = Callable[[TensorSpec], object]
FindClass = Callable[[str, str], "type[Any]"]
"""The dataclass, named tuple or enumeration of the workspace that `module:qualname` names; the key is for its fault."""


@dataclass
class Making:
    """What the values of one call are made with."""

    budget: Budget
    tensor: MakeTensor
    find: FindClass


@dataclass
class Call:
    """Arguments of a call as Python values."""

    args: List[Any]
    kwargs: Dict[str, Any]


def build_call(described: Mapping[str, Any], key: str, making: Making) -> Call:
    """The call that `{"args": […], "kwargs": {…}}` describes; `key` is its place in the setup (`inputs` or `init`).

    Raises SetupFault with the key of the value at fault.
    """
    args: object = described.get("args", [])
    kwargs: object = described.get("kwargs", {})
    if not isinstance(args, (list, tuple)):
        raise SetupFault("setup", f"args must be a list, not {_kind_of(args)}", f"{key}.args")
    if not isinstance(kwargs, dict):
        raise SetupFault("setup", f"kwargs must be a table, not {_kind_of(kwargs)}", f"{key}.kwargs")
    items = cast("Sequence[object]", args)
    named = cast("Dict[str, object]", kwargs)
    return Call(
        [build(item, f"{key}.args[{index}]", making) for index, item in enumerate(items)],
        {name: build(item, f"{key}.kwargs.{name}", making) for name, item in named.items()},
    )


def build(value: object, key: str, making: Making) -> Any:
    """One setup value as a Python value. Raises SetupFault with the key at fault, and what a constructor raises."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return _items(cast("Sequence[object]", value), key, making)
    if not isinstance(value, dict):
        raise SetupFault("setup", f"a setup value cannot be {_kind_of(value)}", key)
    table = cast("Dict[str, object]", value)
    kind = table.get("kind")
    if kind == "tensor":
        spec = tensor_spec(table, key)
        making.budget.take(spec.shape, key)
        return making.tensor(spec)
    if kind == "none":
        return None
    if kind == "object":
        return _object(table, key, making)
    if kind == "enum":
        return _member(table, key, making)
    if kind in ("tuple", "dict"):
        _only(table, {"kind", "items"}, key)
        items = table.get("items", [] if kind == "tuple" else {})
        if kind == "tuple" and isinstance(items, (list, tuple)):
            return tuple(_items(cast("Sequence[object]", items), f"{key}.items", making))
        if kind == "dict" and isinstance(items, dict):
            return _table(cast("Dict[str, object]", items), f"{key}.items", making)
        wanted = "a list" if kind == "tuple" else "a table"
        raise SetupFault("setup", f"the items of a {kind} must be {wanted}, not {_kind_of(items)}", f"{key}.items")
    return _table(table, key, making)


def _object(table: Mapping[str, object], key: str, making: Making) -> Any:
    _only(table, {"kind", "class", "fields"}, key)
    found = making.find(_text(table, "class", key), f"{key}.class")
    fields = table.get("fields", {})
    if not isinstance(fields, dict):
        raise SetupFault("setup", f"the fields of an object must be a table, not {_kind_of(fields)}", f"{key}.fields")
    values = _table(cast("Dict[str, object]", fields), f"{key}.fields", making)
    try:
        return found(**values)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise  # from inside the constructor
        message = f"{found.__qualname__} cannot be made of these fields: {error}"
        raise SetupFault("setup", message, f"{key}.fields") from error


def _member(table: Mapping[str, object], key: str, making: Making) -> object:
    _only(table, {"kind", "class", "member"}, key)
    found = making.find(_text(table, "class", key), f"{key}.class")
    name = _text(table, "member", key)
    if not issubclass(found, enum.Enum):
        raise SetupFault("setup", f"{found.__qualname__} is no enumeration", f"{key}.class")
    members = cast("Mapping[str, object]", found.__members__)
    if name not in members:
        message = f"{found.__qualname__} has no member {name!r} (it has {', '.join(members) or 'none'})"
        raise SetupFault("setup", message, f"{key}.member")
    return members[name]


def _text(table: Mapping[str, object], name: str, key: str) -> str:
    value = table.get(name)
    if not isinstance(value, str):
        raise SetupFault("setup", f"the {table['kind']} needs {name!r}, a string", f"{key}.{name}")
    return value


def tensor_spec(table: Mapping[str, object], key: str) -> TensorSpec:
    """A checked tensor table. Raises SetupFault for a missing or malformed shape, dtype or flag."""
    _only(table, {"kind", "shape", "dtype", "requires_grad", "generator"}, key)
    for needed in ("shape", "dtype"):
        if needed not in table:
            raise SetupFault("setup", f"the tensor has no {needed}", f"{key}.{needed}")
    shape = table["shape"]
    if not isinstance(shape, (list, tuple)):
        raise SetupFault("setup", f"a shape must be a list of integers, not {_kind_of(shape)}", f"{key}.shape")
    dims: List[int] = []
    for index, dim in enumerate(cast("Sequence[object]", shape)):
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise SetupFault("setup", f"a dimension must be an integer, not {_kind_of(dim)}", f"{key}.shape[{index}]")
        if dim < 0:
            raise SetupFault("setup", f"a dimension must not be negative, but it is {dim}", f"{key}.shape[{index}]")
        dims.append(dim)
    dtype = table["dtype"]
    if not isinstance(dtype, str):
        raise SetupFault("setup", f"a dtype must be a string, not {_kind_of(dtype)}", f"{key}.dtype")
    requires_grad = table.get("requires_grad", False)
    if not isinstance(requires_grad, bool):
        message = f"requires_grad must be true or false, not {_kind_of(requires_grad)}"
        raise SetupFault("setup", message, f"{key}.requires_grad")
    generator = table.get("generator", {})
    if not isinstance(generator, dict):
        raise SetupFault("setup", f"a generator must be a table, not {_kind_of(generator)}", f"{key}.generator")
    return TensorSpec(key, tuple(dims), dtype, requires_grad, cast("Dict[str, Any]", generator))


def _items(items: Sequence[object], key: str, making: Making) -> List[Any]:
    return [build(item, f"{key}[{index}]", making) for index, item in enumerate(items)]


def _table(table: Mapping[str, object], key: str, making: Making) -> Dict[str, Any]:
    return {name: build(item, f"{key}.{name}", making) for name, item in table.items()}


def _only(table: Mapping[str, object], allowed: "set[str]", key: str) -> None:
    for name in table:
        if name not in allowed:
            raise SetupFault(
                "setup", f"unknown key; a {table['kind']} has {', '.join(sorted(allowed))}", f"{key}.{name}"
            )


_KINDS: Dict[type, str] = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "a table",
}


def _kind_of(value: object) -> str:
    return "nothing" if value is None else _KINDS.get(type(value), f"a {type(value).__name__}")
