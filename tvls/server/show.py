"""A graph for an editor that has no canvas: its outline, as a text file in the user's cache."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tvls.protocol import types as t
from tvls.server.diagnostics import to_lsp_range
from tvls.server.state import Server
from tvls.server.text_content import outline_uri
from tvls.uris import to_path

_KEPT: Final = 50
"""Outlines that stay on disk; the ones written longest ago go first."""


async def write_outline(server: Server, capture_id: str) -> Path:
    """Writes the outline of a capture where an editor can open it. A capture has one file, whoever asks for it."""
    exported = await server.session.export(t.ExportParams(capture_id=capture_id, format="outline"))
    folder = server.cache_dir / "outlines" / re.sub(r"[^0-9A-Za-z]+", "-", capture_id)[-64:]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / (re.sub(r"[^\w.+-]+", "_", exported.suggested_name).lstrip(".") or "graph.txt")
    path.write_text(exported.text, encoding="utf-8")
    folder.touch()
    _drop_old(folder.parent)
    return path


def _drop_old(root: Path) -> None:
    folders = sorted((entry for entry in root.iterdir() if entry.is_dir()), key=lambda entry: entry.stat().st_mtime)
    for folder in folders[:-_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)


async def show_outline(server: Server, capture: t.CaptureInfo) -> None:
    """Opens the outline in the editor, or says where it is."""
    opened = server.session.opened(capture.capture_id)
    if server.features.text_content and await show_uri(server, outline_uri(opened.origin)):
        return
    try:
        path = await write_outline(server, capture.capture_id)
    except OSError as error:
        server.show(lsp.MessageType.Warning, f"{describe(capture)}. Its outline could not be written: {error}")
        return
    if not await show_file(server, path):
        server.show(lsp.MessageType.Info, f"{describe(capture)}. Its outline is in {path}")


async def show_file(server: Server, path: Path) -> bool:
    """Whether the editor says that it opened the file."""
    return await show_uri(server, path.as_uri())


async def show_uri(server: Server, uri: str, selection: t.Range | None = None, *, external: bool = False) -> bool:
    """Whether the editor says that it shows a document, at a selection, or (`external`) an address in a browser."""
    if not server.features.show_document:
        return False
    shown = lsp.ShowDocumentParams(
        uri=uri,
        external=external,
        take_focus=True,
        selection=None if selection is None else to_lsp_range(selection),
    )
    try:
        return (await server.client.window_show_document_async(shown)).success
    except JsonRpcException as error:
        server.log(lsp.MessageType.Warning, f"The editor could not show {uri}: {error}")
        return False


async def show_place(server: Server, place: t.Location) -> bool:
    """Goes to a place in a file, by the name that the editor has for it. Whether the editor says that it did."""
    return await show_uri(server, server.documents.uri(to_path(place.uri)), place.range)


def describe(capture: t.CaptureInfo) -> str:
    operations = f"{capture.operations:,} operation{'' if capture.operations == 1 else 's'}"
    return (
        f"{capture.name}: {operations}, {capture.evidence}, coverage {capture.coverage['status']}, {capture.freshness}"
    )
