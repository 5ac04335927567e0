"""Equinox module classes as targets: built from `init`, with a key made from the seed, and called in inference mode."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Dict, List, Set

from tvls.worker.classes import bound_arguments, class_of
from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.generators import generator
from tvls.worker.frameworks.jax.instances import has_equinox, is_equinox
from tvls.worker.job import Job, SetupFault, type_name
from tvls.worker.values import Budget, Making, build_call

_KEY = "key"
"""The parameter for random keys, by the convention of Equinox."""


def makes_module(job: Job) -> bool:
    """Whether the target is an Equinox module class, a partial of one, or a method of one."""
    made = class_of(job.maker)
    return has_equinox() and made is not None and issubclass(made, sys.modules["equinox"].Module)


def build(job: Job, notes: List[str]) -> Any:
    """The module to call, or its method. Its arrays are abstract, unless the constructor looks at values.

    Raises SetupFault, or what the constructor raises.
    """
    saved: Dict[str, Any] = job.setup.get("init") or {}
    target: Any = class_of(job.maker)
    if "factory" in saved:
        model = job.load_factory(saved["factory"])
        if not is_equinox(model) and not callable(model):
            message = f"the init factory must return a {target.__qualname__}, not {type_name(model)}"
            raise SetupFault("init", message, "init.factory")
    else:
        model = _fresh(job, target, saved, notes)
        if job.setup.get("mode", "eval") == "eval":
            model = sys.modules["equinox"].nn.inference_mode(model)
    if job.method is not None and isinstance(model, target):
        return getattr(model, job.method)
    if not callable(model):
        raise SetupFault("setup", f"{job.name} has no __call__; open one of its methods", "model")
    return model


def _fresh(job: Job, target: Any, saved: Dict[str, Any], notes: List[str]) -> Any:
    making = Making(Budget(job.limits), generator(int(job.setup.get("seed", 0))), job.find_class)
    call = build_call(saved, "init", making)
    positional, named = bound_arguments(job.maker)
    wants_key = _wants_key(target, positional + len(call.args), {*named, *call.kwargs})
    seed = int(job.setup.get("seed", 0))

    def construct() -> Any:
        key = {_KEY: lib.jax.random.key(seed)} if wants_key else {}
        return job.maker(*call.args, **call.kwargs, **key)

    notes.append("freshly_initialised")
    errors = lib.jax.errors
    try:
        return sys.modules["equinox"].filter_eval_shape(construct)
    except (errors.ConcretizationTypeError, errors.TracerArrayConversionError, errors.UnexpectedTracerError):
        notes.append("concrete_initialisation")
        return construct()


def _wants_key(target: Any, positional: int, named: Set[str]) -> bool:
    """Whether the constructor has a parameter for a key that the setup leaves out."""
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):  # a constructor of an extension type
        return False
    for index, parameter in enumerate(parameters):
        if parameter.name == _KEY:
            given = index < positional and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            return not given and _KEY not in named
    return False
