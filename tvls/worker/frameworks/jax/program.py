"""A jaxpr as the graph of the capture document.

Calls that JAX would run inline anyway (jit, remat, custom derivatives) are expanded as scopes; every other equation is
one operation, and one that holds subprograms is an opaque boundary with those listed as bodies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from tvls.capture.limits import LimitExceeded, Limits
from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.internals import argument_names, traced_name
from tvls.worker.frameworks.jax.modules import Modules, Path
from tvls.worker.frameworks.jax.params import SMALL, aval_data, encode_params, numbers
from tvls.worker.frameworks.jax.scopes import Scopes
from tvls.worker.frameworks.jax.stacks import Frames, Stack, make_stacks
from tvls.worker.job import FrameRegistry

OPAQUE = "opaque_kernel"
EFFECTS = "effects_incomplete"

_EXPANDED = {
    "jit": "jit",
    "pjit": "jit",
    "xla_call": "jit",
    "remat": "remat",
    "remat2": "remat",
    "checkpoint": "remat",
    "custom_jvp_call": "custom_jvp",
    "custom_vjp_call": "custom_vjp",
    "custom_vjp_call_jaxpr": "custom_vjp",
    "closed_call": "call",
    "core_call": "call",
    "core_closed_call": "call",
    "eval_jaxpr": "call",  # from JAX 0.12 on
}
_HOST = frozenset(
    (
        "pure_callback",
        "io_callback",
        "debug_callback",
        "ffi_call",
        "custom_call",
        "tpu_custom_call",
        "call_hi_primitive",
    )
)
"""Primitives without a subprogram of their own that run code which the program does not show."""

Operand = Dict[str, Any]


class Slot:
    """An input that gets a place among the values when the first equation reads it."""

    def __init__(self, value: Dict[str, Any]) -> None:
        self.value = value
        self.operand: Optional[Operand] = None


@dataclass
class Shared:
    """What the graph of a capture and those of its bodies have in common."""

    limits: Limits
    modules: Modules
    stack: Callable[[Any, Frames], Stack]
    operations: int
    values: int
    scopes: List[int]
    encoded: Dict[int, Tuple[Any, Dict[str, Any], List[Dict[str, Any]]]]
    """Equations without bodies, by identity, with their parameters and values: a jitted function is encoded once."""
    intermediates: Dict[Any, Dict[str, Any]]
    """From an abstract value to the entry of every value that has it."""


@dataclass
class Graph:
    """The growing lists of one graph. `counts` holds how many operations stand behind each reason for being partial."""

    values: List[Dict[str, Any]]
    operations: List[Dict[str, Any]]
    scopes: Scopes
    bodies: List[Dict[str, Any]]
    used: Set[str]
    ordinals: Dict[Tuple[int, str], int]
    body_indices: Dict[Tuple[int, str, Optional[Path]], int]
    counts: Dict[str, int]
    makers: Dict[int, int]
    """From a value to the operation that makes it."""


def new_shared(limits: Limits, frames: FrameRegistry, modules: Modules) -> Shared:
    return Shared(limits, modules, make_stacks(frames), 0, 0, [0], {}, {})


def new_graph(shared: Shared, path: Optional[Path] = None) -> Graph:
    """An empty graph; that of a body stands inside the module at `path`."""
    used: Set[str] = {""}
    scopes = Scopes(shared.modules, shared.limits, used, shared.scopes, path)
    return Graph([], [], scopes, [], used, {}, {}, {}, {})


def count_operations(jaxpr: Any) -> int:
    """Operations of a program after expansion, without those in bodies. Cheap: every subprogram is counted once."""
    known: Dict[int, int] = {}

    def count(jaxpr: Any) -> int:
        total = known.get(id(jaxpr))
        if total is None:
            total = 0
            for eqn in jaxpr.eqns:
                inner = expansion(eqn)
                total += 1 if inner is None else count(inner[0])
            known[id(jaxpr)] = total
        return total

    return count(jaxpr)


def check_size(jaxpr: Any, limits: Limits) -> None:
    """Raises LimitExceeded, with the true number, before any work on a program that has too many operations."""
    total = count_operations(jaxpr)
    if total > limits.operations:
        raise LimitExceeded("operations", limits.operations, total)


def expansion(eqn: Any) -> Optional[Tuple[Any, Sequence[Any], str]]:
    """Jaxpr, constants and scope kind of an equation that is expanded in place; None for an operation."""
    kind = _EXPANDED.get(eqn.primitive.name)
    if kind is None:
        return None
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner: Any = eqn.params.get(name)
        if isinstance(inner, lib.core.ClosedJaxpr):
            jaxpr, consts = inner.jaxpr, inner.consts
        elif isinstance(inner, lib.core.Jaxpr):
            jaxpr, consts = inner, ()
        else:
            continue
        if len(jaxpr.invars) == len(eqn.invars) and len(jaxpr.outvars) == len(eqn.outvars):
            return jaxpr, consts, kind
    return None


def add_value(shared: Shared, graph: Graph, value: Dict[str, Any]) -> int:
    """Index of a new value. Raises LimitExceeded."""
    shared.values += 1
    if shared.values > shared.limits.values:
        raise LimitExceeded("values", shared.limits.values, shared.values)
    graph.values.append(value)
    return len(graph.values) - 1


def make_value(role: str, aval: Any, name: Optional[str] = None) -> Dict[str, Any]:
    """The entry of a value that has an abstract value."""
    value = {"role": role, **_aval(aval)}
    if name:
        value["name"] = name
    return value


def _aval(aval: Any) -> Dict[str, Any]:
    data = aval_data(aval)
    if "opaque" in data:
        return {"shape": [], "dtype": "token" if "Token" in type(aval).__name__ else data["opaque"]}
    sharding: Any = getattr(aval, "sharding", None)
    if sharding is not None and not sharding.mesh.empty and any(axis is not None for axis in sharding.spec):
        data["sharding"] = str(sharding)
    return data


Environment = Dict[Any, Any]
"""From a variable to its operand, or to the slot of an input that nothing has read yet."""


def read(shared: Shared, graph: Graph, env: Environment, atom: Any) -> Operand:
    """The operand of an equation's input; fills a slot."""
    operand: Any = lookup(shared, graph, env, atom)
    if type(operand) is Slot:
        if operand.operand is None:
            operand.operand = {"value": add_value(shared, graph, operand.value)}
        return operand.operand
    return operand


