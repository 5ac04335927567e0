"""The lens above each model, and above each profile of a setup file."""

from __future__ import annotations

from typing import Any, Final

from lsprotocol import types as lsp

from tvls.protocol import types as t
from tvls.server import updates
from tvls.server.diagnostics import to_lsp_range
from tvls.server.setup_file import SetupDocument, setup_document
from tvls.server.state import OPEN_IN_CLIENT, Server
from tvls.setup.language.outline import profiles
from tvls.uris import to_path, to_uri

OPEN_GRAPH: Final = "tvls.server.openGraph"
TITLE: Final = "Open as Graph"


async def code_lens(server: Server, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    uri = params.text_document.uri
    document = setup_document(server, uri)
    if document is not None:
        return _of_setup(server, document, uri)
    path = to_path(uri)
    targets = await server.session.targets(path)
    if server.documents.get(uri) is not None:
        server.shown.lenses[path] = updates.lens_key(targets)
    return [
        lsp.CodeLens(range=to_lsp_range(target.range), command=open_command(server, uri, target, title(target.state)))
        for target in targets
    ]


def _of_setup(server: Server, document: SetupDocument, uri: str) -> list[lsp.CodeLens]:
    """A lens above each profile, usable or not: opening it says what is missing."""
    folder = to_uri(document.folder)
    states = updates.profile_states(server, document.folder, document.around)
    if server.documents.get(uri) is not None:
        server.shown.lenses[to_path(uri)] = states
    name = OPEN_IN_CLIENT if server.features.own_canvas else OPEN_GRAPH
    lenses: list[lsp.CodeLens] = []
    for symbol in profiles(document.around):
        arguments: list[Any] = [{"profile": symbol.name, "folder": folder}]
        command = lsp.Command(title=title(states[symbol.name]), command=name, arguments=arguments)
        lenses.append(lsp.CodeLens(range=document.range(symbol.part.start, symbol.part.end), command=command))
    return lenses


def title(state: t.TargetState) -> str:
    """A state is named only where there is a graph or a failure to speak of."""
    return f"{TITLE} · {state}" if state in ("fresh", "stale", "failed") else TITLE


def open_command(server: Server, uri: str, target: t.TargetInfo, text: str) -> lsp.Command:
    """The client's own command where it has one; `uri` in the client's spelling."""
    name = OPEN_IN_CLIENT if server.features.own_canvas else OPEN_GRAPH
    arguments: list[Any] = [{"uri": uri, "name": target.name}]
    return lsp.Command(title=text, command=name, arguments=arguments)
