"""`tvls open FILE:NAME`, or GRAPH.json: the canvas in a browser, without an editor."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

from tvls import graph
from tvls.canvas import files
from tvls.canvas.browser import forwarding, open_browser, over_ssh, screen_is_here
from tvls.canvas.outcome import Outcome, failed
from tvls.canvas.server import CanvasServer
from tvls.commands.exits import DONE, FAILED, USAGE
from tvls.commands.graph_file import SUFFIX, read_graph, write_page
from tvls.commands.request import read_request, tell_failure, warn_of_setup, with_values
from tvls.commands.terminal import Terminal, complain, refuse, report
from tvls.printable import printable_text
from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError
from tvls.session import Session


async def open_command(arguments: argparse.Namespace) -> int:
    """Serves the graph until Ctrl-C or SIGTERM; with `--until-stdin-ends` also until then.

    The page of a graph file needs nobody who serves it.
    """
    if (arguments.target or "").endswith(SUFFIX):
        return await asyncio.to_thread(_open_graph, arguments)
    asked = await read_request(arguments)
    if asked is None:
        return USAGE
    params, folder, chosen = asked
    if not files.is_built():
        complain(f"the page is not built: {files.STATIC} is empty. In a checkout, run `make canvas`.")
        return FAILED
    host = Terminal(arguments.trust)
    session = Session(host, chosen)
    session.set_folders([folder])
    canvas = CanvasServer(session, _no_editor)
    try:
        if arguments.trust:
            session.tools.trust.grant(folder, persist=False)
        stated = await with_values(session, params, arguments)
        if stated is None:
            return USAGE
        params = stated
        capture, missing = None, None
        try:
            capture = (await session.open(params, host.progress)).capture
        except TvlsError as error:
            host.done()
            with_form = error.kind in ("setupRequired", "setupInvalid") and _on_a_terminal()
            if not with_form:
                return await tell_failure(session, error, params, arguments.target)
            report(error)
            missing = error  # the page has a form for it
        host.done()
        await warn_of_setup(session, folder, params)
        canvas.tell(params, failed(missing) if missing is not None else Outcome(capture=capture))
        address = await canvas.address(params)
        print(address, flush=True)
        tunnel = forwarding(address)
        if tunnel:
            complain(f"on the machine that you sit at, first run: {tunnel}")
        if not arguments.no_browser:
            open_browser(address)
        await _until_told(arguments.until_stdin_ends)
    finally:
        await canvas.aclose()
        await session.aclose()
    return DONE


def _open_graph(arguments: argparse.Namespace) -> int:
    """Runs nothing of any workspace, so that no trust is needed."""
    for_a_model = ("profile", "input", "init", "seed", "device", "measure", "limit", "python")
    given = [f"--{name}" for name in for_a_model if getattr(arguments, name) not in (None, [])]
    if given:
        return refuse(f"{', '.join(given)} would be for a model; {arguments.target} is a graph that was traced already")
    file = Path(arguments.target)
    try:
        _, document = read_graph(file)
        if "failure" in document:
            print(printable_text(graph.failure_text(document)), end="")
            return FAILED
        page = Path(tempfile.mkdtemp(prefix="tvls-")) / f"{file.stem}.html"
        write_page(document, file.name, page)
    except ValueError as error:
        return refuse(str(error))
    except TvlsError as error:
        return report(error)
    print(page.as_uri(), flush=True)
    if over_ssh() and not screen_is_here():
        complain("the page is a file of this machine: copy it to the one that you sit at, and open it there")
    if not arguments.no_browser and (opening := open_browser(page.as_uri())):
        opening.join()
    return DONE


async def _no_editor(_: t.Location) -> bool:
    return False


def _on_a_terminal() -> bool:
    return sys.stdin.isatty() or sys.stdout.isatty()


async def _until_told(until_stdin_ends: bool) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    if _on_a_terminal():
        complain("Ctrl-C ends it")
    if until_stdin_ends:

        def read() -> None:
            while os.read(0, 4096):
                pass
            loop.call_soon_threadsafe(told.set)

        threading.Thread(target=read, daemon=True).start()
    await told.wait()
