"""Haiku programs as targets: what `hk.transform` and its like return, initialised abstractly and then applied."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Dict, List, Sequence

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import abstract
from tvls.worker.frameworks.jax.calls import Leaf, arguments, flatten, read_call
from tvls.worker.frameworks.jax.failures import naming
from tvls.worker.frameworks.jax.internals import haiku_function
from tvls.worker.frameworks.jax.modules import Modules
from tvls.worker.frameworks.jax.tracing import Plan, axis_notes, with_axes
from tvls.worker.frameworks.jax.trees import key_text, resolve
from tvls.worker.job import Job


def is_program(value: object) -> bool:
    """Whether a value is a transformed function. There is one only where the user's code has imported Haiku."""
    haiku: Any = sys.modules.get("haiku")
    kinds = (getattr(haiku, name, None) for name in ("Transformed", "TransformedWithState"))
    return any(isinstance(value, kind) for kind in kinds if isinstance(kind, type))


def plan(job: Job, program: Any) -> Plan:
    """The plan of `apply`: parameters, state and a random key come first, the saved inputs go to the function.

    Raises SetupFault, or what the function raises.
    """
    jax = lib.jax
    seed = int(job.setup.get("seed", 0))
    function = haiku_function(program)
    with job.phase("inputs"):
        given = arguments(read_call(job, function), function)

    def initialise(*tracers: Any) -> Any:
        args, kwargs = given.flat.rebuild(tracers)
        made = program.init(jax.random.key(seed), *args, **kwargs)
        return tuple(made) if _has_state(program) else (made,)

    def attempt(axes: Any) -> Any:
        arrays = [leaf.array for leaf in given.leaves]
        if not axes:
            return jax.eval_shape(initialise, *arrays)
        return jax.make_jaxpr(initialise, axis_env=axes, return_shape=True)(*arrays)[1]

    with job.phase("init"), naming(given.leaves):
        made, axes = with_axes(attempt)
    variables = flatten(made)
    states = _state_leaves(made)
    keys: List[Leaf] = []
    if "rng" in inspect.signature(program.apply).parameters:
        keys = [Leaf(jax.eval_shape(lambda: jax.random.key(seed)), "input", "rng", lazy=True)]
    first, second = len(states), len(states) + len(keys)

    def run(tracers: Sequence[Any]) -> Any:
        args, kwargs = given.flat.rebuild(tracers[second:])
        return program.apply(*variables.rebuild(tracers[:first]), *tracers[first:second], *args, **kwargs)

    def move(tree: Dict[str, Any]) -> Dict[str, Any]:
        return resolve(tree, lambda leaf: {"value": leaf + second})

    inputs = {
        "args": [move(tree) for tree in given.inputs["args"]],
        "kwargs": {name: move(tree) for name, tree in given.inputs["kwargs"].items()},
    }
    notes = ["freshly_initialised", *axis_notes(axes)]
    return Plan([*states, *keys, *given.leaves], run, inputs, given.static, notes, Modules())


def _has_state(program: Any) -> bool:
    return isinstance(program, sys.modules["haiku"].TransformedWithState)


def _state_leaves(made: Any) -> List[Leaf]:
    leaves: List[Leaf] = []
    for collection, tree in zip(("params", "state"), made):  # noqa: B905  (there may be no state)
        for path, array in lib.jax.tree_util.tree_flatten_with_path(tree)[0]:
            name = "/".join([collection, *(key_text(key) for key in path)])
            leaves.append(Leaf(abstract(array, name), "state", name, collection=collection))
    return leaves
