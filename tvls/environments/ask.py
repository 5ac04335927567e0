"""Run the worker script in an interpreter for one answer about the interpreter itself."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

import msgspec

from tvls.environments import launch
from tvls.environments.processes import ended, guard, kill_group
from tvls.protocol.errors import TvlsError

SELECT_ANOTHER: Final = "Select another interpreter, or correct the configured one."


class Output(msgspec.Struct, frozen=True):
    out: bytes
    last: str | None
    """The last of what it printed as errors."""
    code: int | None
    """Exit code; negative: the signal that ended it."""


async def ask(command: Sequence[str], arguments: Sequence[str], folder: str, seconds: float) -> Output:
    """What `command` prints, started in `folder` on the worker script in the mode that `arguments` name.

    TvlsError `environmentInvalid` where it does not exist, cannot be started or takes longer than `seconds`.
    """
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
            mark=launch.new_mark(),
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
    except TimeoutError as fault:
        what = {"probe": "which Python it is", "installation": "what is installed"}.get(arguments[0], "what it offers")
        message = f"{shown} did not say within {seconds:g} s {what}."
        raise TvlsError("environmentInvalid", message, SELECT_ANOTHER) from fault
    last = launch.without_own_folder(err.decode("utf-8", "replace")).strip()[-2000:] or None
    return Output(out, last, process.returncode)


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
            out, err = await asyncio.gather(*(reader.read() for reader in readers))
            await ended(process)
        return out, err
    finally:
        for transport in transports:
            transport.close()
        kill_group(process)
        process.poll()
        release()
