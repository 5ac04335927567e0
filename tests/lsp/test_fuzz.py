"""Messages of every kind, in any order: each request is answered once, the server lives, its memory stays. R28

Seconds: TVLS_FUZZ_SECONDS (10). A run is repeated with TVLS_FUZZ_SEED, which a failure names.
"""

from __future__ import annotations

import asyncio
import copy
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tests.lsp.client import LspClient, ResponseError
from tests.lsp.profiles import OURS, VSCODE
from tvls.protocol.registry import METHODS
from tvls.server.commands import COMMANDS

FIXTURES = Path(__file__).parents[2] / "protocol" / "fixtures"
HOME = "file:///home/ada/net"
SECONDS = float(os.environ.get("TVLS_FUZZ_SECONDS", "10"))
SEED = int(os.environ.get("TVLS_FUZZ_SEED", random.SystemRandom().randrange(2**32)))
BATCH = 40
GROWTH = 48 * 2**20
"""Bytes that the daemon may grow from the first third of a run to its end: what caches hold is bounded."""
ANSWER_SECONDS = 420.0
"""Longer than any wait of the daemon: two starts of a worker, each of 120 seconds at most, and the trace."""
pytestmark = pytest.mark.timeout(SECONDS + ANSWER_SECONDS + 180)
SERVE = (sys.executable, "-m", "tests.lsp.telling_server")

MODEL = """\
import jax
import jax.numpy as jnp


@jax.jit
def net(x):
    return jnp.sin(x) + 1.0
"""
SETUP = {"inputs": {"args": [{"kind": "tensor", "shape": [3], "dtype": "float32"}]}}
PIECES = [
    "import jax\n", "@jax.jit\n", "def net(x):\n", "    return x\n", "class A(nn.Module):\n", "😀", "\n", "\r",
    "\u2028", "é", "(", '"""', "\t", "from flax import linen as nn\n", "[profiles.a]\n", "model = ", "\0",
    "async def f(",
    "x" * 500,
]  # fmt: skip
ODD_URIS = [
    "", "file://", "file:///", "file:///c%3A/net/model.py", "file:///C:/net/model.py", "untitled:Untitled-1",
    "git:/net/model.py?x", "file://elsewhere/share/model.py", "file:///%00", "not a uri", "file:///a/../../b.py",
    "vscode-notebook-cell:/a.ipynb#W0", "file:///" + "a" * 5000 + ".py",
]  # fmt: skip
ODD_VALUES: list[Any] = [
    None, True, -1, 0, 2**31, 2**70, 1.5, 1e300, "", "\ud800", "x" * 10_000, [], {}, [[]], {"": None}, "sha256:0",
]  # fmt: skip
POSITIONAL = ("hover", "completion", "definition")
DOCUMENTS = ("codeLens", "documentSymbol")
ERRORS = {method.name: method.errors for method in METHODS}


