"""A trace worker that is started anew for one request: the fallback where no warm worker can be had."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tvls.environments import launch
from tvls.environments.processes import ended, guard, kill_group, kill_marked
from tvls.tracing.output import collect
from tvls.tracing.run import READ_LIMIT, Run

_GRACE = 1.0
"""Seconds that the supervisor of the trace gets to end it before everything is killed from here."""


async def begin_cold(
    command: Sequence[str], request: bytes, *, folder: str, script: Path, tasks: set[asyncio.Task[Any]]
) -> Run:
    """Start a worker and give it a request of one line. Raises OSError where it cannot be started."""
    loop = asyncio.get_running_loop()
    errors, errors_end = os.pipe()
    mark = launch.new_mark()
    try:
        process = launch.start(
            command,
            ["trace", "--supervised"],
            folder=folder,
            mark=mark,
            script=script,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors_end,
        )
    except BaseException:
        os.close(errors)
        raise
    finally:
        os.close(errors_end)
    release = guard(process)
    exited: asyncio.Future[int | None] = loop.create_future()
    closing = asyncio.Event()

    async def watch() -> None:
        """See the process to its end: by itself, or by the end of its standard input, or killed."""
        ending = asyncio.ensure_future(ended(process))
        asked = asyncio.ensure_future(closing.wait())
        await asyncio.wait({ending, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        await asyncio.wait({ending}, timeout=None if not closing.is_set() else _GRACE)
        if not ending.done() or ending.result() not in (0, 1):  # the supervisor did not end by its own decision
            kill_group(process)
            await asyncio.to_thread(kill_marked, mark)
        code = await ending
        release()
        if not exited.done():
            exited.set_result(code)

    watching = loop.create_task(watch())
    tasks.add(watching)
    watching.add_done_callback(tasks.discard)
    open_ends: list[Callable[[], None]] = []

    def close() -> None:
        closing.set()
        for close_end in open_ends:
            close_end()

    try:
        output = await collect(errors)
        open_ends.append(output.close)
        reader = asyncio.StreamReader(limit=READ_LIMIT)
        incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
        open_ends.append(incoming.close)
        # Stays open: its end is the order to end.
        outgoing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        # A transport whose other end went first has closed itself, and does not bear to be told again.
        open_ends.append(lambda: None if outgoing.is_closing() else outgoing.abort())
        outgoing.write(request)
    except BaseException:
        close()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:  # a second close of one that a transport closes does nothing
                pipe.close()
        raise
    return Run(reader, exited, output, close, release)
