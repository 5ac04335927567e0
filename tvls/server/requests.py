"""The `tvls/*` requests as an editor sends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError
from tvls.requests import REQUESTS as PLAIN
from tvls.server import environments, updates
from tvls.server.canvas import mark
from tvls.server.progress import progress
from tvls.server.state import Server
from tvls.uris import to_path

Run = Callable[[Server, Any], Any]


def _plain(run: Callable[[Any, Any], Any]) -> Run:
    return lambda server, params: run(server.session, params)


async def open_graph(
    server: Server, params: t.OpenParams, entered: Callable[[str], None] | None = None
) -> t.OpenResult:
    """`entered` hears of each phase, besides the client."""
    name = params.target.name if params.target is not None else params.profile or "graph"
    with progress(server, f"Open {name} as graph", params.work_done_token) as shown:

        def report(phase: str) -> None:
            shown.report(phase)
            if entered is not None:
                entered(phase)

        try:
            result = await server.session.open(params, report)
        except TvlsError as error:
            if environments.can_be_mended(error.data) and error.data.folder is not None:
                server.shown.lacking[to_path(error.data.folder)] = error.data
            raise
    if result.capture.uri is not None:
        opened = to_path(result.capture.uri)
        for folder in [folder for folder in server.shown.lacking if opened.is_relative_to(folder)]:
            del server.shown.lacking[folder]
    updates.remember_capture(server, result.capture)
    return result


def close_graph(server: Server, params: t.CaptureParams) -> t.CloseResult:
    server.shown.captures.pop(params.capture_id, None)
    return server.session.close(params)


REQUESTS: Final[dict[str, Run]] = {
    **{method: _plain(run) for method, run in PLAIN.items()},
    "tvls/graph/open": open_graph,
    "tvls/graph/close": close_graph,
    "tvls/canvas/mark": mark,
    "tvls/environment/probe": environments.probe,
    "tvls/environment/plan": environments.plan,
    "tvls/environment/install": environments.install,
}
