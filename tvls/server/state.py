"""What the features share: the connection, the open documents, the application, and what this client can do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from tvls.host import Host
from tvls.protocol import types as t
from tvls.server.documents import Documents
from tvls.server.positions import DEFAULT_ENCODING, Encoding, choose_encoding
from tvls.server.rpc import Protocol
from tvls.settings import Settings

if TYPE_CHECKING:
    from tvls.canvas.server import CanvasServer
    from tvls.session import Session

OPEN_IN_CLIENT = "tvls.openGraph"
"""The client's own command: it has a canvas, and shows the graph itself."""


@dataclass(frozen=True)
class ClientFeatures:
    """What of LSP's options the client has. The defaults are those of a client that announces nothing."""

    name: str = ""
    """Of the editor, for people."""
    encoding: Encoding = DEFAULT_ENCODING
    questions: Literal["yes", "perhaps", "no"] = "no"
    """Whether `window/showMessageRequest` is answered. Some editors answer without announcing it: `perhaps`."""
    show_document: bool = False
    apply_edit: bool = False
    versioned_edits: bool = False
    """`documentChanges` of a workspace edit, which name the version of the document that they are for."""
    progress: bool = False
    lens_refresh: bool = False
    hint_refresh: bool = False
    watch_files: bool = False
    configuration: bool = False
    watch_configuration: bool = False
    markdown: bool = True
    snippets: bool = False
    completion_markdown: bool = False
    nested_symbols: bool = False
    dynamic: frozenset[str] = frozenset()
    """Methods of text documents that can be registered for some documents alone, after the handshake."""
    code_action_literals: bool = False
    related_information: bool = False
    own_canvas: bool = False
    shows_failed_commands: bool = False
    """The person sees the error of a command that failed. Helix, for one, only logs it."""
    capture_state: bool = False
    text_content: bool = False
    """`workspace/textDocumentContent`: read-only documents that the server gives the text of."""
    own_trust: bool = False
    """The editor decides whom to trust; what the trust store remembers does not count."""
    commands: frozenset[str] = frozenset()


@dataclass
class Shown:
    """What the editor shows now, as far as the server knows, and the next update of it."""

    timer: asyncio.TimerHandle | None = None
    running: bool = False
    again: bool = False
    lenses: dict[Path, object] = field(default_factory=dict[Path, object])
    """What the last answered lenses of a document said."""
    hints: object = None
    """What the last answered inlay hints depend on."""
    captures: dict[str, t.CaptureInfo] = field(default_factory=dict[str, t.CaptureInfo])
    """Captures of a client that wants to hear of their states, as it knows them."""
    outlines: dict[str, object] = field(default_factory=dict[str, object])
    """Outlines that the client has asked for as documents, by URI: what they were of."""
    lacking: dict[Path, t.ErrorData] = field(default_factory=dict[Path, t.ErrorData])
    """By folder: what the last graph that could not be opened for want of a library asks for."""
    diagnostics: dict[Path, list[lsp.Diagnostic]] = field(default_factory=dict[Path, list[lsp.Diagnostic]])


@dataclass
class Server:
    client: LanguageServer
    protocol: Protocol
    documents: Documents
    cache_dir: Path
    make_session: Callable[[Host, Settings], Session]
    features: ClientFeatures = ClientFeatures()
    settings: Settings = field(default_factory=Settings)
    initial_settings: Settings = field(default_factory=Settings)
    """Those of `initializationOptions`, which later configuration is laid over."""
    shown: Shown = field(default_factory=Shown)
    canvas: CanvasServer | None = None
    """Pages in the browser, once there was one."""
    session: Session = field(init=False)
    """Set by `initialize`; before it, no other handler runs."""

    def show(self, kind: lsp.MessageType, message: str) -> None:
        self.client.window_show_message(lsp.ShowMessageParams(type=kind, message=message))

    def log(self, kind: lsp.MessageType, message: str) -> None:
        self.client.window_log_message(lsp.LogMessageParams(type=kind, message=message))


_SHOW_FAILED_COMMANDS: Final = frozenset({"Neovim", "Eglot"})
"""Names of clients that show the error answer of `workspace/executeCommand` themselves."""


def client_features(capabilities: lsp.ClientCapabilities, client: str = "") -> ClientFeatures:
    window, workspace, text = capabilities.window, capabilities.workspace, capabilities.text_document
    general = capabilities.general
    lens = workspace.code_lens if workspace else None
    hints = workspace.inlay_hint if workspace else None
    watched = workspace.did_change_watched_files if workspace else None
    changed = workspace.did_change_configuration if workspace else None
    hover = text.hover if text else None
    action = text.code_action if text else None
    diagnostics = text.publish_diagnostics if text else None
    formats = hover.content_format if hover else None
    item = text.completion.completion_item if text and text.completion else None
    symbols = text.document_symbol if text else None
    experimental = _table(capabilities.experimental)
    ours = _table(experimental.get("tvls"))
    commands = _commands(experimental.get("commands"))
    return ClientFeatures(
        name=client,
        encoding=choose_encoding(
            [str(getattr(name, "value", name)) for name in (general.position_encodings if general else None) or []]
        ),
        questions="no" if window is None else "yes" if window.show_message is not None else "perhaps",
        show_document=bool(window and window.show_document and window.show_document.support),
        apply_edit=bool(workspace and workspace.apply_edit),
        versioned_edits=bool(workspace and workspace.workspace_edit and workspace.workspace_edit.document_changes),
        progress=bool(window and window.work_done_progress),
        lens_refresh=bool(lens and lens.refresh_support),
        hint_refresh=bool(hints and hints.refresh_support),
        watch_files=bool(watched and watched.dynamic_registration),
        configuration=bool(workspace and workspace.configuration),
        watch_configuration=bool(changed and changed.dynamic_registration),
        markdown=formats is None or lsp.MarkupKind.Markdown in formats,
        snippets=bool(item and item.snippet_support),
        completion_markdown=lsp.MarkupKind.Markdown in ((item and item.documentation_format) or ()),
        nested_symbols=bool(symbols and symbols.hierarchical_document_symbol_support),
        dynamic=frozenset(_dynamic(text)),
        code_action_literals=bool(action and action.code_action_literal_support),
        related_information=bool(diagnostics and diagnostics.related_information),
        own_canvas=OPEN_IN_CLIENT in commands,
        shows_failed_commands=OPEN_IN_CLIENT in commands or client in _SHOW_FAILED_COMMANDS,
        capture_state=bool(ours.get("captureState")),
        text_content=bool(workspace and workspace.text_document_content),
        own_trust=ours.get("trust") == "client",
        commands=commands,
    )


def _dynamic(text: lsp.TextDocumentClientCapabilities | None) -> list[str]:
    if text is None:
        return []
    offered = {
        lsp.TEXT_DOCUMENT_COMPLETION: text.completion,
        lsp.TEXT_DOCUMENT_DEFINITION: text.definition,
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: text.document_symbol,
    }
    return [method for method, options in offered.items() if options is not None and options.dynamic_registration]


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _commands(value: object) -> frozenset[str]:
    """`experimental.commands`: a list, or, as rust-analyzer's clients send it, a table with a list of that name."""
    listed: object = _table(value).get("commands", value)
    items = cast("list[object]", listed) if isinstance(listed, list) else []
    return frozenset(item for item in items if isinstance(item, str))
