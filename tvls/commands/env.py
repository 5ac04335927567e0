"""`tvls env list|use|plan|install`"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tvls.commands.exits import DONE, MISSING
from tvls.commands.terminal import Terminal, absolute, complain, read_answer, refuse, report, settings, workspace_folder
from tvls.environments.find import names_a_python
from tvls.printable import printable_text
from tvls.protocol import types as t
from tvls.protocol import types_environment as te
from tvls.protocol.errors import TvlsError
from tvls.session import Session


def env_command(arguments: argparse.Namespace) -> int:
    if "command" in arguments:
        _take_options(arguments)
    try:
        folder = workspace_folder(arguments.folder, Path.cwd())
        chosen = settings(arguments.python) if "python" in arguments else settings(None)
    except ValueError as error:
        return refuse(str(error), arguments.json)
    trust: bool = getattr(arguments, "trust", False)
    return asyncio.run(_with_session(arguments, folder, trust, chosen.interpreter_command()))


def _take_options(arguments: argparse.Namespace) -> None:
    """Options behind the command of `env use`: they are no words of it, which a Python would get as a script."""
    words: list[str] = arguments.command
    while words:
        match words:
            case [*words, "--json"]:
                arguments.json = True
            case [*words, "--forget"]:
                arguments.forget = True
            case [*words, "--folder", folder]:
                arguments.folder = Path(folder)
            case _:
                break
    arguments.command = words


async def _with_session(arguments: argparse.Namespace, folder: Path, trust: bool, interpreter: list[str] | None) -> int:
    host = Terminal(trust)
    session = Session(host, settings(None))
    session.set_folders([folder])
    run: Callable[[Session, Terminal, argparse.Namespace, list[str]], Awaitable[int]] = arguments.env
    try:
        if trust:
            session.tools.trust.grant(folder, persist=False)
        return await run(session, host, arguments, interpreter or [])
    except TvlsError as error:
        host.done()
        return report(error, arguments.json)
    finally:
        await session.aclose()


async def env_list(session: Session, host: Terminal, arguments: argparse.Namespace, _: list[str]) -> int:
    found = session.environment_list(te.EnvironmentListParams())
    if arguments.json:
        _print_json(found)
        return DONE
    for interpreter in found.interpreters:
        mark = "*" if interpreter.selected else " "
        version = f"Python {interpreter.python}" if interpreter.python else ""
        line = f"{mark} {shlex.join(interpreter.command)}  {version:14}  {interpreter.why}"
        print(printable_text(line if interpreter.automatic else f"{line} (only by choice)"))
    if not found.interpreters:
        complain("no Python was found; create one with `python3 -m venv .venv`, or name one with `tvls env use`")
        return MISSING
    return DONE


async def env_use(session: Session, host: Terminal, arguments: argparse.Namespace, _: list[str]) -> int:
    words: list[str] = arguments.command
    if bool(words) == arguments.forget:
        return refuse(
            "name a Python, such as .venv/bin/python or `uv run python`, or forget the choice with --forget",
            arguments.json,
        )
    if len(words) == 1:
        words = [_program(words[0])]
    found = await session.environment_select(te.EnvironmentSelectParams(command=words))
    if arguments.json:
        _print_json(found)
        return DONE
    selected = next((interpreter for interpreter in found.interpreters if interpreter.selected), None)
    print(printable_text(f"{shlex.join(selected.command)} ({selected.why})" if selected else "no Python was found"))
    if selected and words and not found.trusted and not names_a_python(selected.command, selected.python):
        complain("the folder is not trusted, so it was not started: whether it is a Python will be seen")
    return DONE


def _program(word: str) -> str:
    """A path as seen from here, of an environment's folder its interpreter; what is no path is found on PATH."""
    if not Path(word).exists():
        return word
    path = absolute(Path(word))
    inside = path / "bin" / "python"
    return str(inside if path.is_dir() and inside.exists() else path)


async def env_plan(session: Session, host: Terminal, arguments: argparse.Namespace, interpreter: list[str]) -> int:
    plan = await _plan(session, host, arguments, interpreter)
    if arguments.json:
        _print_json(plan)
    else:
        print(printable_text(plan.text), end="")
    return DONE


async def env_install(session: Session, host: Terminal, arguments: argparse.Namespace, interpreter: list[str]) -> int:
    plan = await _plan(session, host, arguments, interpreter)
    if not arguments.json:
        print(printable_text(plan.text), flush=True)
    if plan.changes and not arguments.yes and not _approved():
        if arguments.json:
            _print_json(plan)
        complain("nothing was installed; approve the plan here, or with --yes")
        return MISSING
    params = te.EnvironmentInstallParams(plan_id=plan.plan_id)
    result = await session.environment_install(params, _unshown, complain)  # its lines come by the log, once
    host.done()
    if arguments.json:
        _print_json(result)
    else:
        print(printable_text(result.message))
    return DONE


async def _plan(
    session: Session, host: Terminal, arguments: argparse.Namespace, interpreter: list[str]
) -> te.EnvironmentPlan:
    plan = await session.environment_plan(
        te.EnvironmentPlanParams(command=interpreter, requirements=arguments.requirements), host.progress
    )
    host.done()
    return plan


def _approved() -> bool:
    """Asks where there is somebody to ask."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return read_answer("Install it? [y/N] ").strip().lower() in ("y", "yes")


def _unshown(_: str) -> None:
    pass


def _print_json(value: t.Wire) -> None:
    print(msgspec.json.format(msgspec.json.encode(value), indent=1).decode())
