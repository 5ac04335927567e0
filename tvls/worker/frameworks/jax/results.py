"""Functions that make something to call, a module or another function, and compute nothing with their inputs.

Their program says nothing of the one that the person wants to see: it is empty, or draws initial parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Optional, Sequence

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.calls import Leaf
from tvls.worker.frameworks.jax.instances import is_nnx
from tvls.worker.frameworks.jax.trees import children
from tvls.worker.job import Job, SetupFault, type_of


@dataclass
class Made:
    """What a function returned: a module's class name, or None for a function or another callable."""

    module: Optional[str]
    stateful: bool = False
    """Whether the module is one of NNX: its arrays are state, and not parameters of its construction as Linen's are."""


def made_by(result: Any) -> Optional[Made]:
    """What there is to call in a result that holds no array outside of modules, or None."""
    leaves = list(_leaves(result))
    modules = [leaf for leaf in leaves if _is_module(leaf)]
    if any(isinstance(leaf, lib.jax.Array) for leaf in leaves if not _is_module(leaf)):
        return None
    if modules:
        return Made(type_of(modules[0]).__qualname__, any(is_nnx(module) for module in modules))
    # a container of JAX's that is called, such as a Partial, has no leaf of its own
    return Made(None) if any(callable(value) for value in (*leaves, result)) else None


def _leaves(value: Any) -> Iterator[Any]:
    """Leaves of a result, modules whole, in dictionaries too whose keys JAX cannot sort."""
    inner = children(value, _is_module)
    if inner is None:
        yield value
    else:
        for _, child in inner:
            yield from _leaves(child)


def refuse_unless_computed(made: Made, jaxpr: Any, leaves: Sequence[Leaf], job: Job) -> None:
    """Raises SetupFault unless the program reads an input that is more than a source of randomness.

    Passing one on as the state of a module counts, too.
    """
    data = {id(var) for var, leaf in zip(jaxpr.invars, leaves, strict=True) if not _is_random(leaf)}
    used = [atom for eqn in jaxpr.eqns for atom in eqn.invars]
    if made.stateful:
        used += jaxpr.outvars
    if any(id(atom) in data for atom in used):
        return
    if made.module is not None:
        message = f"{job.name} builds a model ({made.module}) and does not compute with it"
        hint = f"make {job.name} the init factory of a profile of {made.module}"
    else:
        message = f"{job.name} makes a function and does not compute with it"
        hint = f"make {job.name} the init factory of its profile, which then calls what it returns"
    raise SetupFault("setup", message, "model", hint=hint)


def _is_module(value: object) -> bool:
    return is_nnx(value) or (lib.linen is not None and isinstance(value, lib.linen.Module))


def _is_random(leaf: Leaf) -> bool:
    """Whether an input is a key, typed or not, or belongs to the random streams of NNX."""
    dtype: Any = leaf.array.dtype
    if leaf.collection in ("RngKey", "RngCount") or lib.jax.dtypes.issubdtype(dtype, lib.jax.dtypes.prng_key):
        return True
    return leaf.role == "input" and dtype == lib.np.uint32 and leaf.array.shape == (2,)
