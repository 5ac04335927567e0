"""The `tvls/*` requests: each is one method of the application."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError
from tvls.server import updates
from tvls.server.progress import progress
from tvls.server.state import Server
from tvls.uris import is_file_uri

Run = Callable[[Server, Any], Any]

REQUESTS: Final[dict[str, Run]] = {
    "tvls/targets/list": lambda server, params: server.session.list_targets(params),
    "tvls/graph/open": lambda server, params: open_graph(server, params),
    "tvls/graph/close": lambda server, params: close_graph(server, params),
    "tvls/graph/info": lambda server, params: server.session.info(params),
    "tvls/graph/view": lambda server, params: server.session.view(params),
    "tvls/graph/node": lambda server, params: server.session.node(params),
    "tvls/graph/sources": lambda server, params: server.session.sources(params),
    "tvls/graph/nodesAt": lambda server, params: server.session.nodes_at(params),
    "tvls/graph/search": lambda server, params: server.session.search(params),
    "tvls/graph/export": lambda server, params: server.session.export(params),
    "tvls/trust/get": lambda server, params: server.session.trust_get(params),
    "tvls/trust/grant": lambda server, params: server.session.trust_grant(params),
    "tvls/trust/revoke": lambda server, params: server.session.trust_revoke(params),
    "tvls/server/status": lambda server, params: server.session.status(params),
    "tvls/server/debugInfo": lambda server, params: server.session.debug_info(params),
}


async def open_graph(server: Server, params: t.OpenParams) -> t.OpenResult:
    if params.target is not None and not is_file_uri(params.target.uri):
        raise TvlsError(
            "unsavedSource",
            f"{params.target.uri} is not a file, and only files can be traced.",
            "Save it in a workspace folder, then open the graph.",
            uri=params.target.uri,
        )
    name = params.target.name if params.target is not None else params.profile or "graph"
    with progress(server, f"Open {name} as graph", params.work_done_token) as shown:
        result = await server.session.open(params, shown.report)
    updates.remember_capture(server, result.capture)
    return result


def close_graph(server: Server, params: t.CaptureParams) -> t.CloseResult:
    server.shown.captures.pop(params.capture_id, None)
    return server.session.close(params)
