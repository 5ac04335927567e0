"""Arguments and results of a call as structures: containers by their keys, never rebuilt."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, Callable, Dict, List, Set, Tuple

from tvls.worker.frameworks.torch.encode import static
from tvls.worker.frameworks.torch.tensors import is_tensor
from tvls.worker.job import type_of

Leaf = Callable[[Any, Tuple[str, ...]], Dict[str, Any]]
"""The entry of a tensor, from the tensor and its path in the structure."""


def outline(value: Any, leaf: Leaf, path: Tuple[str, ...] = ()) -> Dict[str, Any]:
    """The `Tree` of a value. A container that holds itself is named by its type there."""
    return _outline(value, leaf, path, set())


def _outline(value: Any, leaf: Leaf, path: Tuple[str, ...], around: Set[int]) -> Dict[str, Any]:
    if is_tensor(value):
        return leaf(value, path)
    found = children(value)
    if found is None or id(value) in around:
        return static(value)
    inside = around | {id(value)}
    if type(value) in (list, tuple):
        items = [_outline(child, leaf, (*path, key), inside) for key, child in found]
        return {"list" if type(value) is list else "tuple": items}
    entries: Dict[str, Any] = {}
    for key, child in found:
        while key in entries:  # 1 and "1" are two keys of one dictionary
            key += "'"
        entries[key] = _outline(child, leaf, (*path, key), inside)
    return {"dict": entries}


def children(value: Any) -> "List[Tuple[str, Any]] | None":
    """Keys and contents of a container: list, tuple, mapping or dataclass; None for anything else."""
    fields: Any = getattr(type_of(value), "_fields", None)
    if _is(value, tuple) and _is(fields, tuple):
        return [(str(name), item) for name, item in zip(fields, value, strict=False)]
    if _is(value, (list, tuple)) and not hasattr(value, "numel"):  # torch.Size is a tuple with one
        return [(str(index), item) for index, item in enumerate(value)]
    if _is(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    if dataclasses.is_dataclass(value) and not _is(value, type):
        held = [(field.name, _field(value, field.name)) for field in dataclasses.fields(value)]
        return [(name, item) for name, item in held if item is not _MISSING]
    return None


_MISSING = object()


def _field(value: Any, name: str) -> Any:
    """What a dataclass holds, in its dictionary or in a slot; a property of that name is not asked."""
    held: Dict[str, Any] = getattr(value, "__dict__", {})
    if name in held:
        return held[name]
    slot: Any = inspect.getattr_static(type_of(value), name, None)
    if not inspect.ismemberdescriptor(slot):
        return _MISSING
    try:
        return slot.__get__(value)
    except AttributeError:  # never set
        return _MISSING


def _is(value: Any, kinds: Any) -> bool:
    return isinstance(value, kinds)


_DEEPEST = 64
_ATOMS = (str, bytes, bool, int, float, complex, type(None))


def tensors_in(value: Any, found: List[Any], depth: int = 0) -> None:
    """Append the tensors of a structure to `found`, in order."""
    if is_tensor(value):
        found.append(value)
    elif _is(value, slice):
        found += [part for part in (value.start, value.stop, value.step) if is_tensor(part)]
    elif not _is(value, _ATOMS) and depth < _DEEPEST:
        for _, item in children(value) or ():
            tensors_in(item, found, depth + 1)
