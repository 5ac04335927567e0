"""Run `jax.make_jaxpr` on a plan, and turn what it made into the framework's part of the document."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar

from tvls.capture.limits import Limits
from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax import program, results
from tvls.worker.frameworks.jax.calls import Leaf
from tvls.worker.frameworks.jax.failures import naming
from tvls.worker.frameworks.jax.internals import unbound_axis
from tvls.worker.frameworks.jax.modules import Modules
from tvls.worker.frameworks.jax.results import Made
from tvls.worker.frameworks.jax.trees import outputs, resolve
from tvls.worker.job import Job
from tvls.worker.lazy import computed

T = TypeVar("T")
UNAVAILABLE = {
    "source_edit_recipes": "source-edit recipes belong to eager PyTorch captures; JAX frames serve navigation only",
    "training_step": "training-step capture is a PyTorch feature; trace a function that takes the gradient instead",
    "storage_aliases": "values of a traced program have no storage",
    "activation_statistics": "no array is computed during tracing",
    "output_bytes": "no output is computed during tracing; bytes that follow from shapes are derived, not measured",
    "timings": "no kernel runs during tracing",
}


@dataclass
class Plan:
    """What is to be traced: `run` gets one tracer for each leaf and returns the result of the call."""

    leaves: List[Leaf]
    run: Callable[[Sequence[Any]], Any]
    inputs: Dict[str, Any]
    static: Dict[str, Any]
    notes: List[str]
    modules: Modules
    closed: Optional[Callable[[], "Plan"]] = None
    """The same call with the objects that the target has by name, and not as arguments, as constants of the program:
    for a program that looks at their contents."""


@dataclass
class Written:
    """A computed result together with the state that the call may have changed, by the name of its leaf."""

    result: Any
    state: Dict[str, Any]


@dataclass
class Traced:
    plan: Plan
    closed: Any
    outputs: Dict[str, Any]
    written: Dict[str, int]
    """Outputs that are new state, by name; among them what a call only passed through."""
    made: Optional[Made] = None
    """What the call returned where that is no array but something to call."""


def trace(plan: Plan, limits: Limits) -> Traced:
    """Trace a plan. Exceptions of the user's code pass through; raises what `computed` does."""
    found: Dict[str, Any] = {}
    state: Dict[str, int] = {}
    made: List[Optional[Made]] = []

    def tvls_entry(*tracers: Any) -> List[Any]:  # stacks.py knows this name: frames outside it are not the program's
        arrays: List[Any] = []
        result = plan.run(tracers)
        written = result if isinstance(result, Written) else Written(computed(result, limits), {})
        made[:] = [results.made_by(written.result)]
        found.update(outputs(written.result, arrays))
        for name, array in written.state.items():
            state[name] = len(arrays)
            arrays.append(array)
        return arrays

    def attempt(axes: Axes) -> Any:
        found.clear()
        state.clear()
        return lib.jax.make_jaxpr(tvls_entry, axis_env=axes)(*[leaf.array for leaf in plan.leaves])

    with naming(plan.leaves):
        closed, axes = with_axes(attempt)
    plan.notes += [note for note in axis_notes(axes) if note not in plan.notes]
    return Traced(plan, closed, found, state, made[-1])


Axes = List[Tuple[str, int]]


def with_axes(attempt: Callable[[Axes], T]) -> Tuple[T, Axes]:
    """Repeat a trace with every named axis that it uses and nothing binds, as one of size 1: the program of one device.

    The collectives over the axis stay in the program; it is only that they need the name.
    """
    axes: Axes = []
    while True:
        try:
            return attempt(axes), axes
        except NameError as error:
            name = unbound_axis(error)
            if name is None or any(name == known for known, _ in axes):
                raise
            axes.append((name, 1))


def axis_notes(axes: Axes) -> List[str]:
    """What the setup record says of axes that a trace was given."""
    return [f"axis:{name}={size}" for name, size in axes]


def document(traced: Traced, job: Job) -> Dict[str, Any]:
    """The part of the capture document that a framework makes. Raises LimitExceeded."""
    program.check_size(traced.closed.jaxpr, job.limits)
    collecting = gc.isenabled()
    gc.disable()  # a large program makes millions of containers and no garbage: collections would double the time
    try:
        return _document(traced, job)
    finally:
        if collecting:
            gc.enable()


def _document(traced: Traced, job: Job) -> Dict[str, Any]:
    plan, jaxpr = traced.plan, traced.closed.jaxpr
    shared = program.new_shared(job.limits, job.frames, plan.modules)
    graph = program.new_graph(shared)
    env: program.Environment = {}
    for leaf, var in zip(plan.leaves, jaxpr.invars, strict=True):
        value = program.make_value(leaf.role, var.aval, leaf.name)
        if leaf.placement is not None:
            value["sharding"] = leaf.placement
        if leaf.collection is not None:
            value["collection"] = leaf.collection
        slot = program.Slot(value)
        env[var] = slot
        if not leaf.lazy:
            slot.operand = {"value": program.add_value(shared, graph, value)}
    program.bind_constants(shared, graph, env, jaxpr)
    program.expand(shared, graph, jaxpr, env, 0, ())
    results = [program.read(shared, graph, env, atom) for atom in jaxpr.outvars]
    inputs = [env[var].operand for var in jaxpr.invars]
    returned = resolve(traced.outputs, lambda output: results[output])
    before = {leaf.name: operand for leaf, operand in zip(plan.leaves, inputs, strict=True)}
    written = {name: results[at] for name, at in traced.written.items() if results[at] != before.get(name)}
    return {
        "backend": "jaxpr",
        "evidence": "inferred",
        "coverage": _coverage(graph.counts),
        "inputs": {
            "args": [resolve(tree, lambda leaf: inputs[leaf]) for tree in plan.inputs["args"]],
            "kwargs": {name: resolve(tree, lambda leaf: inputs[leaf]) for name, tree in plan.inputs["kwargs"].items()},
        },
        "outputs": {"tuple": [returned, {"dict": written}]} if written else returned,
        "values": graph.values,
        "operations": graph.operations,
        "scopes": graph.scopes.items,
        "bodies": graph.bodies,
        "unavailable": dict(UNAVAILABLE),
        "static": plan.static,
        "notes": sorted(set(plan.notes)),
    }


def _coverage(counts: Dict[str, int]) -> Dict[str, Any]:
    reasons = sorted(counts)
    coverage: Dict[str, Any] = {"scope": "traced_program", "status": "partial" if reasons else "complete"}
    coverage["reasons"] = reasons
    if counts:
        coverage["counts"] = counts
    return coverage
