"""A graph as one HTML file: the canvas with the graph in it, which opens from disk and needs no server.

The file holds every graph of the capture with all scopes open; what a person closes, folds, hides or searches is
computed in the page. Nothing in it names a place of the machine it was made on.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
from importlib.resources import files
from typing import Any

import msgspec

from tvls import graph
from tvls.capture.encoding import canonical_json
from tvls.graph.folds import fold_details, fold_info, folds
from tvls.graph.index import GraphIndex, Located, body_id
from tvls.graph.structures import output_structures
from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError

MAX_OPERATIONS = 20_000
"""A page with more would take a browser many seconds to open."""


def graph_page(index: GraphIndex, info: t.CaptureInfo, name: str) -> str:
    """The file's text. `name` is that of the portable graph file in it.

    Raises `limitExceeded` for a graph of more than 20,000 operations, and `environmentInvalid` where the canvas was not
    built.
    """
    operations = sum(len(located.graph.operations) for located in index.graphs)
    if operations > MAX_OPERATIONS:
        raise TvlsError(
            "limitExceeded",
            f"A graph of {operations:,} operations is too large for one page; it can have {MAX_OPERATIONS:,}.",
            "A graph file (JSON) holds all of it; `tvls show GRAPH.json` reads that as text.",
            limit="operations",
        )
    packed = base64.b64encode(gzip.compress(graph_data(index, info, name), compresslevel=6, mtime=0)).decode()
    return _page(info.name, packed)


def graph_data(index: GraphIndex, info: t.CaptureInfo, name: str) -> bytes:
    """What the page holds of the graph, as JSON: `FileData` of the canvas."""
    frames: Frames = {}
    data = {
        # A file knows nothing of the code as it is: the page says that the graph was saved, and not that it is fresh.
        "capture": msgspec.structs.replace(
            info,
            uri=index.capture["target"].get("path"),
            previous=None,
            freshness="fresh",
            stale=None,
            retraceable=None,
        ),
        "bodies": _same_bodies(index),
        "graphs": {located.body or "": _whole(index, located, frames) for located in index.graphs},
        "frames": [
            t.FrameInfo(path=path, function=function, line=line, workspace=workspace)
            for path, function, line, workspace in frames
        ],
        "portable": t.ExportResult(text=canonical_json(index.capture).decode(), suggested_name=name),
    }
    return msgspec.json.encode(data)


def _same_bodies(index: GraphIndex) -> dict[str, str]:
    """Body id → the id that its graph is stored under: programs share bodies, each of which is stored once."""
    first: dict[int, str] = {}
    same: dict[str, str] = {}
    for located in index.graphs:
        for operation in located.graph.operations:
            for at, ref in enumerate(operation.get("bodies", ())):
                known = body_id(located.body, operation["id"], at)
                same[known] = first.setdefault(ref["body"], known)
    return same


Frames = dict[tuple[str, str, int, bool], int]
"""Path, function, line and whether it is of the workspace → place in the table of frames, which operations share."""


def _whole(index: GraphIndex, located: Located, frames: Frames) -> dict[str, Any]:
    of, body = located.graph, located.body
    nodes: list[t.Node] = []
    edges: list[t.Edge] = []
    expanded = [of.scope_node_id(scope) for scope in range(len(of.scopes))]
    expanded += output_structures(of).by_id
    cursor: str | None = None
    while True:
        page = graph.view(index, expanded, body, cursor, limit=2_000, structures=True)
        nodes += page.nodes
        edges += page.edges
        cursor = page.next_cursor
        if cursor is None:
            break
    runs = {id(fold): fold for fold, _ in folds(of).of.values()}.values()
    members = [[of.scope_node_id(member) for member in fold.members] for fold in runs]
    return {
        "nodes": nodes,
        "edges": edges,
        "folds": [
            {"members": ids, "info": fold_info(of, fold, 0), "details": fold_details(index, ids[0], body)}
            for ids, fold in zip(members, runs, strict=True)
        ],
        "details": {node.id: _details(index, node.id, body, frames) for node in nodes},
    }


def _details(index: GraphIndex, node: str, body: str | None, frames: Frames) -> dict[str, Any]:
    """As `NodeDetails`, with places in the table of frames instead of frames."""
    found = graph.details(index, node, body, freshness="fresh")
    described: dict[str, Any] = msgspec.to_builtins(found.node)
    described["frames"] = [
        frames.setdefault((frame["path"], frame["function"], frame["line"], frame["workspace"]), len(frames))
        for frame in found.frames
    ]
    return described


def _page(title: str, packed: str) -> str:
    static = files("tvls.canvas") / "static"
    try:
        script = (static / "canvas.js").read_text("utf-8").replace("</script", "<\\/script")
        style = (static / "style.css").read_text("utf-8")
    except FileNotFoundError:
        raise TvlsError(
            "environmentInvalid",
            "This installation of tvls has no canvas in it.",
            "Install a released package, or build the canvas with `make canvas`.",
        ) from None
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)} · TensorViz</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<div id="app"></div>\n<noscript>The canvas needs JavaScript.</noscript>\n'
        f'<script id="graph-data" type="application/octet-stream">{packed}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
