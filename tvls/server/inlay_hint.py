"""Shapes after assignments, where the setting asks for them."""

from __future__ import annotations

from lsprotocol import types as lsp

from tvls.server.positions import from_byte_column
from tvls.server.state import Server
from tvls.uris import to_path


async def inlay_hint(server: Server, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    path = to_path(params.text_document.uri)
    text = server.documents.text_at(path)
    if text is None or not server.settings.inlay_hints:
        return []
    server.shown.hints = server.session.hints_depend_on()
    shown: list[lsp.InlayHint] = []
    for hint in server.session.hints(path, params.range.start.line + 1, params.range.end.line + 1):
        character = from_byte_column(text.line(hint.line - 1), hint.end, server.documents.encoding)
        shown.append(
            lsp.InlayHint(
                position=lsp.Position(line=hint.line - 1, character=character),
                label=hint.label,
                kind=lsp.InlayHintKind.Type,
                tooltip=hint.tooltip,
                data={"name": hint.name, "freshness": hint.freshness},
            )
        )
    return shown


def refresh(server: Server) -> None:
    """Asks the client to ask again, where the answer would be another one."""
    shown = server.shown
    if not server.features.hint_refresh or not server.settings.inlay_hints:
        return
    now = server.session.hints_depend_on()
    if now != shown.hints:
        shown.hints = now
        server.client.workspace_inlay_hint_refresh(None)
