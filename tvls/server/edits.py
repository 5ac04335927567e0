"""Changes of open documents, made by the editor so that they can be undone there."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tvls.common_ends import common_ends
from tvls.protocol.errors import TvlsError
from tvls.server.documents import Document
from tvls.server.positions import Encoding
from tvls.server.state import Server


async def replace_text(server: Server, path: Path, text: str) -> bool:
    """Gives an open buffer this text by the smallest edit. False where the client cannot.

    Raises TvlsError where it refuses.
    """
    document = server.documents.at(path)
    if document is None or not server.features.apply_edit:
        return False
    edit = smallest_edit(document, text, server.documents.encoding)
    if server.features.versioned_edits:
        identifier = lsp.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
        whole = lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(text_document=identifier, edits=[edit])])
    else:
        whole = lsp.WorkspaceEdit(changes={document.uri: [edit]})
    try:
        answer = await server.client.workspace_apply_edit_async(
            lsp.ApplyWorkspaceEditParams(edit=whole, label=f"Save a profile in {path.name}")
        )
    except JsonRpcException as error:
        raise _refused(path, str(error)) from error
    if not answer.applied:
        raise _refused(path, answer.failure_reason or "no reason given")
    return True


def smallest_edit(document: Document, text: str, encoding: Encoding) -> lsp.TextEdit:
    """One edit that leaves out what the texts have in common at both ends."""
    old = document.text
    start, tail = common_ends(old, text)
    if old[start - 1 : start] == "\r" and start < len(old) and old[start] == "\n":
        start -= 1  # a position cannot stand inside of a line end
    if tail and old[len(old) - tail] == "\n" and old[len(old) - tail - 1 : len(old) - tail] == "\r":
        tail -= 1
    return lsp.TextEdit(
        range=lsp.Range(
            start=document.position_at(start, encoding), end=document.position_at(len(old) - tail, encoding)
        ),
        new_text=text[start : len(text) - tail],
    )


def _refused(path: Path, reason: str) -> TvlsError:
    return TvlsError(
        "unsavedSource",
        f"The editor did not change {path.name}: {reason}.",
        "Save the file, then save the setup again.",
        files=[path.as_uri()],
    )
