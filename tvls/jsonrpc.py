"""JSON-RPC 2.0 from the side that answers: every request exactly once, whatever its handler does.

Both surfaces use it, the editor's stream and the browser's WebSocket. How bytes arrive and leave is theirs.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from tvls.protocol.errors import TvlsError

logger = logging.getLogger(__name__)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800

CANCEL_GRACE: Final = 0.5
"""Seconds that a cancelled handler has to clean up before its request is answered without waiting for it."""

SMALL: Final = 64 * 1024
"""Bytes of a result that is sent however much is waiting."""

MessageId = int | str
Handler = Callable[[Any], Any]


class Envelope(msgspec.Struct):
    jsonrpc: str | msgspec.UnsetType = msgspec.UNSET
    id: int | str | msgspec.UnsetType | None = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _OnlyId(msgspec.Struct):
    id: int | str | None = None


class RpcError(Exception):
    """An error answer. `data` is anything that msgspec encodes."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class MessageError(RpcError):
    """What arrived is no message. `id` is that of the request, where one can be seen."""

    def __init__(self, code: int, message: str, msg_id: MessageId | None = None) -> None:
        super().__init__(code, message)
        self.id = msg_id


@dataclass(frozen=True)
class Route:
    decode: Callable[[bytes], Any]
    run: Handler


@dataclass(eq=False)
class Call:
    """A request of the client that is being worked on."""

    id: MessageId
    method: str
    task: asyncio.Task[None] | None = None
    answered: bool = False
    cancelled: bool = False
    progress_token: int | str | None = None
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)


class Calls:
    """The requests that one client has running.

    A handler is a function `(params) -> result`, plain or async. A plain one runs at once and in order of arrival; an
    async one runs as a task and can be cancelled. Nothing of an exception's traceback reaches the client.
    """

    def __init__(
        self,
        send: Callable[[bytes], None],
        overloaded: Callable[[], bool],
        encode: Callable[[object], bytes] = msgspec.json.encode,
        public: Callable[[BaseException, str], RpcError] | None = None,
    ) -> None:
        """`send` takes the body of an answer and never blocks. `public`: what a client may know of an exception."""
        self._send = send
        self._overloaded = overloaded
        self._encode = encode
        self._public = public or public_error
        self._calls: dict[MessageId, Call] = {}

    def __contains__(self, msg_id: MessageId) -> bool:
        return msg_id in self._calls

    def __len__(self) -> int:
        return len(self._calls)

    def start(self, msg_id: MessageId, method: str, route: Route, params: msgspec.Raw | msgspec.UnsetType) -> None:
        """Runs a handler and sends its answer, now or later. The caller has seen to it that the id is free."""
        call = Call(msg_id, method)
        self._calls[msg_id] = call
        try:
            decoded = decode_params(route, params)
            call.progress_token = _progress_token(decoded)
            result = route.run(decoded)
        except BaseException as error:  # noqa: BLE001 (also SystemExit: a handler cannot end the server unanswered)
            self._answer_error(call, error)
            return
        if inspect.isawaitable(result):
            call.task = asyncio.ensure_future(self._finish(call, result))
            # A task that is cancelled before its first step never reaches `_finish`.
            call.task.add_done_callback(lambda _: self._answer_error(call, asyncio.CancelledError()))
        else:
            self._answer(call, result)

    async def _finish(self, call: Call, result: Awaitable[Any]) -> None:
        try:
            value = await result
        except GeneratorExit:  # the loop is gone, and with it the client
            raise
        except BaseException as error:  # noqa: BLE001 (as above)
            self._answer_error(call, error)
        else:
            self._answer(call, value)

    # --- cancelling --------------------------------------------------------------------------------------------------

    def cancel(self, msg_id: MessageId) -> None:
        """Cancels a running request. It is answered when its handler has cleaned up, or after CANCEL_GRACE."""
        call = self._calls.get(msg_id)
        if call is None or call.task is None or call.cancelled:
            return  # unknown or answered already: cancelling is only ever a wish
        call.cancelled = True
        call.timer = asyncio.get_running_loop().call_later(CANCEL_GRACE, self._answer, call, None)
        call.task.cancel()

    def cancel_progress(self, token: int | str) -> None:
        """Cancels the request that reports under the token."""
        for msg_id in [call.id for call in self._calls.values() if call.progress_token == token]:
            self.cancel(msg_id)

    def cancel_all(self, keep: MessageId | None = None) -> None:
        for msg_id in [msg_id for msg_id in self._calls if msg_id != keep]:
            self.cancel(msg_id)

    def current(self) -> Call | None:
        """The request that the running task answers."""
        task = asyncio.current_task()
        return next((call for call in self._calls.values() if call.task is task), None)

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        return [call.task for call in self._calls.values() if call.task is not None]

    # --- answers -----------------------------------------------------------------------------------------------------

    def _answer(self, call: Call, result: object) -> None:
        if call.cancelled:
            self._reply(call, error_body(call.id, RpcError(REQUEST_CANCELLED, "the request was cancelled")))
            return
        try:
            body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (msgspec.json.encode(call.id), self._encode(result))
        except Exception as error:  # noqa: BLE001 (whatever an unencodable value raises)
            self._answer_error(call, error)
            return
        if len(body) > SMALL and self._overloaded():
            body = error_body(call.id, RpcError(INTERNAL_ERROR, "the client does not read its answers"))
        self._reply(call, body)

    def _answer_error(self, call: Call, error: BaseException) -> None:
        if call.answered:
            return
        if call.cancelled:
            self._answer(call, None)
            return
        self._reply(call, error_body(call.id, self._public(error, call.method)))

    def _reply(self, call: Call, body: bytes) -> None:
        if call.answered:
            return
        call.answered = True
        if call.timer is not None:
            call.timer.cancel()
        self._calls.pop(call.id, None)
        self._send(body)


