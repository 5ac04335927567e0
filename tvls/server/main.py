"""The running server: a channel, the message layer and the table of handlers."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import platformdirs
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from tvls import __version__
from tvls.host import Host
from tvls.server import commands, configuration, initialize, loop, stdio, sync, text_content
from tvls.server.code_action import code_action
from tvls.server.code_lens import code_lens
from tvls.server.completion import completion
from tvls.server.definition import definition
from tvls.server.document_symbol import document_symbol
from tvls.server.documents import Documents
from tvls.server.hover import hover
from tvls.server.inlay_hint import inlay_hint
from tvls.server.requests import REQUESTS
from tvls.server.rpc import Protocol, strict_converter
from tvls.server.state import Server
from tvls.server.workspace_symbol import workspace_symbol
from tvls.settings import Settings

if TYPE_CHECKING:
    from tvls.session import Session


def build(make_session: Callable[[Host, Settings], Session]) -> Server:
    """A server with all its handlers, not connected yet."""
    client = LanguageServer("tvls", __version__, protocol_cls=Protocol, converter_factory=strict_converter)
    protocol = client.protocol
    assert isinstance(protocol, Protocol)  # noqa: S101 (the class named above)
    cache = platformdirs.user_cache_path("tvls", appauthor=False)
    server = Server(client, protocol, Documents(), cache, make_session)

    for method, run in {
        lsp.INITIALIZE: initialize.initialize,
        lsp.SHUTDOWN: shutdown,
        lsp.TEXT_DOCUMENT_CODE_LENS: code_lens,
        lsp.TEXT_DOCUMENT_CODE_ACTION: code_action,
        lsp.TEXT_DOCUMENT_HOVER: hover,
        lsp.TEXT_DOCUMENT_INLAY_HINT: inlay_hint,
        lsp.TEXT_DOCUMENT_COMPLETION: completion,
        lsp.TEXT_DOCUMENT_DEFINITION: definition,
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: document_symbol,
        lsp.WORKSPACE_SYMBOL: workspace_symbol,
        lsp.WORKSPACE_EXECUTE_COMMAND: commands.execute,
        lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: text_content.content,
        **REQUESTS,
    }.items():
        protocol.on_request(method, partial(run, server))
    for method, run in {
        lsp.INITIALIZED: initialize.initialized,
        lsp.TEXT_DOCUMENT_DID_OPEN: sync.did_open,
        lsp.TEXT_DOCUMENT_DID_CHANGE: sync.did_change,
        lsp.TEXT_DOCUMENT_DID_CLOSE: sync.did_close,
        lsp.TEXT_DOCUMENT_DID_SAVE: sync.did_save,
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: sync.did_change_watched_files,
        lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: sync.did_change_folders,
        lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration.on_change,
    }.items():
        protocol.on_notification(method, partial(run, server))
    return server


async def shutdown(server: Server, params: None) -> None:
    """Ends all work and the workers; afterwards only `exit` counts."""
    call = server.protocol.current_call()
    server.protocol.stage = "shutdown"
    server.protocol.calls.cancel_all(keep=call.id if call else None)
    await _close(server)


async def _close(server: Server) -> None:
    if server.canvas is not None:
        await server.canvas.aclose()
    await server.session.aclose()


async def _serve(server: Server, channel: stdio.Channel) -> int:
    try:
        return await loop.run(server.protocol, channel)
    finally:
        if hasattr(server, "session"):
            async with asyncio.timeout(loop.CLOSE_SECONDS):
                await _close(server)


def serve_stdio(make_session: Callable[[Host, Settings], Session]) -> int:
    channel = stdio.claim()
    log = loop.start_logging()
    code = loop.run_to_end(_serve(build(make_session), channel))
    with contextlib.suppress(queue.Full):
        log.stop()
    return code
