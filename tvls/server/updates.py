"""What the editor shows without having asked: diagnostics, lenses that must be asked for again, states of captures.

Changes come in bursts (a key press, a trace, a branch switch), so they are gathered for a moment. Nothing is sent that
would not change what the editor shows.
"""

from __future__ import annotations

import asyncio
from typing import Final

from tvls.protocol import types as t
from tvls.server import code_lens, diagnostics, inlay_hint, text_content
from tvls.server.state import Server

GATHER_SECONDS: Final = 0.05
CAPTURE_STATE: Final = "$/tvls/captureState"


def schedule(server: Server) -> None:
    shown = server.shown
    if shown.timer is None:
        shown.timer = asyncio.get_running_loop().call_later(GATHER_SECONDS, _start, server)


def _start(server: Server) -> None:
    server.shown.timer = None
    if server.shown.running:
        server.shown.again = True
        return
    if server.protocol.stage == "running":
        server.protocol.run_in_background(_update(server), "updating what the editor shows")


async def _update(server: Server) -> None:
    shown = server.shown
    shown.running = True
    try:
        await diagnostics.publish(server)
        _send_capture_states(server)
        if server.canvas is not None:
            server.canvas.tell_states()
        text_content.refresh(server)
        inlay_hint.refresh(server)
        await _refresh_lenses(server)
    finally:
        shown.running = False
        if shown.again:
            shown.again = False
            schedule(server)


async def _refresh_lenses(server: Server) -> None:
    if not server.features.lens_refresh:
        return
    for path, shown in list(server.shown.lenses.items()):
        if server.documents.at(path) is None:
            del server.shown.lenses[path]
        elif await code_lens.lenses_now(server, path) != shown:
            server.client.workspace_code_lens_refresh(None)
            return  # the client now asks for the lenses of every document


def remember_capture(server: Server, info: t.CaptureInfo) -> None:
    if server.features.capture_state:
        server.shown.captures[info.capture_id] = info


def _send_capture_states(server: Server) -> None:
    for capture_id, known in list(server.shown.captures.items()):
        info = server.session.info_if_open(capture_id)
        if info is None:
            del server.shown.captures[capture_id]
        elif info != known:
            server.shown.captures[capture_id] = info
            server.protocol.notify(CAPTURE_STATE, info)
