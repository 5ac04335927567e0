"""What well-known editors announce in `initialize`, as far as the server looks at it."""

from __future__ import annotations

from typing import Any

_ACTION = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}}}
_MARKDOWN = {"contentFormat": ["markdown", "plaintext"]}
_DOCUMENTED = {"documentationFormat": ["markdown", "plaintext"]}

VSCODE: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "codeLens": {"refreshSupport": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "codeLens": {"dynamicRegistration": True},
        "codeAction": _ACTION,
        "hover": _MARKDOWN,
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": False},
    },
    "window": {
        "workDoneProgress": True,
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
        "showDocument": {"support": True},
    },
}

NEOVIM: dict[str, Any] = {  # 0.11 on Linux
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": False, "relativePatternSupport": True},
        "didChangeConfiguration": {"dynamicRegistration": False},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "codeLens": {"dynamicRegistration": False},
        "codeAction": _ACTION,
        "hover": _MARKDOWN,
        "publishDiagnostics": {"relatedInformation": True},
    },
    "window": {
        "workDoneProgress": True,
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
        "showDocument": {"support": True},
    },
}

HELIX: dict[str, Any] = {  # no lens; answers questions without announcing it
    "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": False},
        "didChangeConfiguration": {"dynamicRegistration": False},
    },
    "textDocument": {
        "codeAction": _ACTION,
        "hover": {"contentFormat": ["markdown"]},
        "publishDiagnostics": {"versionSupport": True},
    },
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
}

EGLOT: dict[
    str, Any
] = {  # 1.17.30 (Emacs 30.1), eglot-client-capabilities: no lens; answers questions without announcing it
    "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True},
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "codeAction": _ACTION,
        "hover": {"contentFormat": ["plaintext"]},  # without markdown-mode
        "publishDiagnostics": {"relatedInformation": False},
    },
    "window": {
        "workDoneProgress": True,
        "showDocument": {"support": True},
    },
    "experimental": {},
}

_REGISTERED = {"dynamicRegistration": True}

SUBLIME: dict[str, Any] = {  # LSP at 7ffc7211, plugin/core/sessions.py: lens, actions and read-only documents
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "configuration": True,
        "workspaceFolders": True,
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
        "didChangeConfiguration": _REGISTERED,
        "textDocumentContent": _REGISTERED,
    },
    "textDocument": {
        "synchronization": {**_REGISTERED, "willSave": True, "willSaveWaitUntil": True, "didSave": True},
        "codeLens": {**_REGISTERED, "resolveSupport": {"properties": ["command"]}},
        "codeAction": {
            **_REGISTERED,
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["quickfix", "refactor", "source.fixAll", "source.organizeImports"]}
            },
        },
        "completion": {**_REGISTERED, "completionItem": {"snippetSupport": True, **_DOCUMENTED}},
        "definition": {**_REGISTERED, "linkSupport": True},
        "documentSymbol": {**_REGISTERED, "hierarchicalDocumentSymbolSupport": True},
        "hover": {**_REGISTERED, **_MARKDOWN},
        "inlayHint": {**_REGISTERED, "resolveSupport": {"properties": ["textEdits", "label.command"]}},
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
    },
    "window": {
        "workDoneProgress": True,
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
        "showDocument": {"support": True},
    },
}

_ZED: dict[str, Any] = {  # default_initialize_params in crates/lsp/src/lsp.rs, of the middle of 2026
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "configuration": True,
        "workspaceFolders": True,
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "didChangeConfiguration": _REGISTERED,
        "executeCommand": _REGISTERED,
    },
    "textDocument": {
        "synchronization": {**_REGISTERED, "didSave": True},
        "codeLens": _REGISTERED,
        "codeAction": {
            **_REGISTERED,
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["refactor", "quickfix", "source"]}},
        },
        "completion": {**_REGISTERED, "completionItem": {"snippetSupport": True, **_DOCUMENTED}},
        "definition": {**_REGISTERED, "linkSupport": True},
        "documentSymbol": {**_REGISTERED, "hierarchicalDocumentSymbolSupport": True},
        "hover": {**_REGISTERED, "contentFormat": ["markdown"]},
        "inlayHint": _REGISTERED,
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
    },
    "window": {
        "workDoneProgress": True,
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
    },
    "experimental": {"serverStatusNotification": True, "localDocs": True},
}
ZED: dict[str, Any] = {**_ZED, "window": {**_ZED["window"], "showDocument": {"support": True}}}
"""Since September 2026. Before, `_ZED`."""

