"""Files of a workspace with their facts, kept between requests; answers are recomputed only where something changed."""

# Paths are plain strings here, as in modules.py.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from tvls.analysis.board import IDLE, mark_of
from tvls.analysis.buffers import encode_buffer
from tvls.analysis.declared import declared
from tvls.analysis.known import MENTIONS
from tvls.analysis.modules import (
    INIT,
    SPECIAL,
    Files,
    Key,
    find_module,
    find_relative,
    importable,
    search_path,
    submodule,
)
from tvls.analysis.moved import LineMap, moved
from tvls.analysis.named import named_in
from tvls.analysis.parameters import Texts
from tvls.analysis.resolve import Resolver
from tvls.analysis.scopes import Scope, scope_of
from tvls.analysis.source import Source, SourceError, decode, lines_of, parse
from tvls.analysis.targets import targets_of
from tvls.analysis.types import Declared, FileError, FileTargets, Found, FoundTarget, Named, ParseError
from tvls.printable import printable
from tvls.reading import UnreadableError, read_source

_SKIPPED = frozenset(
    {"__pycache__", "node_modules", "site-packages", "dist-packages", "__pypackages__", "venv", "virtualenv"}
)
_MOST_NAMES = 2000
"""Imported names that are looked up to tell whether a file can reach a framework."""

_IMPORT = re.compile(
    r"^[ \t]*+(?:from(?=[ \t.])[ \t]*+(\.*+)[ \t]*+(?:(?!import\b)(\w[\w.]*+)[ \t]++)?+import\b[ \t]*+"
    r"(?:\(([^)]{0,4000})|([^\n;(]*+))|import[ \t]++([^\n;]*+))",
    re.MULTILINE,
)
_NAME = re.compile(r"(?:^|,)\s*+(\w++(?:\.\w++)*+)", re.MULTILINE)
_GIVEN_UP = ParseError(
    0, "the analysis of this file was given up: it took too long, or ended the process", syntax=False
)


