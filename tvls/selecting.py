"""Which Python a folder is captured with, and what can be chosen with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from tvls.environments.check import check
from tvls.environments.find import Interpreter, Selected, eligible, explain, find, program_fault
from tvls.environments.probe import Environment, probe
from tvls.opening import Tools, pass_trust, refuse_untrusted_home, selected
from tvls.protocol import types_environment as te
from tvls.protocol.errors import TvlsError
from tvls.uris import to_path, to_uri


def list_interpreters(tools: Tools, params: te.EnvironmentListParams) -> te.EnvironmentListResult:
    folder = named_folder(tools, params.folder)
    candidates = find(folder, selected(tools, folder))
    usable = eligible(candidates)
    first = usable[0].command if usable else None
    return te.EnvironmentListResult(
        folder=to_uri(folder),
        interpreters=[
            te.InterpreterInfo(
                command=list(candidate.command),
                origin=candidate.origin,
                why=explain(candidate, folder),
                python=candidate.python,
                prefix=candidate.prefix,
                selected=candidate.command == first,
                automatic=candidate.automatic,
            )
            for candidate in candidates
        ],
        trusted=tools.trust.is_trusted(folder),
    )


async def select_interpreter(tools: Tools, params: te.EnvironmentSelectParams) -> te.EnvironmentListResult:
    """Remembers the choice, which may be made before trust. After it, what is no Python that runs is refused."""
    folder = named_folder(tools, params.folder)
    if any(not word for word in params.command):
        raise TvlsError("environmentInvalid", "A word of the command is empty.", "Name a program.")
    if params.command and params.by != "editor":  # what the editor has selected is told when it is used
        _refuse_absent(folder, params.command)
        await _refuse_unfit(tools, folder, params.command)
    if params.by == "editor":
        tools.choices.follow_editor(folder, params.command)
    else:
        try:
            tools.choices.choose(folder, params.command)
        except OSError as error:
            raise TvlsError(
                "environmentInvalid",
                f"The choice cannot be remembered: {error.filename or error} ({error.strerror}).",
                "Make the state directory of your user writable, or use the setting `tvls.interpreter`.",
            ) from error
        if params.command and tools.settings.interpreter_command() is not None:
            tools.host.log("warning", "The setting `tvls.interpreter` comes before the choice that was just made.")
    tools.host.changed()
    return list_interpreters(tools, te.EnvironmentListParams(folder=to_uri(folder)))


def _refuse_absent(folder: Path, command: Sequence[str]) -> None:
    fault = program_fault(find(folder, [Selected(tuple(command), "chosen")], {})[0].command)
    if fault is not None:
        raise TvlsError(
            "environmentInvalid",
            fault,
            "Name a Python, the folder of an environment, or a command that starts one, such as `uv run python`.",
            folder=to_uri(folder),
        )


async def _refuse_unfit(tools: Tools, folder: Path, command: Sequence[str]) -> None:
    try:
        await _probe(tools, folder, command)
    except TvlsError as error:
        if error.kind != "notTrusted":
            raise


async def probe_interpreter(
    tools: Tools, params: te.EnvironmentProbeParams, progress: Callable[[str], None]
) -> te.EnvironmentInfo:
    """Asks for trust first, as opening does; `environment_info` is for those who must not ask."""
    folder = named_folder(tools, params.folder)
    environment = await trusted_environment(tools, folder, params.command, progress)
    progress("importing its libraries")
    return await check(environment)


async def environment_info(tools: Tools, folder: Path) -> te.EnvironmentInfo:
    """What a setup can choose from with the selected Python of a trusted folder. Asks nobody.

    TvlsError `notTrusted`; `environmentInvalid` where no Python is found or the selected one does not run.
    """
    refuse_untrusted_home(tools, folder, ())
    return await check(await _probe(tools, folder, ()))


async def trusted_environment(
    tools: Tools, folder: Path, command: Sequence[str], progress: Callable[[str], None]
) -> Environment:
    """The Python that `command` names, or the selected one, once the folder is trusted."""
    chosen = list(command) or list(_first(tools, folder).command)
    await pass_trust(tools, folder, shlex.join(chosen))
    progress("environment")
    return await _probe(tools, folder, chosen)


async def _probe(tools: Tools, folder: Path, command: Sequence[str]) -> Environment:
    named = find(folder, [Selected(tuple(command), "chosen")], {})[0] if command else _first(tools, folder)
    refuse_untrusted_home(tools, folder, named.command)
    environment = await probe(named.command, str(folder))
    refuse_untrusted_home(tools, folder, named.command)  # trust may have been withdrawn meanwhile
    return environment


def _first(tools: Tools, folder: Path) -> Interpreter:
    candidates = eligible(find(folder, selected(tools, folder)))
    if not candidates:
        raise TvlsError(
            "environmentInvalid",
            f"No Python interpreter was found for {folder}.",
            "Create a virtual environment `.venv` in the folder, or select an interpreter.",
            folder=folder.as_uri(),
        )
    return candidates[0]


def named_folder(tools: Tools, uri: str | None) -> Path:
    """A workspace folder, or the only one. TvlsError `noWorkspace` where there is none or several."""
    if uri is not None:
        try:
            folder = to_path(uri)
            if not folder.is_dir():
                raise NotADirectoryError(f"there is no folder {folder}")
        except (OSError, ValueError) as error:
            message = f"{uri[:200]!r} is no folder: {error}"[:400]
            raise TvlsError("noWorkspace", message, "Name a folder that exists.") from error
        if folder not in tools.folders:
            message = f"{folder} is no folder of the workspace."
            raise TvlsError("noWorkspace", message, "Open it as a folder first.", folder=uri)
        return folder
    if len(tools.folders) != 1:
        raise TvlsError(
            "noWorkspace",
            f"The workspace has {len(tools.folders)} folders, and none was named.",
            "Name the folder." if tools.folders else "Open the folder that the models are in.",
        )
    return tools.folders[0]
