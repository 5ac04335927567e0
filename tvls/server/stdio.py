"""Standard input and output as the channel of the protocol, and nothing else.

`claim` moves both to private descriptors. Afterwards descriptor 1 is standard error and descriptor 0 reads nothing, so
that neither a stray `print`, nor a C library, nor a child process can write into the protocol or read from it.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

OVERLOAD: Final = 256 * 1024 * 1024
"""Unread bytes beyond which new results are refused: the client does not read, and memory is not endless."""
_CHUNK: Final = 1 << 18


@dataclass(frozen=True)
class Channel:
    read_fd: int
    write_fd: int


def claim() -> Channel:
    """Takes over descriptors 0 and 1. Call it once, before anything can print."""
    sys.stdout.flush()
    channel = Channel(os.dup(0), os.dup(1))  # duplicates are not inherited by child processes
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # the editor closed standard error
        os.dup2(null, 2)
        os.dup2(null, 1)
    os.close(null)
    sys.stdout = sys.stderr
    return channel


def _can_wait(fd: int) -> bool:
    """Whether an event loop can wait for the descriptor; it cannot for regular files and `/dev/null`."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


async def chunks(fd: int) -> AsyncIterator[bytes]:
    """Bytes as they arrive, until the other side closes."""
    if not _can_wait(fd):
        while data := os.read(fd, _CHUNK):  # a file answers at once
            yield data
            await asyncio.sleep(0)
        return
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_CHUNK)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    try:
        while data := await reader.read(_CHUNK):
            yield data
    except ConnectionError:
        return  # a reset is an end as well
    finally:
        transport.close()


class Outbox(asyncio.Protocol):
    """Sends without ever blocking: what the client does not read yet waits in memory, the event loop goes on.

    Beyond `OVERLOAD` waiting bytes `overloaded` is true, and the protocol layer answers with a short error instead of
    the result, and drops notifications. Input is still read, so that cancelling, `exit` and the end of the stream work.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._transport: asyncio.WriteTransport | None = None
        self._drained = asyncio.Event()
        self._drained.set()
        self.closed = asyncio.Event()

    async def connect(self) -> None:
        if _can_wait(self._fd):
            file = os.fdopen(self._fd, "wb", buffering=0)
            await asyncio.get_running_loop().connect_write_pipe(lambda: self, file)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101 (what connect_write_pipe makes)
        transport.set_write_buffer_limits(high=0)
        self._transport = transport

    def pause_writing(self) -> None:
        self._drained.clear()

    def resume_writing(self) -> None:
        self._drained.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drained.set()
        self.closed.set()

    def write(self, data: bytes) -> None:
        if self.closed.is_set():
            return
        if self._transport is not None:
            self._transport.write(data)
            return
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            self.closed.set()

    @property
    def overloaded(self) -> bool:
        return self._transport is not None and self._transport.get_write_buffer_size() > OVERLOAD

    async def flush(self, seconds: float) -> None:
        """Waits until everything is with the client, at most for `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._drained.wait()
        except TimeoutError:
            return
