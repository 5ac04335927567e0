"""URIs of documents and paths. Editors spell one file in several ways: `file:///c%3A/a%20b.py`, `file:///C:/a b.py`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit

_NO_FILES: Final = Path("/nonexistent/tvls-documents")
"""Stands for documents that are no files (`untitled:`, `git:`, another machine). Nothing can be there."""
_DRIVE = re.compile(r"^/[A-Za-z]:(/|$)")


def to_path(uri: str) -> Path:
    """Absolute path of a document: the same for every spelling of a file's URI.

    `.` and `..` are taken out; symbolic links are not followed, since editor and Python both use the spelling they were
    given. A document that is no file gets a path of its own where nothing exists; `to_uri` leads back from it.
    """
    return _file_path(uri) or _NO_FILES / quote(uri, safe="")


def to_uri(path: Path) -> str:
    """URI of an absolute path; the original one of a document that is no file."""
    if path.parent == _NO_FILES:
        return unquote(path.name)
    return path.as_uri()


def is_file_uri(uri: str) -> bool:
    """Whether the URI names a file of this machine, existing or not."""
    return _file_path(uri) is not None


def _file_path(uri: str) -> Path | None:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file":
        return None
    # URIs of files have neither query nor fragment: an unescaped `?` or `#` belongs to the name.
    rest = uri.partition(":")[2]
    if rest.startswith("//"):
        rest = rest[2 + len(parts.netloc) :]
    path = os.fsdecode(unquote_to_bytes(rest))
    local = parts.netloc.lower() in ("", "localhost")
    if os.name == "nt":
        if _DRIVE.match(path):
            path = path[1].upper() + path[2:]
        elif not local:
            path = f"//{parts.netloc}{path}"
    elif not local:
        return None
    if "\0" in path or (not path.startswith("/") and os.name != "nt"):
        return None
    if os.name != "nt":
        path = f"/{path.lstrip('/')}"  # two leading slashes are a path of its own in POSIX, but not meant here
    return Path(os.path.normpath(path))
