"""What commands are asked to open."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import msgspec

from tvls.analysis.client import AnalysisError
from tvls.analysis.discover import discover
from tvls.commands.over_profile import over_profile
from tvls.commands.terminal import absolute, complain, refuse, report, settings, workspace_folder
from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError
from tvls.session import Session
from tvls.settings import Settings
from tvls.setup.arguments import parse_inits, parse_inputs
from tvls.setup.read import SETUP_FILE
from tvls.uris import to_uri


async def target_file(target: str) -> tuple[str, Path, str]:
    """Of FILE:NAME: the file as it was written, its absolute path, and the name; of FILE the one model in it.

    Raises ValueError.
    """
    if target.endswith(".py"):
        file, name = target, ""
    else:
        file, _, name = target.rpartition(":")
    if not file or not (name or file == target):
        raise ValueError(f"{target!r} is not FILE:NAME, such as model.py:net")
    path = absolute(Path(file))
    if not path.is_file():
        raise ValueError(f"there is no file {file}")
    return file, path, name or await _only_model(file, path)


_NAMED: Final = 12
"""Models that a message names at most."""


async def _only_model(file: str, path: Path) -> str:
    try:
        found = await discover([path])
    except (AnalysisError, FileNotFoundError) as error:
        raise ValueError(f"{file} cannot be read: {error}; name its model as {file}:NAME") from None
    fault = next((item.error for item in found.errors if item.path == str(path)), None)
    if fault is not None:
        at = f":{fault.line}" if fault.line else ""
        raise ValueError(f"{file}{at}: {'not valid Python: ' if fault.syntax else ''}{fault.message}")
    names = list(dict.fromkeys(target.name for target in found.targets))
    if len(names) == 1:
        return names[0]
    if not names:
        raise ValueError(f"no model is found in {file} by reading it; name a function or class of it as {file}:NAME")
    shown = ", ".join(f"{file}:{name}" for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more, which `tvls discover {file}` lists" if len(names) > _NAMED else ""
    raise ValueError(f"{file} has {len(names)} models; name one: {shown}{more}")


async def read_request(arguments: argparse.Namespace) -> tuple[t.OpenParams, Path, Settings] | None:
    """The request, the workspace folder and the settings; None for wrong usage, which was told then."""
    as_json: bool = getattr(arguments, "json", False)
    try:
        return *await _open_params(arguments), settings(arguments.python, arguments.limit)
    except ValueError as error:
        refuse(str(error), as_json)
    return None


async def _open_params(arguments: argparse.Namespace) -> tuple[t.OpenParams, Path]:
    """The request and the workspace folder. Raises ValueError for wrong usage."""
    inline = bool(arguments.input or arguments.init or arguments.seed is not None or arguments.device)
    if arguments.target is None:
        if arguments.profile is None:
            raise ValueError("name a target, such as model.py:net, or a profile with --profile")
        if inline:
            raise ValueError("--input, --init, --seed and --device make a setup of their own; they need a target")
        folder = workspace_folder(arguments.folder, Path.cwd())
        return t.OpenParams(profile=arguments.profile, folder=to_uri(folder), measure=arguments.measure), folder
    file, path, name = await target_file(arguments.target)
    folder = workspace_folder(arguments.folder, path)
    if not path.is_relative_to(folder):
        raise ValueError(f"{file} is not in the folder {folder}")
    setup = None
    if inline:
        setup = t.InlineSetup(device=arguments.device or "cpu", seed=arguments.seed or 0)
    target = t.TargetRef(uri=to_uri(path), name=name)
    return t.OpenParams(target=target, profile=arguments.profile, setup=setup, measure=arguments.measure), folder


async def with_values(session: Session, params: t.OpenParams, arguments: argparse.Namespace) -> t.OpenParams | None:
    """The request with what --init and --input state, read as the target's annotations take it; laid over the profile
    where one is named.

    None for what is no value, which was told then.
    """
    if params.setup is None or params.target is None:
        return params
    if params.profile is not None:
        try:
            setup = await over_profile(session, params.target, params.profile, arguments)
        except TvlsError as error:
            report(error, getattr(arguments, "json", False))
            return None
        return msgspec.structs.replace(params, profile=None, setup=setup)
    if names := await _profile_names(session, msgspec.structs.replace(params, setup=None)):
        note = f"the profile {names[0]!r} is not used: options make a setup of their own"
        complain(f"{note}; --profile {names[0]} lays them over it")
    target = await session.definition(params.target)
    init, call, types = (target.init_parameters, target.parameters, target.types) if target else ([], [], {})
    try:
        setup = msgspec.structs.replace(
            params.setup,
            init=parse_inits(arguments.init, init, types),
            inputs=parse_inputs(arguments.input, call, types),
        )
    except TvlsError as error:
        report(error, getattr(arguments, "json", False))
        return None
    return msgspec.structs.replace(params, setup=setup)


async def tell_failure(
    session: Session, error: TvlsError, params: t.OpenParams, target: str, as_json: bool = False
) -> int:
    """Reports an error with the next step of the command line, where that is another than in an editor."""
    if error.data.missing and error.data.uri is None:
        step = (
            "State them with --input NAME=VALUE (--init for the constructor), or save a profile with "
            f"`tvls setup {target}`."
        )
        if names := await _profile_names(session, params):
            step = f"State them, too, or lay these options over the profile: --profile {names[0]}."
        rest = error.data.next_step.partition(f" in {SETUP_FILE}.")[2]
        error.data = msgspec.structs.replace(error.data, next_step=f"{step}{rest}")
    return report(error, as_json)


async def warn_of_setup(session: Session, folder: Path, params: t.OpenParams) -> None:
    """What is odd in the file and in the profile that were used, such as a key that nobody reads."""
    if params.setup is not None:
        return
    used = (None, *(await _profile_names(session, params))[:1])
    for problem in session.setup(folder).problems:
        if problem.profile in used:
            line = f":{problem.span.line + 1}" if problem.span else ""
            key = f"{problem.key}: " if problem.key else ""
            complain(f"{SETUP_FILE}{line}: {key}{problem.message}")


async def _profile_names(session: Session, params: t.OpenParams) -> list[str]:
    try:
        return await session.profile_names(params)
    except TvlsError:  # there is no such target, which the request says itself
        return []
