"""The real server with one fault: `python -m tests.protocol.broken_server FAULT`. Stands between it and the client."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tvls.protocol.conformance.connection import read_message, write_message

Json = dict[str, Any]
OUT = sys.stdout.buffer


class Proxy:
    """What the faults need to know: the methods of running requests, and whether `shutdown` was asked for."""

    def __init__(self) -> None:
        self.methods: dict[str, str] = {}
        self.params: dict[str, Any] = {}
        self.shut_down = False

    def method(self, answer: Json) -> str:
        return self.methods.get(json.dumps(answer.get("id")), "")


PROXY = Proxy()


def is_error(message: Json, code: int) -> bool:
    return message.get("error", {}).get("code") == code


def with_code(message: Json, old: int, new: int) -> Json:
    if is_error(message, old):
        message["error"]["code"] = new
    return message


def of_method(method: str, change: Callable[[Any], Any]) -> Callable[[Json], list[Json]]:
    """A fault in the results of one method."""

    def broken(message: Json) -> list[Json]:
        if PROXY.method(message) == method and message.get("result") is not None:
            message["result"] = change(message["result"])
        return [message]

    return broken


def set_in(path: list[Any], value: Any) -> Callable[[Any], Any]:
    def change(result: Any) -> Any:
        inner = result
        for key in path[:-1]:
            if isinstance(inner, list) and not inner:
                return result
            inner = inner[key]
        inner[path[-1]] = value
        return result

    return change


def is_answer(message: Json) -> bool:
    return "method" not in message


def raw(data: bytes) -> list[Json]:
    OUT.write(data)
    OUT.flush()
    return []


def kind(message: Json, old: str, new: str, code: int) -> list[Json]:
    if message.get("error", {}).get("data", {}).get("kind") == old:
        message["error"]["data"]["kind"] = new
        message["error"]["code"] = code
    return [message]


def touches_the_canary(message: Json) -> list[Json]:
    if PROXY.method(message) == "tvls/graph/open":
        Path("canary").touch()
    return [message]


def lively_after_shutdown(message: Json) -> list[Json]:
    if PROXY.shut_down and is_error(message, -32600):
        del message["error"]
        message["result"] = {}
    return [message]


ENCODING = ["capabilities", "positionEncoding"]
END = ["targets", 0, "range", "end", "character"]
STATE = {"method": "$/tvls/captureState", "params": {}}
NAN = b'{"jsonrpc":"2.0","id":1,"result":NaN}'
ASKS = {"id": "r", "method": "client/registerCapability", "params": {"registrations": []}}

ANSWERS: dict[str, Callable[[Json], list[Json]]] = {
    "none": lambda m: [m],
    "twice": lambda m: [m, copy.deepcopy(m)] if is_answer(m) else [m],
    "silent": lambda m: [] if is_error(m, -32602) else [m],
    "internal error for bad params": lambda m: [with_code(m, -32602, -32603)],
    "a result for unknown methods": lambda m: [{"id": m["id"], "result": None}] if is_error(m, -32601) else [m],
    "another code before initialize": lambda m: [with_code(m, -32002, -32600)],
    "no word of its methods": of_method("initialize", lambda r: {**r, "capabilities": {}}),
    "always utf-8": of_method("initialize", set_in(ENCODING, "utf-8")),
    "always 21 units": of_method("tvls/targets/list", set_in(END, 21)),
    "a number for a name": of_method("tvls/targets/list", set_in(["targets", 0, "name"], 5)),
    "null for absent": of_method("tvls/targets/list", set_in(["targets", 0, "body"], None)),
    "an unknown word for a state": of_method("tvls/targets/list", set_in(["targets", 0, "state"], "odd")),
    "code of another kind": lambda m: [with_code(m, -33011, -33012)],
    "kind of another method": lambda m: kind(m, "targetNotFound", "planGone", -33032),
    "unknown kind": lambda m: kind(m, "targetNotFound", "odd", -33999),
    "ids as text": lambda m: [{**m, "id": str(m["id"])}] if is_answer(m) else [m],
    "trusts everybody": of_method("tvls/trust/get", set_in(["trusted"], True)),
    "runs code": touches_the_canary,
    "notices that nobody asked for": lambda m: [STATE, m],
    "questions that nobody can answer": lambda m: [ASKS, m] if PROXY.method(m) == "shutdown" else [m],
    "prints": lambda m: [*raw(b"loading...\n"), m],
    "NaN": lambda m: raw(b"Content-Length: %d\r\n\r\n%b" % (len(NAN), NAN)),
    "lively after shutdown": lively_after_shutdown,
}
"""Fault → what becomes of a message of the server."""


def strict(message: Json) -> Json | None:
    if "fromTheFuture" in (message.get("params") or {}):
        write_message(OUT, {"id": message["id"], "error": {"code": -32602, "message": "unknown field"}})
        return None
    return message


ASKED: dict[str, Callable[[Json], Json | None]] = {
    "strict about fields": strict,
    "blind to buffers": lambda m: None if m.get("method") == "textDocument/didOpen" else m,
    "deaf before initialized": lambda m: (
        {**m, "params": {**m["params"], "rootUri": None}} if m.get("method") == "initialize" else m
    ),
    "answers no cancelled request": lambda m: m,
}
"""Fault → what becomes of a message of the client."""


def drops_cancelled() -> Callable[[Json], list[Json]]:
    def broken(message: Json) -> list[Json]:
        return [] if PROXY.method(message) == "tvls/targets/list" else [message]

    return broken


def main(fault: str) -> None:
    child = subprocess.Popen([sys.executable, "-m", "tvls", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin
    assert child.stdout
    into, out = child.stdin, child.stdout

    def forward() -> None:
        change = ASKED.get(fault, lambda message: message)
        while (message := read_message(sys.stdin.buffer)) is not None:
            if "method" in message and "id" in message:
                PROXY.methods[json.dumps(message["id"])] = message["method"]
            PROXY.shut_down |= message.get("method") == "shutdown"
            if (kept := change(message)) is not None:
                write_message(into, kept)
            if message.get("method") == "exit" and fault == "stays":
                return
        if fault != "stays":
            into.close()

    change = drops_cancelled() if fault == "answers no cancelled request" else ANSWERS.get(fault, ANSWERS["none"])
    threading.Thread(target=forward, daemon=True).start()
    while (message := read_message(out)) is not None:
        for kept in change(message):
            write_message(OUT, kept)
    code = child.wait()
    if fault == "stays":
        threading.Event().wait(60)
    os._exit(3 if fault == "another exit code" else code)  # the thread may hang in a read of standard input


if __name__ == "__main__":
    if sys.argv[1] not in {*ANSWERS, *ASKED, "stays", "another exit code"}:
        raise SystemExit(f"no such fault: {sys.argv[1]}")
    main(sys.argv[1])