def lookup(shared: Shared, graph: Graph, env: Environment, atom: Any) -> Any:
    """Operand or slot of an equation's input; a slot stays as it is."""
    if isinstance(atom, lib.core.Literal):
        return _literal(shared, graph, atom)
    return env[atom]


def _literal(shared: Shared, graph: Graph, literal: Any) -> Operand:
    data, value = _aval(literal.aval), literal.val
    size = int(getattr(value, "size", 1))
    dtype: Any = getattr(literal.aval, "dtype", None)
    if size > SMALL or not isinstance(dtype, lib.np.dtype) or dtype == lib.jax.dtypes.float0:  # which has no contents
        return {"value": add_value(shared, graph, {"role": "constant", **data})}
    operand: Operand = {"literal": numbers(value), "dtype": data["dtype"]}
    if data["shape"]:
        operand["shape"] = data["shape"]
    return operand


def bind_constants(shared: Shared, graph: Graph, env: Environment, jaxpr: Any) -> None:
    """Give every constant variable of a jaxpr a value of its own, without the contents."""
    for var in jaxpr.constvars:
        env[var] = {"value": add_value(shared, graph, make_value("constant", var.aval))}


def expand(shared: Shared, graph: Graph, jaxpr: Any, env: Environment, scope: int, outer: Frames) -> None:
    """Append the equations of a jaxpr whose inputs `env` holds; `outer` are the frames of the enclosing call."""
    for eqn in jaxpr.eqns:
        source: Any = eqn.source_info
        producers = _producers(graph, env, eqn)
        inside = graph.scopes.enter(scope, source.name_stack, producers)
        frames, calls = shared.stack(source.traceback, outer)
        if calls:
            inside = graph.scopes.call(inside, calls, producers)
        inner = expansion(eqn)
        if inner is None:
            graph.scopes.order.add_operation(inside, producers)
            _operation(shared, graph, eqn, env, inside, frames)
            continue
        called, _, kind = inner
        name = str(eqn.params.get("name") or traced_name(called) or kind)
        opened = graph.scopes.open(inside, kind, name)
        inner_env: Environment = {}
        bind_constants(shared, graph, inner_env, called)
        for var, atom in zip(called.invars, eqn.invars, strict=True):
            inner_env[var] = lookup(shared, graph, env, atom)
        expand(shared, graph, called, inner_env, opened, frames)
        for var, atom in zip(eqn.outvars, called.outvars, strict=True):
            env[var] = lookup(shared, graph, inner_env, atom)


