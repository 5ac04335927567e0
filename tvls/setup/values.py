"""Arguments of a setup: checked, and brought to the one form that the worker and the digest see."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, cast

from tvls.setup.dtypes import DType, resolve_dtype
from tvls.setup.findings import Finding, describe, did_you_mean, is_error, unknown_keys
from tvls.setup.keys import Key
from tvls.setup.names import name_hint, split_name
from tvls.setup.placeholders import ask, is_open, is_open_shape
from tvls.setup.schema import ASK, DEFAULT_GENERATOR, DICT, ENUM, GENERATORS, NONE, OBJECT, TENSOR, TUPLE, VALUE_KINDS

NOT_FILLED_IN: Final = 'this is not filled in yet; replace it by a value, such as 3, true, "text" or an array'

_DEPTH: Final = 64
_INT64: Final = (-(2**63), 2**63 - 1)


def check_value(value: Any, at: Key, found: list[Finding], depth: int = 0) -> Any:
    """The canonical form of one argument; what is wrong with it is added to `found`.

    Canonical: a table whose `kind` is not special stays a dictionary; a tensor has its full dtype name, `requires_grad`
    and a generator with all of its parameters. A tensor keeps lacking the `shape` or `dtype` that nobody stated: that
    is a question to the user, not a mistake, and so are the placeholders. JSON's null counts as `{"kind": "none"}`.
    """
    if depth > _DEPTH:
        found.append(Finding(at, f"nested more than {_DEPTH} levels deep"))
        return None
    match value:
        case None:
            return {"kind": "none"}
        case bool() | str():
            return value
        case int():
            if not _INT64[0] <= value <= _INT64[1]:
                found.append(Finding(at, "an integer must fit 64 bits"))
            return value
        case float():
            if not math.isfinite(value):
                found.append(Finding(at, f"{value} cannot be saved in a setup; return it from a factory instead"))
            return value
        case list():
            return [
                check_value(item, (*at, index), found, depth + 1) for index, item in enumerate(cast("list[Any]", value))
            ]
        case dict():
            return _check_table(cast("dict[str, Any]", value), at, found, depth)
        case _:
            found.append(
                Finding(at, f"{describe(value)} is no argument; write it as a string, or make it in a factory")
            )
            return None


def check_values(table: dict[str, Any], at: Key, found: list[Finding], depth: int = 0) -> dict[str, Any]:
    return {name: check_value(value, (*at, name), found, depth + 1) for name, value in table.items()}


def _check_table(table: dict[str, Any], at: Key, found: list[Finding], depth: int) -> Any:
    if "kind" not in table:
        if "shape" in table and "dtype" in table:
            message = 'a table without kind = "tensor" is a dictionary, although this looks like a tensor'
            found.append(Finding(at, message, "warning", "key"))
        return check_values(table, at, found, depth)
    match table["kind"]:
        case "tensor":
            return _check_tensor(table, at, found)
        case "tuple":
            found += unknown_keys(table, TUPLE.keys, at, TUPLE.what)
            items = table.get("items", [])
            if not isinstance(items, list):
                found.append(Finding((*at, "items"), f"items of a tuple are a list, not {describe(items)}"))
                return None
            return {"kind": "tuple", "items": check_value(items, (*at, "items"), found, depth + 1)}
        case "dict":
            found += unknown_keys(table, DICT.keys, at, DICT.what)
            inner = _check_inner(table, "items", "a dict", at, found, depth)
            # Only a dictionary that has the key `kind` needs this spelling; the digest should not tell the two apart.
            return {"kind": "dict", "items": inner} if inner is not None and "kind" in inner else inner
        case "object":
            found += unknown_keys(table, OBJECT.keys, at, OBJECT.what)
            inner = _check_inner(table, "fields", "an object", at, found, depth)
            if inner is None:
                return None
            return {"kind": "object", "class": _check_class(table, at, found), "fields": inner}
        case "enum":
            found += unknown_keys(table, ENUM.keys, at, ENUM.what)
            member = table.get("member")
            if not isinstance(member, str):
                place = (*at, "member") if "member" in table else at
                found.append(Finding(place, f"a member is named by a string, not {describe(member)}"))
            return {"kind": "enum", "class": _check_class(table, at, found), "member": member}
        case "none":
            found += unknown_keys(table, NONE.keys, at, NONE.what)
            return {"kind": "none"}
        case "ask":
            found += unknown_keys(table, ASK.keys, at, ASK.what)
            found.append(Finding(at, NOT_FILLED_IN, "warning"))
            return ask()
        case kind:
            hint = did_you_mean(kind, VALUE_KINDS) if isinstance(kind, str) else ""
            spelling = '{ kind = "dict", items = { kind = … } }'
            found.append(
                Finding(
                    (*at, "kind"),
                    f"kind is one of {', '.join(VALUE_KINDS)}, not {describe(kind)}"
                    f"{hint or f'; a dictionary with a key of that name is written {spelling}'}",
                )
            )
            return None


def _check_inner(
    table: dict[str, Any], key: str, of: str, at: Key, found: list[Finding], depth: int
) -> dict[str, Any] | None:
    """The table of values at a key of one; None for what is no table."""
    inner = table.get(key, {})
    if not isinstance(inner, dict):
        found.append(Finding((*at, key), f"{key} of {of} are a table, not {describe(inner)}"))
        return None
    return check_values(cast("dict[str, Any]", inner), (*at, key), found, depth + 1)


def _check_class(table: dict[str, Any], at: Key, found: list[Finding]) -> Any:
    name = table.get("class")
    if split_name(name) is None:
        place = (*at, "class") if "class" in table else at
        found.append(Finding(place, f"a class is 'module:name', not {describe(name)}{name_hint(name)}"))
    return name


def _check_tensor(table: dict[str, Any], at: Key, found: list[Finding]) -> dict[str, Any]:
    found += unknown_keys(table, TENSOR.keys, at, TENSOR.what)
    tensor: dict[str, Any] = {"kind": "tensor"}
    if "shape" in table:
        tensor["shape"] = _check_shape(table["shape"], (*at, "shape"), found)
    dtype = None
    if is_open(table.get("dtype")):
        found.append(Finding((*at, "dtype"), "the dtype is not filled in yet; 'float32' would be one", "warning"))
        tensor["dtype"] = table["dtype"]
    elif "dtype" in table:
        dtype = _check_dtype(table["dtype"], (*at, "dtype"), found)
        tensor["dtype"] = dtype.name if dtype else None
    grad = table.get("requires_grad", False)
    if not isinstance(grad, bool):
        found.append(Finding((*at, "requires_grad"), f"requires_grad is true or false, not {describe(grad)}"))
    tensor["requires_grad"] = grad
    if dtype and dtype.family == "key":
        if "generator" in table:
            found.append(Finding((*at, "generator"), "typed PRNG keys are made from the profile's seed, not generated"))
    else:
        place = (*at, "generator")
        generator = _check_generator(table.get("generator", DEFAULT_GENERATOR), dtype, place, found)
        tensor["generator"] = generator
        shape = tensor.get("shape")
        sound = not is_error(found) and not is_open_shape(shape)
        if sound and dtype and (fault := _arange_fault(generator, dtype, shape)):
            found.append(Finding(place, fault))
    return tensor


def _check_shape(shape: Any, at: Key, found: list[Finding]) -> Any:
    if is_open(shape):
        found.append(Finding(at, "the shape is not filled in yet; state every dimension, such as [2, 3]", "warning"))
        return shape
    if not isinstance(shape, list):
        found.append(Finding(at, f"a shape is a list of dimensions such as [2, 3], not {describe(shape)}"))
        return []
    dims = cast("list[Any]", shape)
    for index, dim in enumerate(dims):
        if is_open(dim):
            what = "a dimension" if dim == "?" else f"the dimension {dim[1:]!r}"
            found.append(Finding((*at, index), f"{what} is not filled in yet; replace it by a whole number", "warning"))
        elif isinstance(dim, bool) or not isinstance(dim, int):
            hint = ": every dimension has to be stated" if isinstance(dim, str) else ""
            found.append(Finding((*at, index), f"a dimension is a whole number, not {describe(dim)}{hint}"))
        elif not 0 <= dim <= _INT64[1]:
            found.append(
                Finding((*at, index), f"a dimension is 0 or more, not {dim}: every dimension has to be stated")
            )
    return dims


def _check_dtype(dtype: Any, at: Key, found: list[Finding]) -> DType | None:
    if not isinstance(dtype, str):
        found.append(Finding(at, f"a dtype is a name such as 'float32', not {describe(dtype)}"))
        return None
    try:
        return resolve_dtype(dtype)
    except ValueError as error:
        found.append(Finding(at, str(error)))
        return None


def _check_generator(generator: Any, dtype: DType | None, at: Key, found: list[Finding]) -> dict[str, Any]:
    if not isinstance(generator, dict):
        found.append(
            Finding(at, f'a generator is a table such as {{ kind = "full", value = 1 }}, not {describe(generator)}')
        )
        return {}
    table = cast("dict[str, Any]", generator)
    kind = table.get("kind")
    known = GENERATORS.get(kind) if isinstance(kind, str) else None
    if known is None:
        hint = did_you_mean(kind, GENERATORS) if isinstance(kind, str) else ""
        found.append(
            Finding((*at, "kind"), f"a generator's kind is one of {', '.join(GENERATORS)}, not {describe(kind)}{hint}")
            if "kind" in table
            else Finding(at, f"a generator needs its kind: one of {', '.join(GENERATORS)}", on="key")
        )
        return {}
    found += unknown_keys(table, ("kind", *known.parameters), at, f"a generator of kind {kind!r}")
    result: dict[str, Any] = {"kind": kind}
    for name, parameter in known.parameters.items():
        if name not in table and parameter.default is None:
            found.append(Finding(at, f"a generator of kind {kind!r} needs {name!r}", on="key"))
            continue
        number = table.get(name, parameter.default)
        result[name] = number
        if (fault := _number_fault(number, dtype, str(kind), name)) is not None:
            found.append(Finding((*at, name), f"{name} {fault}"))
    if dtype is not None and (fault := _family_fault(str(kind), dtype)) is not None:
        found.append(Finding((*at, "kind"), fault))
    elif kind in {"uniform", "randint"} and _is_empty_range(result):
        found.append(Finding((*at, "high"), f"high must be above low, which is {result['low']}"))
    elif kind == "normal" and _is_number(result["std"]) and result["std"] < 0:
        found.append(Finding((*at, "std"), "std is a standard deviation and cannot be negative"))
    elif kind == "bernoulli" and _is_number(result["p"]) and not 0 <= result["p"] <= 1:
        found.append(Finding((*at, "p"), f"p is a probability from 0 to 1, not {result['p']}"))
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_empty_range(generator: dict[str, Any]) -> bool:
    low, high = generator.get("low"), generator.get("high")
    if not (_is_number(low) and _is_number(high)):
        return False
    empty: Callable[[Any, Any], bool] = (
        (lambda a, b: a >= b) if generator["kind"] == "randint" else (lambda a, b: a > b)
    )
    return empty(low, high)


def _number_fault(value: Any, dtype: DType | None, kind: str, name: str) -> str | None:
    """Why `value` cannot be used for a tensor of `dtype` as it is: nothing is rounded, wrapped or cut silently."""
    if isinstance(value, bool) and kind != "full":
        return f"is a number, not {describe(value)}"
    if not isinstance(value, (int, float)):
        return f"is a number, not {describe(value)}"
    if not math.isfinite(value):
        return f"must be finite, not {value}; make such a tensor in a factory"
    if isinstance(value, int) and not _INT64[0] <= value <= _INT64[1]:
        return "must fit 64 bits"
    if dtype is None or dtype.low is None or dtype.high is None or kind == "bernoulli":
        return None
    if dtype.family not in {"float", "complex"} and isinstance(value, float) and not value.is_integer():
        return f"is {value}, which {dtype.name} cannot hold"
    if name in {"step", "std"}:  # a difference, not an element
        return None
    high = dtype.high + (kind == "randint" and name == "high")  # an exclusive bound
    return None if dtype.low <= value <= high else f"is {value}, outside {_range(dtype)}"


def _range(dtype: DType) -> str:
    low, high = (f"{bound:.8g}" if isinstance(bound, float) else str(bound) for bound in (dtype.low, dtype.high))
    return f"{dtype.name}'s {low}…{high}"


def _arange_fault(generator: dict[str, Any], dtype: DType, shape: list[int] | None) -> str | None:
    if generator["kind"] != "arange" or dtype.low is None or dtype.high is None or not shape:
        return None
    last = generator["start"] + generator["step"] * max(math.prod(shape) - 1, 0)
    return None if dtype.low <= last <= dtype.high else f"'arange' ends at {last}, which {dtype.name} cannot hold"


_ALIKE: Final = {"bool": "bernoulli", "int": "randint", "uint": "randint", "float": "uniform", "complex": "uniform"}


def _family_fault(kind: str, dtype: DType) -> str | None:
    """Why a generator makes nothing that a type holds; what takes its place where it draws."""
    if dtype.low is not None and dtype.low > 0 and kind in {"zeros", "normal"}:
        return f"{kind!r} makes numbers that {dtype.name} does not have: it has no 0 and nothing negative"
    if dtype.family in GENERATORS[kind].families:
        return None
    if kind == "arange":
        return f"'arange' counts, which {dtype.name} cannot hold"
    return f"{kind!r} draws no values of {dtype.name}; {_ALIKE[dtype.family]!r} does"
