"""Workers for traces: which kind, how many, for how long, and what became of each trace."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tvls.capture.document import Capture, Failure
from tvls.capture.limits import Limits
from tvls.environments import launch
from tvls.environments.probe import Environment, fingerprint
from tvls.protocol.errors import TvlsError
from tvls.protocol.types import WorkerStatus
from tvls.tracing.cold import begin_cold
from tvls.tracing.run import AnswerTooLong, BadAnswer, NeedsCold, NoAnswer, Run, read_answer
from tvls.tracing.warm import WarmUnavailable, WarmWorker, start_warm

_Key = tuple[tuple[str, ...], str, str]  # command, folder, framework
_Begin = Callable[[bytes], Awaitable[Run]]

T = TypeVar("T")

_RETRY_SECONDS = 300.0
"""How long a warm worker that could not start is not tried again while nothing about its environment changes."""

_SAID_LINES, _SAID_CHARACTERS = 200, 16_000
"""How much of what traced code printed is handed on."""

_FIRST_RETRY_SECONDS = 5.0
"""The same for one that died while it was starting, which may have been chance; three times as long after each more."""


@dataclass(eq=False)
class _Work:
    """A trace, or the preparation for one, that is under way."""

    folder: str
    """The workspace folder that it is for."""
    title: str
    task: asyncio.Task[Any] | None = None
    runs: list[Run] = field(default_factory=lambda: list[Run]())
    ended_because: str | None = None


class _LostAtStart(Exception):  # noqa: N818  (an outcome)
    """A worker ended before it came to anything of the user's."""


@dataclass
class _Slot:
    """The warm worker of one interpreter and framework, or why there is none."""

    key: _Key
    fingerprint: str
    starting: asyncio.Task[WarmWorker]
    deaths: int = 0
    """How often in a row it had died while starting before this start."""
    ready: float = 0.0
    """When the start was over."""
    idle: asyncio.TimerHandle | None = None

    def worker(self) -> WarmWorker | None:
        task = self.starting
        return task.result() if task.done() and not task.cancelled() and task.exception() is None else None

    def usable(self, now_fingerprint: str) -> bool:
        if self.fingerprint != now_fingerprint or self.starting.cancelled():
            return False
        if not self.starting.done():
            return True
        worker = self.worker()
        if worker is None:  # it could not start; the cold way stands in for a while
            again = _FIRST_RETRY_SECONDS * 3**self.deaths if self.died() else _RETRY_SECONDS
            return time.monotonic() - self.ready < min(again, _RETRY_SECONDS)
        return worker.alive and not worker.retired

    def died(self) -> bool:
        """It could not start, and for no reason that would still hold."""
        if not self.starting.done() or self.starting.cancelled():
            return False
        reason = self.starting.exception()
        return isinstance(reason, WarmUnavailable) and reason.died


