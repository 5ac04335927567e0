"""The handshake: what the client can do, what the server can do, where the work is."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from tvls import __version__
from tvls.protocol import types as t
from tvls.protocol.registry import METHODS
from tvls.server import configuration, sync, text_content
from tvls.server.code_action import KINDS
from tvls.server.commands import COMMANDS
from tvls.server.completion import TRIGGERS
from tvls.server.host import EditorHost
from tvls.server.requests import REQUESTS
from tvls.server.state import Server, client_features
from tvls.uris import is_file_uri, to_path, to_uri

logger = logging.getLogger(__name__)

PROTOCOL_VERSION: Final = "0.1"
"""For people and logs; features are negotiated one by one."""


def initialize(server: Server, params: lsp.InitializeParams) -> lsp.InitializeResult:
    server.protocol.watch_parent(params.process_id)
    server.features = client_features(params.capabilities, params.client_info.name if params.client_info else "")
    server.documents.encoding = server.features.encoding
    server.initial_settings, problems = configuration.read_settings(params.initialization_options, server.settings)
    server.settings = server.initial_settings
    server.session = server.make_session(EditorHost(server), server.settings)
    if server.features.own_trust:
        server.session.leave_trust_to_client()
    server.session.set_folders(folders_of(params))
    server.protocol.stage = "running"
    configuration.report(server, problems)
    return lsp.InitializeResult(
        capabilities=capabilities(server), server_info=lsp.ServerInfo(name="tvls", version=__version__)
    )


async def initialized(server: Server, params: lsp.InitializedParams) -> None:
    """What needs answers of the client. Each part stands alone: a client may refuse one of them."""
    server.protocol.run_in_background(sync.register(server), "registering for notices")
    server.protocol.run_in_background(configuration.pull(server), "asking for settings")


def folders_of(params: lsp.InitializeParams) -> list[Path]:
    """Workspace folders, or the older root; a client without either has none."""
    if params.workspace_folders:
        uris = [folder.uri for folder in params.workspace_folders]
    elif params.root_uri:
        uris = [params.root_uri]
    elif params.root_path:
        uris = [Path(params.root_path).absolute().as_uri()]
    else:
        uris = []
    return sync.unique([to_path(uri) for uri in uris if is_file_uri(uri)])


def capabilities(server: Server) -> lsp.ServerCapabilities:
    dynamic = server.features.dynamic  # only of use in `tensorviz.toml`: registered for it alone where that is possible
    return lsp.ServerCapabilities(
        position_encoding=lsp.PositionEncodingKind(server.features.encoding),
        text_document_sync=lsp.TextDocumentSyncOptions(
            open_close=True, change=lsp.TextDocumentSyncKind.Incremental, save=lsp.SaveOptions(include_text=False)
        ),
        code_lens_provider=lsp.CodeLensOptions(resolve_provider=False),
        code_action_provider=lsp.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=False),
        hover_provider=True,
        inlay_hint_provider=lsp.InlayHintOptions(resolve_provider=False),
        completion_provider=None
        if lsp.TEXT_DOCUMENT_COMPLETION in dynamic
        else lsp.CompletionOptions(trigger_characters=list(TRIGGERS)),
        definition_provider=lsp.TEXT_DOCUMENT_DEFINITION not in dynamic or None,
        document_symbol_provider=lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL not in dynamic or None,
        workspace_symbol_provider=True,
        execute_command_provider=lsp.ExecuteCommandOptions(commands=list(COMMANDS), work_done_progress=True),
        workspace=lsp.WorkspaceOptions(
            workspace_folders=lsp.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True),
            text_document_content=lsp.TextDocumentContentOptions(schemes=[text_content.SCHEME])
            if server.features.text_content
            else None,
        ),
        experimental={
            "tvls": {
                "protocolVersion": PROTOCOL_VERSION,
                "methods": [method.name for method in METHODS if method.name in REQUESTS],
                "tracing": tracing(server),
            }
        },
    )


def tracing(server: Server) -> str:
    """`off` without a folder, `trustRequired` while one of them is not trusted, else `on`."""
    folders = server.session.folders
    if not folders:
        return "off"
    trusted = [server.session.trust_get(t.TrustParams(folder=to_uri(folder))).trusted for folder in folders]
    return "on" if all(trusted) else "trustRequired"
