"""One trace worker as the daemon sees it, whichever way it was started, and the reading of its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast, get_args

from tvls.capture.document import Phase
from tvls.tracing.output import Output

READ_LIMIT = 1 << 20
_EOF_AFTER_EXIT = 1.0
_PHASES: Final = frozenset(("start", *get_args(Phase)))
_SHORT_FRAME: Final = 1 << 16


@dataclass
class Run:
    """A trace that was asked for and has not been closed."""

    reader: asyncio.StreamReader
    exited: asyncio.Future[int | None]
    """Exit code (negative: the signal); None where the process that would know has died itself."""
    output: Output
    close: Callable[[], None]
    """End the worker and everything it started, at once, whatever it is doing. May be called again."""
    on_first_frame: Callable[[], None] = lambda: None


class NoAnswer(Exception):  # noqa: N818  (an outcome)
    """The worker ended without a document. `code` as in `Run.exited`."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


class NeedsCold(Exception):  # noqa: N818  (an outcome)
    """The warm worker holds a module that this workspace provides itself."""

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.module = module


class BadAnswer(Exception):  # noqa: N818  (an outcome)
    """What came from the worker is none of its frames: user code wrote on the line, or changed how the worker does."""


class AnswerTooLong(Exception):  # noqa: N818  (an outcome)
    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


async def read_answer(run: Run, limit: int, on_phase: Callable[[str], None]) -> bytes:
    """The document's bytes. Raises NoAnswer, BadAnswer, NeedsCold, or AnswerTooLong for more than `limit` bytes.

    Not only the end of the stream ends the wait: a process that the worker left behind may hold the stream open, so
    what has not come shortly after the worker's exit does not come.
    """
    reading = asyncio.ensure_future(_read_frames(run, limit, on_phase))
    try:
        await asyncio.wait({reading, run.exited}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            await asyncio.wait({reading}, timeout=_EOF_AFTER_EXIT)
        if not reading.done():
            raise NoAnswer(run.exited.result())
        try:
            return reading.result()
        except (asyncio.IncompleteReadError, ConnectionError):
            await asyncio.wait({run.exited}, timeout=_EOF_AFTER_EXIT)
            raise NoAnswer(run.exited.result() if run.exited.done() else None) from None
    finally:
        reading.cancel()


async def _read_frames(run: Run, limit: int, on_phase: Callable[[str], None]) -> bytes:
    first = True
    while True:
        head = await run.reader.readexactly(9)
        if first:
            first = False
            run.on_first_frame()
        kind, size = head[:1], int.from_bytes(head[1:], "big")
        if kind not in (b"D", b"C", b"P"):
            raise BadAnswer(f"a frame of kind {kind!r}")
        if kind == b"D":
            if size > limit:
                raise AnswerTooLong(size)
            return await run.reader.readexactly(size)
        if size > _SHORT_FRAME:
            raise BadAnswer(f"a message of {size:,} bytes")
        message = _message(await run.reader.readexactly(size))
        if kind == b"C":
            raise NeedsCold(str(message.get("module")))
        phase = message.get("phase")
        if not isinstance(phase, str) or phase not in _PHASES:
            raise BadAnswer("a phase that there is not")
        on_phase(phase)


def _message(payload: bytes) -> dict[str, Any]:
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise BadAnswer("a message that is no JSON object")
    return cast("dict[str, Any]", message)