class WorkerPool:
    """All workers of one daemon. Lives in one event loop; `aclose` ends everything."""

    def __init__(
        self,
        *,
        idle_seconds: float = 900.0,
        start_seconds: float = 120.0,
        concurrent: int | None = None,
        script: Path = launch.WORKER_SCRIPT,
    ) -> None:
        self.idle_seconds = idle_seconds
        """How long an unused warm worker stays; a change counts from its next rest on."""
        self._start_seconds = start_seconds
        self._script = script
        self._turns = asyncio.Semaphore(concurrent or max(2, os.cpu_count() or 1))
        self._slots: dict[_Key, _Slot] = {}
        self._works: set[_Work] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._endings: set[asyncio.Task[Any]] = set()
        """Of warm workers that have been told to end."""
        self._running = 0
        self._closed = False

    @property
    def running(self) -> int:
        """Traces that run now."""
        return self._running

    async def trace(
        self,
        environment: Environment,
        request: Mapping[str, Any],
        *,
        on_progress: Callable[[str], None],
        on_output: Callable[[str], None] | None = None,
    ) -> Capture | Failure:
        """Run a trace request (docs/architecture.md) in `environment`. A trace that fails is a `Failure`, not an error.

        `on_progress` hears the phases: `start` while a worker gets ready, then those of the document. `on_output` hears
        once, at the end of a trace that gave a document, the last lines of what the traced code printed, if it printed
        anything; an error has them in `stderr`. Cancelling the awaiting task ends the trace and everything it started
        at once. TvlsError `traceTimeout` at the deadline, `workerCrashed` where no answer or none that makes sense
        came, or where `restart` ended it, `limitExceeded` for an answer over `limits.encoded_bytes`.
        """
        framework: str = request["setup"]["framework"]
        limits = _limits(request.get("limits", {}))
        line = json.dumps(request, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        work = _Work(request["workspace"], f"{request['target']['module']}:{request['target']['qualname']}")

        async def traced() -> tuple[Capture | Failure, str | None]:
            async with self._turns:
                self._running += 1
                try:
                    body, said = await self._trace(work, environment, framework, line, limits, on_progress)
                finally:
                    self._running -= 1
            return await asyncio.to_thread(decode, body, said), said

        document, said = await self._tracked(work, traced)
        if said is not None and on_output is not None:
            on_output(said)
        return document

    async def prewarm(self, environment: Environment, framework: str) -> None:
        """Have a warm worker ready. Where there can be none, `status` says why."""
        work = _Work(environment.folder, framework)
        try:
            await self._tracked(work, lambda: self._warm(environment, framework, lambda _: None))
        except TvlsError:
            if work.ended_because is None:
                raise

    def status(self) -> list[WorkerStatus]:
        return [_status(slot) for slot in self._slots.values()]

    def restart(self, folder: Path | None = None) -> asyncio.Future[None]:
        """End everything that was started before: traces, those that are about to begin, and warm workers. What waits
        for such a trace gets `workerCrashed`; the next trace starts anew.

        With `folder`, only traces of that workspace folder (or of one inside it) and warm workers whose interpreter
        lies there. The orders are given at once; the answer is done when the processes have ended.
        """
        works = [work for work in self._works if folder is None or _lies_in(work.folder, folder)]
        for work in works:
            work.ended_because = "the program is ending" if self._closed else "the workers were restarted"
            if work.task is not None:
                work.task.cancel()
        for slot in list(self._slots.values()):
            command, place, _ = slot.key
            if folder is None or _lies_in(command[0], folder) or _lies_in(place, folder):
                self._drop(slot, now=True)
        waiting = asyncio.get_running_loop().create_task(self._ended(works))
        self._tasks.add(waiting)
        waiting.add_done_callback(self._tasks.discard)
        return waiting

    def retire(self, command: tuple[str, ...]) -> None:
        """Let go of the warm workers of an interpreter whose packages changed; traces under way go on to their end."""
        for slot in list(self._slots.values()):
            if slot.key[0] == command:
                self._drop(slot)

    async def aclose(self) -> None:
        """End every worker and trace; returns when they have ended."""
        self._closed = True
        await self.restart()
        while pending := self._tasks | self._endings:
            await asyncio.wait(pending)

    # --- what is under way --------------------------------------------------------------------------------------------

    async def _tracked(self, work: _Work, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `start`, which `_end` can end wherever it has come to. TvlsError `workerCrashed` then."""
        if self._closed:
            work.ended_because = "the program is ending"
            raise _was_ended(work.title, work.ended_because)
        task = work.task = asyncio.get_running_loop().create_task(start())
        self._works.add(work)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})  # a few steps of the loop, in which it gives the orders to end
            if not task.cancelled():
                task.exception()  # nobody waits for it any more
            raise
        finally:
            self._works.discard(work)
        if work.ended_because is not None and (task.cancelled() or task.exception() is not None):
            raise _was_ended(work.title, work.ended_because)
        return task.result()

    async def _ended(self, works: list[_Work]) -> None:
        """Returns when the processes of `works`, and the warm workers that were told to end, have ended."""
        if tasks := {work.task for work in works if work.task is not None}:
            await asyncio.wait(tasks)
        if exits := {run.exited for work in works for run in work.runs}:
            await asyncio.wait(exits)
        while self._endings:
            await asyncio.wait(set(self._endings))

    # --- which worker -------------------------------------------------------------------------------------------------

    async def _trace(
        self,
        work: _Work,
        environment: Environment,
        framework: str,
        line: bytes,
        limits: Limits,
        on_progress: Callable[[str], None],
    ) -> tuple[bytes, str | None]:
        for _ in range(2):  # a warm worker may have been killed, or stopped, while nobody looked
            worker = await self._warm(environment, framework, on_progress)
            if worker is None:
                break
            try:
                return await self._run(work, worker.begin, line, limits, on_progress, warm=True)
            except NeedsCold:  # the workspace provides what is preloaded
                break
            except (WarmUnavailable, _LostAtStart):
                continue
        folder = _folder(environment)
        on_progress("start")

        async def begin(request: bytes) -> Run:
            try:
                return await begin_cold(
                    environment.command, request, folder=folder, script=self._script, tasks=self._tasks
                )
            except OSError as fault:
                message = f"{' '.join(environment.command)} cannot be started: {fault.strerror}."
                raise TvlsError("environmentInvalid", message, "Select another interpreter.") from fault

        return await self._run(work, begin, line, limits, on_progress, warm=False)

    async def _warm(
        self, environment: Environment, framework: str, on_progress: Callable[[str], None]
    ) -> WarmWorker | None:
        key = environment.command, _folder(environment), framework
        while True:
            current = await asyncio.to_thread(fingerprint, environment)
            slot = self._slots.get(key)
            if slot is None or not slot.usable(current):
                deaths = 0
                if slot is not None:
                    deaths = slot.deaths + 1 if slot.died() and slot.fingerprint == current else 0
                    self._drop(slot)
                slot = self._slots[key] = self._start(key, current, deaths)
            if not slot.starting.done():
                on_progress("start")
            await asyncio.wait({slot.starting})
            if slot.starting.cancelled():  # dropped for the sake of another trace, which saw that packages changed
                continue
            try:
                worker = slot.starting.result()
            except WarmUnavailable:
                return None
            self._rest(slot)
            return worker

    def _start(self, key: _Key, current: str, deaths: int) -> _Slot:
        command, folder, framework = key

        async def start() -> WarmWorker:
            return await start_warm(
                command,
                framework,
                folder=folder,
                script=self._script,
                seconds=self._start_seconds,
                tasks=self._endings,
            )

        async def start_twice() -> WarmWorker:
            try:
                return await start()
            except WarmUnavailable as reason:
                if not reason.died or deaths > 0:
                    raise
            return await start()  # once at once; a worker that goes on dying is left alone for longer and longer

        task = asyncio.get_running_loop().create_task(start_twice())
        slot = _Slot(key, current, task, deaths)

        def ready(done: asyncio.Task[WarmWorker]) -> None:
            self._tasks.discard(done)
            slot.ready = time.monotonic()
            if done.cancelled() or done.exception() is not None:
                return
            worker = done.result()
            worker.on_idle = lambda: self._rest(slot)
            if self._slots.get(key) is slot:
                self._rest(slot)
            else:
                worker.close()

        self._tasks.add(task)
        task.add_done_callback(ready)
        return slot

    def _rest(self, slot: _Slot) -> None:
        """Count idle time from now on."""
        if slot.idle is not None:
            slot.idle.cancel()
        slot.idle = asyncio.get_running_loop().call_later(self.idle_seconds, self._expire, slot)

    def _expire(self, slot: _Slot) -> None:
        worker = slot.worker()
        if worker is not None and worker.busy:
            return  # `on_idle` starts the count anew
        self._drop(slot)

    def _drop(self, slot: _Slot, *, now: bool = False) -> None:
        """Let go of a warm worker: when its running traces are done, or now."""
        if self._slots.get(slot.key) is slot:
            del self._slots[slot.key]
        if slot.idle is not None:
            slot.idle.cancel()
        worker = slot.worker()
        if worker is None:
            slot.starting.cancel()
        elif now:
            worker.close()
        else:
            worker.retire()

    # --- one trace ----------------------------------------------------------------------------------------------------

    async def _run(
        self,
        work: _Work,
        begin: _Begin,
        line: bytes,
        limits: Limits,
        on_progress: Callable[[str], None],
        *,
        warm: bool,
    ) -> tuple[bytes, str | None]:
        """The document's bytes and the last lines that were printed. From a `warm` worker also _LostAtStart, NeedsCold,
        WarmUnavailable, each of them before anything of the user's ran."""
        loop = asyncio.get_running_loop()
        phase, title = "start", work.title
        imports = False
        run = await begin(line)
        work.runs.append(run)
        try:
            async with asyncio.timeout(self._start_seconds) as deadline:

                def enter(name: str) -> None:
                    nonlocal phase, imports
                    if name == phase:
                        return
                    phase = name
                    if not imports:  # what came before was ours, and no fault of the model
                        imports = True
                        deadline.reschedule(loop.time() + limits.seconds)
                    on_progress(name)

                body = await read_answer(run, limits.encoded_bytes, enter)
            run.output.catch_up()
            return body, run.output.last_lines(_SAID_LINES, _SAID_CHARACTERS)
        except TimeoutError:
            seconds = limits.seconds if imports else self._start_seconds
            raise _timed_out(title, phase, seconds, run.output.last_lines()) from None
        except AnswerTooLong as found:
            message = f"The capture of {title} takes {found.size:,} bytes; the limit is {limits.encoded_bytes:,}."
            step = "Open a smaller part of the model, or raise the limit `encoded_bytes`."
            raise TvlsError("limitExceeded", message, step, limit="encoded_bytes") from None
        except NoAnswer as end:
            if warm and not imports:
                raise _LostAtStart from None
            raise _crashed(title, phase, end.code, run.output.last_lines()) from None
        except NeedsCold:
            if warm and not imports:
                raise
            raise _no_answer(title, "a message that only a warm worker sends", phase, run.output.last_lines()) from None
        except BadAnswer as fault:
            raise _no_answer(title, str(fault), phase, run.output.last_lines()) from None
        finally:
            run.close()


def decode(body: bytes, stderr: str | None = None) -> Capture | Failure:
    """The document in the worker's answer, validated. TvlsError `workerCrashed` where it is none; `stderr` is what the
    worker printed."""
    # Keys are sorted, and every failure has `failure` before any other key: no second pass to tell the two apart.
    kind: Any = Failure if body.startswith(b'{"failure":') else Capture
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as fault:
        message = f"The worker answered with a document that is not valid: {fault}."
        raise TvlsError("workerCrashed", message, _REPLACED, stderr=stderr) from fault


_REPLACED = (
    "Look for code that replaces parts of Python itself, such as `json`, `os` or built-in functions, while it is "
    "imported or traced. If there is none, report this with the model that shows it."
)


def _no_answer(title: str, what: str, phase: str, stderr: str | None) -> TvlsError:
    message = f"The worker that traced {title} answered with {what} (phase: {phase})."
    return TvlsError("workerCrashed", message, _REPLACED, phase=phase, stderr=stderr)


def _was_ended(title: str, because: str) -> TvlsError:
    return TvlsError("workerCrashed", f"The trace of {title} was ended because {because}.", "Open the graph again.")


def _timed_out(title: str, phase: str, seconds: float, stderr: str | None) -> TvlsError:
    message = f"The trace of {title} did not finish within {seconds:g} s and was ended (phase: {phase})."
    step = "Open a smaller part of the model, or raise the limit `seconds`."
    return TvlsError("traceTimeout", message, step, phase=phase, limit="seconds", stderr=stderr)


def _crashed(title: str, phase: str, code: int | None, stderr: str | None) -> TvlsError:
    if code is None:
        how = (
            "was lost together with the process that watched over it: killed by the traced code, or for lack of memory"
        )
    elif code < 0:
        how = f"was ended by {_signal_name(-code)}"
    else:
        how = f"ended with exit code {code} and no answer"
    step = "See what the worker printed last. A library that crashes under the trace does so in a plain `python` too."
    return TvlsError(
        "workerCrashed", f"The worker that traced {title} {how} (phase: {phase}).", step, phase=phase, stderr=stderr
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _status(slot: _Slot) -> WorkerStatus:
    command, _, framework = slot.key
    shown = " ".join(command)
    if not slot.starting.done():
        return WorkerStatus(interpreter=shown, framework=framework, state="starting")
    worker = slot.worker()
    if worker is None:
        reason = None if slot.starting.cancelled() else slot.starting.exception()
        broken = not isinstance(reason, WarmUnavailable) or reason.broken
        return WorkerStatus(
            interpreter=shown, framework=framework, state="broken" if broken else "cold", message=str(reason)
        )
    if not worker.alive:
        return WorkerStatus(
            interpreter=shown, framework=framework, state="broken", message="ended; the next trace starts it again"
        )
    return WorkerStatus(interpreter=shown, framework=framework, state="warm", pid=worker.pid)


def _lies_in(place: str, folder: Path) -> bool:
    """By the names, or by what they lead to: the interpreter of a virtual environment is a link to another place."""
    named = Path(place)
    if not named.is_absolute():  # a command that is looked up on PATH
        return False
    return named.is_relative_to(folder) or named.resolve().is_relative_to(folder.resolve())


def _folder(environment: Environment) -> str:
    """Where to start it. An interpreter is the same everywhere; a wrapper may choose one by the folder it stands in."""
    return environment.prefix if len(environment.command) == 1 else environment.folder


def _limits(given: Mapping[str, Any]) -> Limits:
    known = {f.name for f in fields(Limits)}
    return Limits(**{name: value for name, value in given.items() if name in known})
