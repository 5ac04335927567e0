"""NNX: modules as targets, and NNX objects anywhere in a callable or its arguments.

Objects are split outside the trace and merged inside it: their arrays are shared and traced, the state that a call
writes stays in the temporary copy, and no tracer reaches the user's objects.
"""

from __future__ import annotations

import functools
import inspect
import types
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, cast

from tvls.worker.classes import bound_arguments, class_of
from tvls.worker.frameworks.jax import enclosed
from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import abstract, is_array, placement
from tvls.worker.frameworks.jax.calls import Arguments, Flat, Leaf, arguments, flatten, read_call
from tvls.worker.frameworks.jax.enclosed import Reference
from tvls.worker.frameworks.jax.failures import is_library
from tvls.worker.frameworks.jax.generators import generator
from tvls.worker.frameworks.jax.instances import has_equinox, is_equinox, place_modules
from tvls.worker.frameworks.jax.internals import drawn_by_shape, lacks_mesh
from tvls.worker.frameworks.jax.modules import Modules
from tvls.worker.frameworks.jax.tracing import Plan, Written
from tvls.worker.frameworks.jax.trees import is_variable, key_text, resolve
from tvls.worker.job import Job, SetupFault, type_name, type_of
from tvls.worker.lazy import computed
from tvls.worker.values import Budget, Making, build_call


def is_object(value: object) -> bool:
    """Whether a value is an NNX object that holds state: a module, optimizer, set of random streams or variable."""
    nnx = lib.nnx
    if nnx is None:
        return False
    kinds = [nnx.Object, nnx.Variable, getattr(nnx, "Pytree", None)]
    state = getattr(nnx, "State", None)  # plain data that JAX flattens by itself
    return isinstance(value, tuple(kind for kind in kinds if kind is not None)) and not (
        state is not None and isinstance(value, state)
    )


@dataclass
class Objects:
    """NNX objects split into structure and state; equal objects once."""

    items: List[Any]
    names: List[str]
    graphdef: Any
    flat: Flat
    leaves: List[Leaf]
    paths: List[Tuple[int, List[str]]]
    """Of each leaf, the object that it belongs to and its path inside."""

    def tree(self, item: Any) -> Dict[str, Any]:
        """The `Tree` of one object's state."""
        entries: Dict[str, Any] = {"dict": {}}
        for at, (owner, keys) in enumerate(self.paths):
            if self.items[owner] is not item:
                continue
            if not keys:
                return {"value": at}
            inside = entries["dict"]
            for key in keys[:-1]:
                inside = inside.setdefault(key, {"dict": {}})["dict"]
            inside[keys[-1]] = {"value": at}
        return entries

    def merge(self, arrays: Sequence[Any], modules: Modules) -> List[Any]:
        """Fresh objects whose state is `arrays`, their modules knowing their places; called inside the trace."""
        merged = list(lib.nnx.merge(self.graphdef, self.flat.rebuild(arrays)))
        for item, name in zip(merged, self.names, strict=True):
            place_modules(modules, item, name)
        return merged


def split(found: Sequence[Tuple[Any, str]]) -> Objects:
    """Split objects, each with its place (empty for the target itself), all together so that sharing is kept."""
    items: List[Any] = []
    names: List[str] = []
    for item, name in found:
        if not any(item is known for known in items):
            items.append(item)
            names.append(name)
    graphdef, state = lib.nnx.split(items)
    pairs: Any
    pairs, treedef = lib.jax.tree_util.tree_flatten_with_path(state)
    flat = Flat(treedef, [leaf for _, leaf in pairs], [at for at, (_, leaf) in enumerate(pairs) if is_array(leaf)])
    kinds = _kinds(state, names)
    leaves: List[Leaf] = []
    places: List[Tuple[int, List[str]]] = []
    for position in flat.traced:
        path, array = pairs[position]
        name = _state_name(path, names)
        keys = _keys(path)
        places.append((int(keys[0]), keys[1:]))
        leaf = Leaf(abstract(array, name), "state", name, placement=placement(array), collection=kinds.get(name))
        leaves.append(leaf)
    return Objects(items, names, graphdef, flat, leaves, places)


def _kinds(state: Any, names: Sequence[str]) -> Dict[str, str]:
    """Type of every variable of a state, by name."""
    pairs: Any = lib.jax.tree_util.tree_flatten_with_path(state, is_leaf=is_variable)[0]
    kinds: Dict[str, str] = {}
    for path, leaf in pairs:
        if is_variable(leaf):
            kind: Any = getattr(leaf, "type", None)
            kinds[_state_name(path, names)] = (kind if isinstance(kind, type) else type_of(leaf)).__name__
    return kinds


def _keys(path: Sequence[Any]) -> List[str]:
    keys = [key_text(key) for key in path]
    if keys and keys[-1] == "value" and type(path[-1]).__name__ == "GetAttrKey":
        keys.pop()
    return keys


def _state_name(path: Sequence[Any], names: Sequence[str]) -> str:
    keys = _keys(path)
    root = names[int(keys[0])] if keys else ""
    return "/".join([root, *keys[1:]] if root else keys[1:])


