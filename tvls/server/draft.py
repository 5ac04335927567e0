"""A drafted profile in `tensorviz.toml`, for editors without a form: written, shown, and filled in there."""

from __future__ import annotations

import logging
from typing import Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tvls.protocol import types as t
from tvls.protocol import types_setup as ts
from tvls.protocol.errors import TvlsError
from tvls.server.diagnostics import to_lsp_range
from tvls.server.state import Server
from tvls.setup.read import SETUP_FILE
from tvls.uris import to_path

logger = logging.getLogger(__name__)

WRITE: Final = f"Write a draft into {SETUP_FILE}"
NOT_NOW: Final = "Not now"


async def offer_draft(server: Server, params: t.OpenParams, error: TvlsError) -> None:
    """After a target could not be opened for want of values: asks whether to draft its profile, and does."""
    target = params.target
    if target is None or error.kind != "setupRequired" or server.features.own_canvas:
        return
    if server.features.questions == "no":
        server.show(
            lsp.MessageType.Info,
            f"{error.message} To get a draft to fill in, run the command tvls.server.draftSetup with the argument "
            f'{{"uri": "{target.uri}", "name": "{target.name}"}}.',
        )
        return
    question = lsp.ShowMessageRequestParams(
        type=lsp.MessageType.Info,
        message=error.message,
        actions=[lsp.MessageActionItem(title=WRITE), lsp.MessageActionItem(title=NOT_NOW)],
    )
    try:
        answer = await server.client.window_show_message_request_async(question)
    except JsonRpcException as fault:
        logger.warning("the client cannot ask: %s", fault)
        return
    if answer is not None and answer.title == WRITE:
        try:
            await draft_setup(server, target, params.profile)
        except TvlsError as fault:
            server.show(lsp.MessageType.Error, f"{fault.message} {fault.data.next_step}")


async def draft_setup(server: Server, target: t.TargetRef, profile: str | None) -> ts.SetupSaved:
    """Saves the draft with placeholders, and shows where they stand. Raises TvlsError."""
    saved = await server.session.setup_save(ts.SetupSaveParams(target=target, profile=profile, incomplete=True))
    shown = await _show(server, saved)
    place = "" if shown else f" of {to_path(saved.uri)}"
    if saved.missing:
        what = f"Fill in {', '.join(saved.missing)} in the profile {saved.profile!r}{place}"
    else:
        what = f"The profile {saved.profile!r}{place} is complete"
    save = ", save it," if saved.missing or saved.unsaved else ""
    server.show(lsp.MessageType.Info, f"{what}{save} and open {target.name} again.")
    return saved


async def _show(server: Server, saved: ts.SetupSaved) -> bool:
    if not server.features.show_document:
        return False
    params = lsp.ShowDocumentParams(
        uri=server.documents.uri(to_path(saved.uri)),
        external=False,
        take_focus=True,
        selection=to_lsp_range(saved.range),
    )
    try:
        return (await server.client.window_show_document_async(params)).success
    except JsonRpcException as error:
        logger.warning("the client could not show %s: %s", saved.uri, error)
        return False