def _producers(graph: Graph, env: Environment, eqn: Any) -> List[int]:
    """The operations that make what an equation reads."""
    found: List[int] = []
    for atom in eqn.invars:
        operand: Any = None if isinstance(atom, lib.core.Literal) else env[atom]
        if type(operand) is dict:
            maker = graph.makers.get(operand.get("value", -1))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            if maker is not None:
                found.append(maker)
    return found


def _operation(shared: Shared, graph: Graph, eqn: Any, env: Environment, scope: int, frames: Frames) -> None:
    shared.operations += 1
    if shared.operations > shared.limits.operations:
        raise LimitExceeded("operations", shared.limits.operations, shared.operations)
    primitive: str = eqn.primitive.name
    bodies: List[Dict[str, Any]] = []
    known = shared.encoded.get(id(eqn))
    if known is None:
        path = graph.scopes.path(scope)

        def body(jaxpr: Any, role: str) -> int:
            index = _body(shared, graph, jaxpr, f"{primitive} {role}", path)
            bodies.append({"role": role, "body": index})
            return index

        made = [_intermediate(shared, var.aval) for var in eqn.outvars]
        known = (eqn, encode_params(eqn.params, body), made)
        if not bodies:
            shared.encoded[id(eqn)] = known
    _, params, values = known
    inputs = [read(shared, graph, env, atom) for atom in eqn.invars]
    outputs: List[int] = []
    for var, value in zip(eqn.outvars, values, strict=True):
        index = add_value(shared, graph, value)
        env[var] = {"value": index}
        graph.makers[index] = len(graph.operations)
        outputs.append(index)
    operation: Dict[str, Any] = {
        "id": _identify(graph, scope, primitive),
        "primitive": primitive,
        "scope": scope,
        "inputs": inputs,
        "outputs": outputs,
        "params": params,
        "frames": list(frames),
    }
    if bodies or primitive in _HOST:
        operation["opaque"] = OPAQUE
        graph.counts[OPAQUE] = graph.counts.get(OPAQUE, 0) + 1
    if bodies:
        operation["bodies"] = bodies
    if has_effects(eqn.effects):
        graph.counts[EFFECTS] = graph.counts.get(EFFECTS, 0) + 1
    graph.operations.append(operation)


def _intermediate(shared: Shared, aval: Any) -> Dict[str, Any]:
    value = shared.intermediates.get(aval)
    if value is None:
        value = shared.intermediates[aval] = {"role": "intermediate", **_aval(aval)}
    return value


def has_effects(effects: Any) -> bool:
    """Whether a set of effects holds any besides the use of a named axis."""
    return any(type(effect).__name__ != "NamedAxisEffect" for effect in effects)


def _identify(graph: Graph, scope: int, primitive: str) -> str:
    key = (scope, primitive)
    scope_id: str = graph.scopes.items[scope]["id"]
    stem = f"{scope_id}/{primitive}" if scope_id else primitive
    ordinal = graph.ordinals.get(key, 0)
    while f"{stem}.{ordinal}" in graph.used:  # a scope may be called what an operation would be
        ordinal += 1
    graph.ordinals[key] = ordinal + 1
    unique = f"{stem}.{ordinal}"
    graph.used.add(unique)
    return unique


def _body(shared: Shared, graph: Graph, program: Any, label: str, path: Optional[Path]) -> int:
    jaxpr: Any = program.jaxpr if isinstance(program, lib.core.ClosedJaxpr) else program
    key = (id(jaxpr), label, path)
    index = graph.body_indices.get(key)
    if index is None:
        inner = new_graph(shared, path)
        env: Environment = {}
        bind_constants(shared, inner, env, jaxpr)
        names = argument_names(jaxpr) or [None] * len(jaxpr.invars)
        inputs: List[int] = []
        for var, name in zip(jaxpr.invars, names, strict=True):
            index = add_value(shared, inner, make_value("input", var.aval, name))
            env[var] = {"value": index}
            inputs.append(index)
        expand(shared, inner, jaxpr, env, 0, ())
        outputs = [read(shared, inner, env, atom) for atom in jaxpr.outvars]
        graph.bodies.append(
            {
                "label": label.rstrip(),
                "inputs": inputs,
                "outputs": outputs,
                "values": inner.values,
                "operations": inner.operations,
                "scopes": inner.scopes.items,
                "bodies": inner.bodies,
            }
        )
        index = graph.body_indices[key] = len(graph.bodies) - 1
    return index
