"""JSON-RPC over pygls: every request is answered exactly once.

pygls brings the LSP types, the calls to the client and the capabilities. What happens between bytes and handlers is
done here, because there pygls 2.1 leaves requests unanswered (parameters that do not fit, results that do not
serialise), loses keys, and takes nested objects for messages.

- A message is decoded once, without hooks on nested objects. `tvls/*` parameters become the registry's structs; those
  of LSP become lsprotocol's classes, strictly.
- A handler is a function `(params) -> result`, plain or async. A plain one runs at once and in order of arrival, which
  keeps documents true; an async one runs as a task and can be cancelled.
- Nothing of an exception's traceback or of the server's paths reaches the client. The log has it all.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Final, Literal, cast

import cattrs
import msgspec
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter

from tvls.jsonrpc import (
    CANCEL_GRACE,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Call,
    Calls,
    Envelope,
    Handler,
    MessageError,
    MessageId,
    Route,
    RpcError,
    decode_params,
    error_body,
    public_error,
    read_message,
)
from tvls.protocol.registry import METHODS
from tvls.server.framing import BadHeader, frame

logger = logging.getLogger(__name__)

NOT_INITIALIZED: Final = -32002


class Protocol(LanguageServerProtocol):
    """The message layer of the daemon. `send` takes framed bytes and never blocks; `overloaded`: they pile up."""

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        super().__init__(server, converter)
        features = cast("dict[str, Any]", self.fm.builtin_features)  # pyright: ignore[reportUnknownMemberType] (untyped)
        features.clear()  # every handler is in one of the two tables below
        self.requests: dict[str, Route] = {}
        self.notifications: dict[str, Route] = {}
        self.stage: Literal["new", "running", "shutdown"] = "new"
        self.send: Callable[[bytes], None] = _nowhere
        self.overloaded: Callable[[], bool] = lambda: False
        self.on_exit: Callable[[int], None] = lambda code: None
        self.watch_parent: Callable[[int | None], None] = lambda pid: None
        self.calls = Calls(self._send_body, lambda: self.overloaded(), self._encode, _public_error)
        self._background: set[asyncio.Future[Any]] = set()
        self._cancellable: dict[int | str, asyncio.Task[Any]] = {}
        """Background work by the token of its progress."""
        self._asked: dict[MessageId, tuple[str, Future[Any]]] = {}
        self._next_id = 0
        self.on_notification(lsp.CANCEL_REQUEST, lambda params: self.calls.cancel(params.id))
        self.on_notification(lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL, lambda params: self._cancel_progress(params.token))

    # --- registration ------------------------------------------------------------------------------------------------

    def on_request(self, method: str, run: Handler, decode: Callable[[bytes], Any] | None = None) -> None:
        """Registers a handler; `decode` is needed for a method that neither LSP nor the registry knows."""
        self.requests[method] = Route(decode or self._decoder(method), run)

    def on_notification(self, method: str, run: Handler, decode: Callable[[bytes], Any] | None = None) -> None:
        self.notifications[method] = Route(decode or self._decoder(method), run)

    def _decoder(self, method: str) -> Callable[[bytes], Any]:
        if (ours := _REGISTRY.get(method)) is not None:
            return msgspec.json.Decoder(ours.params).decode
        params = lsp.METHOD_TO_TYPES[method][2]
        if params is None:
            return lambda raw: None
        return lambda raw: self._structure(raw, params)

    def _structure(self, raw: bytes, kind: Any) -> Any:
        value = msgspec.json.decode(raw)
        try:
            return self._converter.structure(value, kind)
        except (cattrs.BaseValidationError, TypeError, ValueError, AttributeError, KeyError) as error:
            raise RpcError(INVALID_PARAMS, _fault(error)) from error

    # --- from the client ---------------------------------------------------------------------------------------------

    def receive(self, body: bytes | BadHeader) -> None:
        """Handles one message. Never raises."""
        if isinstance(body, BadHeader):
            self._send_error(None, RpcError(PARSE_ERROR, "header section without a usable Content-Length"))
            return
        try:
            message = read_message(body)
        except MessageError as error:
            self._send_error(error.id, error)
            return
        if message.jsonrpc != "2.0":
            if message.method is not msgspec.UNSET or message.id is msgspec.UNSET:
                self._send_error(_known(message.id), RpcError(INVALID_REQUEST, 'jsonrpc must be "2.0"'))
            return
        if message.method is msgspec.UNSET:
            self._receive_response(message)
        elif message.id is msgspec.UNSET:
            self._receive_notification(message.method, message.params)
        elif message.id is None:
            self._send_error(None, RpcError(INVALID_REQUEST, "the id of a request must be a number or a string"))
        else:
            self._receive_request(message.id, message.method, message.params)

    def _receive_request(self, msg_id: MessageId, method: str, params: msgspec.Raw | msgspec.UnsetType) -> None:
        if self.stage == "new" and method != lsp.INITIALIZE:
            self._send_error(msg_id, RpcError(NOT_INITIALIZED, "the server is not initialized"))
        elif self.stage == "shutdown":
            self._send_error(msg_id, RpcError(INVALID_REQUEST, "the server is shutting down"))
        elif self.stage == "running" and method == lsp.INITIALIZE:
            self._send_error(msg_id, RpcError(INVALID_REQUEST, "the server is initialized already"))
        elif msg_id in self.calls:
            self._send_error(msg_id, RpcError(INVALID_REQUEST, "a request with this id is still running"))
        elif (route := self.requests.get(method)) is None:
            self._send_error(msg_id, RpcError(METHOD_NOT_FOUND, f"unknown request {method}"))
        else:
            self.calls.start(msg_id, method, route, params)

    def _receive_notification(self, method: str, params: msgspec.Raw | msgspec.UnsetType) -> None:
        if method == lsp.EXIT:
            self.on_exit(0 if self.stage == "shutdown" else 1)
            return
        if self.stage != "running":
            return
        if (route := self.notifications.get(method)) is None:
            logger.debug("ignored notification %s", method)
            return
        try:
            result = route.run(decode_params(route, params))
        except RpcError as error:
            logger.warning("notification %s has bad parameters: %s", method, error.message)
        except BaseException:
            logger.exception("notification %s failed", method)
        else:
            if inspect.isawaitable(result):
                self.run_in_background(result, f"notification {method}")

    def run_in_background(self, work: Awaitable[Any], name: str) -> None:
        """Runs work that nobody waits for; its failure goes to the log."""

        async def guarded() -> None:
            try:
                await work
            except (asyncio.CancelledError, GeneratorExit):
                raise
            except BaseException:
                logger.exception("%s failed", name)

        task = asyncio.ensure_future(guarded())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def let_cancel(self, token: int | str) -> None:
        """The editor's button for the progress `token` cancels the running task, which answers no request."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (a coroutine runs in one)
        self._cancellable[token] = task
        task.add_done_callback(lambda _: self._cancellable.pop(token, None))

    def _cancel_progress(self, token: int | str) -> None:
        self.calls.cancel_progress(token)
        if token in self._cancellable:
            self._cancellable[token].cancel()

    def current_call(self) -> Call | None:
        """The request that the running task answers."""
        return self.calls.current()

    async def close(self) -> None:
        """Ends all work: requests, background work, and questions to a client that will not answer any more."""
        self.stage = "shutdown"
        self.calls.cancel_all()
        for _, future in list(self._asked.values()):
            future.cancel()
        work = [*self._background, *self.calls.tasks]
        for task in work:
            task.cancel()
        if work:
            await asyncio.wait(work, timeout=CANCEL_GRACE)

    # --- answers -----------------------------------------------------------------------------------------------------

    def _send_body(self, body: bytes) -> None:
        self.send(frame(body))

    def _send_error(self, msg_id: MessageId | None, error: RpcError) -> None:
        logger.debug("refused: %s", error.message)
        self.send(frame(error_body(msg_id, error)))

    def _encode(self, value: object) -> bytes:
        """msgspec writes NaN as null, so that no answer is invalid JSON."""
        if isinstance(value, msgspec.Struct):
            return msgspec.json.encode(value)
        return msgspec.json.encode(self._converter.unstructure(value))

    # --- to the client -----------------------------------------------------------------------------------------------

    def notify(self, method: str, params: Any = None) -> None:
        if self.overloaded():
            logger.warning("dropped %s: the client does not read", method)
            return
        self.send(frame(self._message(method, params, None)))

    def send_request(
        self,
        method: str,
        params: Any = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: MessageId | None = None,
    ) -> Future[Any]:
        """Asks the client. A cancelled future withdraws the question; an answer that comes anyway is dropped."""
        if msg_id is None:
            self._next_id += 1
            msg_id = f"tvls-{self._next_id}"
        future: Future[Any] = Future()
        self._asked[msg_id] = (method, future)

        def ended(done: Future[Any]) -> None:
            if done.cancelled():
                if self._asked.pop(msg_id, None) is not None and self.stage == "running":
                    self.notify(lsp.CANCEL_REQUEST, lsp.CancelParams(id=msg_id))
            elif callback is not None and done.exception() is None:
                callback(done.result())

        future.add_done_callback(ended)
        self.send(frame(self._message(method, params, msg_id)))
        return future

    def _message(self, method: str, params: Any, msg_id: MessageId | None) -> bytes:
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if msg_id is not None:
            body["id"] = msg_id
        if params is not None:
            body["params"] = msgspec.Raw(self._encode(params))
        return msgspec.json.encode(body)

    def _receive_response(self, message: Envelope) -> None:
        if message.id is msgspec.UNSET or message.id is None:
            if message.error is msgspec.UNSET:
                self._send_error(None, RpcError(INVALID_REQUEST, "a message needs a method or an id"))
            return
        method, future = self._asked.pop(message.id, (None, None))
        if method is None or future is None or not future.set_running_or_notify_cancel():
            return
        try:
            if message.error is not msgspec.UNSET and bytes(message.error) != b"null":
                error = self._converter.structure(msgspec.json.decode(message.error), lsp.ResponseError)
                future.set_exception(JsonRpcException.from_error(error))
                return
            raw = b"null" if message.result is msgspec.UNSET else bytes(message.result)
            future.set_result(self._structure_result(method, msgspec.json.decode(raw)))
        except Exception as error:  # noqa: BLE001 (whatever the client sent: the one who asked has to know)
            logger.warning("the answer to %s does not fit: %s", method, error)
            future.set_exception(RpcError(INVALID_PARAMS, f"the client's answer to {method} does not fit"))

    def _structure_result(self, method: str, value: Any) -> Any:
        response = lsp.METHOD_TO_TYPES[method][1] if method in lsp.METHOD_TO_TYPES else None
        if response is None:
            return value
        return self._converter.structure({"jsonrpc": "2.0", "id": 0, "result": value}, response).result