@dataclass(slots=True)
class _File:
    """One file as last read. Facts are made when they are first asked for."""

    key: Key
    text: str
    mark: bytes
    mentions: bool = False
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
    announce: Callable[[bytes], None] = lambda _: None
    """Told the mark of each file before work on it begins (see `board`)."""
    avoided: set[bytes] = field(default_factory=set[bytes])
    """Marks of files that are not to be read."""

    def put(self, path: str, text: str | None) -> None:
        """Sets or ends the unsaved text of a file."""
        self.buffers.put(path, text)

    def targets(self, path: str, roots: Sequence[str]) -> FileTargets:
        """Targets of one file; `roots` are the workspace folders."""
        return _View(self, tuple(roots)).targets(path)

    def declared(self, path: str, roots: Sequence[str], name: str) -> Declared | None:
        """What the definition with this qualified name declares; None where the file has none."""
        return _View(self, tuple(roots)).declared(path, name)

    def named(self, path: str, roots: Sequence[str], name: str) -> Named:
        """The definition with this name where it is no target."""
        return _View(self, tuple(roots)).named(path, name)

    def index(self, roots: Sequence[str], only: Sequence[str] | None = None) -> Iterator[Found]:
        """Targets and errors of every file below the folders, or of `only`: files, and folders to look through.

        One file or folder at a time: the caller may answer others in between. A file that is named in `only` is parsed
        even where it cannot reach a framework.
        """
        view = _View(self, tuple(roots))
        seen: set[str] = set()
        for place in only if only is not None else roots:
            if view.files.is_folder(place):
                paths = python_files(place)
                if error := _cannot_list(place):
                    yield Found([], [FileError(place, error)])
            else:
                paths = iter([place])
            for path in paths:
                if path is None or path in seen:
                    yield Found([], [])
                    continue
                seen.add(path)
                yield self._found(view, path, named=path == place)

    def _found(self, view: _View, path: str, named: bool) -> Found:
        try:
            answer = view.checked(path) if named else view.targets(path)
        except Exception as error:  # noqa: BLE001 - one file must not end the index; it is told with its result
            traceback.print_exc()
            return Found([], [FileError(path, ParseError(0, printable(f"the analysis failed: {error!r}"), False))])
        return Found(answer.targets, [FileError(path, answer.error)] if answer.error is not None else [])

    # --- files ---

    def file(self, files: Files, path: str) -> _File | None:
        key = files.key(path)
        held = self.contents.get(path)
        if not files.is_file(path) or key is None:
            if held is not None:
                del self.contents[path]
            return None
        if held is not None and held.key == key:
            return held
        fresh = self._read(files, path, key)
        if held is not None:
            if fresh.text == held.text and fresh.undecodable == held.undecodable:
                held.key = key
                return held
            fresh.source = held.source
        self.contents[path] = fresh
        return fresh

    def _read(self, files: Files, path: str, key: Key) -> _File:
        """Reads a file; the mark of its state stands for it while its content is not known yet."""
        buffer = files.buffers.get(path)
        mark = mark_of(path, repr(key).encode())
        if buffer is None and mark in self.avoided:
            return _File(key, "", mark, undecodable=_GIVEN_UP)
        self.announce(mark)
        try:
            data = read_source(path) if buffer is None else encode_buffer(buffer[1])
            mark = mark_of(path, data)
            if mark in self.avoided:
                return _File(key, "", mark, undecodable=_GIVEN_UP)
            self.announce(mark)
            text = decode(data) if buffer is None else buffer[1]
            return _File(key, text, mark, any(word in data for word in MENTIONS))
        except UnreadableError as error:
            return _File(key, "", mark, undecodable=ParseError(0, str(error), syntax=False))
        except OSError as error:
            message = f"the file cannot be read: {error.strerror}"
            return _File(key, "", mark, undecodable=ParseError(0, message, syntax=False))
        except SourceError as error:
            return _File(key, "", mark, undecodable=error.error)

    def parsed(self, path: str, file: _File) -> _File:
        if not file.parsed:
            file.parsed = True
            file.error = file.undecodable
            self.announce(file.mark)
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
        self.current = IDLE
        self.files = Files()
        self.files.buffers = workspace.buffers.buffers
        self.resolver = Resolver(self.files, roots, self.scope)
        self._relevant: dict[str, bool] = {}

    def scope(self, path: str) -> Scope | None:
        file = self.file(path)
        if file is None:
            return None
        if not file.parsed:
            self.workspace.parsed(path, file)
            self.workspace.announce(self.current)
        return file.scope

    def file(self, path: str) -> _File | None:
        """A file as it is now. The work of reading it is its own; what follows is that of the file asked about."""
        held = self.workspace.contents.get(path)
        file = self.workspace.file(self.files, path)
        if file is not held:
            self.workspace.announce(self.current)
        return file

    def lines(self, path: str) -> list[str]:
        file = self.file(path)
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

    def checked(self, path: str) -> FileTargets:
        """As `targets`, with the error of a text that need not have been parsed for them."""
        answer = self.targets(path)
        if answer.error is None and (file := self.file(path)) is not None:
            error = self.workspace.parsed(path, file).error
            return FileTargets(answer.targets, error is None, error)
        return answer

    def _targets(self, path: str) -> FileTargets:
        file = self.workspace.file(self.files, path)
        if file is None:
            special = self.files.key(path) == SPECIAL
            return (
                FileTargets([], False, ParseError(0, "the path is no regular file", False))
                if special
                else FileTargets()
            )
        self.current = file.mark
        self.workspace.announce(file.mark)
        try:
            return self._targets_of(path, file)
        except (RecursionError, MemoryError) as error:
            traceback.print_exc()
            message = f"what the file defines is too deep or too large to follow: {error!r}"
            return FileTargets([], False, ParseError(0, printable(message), syntax=False))
        finally:
            self.current = IDLE
            self.workspace.announce(IDLE)

    def _targets_of(self, path: str, file: _File) -> FileTargets:
        if file.source is None and not self.relevant(path):
            return FileTargets([], file.undecodable is None, file.undecodable)
        self.workspace.parsed(path, file)
        if file.source is None or file.scope is None:
            return FileTargets([], False, file.error)
        found: list[FoundTarget] = []
        if importable(path):
            found = targets_of(path, file.scope, self.resolver, Texts(self.resolver, self.lines))
        if file.error is not None:
            found = moved(found, LineMap(file.source.lines, lines_of(file.text)))
        return FileTargets(found, file.error is None, file.error)

    def declared(self, path: str, name: str) -> Declared | None:
        file = self.workspace.file(self.files, path)
        if file is None:
            return None
        self.workspace.announce(file.mark)
        try:
            self.workspace.parsed(path, file)
            if file.source is None:
                return None
            if file.error is None:
                return declared(file.source.lines, name)
            found = declared(file.source.lines, name, LineMap(file.source.lines, lines_of(file.text)))
            return None if found is None else msgspec.structs.replace(found, parsed=False)
        finally:
            self.workspace.announce(IDLE)

    def named(self, path: str, name: str) -> Named:
        file = self.workspace.file(self.files, path)
        if file is None or not importable(path):
            return Named()
        self.current = file.mark
        self.workspace.announce(file.mark)
        try:
            self.workspace.parsed(path, file)
            if file.scope is None or file.error is not None:
                return Named()
            return named_in(path, name, file.scope, self.resolver, Texts(self.resolver, self.lines))
        except (RecursionError, MemoryError):
            traceback.print_exc()
            return Named()
        finally:
            self.current = IDLE
            self.workspace.announce(IDLE)

    # --- what can be left unread ---

    def relevant(self, path: str) -> bool:
        """Can a file reach a framework: does it mention one, or import a file of the workspace that can?"""
        seen = {path}
        stack = [path]
        while stack:
            place = stack.pop()
            if (known := self._relevant.get(place)) is None:
                file = self.file(place)
                known = file is not None and file.mentions
                if file is not None and not known:
                    following = [p for p in self._imported(place, file) if p not in seen]
                    seen.update(following)
                    stack += following
            if known:
                self._relevant[path] = True
                return True
        self._relevant.update(dict.fromkeys(seen, False))
        return False

    def _imported(self, path: str, file: _File) -> Iterator[str]:
        if file.imports is None:
            file.imports = _imports(file.text)
        if not file.imports:
            return
        places = search_path(self.files, path, self.roots)
        asked = self.resolver.asked.setdefault(path, set())
        for module, level, names in file.imports:
            if level:
                found = find_relative(self.files, path, self.roots, level, module, asked)
            else:
                found, _ = find_module(self.files, places, module, asked)
            if found is None:
                continue
            for inner in [found, *(submodule(self.files, found, name, asked) for name in names)]:
                if inner is not None and inner.endswith(".py"):
                    asked.add(inner)
                    yield inner


