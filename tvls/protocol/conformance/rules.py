"""What the protocol asks of every server, one function a rule. None of them needs a library or runs a model."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from tvls.protocol import registry
from tvls.protocol import types as t
from tvls.protocol.conformance.connection import Connection, Fault, Json, is_answer, shorten
from tvls.protocol.errors import CODES

METHODS: Final = {method.name: method for method in registry.METHODS}

MODEL: Final = """\
import jax

open("canary", "w").close()


@jax.jit
def net(x, sign="😀"):
    return x
"""
"""A target whose `def` line is 21, 22 or 25 units long, by the encoding; running the file leaves a trace."""
_DEF_LINE: Final = 'def net(x, sign="😀"):'
_UNITS: Final = {
    "utf-8": len(_DEF_LINE.encode()),
    "utf-16": len(_DEF_LINE.encode("utf-16-le")) // 2,
    "utf-32": len(_DEF_LINE),
}
FIXTURE_FOLDER: Final = "file:///home/ada/net"
_NO_CAPTURE: Final = "sha256:" + "0" * 64
_STANDARD: Final = (-32700, -32600, -32601, -32602, -32603, -32800, -32801, -32802, -32803)


class Bench:
    """Starts servers over a folder with `MODEL`, and keeps what they said for the rules about all messages."""

    def __init__(self, start: Callable[[Path], Connection], fixtures: Path) -> None:
        self._start = start
        self.fixtures = fixtures
        self.servers: list[Connection] = []

    @contextmanager
    def started(self) -> Generator[tuple[Connection, Path]]:
        folder = Path(tempfile.mkdtemp(prefix="tvls-conformance-")).resolve()
        (folder / "model.py").write_text(MODEL, "utf-8")
        connection = self._start(folder)
        self.servers.append(connection)
        try:
            yield connection, folder
        finally:
            connection.close()
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def running(self, capabilities: Json | None = None) -> Generator[tuple[Connection, Path, Json]]:
        with self.started() as (connection, folder):
            yield connection, folder, connection.initialize([folder], capabilities)

    def payloads(self, method: str, prefix: str, folder: Path) -> Iterator[tuple[str, Any]]:
        """Fixtures by name, with this folder in place of the one that they are about."""
        for path in sorted((self.fixtures / method.replace("/", ".")).glob(f"{prefix}*.json")):
            yield path.stem, json.loads(path.read_text("utf-8").replace(FIXTURE_FOLDER, folder.as_uri()))


# --- helpers ---------------------------------------------------------------------------------------------------------


def _announced(result: Json) -> list[str]:
    return [name for name in result["capabilities"]["experimental"]["tvls"]["methods"] if name in METHODS]


def _error(answer: Json, what: str, code: int) -> Json:
    error = answer.get("error")
    if error is None:
        raise Fault(f"{what} gave a result where the error {code} was due: {shorten(answer.get('result'))}")
    if error.get("code") != code:
        raise Fault(f"{what} gave {shorten(error)} where the error {code} was due")
    return error


def check_result(method: registry.Method, result: Any) -> None:
    """Raises Fault where a result does not fit its type, or has a null where a field is to be left out."""
    try:
        again = msgspec.to_builtins(msgspec.convert(result, method.result))
    except msgspec.ValidationError as error:
        raise Fault(f"{method.name}: the result does not fit {method.result.__name__}: {error}") from error
    _no_nulls(result, again, method.name)


def _no_nulls(found: Any, again: Any, place: str) -> None:
    if isinstance(found, dict) and isinstance(again, dict):
        for key, value in cast(Json, found).items():
            kept = cast(Json, again).get(key, ...)
            if value is None and kept is ...:
                raise Fault(f"{place}.{key} is null; a field without a value is left out")
            _no_nulls(value, kept, f"{place}.{key}")
    elif isinstance(found, list) and isinstance(again, list):
        for at, (value, kept) in enumerate(zip(cast("list[Any]", found), cast("list[Any]", again), strict=True)):
            _no_nulls(value, kept, f"{place}[{at}]")


def check_error(method: registry.Method, error: Any) -> None:
    """Raises Fault where an error is none of JSON-RPC, and none that the method may give."""
    if not isinstance(error, dict) or not isinstance(cast(Json, error).get("message"), str):
        raise Fault(f"{method.name}: an error has a code and a message, not {shorten(error)}")
    code, data = cast(Json, error).get("code"), cast(Json, error).get("data")
    if code in _STANDARD:
        if code == -32603:
            raise Fault(f"{method.name}: the server failed over its own example: {shorten(error)}")
        return
    try:
        kind = msgspec.convert(data, t.ErrorData).kind
    except msgspec.ValidationError as fault:
        raise Fault(f"{method.name}: error {code} has data that do not fit ErrorData: {fault}") from fault
    if CODES.get(kind) != code:
        raise Fault(f"{method.name}: the error {kind} has the code {code}, not {CODES.get(kind)}")
    if kind not in method.errors:
        raise Fault(f"{method.name} gave {kind}, which is none of its errors")


# --- rules -----------------------------------------------------------------------------------------------------------


def handshake(bench: Bench) -> None:
    with bench.running() as (_, _, result):
        try:
            ours = result["capabilities"]["experimental"]["tvls"]
            methods, tracing = ours["methods"], ours["tracing"]
        except (KeyError, TypeError) as error:
            raise Fault(f"`capabilities.experimental.tvls` lacks {error}") from error
        if not isinstance(ours.get("protocolVersion"), str):
            raise Fault("protocolVersion is no string")
        if tracing not in ("off", "trustRequired", "on"):
            raise Fault(f"tracing is {tracing!r}")
        if "tvls/graph/open" not in methods or "tvls/targets/list" not in methods:
            raise Fault(f"it announces no tvls/graph/open and tvls/targets/list: {methods}")


def position_encodings(bench: Bench) -> None:
    for encoding in _UNITS:
        offered = {"general": {"positionEncodings": [encoding]}}
        with bench.running(offered) as (server, folder, result):
            chosen = result["capabilities"].get("positionEncoding", "utf-16")
            if chosen not in (encoding, "utf-16"):
                raise Fault(f"offered {encoding} alone, it chose {chosen}")
            uri = (folder / "model.py").as_uri()
            (target,) = server.result("tvls/targets/list", {"textDocument": {"uri": uri}})["targets"]
            end = target["range"]["end"]
            if end != {"line": 6, "character": _UNITS[chosen]}:
                raise Fault(f"in {chosen} the line ends at {end}, not at character {_UNITS[chosen]} of line 6")


def before_initialize(bench: Bench) -> None:
    with bench.started() as (server, folder):
        _error(server.request("tvls/targets/list", {}), "a request before initialize", -32002)
        server.notify("textDocument/didOpen", {})
        server.initialize([folder])
        server.result("tvls/targets/list", {})


def before_initialized(bench: Bench) -> None:
    with bench.started() as (server, folder):
        root: Json = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
        server.result("initialize", root)
        if not server.result("tvls/targets/list", {})["targets"]:
            raise Fault("no targets before `initialized`, with `rootUri` alone")


def unknown_methods(bench: Bench) -> None:
    with bench.running() as (server, _, _):
        _error(server.request("tvls/no/such"), "an unknown request", -32601)
        server.notify("$/noSuchNotification", {"a": 1})
        server.notify("tvls/noSuchNotification")
        server.result("tvls/server/status", {})


def ids(bench: Bench) -> None:
    with bench.running() as (server, _, _):
        for msg_id in (0, -7, 2**31 - 1, "0", "", "é😀", "a" * 300):
            server.answer(server.ask("tvls/server/status", {}, msg_id), f"the request with the id {msg_id!r}")


def bad_params(bench: Bench) -> None:
    with bench.running() as (server, folder, result):
        for method in _announced(result):
            for name, params in bench.payloads(method, "params-invalid", folder):
                _error(server.request(method, params), f"{method} with {name}", -32602)


def good_params(bench: Bench) -> None:
    with bench.running() as (server, folder, result):
        for name in _announced(result):
            for payload, params in bench.payloads(name, "params-valid", folder):
                _checked(server.request(name, params), METHODS[name], payload)


def _checked(answer: Json, method: registry.Method, payload: str) -> None:
    if "error" not in answer:
        check_result(method, answer.get("result"))
    elif answer["error"].get("code") in (-32601, -32602):
        raise Fault(f"{method.name} refuses {payload}: {shorten(answer['error'])}")
    else:
        check_error(method, answer["error"])


def newer_clients(bench: Bench) -> None:
    """Fields that the server does not know, and null for those that may be left out."""
    with bench.running() as (server, folder, result):
        for name in _announced(result):
            method = METHODS[name]
            _, params = next(bench.payloads(name, "params-valid-example", folder))
            optional = {field.encode_name: None for field in msgspec.structs.fields(method.params) if _nullable(field)}
            _checked(server.request(name, {**optional, **params, "fromTheFuture": [1]}), method, "with more fields")


def _nullable(field: msgspec.structs.FieldInfo) -> bool:
    return not field.required and field.default is None


def captures_that_are_gone(bench: Bench) -> None:
    with bench.running() as (server, folder, result):
        for name in _announced(result):
            method = METHODS[name]
            if "captureGone" not in method.errors:
                continue
            _, params = next(bench.payloads(name, "params-valid-example", folder))
            named = {key: _NO_CAPTURE for key in ("captureId", "before", "after") if key in params} or {
                "captureId": _NO_CAPTURE
            }
            error = _error(server.request(name, {**params, **named}), f"{name} of a capture that is not there", -33011)
            check_error(method, error)


def unsaved_text(bench: Bench) -> None:
    with bench.running() as (server, folder, _):
        uri = (folder / "model.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1}
        text = MODEL.replace("def net", "def unsaved")
        server.notify("textDocument/didOpen", {"textDocument": {**document, "text": text}})
        where = {"textDocument": {"uri": uri}}
        if (names := _names(server, where)) != ["unsaved"]:
            raise Fault(f"the open buffer has the model unsaved, the answer is {names}")
        server.notify("textDocument/didClose", where)
        if (names := _names(server, where)) != ["net"]:
            raise Fault(f"the file has the model net after the buffer was closed, the answer is {names}")


def _names(server: Connection, params: Json) -> list[str]:
    return [target["name"] for target in server.result("tvls/targets/list", params)["targets"]]


def nothing_runs_before_trust(bench: Bench) -> None:
    """A client that can ask nobody: the answer is `notTrusted`, and the file of the model has not run."""
    with bench.running() as (server, folder, _):
        target = {"uri": (folder / "model.py").as_uri(), "name": "net"}
        folder_uri = folder.as_uri()
        if server.result("tvls/trust/get", {"folder": folder_uri})["trusted"]:
            raise Fault("a folder that nobody trusted is trusted")
        error = _error(
            server.request("tvls/graph/open", {"target": target}), "opening without trust", CODES["notTrusted"]
        )
        check_error(METHODS["tvls/graph/open"], error)
        if not error["data"].get("nextStep"):
            raise Fault("the error does not say what the person can do")
        if (folder / "canary").exists():
            raise Fault("code of the workspace ran before the folder was trusted")


def cancelling(bench: Bench) -> None:
    with bench.running() as (server, _, _):
        first = server.ask("tvls/targets/list", {})
        server.notify("$/cancelRequest", {"id": first})
        server.notify("$/cancelRequest", {"id": "never sent"})
        answer = server.answer(first, "a cancelled request")
        if "error" in answer:
            _error(answer, "a cancelled request", -32800)
        server.result("tvls/server/status", {})
        if sum(is_answer(message, first) for message in server.received) != 1:
            raise Fault("a cancelled request was answered twice")


def shutting_down(bench: Bench) -> None:
    with bench.running() as (server, _, _):
        answer = server.request("shutdown")
        if answer.get("result", ...) is not None:
            raise Fault(f"shutdown answers null, not {shorten(answer)}")
        _error(server.request("tvls/server/status", {}), "a request after shutdown", -32600)
        server.notify("exit")
        if (code := server.wait_ended()) != 0:
            raise Fault(f"after shutdown and exit the exit code is {code}, not 0")


def leaving(bench: Bench) -> None:
    with bench.running() as (server, _, _):
        server.notify("exit")
        if (code := server.wait_ended()) != 1:
            raise Fault(f"after exit without shutdown the exit code is {code}, not 1")
    with bench.running() as (server, _, _):
        assert server.process.stdin is not None  # noqa: S101 (a pipe was asked for)
        server.process.stdin.close()
        server.wait_ended()


def one_answer(bench: Bench) -> None:
    """Over all that the rules before have sent."""
    for server in bench.servers:
        for msg_id in server.asked:
            count = sum(is_answer(message, msg_id) for message in server.received)
            if count > 1:
                raise Fault(f"request {msg_id!r} was answered {count} times")


def only_what_was_announced(bench: Bench) -> None:
    """Nothing asks a client for what it did not say that it has, and nothing else is on the stream."""
    for server in bench.servers:
        if server.faults:
            raise Fault(server.faults[0])
        for message in server.received:
            method = str(message.get("method", ""))
            if method.startswith("$/tvls/") or ("id" in message and method):
                raise Fault(f"the client announced nothing, and got {shorten(message)}")


RULES: Final[tuple[Callable[[Bench], None], ...]] = (
    handshake,
    position_encodings,
    before_initialize,
    before_initialized,
    unknown_methods,
    ids,
    bad_params,
    good_params,
    newer_clients,
    captures_that_are_gone,
    unsaved_text,
    nothing_runs_before_trust,
    cancelling,
    shutting_down,
    leaving,
    one_answer,
    only_what_was_announced,
)
