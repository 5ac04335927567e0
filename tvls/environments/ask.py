"""Run the worker script in an interpreter for one answer about the interpreter itself."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from tvls.environments import launch
from tvls.environments.processes import ended, guard, kill_group, kill_marked
from tvls.protocol.errors import TvlsError

SELECT_ANOTHER: Final = "Select another interpreter, or correct the configured one."


MOST_BYTES: Final = 8 * 1024 * 1024
"""Of what it prints on each stream: an answer has kilobytes."""


T = TypeVar("T")


class _TooMuchError(Exception):
    pass


class Output(msgspec.Struct, frozen=True):
    out: bytes
    last: str | None
    """The last of what it printed as errors."""
    code: int | None
    """Exit code; negative: the signal that ended it."""


async def ask(command: Sequence[str], arguments: Sequence[str], folder: str, seconds: float) -> Output:
    """What `command` prints, started in `folder` on the worker script in the mode that `arguments` name.

    TvlsError `environmentInvalid` where it does not exist, cannot be started, prints without end or takes longer than
    `seconds`.
    """
    mark = launch.new_mark()
    shown = " ".join(command)
    if not command:
        raise TvlsError("environmentInvalid", "No interpreter is selected.", "Select a Python interpreter.")
    if os.sep not in command[0] and shutil.which(command[0]) is None:
        raise TvlsError("environmentInvalid", f"{command[0]!r} is not found on PATH.", SELECT_ANOTHER)
    try:
        process = launch.start(
            command,
            arguments,
            folder=folder,
            mark=mark,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError as fault:
        missing = "The folder" if fault.filename == folder else "The interpreter"
        message = f"{missing} {fault.filename} does not exist."
        raise TvlsError("environmentInvalid", message, SELECT_ANOTHER) from fault
    except OSError as fault:
        message = f"{shown} cannot be started: {fault.strerror}."
        raise TvlsError("environmentInvalid", message, SELECT_ANOTHER) from fault
    try:
        out, err = await _communicate(process, seconds)
    except _TooMuchError as fault:
        await asyncio.to_thread(kill_marked, mark)
        message = f"{shown} does not behave like Python: it prints without end."
        raise TvlsError("environmentInvalid", message, SELECT_ANOTHER) from fault
    except TimeoutError as fault:
        await asyncio.to_thread(kill_marked, mark)
        what = {"probe": "which Python it is", "installation": "what is installed"}.get(arguments[0], "what it offers")
        message = f"{shown} did not say within {seconds:g} s {what}."
        raise TvlsError("environmentInvalid", message, SELECT_ANOTHER) from fault
    last = launch.without_own_folder(err.decode("utf-8", "replace")).strip()[-2000:] or None
    return Output(out, last, process.returncode)


def answer_in(output: Output, kind: type[T]) -> T | None:
    """The last line that is an answer: wrappers, and code that runs at the end of Python, print lines of their own."""
    for line in reversed(output.out.splitlines()):
        try:
            return msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return None


async def _read(reader: asyncio.StreamReader) -> bytes:
    """Raises _TooMuchError."""
    data = bytearray()
    while piece := await reader.read(65536):
        data += piece
        if len(data) > MOST_BYTES:
            raise _TooMuchError
    return bytes(data)


async def _communicate(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
    """Output of a process that ends in time; it is killed, with its group, in every other case."""
    loop = asyncio.get_running_loop()
    readers: list[asyncio.StreamReader] = []
    transports: list[asyncio.ReadTransport] = []
    release = guard(process)
    try:
        for pipe in (process.stdout, process.stderr):
            reader = asyncio.StreamReader()
            transport, _ = await loop.connect_read_pipe(lambda r=reader: asyncio.StreamReaderProtocol(r), pipe)
            readers.append(reader)
            transports.append(transport)
        async with asyncio.timeout(seconds):
            out, err = await asyncio.gather(*map(_read, readers))
            await ended(process)
        return out, err
    finally:
        for transport in transports:
            transport.close()
        kill_group(process)
        process.poll()
        release()
