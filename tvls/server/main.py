"""The running server: a channel, the message layer and the table of handlers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from logging.handlers import QueueHandler, QueueListener
from typing import Any, Final

import platformdirs
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from tvls import __version__
from tvls.host import Host
from tvls.protocol.registry import METHODS
from tvls.server import commands, configuration, initialize, progress, stdio, sync
from tvls.server.code_action import code_action
from tvls.server.code_lens import code_lens
from tvls.server.documents import Documents
from tvls.server.framing import BrokenStreamError, Framer
from tvls.server.hover import hover
from tvls.server.requests import REQUESTS
from tvls.server.rpc import Protocol, strict_converter
from tvls.server.state import Server
from tvls.session import Session
from tvls.settings import Settings

logger = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 1.0
"""How long the last answers may take to reach the client."""
CLOSE_SECONDS: Final = 3.0
"""How long ending the workers may take before the process ends without waiting."""
PARENT_SECONDS: Final = 5.0
"""How often the server looks whether the editor still lives, should its end of the channel have been inherited."""


def build(make_session: Callable[[Host, Settings], Session]) -> Server:
    """A server with all its handlers, not connected yet."""
    client = LanguageServer("tvls", __version__, protocol_cls=Protocol, converter_factory=strict_converter)
    protocol = client.protocol
    assert isinstance(protocol, Protocol)  # noqa: S101 (the class named above)
    cache = platformdirs.user_cache_path("tvls", appauthor=False)
    server = Server(client, protocol, Documents(), cache, make_session)

    for method, run in {
        lsp.INITIALIZE: initialize.initialize,
        lsp.SHUTDOWN: shutdown,
        lsp.TEXT_DOCUMENT_CODE_LENS: code_lens,
        lsp.TEXT_DOCUMENT_CODE_ACTION: code_action,
        lsp.TEXT_DOCUMENT_HOVER: hover,
        lsp.WORKSPACE_EXECUTE_COMMAND: commands.execute,
        **{method.name: REQUESTS[method.name] for method in METHODS},
    }.items():
        protocol.on_request(method, partial(run, server))
    for method, run in {
        lsp.INITIALIZED: initialize.initialized,
        lsp.TEXT_DOCUMENT_DID_OPEN: sync.did_open,
        lsp.TEXT_DOCUMENT_DID_CHANGE: sync.did_change,
        lsp.TEXT_DOCUMENT_DID_CLOSE: sync.did_close,
        lsp.TEXT_DOCUMENT_DID_SAVE: sync.did_save,
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: sync.did_change_watched_files,
        lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: sync.did_change_folders,
        lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration.on_change,
        lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL: progress.on_cancel,
    }.items():
        protocol.on_notification(method, partial(run, server))
    return server


async def shutdown(server: Server, params: None) -> None:
    """Ends all work and the workers; afterwards only `exit` counts."""
    call = server.protocol.current_call()
    server.protocol.stage = "shutdown"
    server.protocol.cancel_all(keep=call.id if call else None)
    await server.session.aclose()


async def run(protocol: Protocol, channel: stdio.Channel, parent: Callable[[], int | None]) -> int:
    """Serves one client until `exit`, the end of its stream, or a signal. The exit code is LSP's."""
    loop = asyncio.get_running_loop()
    outbox = stdio.Outbox(channel.write_fd)
    await outbox.connect()
    end: asyncio.Future[int] = loop.create_future()

    def finish(code: int) -> None:
        if not end.done():
            end.set_result(code)

    protocol.send = outbox.write
    protocol.overloaded = lambda: outbox.overloaded
    protocol.on_exit = finish
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, finish, 128 + number)
    others: list[Awaitable[int]] = [_read(protocol, channel.read_fd), _closed(outbox), _orphaned(parent)]
    tasks = [asyncio.ensure_future(other) for other in others]
    await asyncio.wait([end, *tasks], return_when=asyncio.FIRST_COMPLETED)
    code = end.result() if end.done() else next(task.result() for task in tasks if task.done())
    for task in tasks:
        task.cancel()
    await protocol.close()
    await outbox.flush(FLUSH_SECONDS)
    return code


async def _read(protocol: Protocol, fd: int) -> int:
    framer = Framer()
    try:
        async for chunk in stdio.chunks(fd):
            for body in framer.feed(chunk):
                protocol.receive(body)
    except BrokenStreamError as error:
        logger.critical("the client's stream is broken: %s", error)
        return 1
    return 0 if protocol.stage == "shutdown" else 1


async def _closed(outbox: stdio.Outbox) -> int:
    await outbox.closed.wait()
    return 1


async def _orphaned(parent: Callable[[], int | None]) -> int:
    """Ends when the client's process is gone. A process that was never seen (another machine, a container) is not."""
    seen = False
    while True:
        pid = parent()
        if pid is not None:
            alive = _alive(pid)
            if seen and not alive:
                return 1
            seen = seen or alive
        await asyncio.sleep(PARENT_SECONDS)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is someone else's
        return True
    return True


async def _serve(server: Server, channel: stdio.Channel) -> int:
    try:
        return await run(server.protocol, channel, lambda: server.client.process_id)
    finally:
        if hasattr(server, "session"):
            async with asyncio.timeout(CLOSE_SECONDS):
                await server.session.aclose()


def start_logging() -> QueueListener:
    """Logs to standard error, through a thread: an editor that does not read it cannot stop the server."""
    records: queue.Queue[Any] = queue.Queue(10_000)

    class Lossy(QueueHandler):
        def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
            """A full queue loses records: nobody has read the 10,000 before it."""

    written = logging.StreamHandler(sys.stderr)
    written.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    listener = QueueListener(records, written)
    listener.start()
    root = logging.getLogger()
    root.addHandler(Lossy(records))
    root.setLevel(os.environ.get("TVLS_LOG", "WARNING").upper())
    logging.getLogger("pygls").setLevel(logging.WARNING)  # it logs whole messages
    return listener


def serve_stdio(make_session: Callable[[Host, Settings], Session]) -> int:
    channel = stdio.claim()
    log = start_logging()
    code = run_to_end(_serve(build(make_session), channel))
    with contextlib.suppress(queue.Full):
        log.stop()
    return code


def run_to_end(work: Awaitable[int]) -> int:
    """Runs the loop, and sees to it that the process ends afterwards, whatever thread still hangs."""

    async def main() -> int:
        return await work

    loop = asyncio.new_event_loop()
    code = 1
    try:
        code = loop.run_until_complete(main())
    except TimeoutError:
        logger.critical("the workers did not end in time")
    finally:
        last = threading.Timer(CLOSE_SECONDS, os._exit, [code])
        last.daemon = True
        last.start()
    return code