def written(objects: Objects, merged: List[Any], before: Sequence[Any]) -> Dict[str, Any]:
    """State that a call changed or made in the merged objects, by name."""
    known = {leaf.name: array for leaf, array in zip(objects.leaves, before, strict=True)}
    pairs: Any = lib.jax.tree_util.tree_flatten_with_path(lib.nnx.split(merged)[1])[0]
    after = {_state_name(path, objects.names): array for path, array in pairs if is_array(array)}
    return {name: array for name, array in after.items() if known.get(name) is not array}


def objects_of(target: Any) -> List[Any]:
    """NNX objects that a callable is made of: itself, the owner of a bound method, the arguments of a partial."""
    if is_object(target):
        return [target]
    if inspect.ismethod(target):
        return [target.__self__] if is_object(target.__self__) else []
    if isinstance(target, functools.partial):
        wrapped: Any = target  # pyright: ignore[reportUnknownVariableType]
        held = lib.jax.tree_util.tree_leaves((wrapped.args, wrapped.keywords), is_leaf=is_object)
        return objects_of(wrapped.func) + [item for item in held if is_object(item)]
    return []


def rebuilt(target: Any, replace: Callable[[Any], Any]) -> Any:
    """The callable with each of its NNX objects replaced."""
    if is_object(target):
        return replace(target)
    if inspect.ismethod(target) and is_object(target.__self__):
        owner = replace(target.__self__)
        # as the class has it during the trace, when its methods leave marks
        current: Any = getattr(owner, target.__func__.__name__, None)
        if getattr(getattr(current, "__func__", None), "__wrapped__", None) is target.__func__:
            return current
        return types.MethodType(target.__func__, owner)
    if isinstance(target, functools.partial):
        wrapped: Any = target  # pyright: ignore[reportUnknownVariableType]
        swap = functools.partial(_swap, replace=replace)
        args, keywords = lib.jax.tree_util.tree_map(swap, (wrapped.args, wrapped.keywords), is_leaf=is_object)
        return functools.partial(rebuilt(wrapped.func, replace), *args, **keywords)
    return target


def _swap(item: Any, replace: Callable[[Any], Any]) -> Any:
    return replace(item) if is_object(item) else item


def plan_call(job: Job, target: Any, notes: List[str], prepare: Optional[Callable[[List[Any]], None]] = None) -> Plan:
    """The plan of calling `target` with the saved inputs; `prepare` gets the target's own objects inside the trace."""
    with job.phase("inputs"):
        given = arguments(read_call(job, target), target, is_object)
    named = enclosed.references(target, is_object, is_library) if lib.nnx is not None else []
    plan = _plan_call(job, target, given, named, notes, prepare)
    if named:
        plan.closed = functools.partial(_plan_call, job, target, given, [], notes, prepare)
    return plan


def _plan_call(
    job: Job,
    target: Any,
    given: Arguments,
    named: List[Reference],
    notes: List[str],
    prepare: Optional[Callable[[List[Any]], None]],
) -> Plan:
    """A plan in which the objects that the target reaches by the names in `named` are state as well."""
    own = objects_of(target)
    found = [(item, "" if index == 0 else f"target[{index}]") for index, item in enumerate(own)]
    found += [(item, given.names[position]) for position, item in enumerate(given.flat.items) if is_object(item)]
    taken = {name for _, name in found} | set(given.heads) | {leaf.name.partition("/")[0] for leaf in given.leaves}
    for reference in named:
        name = reference.name if reference.name not in taken else f"{reference.module}.{reference.name}"
        taken.add(name)
        found.append((reference.value, name))
    modules = Modules()
    if not found:
        return _plain(given, target, notes, modules)
    objects = split(found)
    count = len(objects.leaves)
    shift = _shifted(given.inputs, count, lambda at: objects.tree(given.flat.items[at]))

    def run(tracers: Sequence[Any]) -> Any:
        merged = objects.merge(tracers[:count], modules)
        index = {id(item): position for position, item in enumerate(objects.items)}

        def replace(item: Any) -> Any:
            return merged[index[id(item)]]

        callee = rebuilt(target, replace)
        if prepare is not None:
            prepare([replace(item) for item in own])
        call = given.flat.rebuild(tracers[count:])
        call = lib.jax.tree_util.tree_map(functools.partial(_swap, replace=replace), call, is_leaf=is_object)
        before = _current(objects, merged)
        with enclosed.pointing_to(named, replace):
            result = computed(_apply(callee, call), job.limits)
        return Written(result, written(objects, merged, before))

    return Plan([*objects.leaves, *given.leaves], run, shift, given.static, notes, modules)


