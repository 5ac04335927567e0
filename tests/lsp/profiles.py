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

EGLOT: dict[str, Any] = {  # no lens
    "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
    "workspace": {
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
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
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
