"""The canvas of an editor that has none: a page in the browser, which sends people back to their source lines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from tvls.canvas import files
from tvls.canvas.browser import forwarding, over_ssh, screen_is_here
from tvls.protocol import types as t
from tvls.protocol import types_page as p
from tvls.protocol.errors import TvlsError
from tvls.server.draft import offer_draft
from tvls.server.show import describe, show_outline, show_place, show_uri
from tvls.server.state import Server

if TYPE_CHECKING:
    from tvls.canvas.server import CanvasServer

SHOWN_ON_ERROR: Final = frozenset({"setupRequired", "setupInvalid"})
"""What a person can give in the page. Other errors are shown there only if it is open."""

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
    """Whether `show_canvas` shows this error where the person can do something about it."""
    return error.kind in SHOWN_ON_ERROR and server.settings.show == "canvas" and files.is_built()


async def show_canvas(
    server: Server, params: t.OpenParams, capture: t.CaptureInfo | None, error: TvlsError | None
) -> None:
    """Shows what came of a request to open, as the person wants to see graphs."""
    if server.settings.show == "canvas" and not files.is_built():
        server.log(lsp.MessageType.Warning, f"The canvas is not built: {files.STATIC} is empty. Run `make canvas`.")
    if server.settings.show == "outline" or not files.is_built():
        if capture is not None:
            await show_outline(server, capture)
        elif error is not None:
            await offer_draft(server, params, error)
        return
    await show_in_browser(server, params, capture, error)


async def show_in_browser(
    server: Server, params: t.OpenParams, capture: t.CaptureInfo | None, error: TvlsError | None
) -> None:
    """Shows a graph, or the values that it lacks, as a page; the page that is open goes on with it."""
    if error is not None and error.kind not in SHOWN_ON_ERROR and not canvas(server).is_open(params):
        return
    try:
        address = await canvas(server).show(params, capture, error)
    except OSError as fault:
        server.show(lsp.MessageType.Warning, f"The canvas cannot be served: {fault}")
        if capture is not None:
            await show_outline(server, capture)
        return
    what = describe(capture) if capture is not None else error.message if error is not None else ""
    if address is None:
        here = "It is in the page that your browser has open."
        if error is None:
            server.show(lsp.MessageType.Info, f"{what}. {here}")
        elif told_in_the_page(server, error):
            server.show(lsp.MessageType.Warning, f"{what} {here}")
    elif not await _open_address(server, address):
        tunnel = forwarding(address)
        first = f" First, on the machine that you sit at: {tunnel}" if tunnel else ""
        server.show(lsp.MessageType.Info, f"{what}. Open it in a browser: {address}{first}")


async def _open_address(server: Server, address: str) -> bool:
    seen = not over_ssh() or screen_is_here() or server.features.name.startswith(_FORWARDS)
    return seen and await show_uri(server, address, external=True)


def mark(server: Server, params: p.MarkParams) -> p.MarkResult:
    """Marks the nodes of the cursor in the pages that are open; without one there is nothing to do."""
    return server.canvas.mark(params) if server.canvas is not None else p.MarkResult(pages=0, nodes=0)
