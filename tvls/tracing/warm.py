"""Daemon side of the warm worker: start it, have it fork, hear what became of each fork."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tvls.environments import launch
from tvls.environments.processes import ended, guard, kill_group, kill_marked
from tvls.tracing.output import Output, collect
from tvls.tracing.run import READ_LIMIT, Run

_GRACE = 2.0
"""Seconds that a warm worker gets to end what it forked before it is killed itself."""

_FORK_SECONDS = 5.0
"""Seconds after which a warm worker that has not forked is taken for stopped or stuck. It takes milliseconds."""


class WarmUnavailable(Exception):  # noqa: N818  (an outcome)
    """No warm worker can be had here; `broken` where it should have been possible, `died` where it ended without a
    reason, which may have been chance."""

    def __init__(self, message: str, *, broken: bool, died: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.broken = broken
        self.died = died


class WarmWorker:
    """A running warm worker. Made by `start_warm`."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, mark: str, tasks: set[asyncio.Task[Any]]
    ) -> None:
        self.process = process
        self.output = Output()
        self.hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.alive = True
        self.retired = False
        self._control = control
        self._mark = mark
        self._tasks = tasks
        self._received = bytearray()
        self._runs: dict[int, asyncio.Future[int | None]] = {}
        self._forked: set[int] = set()
        self._next = 1
        self._ending: asyncio.Task[None] | None = None
        self.on_idle: Callable[[], None] = lambda: None
        """Called when the last running trace has ended."""
        asyncio.get_running_loop().add_reader(control.fileno(), self._readable)

    @property
    def pid(self) -> int:
        """Of the worker itself; that of `process` may be a wrapper's."""
        return self.hello.result()["pid"] if self.hello.done() and not self.hello.exception() else self.process.pid

    @property
    def busy(self) -> bool:
        return bool(self._runs)

    async def begin(self, request: bytes) -> Run:
        """Fork a trace worker for a request of one line. Raises WarmUnavailable where this worker has ended."""
        loop = asyncio.get_running_loop()
        identity, self._next = self._next, self._next + 1
        ours, theirs = socket.socketpair()
        errors, errors_end = os.pipe()
        try:
            ours.setblocking(False)
            message = json.dumps({"fork": identity}).encode() + b"\n"
            self._send(message, [theirs.fileno(), errors_end])
        except BaseException:
            ours.close()
            os.close(errors)
            raise
        finally:
            theirs.close()
            os.close(errors_end)
        exited: asyncio.Future[int | None] = loop.create_future()
        self._runs[identity] = exited
        waiting = loop.call_later(_FORK_SECONDS, self._expect_fork, identity)
        exited.add_done_callback(lambda _: waiting.cancel())
        output: Output | None = None
        writer: asyncio.StreamWriter | None = None

        def close() -> None:
            self._kill(identity)
            if writer is not None:
                writer.transport.abort()
            if output is not None:
                output.close()

        try:
            output = await collect(errors)
            reader = asyncio.StreamReader(limit=READ_LIMIT)
            protocol = asyncio.StreamReaderProtocol(reader)
            transport, _ = await loop.create_connection(lambda: protocol, sock=ours)
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            writer.write(request)
        except BaseException:
            close()
            raise
        return Run(reader, exited, output, close)

    def close(self) -> None:
        """End the worker and everything it forked. Returns at once; `tasks` hold what is still to be waited for."""
        if self._ending is None:
            self._lost()
            self._ending = asyncio.get_running_loop().create_task(self._end())
            self._tasks.add(self._ending)
            self._ending.add_done_callback(self._tasks.discard)

    def retire(self) -> None:
        """Take no more requests and end with the last running trace."""
        self.retired = True
        if not self.busy:
            self.close()

    async def _end(self) -> None:
        # The socket is closed: the worker ends its forks, and itself, and can find descendants that the daemon cannot.
        try:
            async with asyncio.timeout(_GRACE):
                code = await ended(self.process)
        except TimeoutError:
            code = -1
        if code != 0:
            kill_group(self.process)
            await asyncio.to_thread(kill_marked, self._mark)
            await ended(self.process)
        self.output.close()

    def _send(self, message: bytes, fds: Sequence[int] = ()) -> None:
        if not self.alive:
            raise WarmUnavailable("the warm worker has ended", broken=True)
        try:
            sent = socket.send_fds(self._control, [message], fds) if fds else self._control.send(message)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            sent = 0  # stopped, or gone
        if sent != len(message):
            self.close()
            raise WarmUnavailable("the warm worker does not take requests", broken=True)

    def _kill(self, identity: int) -> None:
        exited = self._runs.get(identity)
        if exited is None or not self.alive:
            return
        try:
            self._send(json.dumps({"kill": identity}).encode() + b"\n")
        except WarmUnavailable:
            return  # it is being ended as a whole
        task = asyncio.get_running_loop().create_task(self._insist(exited))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _expect_fork(self, identity: int) -> None:
        """A worker that does not fork goes as a whole; what had not begun in it can begin elsewhere."""
        if self.alive and identity in self._runs and identity not in self._forked:
            kill_group(self.process)
            self.close()

    async def _insist(self, exited: asyncio.Future[int | None]) -> None:
        """A worker that does not carry out a kill has been stopped or is stuck: it goes as a whole."""
        await asyncio.wait({exited}, timeout=_GRACE)
        if not exited.done():
            kill_group(self.process)
            self.close()

    def _readable(self) -> None:
        try:
            data = self._control.recv(65536)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self.close()
            return
        self._received += data
        while (end := self._received.find(b"\n")) >= 0:
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            self._hear(json.loads(line))

    def _hear(self, message: dict[str, Any]) -> None:
        if "hello" in message:
            self.hello.set_result(message["hello"])
        elif "broken" in message:
            self.hello.set_exception(WarmUnavailable(message["broken"], broken=True))
        elif "forked" in message:
            self._forked.add(message["forked"])
        elif "exited" in message or "failed" in message:
            identity: int = message["exited"] if "exited" in message else message["failed"]
            exited = self._runs.pop(identity, None)
            self._forked.discard(identity)
            if exited is not None and not exited.done():
                exited.set_result(message.get("status"))
            if not self.busy:
                if self.retired:
                    self.close()
                else:
                    self.on_idle()

    def _lost(self) -> None:
        if not self.alive:
            return
        self.alive = False
        asyncio.get_running_loop().remove_reader(self._control.fileno())
        self._control.close()
        if not self.hello.done():
            reason = WarmUnavailable("the warm worker ended while it was starting", broken=True, died=True)
            self.hello.set_exception(reason)
        for exited in self._runs.values():
            if not exited.done():
                exited.set_result(None)
        self._runs.clear()


