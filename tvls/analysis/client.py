"""The daemon's side of the analysis process."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from tvls.analysis.types import (
    Answer,
    Buffer,
    Cancel,
    Failure,
    FileTargets,
    FoundTarget,
    IndexAnswer,
    IndexRequest,
    Message,
    TargetsAnswer,
    TargetsRequest,
)

_Make = Callable[[int], Message]
_PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])


class AnalysisError(Exception):
    """The analysis process could not answer: it ended twice over one request, or failed on it."""


class Analysis:
    """Asks the analysis process, which is started when it is first needed and again when it has died.

    Requests may overlap. Cancelling the await of an index stops the work on it.
    """

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._buffers: dict[str, str] = {}
        self._errors: deque[str] = deque(maxlen=20)
        self._next = 0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Process id while the process runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def targets(self, path: Path, text: str | None = None, roots: Sequence[Path] = ()) -> FileTargets:
        """Targets of one file. `text` is its unsaved buffer, which then stands for the file until `forget`.

        `roots` are the workspace folders, in which imports are followed. Raises `AnalysisError`.
        """
        name = _absolute(path)
        if text is not None:
            self._buffers[name] = text
        folders = [_absolute(root) for root in roots]
        answer = await self._ask(lambda number: TargetsRequest(number, name, folders, text))
        if not isinstance(answer, TargetsAnswer):
            raise AnalysisError("the analysis process gave another kind of answer")
        return answer.result

    async def index(self, roots: Sequence[Path], only: Sequence[Path] | None = None) -> list[FoundTarget]:
        """Targets of all files below the workspace folders (or below `only`), by path. Raises `AnalysisError`."""
        folders = [_absolute(root) for root in roots]
        places = None if only is None else [_absolute(place) for place in only]
        answer = await self._ask(lambda number: IndexRequest(number, folders, places))
        if not isinstance(answer, IndexAnswer):
            raise AnalysisError("the analysis process gave another kind of answer")
        return answer.targets

    def forget(self, path: Path) -> None:
        """The buffer of a file was closed: from now on the file on disk counts."""
        name = _absolute(path)
        if self._buffers.pop(name, None) is not None and self._process is not None:
            self._send(self._process, Buffer(name, None))

    async def aclose(self) -> None:
        """Ends the process. Requests under way fail."""
        self._closed = True
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), timeout=2)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if self._reader is not None:
            await self._reader

    # --- the process ---

    async def _ask(self, message: _Make) -> Answer:
        for _attempt in range(2):
            process = await self._started()
            self._next += 1
            number = self._next
            future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._waiting[number] = future
            self._send(process, message(number))
            try:
                answer = await future
            except _EndedError:
                continue
            except asyncio.CancelledError:
                self._send(process, Cancel(number))
                raise
            finally:
                self._waiting.pop(number, None)
            if isinstance(answer, Failure):
                raise AnalysisError(f"the analysis failed: {answer.message}")
            return answer
        raise AnalysisError("the analysis process ended twice while it answered:\n" + "".join(self._errors).strip())

    def _send(self, process: asyncio.subprocess.Process, message: Message) -> None:
        if process.stdin is None or process.stdin.is_closing():
            return
        body = msgspec.msgpack.encode(message)
        process.stdin.write(len(body).to_bytes(4, "big") + body)

    async def _started(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._closed:
                raise AnalysisError("the analysis is closed")
            if self._process is not None and self._reader is not None and not self._reader.done():
                return self._process
            # `-P` and our own path alone: a workspace must not be able to put its modules in place of ours.
            environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
            environment["PYTHONPATH"] = _PACKAGE_PARENT
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "tvls.analysis",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
            for path, text in self._buffers.items():
                self._send(process, Buffer(path, text))
            self._process = process
            self._reader = asyncio.create_task(self._read(process))
            return process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        errors = asyncio.create_task(self._read_errors(process))
        decoder = msgspec.msgpack.Decoder(Answer)
        if process.stdout is None:
            raise AnalysisError("the analysis process has no standard output")
        try:
            while True:
                size = int.from_bytes(await process.stdout.readexactly(4), "big")
                answer = decoder.decode(await process.stdout.readexactly(size))
                future = self._waiting.get(answer.id)
                if future is not None and not future.done():
                    future.set_result(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it ended; those who wait decide what follows
        finally:
            await errors
            await process.wait()
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(AnalysisError("the analysis is closed") if self._closed else _EndedError())

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        if process.stderr is None:
            return
        while line := await process.stderr.readline():
            self._errors.append(line.decode(errors="replace"))


class _EndedError(Exception):
    """The process ended before it answered."""


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - links stay as the editor names them
