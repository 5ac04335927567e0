"""One WebSocket of a page: JSON-RPC in both directions, through the same handlers as an editor's requests."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from tvls.canvas.outcome import Outcome, failed
from tvls.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Calls,
    Handler,
    MessageError,
    MessageId,
    Route,
    RpcError,
    error_body,
    read_message,
)
from tvls.protocol import types as t
from tvls.protocol import types_page as p
from tvls.protocol.errors import TvlsError
from tvls.protocol.registry import ALLOWED_IN_A_BROWSER, METHODS
from tvls.requests import REQUESTS
from tvls.uris import to_path

if TYPE_CHECKING:
    from tvls.canvas.server import CanvasServer, Page

logger = logging.getLogger(__name__)

OVERLOAD: Final = 64 * 1024 * 1024
"""Unread bytes beyond which results are refused, notifications dropped and no more is taken: the page does not read."""
RUNNING: Final = 256
"""Requests that one page may have running."""


class _Cancel(msgspec.Struct):
    id: MessageId


class Connection:
    """`run` serves the page until it leaves."""

    def __init__(self, canvas: CanvasServer, socket: ServerConnection) -> None:
        self._canvas = canvas
        self._socket = socket
        self._outbox: deque[bytes] = deque()
        self._waiting = 0
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._calls = Calls(self._send, lambda: self._waiting > OVERLOAD)
        self.page: Page | None = None
        self.captures: dict[str, t.CaptureInfo] = {}
        """Captures that the page was told of, as it knows them."""
        run: dict[str, Handler] = {
            **{name: _plain(canvas, name) for name in ALLOWED_IN_A_BROWSER if name in REQUESTS},
            "tvls/graph/open": self._open,
            "tvls/canvas/attach": self._attach,
            "tvls/canvas/showSource": canvas.show_source,
        }
        self._routes = {
            name: Route(_DECODERS[name], partial(self._in_the_workspace, run[name])) for name in ALLOWED_IN_A_BROWSER
        }

    async def run(self) -> None:
        writer = asyncio.ensure_future(self._write())
        try:
            async for message in self._socket:
                if isinstance(message, str):
                    self._receive(message.encode("utf-8", "replace"))
                else:
                    await self._socket.close(1003, "text only")
                while self._waiting > OVERLOAD:  # even an error is an answer
                    self._room.clear()
                    await self._room.wait()
        except ConnectionClosed as end:
            logger.debug("a page left: %s", end)
        finally:
            self._calls.cancel_all()
            writer.cancel()

    # --- to the page -------------------------------------------------------------------------------------------------

    def notify(self, method: str, params: object) -> None:
        if self._waiting > OVERLOAD:
            logger.warning("dropped %s: the page does not read", method)
            return
        self._send(msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params}))

    def _send(self, body: bytes) -> None:
        self._outbox.append(body)
        self._waiting += len(body)
        self._filled.set()

    async def _write(self) -> None:
        try:
            while True:
                await self._filled.wait()
                self._filled.clear()
                while self._outbox:
                    body = self._outbox.popleft()
                    await self._socket.send(body, text=True)
                    self._waiting -= len(body)
                    self._room.set()
        except ConnectionClosed:  # nobody waits for anything any more
            self._waiting = 0
            self._room.set()

    # --- from the page -----------------------------------------------------------------------------------------------

    def _receive(self, body: bytes) -> None:
        try:
            message = read_message(body)
        except MessageError as error:
            self._send(error_body(error.id, error))
            return
        msg_id, method = message.id, message.method
        if message.jsonrpc != "2.0" or method is msgspec.UNSET or msg_id is None:
            known = None if msg_id is msgspec.UNSET else msg_id
            self._send(error_body(known, RpcError(INVALID_REQUEST, "neither a request nor a notification")))
        elif msg_id is msgspec.UNSET:
            self._receive_notification(method, message.params)
        elif msg_id in self._calls or len(self._calls) >= RUNNING:
            self._send(
                error_body(msg_id, RpcError(INVALID_REQUEST, "a request with this id, or too many, are running"))
            )
        elif (route := self._routes.get(method)) is None:
            self._send(error_body(msg_id, RpcError(METHOD_NOT_FOUND, f"a page in a browser may not send {method}")))
        else:
            self._calls.start(msg_id, method, route, message.params)

    def _receive_notification(self, method: str, params: msgspec.Raw | msgspec.UnsetType) -> None:
        if method != "$/cancelRequest" or params is msgspec.UNSET:
            return
        try:
            self._calls.cancel(msgspec.json.decode(params, type=_Cancel).id)
        except msgspec.DecodeError as error:
            logger.debug("a page sent a broken notification: %s", error)

    def _in_the_workspace(self, run: Handler, params: Any) -> Any:
        """A page names folders of the workspace that it belongs to, and no others, be they trusted or not."""
        folder = getattr(params, "folder", None)
        if folder is not None and to_path(folder) not in self._canvas.session.folders:
            raise RpcError(INVALID_PARAMS, "the folder is not one of the workspace")
        return run(params)

    def _attach(self, params: p.AttachParams) -> p.CanvasState:
        state = self._canvas.attach(self, params.page)
        self.remember(state.capture)
        return state

    async def _open(self, params: t.OpenParams) -> t.OpenResult:
        """Traces for the page. It never asks for trust: that is between the person and the editor."""
        token = params.work_done_token
        name = params.target.name if params.target else params.profile or "graph"
        self._report(token, {"kind": "begin", "title": f"Open {name} as graph", "cancellable": True})
        try:
            result = await self._canvas.session.open(
                params,
                lambda phase: self._report(token, {"kind": "report", "message": phase, "cancellable": True}),
                may_ask=False,
            )
        except TvlsError as error:
            self._tell(params, failed(error))
            raise
        finally:
            self._report(token, {"kind": "end"})
        self.remember(result.capture)
        self._tell(params, Outcome(capture=result.capture))
        return result

    def _tell(self, params: t.OpenParams, outcome: Outcome) -> None:
        """Whoever else looks at the same page shows it too."""
        if self._canvas.knows(params):
            self._canvas.tell(params, outcome, by=self)

    def _report(self, token: int | str | None, value: dict[str, Any]) -> None:
        if token is not None:
            self.notify("$/progress", {"token": token, "value": value})

    def remember(self, capture: t.CaptureInfo | None) -> None:
        if capture is not None:
            self.captures[capture.capture_id] = capture


def _plain(canvas: CanvasServer, name: str) -> Handler:
    return partial(REQUESTS[name], canvas.session)


_DECODERS: Final = {method.name: msgspec.json.Decoder(method.params).decode for method in METHODS}
