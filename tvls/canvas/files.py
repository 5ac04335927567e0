"""The built page: the files of one folder, which a checkout has after the first build."""

from __future__ import annotations

from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parent / "static"

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


def is_built() -> bool:
    return (STATIC / "index.html").is_file()


def read(name: str) -> tuple[bytes, str] | None:
    """Content and media type. Only names that a listing of the folder has: no path leads anywhere else."""
    files = {entry.name: entry for entry in STATIC.iterdir()} if STATIC.is_dir() else {}
    found = files.get(name)
    kind = _TYPES.get(found.suffix) if found else None
    if found is None or kind is None or not found.is_file():
        return None
    return found.read_bytes(), kind
