"""A drafted profile in `tensorviz.toml`, for editors without a form: written, shown, and filled in there."""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from tvls.protocol import types as t
from tvls.protocol import types_setup as ts
from tvls.protocol.errors import TvlsError
from tvls.server.questions import NOT_NOW, NobodyAsked, ask
from tvls.server.show import show_place
from tvls.server.state import Server
from tvls.setup.read import SETUP_FILE
from tvls.uris import to_path

WRITE: Final = f"Write a draft into {SETUP_FILE}"


async def offer_draft(server: Server, params: t.OpenParams, error: TvlsError) -> None:
    """After a target could not be opened for want of values: asks whether to draft its profile, and does."""
    target = params.target
    if target is None or error.kind != "setupRequired" or server.features.own_canvas:
        return
    try:
        answer = await ask(server, error.message, [WRITE, NOT_NOW])
    except NobodyAsked:
        server.show(
            lsp.MessageType.Info,
            f"{error.message} To get a draft to fill in, run the command tvls.server.draftSetup with the argument "
            f'{{"uri": "{target.uri}", "name": "{target.name}"}}.',
        )
        return
    if answer == WRITE:
        try:
            await draft_setup(server, target, params.profile)
        except TvlsError as fault:
            server.show(lsp.MessageType.Error, fault.told)


async def draft_setup(server: Server, target: t.TargetRef, profile: str | None) -> ts.SetupSaved:
    """Saves the draft with placeholders, and shows where they stand. Raises TvlsError."""
    saved = await server.session.setup_save(ts.SetupSaveParams(target=target, profile=profile, incomplete=True))
    shown = await show_place(server, t.Location(uri=saved.uri, range=saved.range))
    place = "" if shown else f" of {to_path(saved.uri)}"
    if saved.missing:
        what = f"Fill in {', '.join(saved.missing)} in the profile {saved.profile!r}{place}"
    else:
        what = f"The profile {saved.profile!r}{place} is complete"
    save = ", save it," if saved.missing or saved.unsaved else ""
    server.show(lsp.MessageType.Info, f"{what}{save} and open {target.name} again.")
    return saved
