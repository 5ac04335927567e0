"""The life of the server process: reading, signals, the ways it ends, its log."""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Awaitable, Coroutine
from logging.handlers import QueueHandler, QueueListener
from typing import Any, Final

from tvls.server import stdio
from tvls.server.framing import BrokenStreamError, Framer
from tvls.server.rpc import Protocol

logger = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 1.0
"""How long the last answers may take to reach the client."""
CLOSE_SECONDS: Final = 3.0
"""How long ending the workers may take before the process ends without waiting."""
PARENT_SECONDS: Final = 5.0
"""How often the server looks whether the editor still lives, should its end of the channel have been inherited."""


async def run(protocol: Protocol, channel: stdio.Channel) -> int:
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
    tasks: set[asyncio.Task[None]] = set()

    def until(ending: Coroutine[Any, Any, int]) -> None:
        async def ended() -> None:
            finish(await ending)

        tasks.add(asyncio.ensure_future(ended()))

    def watch_parent(pid: int | None) -> None:
        if pid is not None and _alive(pid):  # it is not seen from another machine or container
            until(_until_gone(pid))

    protocol.watch_parent = watch_parent
    until(_read(protocol, channel.read_fd))
    until(_closed(outbox))
    code = await end
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


async def _until_gone(pid: int) -> int:
    while _alive(pid):  # noqa: ASYNC110 (another process sets no event)
        await asyncio.sleep(PARENT_SECONDS)
    return 1


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is someone else's
        return True
    return True


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
    level = os.environ.get("TVLS_LOG", "WARNING").upper()
    root.setLevel(logging.getLevelNamesMapping().get(level, logging.WARNING))
    logging.getLogger("pygls").setLevel(logging.WARNING)  # it logs whole messages
    return listener