async def start_warm(
    command: Sequence[str],
    framework: str,
    *,
    folder: str,
    script: Path,
    seconds: float,
    tasks: set[asyncio.Task[Any]],
) -> WarmWorker:
    """A warm worker that has said hello. Raises WarmUnavailable with the reason where there can be none."""
    if not hasattr(os, "fork") or not hasattr(socket, "AF_UNIX"):
        raise WarmUnavailable("this system has no fork", broken=False)
    ours, theirs = socket.socketpair()
    errors, errors_end = os.pipe()
    mark = launch.new_mark()
    try:
        # The socket is standard input: wrappers such as `uv run` pass that on, and may close other descriptors.
        process = launch.start(
            command,
            ["warm", framework],
            folder=folder,
            mark=mark,
            script=script,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=errors_end,
        )
    except OSError as fault:
        ours.close()
        os.close(errors)
        raise WarmUnavailable(f"{command[0]} cannot be started: {fault.strerror}", broken=True) from fault
    finally:
        theirs.close()
        os.close(errors_end)
    ours.setblocking(False)
    worker = WarmWorker(process, ours, mark, tasks)
    release = guard(process)
    try:
        worker.output = await collect(errors)
        async with asyncio.timeout(seconds):
            hello = await worker.hello
    except TimeoutError:
        worker.close()
        raise WarmUnavailable(f"the warm worker was not ready within {seconds:g} s", broken=True) from None
    except WarmUnavailable as reason:
        worker.close()
        said = worker.output.last_lines(5)
        message = f"{reason.message}\n{said}" if said else reason.message
        raise WarmUnavailable(message, broken=True, died=reason.died) from None
    except BaseException:
        worker.close()
        raise
    finally:
        release()
    if (hello["threads"] or 1) > 1:
        worker.close()
        message = (
            f"importing {framework} started {hello['threads'] - 1} threads, and a process with threads cannot fork"
        )
        raise WarmUnavailable(message, broken=False)
    return worker
