"""`tvls/environment/*` with progress, and the same for editors that have nothing but commands and questions."""

from __future__ import annotations

import re
import shlex
from typing import Any

from lsprotocol import types as lsp

from tvls.capture.document import TargetKind
from tvls.protocol import types as t
from tvls.protocol import types_environment as te
from tvls.protocol.errors import TvlsError, sentence
from tvls.server.progress import progress
from tvls.server.questions import NOT_NOW, NobodyAsked, ask
from tvls.server.show import show_file
from tvls.server.state import Server

INSTALL = "tvls.server.installLibraries"
APPROVE = "Approve"
SHOW_PLAN = "Show what would be installed"
_OFFERED = 8
"""Interpreters in one question; more are not read."""

Token = int | str | None


class FolderArgument(t.Wire, frozen=True, kw_only=True):
    folder: str | None = None


class SelectArgument(t.Wire, frozen=True, kw_only=True):
    """Without a command the person is asked."""

    folder: str | None = None
    command: list[str] | None = None


class InstallArgument(t.Wire, frozen=True, kw_only=True):
    """What to plan, or the id of a plan that is approved."""

    folder: str | None = None
    command: list[str] | None = None
    kind: TargetKind | None = None
    requirements: list[str] | None = None
    plan_id: str | None = None


async def probe(server: Server, params: te.EnvironmentProbeParams) -> te.EnvironmentInfo:
    with progress(server, "Look at the environment", params.work_done_token) as shown:
        return await server.session.environment_probe(params, shown.report)


async def plan(server: Server, params: te.EnvironmentPlanParams) -> te.EnvironmentPlan:
    with progress(server, "Plan an installation", params.work_done_token) as shown:
        return await server.session.environment_plan(params, shown.report)


async def install(server: Server, params: te.EnvironmentInstallParams) -> te.EnvironmentInstallResult:
    with progress(server, "Install", params.work_done_token) as shown:
        result = await server.session.environment_install(
            params, shown.report, lambda message: server.show(lsp.MessageType.Warning, message)
        )
    server.shown.lacking.clear()  # what is still missing is found out when a graph is opened
    return result


# --- for editors without a plugin ------------------------------------------------------------------------------------


async def install_command(server: Server, argument: InstallArgument, token: Token) -> Any:
    """Plans, shows the plan as a document, asks, and installs. Answers the plan where it is not approved here."""
    if argument.plan_id is not None:
        return await _install_and_say(server, argument.plan_id, token)
    planned = await plan(
        server,
        te.EnvironmentPlanParams(
            folder=argument.folder,
            command=argument.command or [],
            kind=argument.kind,
            requirements=argument.requirements or [],
            work_done_token=token,
        ),
    )
    summary = server.session.plans.summary(planned.plan_id)
    if not planned.changes:
        server.show(lsp.MessageType.Info, summary)
        return planned
    where = await _show_text(server, "installation", planned.plan_id, planned.text)
    try:
        answer = await ask(server, f"{summary}{where}", [APPROVE, NOT_NOW], lsp.MessageType.Warning)
    except NobodyAsked:
        server.show(
            lsp.MessageType.Info,
            f"{summary}{where} To approve it, run the command {INSTALL} with the argument "
            f'{{"planId": "{planned.plan_id}"}}.',
        )
        return planned
    return await _install_and_say(server, planned.plan_id, None) if answer == APPROVE else planned


async def _install_and_say(server: Server, plan_id: str, token: Token) -> te.EnvironmentInstallResult:
    result = await install(server, te.EnvironmentInstallParams(plan_id=plan_id, work_done_token=token))
    server.show(lsp.MessageType.Info, result.message)
    return result


async def offer_installation(server: Server, message: str, lacking: t.ErrorData) -> None:
    """After a graph could not be opened for want of a library: the way to an installation, one question long."""
    try:
        answer = await ask(server, message, [SHOW_PLAN, NOT_NOW], lsp.MessageType.Warning)
    except NobodyAsked:
        server.show(lsp.MessageType.Error, f"{sentence(message)} {lacking.next_step}")
        return
    if answer != SHOW_PLAN:
        return
    try:
        await install_command(server, lacking_argument(lacking), None)
    except TvlsError as error:  # nobody waits for an answer that could hold it
        server.show(lsp.MessageType.Error, error.told)


def lacking_argument(lacking: t.ErrorData) -> InstallArgument:
    """What the error `environmentInvalid` says to plan."""
    return InstallArgument(folder=lacking.folder, command=lacking.interpreter, requirements=lacking.requirements)


def can_be_mended(data: t.ErrorData) -> bool:
    """Also an error about the setup may say that libraries lack, too."""
    return bool(data.requirements)


async def select_command(server: Server, argument: SelectArgument) -> te.EnvironmentListResult:
    found = server.session.environment_list(te.EnvironmentListParams(folder=argument.folder))
    command = argument.command
    if command is None:
        titles = {_title(interpreter): interpreter for interpreter in found.interpreters[:_OFFERED]}
        try:
            answer = await ask(server, "Which Python are graphs of this folder traced with?", list(titles))
        except NobodyAsked:
            listed = "; ".join(titles) or "none was found"
            server.show(
                lsp.MessageType.Info,
                f"Pythons: {listed}. To choose one, run the command tvls.server.selectInterpreter with the argument "
                f'{{"folder": "{found.folder}", "command": ["…"]}}.',
            )
            return found
        if answer not in titles:
            return found
        command = titles[answer].command
    return await server.session.environment_select(te.EnvironmentSelectParams(folder=found.folder, command=command))


def _title(interpreter: te.InterpreterInfo) -> str:
    version = f" (Python {interpreter.python})" if interpreter.python else ""
    return f"{shlex.join(interpreter.command)}{version}: {interpreter.why}"


async def show_command(server: Server, argument: FolderArgument, token: Token) -> te.EnvironmentInfo:
    info = await probe(server, te.EnvironmentProbeParams(folder=argument.folder, work_done_token=token))
    where = await _show_text(server, "environment", info.prefix, environment_text(info))
    server.show(lsp.MessageType.Info, f"{info.verdict}{where}")
    return info


def environment_text(info: te.EnvironmentInfo) -> str:
    """The verdict as a document for people."""
    lines = [f"{shlex.join(info.command)}: {info.verdict}", ""]
    for library in info.libraries:
        lines.append(f"  {library.name:8} {library.version or '-':14} {library.message or 'ok'}")
    for offer in info.frameworks:
        lines += ["", f"{offer.framework}: {offer.reason or 'usable'}"]
        if offer.reason is None:
            offered = [choice.value for choice in (*offer.devices, *offer.dtypes) if choice.reason is None]
            lines.append(f"  {', '.join(offered)}")
            reasons: dict[str, list[str]] = {}
            for choice in (*offer.devices, *offer.dtypes):
                if choice.reason is not None:
                    reasons.setdefault(choice.reason, []).append(choice.value)
            lines += [f"  not {', '.join(values)}: {reason}" for reason, values in reasons.items()]
    return "\n".join(lines) + "\n"


async def _show_text(server: Server, name: str, key: str, text: str) -> str:
    """Opens a text in the editor. Returns what a message adds to say where it is, if it does not."""
    folder = server.cache_dir / "environments" / re.sub(r"[^0-9A-Za-z]+", "-", key)[-64:]
    path = folder / f"{name}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        server.log(lsp.MessageType.Warning, f"{path} could not be written ({error.strerror}):\n{text}")
        return " The whole text is in the log."
    return "" if await show_file(server, path) else f" All of it: {path}"
