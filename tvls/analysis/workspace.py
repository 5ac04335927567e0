"""Files of a workspace with their facts, kept between requests; answers are recomputed only where something changed."""

# Paths are plain strings here, as in modules.py.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tvls.analysis.known import MENTIONS
from tvls.analysis.modules import INIT, Files, Key, find_module, find_relative, search_path, submodule
from tvls.analysis.moved import LineMap, moved
from tvls.analysis.resolve import Resolver
from tvls.analysis.scopes import Scope, scope_of
from tvls.analysis.source import Source, SourceError, decode, lines_of, parse
from tvls.analysis.targets import Texts, targets_of
from tvls.analysis.types import FileTargets, FoundTarget, ParseError

_SKIPPED = frozenset(
    {"__pycache__", "node_modules", "site-packages", "dist-packages", "__pypackages__", "venv", "virtualenv"}
)
_LARGEST = 32 * 1024 * 1024
"""Bytes of a file above which it is not read: no source that a person writes is this long."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\n;]*))|import[ \t]+([^\n;]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"(?:^|,)\s*([\w.]+)", re.MULTILINE)


@dataclass(slots=True)
class _File:
    """One file as last read. Facts are made when they are first asked for."""

    key: Key
    text: str
    mentions: bool
    undecodable: ParseError | None = None
    source: Source | None = None
    """Facts of the text or, where it does not parse, of the last text that did."""
    error: ParseError | None = None
    parsed: bool = False
    scope: Scope | None = None
    imports: list[tuple[str, int, list[str]]] | None = None


@dataclass(slots=True)
class _Answer:
    result: FileTargets
    roots: tuple[str, ...]
    holds: dict[str, Key | None]
    """State of every path that the answer rests on."""


@dataclass(slots=True)
class Workspace:
    """All that the analysis process remembers."""

    buffers: Files = field(default_factory=Files)
    contents: dict[str, _File] = field(default_factory=dict[str, _File])
    answers: dict[str, _Answer] = field(default_factory=dict[str, _Answer])

    def put(self, path: str, text: str | None) -> None:
        """Sets or ends the unsaved text of a file."""
        self.buffers.put(path, text)

    def targets(self, path: str, roots: Sequence[str]) -> FileTargets:
        """Targets of one file; `roots` are the workspace folders."""
        return _View(self, tuple(roots)).targets(path)

    def index(self, roots: Sequence[str], only: Sequence[str] | None = None) -> Iterator[list[FoundTarget]]:
        """Targets of every file below the folders, one file at a time: the caller may answer others in between."""
        view = _View(self, tuple(roots))
        seen: set[str] = set()
        for place in only if only is not None else roots:
            for path in [place] if Path(place).is_file() else python_files(place):
                if path not in seen:
                    seen.add(path)
                    yield view.targets(path).targets

    # --- files ---

    def file(self, files: Files, path: str) -> _File | None:
        key = files.key(path)
        held = self.contents.get(path)
        if key is None or key == ("folder",):
            if held is not None and key is None:
                del self.contents[path]
            return None
        if held is not None and held.key == key:
            return held
        fresh = _read(files, path, key)
        if held is not None:
            if fresh.text == held.text and fresh.undecodable == held.undecodable:
                held.key = key
                return held
            fresh.source = held.source
        self.contents[path] = fresh
        return fresh

    def parsed(self, path: str, file: _File) -> _File:
        if not file.parsed:
            file.parsed = True
            file.error = file.undecodable
            if file.error is None:
                try:
                    file.source = parse(file.text, file.source)
                except SourceError as error:
                    file.error = error.error
                    if file.source is None:
                        file.source = _saved(path, file.text)
            if file.source is not None:
                file.scope = scope_of(path, file.source.chunks)
        return file


class _View:
    """One consistent look at the workspace: each path is checked once, each question answered once."""

    def __init__(self, workspace: Workspace, roots: tuple[str, ...]) -> None:
        self.workspace = workspace
        self.roots = roots
        self.files = Files()
        self.files.buffers = workspace.buffers.buffers
        self.resolver = Resolver(self.files, roots, self.scope)
        self._relevant: dict[str, bool] = {}

    def scope(self, path: str) -> Scope | None:
        file = self.workspace.file(self.files, path)
        return self.workspace.parsed(path, file).scope if file is not None else None

    def lines(self, path: str) -> list[str]:
        file = self.workspace.file(self.files, path)
        return file.source.lines if file is not None and file.source is not None else []

    def targets(self, path: str) -> FileTargets:
        answers = self.workspace.answers
        held = answers.get(path)
        if held is not None and held.roots == self.roots and all(self.files.key(p) == k for p, k in held.holds.items()):
            return held.result
        result = self._targets(path)
        answers[path] = _Answer(result, self.roots, {p: self.files.key(p) for p in self._rests_on(path)})
        return result

    def _rests_on(self, path: str) -> set[str]:
        """Every path that was asked for on the way to an answer about `path`."""
        reached = {path}
        stack = [path]
        while stack:
            for asked in self.resolver.asked.get(stack.pop(), ()):
                if asked not in reached:
                    reached.add(asked)
                    stack.append(asked)
        folder = os.path.dirname(path)
        reached.add(os.path.join(folder, INIT))
        return reached

    def _targets(self, path: str) -> FileTargets:
        file = self.workspace.file(self.files, path)
        if file is None:
            return FileTargets()
        if file.source is None and not self.relevant(path):
            return FileTargets([], file.undecodable is None, file.undecodable)
        self.workspace.parsed(path, file)
        if file.source is None or file.scope is None:
            return FileTargets([], False, file.error)
        found = targets_of(path, file.scope, self.resolver, Texts(self.resolver, self.lines))
        if file.error is not None:
            found = moved(found, LineMap(file.source.lines, lines_of(file.text)))
        return FileTargets(found, file.error is None, file.error)

    # --- what can be left unread ---

    def relevant(self, path: str) -> bool:
        """Can a file reach a framework: does it mention one, or import a file of the workspace that can?"""
        if (known := self._relevant.get(path)) is not None:
            return known
        self._relevant[path] = False
        file = self.workspace.file(self.files, path)
        if file is None:
            return False
        found = file.mentions or any(self.relevant(p) for p in self._imported(path, file))
        self._relevant[path] = found
        return found

    def _imported(self, path: str, file: _File) -> Iterator[str]:
        if file.imports is None:
            file.imports = _imports(file.text)
        if not file.imports:
            return
        places = search_path(self.files, path, self.roots)
        asked = self.resolver.asked.setdefault(path, set())
        for module, level, names in file.imports:
            if level:
                found = find_relative(self.files, path, level, module, asked)
            else:
                found, _ = find_module(self.files, places, module, asked)
            if found is None:
                continue
            for inner in [found, *(submodule(self.files, found, name, asked) for name in names)]:
                if inner is not None and inner.endswith(".py"):
                    asked.add(inner)
                    yield inner


def _read(files: Files, path: str, key: Key) -> _File:
    if (buffer := files.buffers.get(path)) is not None:
        text = buffer[1]
        return _File(key, text, any(word.decode() in text for word in MENTIONS))
    try:
        if os.path.getsize(path) > _LARGEST:  # noqa: PTH202
            return _File(key, "", False, ParseError(0, "the file is too large to read"))
        data = Path(path).read_bytes()
        return _File(key, decode(data), any(word in data for word in MENTIONS))
    except OSError as error:
        return _File(key, "", False, ParseError(0, f"the file cannot be read: {error.strerror}"))
    except SourceError as error:
        return _File(key, "", False, error.error)


def _saved(path: str, text: str) -> Source | None:
    """Facts of the file on disk, for a buffer that has not parsed since it was opened."""
    try:
        saved = decode(Path(path).read_bytes())
        return parse(saved) if saved != text else None
    except (OSError, SourceError):
        return None


def _imports(text: str) -> list[tuple[str, int, list[str]]]:
    """Modules, levels and names of a file's imports, by their look. May find too many, in strings for instance."""
    found: list[tuple[str, int, list[str]]] = []
    for match in _IMPORT.finditer(text):
        dots, module, inside, plain, modules = match.groups()
        if modules is not None:
            found += [(name, 0, []) for name in _NAME.findall(modules)]
        else:
            found.append((module, len(dots), _NAME.findall(inside or plain or "")))
    return found


def python_files(folder: str) -> Iterator[str]:
    """Source files below a folder, sorted, without hidden folders, environments, caches and links to folders."""
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError:
        return
    names = {entry.name for entry in entries}
    if "pyvenv.cfg" in names or "conda-meta" in names:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if (
                    not entry.name.startswith(".")
                    and entry.name not in _SKIPPED
                    and not entry.name.endswith(".egg-info")
                ):
                    yield from python_files(entry.path)
            elif entry.name.endswith(".py") and entry.is_file():
                yield entry.path
        except OSError:
            continue
