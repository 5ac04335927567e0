"""JAX and Flax: the traced program of `jax.make_jaxpr` as a capture."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any, Dict, List, Optional, Tuple

from tvls.capture.limits import Limits
from tvls.worker.classes import class_of
from tvls.worker.frameworks.jax import arrays, device, failures, functions, given, libraries, linen, nnx, results
from tvls.worker.frameworks.jax.failures import MACHINERY, explain
from tvls.worker.frameworks.jax.instances import is_about_places
from tvls.worker.frameworks.jax.lost_updates import watched_updates
from tvls.worker.frameworks.jax.modules import recorded_modules
from tvls.worker.frameworks.jax.tracing import Plan, Traced, document, trace
from tvls.worker.job import Job

__all__ = ["MACHINERY", "capture", "describe", "device_scope", "explain", "kind_of", "preload", "versions"]


def preload() -> None:
    """Import JAX and Flax and trace tiny programs, which fills caches that every later trace uses.

    Initialises no backend. The shapes are such as no model has, so that no user program meets a result cached here.
    """
    libraries.load()
    jax, linen, nnx = libraries.jax, libraries.linen, libraries.nnx
    x = jax.ShapeDtypeStruct((997, 991), "float32")

    def tiny(x: Any) -> Any:
        return jax.nn.softmax(jax.nn.relu(x @ x.T) + 1)

    jax.make_jaxpr(tiny)(x)
    if linen is not None:
        layers = linen.Sequential([linen.Dense(983), linen.relu, linen.LayerNorm()])
        variables = jax.eval_shape(functools.partial(_init, jax, layers), x)
        jax.make_jaxpr(layers.apply)(variables, x)
    if nnx is not None:
        graphdef, state = nnx.split(nnx.eval_shape(lambda: nnx.Linear(991, 983, rngs=nnx.Rngs(0))))
        jax.make_jaxpr(functools.partial(_call, nnx, graphdef))(state, x)


def _init(jax: Any, layers: Any, x: Any) -> Any:
    return layers.init(jax.random.key(0), x)


def _call(nnx: Any, graphdef: Any, state: Any, x: Any) -> Any:
    return nnx.merge(graphdef, state)(x)


def versions() -> Dict[str, str]:
    """Versions of Python, jax, jaxlib and, where installed, flax."""
    return libraries.versions()


def device_scope(device_name: str) -> AbstractContextManager[None]:
    """JAX's default device for everything in the context. Raises SetupFault (`device`) where it is not there."""
    return device.scope(device_name)


def describe(value: object) -> Optional[Tuple[List[int], str]]:
    """Shape and dtype of an array, tracer, abstract array or NNX variable; None for anything else."""
    return arrays.describe(value)


def kind_of(target: object, owner: object = None) -> str:
    """Kind of a target: that of its class for a method, which `owner` is then, and for a partial of a class."""
    found = class_of(target) or owner
    if isinstance(found, type):
        if libraries.linen is not None and issubclass(found, libraries.linen.Module):
            return "flax.linen"
        if libraries.nnx is not None and issubclass(found, libraries.nnx.Module):
            return "flax.nnx"
    return "jax.function"


def capture(job: Job) -> Dict[str, Any]:
    """Trace the target and return the framework's part of the document, with `static` and `notes` for its setup record.

    Raises SetupFault, LimitExceeded, or whatever the user's code raises.
    """
    try:
        return _capture(job)
    except Exception as fault:
        given.remember(fault, job.setup)
        raise


def _capture(job: Job) -> Dict[str, Any]:
    if job.kind == "flax.linen":
        traced = linen.traced(job)
    else:
        plan = nnx.plan(job) if job.kind == "flax.nnx" else functions.plan(job)
        with job.phase("trace"):
            traced = _traced(plan, job.limits)
    with job.phase("trace"):
        failures.refuse_dead_values(traced.closed, job.target)
        if traced.made is not None and job.kind == "jax.function":
            results.refuse_unless_computed(traced.made, traced.closed.jaxpr, traced.plan.leaves, job)
    traced.plan.notes.extend(f"leaked_tracer:{name}" for name in failures.leaked_by(job.target))
    with job.phase("encode"):
        return document(traced, job)


def _traced(plan: Plan, limits: Limits) -> Traced:
    try:
        with watched_updates(nnx.is_object) as lost, recorded_modules(plan.modules):
            traced = trace(plan, limits)
        plan.notes += [updates.note() for updates in lost]
        return traced
    except Exception as error:
        if plan.closed is not None and isinstance(error, failures.needs_contents()):
            return _traced(plan.closed(), limits)
        if not is_about_places(error):
            raise
    plan.modules.placing = False
    plan.modules.roots.clear()
    return _traced(plan, limits)
