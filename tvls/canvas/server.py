"""The canvas in a browser: an HTTP server on this machine alone, the pages that it gave out, and what each shows."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from tvls.canvas import http
from tvls.canvas.admission import Admission
from tvls.canvas.connection import Connection
from tvls.canvas.outcome import Outcome
from tvls.jsonrpc import INVALID_PARAMS, RpcError
from tvls.protocol import types as t
from tvls.protocol import types_page as p
from tvls.protocol.errors import TvlsError
from tvls.uris import is_file_uri, to_path

if TYPE_CHECKING:
    from tvls.session import Session

logger = logging.getLogger(__name__)

PAGES: Final = 64
"""Pages that are remembered; of those that nobody looks at, the oldest goes first."""
CONNECTIONS: Final = 64
MESSAGE_BYTES: Final = 1 << 20
"""The longest message of a page. What a page sends are questions."""
LOOK_SECONDS: Final = 1.0
"""How often captures on a page are compared with their sources, where nobody tells of changes."""
CLOSE_SECONDS: Final = 1
COMING_SECONDS: Final = 5.0
"""How long a browser that was asked to open a page is waited for, before it is asked again."""

ShowSource = Callable[[t.Location], Awaitable[bool]]
Key = tuple[object, ...]


@dataclass(eq=False)
class Page:
    """An address, and what is to be seen there."""

    id: str
    state: p.CanvasState
    connections: set[Connection] = field(default_factory=set[Connection])
    invitation: tuple[asyncio.Future[bool], float] | None = None
    """Whether a browser is to open the page, and when it was asked; until one comes."""


class CanvasServer:
    """Starts when the first graph is shown. `show_source` goes to a place in the editor, if it can."""

    def __init__(self, session: Session, show_source: ShowSource, editor: str | None = None) -> None:
        self.session: Final = session
        self._show_source = show_source
        self._editor = editor
        self._admission = Admission()
        self._pages: OrderedDict[Key, Page] = OrderedDict()
        self._connections: set[Connection] = set()
        self._server: Server | None = None
        self._starting = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None
        self.port = 0

    # --- life --------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listens. Raises OSError where no port can be had."""
        async with self._starting:
            if self._server is not None:
                return
            self._server = await serve(
                self._serve,
                "127.0.0.1",
                0,
                process_request=self._process_request,
                process_response=self._process_response,
                compression=None,  # it goes through this machine's memory
                server_header=None,
                max_size=MESSAGE_BYTES,
                ping_interval=30,
                ping_timeout=120,  # a large answer may be on its way through a slow tunnel
                close_timeout=CLOSE_SECONDS,
                logger=_quiet_logger(),
            )
            self.port = self._server.sockets[0].getsockname()[1]

    async def aclose(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        if self._server is not None:
            self._server.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2 * CLOSE_SECONDS):
                    await self._server.wait_closed()

    def _process_request(self, _: ServerConnection, request: Request) -> Response | None:
        return http.answer(request, self._admission, self.port)

    def _process_response(self, _: ServerConnection, request: Request, response: Response) -> Response:
        return http.secured(response)

    async def _serve(self, socket: ServerConnection) -> None:
        if len(self._connections) >= CONNECTIONS:
            await socket.close(1013, "too many pages")
            return
        connection = Connection(self, socket)
        self._connections.add(connection)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            if connection.page is not None:
                connection.page.connections.discard(connection)

    # --- pages -------------------------------------------------------------------------------------------------------

    def tell(self, params: t.OpenParams, outcome: Outcome, by: Connection | None = None) -> bool:
        """Has the page of a request to open show what came of it, so far. Whether somebody looks at it.

        `by`: the connection that made the request, and knows.
        """
        page = self._put(params, outcome)
        for connection in page.connections - {by}:
            connection.remember(outcome.capture)
            connection.notify("$/tvls/canvas/show", page.state)
        return bool(page.connections)

    async def address(self, params: t.OpenParams) -> str:
        """Where a browser finds the page of a request that `tell` heard of. Counts once. Raises OSError as `start`."""
        await self.start()
        page = self._pages[_key(params)]
        return f"http://127.0.0.1:{self.port}{http.GRAPH}{page.id}?token={self._admission.issue()}"

    def invitation(self, params: t.OpenParams, invite: Callable[[], Awaitable[bool]]) -> asyncio.Future[bool]:
        """Of a browser to the page of a request that `tell` heard of. Requests that come one upon the other share it:
        a page opens once, be the browser as slow as it may.
        """
        page = self._pages[_key(params)]
        now = asyncio.get_running_loop().time()
        if page.invitation is not None:
            asked, when = page.invitation
            refused = asked.done() and not asked.result()
            if not refused and now - when < COMING_SECONDS:
                return asked
        page.invitation = asyncio.ensure_future(invite()), now
        return page.invitation[0]

    def knows(self, params: t.OpenParams) -> bool:
        return _key(params) in self._pages

    def _put(self, params: t.OpenParams, outcome: Outcome) -> Page:
        key = _key(params)
        page = self._pages.pop(key, None)
        same = page is not None and page.state.open.profile == params.profile
        before = page.state.capture if page is not None and same else None  # another profile has another graph
        state = p.CanvasState(
            open=msgspec.structs.replace(params, refresh=False, work_done_token=None),
            capture=outcome.capture or before,
            error=outcome.error,
            phase=outcome.phase,
            editor=self._editor,
        )
        if page is None:
            page = Page(secrets.token_hex(8), state)
        page.state = state
        self._pages[key] = page
        unseen = [other for other, shown in self._pages.items() if not shown.connections and shown is not page]
        for other in unseen[: max(0, len(self._pages) - PAGES)]:
            del self._pages[other]
        return page

    def attach(self, connection: Connection, page_id: str) -> p.CanvasState:
        """What the page is there to show, as it is now: without a capture where that was let go of meanwhile."""
        page = next((page for page in self._pages.values() if page.id == page_id), None)
        if page is None:
            raise TvlsError(
                "pageGone",
                "This page is not known any more.",
                "Open the graph again from your editor, or with tvls open.",
            )
        if connection.page is not None:
            connection.page.connections.discard(connection)
        connection.page = page
        page.connections.add(connection)
        page.invitation = None
        capture = page.state.capture and self.session.info_if_open(page.state.capture.capture_id)
        error = page.state.error
        untrusted = error is not None and error.data is not None and error.data.kind == "notTrusted"
        if capture is not None and capture.freshness == "fresh" and not untrusted:
            error = None  # the code became again what was traced: what failed in between is overcome
        return msgspec.structs.replace(page.state, capture=capture, error=error)

    def awaits(self, params: t.OpenParams) -> bool:
        """Whether the page of a request to open says that a trace runs."""
        page = self._pages.get(_key(params))
        return page is not None and page.state.phase is not None

    def is_watched(self, params: t.OpenParams) -> bool:
        """Whether somebody looks at the page of a request to open."""
        page = self._pages.get(_key(params))
        return page is not None and bool(page.connections)

    def shows(self, source: Path) -> bool:
        """Whether a page that someone looks at has a graph of this source."""
        captures = [page.state.capture for page in self._pages.values() if page.connections]
        return any(self.session.is_source(capture.capture_id, source) for capture in captures if capture is not None)

    # --- what pages are told -----------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """While a page is connected, changes of sources are noticed although nobody tells of them."""
        while self._connections:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                self.tell_states()
            except Exception:
                logger.exception("states of captures could not be told")

    def tell_states(self) -> None:
        """Tells pages of captures that became stale, or fresh again."""
        now: dict[str, t.CaptureInfo | None] = {}
        for connection in self._connections:
            for capture_id, known in list(connection.captures.items()):
                if capture_id not in now:
                    now[capture_id] = self.session.info_if_open(capture_id)
                info = now[capture_id]
                if info is None:
                    del connection.captures[capture_id]
                elif info != known:
                    connection.captures[capture_id] = info
                    connection.notify("$/tvls/captureState", info)

    def mark(self, params: p.MarkParams) -> p.MarkResult:
        """Marks the nodes of a source position in the pages that show a graph of it."""
        pages = nodes = 0
        for page in self._pages.values():
            capture = page.state.capture
            if not page.connections or capture is None or self.session.info_if_open(capture.capture_id) is None:
                continue
            asked = t.NodesAtParams(
                text_document=params.text_document, position=params.position, capture_id=capture.capture_id
            )
            found = self.session.nodes_at(asked)
            told = p.MarkedNodes(capture_id=capture.capture_id, nodes=found.nodes, total=found.total)
            for connection in page.connections:
                connection.notify("$/tvls/canvas/mark", told)
            pages += 1 if found.total else 0
            nodes += found.total
        return p.MarkResult(pages=pages, nodes=nodes)

    # --- what pages ask ----------------------------------------------------------------------------------------------

    async def show_source(self, params: p.ShowSourceParams) -> p.ShowSourceResult:
        """Only a source file that is there: a page must not make the editor open anything else."""
        uri = params.location.uri
        path = to_path(uri)
        if not is_file_uri(uri) or path.suffix not in (".py", ".pyi", ".toml") or not path.is_file():
            raise RpcError(INVALID_PARAMS, "the location is no source file of this machine")
        folder = self.session.folder_of(path)
        return p.ShowSourceResult(
            shown=await self._show_source(params.location),
            place=f"{path.relative_to(folder) if folder else path}:{params.location.range.start.line + 1}",
        )


def _key(params: t.OpenParams) -> Key:
    """Equal for requests that one page shows."""
    if params.target is not None:
        return (to_path(params.target.uri), params.target.name)
    return (params.folder and to_path(params.folder), params.profile)


def _quiet_logger() -> logging.Logger:
    """Of the WebSocket library: every stray connection is a traceback there."""
    quiet = logging.getLogger("tvls.canvas.websockets")
    quiet.setLevel(logging.CRITICAL)
    return quiet
