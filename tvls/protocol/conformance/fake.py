"""A server that knows nothing but its lines: it plays a transcript, or answers from the fixtures.

So a client is tested without Python libraries, and with answers that a test can count on. What the client sends is
checked against the types of the protocol; what does not fit is refused with -32602, as the server refuses it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec

from tvls.protocol import registry
from tvls.protocol.conformance.connection import Fault, read_message, write_message
from tvls.protocol.conformance.rules import FIXTURE_FOLDER
from tvls.protocol.conformance.transcript import Json, Transcript, difference, fill
from tvls.protocol.errors import CODES

METHODS: Final = {method.name: method for method in registry.METHODS}
_COMMANDS: Final = ("tvls.server.openGraph", "tvls.server.refreshGraph", "tvls.server.openInBrowser")


class RefusalError(Exception):
    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message} | ({"data": data} if data else {})


@dataclass
class Fake:
    fixtures: Path
    out: IO[bytes]
    folder: str = FIXTURE_FOLDER
    client_commands: list[str] = field(default_factory=list[str])
    shows_documents: bool = False

    def send(self, message: Json) -> None:
        write_message(self.out, message)

    def fixture(self, method: str, side: str = "result") -> Any:
        path = self.fixtures / method.replace("/", ".") / f"{side}-valid-example.json"
        return json.loads(path.read_text("utf-8").replace(FIXTURE_FOLDER, self.folder))

    # --- answers from the fixtures -----------------------------------------------------------------------------------

    def answer(self, message: Json) -> None:
        """To a request; nothing else has one."""
        if "id" not in message or "method" not in message:
            return
        try:
            result = self._result(message["method"], message.get("params") or {})
        except RefusalError as refusal:
            self.send({"id": message["id"], "error": refusal.error})
        else:
            self.send({"id": message["id"], "result": result})

    def _result(self, method: str, params: Any) -> Any:
        if method in METHODS:
            return self._ours(METHODS[method], params)
        match method:
            case "initialize":
                return self._initialize(params)
            case "shutdown" | "textDocument/hover":
                return None
            case "textDocument/codeLens":
                return [
                    {"range": target["range"], "command": self._open_command("Open as Graph", target)}
                    for target in self._targets(params)
                ]
            case "textDocument/codeAction":
                return [
                    {
                        "title": f"Open {target['name']} as Graph",
                        "kind": "source.tvls.openGraph",
                        "command": self._open_command("Open as Graph", target),
                    }
                    for target in self._targets(params)
                ]
            case "workspace/executeCommand":
                if params.get("command") in ("tvls.server.openGraph", "tvls.server.refreshGraph"):
                    return self.fixture("tvls/graph/open")
                if params.get("command") == "tvls.server.openInBrowser":
                    return self._show_page()
                raise RefusalError(-32602, f"unknown command {params.get('command')}")
            case _:
                raise RefusalError(-32601, f"unknown request {method}")

    def _ours(self, method: registry.Method, params: Any) -> Any:
        try:
            msgspec.convert(params, method.params)
        except msgspec.ValidationError as error:
            raise RefusalError(-32602, str(error)) from error
        here = self.fixture("tvls/graph/info")["captureId"]
        if "captureGone" in method.errors and params.get("captureId", here) != here:
            message = "This capture is not open any more."
            data = {"kind": "captureGone", "nextStep": "Open the target again."}
            raise RefusalError(CODES["captureGone"], message, data)
        result: Json = self.fixture(method.name)
        if "cursor" in params or ("body" in params and method.name == "tvls/graph/view"):
            # An example is one page of the program: nothing comes after it, and its bodies are empty.
            result.pop("nextCursor", None)
            result |= {key: list[Any]() for key, value in result.items() if isinstance(value, list)}
        return result

    def _initialize(self, params: Json) -> Json:
        capabilities: Json = params.get("capabilities") or {}
        experimental: Json = capabilities.get("experimental") or {}
        commands: Any = experimental.get("commands") or []
        window: Json = capabilities.get("window") or {}
        self.shows_documents = cast(Json, window.get("showDocument") or {}).get("support") is True
        self.client_commands = cast(Json, commands).get("commands", []) if isinstance(commands, dict) else commands
        return {
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": {"openClose": True, "change": 1, "save": True},
                "codeLensProvider": {"resolveProvider": False},
                "codeActionProvider": {"codeActionKinds": ["source.tvls.openGraph"]},
                "hoverProvider": True,
                "executeCommandProvider": {"commands": list(_COMMANDS)},
                "experimental": {
                    "tvls": {
                        "protocolVersion": "0.1",
                        "methods": [name for name in METHODS if name not in registry.ANSWERED_BY_THE_CANVAS_HOST],
                        "tracing": "on",
                    }
                },
            },
            "serverInfo": {"name": "tvls-fake", "version": "0"},
        }

    def _show_page(self) -> None:
        """Asks the client to show an address, where it can; nothing is there."""
        if self.shows_documents:
            shown: Json = {"uri": "http://127.0.0.1:4242/graph/MLP", "external": True, "takeFocus": True}
            self.send({"id": "fake-page", "method": "window/showDocument", "params": shown})

    def _targets(self, params: Json) -> list[Json]:
        uri = params["textDocument"]["uri"]
        return [{**target, "uri": uri} for target in self.fixture("tvls/targets/list")["targets"]]

    def _open_command(self, title: str, target: Json) -> Json:
        own = "tvls.openGraph" in self.client_commands
        command = "tvls.openGraph" if own else "tvls.server.openGraph"
        return {"title": title, "command": command, "arguments": [{"uri": target["uri"], "name": target["name"]}]}


def serve(fixtures: Path, transcript: Transcript | None, into: IO[bytes], out: IO[bytes]) -> int:
    """Until `exit` or the end of the stream. 1: the client left the transcript; standard error says where."""
    fake = Fake(fixtures, out)
    player = _Player(transcript, fake) if transcript is not None else None
    faults: list[str] = []
    try:
        while (message := read_message(into)) is not None:
            if message.get("method") == "initialize":
                fake.folder = _folder(message.get("params") or {})
            if player is None or not player.play(message):
                fake.answer(message)
            if message.get("method") == "exit":
                break
    except Fault as fault:
        faults.append(str(fault))
    faults += player.faults() if player is not None else []
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    return 1 if faults else 0


def _folder(params: Json) -> str:
    folders: list[Json] = params.get("workspaceFolders") or []
    return folders[0]["uri"] if folders else params.get("rootUri") or FIXTURE_FOLDER


class _Player:
    """Where in a transcript the conversation is. `ids` leads from the transcript's ids to those of the client."""

    def __init__(self, transcript: Transcript, fake: Fake) -> None:
        self._lines = transcript.lines
        self._examples = transcript.examples
        self._fake = fake
        self._at = 0
        self._variables: dict[str, str] = {}
        self._ids: dict[Any, Any] = {}
        self._faults: list[str] = []

    def play(self, message: Json) -> bool:
        """Whether the message is the next one of the transcript. Then what follows it there is sent."""
        if message.get("method") == "initialize":
            path = url2pathname(urlsplit(self._fake.folder).path)
            self._variables |= {"folder": self._fake.folder, "folderPath": path}
        while self._at < len(self._lines) and self._lines[self._at].side == "client":
            written = self._lines[self._at].message
            if not _same(written, message, self._variables):
                return False
            fault = _params_differ(written, message, self._variables)
            if fault is not None:
                self._faults.append(f"{message.get('method', 'an answer')}: {fault}")
                if "method" in message and "id" in message:
                    self._fake.send({"id": message["id"], "error": {"code": -32602, "message": fault}})
                return True
            if "method" in written and "id" in written:
                self._ids[json.dumps(written["id"])] = message["id"]
            self._at += 1
            self._send_lines()
            return True
        return False

    def _send_lines(self) -> None:
        while self._at < len(self._lines) and self._lines[self._at].side == "server":
            written = self._lines[self._at].message
            for name, value in self._examples.items():
                self._variables.setdefault(name, value)
            message = fill(written, self._variables)
            if "method" not in message:
                message["id"] = self._ids[json.dumps(written["id"])]
            self._fake.send(message)
            self._at += 1

    def faults(self) -> list[str]:
        left = [line.message for line in self._lines[self._at :] if line.side == "client"]
        missing = [message.get("method", "an answer") for message in left if message.get("method") != "exit"]
        return [*self._faults, *([f"the client never sent: {', '.join(missing)}"] if missing else [])]


def _same(written: Json, message: Json, variables: dict[str, str]) -> bool:
    if "method" in written:
        return written["method"] == message.get("method") and ("id" in written) == ("id" in message)
    return "method" not in message and fill(written["id"], variables) == message.get("id")


def _params_differ(written: Json, message: Json, variables: dict[str, str]) -> str | None:
    if written.get("method") == "initialize":  # every client has capabilities of its own
        difference(
            written["params"].get("initializationOptions"), message["params"].get("initializationOptions"), variables
        )
        variables.setdefault("python", "python3")
        return None
    part = "params" if "method" in written else "result"
    return difference(written[part], message.get(part), variables, part) if part in written else None
