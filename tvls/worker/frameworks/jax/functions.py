"""Plain functions: any callable, with arguments from the setup's `inputs`."""

from __future__ import annotations

from typing import Any, Dict

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax import nnx
from tvls.worker.frameworks.jax.tracing import Plan
from tvls.worker.job import Job, SetupFault


def plan(job: Job) -> Plan:
    """The plan of calling the target, or the callable that its init factory returns. Raises SetupFault."""
    saved: Dict[str, Any] = job.setup.get("init") or {}
    target: Any = job.target
    if "factory" in saved:
        with job.phase("init"):
            target = job.load_factory(saved["factory"])
        if not callable(target):
            message = f"the init factory of a function must return a callable, not {lib.type_name(target)}"
            raise SetupFault("init", message, "init.factory")
    elif saved.get("args") or saved.get("kwargs"):
        key = "init.args" if saved.get("args") else "init.kwargs"
        raise SetupFault("init", "a function takes its arguments from inputs; its init stays empty", key)
    elif not callable(target):
        raise SetupFault("setup", f"{job.name} is not callable; it is {lib.type_name(target)}")
    return nnx.plan_call(job, target, [])
