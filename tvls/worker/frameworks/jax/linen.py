"""Linen: abstract initialisation, then `apply` with the random streams and mutable collections that it asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple, TypeVar, cast

from tvls.worker.classes import class_of
from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import abstract, placement
from tvls.worker.frameworks.jax.calls import Arguments, Flat, Leaf, arguments, flatten, read_call
from tvls.worker.frameworks.jax.failures import naming
from tvls.worker.frameworks.jax.generators import generator
from tvls.worker.frameworks.jax.internals import checked_by_shape, drawn_by_shape, recorded_streams
from tvls.worker.frameworks.jax.modules import Modules, recorded_modules
from tvls.worker.frameworks.jax.tracing import Axes, Plan, Traced, axis_notes, trace, with_axes
from tvls.worker.frameworks.jax.trees import children, key_text, resolve
from tvls.worker.job import Job, SetupFault, type_name
from tvls.worker.values import Budget, Making, build_call

T = TypeVar("T")


@dataclass
class Needs:
    """What a call has asked for so far: random streams, and collections that it writes.

    A trace is given no other streams, as a model may ask which there are, and takes another way if there is one.
    """

    streams: Set[str] = field(default_factory=lambda: set())
    mutable: Set[str] = field(default_factory=lambda: set())


def traced(job: Job) -> Traced:
    """Trace `__call__` of a Linen module, or the method that the target names.

    Raises SetupFault, or what the module raises.
    """
    if lib.linen is None:
        raise SetupFault("setup", "Flax is not installed in the capture environment")
    notes: List[str] = []
    modules = Modules()
    needs = Needs()
    with job.phase("init"):
        model = _build(job)
        bound: Any = None
        if model.scope is not None:
            scope = model.scope
            model, bound = model.unbind()
            needs.streams |= set(scope.rngs)
            needs.mutable |= _collections(scope.mutable, bound)
    with job.phase("inputs"):
        called = model if job.method is None else getattr(model, job.method)
        given = arguments(read_call(job, called), called)
    if bound is None:
        with job.phase("init"), recorded_modules(modules):
            bound, axes = _initialise(job, model, given, needs)
        notes += axis_notes(axes)
        notes.append("freshly_initialised")
    variables = flatten(bound)
    states = _state_leaves(bound, variables)
    with job.phase("trace"), recorded_modules(modules), checked_by_shape():

        def attempt() -> Traced:
            return trace(_plan(job, model, variables, states, given, needs, notes, modules), job.limits)

        return _satisfied(needs, attempt, writes=True)


def _build(job: Job) -> Any:
    saved: Dict[str, Any] = job.setup.get("init") or {}
    target = cast("type[Any]", class_of(job.maker))
    if "factory" in saved:
        model = job.load_factory(saved["factory"])
        if type(model) is not target:
            wanted = job.name if job.maker is target else f"{target.__qualname__}, which {job.name} makes,"
            message = (
                f"the init factory must return {wanted} itself, bound with model.bind(variables), "
                f"not {type_name(model)}"
            )
            raise SetupFault("init", message, "init.factory")
        return model
    making = Making(Budget(job.limits), generator(int(job.setup.get("seed", 0))), job.find_class)
    call = build_call(saved, "init", making)
    return job.maker(*call.args, **call.kwargs)


def _initialise(job: Job, model: Any, given: Arguments, later: Needs) -> Tuple[Any, Axes]:
    """Abstract variables of a model: no array is made, so that the size of a model does not matter.

    Random streams that the call asks for fall back to that of the parameters here; `later` gets to know them.
    """
    jax, module = lib.jax, lib.linen.Module
    seed = int(job.setup.get("seed", 0))
    needs = Needs({"params"})
    method = {} if job.method is None else {"method": job.method}

    def initialise(*tracers: Any) -> Any:
        args, kwargs = given.flat.rebuild(tracers)
        # the base class's own method: a model may have an `init` of another signature
        return module.init(model, _streams(needs, jax.random.key(seed)), *args, **method, **kwargs)

    def attempt(axes: Axes) -> Any:
        arrays = [leaf.array for leaf in given.leaves]
        if not axes:
            return _satisfied(needs, lambda: jax.eval_shape(initialise, *arrays), writes=False)
        traced = jax.make_jaxpr(initialise, axis_env=axes, return_shape=True)
        return _satisfied(needs, lambda: traced(*arrays)[1], writes=False)

    asked: Set[str] = set()
    with recorded_streams(asked), naming(given.leaves), drawn_by_shape():
        variables, axes = with_axes(attempt)
    later.streams |= (asked | needs.streams) - {"params"}
    return variables, axes


def _streams(needs: Needs, key: Any) -> Dict[str, Any]:
    return {name: lib.jax.random.fold_in(key, at) if at else key for at, name in enumerate(_ordered(needs.streams))}


def _ordered(streams: Set[str]) -> List[str]:
    return sorted(streams, key=lambda name: (name != "params", name))


def _satisfied(needs: Needs, attempt: Callable[[], T], writes: bool) -> T:
    """Repeat a trace with every stream and, where `writes`, every mutable collection that it turns out to need."""
    errors: Any = lib.flax.errors
    while True:
        try:
            return attempt()
        except errors.InvalidRngError as error:
            if not _learn(needs.streams, r'needs PRNG for "([^"]+)"', error):
                raise
        except errors.ModifyScopeVariableError as error:
            if not writes or not _learn(needs.mutable, r'collection "([^"]+)" is immutable', error):
                raise


def _learn(known: Set[str], pattern: str, error: object) -> bool:
    found = re.search(pattern, str(error))
    if found is None or found.group(1) in known:
        return False
    known.add(found.group(1))
    return True


def _collections(mutable: Any, variables: Any) -> Set[str]:
    if mutable is True:
        return set(variables)
    if isinstance(mutable, str):
        return {mutable}
    return set(cast("Sequence[str]", mutable)) if isinstance(mutable, (list, tuple, set, frozenset)) else set()


def _state_leaves(variables: Any, flat: Flat) -> List[Leaf]:
    names = _names(variables)
    items = [flat.items[position] for position in flat.traced]
    keys = [names[position] for position in flat.traced]
    return [
        Leaf(abstract(item, key), "state", key, placement=placement(item), collection=key.partition("/")[0])
        for item, key in zip(items, keys, strict=True)
    ]


def _names(variables: Any) -> List[str]:
    """Path of every leaf: collection, modules, name. The box that carries a variable's axis names is not part of it."""
    boxes: Any = getattr(lib.linen.meta if hasattr(lib.linen, "meta") else lib.linen, "AxisMetadata", ())
    names: List[str] = []

    def walk(node: Any, path: List[str]) -> None:
        found = children(node)
        if found is None:
            names.append("/".join(path))
            return
        boxed = isinstance(node, boxes) and len(found) == 1
        for key, child in found:
            walk(child, path if boxed else [*path, key_text(key)])

    walk(variables, [])
    return names


