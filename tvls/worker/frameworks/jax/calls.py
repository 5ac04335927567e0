"""The call to trace: its arguments from the setup, flattened into abstract arrays and static values."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, cast

from tvls.worker import calls
from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import abstract, described, is_array, placement
from tvls.worker.frameworks.jax.trees import outline, static
from tvls.worker.job import Job, type_of

IsLeaf = Callable[[Any], bool]


@dataclass
class Leaf:
    """One array that is traced. A `lazy` one is left out of the document where no equation reads it."""

    array: Any
    role: str
    name: str
    lazy: bool = False
    placement: Optional[str] = None
    collection: Optional[str] = None


@dataclass
class Flat:
    """A PyTree taken apart: its arrays go through the trace, everything else stays as it is."""

    treedef: Any
    items: List[Any]
    traced: List[int]
    """Positions in `items` that are arrays, in order."""

    def rebuild(self, arrays: Sequence[Any]) -> Any:
        """The PyTree with `arrays` in place of its own."""
        items = list(self.items)
        for position, array in zip(self.traced, arrays, strict=True):
            items[position] = array
        return lib.jax.tree_util.tree_unflatten(self.treedef, items)

    def structs(self, key: str) -> List[Any]:
        """Abstract arrays of what is traced. Raises SetupFault where JAX would narrow one."""
        return [abstract(self.items[position], key) for position in self.traced]


def flatten(tree: Any, is_leaf: Optional[IsLeaf] = None) -> Flat:
    """Take a PyTree apart."""
    items, treedef = lib.jax.tree_util.tree_flatten(tree, is_leaf=is_leaf)
    return Flat(treedef, items, [position for position, item in enumerate(items) if is_array(item)])


@dataclass
class Arguments:
    """Flattened arguments with their description for the document, where `{"value": n}` means the n-th of `leaves`."""

    flat: Flat
    leaves: List[Leaf]
    inputs: Dict[str, Any]
    static: Dict[str, Any] = field(default_factory=lambda: {})  # noqa: PIE807
    names: List[str] = field(default_factory=lambda: [])  # noqa: PIE807
    """Name of every item of `flat`: the parameter, with the path into a container."""
    heads: List[str] = field(default_factory=lambda: [])  # noqa: PIE807
    """Name of every positional argument."""


def read_call(job: Job, target: object) -> calls.Given:
    """The saved inputs as Python values with abstract arrays, named ones in the position that the target needs them in.

    Those of a transformed function are positional: `jax.vmap` and `jax.grad` count positions, and map or refuse what
    has a name. Raises SetupFault (`inputs`, `dtype`, `limit`).
    """
    return calls.read_call(job, target, described, _is_transformed(target))


def _is_transformed(target: object) -> bool:
    """Whether a callable is a wrapper around a function whose parameters it may treat in its own way."""
    layer: Any = target
    for _ in range(_DEEPEST):
        if isinstance(layer, functools.partial):
            layer = cast("functools.partial[Any]", layer).func
        elif inspect.ismethod(layer):
            layer = layer.__func__
        elif getattr(layer, "__wrapped__", None) is None:
            break
        elif type_of(layer).__name__ == "PjitFunction" or getattr(layer, "method_handler_wrapped", False):
            layer = layer.__wrapped__  # jit and the methods of Linen leave names as they are
        else:
            return True
    return False


_DEEPEST = 64


def arguments(call: calls.Given, target: object, is_leaf: Optional[IsLeaf] = None) -> Arguments:
    """Flatten a call. Names of inputs are those of the parameters of `target`, with the path into a container.

    What `is_leaf` finds stands in the description as `{"object": n}`, the n-th of all leaves.
    """
    flat = flatten((tuple(call.args), call.kwargs), is_leaf)
    leaves: List[Leaf] = []
    statics: Dict[str, Any] = {}
    flat_names: List[str] = []

    def describe(key: str, name: str) -> Callable[[Any, Tuple[str, ...]], Dict[str, Any]]:
        def leaf(item: Any, path: Tuple[str, ...]) -> Dict[str, Any]:
            flat_names.append("/".join((name, *path)))
            place = "".join([key, *(f"[{part}]" if part.isdecimal() else f".{part}" for part in path)])
            if is_array(item):
                leaves.append(Leaf(abstract(item, place), "input", flat_names[-1], placement=placement(item)))
                return {"value": len(leaves) - 1}
            if is_leaf is not None and is_leaf(item):  # an object with state, which is not static
                return {"object": len(flat_names) - 1}
            entry = static(item)
            statics[place.replace("inputs.", "", 1)] = entry.get("static", entry if "opaque" in entry else None)
            return entry

        return leaf

    names = calls.argument_names(target, len(call.args))
    args = [
        outline(item, describe(place, name), (), is_leaf)
        for item, place, name in zip(call.args, call.places, names, strict=True)
    ]
    # JAX flattens dictionaries in order of their keys, and the leaves here have to follow
    kwargs = {
        name: outline(call.kwargs[name], describe(f"inputs.kwargs.{name}", name), (), is_leaf)
        for name in sorted(call.kwargs)
    }
    return Arguments(flat, leaves, {"args": args, "kwargs": kwargs}, statics, flat_names, names)
