"""`tvls trace FILE:NAME`"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from tvls import graph
from tvls.capture.encoding import canonical_json
from tvls.commands.exits import DONE, USAGE
from tvls.commands.terminal import Terminal, absolute, complain, report, settings, workspace_folder
from tvls.printable import printable_text
from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError
from tvls.session import Session
from tvls.setup.read import SETUP_FILE
from tvls.setup.shorthand import parse_inits, parse_inputs
from tvls.uris import to_uri


async def trace_command(arguments: argparse.Namespace) -> int:
    try:
        params, folder = _params(arguments)
        chosen = settings(arguments.python, arguments.limit)
    except ValueError as error:
        complain(str(error))
        return USAGE
    except TvlsError as error:
        report(error)
        return USAGE
    host = Terminal(arguments.trust)
    session = Session(host, chosen)
    session.set_folders([folder])
    try:
        if arguments.trust:
            session.tools.trust.grant(folder, persist=False)
        result = await session.open(params, host.progress)
        host.done()
        capture = session.tools.captures.get(result.capture.capture_id).capture
        _warn(session, folder, params)
    except TvlsError as error:
        host.done()
        _warn(session, folder, params)
        return report(error, arguments.json)
    finally:
        await session.aclose()
    data = canonical_json(capture)
    if arguments.output is not None:
        try:
            await asyncio.to_thread(arguments.output.write_bytes, data)
        except OSError as error:
            complain(f"{arguments.output} cannot be written: {error.strerror}")
            return USAGE
    if arguments.json:
        print(data.decode())
    elif arguments.output is None or arguments.max_lines or arguments.depth:
        print(printable_text(graph.outline(capture, max_lines=arguments.max_lines, depth=arguments.depth)), end="")
    else:
        print(f"{arguments.output}: {len(capture['operations'])} operations, coverage {capture['coverage']['status']}")
    return DONE


def _warn(session: Session, folder: Path, params: t.OpenParams) -> None:
    """What is odd in the setup file, such as a key that nobody reads, where the file was used."""
    if params.setup is None:
        for problem in session.setup_problems(folder):
            line = f":{problem.span.line + 1}" if problem.span else ""
            key = f"{problem.key}: " if problem.key else ""
            complain(f"{SETUP_FILE}{line}: {key}{problem.message}")


def _params(arguments: argparse.Namespace) -> tuple[t.OpenParams, Path]:
    if arguments.output is not None and not arguments.output.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {arguments.output.parent} to write {arguments.output.name} into")
    inline = bool(arguments.input or arguments.init or arguments.seed is not None or arguments.device)
    if arguments.target is None:
        if arguments.profile is None:
            raise ValueError("name a target, such as model.py:net, or a profile with --profile")
        if inline:
            raise ValueError("--input, --init, --seed and --device make a setup of their own; they need a target")
        folder = workspace_folder(arguments.folder, Path.cwd())
        return t.OpenParams(profile=arguments.profile, folder=to_uri(folder)), folder
    file, colon, name = arguments.target.rpartition(":")
    if not colon or not file or not name:
        raise ValueError(f"{arguments.target!r} is not FILE:NAME, such as model.py:net")
    path = absolute(Path(file))
    if not path.is_file():
        raise ValueError(f"there is no file {file}")
    if inline and arguments.profile:
        raise ValueError("--profile is a setup; --input, --init, --seed and --device make another")
    folder = workspace_folder(arguments.folder, path)
    if not path.is_relative_to(folder):
        raise ValueError(f"{file} is not in the folder {folder}")
    setup = None
    if inline:
        setup = t.InlineSetup(
            device=arguments.device or "cpu",
            seed=arguments.seed or 0,
            init=parse_inits(arguments.init),
            inputs=parse_inputs(arguments.input),
        )
    return t.OpenParams(target=t.TargetRef(uri=to_uri(path), name=name), profile=arguments.profile, setup=setup), folder
