"""A server process as a client sees it: bytes of LSP over its standard input and output."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, cast

Json = dict[str, Any]


class Fault(Exception):  # noqa: N818 (the word of the report)
    """The server did what the protocol does not allow, or not what it asks for."""


def write_message(stream: IO[bytes], message: Json) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    stream.flush()


def read_message(stream: IO[bytes]) -> Json | None:
    """The next message; None at the end of the stream. Raises Fault for what is none."""
    lines: list[bytes] = []
    length = b""
    while (line := stream.readline()) not in (b"\r\n", b""):
        lines.append(line)
        name, separator, value = line.partition(b":")
        if not separator or not re.fullmatch(rb"[A-Za-z-]+", name):  # what a program prints, say
            raise Fault(f"no header of a message: {line[:200]!r}")
        if name.lower() == b"content-length":
            length = value.strip()
    if not lines:
        return None
    if not length.isdigit():
        raise Fault(f"no header of a message: {b''.join(lines)[:200]!r}")
    body = stream.read(int(length))
    if len(body) < int(length):
        raise Fault(f"the stream ends inside a message: {body[:200]!r}")
    try:
        message = json.loads(body.decode(), parse_constant=_refuse)
    except ValueError as error:
        raise Fault(f"no JSON: {error}: {body[:200]!r}") from error
    if not isinstance(message, dict) or cast(Json, message).get("jsonrpc") != "2.0":
        raise Fault(f"no message of JSON-RPC 2.0: {body[:200]!r}")
    return cast(Json, message)


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


class Connection:
    """Requests out, answers in. All that arrived is in `received`, in order; `faults` are those of the stream."""

    def __init__(self, command: Sequence[str], folder: Path, environment: dict[str, str], seconds: float) -> None:
        """`seconds`: how long the server may take to answer where it has nothing to trace."""
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
            env=environment,
        )  # fmt: skip
        self.seconds = seconds
        self.received: list[Json] = []
        self.faults: list[str] = []
        self.asked: list[Any] = []
        """Ids of all requests that were sent."""
        self._news = threading.Condition()
        self._ended = False
        self._next_id = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 (a pipe was asked for)
        try:
            while (message := read_message(self.process.stdout)) is not None:
                with self._news:
                    self.received.append(message)
                    self._news.notify_all()
        except Fault as fault:
            self.faults.append(str(fault))
        finally:
            with self._news:
                self._ended = True
                self._news.notify_all()

    # --- sending -----------------------------------------------------------------------------------------------------

    def send(self, message: Json) -> None:
        assert self.process.stdin is not None  # noqa: S101 (a pipe was asked for)
        if "method" in message and "id" in message:
            self.asked.append(message["id"])
        try:
            write_message(self.process.stdin, message)
        except OSError as error:
            raise Fault(f"the server closed its input: {error}") from error

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"method": method} if params is None else {"method": method, "params": params})

    def ask(self, method: str, params: Any = None, msg_id: Any = None) -> Any:
        """Sends a request; its id."""
        if msg_id is None:
            self._next_id += 1
            msg_id = self._next_id
        message = {"id": msg_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return msg_id

    # --- receiving ---------------------------------------------------------------------------------------------------

    def wait_for(self, fits: Callable[[Json], bool], what: str, since: int = 0, seconds: float | None = None) -> int:
        """Index in `received` of the first message from `since` on that fits. Raises Fault where none comes."""
        seconds = seconds or self.seconds
        end = time.monotonic() + seconds
        at = since
        with self._news:
            while True:
                while at < len(self.received):
                    if fits(self.received[at]):
                        return at
                    at += 1
                if self._ended:
                    raise Fault(f"the server ended before {what} came" + "".join(f"; {f}" for f in self.faults))
                left = end - time.monotonic()
                if left <= 0:
                    raise Fault(f"{what} did not come within {seconds:g} seconds")
                self._news.wait(left)

    def answer(self, msg_id: Any, what: str, seconds: float | None = None) -> Json:
        """The answer to a request, result or error."""
        return self.received[self.wait_for(lambda m: is_answer(m, msg_id), f"the answer to {what}", 0, seconds)]

    def request(self, method: str, params: Any = None, seconds: float | None = None) -> Json:
        return self.answer(self.ask(method, params), method, seconds)

    def result(self, method: str, params: Any = None, seconds: float | None = None) -> Any:
        answer = self.request(method, params, seconds)
        if "result" not in answer:
            raise Fault(f"{method} gave an error where a result was due: {shorten(answer.get('error'))}")
        return answer["result"]

    def initialize(self, folders: Sequence[Path], capabilities: Json | None = None) -> Json:
        """The handshake; the result."""
        params: Json = {
            "processId": None,
            "rootUri": None,
            "capabilities": capabilities or {},
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
        }
        result = self.result("initialize", params)
        self.notify("initialized", {})
        return result

    # --- the end -----------------------------------------------------------------------------------------------------

    def wait_ended(self) -> int:
        try:
            return self.process.wait(self.seconds)
        except subprocess.TimeoutExpired as error:
            raise Fault(f"the server still runs after {self.seconds:g} seconds") from error

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(5)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # what was not written yet has no reader any more
                    continue


def is_answer(message: Json, msg_id: Any) -> bool:
    return "method" not in message and message.get("id") == msg_id and type(message.get("id")) is type(msg_id)


def shorten(value: Any, length: int = 300) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= length else text[:length] + "…"
