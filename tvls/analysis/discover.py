"""`tvls discover`: all targets below some paths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from tvls.analysis.client import Analysis
from tvls.analysis.types import Found

_PROJECT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "tensorviz.toml")


async def discover(paths: Sequence[Path]) -> Found:
    """Targets of files and folders, by path and line, and the files that cannot be read as Python.

    Imports are followed in the project of each path: the nearest folder above it that looks like one. Raises
    `FileNotFoundError`, `AnalysisError`.
    """
    places = [Path(os.path.abspath(path)) for path in paths]  # noqa: ASYNC240, PTH100 - links stay as they are named
    for place in places:
        if not place.exists():
            raise FileNotFoundError(2, "no such file or folder", str(place))
    roots = list(dict.fromkeys(_project(place) for place in places))
    async with aclosing(Analysis()) as analysis:
        return await analysis.survey(roots, only=places)


def _project(place: Path) -> Path:
    folder = place if place.is_dir() else place.parent
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in _PROJECT_MARKS):
            return candidate
    while (folder / "__init__.py").exists() and folder != folder.parent:
        folder = folder.parent
    return folder
