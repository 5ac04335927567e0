"""The daemon's side of the analysis process."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import psutil

from tvls.analysis.board import IDLE, Board, board_file
from tvls.analysis.names import from_wire, to_wire
from tvls.analysis.types import (
    Answer,
    Avoid,
    Buffer,
    Cancel,
    Declared,
    DeclaredAnswer,
    DeclaredRequest,
    Failure,
    FileError,
    FileTargets,
    Found,
    FoundTarget,
    IndexAnswer,
    IndexRequest,
    Message,
    Named,
    NamedAnswer,
    NamedRequest,
    TargetsAnswer,
    TargetsRequest,
)

DEADLINE_SECONDS: Final = 15.0
_MOST_RESTARTS: Final = 10
_Make = Callable[[int], Message]
T = TypeVar("T", bound=Answer)
_PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])


class AnalysisError(Exception):
    """The analysis process could not answer: it ended again and again over one request, or failed on it."""


@dataclass(slots=True, eq=False)
class _Running:
    """A process with the requests that were sent to it."""

    process: asyncio.subprocess.Process
    board: Board
    waiting: dict[int, asyncio.Future[Answer]] = field(default_factory=dict[int, "asyncio.Future[Answer]"])
    unanswered: set[int] = field(default_factory=set[int])
    """Requests that it still works on, those that nobody waits for any more among them."""
    steps: int = 0
    changed: float = 0.0
    """When `steps` were last seen to change, by the time of the event loop."""
    ended: bool = False


class Analysis:
    """Asks the analysis process, which is started when it is first needed and again when it has died.

    Requests may overlap. Cancelling the await of an index stops the work on it. A process that makes no step for
    `deadline` seconds is replaced; the file that it hung on, or ended over twice, has no targets until it changes.
    """

    def __init__(self, deadline: float = DEADLINE_SECONDS) -> None:
        self._deadline = deadline
        self._running: _Running | None = None
        self._readers: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._buffers: dict[str, str] = {}
        self._strikes: Counter[bytes] = Counter()
        self._avoided: set[bytes] = set()
        self._errors: deque[str] = deque(maxlen=20)
        self._next = 0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Process id while the process runs."""
        running = self._running
        return running.process.pid if running is not None and running.process.returncode is None else None

    async def targets(self, path: Path, text: str | None = None, roots: Sequence[Path] = ()) -> FileTargets:
        """Targets of one file. `text` is its unsaved buffer, which then stands for the file until `forget`.

        `roots` are the workspace folders, in which imports are followed. Raises `AnalysisError`.
        """
        answer = await self._ask_about(
            path,
            text,
            roots,
            lambda number, wire, folders: TargetsRequest(number, wire, folders, _bytes(text)),
            TargetsAnswer,
        )
        result = answer.result
        return FileTargets([_named(target) for target in result.targets], result.parsed, result.error)

    async def declared(
        self, path: Path, name: str, text: str | None = None, roots: Sequence[Path] = ()
    ) -> Declared | None:
        """What the definition with this qualified name declares; None where there is none. Raises `AnalysisError`."""
        answer = await self._ask_about(
            path,
            text,
            roots,
            lambda number, wire, folders: DeclaredRequest(number, wire, folders, name, _bytes(text)),
            DeclaredAnswer,
        )
        return answer.declared

    async def named(self, path: Path, name: str, text: str | None = None, roots: Sequence[Path] = ()) -> Named:
        """A definition that is no target, by its name. Raises `AnalysisError`."""
        answer = await self._ask_about(
            path,
            text,
            roots,
            lambda number, wire, folders: NamedRequest(number, wire, folders, name, _bytes(text)),
            NamedAnswer,
        )
        found = answer.named
        return Named(found.target and _named(found.target), found.no_model)

    async def _ask_about(
        self,
        path: Path,
        text: str | None,
        roots: Sequence[Path],
        request: Callable[[int, str, list[str]], Message],
        kind: type[T],
    ) -> T:
        """Asks about one file, of which `text` is the open buffer. Raises `AnalysisError`."""
        name = _absolute(path)
        if text is not None:
            self._buffers[name] = text
        wire, folders = to_wire(name), [to_wire(_absolute(root)) for root in roots]
        answer = await self._ask(lambda number: request(number, wire, folders))
        if not isinstance(answer, kind):
            raise AnalysisError("the analysis process gave another kind of answer")
        return answer

    async def index(self, roots: Sequence[Path], only: Sequence[Path] | None = None) -> list[FoundTarget]:
        """Targets of all files below the workspace folders (or below `only`), by path. Raises `AnalysisError`."""
        return (await self.survey(roots, only)).targets

    async def survey(self, roots: Sequence[Path], only: Sequence[Path] | None = None) -> Found:
        """As `index`, with the files that could not be read as Python. Files that `only` names are always parsed."""
        folders = [to_wire(_absolute(root)) for root in roots]
        places = None if only is None else [to_wire(_absolute(place)) for place in only]
        answer = await self._ask(lambda number: IndexRequest(number, folders, places))
        if not isinstance(answer, IndexAnswer):
            raise AnalysisError("the analysis process gave another kind of answer")
        found = answer.found
        errors = [FileError(from_wire(item.path), item.error) for item in found.errors]
        return Found([_named(target) for target in found.targets], errors)

    def forget(self, path: Path) -> None:
        """The buffer of a file was closed: from now on the file on disk counts."""
        name = _absolute(path)
        if self._buffers.pop(name, None) is not None and self._running is not None:
            self._send(self._running.process, Buffer(to_wire(name), None))

    async def aclose(self) -> None:
        """Ends the process. Requests under way fail."""
        self._closed = True
        running, self._running = self._running, None
        if running is not None:
            process = running.process
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), timeout=2)
            except TimeoutError:
                _kill(process)
            self._end(running, hung=False)
        if self._readers:
            # A process that the system cannot end (a file system that does not answer) must not hold up the daemon.
            await asyncio.wait(self._readers, timeout=2)
        for reader in self._readers:
            reader.cancel()

    # --- requests ---

    async def _ask(self, message: _Make) -> Answer:
        restarts = unexplained = 0
        while True:
            running = await self._started()
            self._next += 1
            number = self._next
            future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            if not running.unanswered:
                running.changed = asyncio.get_running_loop().time()
            running.waiting[number] = future
            running.unanswered.add(number)
            request = message(number)
            self._send(running.process, request)
            try:
                answer = await self._answer(running, future)
            except _EndedError as end:
                restarts += 1
                unexplained = 0 if end.explained else unexplained + 1
                if unexplained < 2 and restarts < _MOST_RESTARTS:
                    continue
                times = "twice" if restarts == 2 else f"{restarts} times"
                output = "".join(self._errors)[-4000:].strip()
                raise AnalysisError(f"the analysis process ended {times} while it answered:\n{output}") from None
            except asyncio.CancelledError:
                self._send(running.process, Cancel(number))
                if isinstance(request, IndexRequest):  # it is not answered
                    running.unanswered.discard(number)
                raise
            finally:
                running.waiting.pop(number, None)
            if isinstance(answer, Failure):
                raise AnalysisError(f"the analysis failed: {answer.message}")
            return answer

    async def _answer(self, running: _Running, future: asyncio.Future[Answer]) -> Answer:
        clock = asyncio.get_running_loop().time
        while True:
            done, _ = await asyncio.wait({future}, timeout=self._deadline / 8)
            if done:
                return future.result()
            if running.ended:
                continue
            steps, _ = running.board.read()
            if steps != running.steps:
                running.steps, running.changed = steps, clock()
            elif clock() - running.changed > self._deadline:
                self._errors.append(f"it made no step for {self._deadline:g} seconds\n")
                self._end(running, hung=True)

    def _end(self, running: _Running, hung: bool) -> None:
        """The process is done with, be it dead or not: tells all who wait for it, with what it ended over."""
        if running.ended:
            return
        running.ended = True
        if self._running is running:
            self._running = None
        explained = not self._closed and self._blame(running, hung)
        if hung:
            _kill(running.process)
        running.board.close()
        for future in running.waiting.values():
            if not future.done():
                future.set_exception(
                    AnalysisError("the analysis is closed") if self._closed else _EndedError(explained)
                )

    def _blame(self, running: _Running, hung: bool) -> bool:
        """Remembers the file that the process was at, if that is the cause of its end. Whether another try may help.

        A process that somebody stopped did not hang on its file; one that died may have been killed from outside.
        """
        _, mark = running.board.read()
        if mark == IDLE or mark in self._avoided or (hung and _is_stopped(running.process.pid)):
            return False
        self._strikes[mark] += 1
        if not hung and self._strikes[mark] < 2:
            return False
        self._avoided.add(mark)
        return True

    # --- the process ---

    def _send(self, process: asyncio.subprocess.Process, message: Message) -> None:
        if process.stdin is None or process.stdin.is_closing():
            return
        body = msgspec.msgpack.encode(message)
        process.stdin.write(len(body).to_bytes(4, "big") + body)

    async def _started(self) -> _Running:
        async with self._starting:
            if self._closed:
                raise AnalysisError("the analysis is closed")
            if self._running is not None:
                return self._running
            # `-P` and our own path alone: a workspace must not be able to put its modules in place of ours.
            environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
            environment["PYTHONPATH"] = _PACKAGE_PARENT
            with board_file() as file:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",
                    "-X",
                    f"utf8={sys.flags.utf8_mode}",  # names of files decode there as they do here
                    "-m",
                    "tvls.analysis",
                    str(file.fileno()),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env=environment,
                    pass_fds=(file.fileno(),),
                )
                running = _Running(process, Board(file.fileno()))
            if self._avoided:
                self._send(process, Avoid(sorted(self._avoided)))
            for path, text in self._buffers.items():
                self._send(process, Buffer(to_wire(path), _bytes(text)))
            self._running = running
            reader = asyncio.create_task(self._read(running))
            self._readers.add(reader)
            reader.add_done_callback(self._readers.discard)
            return running

    async def _read(self, running: _Running) -> None:
        process = running.process
        errors = asyncio.create_task(self._read_errors(process))
        decoder = msgspec.msgpack.Decoder(Answer)
        if process.stdout is None:
            raise AnalysisError("the analysis process has no standard output")
        try:
            while True:
                size = int.from_bytes(await process.stdout.readexactly(4), "big")
                answer = decoder.decode(await process.stdout.readexactly(size))
                running.unanswered.discard(answer.id)
                future = running.waiting.get(answer.id)
                if future is not None and not future.done():
                    future.set_result(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it ended; those who wait decide what follows
        finally:
            await errors
            self._end(running, hung=False)
            await process.wait()

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        if process.stderr is None:
            return
        while piece := await process.stderr.read(4096):
            self._errors.append(piece.decode(errors="replace"))


class _EndedError(Exception):
    """The process ended before it answered. `explained`: over a file that is now left out."""

    def __init__(self, explained: bool) -> None:
        super().__init__()
        self.explained = explained


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


def _is_stopped(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() in {psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP}
    except psutil.Error:
        return False


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode(errors="surrogatepass")


def _named(target: FoundTarget) -> FoundTarget:
    if "\0" not in target.path and "\0" not in target.root:
        return target
    return msgspec.structs.replace(target, path=from_wire(target.path), root=from_wire(target.root))


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - links stay as the editor names them
