"""The call to trace: its arguments from the setup, flattened into abstract arrays and static values."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, cast

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import abstract, described, is_array, placement
from tvls.worker.frameworks.jax.trees import outline, static
from tvls.worker.job import Job, SetupFault
from tvls.worker.values import Budget, Call, build_call

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


def read_call(job: Job, target: object) -> Call:
    """The saved inputs as Python values with abstract arrays. Raises SetupFault (`inputs`, `dtype`, `limit`)."""
    saved: Dict[str, Any] = job.setup.get("inputs") or {}
    if "factory" not in saved:
        return build_call(saved, "inputs", Budget(job.limits), described)
    made = job.load_factory(saved["factory"])
    if not isinstance(made, Mapping):
        message = f"an inputs factory returns a mapping of named inputs or args and kwargs, not {lib.type_name(made)}"
        raise SetupFault("inputs", message, "inputs.factory")
    return _positional_first(_factory_call(cast("Mapping[Any, Any]", made)), target)


def _factory_call(made: Mapping[Any, Any]) -> Call:
    if made and set(made) <= {"args", "kwargs"}:
        args, kwargs = made.get("args", ()), made.get("kwargs", {})
        if isinstance(args, (list, tuple)) and isinstance(kwargs, Mapping):
            return Call(list(cast("Sequence[Any]", args)), dict(cast("Mapping[str, Any]", kwargs)))
        if "args" in made and "kwargs" in made:
            raise SetupFault("inputs", "args must be a list or tuple, and kwargs a mapping", "inputs.factory")
    wrong = [key for key in made if not isinstance(key, str)]
    if wrong:
        message = f"the names of inputs are strings, but the factory returned {lib.type_name(wrong[0])}"
        raise SetupFault("inputs", message, "inputs.factory")
    return Call([], dict(made))


def _positional_first(call: Call, target: object) -> Call:
    """Named inputs of positional-only parameters become positional, as only that can reach them."""
    if call.args:
        return call
    kwargs = dict(call.kwargs)
    args: List[Any] = []
    for parameter in _parameters(target):
        if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY or parameter.name not in kwargs:
            break
        args.append(kwargs.pop(parameter.name))
    return Call(args, kwargs)


def _parameters(target: object) -> List[inspect.Parameter]:
    try:
        return list(inspect.signature(cast("Callable[..., Any]", target)).parameters.values())
    except (TypeError, ValueError):  # not every callable has a signature
        return []


def arguments(call: Call, target: object, is_leaf: Optional[IsLeaf] = None) -> Arguments:
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

    names = _argument_names(target, len(call.args))
    args = [
        outline(item, describe(f"inputs.args[{index}]", names[index]), (), is_leaf)
        for index, item in enumerate(call.args)
    ]
    # JAX flattens dictionaries in order of their keys, and the leaves here have to follow
    kwargs = {
        name: outline(call.kwargs[name], describe(f"inputs.kwargs.{name}", name), (), is_leaf)
        for name in sorted(call.kwargs)
    }
    return Arguments(flat, leaves, {"args": args, "kwargs": kwargs}, statics, flat_names, names)


def _argument_names(target: object, count: int) -> List[str]:
    names: List[str] = []
    for parameter in _parameters(target):
        if len(names) == count:
            break
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{index}]" for index in range(count - len(names))]
    return names + [f"args[{index}]" for index in range(len(names), count)]
