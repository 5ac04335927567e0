"""The canvas of an editor that has none: a page in the browser, which sends people back to their source lines."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from tvls.canvas import files
from tvls.canvas.browser import forwarding, over_ssh, screen_is_here
from tvls.canvas.outcome import Outcome
from tvls.jsonrpc import REQUEST_CANCELLED
from tvls.protocol import types as t
from tvls.protocol import types_page as p
from tvls.protocol.errors import TvlsError, sentence
from tvls.server.draft import offer_draft
from tvls.server.show import describe, show_outline, show_place, show_uri
from tvls.server.state import Server

if TYPE_CHECKING:
    from tvls.canvas.server import CanvasServer

SHOWN_ON_ERROR: Final = frozenset({"setupRequired", "setupInvalid"})
"""What a person can give in the page. Other errors are shown there only if it is open."""

CANCELLED: Final = Outcome(error=p.OpenError(code=REQUEST_CANCELLED, message="The trace was cancelled."))

ANSWER_SECONDS: Final = 10.0
"""How long an editor may take to say whether it opened a page, before people are told where the page is."""

_FORWARDS: Final = ("Visual Studio Code", "VSCodium", "Cursor", "Windsurf", "code-server")
"""Editors whose screen is elsewhere and which open addresses there, through a tunnel of their own."""


def canvas(server: Server) -> CanvasServer:
    """The editor's canvas server. Imported late: most sessions begin without a graph."""
    if server.canvas is None:
        from tvls.canvas.server import CanvasServer

        features = server.features
        name = (features.name or "your editor") if features.show_document else None
        server.canvas = CanvasServer(server.session, partial(show_place, server), name)
    return server.canvas


def told_in_the_page(server: Server, error: TvlsError) -> bool:
    """Whether `Showing` shows this error where the person can do something about it."""
    return error.kind in SHOWN_ON_ERROR and server.settings.show == "canvas" and files.is_built()


class Showing:
    """What a person sees of a request to open: a page that says how far the trace is, then what came of it."""

    def __init__(self, server: Server, params: t.OpenParams, *, browser: bool = False) -> None:
        """`browser`: whatever the client shows graphs in."""
        self._server = server
        self._params = params
        self._mute = server.features.own_canvas and not browser
        self._in_page = browser or (not self._mute and server.settings.show == "canvas" and files.is_built())
        self._invited: asyncio.Future[bool] | None = None

    def entered(self, phase: str) -> None:
        """The trace is in `phase`. A browser needs its time to open a page, which is that of the trace, then."""
        if not self._in_page or phase == "environment":  # a capture that is fresh comes next, or what keeps it from
            return
        here = canvas(self._server)
        here.tell(self._params, Outcome(phase=phase))
        if self._invited is None:
            self._invited = here.invitation(self._params, self._invite)

    def ended(self, outcome: Outcome, error: TvlsError | None = None) -> None:
        if self._in_page:  # whatever becomes of the editor's answer, a page that is there does not wait for it
            canvas(self._server).tell(self._params, outcome)
        if not self._mute:
            # Not awaited: some editors wait for the command's answer before they can show anything.
            self._server.protocol.run_in_background(self._show(outcome, error), "showing a graph")

    def cancelled(self) -> None:
        # Another request may have begun the trace, and was cancelled before.
        if self._in_page and self._server.canvas is not None and self._server.canvas.awaits(self._params):
            self._server.canvas.tell(self._params, CANCELLED)

    async def _invite(self) -> bool:
        """Whether the editor opens a page for this."""
        here = canvas(self._server)
        if here.is_watched(self._params) or not _opens_addresses(self._server):
            return False
        try:
            return await show_uri(self._server, await here.address(self._params), external=True)
        except OSError as fault:
            self._server.log(lsp.MessageType.Warning, f"The canvas cannot be served: {fault}")
            return False

    async def _show(self, outcome: Outcome, error: TvlsError | None) -> None:
        if self._in_page:
            await self._show_page(outcome, error)
            return
        if self._server.settings.show == "canvas":
            message = f"The canvas is not built: {files.STATIC} is empty. Run `make canvas`."
            self._server.log(lsp.MessageType.Warning, message)
        if outcome.capture is not None:
            await show_outline(self._server, outcome.capture)
        elif error is not None:
            await offer_draft(self._server, self._params, error)

    async def _show_page(self, outcome: Outcome, error: TvlsError | None) -> None:
        server, capture = self._server, outcome.capture
        here = canvas(server)
        opened = False if self._invited is None else await _answer(self._invited)
        if opened:
            return
        what = describe(capture) if capture is not None else error.message if error is not None else ""
        if here.is_watched(self._params):
            where = "It is in the page that your browser has open."
            if opened is None:  # it opened the page and says nothing of it
                pass
            elif error is None:
                server.show(lsp.MessageType.Info, f"{sentence(what)} {where}")
            elif told_in_the_page(server, error):
                server.show(lsp.MessageType.Warning, f"{sentence(what)} {where}")
            return
        if error is not None and error.kind not in SHOWN_ON_ERROR:
            return
        if opened is False:
            opened = await _answer(here.invitation(self._params, self._invite))
        if opened or here.is_watched(self._params):
            return
        try:
            address = await here.address(self._params)
        except OSError as fault:
            server.show(lsp.MessageType.Warning, f"The canvas cannot be served: {fault}")
            if capture is not None:
                await show_outline(server, capture)
            return
        tunnel = forwarding(address)
        first = f" First, on the machine that you sit at: {tunnel}" if tunnel else ""
        server.show(lsp.MessageType.Info, f"{sentence(what)} Open it in a browser: {address}{first}")


async def _answer(invited: asyncio.Future[bool]) -> bool | None:
    """None where the editor does not answer."""
    done, _ = await asyncio.wait({invited}, timeout=ANSWER_SECONDS)
    return invited.result() if done else None


def _opens_addresses(server: Server) -> bool:
    """Whether a browser that the editor opens is where the person sits."""
    seen = not over_ssh() or screen_is_here() or server.features.name.startswith(_FORWARDS)
    return seen and server.features.show_document


def mark(server: Server, params: p.MarkParams) -> p.MarkResult:
    """Marks the nodes of the cursor in the pages that are open; without one there is nothing to do."""
    return server.canvas.mark(params) if server.canvas is not None else p.MarkResult(pages=0, nodes=0)
