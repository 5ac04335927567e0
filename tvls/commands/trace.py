"""`tvls trace FILE:NAME`"""

from __future__ import annotations

import argparse
import asyncio

from tvls import graph
from tvls.capture.encoding import canonical_json
from tvls.commands.exits import DONE, USAGE
from tvls.commands.request import read_request, tell_failure, warn_of_setup, with_values
from tvls.commands.terminal import Terminal, refuse
from tvls.printable import printable_text
from tvls.protocol.errors import TvlsError
from tvls.session import Session


async def trace_command(arguments: argparse.Namespace) -> int:
    if arguments.output is not None and not arguments.output.absolute().parent.is_dir():
        return refuse(
            f"there is no folder {arguments.output.parent} to write {arguments.output.name} into", arguments.json
        )
    asked = await read_request(arguments)
    if asked is None:
        return USAGE
    params, folder, chosen = asked
    host = Terminal(arguments.trust)
    session = Session(host, chosen)
    session.set_folders([folder])
    try:
        if arguments.trust:
            session.tools.trust.grant(folder, persist=False)
        stated = await with_values(session, params, arguments)
        if stated is None:
            return USAGE
        result = await session.open(stated, host.progress)
        host.done()
        capture = session.tools.captures.get(result.capture.capture_id).capture
        await warn_of_setup(session, folder, params)
    except TvlsError as error:
        host.done()
        await warn_of_setup(session, folder, params)
        return await tell_failure(session, error, params, arguments.target, arguments.json)
    finally:
        await session.aclose()
    data = canonical_json(capture)
    if arguments.output is not None:
        try:
            await asyncio.to_thread(arguments.output.write_bytes, data)
        except OSError as error:
            return refuse(f"{arguments.output} cannot be written: {error.strerror}", arguments.json)
    if arguments.json:
        print(data.decode())
    elif arguments.output is None or arguments.max_lines or arguments.depth:
        print(printable_text(graph.outline(capture, max_lines=arguments.max_lines, depth=arguments.depth)), end="")
    else:
        print(f"{arguments.output}: {len(capture['operations'])} operations, coverage {capture['coverage']['status']}")
    return DONE
