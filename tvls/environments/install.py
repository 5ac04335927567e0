"""Carry out a plan that a person has approved, and tell what became of it."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tvls.environments.installer import installation, run_installer
from tvls.environments.plan import Plan
from tvls.environments.probe import fingerprint
from tvls.protocol.errors import TvlsError

_SAID_LINES = 30


async def install(plan: Plan, on_line: Callable[[str], None]) -> str:
    """Installs exactly what `plan` pins. Returns in one sentence what was done.

    TvlsError `planGone` where the environment is not as it was for the plan, `installFailed` where the installer fails
    or something else came of it than planned. When this is cancelled the installer is interrupted; `state` then tells
    what there is.
    """
    if await asyncio.to_thread(fingerprint, plan.environment) != plan.environment.fingerprint:
        raise TvlsError(
            "planGone",
            f"{plan.environment.prefix} has changed since the plan was made.",
            "Plan again, and approve what it says then.",
        )
    if not plan.changes:
        return f"{plan.environment.prefix} has everything that was asked for."
    with tempfile.TemporaryDirectory(prefix="tvls-install-") as place:
        folder = Path(place)
        (folder / "pinned.txt").write_text(plan.pinned(), "utf-8")
        on_line(shlex.join(plan.command))
        try:
            end = await run_installer(plan.command, folder, on_line, careful=True)
        except OSError as fault:
            message = f"{plan.command[0]} cannot be started: {fault.strerror}."
            raise TvlsError("installFailed", message, "Plan again.") from fault
    if end.code != 0:
        raise TvlsError(
            "installFailed",
            f"{plan.installer.name} failed with exit code {end.code}. {await state(plan)}",
            "See what it said; plan again once the cause is gone.",
            stderr="\n".join(end.lines[-_SAID_LINES:]),
        )
    after = (await installation(plan.environment)).distributions
    missing = [change for change in plan.changes if after.get(change.name) != change.version]
    moved = [name for name, version in plan.held.items() if after.get(name) != version]
    if missing or moved:
        raise TvlsError(
            "installFailed",
            f"{plan.installer.name} reports success, but {plan.environment.prefix} is not as planned: "
            f"{', '.join([change.name for change in missing] + moved)}. {describe_difference(plan, after)}",
            "Look at the environment in a terminal.",
            stderr="\n".join(end.lines[-_SAID_LINES:]),
        )
    asked = [f"{change.name} {change.version}" for change in plan.changes if change.requested]
    others = len(plan.changes) - len(asked)
    what = ", ".join(asked) or f"{others} packages"
    if asked and others:
        what += f" and {others} more"
    return f"Installed {what} into {plan.environment.prefix}."


async def state(plan: Plan) -> str:
    """What an installation that did not come to its end has left, in words."""
    try:
        after = (await installation(plan.environment)).distributions
    except TvlsError as error:
        return f"What it has left in {plan.environment.prefix} is not known: {error.message}"
    return describe_difference(plan, after)


def describe_difference(plan: Plan, after: Mapping[str, str]) -> str:
    before, where = plan.before, plan.environment.prefix
    done = [change for change in plan.changes if after.get(change.name) == change.version]
    gone = [f"{name} {version}" for name, version in before.items() if name not in after]
    if dict(before) == dict(after):
        return f"{where} is as it was before: nothing was installed."
    parts = [f"{len(done)} of {len(plan.changes)} packages of the plan are installed in {where}"]
    if done:
        parts[0] += f" ({', '.join(f'{change.name} {change.version}' for change in done[:8])}"
        parts[0] += ", …)" if len(done) > 8 else ")"
    if gone:
        parts.append(f"missing now: {', '.join(gone)}")
    return "; ".join(parts) + ". Plan again to complete it."
