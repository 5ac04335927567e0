"""The lens above each model."""

from __future__ import annotations

from typing import Any, Final

from lsprotocol import types as lsp

from tvls.protocol import types as t
from tvls.server import updates
from tvls.server.diagnostics import to_lsp_range
from tvls.server.state import OPEN_IN_CLIENT, Server
from tvls.uris import to_path

OPEN_GRAPH: Final = "tvls.server.openGraph"
TITLE: Final = "Open as Graph"


async def code_lens(server: Server, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    uri = params.text_document.uri
    path = to_path(uri)
    targets = await server.session.targets(path)
    if server.documents.get(uri) is not None:
        server.shown.lenses[path] = updates.lens_key(targets)
    return [
        lsp.CodeLens(range=to_lsp_range(target.range), command=open_command(server, uri, target, title(target)))
        for target in targets
    ]


def title(target: t.TargetInfo) -> str:
    """A state is named only where there is a graph or a failure to speak of."""
    return f"{TITLE} · {target.state}" if target.state in ("fresh", "stale", "failed") else TITLE


def open_command(server: Server, uri: str, target: t.TargetInfo, text: str) -> lsp.Command:
    """The client's own command where it has one; `uri` in the client's spelling."""
    name = OPEN_IN_CLIENT if server.features.own_canvas else OPEN_GRAPH
    arguments: list[Any] = [{"uri": uri, "name": target.name}]
    return lsp.Command(title=text, command=name, arguments=arguments)