def public_error(error: BaseException, method: str) -> RpcError:
    """What a client may know of an exception."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, TvlsError):
        return RpcError(error.code, error.message, error.data)
    logger.error("request %s failed", method, exc_info=error)
    return RpcError(INTERNAL_ERROR, "internal error")


def error_body(msg_id: MessageId | None, error: RpcError) -> bytes:
    body: dict[str, Any] = {"code": error.code, "message": _printable(error.message)}
    if error.data is not None:
        body["data"] = error.data
    try:
        return msgspec.json.encode({"jsonrpc": "2.0", "id": msg_id, "error": body})
    except Exception:
        logger.exception("the data of an error cannot be encoded")
        del body["data"]
        return msgspec.json.encode({"jsonrpc": "2.0", "id": msg_id, "error": body})


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def decode_params(route: Route, params: msgspec.Raw | msgspec.UnsetType) -> Any:
    """Absent and null count as an empty table. Raises RpcError."""
    raw = b"{}" if params is msgspec.UNSET or bytes(params) == b"null" else bytes(params)
    try:
        return route.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error


def _progress_token(params: Any) -> int | str | None:
    token = getattr(params, "work_done_token", None)
    return token if isinstance(token, int | str) else None


def read_message(body: bytes) -> Envelope:
    """One message, decoded as far as its own fields. Raises MessageError."""
    try:
        return _envelope(body)
    except msgspec.ValidationError as error:
        raise MessageError(INVALID_REQUEST, f"not a message of LSP: {error}", _id_of(body)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MessageError(PARSE_ERROR, f"malformed JSON: {error}") from error


def _envelope(body: bytes) -> Envelope:
    try:
        return _ENVELOPE.decode(body)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if _SURROGATE.search(body) is None:
            raise
        try:
            repaired = _repaired(body)
        except ValueError as error:
            raise msgspec.DecodeError(str(error)) from error
        return _ENVELOPE.decode(repaired)


def _id_of(body: bytes) -> MessageId | None:
    try:
        return msgspec.json.decode(body, type=_OnlyId).id
    except (msgspec.DecodeError, RecursionError):
        return None


def _repaired(body: bytes) -> bytes:
    """The message without halves of surrogate pairs: legal in an editor's JSON, and no reason to lose an edit.

    Raises ValueError for what is malformed anyway.
    """
    return msgspec.json.encode(_without_surrogates(json.loads(body, parse_constant=_refuse_constant)))


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _without_surrogates(value: Any) -> Any:
    """U+FFFD is as long as a lone surrogate in each position encoding, so positions stay true."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {_without_surrogates(key): _without_surrogates(item) for key, item in pairs}
    return value


_ENVELOPE: Final = msgspec.json.Decoder(Envelope)
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
