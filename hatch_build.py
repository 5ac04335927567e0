"""Builds the canvas into the package. A source distribution carries it built: installing from one needs no Node.js."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Canvas(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root) / "clients" / "canvas"
        page = Path(self.root) / "tvls" / "canvas" / "static" / "index.html"
        if not source.is_dir():
            if not page.is_file():
                raise RuntimeError("the canvas is neither built nor is its source there: tvls/canvas/static is empty")
            return
        if page.is_file() and page.stat().st_mtime >= max(map(_changed, _inputs(source))):
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(
                "the canvas is built with Node.js 20 or newer and npm, which are not there: install them (Debian: "
                "apt install nodejs npm; macOS: brew install node) and try again"
            )
        installed = source / "node_modules" / ".package-lock.json"
        if not installed.is_file() or _changed(installed) < _changed(source / "package-lock.json"):
            subprocess.run([npm, "ci", "--silent"], cwd=source, check=True)
        subprocess.run([npm, "run", "--silent", "build"], cwd=source, check=True)


def _inputs(source: Path) -> list[Path]:
    names = ("package.json", "package-lock.json", "build.mjs")
    return [*(source / name for name in names), *(path for path in (source / "src").rglob("*") if path.is_file())]


def _changed(path: Path) -> float:
    return path.stat().st_mtime
