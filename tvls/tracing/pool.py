"""Workers for traces: which kind, how many, for how long, and what became of each trace."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from tvls.capture.document import Capture, Failure
from tvls.capture.limits import Limits
from tvls.environments import launch
from tvls.environments.probe import Environment, fingerprint
from tvls.protocol.errors import TvlsError
from tvls.protocol.types import WorkerStatus
from tvls.tracing.cold import begin_cold
from tvls.tracing.run import AnswerTooLong, NeedsCold, NoAnswer, Run, read_answer
from tvls.tracing.warm import WarmUnavailable, WarmWorker, start_warm

_Key = tuple[tuple[str, ...], str, str]  # command, folder, framework
_Begin = Callable[[bytes], Awaitable[Run]]

_RETRY_SECONDS = 300.0
"""How long a warm worker that could not start is not tried again while nothing about its environment changes."""


@dataclass
class _Slot:
    """The warm worker of one interpreter and framework, or why there is none."""

    key: _Key
    fingerprint: str
    starting: asyncio.Task[WarmWorker]
    began: float = field(default_factory=time.monotonic)
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
            return time.monotonic() - self.began < _RETRY_SECONDS
        return worker.alive and not worker.retired


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
        self._tasks: set[asyncio.Task[Any]] = set()
        self._running = 0
        self._closed = False

    @property
    def running(self) -> int:
        """Traces that run now."""
        return self._running

    async def trace(
        self, environment: Environment, request: Mapping[str, Any], *, on_progress: Callable[[str], None]
    ) -> Capture | Failure:
        """Run a trace request (docs/architecture.md) in `environment`. A trace that fails is a `Failure`, not an error.

        `on_progress` hears the phases: `start` while a worker gets ready, then those of the document. Cancelling the
        awaiting task ends the trace and everything it started at once. TvlsError `traceTimeout` at the deadline,
        `workerCrashed` where no answer came, `limitExceeded` for an answer over `limits.encoded_bytes`.
        """
        framework: str = request["setup"]["framework"]
        limits = _limits(request.get("limits", {}))
        line = json.dumps(request, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        title = f"{request['target']['module']}:{request['target']['qualname']}"
        async with self._turns:
            self._running += 1
            try:
                body = await self._trace(environment, framework, line, limits, title, on_progress)
            finally:
                self._running -= 1
        return await asyncio.to_thread(decode, body)

    async def prewarm(self, environment: Environment, framework: str) -> None:
        """Have a warm worker ready. Where there can be none, `status` says why."""
        await self._warm(environment, framework, lambda _: None)

    def status(self) -> list[WorkerStatus]:
        return [_status(slot) for slot in self._slots.values()]

    def restart(self) -> None:
        """End every warm worker and the traces in it. The next trace starts anew."""
        for slot in list(self._slots.values()):
            self._drop(slot, now=True)

    async def aclose(self) -> None:
        """End every worker and trace; returns when they have ended."""
        self._closed = True
        for slot in list(self._slots.values()):
            self._drop(slot, now=True)
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    # --- which worker -------------------------------------------------------------------------------------------------

    async def _trace(
        self,
        environment: Environment,
        framework: str,
        line: bytes,
        limits: Limits,
        title: str,
        on_progress: Callable[[str], None],
    ) -> bytes:
        worker = await self._warm(environment, framework, on_progress)
        if worker is not None:
            try:
                return await self._run(worker.begin, line, limits, title, on_progress)
            except (NeedsCold, WarmUnavailable):
                pass  # the workspace provides what is preloaded, or the worker ended before it could fork
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

        return await self._run(begin, line, limits, title, on_progress)

    async def _warm(
        self, environment: Environment, framework: str, on_progress: Callable[[str], None]
    ) -> WarmWorker | None:
        current = await asyncio.to_thread(fingerprint, environment)
        if self._closed:
            raise asyncio.CancelledError("the worker pool is closed")
        key = environment.command, _folder(environment), framework
        slot = self._slots.get(key)
        if slot is None or not slot.usable(current):
            if slot is not None:
                self._drop(slot)
            slot = self._slots[key] = self._start(key, current)
        if not slot.starting.done():
            on_progress("start")
        try:
            worker = await asyncio.shield(slot.starting)
        except WarmUnavailable:
            return None
        self._rest(slot)
        return worker

    def _start(self, key: _Key, current: str) -> _Slot:
        command, folder, framework = key
        task = asyncio.get_running_loop().create_task(
            start_warm(
                command,
                framework,
                folder=folder,
                script=self._script,
                seconds=self._start_seconds,
                tasks=self._tasks,
            )
        )
        slot = _Slot(key, current, task)

        def ready(done: asyncio.Task[WarmWorker]) -> None:
            self._tasks.discard(done)
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
        self, begin: _Begin, line: bytes, limits: Limits, title: str, on_progress: Callable[[str], None]
    ) -> bytes:
        loop = asyncio.get_running_loop()
        phase = "start"
        run = await begin(line)
        try:
            async with asyncio.timeout(self._start_seconds) as deadline:

                def enter(name: str) -> None:
                    nonlocal phase
                    if name == phase:
                        return
                    phase = name
                    if name == "import":  # what came before was ours, and no fault of the model
                        deadline.reschedule(loop.time() + limits.seconds)
                    on_progress(name)

                return await read_answer(run, limits.encoded_bytes, enter)
        except TimeoutError:
            seconds = self._start_seconds if phase == "start" else limits.seconds
            raise _timed_out(title, phase, seconds, run.output.last_lines()) from None
        except AnswerTooLong as found:
            message = f"The capture of {title} takes {found.size:,} bytes; the limit is {limits.encoded_bytes:,}."
            step = "Open a smaller part of the model, or raise the limit `encoded_bytes`."
            raise TvlsError("limitExceeded", message, step, limit="encoded_bytes") from None
        except NoAnswer as end:
            raise _crashed(title, phase, end.code, run.output.last_lines()) from None
        finally:
            run.close()


def decode(body: bytes) -> Capture | Failure:
    """The document in the worker's answer, validated. TvlsError `workerCrashed` where it is none."""
    # Keys are sorted, and every failure has `failure` before any other key: no second pass to tell the two apart.
    kind: Any = Failure if body.startswith(b'{"failure":') else Capture
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as fault:
        message = f"The worker answered with a document that is not valid: {fault}."
        raise TvlsError("workerCrashed", message, "Report this with the model that shows it.") from fault


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


def _folder(environment: Environment) -> str:
    """Where to start it. An interpreter is the same everywhere; a wrapper may choose one by the folder it stands in."""
    return environment.prefix if len(environment.command) == 1 else environment.folder


def _limits(given: Mapping[str, Any]) -> Limits:
    known = {f.name for f in fields(Limits)}
    return Limits(**{name: value for name, value in given.items() if name in known})
