"""Outlines as read-only documents: `workspace/textDocumentContent`.

A document belongs to a model and its setup, not to one capture: after the graph is traced again, or its sources are
edited, the client is told to ask for the text anew.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from lsprotocol import types as lsp

from tvls.captures import OpenCapture, Origin
from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError
from tvls.server.state import Server
from tvls.uris import to_path, to_uri

SCHEME: Final = "tvls-outline"


def outline_uri(origin: Origin) -> str:
    """`tvls-outline:///home/ada/net/MLP.txt?file=model.py&name=MLP&profile=mlp`: the path is what a tab shows."""
    query = {"name": origin.name}
    if origin.path is not None:
        query["file"] = origin.path.relative_to(origin.folder).as_posix()
    if origin.profile.name is not None:
        query["profile"] = origin.profile.name
    folder = to_uri(origin.folder).removeprefix("file://").rstrip("/")
    asked = urlencode(sorted(query.items()), quote_via=quote)
    return f"{SCHEME}://{folder}/{quote(origin.name, safe='')}.txt?{asked}"


async def content(server: Server, params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
    """The outline of the newest capture that the URI means. Raises TvlsError where none is open."""
    opened = _newest(server, params.uri)
    state = _state(server, opened)  # before the text is written: what changes meanwhile is told afterwards
    export = t.ExportParams(capture_id=opened.capture["captureId"], format="outline")
    text = (await server.session.export(export)).text
    server.shown.outlines[params.uri] = state
    return lsp.TextDocumentContentResult(text=text)


def refresh(server: Server) -> None:
    """Tells the client of every document whose text is another now."""
    for uri, shown in list(server.shown.outlines.items()):
        try:
            now = _state(server, _newest(server, uri))
        except TvlsError:  # the capture was let go of; the client keeps the text that it has
            del server.shown.outlines[uri]
            continue
        if now == shown:
            continue
        server.shown.outlines[uri] = now
        # Not awaited: the answer says nothing, and a client may take its time.
        server.client.workspace_text_document_content_refresh(lsp.TextDocumentContentRefreshParams(uri=uri))


def _newest(server: Server, uri: str) -> OpenCapture:
    parts = urlsplit(uri)
    query = {key: values[0] for key, values in parse_qs(parts.query).items()}
    folder = to_path(f"file://{parts.path.rpartition('/')[0] or '/'}")
    path = folder / query["file"] if "file" in query else None
    found = server.session.newest(folder, path, query.get("name", ""), query.get("profile"))
    if parts.scheme != SCHEME or found is None:
        raise TvlsError("captureGone", f"No graph of {query.get('name', uri)} is open.", "Open the graph again.")
    return found


def _state(server: Server, opened: OpenCapture) -> object:
    """Equal where the text is."""
    info = server.session.info(t.CaptureParams(capture_id=opened.capture["captureId"]))
    return info.capture_id, info.freshness
