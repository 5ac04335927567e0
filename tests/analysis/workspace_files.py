"""Workspaces written from text, and what their marker comments expect."""

from __future__ import annotations

import re
from pathlib import Path

FORMS = Path(__file__).parent / "forms"
_MARKER = re.compile(r"#\? (\S+) (\S+)")

Expected = set[tuple[str, int, str, str]]
"""Path, line, kind and name."""


def write(text: str, folder: Path) -> list[Path]:
    """Writes the files of `=== path` sections."""
    written: list[Path] = []
    for section in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        name, _, body = section.partition("\n")
        path = folder / name.strip()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
        written.append(path)
    return written


def expected(path: Path) -> Expected:
    found: Expected = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if marker := _MARKER.search(line):
            found.add((str(path), number, marker[1], marker[2]))
    return found
