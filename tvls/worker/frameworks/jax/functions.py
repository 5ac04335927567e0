"""Functions: any callable, with arguments from the setup's `inputs`; programs of Haiku, and modules of Equinox."""

from __future__ import annotations

from typing import Any, Dict, List

from tvls.worker.frameworks.jax import equinox, haiku, nnx
from tvls.worker.frameworks.jax.tracing import Plan
from tvls.worker.job import Job, SetupFault, type_name


def plan(job: Job) -> Plan:
    """The plan of calling the target, or the callable that its init factory returns. Raises SetupFault."""
    notes: List[str] = []
    with job.phase("init"):
        target = equinox.build(job, notes) if equinox.makes_module(job) else _function(job)
    if haiku.is_program(target):
        return haiku.plan(job, target)
    return nnx.plan_call(job, target, notes)


def _function(job: Job) -> Any:
    saved: Dict[str, Any] = job.setup.get("init") or {}
    if "factory" in saved:
        made = job.load_factory(saved["factory"])
        if not callable(made) and not haiku.is_program(made):
            message = f"the init factory of a function must return a callable, not {type_name(made)}"
            raise SetupFault("init", message, "init.factory")
        return made
    if saved.get("args") or saved.get("kwargs"):
        key = "init.args" if saved.get("args") else "init.kwargs"
        raise SetupFault("init", "a function takes its arguments from inputs; its init stays empty", key)
    if not callable(job.target) and not haiku.is_program(job.target):
        raise SetupFault("setup", f"{job.name} is not callable; it is {type_name(job.target)}", "model")
    return job.target