def _nowhere(data: bytes) -> None:
    raise RuntimeError("the protocol is not connected")


def _public_error(error: BaseException, method: str) -> RpcError:
    if isinstance(error, JsonRpcException):  # what the client answered to a question of the handler
        return RpcError(error.code, error.message, error.data)
    return public_error(error, method)


def _known(msg_id: int | str | msgspec.UnsetType | None) -> MessageId | None:
    return None if msg_id is msgspec.UNSET else msg_id


def _fault(error: BaseException) -> str:
    """What is wrong with LSP parameters, and where: `invalid value for type, expected int - at `$.position.line``."""
    if not isinstance(error, cattrs.BaseValidationError):
        return str(error)
    faults = [re.sub(r"_([a-z])", lambda match: match[1].upper(), line) for line in cattrs.transform_error(error)]
    return "; ".join(re.sub(r" @ (\$\S*)$", r" - at `\1`", line) for line in faults)


def strict_converter() -> cattrs.Converter:
    """lsprotocol's converter without its coercions: text `null` is an error there, not the word None."""
    converter = default_converter()

    def hook(kind: type) -> Callable[[Any, Any], Any]:
        def structure(value: Any, _: Any) -> Any:
            if type(value) is kind or (kind is float and type(value) is int):
                return value
            if kind is int and type(value) is float and value.is_integer():  # some clients have only floats
                return int(value)
            raise TypeError(f"expected {kind.__name__}")

        return structure

    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, hook(kind))
    return converter


_REGISTRY: Final = {method.name: method for method in METHODS}
