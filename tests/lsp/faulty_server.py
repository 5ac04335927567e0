"""The server's message layer with handlers that misbehave, as a process on standard input and output."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from typing import Any

import msgspec
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from tvls.protocol.errors import TvlsError
from tvls.server import loop, stdio
from tvls.server.documents import Documents
from tvls.server.rpc import Protocol, strict_converter

client = LanguageServer("faulty", "1", protocol_cls=Protocol, converter_factory=strict_converter)
protocol = client.protocol
assert isinstance(protocol, Protocol)
log: list[str] = []
documents = Documents()


def initialize(params: lsp.InitializeParams) -> lsp.InitializeResult:
    protocol.stage = "running"
    protocol.watch_parent(params.process_id)
    return lsp.InitializeResult(capabilities=lsp.ServerCapabilities())


def shutdown(_: Any) -> None:
    protocol.stage = "shutdown"


def leave(_: Any) -> None:
    sys.exit(3)


async def leave_later(_: Any) -> None:
    await asyncio.sleep(0)
    sys.exit(3)


def fail(_: Any) -> None:
    raise KeyError("secret", __file__)


async def fail_later(_: Any) -> None:
    await asyncio.sleep(0)
    raise KeyboardInterrupt(__file__)


def refuse(_: Any) -> None:
    raise TvlsError("notTrusted", "Not trusted.", "Trust it.", folder="file:///f")


def refuse_badly(_: Any) -> None:
    raise TvlsError("notTrusted", "Not trusted.", "Trust it.", folder=object())


async def sleep(params: Any) -> str:
    try:
        await asyncio.sleep(params["seconds"])
    except asyncio.CancelledError:
        log.append("cancelled")
        raise
    return "slept"


async def deaf(_: Any) -> str:
    """Swallows its cancellation and answers much later."""
    for _ in range(20):
        try:
            await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            log.append("swallowed")
    return "deaf"


async def ask(_: Any) -> Any:
    answer = await client.window_show_message_request_async(
        lsp.ShowMessageRequestParams(type=lsp.MessageType.Info, message="well?", actions=[])
    )
    return answer.title if answer else None


def prints(_: Any) -> str:
    print("stray")
    os.write(1, b"stray bytes")
    subprocess.run(["echo", "stray child"], check=True)
    eaten = subprocess.run([sys.executable, "-c", "import sys; print(len(sys.stdin.read()))"], stdout=-1, check=True)
    return eaten.stdout.decode().strip()


def set_encoding(params: Any) -> None:
    documents.encoding = params


def text(params: Any) -> str | None:
    document = documents.get(params)
    return document.text if document else None


def block(params: Any) -> None:
    time.sleep(params["seconds"])


def tell(params: Any) -> None:
    for _ in range(params["count"]):
        protocol.notify("test/told", {"text": "x" * params["size"]})


def plain(_: Any) -> Any:
    log.append("notified")


def fails_to_notify(_: Any) -> None:
    sys.exit(4)


RESULTS: dict[str, Any] = {
    "test/unencodable": {"value": object()},
    "test/surrogate": {"value": "\ud800"},
    "test/nan": {"value": float("nan"), "list": [float("inf")]},
    "test/none": None,
}
HANDLERS: dict[str, Any] = {
    "test/echo": lambda params: params,
    "test/log": lambda params: list(log),
    "test/encoding": set_encoding,
    "test/text": text,
    "test/clear": lambda params: log.clear(),
    "test/large": lambda params: "x" * params["size"],
    "test/exit": leave,
    "test/exitLater": leave_later,
    "test/fail": fail,
    "test/failLater": fail_later,
    "test/refuse": refuse,
    "test/refuseBadly": refuse_badly,
    "test/sleep": sleep,
    "test/deaf": deaf,
    "test/ask": ask,
    "test/prints": prints,
    "test/block": block,
    "test/tell": tell,
    **{method: lambda params, value=value: value for method, value in RESULTS.items()},
}

protocol.on_request(lsp.INITIALIZE, initialize)
protocol.on_request(lsp.SHUTDOWN, shutdown)
protocol.on_request(lsp.TEXT_DOCUMENT_HOVER, lambda params: lsp.Hover(contents=params.text_document.uri))
protocol.on_request("tvls/graph/view", lambda params: params)
for method, run in HANDLERS.items():
    protocol.on_request(method, run, msgspec.json.decode)
protocol.on_notification(lsp.TEXT_DOCUMENT_DID_OPEN, lambda params: documents.open(params.text_document))
protocol.on_notification(
    lsp.TEXT_DOCUMENT_DID_CHANGE,
    lambda params: documents.change(params.text_document.uri, params.text_document.version, params.content_changes),
)
protocol.on_notification("test/plain", plain, msgspec.json.decode)
protocol.on_notification("test/exitNotification", fails_to_notify, msgspec.json.decode)

channel = stdio.claim()
loop.start_logging()
sys.exit(loop.run_to_end(loop.run(protocol, channel)))