class Fuzzer:
    """Makes messages, and counts the answers that are due by id."""

    def __init__(self, choose: random.Random, folder: Path, capture: str) -> None:
        self.choose = choose
        self.folder = folder
        self.due: Counter[str] = Counter()
        self.asked: dict[str, tuple[Any, Any]] = {}
        """By id: method and params of the requests of this batch."""
        self._uris = [(folder / name).as_uri() for name in ("model.py", "other.py", "tensorviz.toml", "gone.py")]
        self._next = 0
        self._payloads = {
            method.name: [self._payload(path, capture) for path in sorted(self._folder(method.name).glob("params-*"))]
            for method in METHODS
        }

    def _folder(self, method: str) -> Path:
        return FIXTURES / method.replace("/", ".")

    def _payload(self, path: Path, capture: str) -> Any:
        text = path.read_text("utf-8")
        if "environment" not in path.parent.name:  # no interpreter of the examples is there
            text = text.replace(HOME, self.folder.as_uri())
        example = "sha256:9f2c1e0b7a5d4c3e8f6a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60"
        return json.loads(text.replace(example, capture))

    def message(self) -> bytes:
        make = self.choose.choices(
            [self._request, self._standard, self._notification, self._cancel, self._garbage, self._response],
            [40, 25, 30, 8, 8, 3],
        )[0]
        return make()

    def _ask(self, method: Any, params: Any) -> bytes:
        self._next += 1
        msg_id: Any = self.choose.choice([f"f{self._next}", self._next + 10**6, -self._next])
        self.due[json.dumps(msg_id)] += 1
        self.asked[json.dumps(msg_id)] = (method, params)
        return frame({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})

    def _request(self) -> bytes:
        method = self.choose.choice([*self._payloads])
        params = self.choose.choice(self._payloads[method])
        return self._ask(method, params if self.choose.random() < 0.5 else self._mutated(params))

    def _standard(self) -> bytes:
        document = {"textDocument": {"uri": self._uri()}}
        kind = self.choose.randrange(6)
        if kind == 0:
            return self._ask(f"textDocument/{self.choose.choice(DOCUMENTS)}", self._perhaps(document))
        if kind == 1:
            span = {"start": self._position(), "end": self._position()}
            return self._ask(
                "textDocument/codeAction", self._perhaps({**document, "range": span, "context": {"diagnostics": []}})
            )
        if kind == 5:
            return self._ask("workspace/symbol", self._perhaps({"query": self.choose.choice(["", "n", "n" * 500])}))
        if kind == 2:
            argument = {"uri": self._uri(), "name": "net", "setup": SETUP}
            command = self.choose.choice([*(name for name in COMMANDS if "install" not in name), "no.such"])
            arguments = self.choose.choice([[], [argument], [self._mutated(argument)], [1], None])
            return self._ask("workspace/executeCommand", {"command": command, "arguments": arguments})
        if kind == 3:
            return self._ask(self.choose.choice(["no/such", "initialize", "$/odd", "", "textDocument/rename"]), {})
        method = f"textDocument/{self.choose.choice(POSITIONAL)}"
        return self._ask(method, self._perhaps({**document, "position": self._position()}))

    def _notification(self) -> bytes:
        uri = self._uri()
        version = self.choose.choice([0, 1, 2, 3, -5, 10**9, None])
        named: dict[str, Any] = {"uri": uri, "version": version} if version is not None else {"uri": uri}
        kind = self.choose.randrange(7)
        if kind == 0:
            text = self._text()
            params: Any = {"textDocument": {"languageId": "python", "version": 1, **named, "text": text}}
            return self._tell("textDocument/didOpen", params)
        if kind == 1:
            return self._tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        if kind == 2:
            return self._tell("textDocument/didSave", {"textDocument": {"uri": uri}})
        if kind == 3:
            changes = [{"uri": self._uri(), "type": self.choose.choice([1, 2, 3, 9])} for _ in range(3)]
            return self._tell("workspace/didChangeWatchedFiles", {"changes": changes})
        if kind == 4:
            settings = self.choose.choice([{}, None, {"tvls": {"idleSeconds": -1}}, {"tvls": 5}, []])
            return self._tell("workspace/didChangeConfiguration", {"settings": settings})
        changes = [self._change() for _ in range(self.choose.randint(0, 3))]
        return self._tell("textDocument/didChange", {"textDocument": named, "contentChanges": changes})

    def _tell(self, method: str, params: Any) -> bytes:
        return frame({"jsonrpc": "2.0", "method": method, "params": self._perhaps(params)})

    def _cancel(self) -> bytes:
        msg_id = self.choose.choice([f"f{self._next}", self._next + 10**6, -self._next, None, "x"])
        return frame({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": msg_id}})

    def _response(self) -> bytes:
        return frame({"jsonrpc": "2.0", "id": f"tvls-{self.choose.randint(1, 50)}", "result": self._odd()})

    def _garbage(self) -> bytes:
        """No message, and an error answer without an id for each."""
        self.due["null"] += 1
        whole = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tvls/server/status", "params": {"a": [1, 2]}}
        ).encode()
        body = self.choose.choice(
            [whole[: self.choose.randint(0, len(whole) - 1)], b"[]", b'"x"', b"[" * 2000, b"\xff\xfe", b"{}{}", b"NaN"]
        )
        bad_header = b"Content-Type: text/plain\r\n\r\n"
        return bad_header if self.choose.random() < 0.1 else b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    # --- parts -------------------------------------------------------------------------------------------------------

    def _uri(self) -> str:
        return self.choose.choice(ODD_URIS) if self.choose.random() < 0.15 else self.choose.choice(self._uris)

    def _position(self) -> dict[str, int]:
        return {"line": self.choose.randint(0, 12), "character": self.choose.choice([0, 3, 7, 12, 40, 2**31 - 1])}

    def _text(self) -> str:
        if self.choose.random() < 0.4:
            return MODEL
        return "".join(self.choose.choice(PIECES) for _ in range(self.choose.randint(0, 30)))

    def _change(self) -> dict[str, Any]:
        if self.choose.random() < 0.3:
            return {"text": self._text()}
        return {"range": {"start": self._position(), "end": self._position()}, "text": self.choose.choice(PIECES)}

    def _odd(self) -> Any:
        return copy.deepcopy(self.choose.choice(ODD_VALUES))

    def _perhaps(self, params: Any) -> Any:
        return self._mutated(params) if self.choose.random() < 0.2 else params

    def _mutated(self, value: Any) -> Any:
        """The same with one place changed, taken away or added."""
        value = copy.deepcopy(value)
        at, key = value, None
        parent: Any = None
        while isinstance(at, dict | list) and at and (parent is None or self.choose.random() < 0.7):
            key = self.choose.choice([*at]) if isinstance(at, dict) else self.choose.randrange(len(at))
            parent, at = at, at[key]
        if parent is None:
            return self._odd()
        if self.choose.random() < 0.3:
            del parent[key]
        else:
            parent[key] = self._odd()
        return value


def frame(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def check_answers(received: list[dict[str, Any]], due: Counter[str], asked: dict[str, Any], doing: str = "") -> None:
    answers = [message for message in received if "method" not in message]
    counted = Counter(json.dumps(message["id"]) for message in answers)
    wrong = [
        f"{counted[key]} answers, {due[key]} due: {asked.get(key)}" for key in counted | due if counted[key] != due[key]
    ]
    assert not wrong, "\n".join([*wrong, doing])
    for message in answers:
        method, params = asked.get(json.dumps(message["id"]), (None, None))
        error = message.get("error", {})
        assert error.get("code") != -32603, (method, params)
        if method in ERRORS and isinstance(error.get("data"), dict):
            assert error["data"]["kind"] in ERRORS[method], (method, params, error)


async def answered(client: LspClient, due: Counter[str]) -> str:
    """Until as many answers came as are due, or no more come: then what the daemon was doing instead."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS), client._news:
            await client._news.wait_for(
                lambda: (
                    sum("method" not in message for message in client.received) >= due.total()
                    or client.process.returncode is not None
                )
            )
    except TimeoutError:  # `check_answers` says which are missing
        client.process.send_signal(signal.SIGUSR1)
        await client.wait_for_stderr("waits: that is all")
        return client.stderr.decode()[-6000:]
    assert client.process.returncode is None, client.stderr.decode()[-3000:]
    return ""


def odd_answers(choose: random.Random) -> dict[str, Any]:
    """A client that answers questions with what comes to its mind."""

    def answer(_: Any) -> Any:
        if choose.random() < 0.2:
            raise ResponseError({"code": -32601, "message": "no"})
        return copy.deepcopy(choose.choice([None, {"title": "Not now"}, [], {"success": False}, 5, "x", [None]]))

    methods = ("window/showMessageRequest", "window/showDocument", "workspace/configuration", "workspace/applyEdit")
    return dict.fromkeys((*methods, "client/registerCapability", "window/workDoneProgress/create"), answer)


async def test_any_messages(tmp_path: Path, models_python: str) -> None:
    choose = random.Random(SEED)  # noqa: S311
    print(f"TVLS_FUZZ_SEED={SEED}")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / "other.py").write_text(MODEL.replace("net", "other"))
    (folder / "tensorviz.toml").write_text('version = 1\n[profiles.a]\nmodel = "model:net"\n')
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "BROWSER": "true"}
    env |= {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1"}  # plans have no deadline: downloads take the time that they take
    async with LspClient.start(SERVE, env=env) as client:
        capabilities = choose.choice([{}, VSCODE, OURS])
        await client.initialize(capabilities, [folder], {"interpreter": models_python})
        await client.request("tvls/trust/grant", {"folder": folder.as_uri()})
        target = {"uri": (folder / "model.py").as_uri(), "name": "net"}
        opened = await client.request("tvls/graph/open", {"target": target, "setup": SETUP}, 120)
        fuzzer = Fuzzer(choose, folder, opened["capture"]["captureId"])
        client.answers = odd_answers(choose)
        process = psutil.Process(client.process.pid)
        end = time.monotonic() + SECONDS
        early, sent, slowest = 0, 0, 0.0
        while (left := end - time.monotonic()) > 0:
            client.received.clear()
            fuzzer.due.clear()
            fuzzer.asked.clear()
            client.write(b"".join(fuzzer.message() for _ in range(BATCH)))
            sent += BATCH
            started = time.monotonic()
            doing = await answered(client, fuzzer.due)
            slowest = max(slowest, time.monotonic() - started)
            check_answers(client.received, fuzzer.due, fuzzer.asked, doing)
            client.stderr.clear()
            if left > SECONDS * 2 / 3:
                early = max(early, process.memory_info().rss)
        assert sent >= BATCH * 2
        grown = process.memory_info().rss - early
        print(f"{sent} messages, a batch in {slowest:.1f} s, {early >> 20} MiB, then {grown / 2**20:+.1f} MiB")
        assert grown < GROWTH
        client.answers = {}
        assert await client.request("tvls/server/status", {})
        assert await client.shut_down() == 0


def test_the_checks_fail_where_they_should() -> None:
    due = Counter({"1": 1, "null": 1})
    good = [{"id": 1, "result": None}, {"id": None, "error": {"code": -32700}}, {"method": "x"}]
    check_answers(good, due, {})
    for bad in (good[1:], [*good, good[0]], [{"id": 1, "error": {"code": -32603}}, good[1]]):
        try:
            check_answers(bad, due, {})
        except AssertionError:
            continue
        raise AssertionError(bad)


def test_results_of_fixtures_are_valid_so_that_the_fuzzer_sends_good_requests_too() -> None:
    fuzzer = Fuzzer(random.Random(1), Path("/w"), "sha256:0")  # noqa: S311
    for method in METHODS:
        (example, *_) = [p for p in fuzzer._payloads[method.name] if _fits(p, method.params)]
        assert isinstance(example, dict)


def _fits(payload: Any, kind: Any) -> bool:
    try:
        msgspec.convert(payload, kind)
    except msgspec.ValidationError:
        return False
    return True
