"""The call to trace: its arguments from the setup, flattened into abstract arrays and static values."""

from __future__ import annotations

import functools
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


@dataclass
class Given(Call):
    """The call of a target. `places` tells where in the setup each positional argument stands."""

    places: List[str]


def read_call(job: Job, target: object) -> Given:
    """The saved inputs as Python values with abstract arrays, named ones in the position that the target needs them in.

    Raises SetupFault (`inputs`, `dtype`, `limit`).
    """
    saved: Dict[str, Any] = job.setup.get("inputs") or {}
    if "factory" in saved:
        return _bound(_factory_call(job.load_factory(saved["factory"]), target), target)
    return _bound(build_call(saved, "inputs", Budget(job.limits), described), target)


_FORMS = 'return {"args": (x, y), "kwargs": {"flag": True}}, or a mapping of named inputs such as {"x": x, "y": y}'


def _factory_call(made: object, target: object) -> Call:
    if not isinstance(made, Mapping):
        message = f"an inputs factory returns a mapping of named inputs or of args and kwargs, not {_type(made)}"
        raise SetupFault("inputs", message, "inputs.factory", hint=_FORMS)
    items = dict(cast("Mapping[Any, Any]", made))
    own = {parameter.name for parameter in _parameters(target) if parameter.kind not in _VARIADIC}
    reserved = {"args", "kwargs"} & set(items)
    if reserved:
        problem = _malformed(items)
        if problem is None:
            return Call(list(items.get("args", ())), dict(items.get("kwargs", {})))
        if not reserved <= own:  # and they are not names of the function's own parameters
            raise SetupFault("inputs", problem, "inputs.factory", hint=_FORMS)
    wrong = [key for key in items if not isinstance(key, str)]
    if wrong:
        message = f"the names of inputs are strings, but the factory returned {lib.type_name(wrong[0])}"
        raise SetupFault("inputs", message, "inputs.factory", hint=_FORMS)
    return Call([], items)


def _type(value: object) -> str:
    return lib.type_name(value).replace("builtins.", "")


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _malformed(items: Dict[Any, Any]) -> Optional[str]:
    """What keeps a mapping with `args` or `kwargs` in it from being the arguments of a call, or None."""
    more = [key for key in items if key not in ("args", "kwargs")]
    if more:
        return f"the inputs factory returned {more[0]!r} beside {' and '.join(key for key in items if key not in more)}"
    args, kwargs = items.get("args", ()), items.get("kwargs", {})
    if not isinstance(args, (list, tuple)):
        return f"the args that the inputs factory returned must be a list or tuple, not {_type(args)}"
    if not isinstance(kwargs, Mapping):
        return f"the kwargs that the inputs factory returned must be a mapping, not {_type(kwargs)}"
    wrong: List[Any] = [key for key in cast("Mapping[Any, Any]", kwargs) if not isinstance(key, str)]
    return (
        f"the names of kwargs are strings, but the inputs factory returned {lib.type_name(wrong[0])}" if wrong else None
    )


def _bound(call: Call, target: object) -> Given:
    """Named inputs of positional-only parameters become positional, as only that can reach them.

    So do those of a transformed function: `jax.vmap` and `jax.grad` count positions, and map or refuse what has a name.
    """
    only = _moved(call, target, (inspect.Parameter.POSITIONAL_ONLY,))
    if not _is_transformed(target):
        return only
    both = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    moved = _moved(call, target, both)
    return moved if _takes(target, moved) else only


def _moved(call: Call, target: object, kinds: Tuple[Any, ...]) -> Given:
    args, kwargs = list(call.args), dict(call.kwargs)
    places = [f"inputs.args[{index}]" for index in range(len(args))]
    for parameter in _parameters(target)[len(args) :]:
        if parameter.kind not in kinds or parameter.name not in kwargs:
            break
        args.append(kwargs.pop(parameter.name))
        places.append(f"inputs.kwargs.{parameter.name}")
    return Given(args, kwargs, places)


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
        elif lib.class_of(layer).__name__ == "PjitFunction" or getattr(layer, "method_handler_wrapped", False):
            layer = layer.__wrapped__  # jit and the methods of Linen leave names as they are
        else:
            return True
    return False


_DEEPEST = 64


def _takes(target: object, call: Call) -> bool:
    """Whether the outermost wrapper, whatever it is around, has parameters for these arguments."""
    try:
        signature = inspect.signature(cast("Callable[..., Any]", target), follow_wrapped=False)
    except (TypeError, ValueError):  # not every callable has a signature
        return True
    try:
        signature.bind(*call.args, **call.kwargs)
    except TypeError:
        return False
    return True


def _parameters(target: object) -> List[inspect.Parameter]:
    try:
        return list(inspect.signature(cast("Callable[..., Any]", target)).parameters.values())
    except (TypeError, ValueError):  # not every callable has a signature
        return []


def arguments(call: Given, target: object, is_leaf: Optional[IsLeaf] = None) -> Arguments:
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
        outline(item, describe(place, name), (), is_leaf)
        for item, place, name in zip(call.args, call.places, names, strict=True)
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
