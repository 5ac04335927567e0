"""A raw LSP client for tests: bytes over the pipes of a real server process, and nothing that forgives.

    async with LspClient.start(SERVE) as client:
        await client.initialize(VSCODE, folders=[folder], options={"interpreter": python})
        client.open(folder / "model.py")
        lenses = await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})

Requests of the server are answered by `answers` (method → value or function of the params); what has no entry there
gets an answer that a plain editor would give. Everything that arrives is kept in `received`, in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

SERVE = (sys.executable, "-m", "tvls", "serve")
TIMEOUT = 30.0

NO_ANSWER = object()
"""In `answers`: the client never replies to this request."""


class ResponseError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


def error(code: int, message: str = "refused") -> Callable[[Any], Any]:
    """In `answers`: the client replies with an error."""

    def answer(_: Any) -> Any:
        raise ResponseError({"code": code, "message": message})

    return answer


class LspClient:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout and process.stderr
        self.process = process
        self.received: list[dict[str, Any]] = []
        self.stderr = bytearray()
        self.answers: dict[str, Any] = {
            "workspace/configuration": lambda params: [None for _ in params["items"]],
            "window/showMessageRequest": None,
            "window/showDocument": {"success": True},
        }
        self.capabilities: dict[str, Any] = {}
        self._next_id = 0
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._news = asyncio.Condition()
        self._versions: dict[str, int] = {}
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._read_stderr())]

    # --- process -----------------------------------------------------------------------------------------------------

    @classmethod
    @contextlib.asynccontextmanager
    async def start(
        cls, command: Sequence[str] = SERVE, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> AsyncIterator[LspClient]:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
        client = cls(process)
        try:
            yield client
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
            process._transport.close()  # type: ignore[attr-defined]  (else a paused pipe outlives the loop)
            await process.wait()
            for task in client._tasks:
                task.cancel()
            await asyncio.gather(*client._tasks, return_exceptions=True)

    async def wait_closed(self, seconds: float = 10.0) -> int:
        """Exit code of the process. Raises TimeoutError while it lives."""
        async with asyncio.timeout(seconds):
            return await self.process.wait()

    async def shut_down(self) -> int:
        """`shutdown`, `exit`; the exit code."""
        await self.request("shutdown")
        self.notify("exit")
        return await self.wait_closed()

    # --- sending -----------------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)

    def write_body(self, body: bytes) -> None:
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def send(self, message: Any) -> None:
        self.write_body(json.dumps(message).encode())

    def notify(self, method: str, params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else {**message, "params": params})

    def ask(self, method: str, params: Any = None) -> Call:
        """Sends a request; the answer is awaited later, or the request cancelled."""
        self._next_id += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        if params is not None:
            message["params"] = params
        future = self._waiting[self._next_id] = asyncio.get_running_loop().create_future()
        self.send(message)
        return Call(self, self._next_id, future)

    async def request(self, method: str, params: Any = None, seconds: float = TIMEOUT) -> Any:
        """The result. Raises ResponseError for an error answer, TimeoutError for none."""
        return await self.ask(method, params).result(seconds)

    # --- receiving ---------------------------------------------------------------------------------------------------

    async def wait_for(
        self,
        what: str | Callable[[dict[str, Any]], bool],
        condition: Callable[[Any], bool] = lambda params: True,
        since: int = 0,
        seconds: float = TIMEOUT,
    ) -> dict[str, Any]:
        """The first message, from index `since` of `received` on, with this method and params that fit."""
        fits = (lambda m: m.get("method") == what and condition(m.get("params"))) if isinstance(what, str) else what
        async with asyncio.timeout(seconds), self._news:
            start = since
            while True:
                for message in self.received[start:]:
                    if fits(message):
                        return message
                start = len(self.received)
                if self._tasks[0].done():
                    raise EOFError(f"the server closed its output; standard error: {self.stderr.decode()}")
                await self._news.wait()

    async def wait_for_stderr(self, text: str, seconds: float = TIMEOUT) -> None:
        """Until the server has written this to standard error."""
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(lambda: text.encode() in self.stderr)

    def pause_reading(self) -> None:
        """From now on the client reads nothing of what the server writes."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    @property
    def _transport(self) -> asyncio.ReadTransport:
        return self.process.stdout._transport  # type: ignore[union-attr]

    def of(self, method: str) -> list[Any]:
        """Params of everything of this method that the server has sent."""
        return [message.get("params") for message in self.received if message.get("method") == method]

    def replies_to(self, msg_id: Any) -> list[dict[str, Any]]:
        return [message for message in self.received if "method" not in message and message.get("id") == msg_id]

    async def settle(self) -> None:
        """Until the server has handled everything that was sent so far and written what it had to say at once."""
        with contextlib.suppress(ResponseError):
            await self.request("test/no-such-request")

    async def _read(self) -> None:
        assert self.process.stdout
        try:
            while True:
                head = await self.process.stdout.readuntil(b"\r\n\r\n")
                lines = head[:-4].decode("ascii").split("\r\n")
                headers = dict(line.split(": ", 1) for line in lines)
                body = await self.process.stdout.readexactly(int(headers["Content-Length"]))
                await self._handle(json.loads(body, parse_constant=_no_constants))
        except asyncio.IncompleteReadError as end:
            if end.partial:
                raise AssertionError(f"not a message: {end.partial[:200]!r}") from end
        finally:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(EOFError(f"no answer; standard error: {self.stderr.decode()}"))
                    future.exception()
            async with self._news:
                self._news.notify_all()

    async def _handle(self, message: dict[str, Any]) -> None:
        assert message["jsonrpc"] == "2.0"
        async with self._news:
            self.received.append(message)
            self._news.notify_all()
        if "method" not in message:
            future = self._waiting.pop(message["id"], None)
            if future is not None and not future.done():
                future.set_result(message)
        elif "id" in message:
            self._reply(message)

    def _reply(self, message: dict[str, Any]) -> None:
        answer = self.answers.get(message["method"])
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message.get("params")) if callable(answer) else answer
        except ResponseError as refused:
            reply["error"] = {"code": refused.code, "message": refused.message}
        if answer is not NO_ANSWER:
            self.send(reply)

    async def _read_stderr(self) -> None:
        assert self.process.stderr
        while data := await self.process.stderr.read(65536):
            self.stderr += data
            async with self._news:
                self._news.notify_all()

    # --- an editor's life --------------------------------------------------------------------------------------------

    async def initialize(
        self,
        capabilities: dict[str, Any] | None = None,
        folders: Sequence[Path] = (),
        options: Any = None,
        **extra: Any,
    ) -> dict[str, Any]:
        """`initialize` and `initialized`; the result."""
        params: dict[str, Any] = {
            "processId": os.getpid(),
            "rootUri": None,
            "capabilities": capabilities or {},
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
            **extra,
        }
        if options is not None:
            params["initializationOptions"] = options
        result = await self.request("initialize", params)
        self.capabilities = result["capabilities"]
        self.notify("initialized", {})
        return result

    def open(self, file: Path | str, text: str | None = None, language: str = "python") -> str:
        """Opens a file (or a URI, with its text) as a buffer; its URI."""
        uri = file if isinstance(file, str) else file.as_uri()
        if text is None:
            assert isinstance(file, Path)
            text = file.read_bytes().decode()
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, *changes: dict[str, Any] | str) -> None:
        """Changes an open buffer: each change is LSP's, or a new text."""
        self._versions[uri] += 1
        events = [{"text": change} if isinstance(change, str) else change for change in changes]
        document = {"uri": uri, "version": self._versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": events})

    def save(self, uri: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def lenses(self, uri: str) -> list[dict[str, Any]]:
        return await self.request("textDocument/codeLens", {"textDocument": {"uri": uri}})

    async def hover(self, uri: str, line: int, character: int) -> dict[str, Any] | None:
        position = {"line": line, "character": character}
        return await self.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})

    async def execute(self, command: str, *arguments: Any, **extra: Any) -> Any:
        return await self.request(
            "workspace/executeCommand", {"command": command, "arguments": list(arguments), **extra}
        )


class Call:
    """A request that was sent."""

    def __init__(self, client: LspClient, msg_id: int, future: asyncio.Future[dict[str, Any]]) -> None:
        self._client = client
        self.id = msg_id
        self._future = future

    async def result(self, seconds: float = TIMEOUT) -> Any:
        async with asyncio.timeout(seconds):
            message = await self._future
        if "error" in message:
            raise ResponseError(message["error"])
        return message["result"]

    async def error(self, seconds: float = TIMEOUT) -> ResponseError:
        try:
            result = await self.result(seconds)
        except ResponseError as refused:
            return refused
        raise AssertionError(f"expected an error, got {result!r}")

    def cancel(self) -> None:
        self._client.notify("$/cancelRequest", {"id": self.id})


def _no_constants(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")
