"""From “a library is missing” to an approved installation: plan, show, approve, install."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tvls.analysis.faults import analysis_faults
from tvls.capture.document import TargetKind
from tvls.environments.install import install, state
from tvls.environments.plan import Plan, describe, make_plan, summarize
from tvls.environments.probe import NEEDED, Environment, requirement
from tvls.opening import Tools, refuse_untrusted_home
from tvls.protocol import types_environment as te
from tvls.protocol.errors import TvlsError
from tvls.selecting import named_folder, trusted_environment
from tvls.uris import to_uri

MAX_PLANS: Final = 16
"""Plans kept at once; the oldest goes first."""


class Plans:
    """Plans that were shown and not carried out yet, and the environments that are being changed."""

    def __init__(self) -> None:
        self._plans: OrderedDict[str, tuple[Plan, Path]] = OrderedDict()
        self.busy: set[str] = set()
        """Prefixes of environments with an installation under way."""

    def add(self, plan: Plan, folder: Path) -> None:
        self._plans[plan.id] = plan, folder
        while len(self._plans) > MAX_PLANS:
            self._plans.popitem(last=False)

    def take(self, plan_id: str) -> tuple[Plan, Path]:
        """A plan is carried out once. TvlsError `planGone`."""
        found = self._plans.pop(plan_id, None)
        if found is None:
            message = "There is no such plan: it was carried out, or others have taken its place."
            raise TvlsError("planGone", message, "Plan again.")
        return found

    def summary(self, plan_id: str) -> str:
        return summarize(self._plans[plan_id][0])


async def plan_installation(
    tools: Tools, plans: Plans, params: te.EnvironmentPlanParams, progress: Callable[[str], None]
) -> te.EnvironmentPlan:
    """Asks for trust where it must: the dry run is a run of the folder's Python."""
    folder = named_folder(tools, params.folder)
    requirements = params.requirements or await _needed(tools, folder, params.kind)
    environment = await trusted_environment(tools, folder, params.command, progress)
    _refuse_busy(plans, environment)
    progress("asking the installer")
    plan = await make_plan(environment, requirements, _notes(folder, environment), progress)
    refuse_untrusted_home(tools, folder, environment.command)
    plans.add(plan, folder)
    return te.EnvironmentPlan(
        plan_id=plan.id,
        folder=to_uri(folder),
        interpreter=environment.executable,
        requirements=plan.requirements,
        installer=f"{plan.installer.name} {plan.installer.version}",
        command=plan.command,
        changes=plan.changes,
        held=plan.held,
        notes=plan.notes,
        text=describe(plan),
    )


async def install_plan(
    tools: Tools,
    plans: Plans,
    params: te.EnvironmentInstallParams,
    progress: Callable[[str], None],
    on_stopped: Callable[[str], None],
) -> te.EnvironmentInstallResult:
    """Carries out an approved plan. Where it is cancelled, `on_stopped` is told in words what there is now."""
    plan, folder = plans.take(params.plan_id)
    environment = plan.environment
    refuse_untrusted_home(tools, folder, environment.command)
    _refuse_busy(plans, environment)

    def on_line(line: str) -> None:
        progress(line)
        tools.host.log("info", line)

    plans.busy.add(environment.prefix)
    try:
        message = await install(plan, on_line)
    except asyncio.CancelledError:
        told = asyncio.ensure_future(state(plan))
        left = await asyncio.shield(told)
        on_stopped(f"The installation was cancelled. {left}")
        raise
    finally:
        plans.busy.discard(environment.prefix)
        tools.pool.retire(environment.command)  # the next trace starts a worker with what is installed then
        tools.host.changed()
    return te.EnvironmentInstallResult(message=message, changes=plan.changes)


def _refuse_busy(plans: Plans, environment: Environment) -> None:
    if environment.prefix in plans.busy:
        raise TvlsError(
            "planRefused",
            f"An installation into {environment.prefix} is under way.",
            "Wait until it is done.",
            reason="busy",
        )


async def _needed(tools: Tools, folder: Path, kind: TargetKind | None) -> list[str]:
    """What targets of `kind`, or those that were found in the folder, need."""
    kinds: set[TargetKind] = {kind} if kind else set()
    if kind is None:
        with analysis_faults():
            kinds = {target.kind for target in await tools.analysis.index([folder])}
    needed = dict.fromkeys(library for of, libraries in NEEDED.items() if of in kinds for library in libraries)
    if not needed:
        raise TvlsError(
            "planRefused",
            f"No models were found in {folder}, so nothing is known to be missing.",
            "Name what to install, such as `jax` or `flax`.",
            reason="nothingNeeded",
        )
    return [requirement(library) for library in needed]


_MANAGERS: Final = (
    ("uv.lock", "uv", "uv add", "uv sync"),
    ("poetry.lock", "Poetry", "poetry add", "poetry sync"),
    ("Pipfile", "Pipenv", "pipenv install", "pipenv sync"),
    ("pixi.lock", "Pixi", "pixi add", "pixi install"),
)


def _notes(folder: Path, environment: Environment) -> list[str]:
    notes: list[str] = []
    for file, name, adds, undoes in _MANAGERS:
        if (folder / file).is_file():
            notes.append(
                f"{name} manages this project ({file}). `{adds}` records a dependency there; what is installed here is "
                f"not recorded, and `{undoes}` may remove it."
            )
    if (Path(environment.prefix) / "conda-meta").is_dir():
        notes.append("This is a Conda environment: Conda does not know of what pip installs into it.")
    if Path("/proc/driver/nvidia/version").exists():
        notes.append("This machine has an NVIDIA GPU. jax alone computes on the CPU; ask for jax[cuda13] to use it.")
    return notes
