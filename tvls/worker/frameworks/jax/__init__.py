"""JAX and Flax: the traced program of `jax.make_jaxpr` as a capture."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Dict, List, Optional, Tuple

from tvls.worker.frameworks.jax import arrays, device, functions, libraries, linen, nnx
from tvls.worker.frameworks.jax.scopes import recorded_modules
from tvls.worker.frameworks.jax.tracing import document, trace
from tvls.worker.job import Job

__all__ = ["capture", "describe", "device_scope", "kind_of", "preload", "versions"]


def preload() -> None:
    """Import JAX and Flax and trace a tiny program, which fills JAX's own caches. Initialises no backend."""
    libraries.load()
    jax = libraries.jax

    def tiny(x: Any) -> Any:
        return jax.nn.relu(x @ x) + 1

    # a shape that no model has, so that no user program meets a result that was cached here
    jax.make_jaxpr(tiny)(jax.ShapeDtypeStruct((997, 997), "float32"))


def versions() -> Dict[str, str]:
    """Versions of Python, jax, jaxlib and, where installed, flax."""
    return libraries.versions()


def device_scope(device_name: str) -> AbstractContextManager[None]:
    """JAX's default device for everything in the context. Raises SetupFault (`device`) where it is not there."""
    return device.scope(device_name)


def describe(value: object) -> Optional[Tuple[List[int], str]]:
    """Shape and dtype of an array, tracer, abstract array or NNX variable; None for anything else."""
    return arrays.describe(value)


def kind_of(target: object) -> str:
    """Kind of a target that was not discovered in source."""
    if isinstance(target, type):
        if libraries.linen is not None and issubclass(target, libraries.linen.Module):
            return "flax.linen"
        if libraries.nnx is not None and issubclass(target, libraries.nnx.Module):
            return "flax.nnx"
    return "jax.function"


def capture(job: Job) -> Dict[str, Any]:
    """Trace the target and return the framework's part of the document, with `static` and `notes` for its setup record.

    Raises SetupFault, LimitExceeded, or whatever the user's code raises.
    """
    if job.kind == "flax.linen":
        traced = linen.traced(job)
    else:
        plan = nnx.plan(job) if job.kind == "flax.nnx" else functions.plan(job)
        with job.phase("trace"), recorded_modules(plan.modules):
            traced = trace(plan)
    with job.phase("encode"):
        return document(traced, job)
