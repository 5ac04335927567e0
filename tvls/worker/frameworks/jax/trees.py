"""PyTrees as data: containers by their registered child keys, never rebuilt with placeholder leaves."""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import Any, Callable, Dict, List, Optional, Tuple

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import is_array
from tvls.worker.job import type_name, type_of

_NNX_OWN = "_pytree__state"
"""Key of what NNX itself keeps in an object."""
Leaf = Callable[[Any, Tuple[str, ...]], Dict[str, Any]]


def children(value: Any, is_leaf: Optional[Callable[[Any], bool]] = None) -> Optional[List[Tuple[Any, Any]]]:
    """Direct children of a registered container with their keys, in flattening order; None for a leaf."""
    if is_leaf is not None and is_leaf(value):
        return None
    if type(value) is dict and not _sortable(value):  # pyright: ignore[reportUnknownArgumentType]
        return [(lib.jax.tree_util.DictKey(key), child) for key, child in value.items()]  # pyright: ignore[reportUnknownVariableType]
    pairs: Any = lib.jax.tree_util.tree_flatten_with_path(value, is_leaf=_not(value))[0]
    if len(pairs) == 1 and not pairs[0][0]:
        return None
    return [(path[0], child) for path, child in pairs]


def is_variable(value: object) -> bool:
    """Whether a value is an NNX variable, or what stands for one in the state of an object before Flax 0.12."""
    if lib.nnx is None:
        return False
    return isinstance(value, lib.nnx.Variable) or type_of(value).__name__ == "VariableState"


def _sortable(value: Dict[Any, Any]) -> bool:
    """Whether JAX can flatten a dictionary, which it does in order of the keys."""
    try:
        sorted(value)
    except TypeError:
        return False
    return True


def _not(value: Any) -> Callable[[Any], bool]:
    return lambda node: node is not value


def key_text(key: Any) -> str:
    """A key of a PyTree path as text: a dictionary key, position or attribute name."""
    for field in ("key", "idx", "name"):
        found: Any = getattr(key, field, None)
        if found is None:
            continue
        if isinstance(found, str):
            return found
        return repr(found) if _plain(found) else type_name(found)
    return type_name(key)


def _plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_plain(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return value is None or type(value) in (bool, int, float, str)


def outline(
    value: Any, leaf: Leaf, path: Tuple[str, ...] = (), is_leaf: Optional[Callable[[Any], bool]] = None
) -> Dict[str, Any]:
    """The `Tree` of a value; `leaf` makes the entry of every leaf and is called in flattening order."""
    if value is None:
        return {"static": None}
    found = children(value, is_leaf)
    if found is None:
        return leaf(value, path)
    if is_variable(value) and len(found) == 1:
        return outline(found[0][1], leaf, path, is_leaf)  # its array, as in an object that is an input
    if type(value) in (list, tuple):
        items = [outline(child, leaf, (*path, str(index)), is_leaf) for index, (_, child) in enumerate(found)]
        return {"list" if type(value) is list else "tuple": items}
    entries: Dict[str, Any] = {}
    for key, child in found:
        name = key_text(key)
        if name == _NNX_OWN and not lib.jax.tree_util.tree_leaves(child):
            continue
        while name in entries:  # 1 and "1" are two keys of one dictionary
            name += "'"
        entries[name] = outline(child, leaf, (*path, name), is_leaf)
    return {"dict": entries}


def static(value: Any) -> Dict[str, Any]:
    """Entry of a value that is not traced: plain data as it is, anything else by its type."""
    if value is None or type(value) in (bool, int, str):
        return {"static": value}
    if type(value) is float:
        return {"static": value if math.isfinite(value) else str(value)}
    if type(value) is complex:
        return {"static": [static(value.real)["static"], static(value.imag)["static"]]}
    if isinstance(value, enum.Enum):
        return {"static": f"{type(value).__name__}.{value.name}"}
    return {"opaque": type_name(value)}


def outputs(value: Any, arrays: List[Any]) -> Dict[str, Any]:
    """The `Tree` of what a call returned, with `{"value": n}` for the n-th array, which is appended to `arrays`.

    Arrays in fields of a dataclass that JAX does not know are found too. Strings and objects are named by type.
    """

    def leaf(item: Any, path: Tuple[str, ...]) -> Dict[str, Any]:
        if is_array(item) and not isinstance(item, lib.jax.ShapeDtypeStruct):
            arrays.append(item)
            return {"value": len(arrays) - 1}
        if dataclasses.is_dataclass(item) and not isinstance(item, type) and path.count("…") == 0:
            held: Dict[str, Any] = getattr(item, "__dict__", {})
            fields = [field.name for field in dataclasses.fields(item) if field.name in held]
            found = {name: outline(held[name], leaf, (*path, "…")) for name in fields}
            if _has_value(found):
                return {"dict": found}
        return {"opaque": type_name(item)} if isinstance(item, str) else static(item)

    return outline(value, leaf)


def _has_value(trees: Dict[str, Any]) -> bool:
    for tree in trees.values():
        if "value" in tree:
            return True
        nested: Any = tree.get("dict") or dict(enumerate(tree.get("list") or tree.get("tuple") or ()))
        if _has_value(nested):
            return True
    return False


def resolve(
    tree: Dict[str, Any],
    leaf: Callable[[int], Dict[str, Any]],
    held: Optional[Callable[[int], Dict[str, Any]]] = None,
) -> Dict[str, Any]:
    """The tree with every `{"value": n}` replaced by `leaf(n)`, and every `{"object": n}` by `held(n)`."""
    if "value" in tree:
        return leaf(tree["value"])
    if "object" in tree and held is not None:
        return held(tree["object"])
    for name in ("list", "tuple"):
        if name in tree:
            return {name: [resolve(item, leaf, held) for item in tree[name]]}
    if "dict" in tree:
        return {"dict": {key: resolve(item, leaf, held) for key, item in tree["dict"].items()}}
    return tree
