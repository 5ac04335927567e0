"""What a worker prints, kept to the last 64 KiB."""

from __future__ import annotations

import asyncio
import os
from typing import Final, cast

from tvls.environments.launch import without_own_folder

SIZE: Final = 64 * 1024
_UNPACED = 1 << 20
_PACE = 0.01


class Output(asyncio.Protocol):
    """Reads standard error as it comes. A worker that prints without end is read at a pace that spares the loop."""

    def __init__(self) -> None:
        self._tail = bytearray()
        self._total = 0
        self._transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._tail += data
        del self._tail[:-SIZE]
        self._total += len(data)
        if self._total > _UNPACED and self._transport is not None:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(_PACE, self._resume)

    def _resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def catch_up(self) -> None:
        """Read what is in the pipe now: all that a worker printed before it sent what has been received from it."""
        if self._transport is None or self._transport.is_closing():
            return
        fd = self._transport.get_extra_info("pipe").fileno()
        for _ in range(16):  # a pipe holds less; what comes meanwhile is of processes that the worker left behind
            try:
                data = os.read(fd, SIZE)
            except BlockingIOError:
                return
            if not data:
                return
            self._tail += data
            del self._tail[:-SIZE]

    def last_lines(self, lines: int = 20, characters: int = 4000) -> str | None:
        """The end of it as text; None where nothing was printed."""
        text = without_own_folder(self._tail.decode("utf-8", "replace")).rstrip()
        return "\n".join(text.splitlines()[-lines:])[-characters:] or None


async def collect(fd: int) -> Output:
    """Collect what comes out of a pipe, which is owned from here on."""
    pipe = os.fdopen(fd, "rb", buffering=0)
    try:
        _, output = await asyncio.get_running_loop().connect_read_pipe(Output, pipe)
    except BaseException:
        pipe.close()
        raise
    return output
