"""What the client tells about texts, files and folders. All of it runs in order of arrival."""

from __future__ import annotations

import logging
from pathlib import Path

from lsprotocol import types as lsp

from tvls.server import updates
from tvls.server.completion import TRIGGERS
from tvls.server.state import Server
from tvls.setup.read import SETUP_FILE
from tvls.uris import is_file_uri, to_path

logger = logging.getLogger(__name__)

WATCHED = ("**/*.py", "**/tensorviz.toml", "**/pyvenv.cfg")


def did_open(server: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    document = server.documents.open(params.text_document)
    server.session.document_changed(document.path, document.text)


def did_change(server: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    named = params.text_document
    document = server.documents.change(named.uri, named.version, params.content_changes)
    if document is None:
        logger.warning("a change of %s, which is not open", named.uri)
        return
    server.session.document_changed(document.path, document.text)


def did_close(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    document = server.documents.close(params.text_document.uri)
    if document is not None:
        server.shown.lenses.pop(document.path, None)
        server.session.document_changed(document.path, None)


def did_save(server: Server, params: lsp.DidSaveTextDocumentParams) -> None:
    server.session.files_changed([to_path(params.text_document.uri)])


def did_change_watched_files(server: Server, params: lsp.DidChangeWatchedFilesParams) -> None:
    paths = {to_path(event.uri): None for event in params.changes if is_file_uri(event.uri)}
    if paths:
        server.session.files_changed(list(paths))


def did_change_folders(server: Server, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    removed = {to_path(folder.uri) for folder in params.event.removed}
    kept = [folder for folder in server.session.folders if folder not in removed]
    server.session.set_folders(unique([*kept, *(to_path(folder.uri) for folder in params.event.added)]))
    updates.schedule(server)


def unique(folders: list[Path]) -> list[Path]:
    return list(dict.fromkeys(folders))


async def register(server: Server) -> None:
    """Asks for notices of files and of settings, where the client lets itself be asked."""
    registrations: list[lsp.Registration] = []
    if server.features.watch_files:
        watchers = [lsp.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED]
        registrations.append(
            lsp.Registration(
                id="tvls-files",
                method=lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                register_options=lsp.DidChangeWatchedFilesRegistrationOptions(watchers=watchers),
            )
        )
    if server.features.watch_configuration:
        registrations.append(
            lsp.Registration(
                id="tvls-settings",
                method=lsp.WORKSPACE_DID_CHANGE_CONFIGURATION,
                register_options=lsp.DidChangeConfigurationRegistrationOptions(section="tvls"),
            )
        )
    for method in sorted(server.features.dynamic):
        registrations.append(lsp.Registration(id=f"tvls-{method}", method=method, register_options=_options(method)))
    if registrations:
        await server.client.client_register_capability_async(lsp.RegistrationParams(registrations=registrations))


def _options(
    method: str,
) -> lsp.CompletionRegistrationOptions | lsp.DefinitionRegistrationOptions | lsp.DocumentSymbolRegistrationOptions:
    selector = [lsp.TextDocumentFilterPattern(pattern=f"**/{SETUP_FILE}")]
    match method:
        case lsp.TEXT_DOCUMENT_COMPLETION:
            return lsp.CompletionRegistrationOptions(document_selector=selector, trigger_characters=list(TRIGGERS))
        case lsp.TEXT_DOCUMENT_DEFINITION:
            return lsp.DefinitionRegistrationOptions(document_selector=selector)
        case _:
            return lsp.DocumentSymbolRegistrationOptions(document_selector=selector)
