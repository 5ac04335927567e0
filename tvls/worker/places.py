"""Where a file belongs: to the workspace, to a library, or nowhere that may be named.

Nothing that leaves the worker holds an absolute path: workspace files are told relative to the workspace, library files
relative to the folder that they are imported from.
"""

from __future__ import annotations

import os
import re
import site
import sys
import sysconfig
from typing import Dict, List, Optional, Tuple

# Inside a workspace, yet not its source.
_NOT_SOURCE = frozenset({"site-packages", "dist-packages", "__pycache__", ".git"})

_UNTIDY = re.compile(r"//|/\.\.?/|\\")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{5,}")
# A path that starts at a word boundary: not the tail of a URL, a ratio or a relative path.
_ABSOLUTE = re.compile(r"(?<![\w./:~-])(/[^\s/'\"`:,;()<>\[\]{}]+)((?:/[^\s/'\"`:,;()<>\[\]{}]+)+)/?")


class Places:
    """Maps file names to names that mean the same on another machine."""

    def __init__(self, workspace: str) -> None:
        self.workspace = os.path.normpath(workspace)
        self.roots = _folders([workspace, os.path.realpath(workspace)])
        # A virtual environment, or a whole Python, that lives in the workspace under any name.
        own = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
        self.foreign = [
            folder
            for folder in _folders(own + [os.path.realpath(path) for path in own])
            if any(folder != root and folder.startswith(root) for root in self.roots)
        ]
        self._starts = tuple(self.roots)
        self._workspace_paths: Dict[str, Optional[str]] = {}
        self._library_roots: List[str] = []
        self._sys_path: List[str] = []

    def workspace_path(self, filename: str) -> Optional[str]:
        """Workspace-relative path with forward slashes, or None for a file that is not the workspace's own."""
        try:
            return self._workspace_paths[filename]
        except KeyError:
            relative = self._workspace_paths[filename] = self._relative_to_workspace(filename)
            return relative

    def _relative_to_workspace(self, filename: str) -> Optional[str]:
        if not os.path.isabs(filename):  # also `<string>`, `<frozen ...>`
            return None
        # Most files are a library's: asking for thousands of them has to be cheap.
        if not filename.startswith(self._starts) and not _UNTIDY.search(filename):
            return None
        path = os.path.normpath(filename)
        for root in self.roots:
            if path.startswith(root):
                if any(path.startswith(folder) for folder in self.foreign):
                    return None
                relative = path[len(root) :]
                if not _NOT_SOURCE.isdisjoint(relative.split(os.sep)):
                    return None
                return encodable(relative.replace(os.sep, "/"))
        return None

    def portable(self, filename: str) -> Tuple[str, bool]:
        """The name to publish for a file, and whether it is the workspace's own."""
        own = self.workspace_path(filename)
        if own is not None:
            return own, True
        if filename.startswith("<"):
            return encodable(_ADDRESS.sub("0x", filename)), False
        path = os.path.normpath(filename)
        for folder in self._libraries():
            if path.startswith(folder):
                return encodable(path[len(folder) :].replace(os.sep, "/")), False
        return encodable(os.path.basename(path)), False

    def _libraries(self) -> List[str]:
        """Folders that libraries are imported from, the longest first."""
        if self._sys_path != sys.path:
            self._sys_path = list(sys.path)
            folders = [*sys.path, *sysconfig.get_paths().values(), site.getusersitepackages()]
            found = _folders([folder for folder in folders if folder] + [os.path.realpath(f) for f in folders if f])
            # A workspace on sys.path must not name its venv's files `.venv/lib/...`: the longest folder first.
            self._library_roots = sorted(found, key=len, reverse=True)
        return self._library_roots

    def clean(self, message: str) -> str:
        """A message without memory addresses and without paths of this machine."""
        for root in self.roots:
            message = message.replace(root, "")
        for folder in self._libraries():
            if folder.count(os.sep) > 2:
                message = message.replace(folder, "")

        def shorten(match: "re.Match[str]") -> str:
            # Flax writes scope paths as `/Dense_0/kernel`; only what can be a file of this machine is shortened.
            if not os.path.lexists(match.group(1)):
                return match.group(0)
            return self.portable(match.group(0))[0]

        return encodable(_ADDRESS.sub("0x…", _ABSOLUTE.sub(shorten, message)))


def encodable(text: str) -> str:
    """`text` with what UTF-8 cannot hold (undecodable bytes of a file name, lone surrogates) replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _folders(paths: List[str]) -> List[str]:
    """Normalised, absolute, ending with a separator, without repeats."""
    ended = [os.path.normpath(path).rstrip(os.sep) + os.sep for path in paths if os.path.isabs(path)]
    return list(dict.fromkeys(ended))