def _plain(given: Arguments, target: Any, notes: List[str], modules: Modules) -> Plan:
    """The plan of a callable without NNX objects. The arrays of an Equinox module are its state."""
    held = flatten(target if is_equinox(target) else None)
    names = ["/".join(key_text(key) for key in path) for path in _paths(target)] if held.traced else []
    leaves = [
        Leaf(abstract(held.items[at], names[at]), "state", names[at], placement=placement(held.items[at]))
        for at in held.traced
    ]
    count = len(leaves)

    def run(tracers: Sequence[Any]) -> Any:
        callee = held.rebuild(tracers[:count]) if count else target
        args, kwargs = given.flat.rebuild(tracers[count:])
        if has_equinox():
            modules.roots += [(callee, ""), *zip(args, given.heads, strict=True), *((kwargs[k], k) for k in kwargs)]
        return callee(*args, **kwargs)

    return Plan([*leaves, *given.leaves], run, _shifted(given.inputs, count), given.static, notes, modules)


def _paths(tree: Any) -> List[Any]:
    return [path for path, _ in lib.jax.tree_util.tree_flatten_with_path(tree)[0]]


def _current(objects: Objects, merged: List[Any]) -> List[Any]:
    leaves = lib.jax.tree_util.tree_leaves(lib.nnx.split(merged)[1])
    return [leaves[position] for position in objects.flat.traced]


def _apply(target: Any, call: Any) -> Any:
    args, kwargs = call
    return target(*args, **kwargs)


def _shifted(
    inputs: Dict[str, Any], count: int, state: Optional[Callable[[int], Dict[str, Any]]] = None
) -> Dict[str, Any]:
    def move(tree: Dict[str, Any]) -> Dict[str, Any]:
        return resolve(tree, lambda leaf: {"value": leaf + count}, state)

    args, kwargs = inputs["args"], inputs["kwargs"]
    return {"args": [move(tree) for tree in args], "kwargs": {name: move(tree) for name, tree in kwargs.items()}}


def plan(job: Job) -> Plan:
    """The plan of an NNX module class: built from `init` and put in eval mode, or as its factory has made it."""
    if lib.nnx is None:
        raise SetupFault("setup", "flax.nnx is not installed in the capture environment")
    notes: List[str] = []
    with job.phase("init"):
        model = _build(job, notes)

    def prepare(own: List[Any]) -> None:
        if job.setup.get("mode", "eval") == "eval" and hasattr(own[0], "eval"):
            own[0].eval()

    called = model if job.method is None else getattr(model, job.method)
    # the mode of what a factory returns is the factory's choice
    by_factory = "factory" in (job.setup.get("init") or {})
    return plan_call(job, called, notes, None if by_factory else prepare)


def _build(job: Job, notes: List[str]) -> Any:
    saved: Dict[str, Any] = job.setup.get("init") or {}
    target = cast("type[Any]", class_of(job.maker))
    if "factory" in saved:
        model = job.load_factory(saved["factory"])
        owners = objects_of(model)
        if not callable(model) or not owners or not isinstance(owners[0], target):
            message = f"the init factory must return an instance of {target.__qualname__}, not {type_name(model)}"
            raise SetupFault("init", message, "init.factory")
        return model
    making = Making(Budget(job.limits), generator(int(job.setup.get("seed", 0))), job.find_class)
    call = build_call(saved, "init", making)
    seed = int(job.setup.get("seed", 0))
    positional, named = bound_arguments(job.maker)
    streams = _streams_parameter(target, {**named, **call.kwargs}, positional + len(call.args))

    def construct() -> Any:
        extra = {streams: lib.nnx.Rngs(seed)} if streams is not None else {}
        return job.maker(*call.args, **call.kwargs, **extra)

    notes.append("freshly_initialised")
    errors = lib.jax.errors
    concrete = [errors.ConcretizationTypeError, errors.TracerArrayConversionError, errors.UnexpectedTracerError]
    trace_level: Any = getattr(lib.flax.errors, "TraceContextError", None)
    try:
        with drawn_by_shape():
            return _without_mesh(lambda: lib.nnx.eval_shape(construct), notes)
    except tuple(kind for kind in (*concrete, trace_level) if kind is not None):
        # the constructor looks at values, which only a concrete initialisation has
        notes.append("concrete_initialisation")
        return _without_mesh(construct, notes)


def _without_mesh(construct: Callable[[], Any], notes: List[str]) -> Any:
    """Construct a model whose variables are annotated with a sharding, also where there is no mesh to shard over."""
    try:
        return construct()
    except ValueError as error:
        eager: Any = getattr(lib.nnx, "use_eager_sharding", None)
        if eager is None or not lacks_mesh(error):
            raise
    notes.append("sharding_not_applied")
    with eager(False):
        return construct()


def _streams_parameter(target: Any, given: Dict[str, Any], positional: int) -> Optional[str]:
    """Name of the constructor's parameter for random streams, where the setup leaves it out."""
    try:
        # the class's own signature is hidden behind the call of its metaclass
        parameters = list(inspect.signature(target.__init__).parameters.values())[1:]
    except (TypeError, ValueError):
        return None
    for index, parameter in enumerate(parameters):
        annotation = parameter.annotation
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        if parameter.name == "rngs" or text.rpartition(".")[2] == "Rngs":
            by_position = index < positional and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            return None if parameter.name in given or by_position else parameter.name
    return None