LSP_MODE: dict[str, Any] = {  # 10.0, lsp--client-capabilities: answers questions without announcing it
    "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "configuration": True,
        "workspaceFolders": True,
        "codeLens": {"refreshSupport": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "executeCommand": {"dynamicRegistration": False},
    },
    "textDocument": {
        "synchronization": {"willSave": True, "didSave": True, "willSaveWaitUntil": True},
        "codeAction": {**_ACTION, "dynamicRegistration": True},
        "completion": {**_REGISTERED, "completionItem": {"snippetSupport": False, **_DOCUMENTED}},
        "definition": {**_REGISTERED, "linkSupport": True},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "hover": {**_REGISTERED, **_MARKDOWN},
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
    },
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
}
LSP_MODE_9: dict[str, Any] = {**LSP_MODE, "general": {"positionEncodings": ["utf-32", "utf-16"]}}
"""Its `window/showDocument` knows files alone, and answers that an address could not be shown."""
LSP_MODE_8: dict[str, Any] = {
    **{key: value for key, value in LSP_MODE.items() if key != "general"},
    "window": {"workDoneProgress": True, "showMessage": None, "showDocument": None},
}

KAKOUNE: dict[str, Any] = {  # kakoune-lsp at 70fd59f, src/capabilities.rs: no showDocument, one folder
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "offsetEncoding": ["utf-8", "utf-16"],
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "delete", "rename"]},
        "configuration": True,
        "workspaceFolders": False,
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
        "didChangeConfiguration": {"dynamicRegistration": False},
        "executeCommand": {"dynamicRegistration": False},
    },
    "textDocument": {
        "synchronization": {"dynamicRegistration": False, "didSave": True},
        "codeLens": {"dynamicRegistration": False},
        "codeAction": {**_ACTION, "dynamicRegistration": False},
        "completion": {"dynamicRegistration": False, "completionItem": {"snippetSupport": True, **_DOCUMENTED}},
        "definition": {"dynamicRegistration": False, "linkSupport": False},
        "documentSymbol": {"dynamicRegistration": False, "hierarchicalDocumentSymbolSupport": True},
        "hover": {"dynamicRegistration": False, **_MARKDOWN},
        "inlayHint": {"dynamicRegistration": False},
        "publishDiagnostics": {"relatedInformation": True},
    },
    "window": {
        "workDoneProgress": True,
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
        "showDocument": None,
    },
}

MINIMAL: dict[str, Any] = {}
"""A client that announces nothing."""

OURS: dict[str, Any] = {
    **VSCODE,
    "experimental": {"commands": ["tvls.openGraph"], "tvls": {"captureState": True}},
}
"""A client with a canvas of its own."""

EDITORS: dict[str, dict[str, Any]] = {
    "vscode": VSCODE,
    "neovim": NEOVIM,
    "helix": HELIX,
    "eglot": EGLOT,
    "sublime": SUBLIME,
    "zed": ZED,
    "lsp-mode": LSP_MODE,
}

WITHOUT_BROWSER: dict[str, dict[str, Any]] = {
    "zed-1.12": _ZED,
    "lsp-mode-9": LSP_MODE_9,
    "lsp-mode-8": LSP_MODE_8,
    "kakoune": KAKOUNE,
    "minimal": MINIMAL,
}
"""They show no page when they are asked to; the address comes in a message."""