def _saved(path: str, text: str) -> Source | None:
    """Facts of the file on disk, for a buffer that has not parsed since it was opened."""
    try:
        saved = decode(read_source(path))
        return parse(saved) if saved != text else None
    except (OSError, SourceError):
        return None


def _imports(text: str) -> list[tuple[str, int, list[str]]]:
    """Modules, levels and names of a file's imports, by their look. May find too many, in strings for instance."""
    found: list[tuple[str, int, list[str]]] = []
    names = 0
    for match in _IMPORT.finditer(text):
        dots, module, inside, plain, modules = match.groups()
        if modules is not None:
            found += [(name, 0, []) for name in _NAME.findall(modules)]
        else:
            inner = _NAME.findall(inside or plain or "")
            names += len(inner)
            found.append((module or "", len(dots), inner))
        if len(found) + names > _MOST_NAMES:
            break
    return found


def _cannot_list(folder: str) -> ParseError | None:
    try:
        os.scandir(folder).close()
    except OSError as error:
        return ParseError(0, f"the folder cannot be read: {error.strerror}", syntax=False)
    return None


def python_files(folder: str) -> Iterator[str | None]:
    """Source files below a folder, sorted, without hidden folders, environments, caches and links to folders.

    `None` comes before the files of each folder, so that a long walk can be left.
    """
    yield None
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
