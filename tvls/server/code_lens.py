"""The lens above each model, and above each profile of a setup file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from tvls.server import openings
from tvls.server.diagnostics import to_lsp_range
from tvls.server.openings import Opening
from tvls.server.setup_file import setup_document
from tvls.server.state import OPEN_IN_CLIENT, Server
from tvls.setup.language.outline import profiles
from tvls.uris import to_path

OPEN_GRAPH: Final = "tvls.server.openGraph"
TITLE: Final = "Open as Graph"
_MOST: Final = 4
"""Lenses side by side: further profiles are among the code actions, and have theirs in the setup file."""


async def code_lens(server: Server, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    uri = params.text_document.uri
    found = await _places(server, uri)
    if server.documents.get(uri) is not None:
        server.shown.lenses[to_path(uri)] = _key(found)
    return [
        lsp.CodeLens(range=place, command=open_command(server, opening, _title(opening))) for place, opening in found
    ]


async def lenses_now(server: Server, path: Path) -> object:
    """Equal to what is remembered in `Shown.lenses` while the lenses of a document are the same."""
    return _key(await _places(server, server.documents.uri(path)))


async def _places(server: Server, uri: str) -> list[tuple[lsp.Range, Opening]]:
    document = setup_document(server, uri)
    if document is not None:
        return [
            (document.range(symbol.part.start, symbol.part.end), openings.of_profile(server, document, symbol))
            for symbol in profiles(document.around)
        ]
    return [
        (to_lsp_range(target.range), opening)
        for target in await server.session.targets(to_path(uri))
        for opening in openings.of_target(server, uri, target, _MOST)
    ]


def _key(found: list[tuple[lsp.Range, Opening]]) -> object:
    """Without places, which editors move themselves."""
    return [(opening.name, opening.profile, opening.state) for _, opening in found]


def _title(opening: Opening) -> str:
    return TITLE + opening.which + (f" · {opening.state}" if opening.traced else "")


def open_command(server: Server, opening: Opening, title: str) -> lsp.Command:
    """The client's own command where it has one."""
    name = OPEN_IN_CLIENT if server.features.own_canvas else OPEN_GRAPH
    return lsp.Command(title=title, command=name, arguments=[opening.argument])
