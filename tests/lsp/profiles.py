"""What well-known editors announce in `initialize`, as far as the server looks at it."""

from __future__ import annotations

from typing import Any

_ACTION = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}}}
_MARKDOWN = {"contentFormat": ["markdown", "plaintext"]}

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

SUBLIME: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "codeLens": {"refreshSupport": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "codeLens": {"dynamicRegistration": True},
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

LSP_MODE: dict[str, Any] = {  # 9, lsp--client-capabilities: no showDocument, and nothing under `window`
    "general": {"positionEncodings": ["utf-32", "utf-16"]},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "configuration": True,
        "workspaceFolders": True,
        "codeLens": {"refreshSupport": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "textDocument": {
        "synchronization": {"willSave": True, "didSave": True, "willSaveWaitUntil": True},
        "codeAction": {**_ACTION, "dynamicRegistration": True},
        "completion": {"dynamicRegistration": True},
        "definition": {"dynamicRegistration": True, "linkSupport": True},
        "hover": {**_MARKDOWN, "dynamicRegistration": True},
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
    },
}

KAKOUNE: dict[str, Any] = {  # kakoune-lsp at 020cf336, src/capabilities.rs: no encodings, no showDocument
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True},
        "configuration": True,
        "workspaceFolders": True,
        "codeLens": {},
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
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": False}},
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
}

WITHOUT_BROWSER: dict[str, dict[str, Any]] = {"lsp-mode": LSP_MODE, "kakoune": KAKOUNE, "minimal": MINIMAL}
"""They cannot be asked to show a page; the address comes in a message."""
