"""What the editor shows without having asked: diagnostics, lenses that must be asked for again, states of captures.

Changes come in bursts (a key press, a trace, a branch switch), so they are gathered for a moment. Nothing is sent that
would not change what the editor shows.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from tvls.protocol import types as t
from tvls.server import diagnostics, inlay_hint, text_content
from tvls.server.setup_file import setup_document
from tvls.server.state import Server
from tvls.setup.language.cursor import Around
from tvls.setup.language.outline import profiles

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


def lens_key(targets: list[t.TargetInfo]) -> object:
    """Equal where two answers give the same lenses, apart from places, which editors move themselves."""
    return [(target.name, target.state) for target in targets]


def profile_states(server: Server, folder: Path, around: Around) -> dict[str, t.TargetState]:
    """Of every profile that the text of a setup file names."""
    return {symbol.name: server.session.profile_state(folder, symbol.name) for symbol in profiles(around)}


async def _lenses_now(server: Server, path: Path) -> object:
    document = setup_document(server, server.documents.uri(path))
    if document is not None:
        return profile_states(server, document.folder, document.around)
    return lens_key(await server.session.targets(path))


async def _refresh_lenses(server: Server) -> None:
    if not server.features.lens_refresh:
        return
    for path, shown in list(server.shown.lenses.items()):
        if server.documents.at(path) is None:
            del server.shown.lenses[path]
        elif await _lenses_now(server, path) != shown:
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