def _plan(
    job: Job,
    model: Any,
    variables: Flat,
    states: List[Leaf],
    given: Arguments,
    needs: Needs,
    notes: List[str],
    modules: Modules,
) -> Plan:
    names = _ordered(needs.streams)
    seed = int(job.setup.get("seed", 0))
    key = lib.jax.eval_shape(lambda: lib.jax.random.key(seed))
    leaves = [*states, *(Leaf(key, "input", f"rngs/{name}", lazy=True) for name in names), *given.leaves]
    first, second = len(states), len(states) + len(names)
    mutable: Any = sorted(needs.mutable) or False
    method = {} if job.method is None else {"method": job.method}

    def run(tracers: Sequence[Any]) -> Any:
        args, kwargs = given.flat.rebuild(tracers[second:])
        rngs = dict(zip(names, tracers[first:second], strict=True))
        return lib.linen.Module.apply(
            model, variables.rebuild(tracers[:first]), *args, rngs=rngs, mutable=mutable, **method, **kwargs
        )

    def move(tree: Dict[str, Any]) -> Dict[str, Any]:
        return resolve(tree, lambda leaf: {"value": leaf + second})

    inputs = {
        "args": [move(tree) for tree in given.inputs["args"]],
        "kwargs": {name: move(tree) for name, tree in given.inputs["kwargs"].items()},
    }
    return Plan(leaves, run, inputs, given.static, [*notes, *(f"mutable:{name}" for name in needs.mutable)], modules)
