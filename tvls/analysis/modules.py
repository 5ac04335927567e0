"""Files as modules: what a file is called when imported, and which file an import means."""

# Paths are plain strings here: thousands are looked up for one index.
# ruff: noqa: PTH118, PTH119, PTH120, PTH206

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tvls.analysis.known import LIBRARIES, LIBRARY_MARKS

Key = tuple[object, ...]
"""What is remembered of a path to notice a change; `None` stands for a path that is not there."""

FOLDER: Key = ("folder",)
SPECIAL: Key = ("special",)
"""A FIFO, a socket or a device: never opened, and nothing that an import reads."""

INIT = "__init__.py"
_LONGEST_MODULE = 1000
_MOST_PARTS = 100
"""Characters and parts of a dotted module name; what is longer is no module of a workspace."""


class Files:
    """The disk as one request sees it: each path is asked for once. Unsaved buffers hide the files below them."""

    def __init__(self) -> None:
        self.buffers: dict[str, tuple[int, str]] = {}
        self._versions = 0
        self._keys: dict[str, Key | None] = {}

    def put(self, path: str, text: str | None) -> None:
        """Sets or ends the unsaved text of a file."""
        if text is None:
            self.buffers.pop(path, None)
        elif (held := self.buffers.get(path)) is None or held[1] != text:
            self._versions += 1
            self.buffers[path] = (self._versions, text)
        self._keys.pop(path, None)

    def key(self, path: str) -> Key | None:
        if path in self._keys:
            return self._keys[path]
        key: Key | None
        if (buffer := self.buffers.get(path)) is not None:
            key = ("buffer", buffer[0])
        else:
            try:
                found = os.stat(path)  # noqa: PTH116 - plain strings: this is the hot path of a warm index
                if (kind := found.st_mode & 0o170000) == 0o100000:
                    key = (found.st_mtime_ns, found.st_size, found.st_ino)
                else:
                    key = FOLDER if kind == 0o040000 else SPECIAL
            except (OSError, ValueError):
                key = None
        self._keys[path] = key
        return key

    def is_file(self, path: str) -> bool:
        """Is there text: a regular file, or a buffer?"""
        return (key := self.key(path)) is not None and key != FOLDER and key != SPECIAL

    def is_folder(self, path: str) -> bool:
        return self.key(path) == FOLDER


def _is_library_source(files: Files, folder: str) -> bool:
    mark = LIBRARY_MARKS.get(os.path.basename(folder))
    return mark is not None and (files.key(os.path.join(folder, mark)) is not None)


def _inside(folder: str, root: str) -> bool:
    return folder == root or folder.startswith(root.rstrip("/\\") + os.sep)


def holder(path: str, roots: Sequence[str]) -> str | None:
    """The innermost workspace folder that holds a path. Nothing outside it is imported for the path's sake."""
    return max((root for root in roots if _inside(path, root)), key=len, default=None)


def importable(path: str) -> bool:
    """Can an import name the file? `a.b.py` cannot: its dot would mean a package."""
    stem = os.path.basename(path).removesuffix(".py")
    return bool(stem) and "." not in stem


def package_root(files: Files, path: str, roots: Sequence[str]) -> str:
    """Parent of the topmost package that a file is in; never above the workspace folder that holds the file.

    A package that merely has a library's name is not the topmost one where its parent can be: `lab/jax/__init__.py`
    with no `lab/__init__.py` is `lab.jax`, as `jax` would hide the library from its own files.
    """
    return _package_root(files, path, roots, holder(path, roots))


def _package_root(files: Files, path: str, roots: Sequence[str], limit: str | None) -> str:
    folder = os.path.dirname(path)
    while folder != limit and "." not in os.path.basename(folder) and files.is_file(os.path.join(folder, INIT)):
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder, package = parent, folder
        name = os.path.basename(package)
        top = not files.is_file(os.path.join(folder, INIT))
        if (
            top
            and name in LIBRARIES
            and not _is_library_source(files, package)
            and folder not in roots
            and any(_inside(folder, r) for r in roots)
        ):
            folder = os.path.dirname(folder)
            break
    return folder


def home(files: Files, path: str, roots: Sequence[str], imports: Iterable[tuple[str, int]]) -> tuple[str, str]:
    """`(root, module)` of a file: with `root` on `sys.path`, `module` is its dotted name.

    `root` lies in the workspace folder that holds the file. `imports` are the modules (and levels) that the file itself
    imports. They tell folders without `__init__.py` that are packages after all: the file imports relatively, or names
    the folder that it is in.
    """
    root = package_root(files, path, roots)
    limit = holder(path, roots) or root
    up = len(os.path.relpath(path, root).split(os.sep)) - 1
    wanted = up
    folders = os.path.relpath(root, limit).split(os.sep) if root != limit else []
    for module, level in imports:
        if level > up:
            wanted = max(wanted, level)
        elif level == 0 and (top := module.partition(".")[0]) in folders and top not in LIBRARIES:
            wanted = max(wanted, up + len(folders) - folders.index(top))
    while wanted > up and root != limit and "." not in os.path.basename(root):
        root = os.path.dirname(root)
        up += 1
    return root, _module(path, root)


def full_name(files: Files, path: str, roots: Sequence[str], imports: Iterable[tuple[str, int]]) -> str:
    """Dotted name that tells what a module is, be its package inside the workspace folder or around it."""
    root, module = home(files, path, roots, imports)
    top = _package_root(files, path, roots, None)
    return _module(path, top) if len(top) < len(root) else module


def _module(path: str, root: str) -> str:
    return os.path.relpath(path, root).removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__")


class SearchPath(NamedTuple):
    """Where a file's absolute imports may lie in the workspace."""

    places: list[str]
    """The likeliest first; inside a package only the file's own folder."""
    only: str | None
    """For an installed library whose source is open: its own name, as its neighbours are not the workspace."""


def search_path(files: Files, path: str, roots: Sequence[str]) -> SearchPath:
    limit = holder(path, roots)
    top = _package_root(files, path, roots, None)
    if os.path.basename(top) in {"site-packages", "dist-packages"}:
        return SearchPath([top], os.path.relpath(path, top).partition(os.sep)[0].removesuffix(".py"))
    first = _package_root(files, path, roots, limit)
    places = [first]
    folder = first
    while limit is not None and folder != limit:
        folder = os.path.dirname(folder)
        if not files.is_file(os.path.join(folder, INIT)):
            places.append(folder)
    for root in roots:
        places += [root, os.path.join(root, "src")]
    places.append(os.path.dirname(path))  # a script run by its path
    return SearchPath(list(dict.fromkeys(places)), None)


def submodule(files: Files, module: str, name: str, asked: set[str]) -> str | None:
    """Path of `name` in the package at `module` (a file, or a folder for a namespace package)."""
    if os.path.basename(module) == INIT:
        folder = os.path.dirname(module)
    elif module.endswith(".py"):
        return None
    else:
        folder = module
    return _entry(files, folder, name, asked)


def _entry(files: Files, folder: str, name: str, asked: set[str]) -> str | None:
    base = os.path.join(folder, name)
    for candidate in (os.path.join(base, INIT), base + ".py"):
        asked.add(candidate)
        if files.is_file(candidate):
            return candidate
    asked.add(base)
    return base if files.is_folder(base) else None


def is_too_long(module: str) -> bool:
    """Is a dotted name longer than any module's? To look it up would take time and memory by its square."""
    return len(module) > _LONGEST_MODULE or module.count(".") >= _MOST_PARTS


def find_module(files: Files, search: SearchPath, name: str, asked: set[str]) -> tuple[str | None, bool]:
    """Path of an absolute module in the workspace, and whether its first part lies there at all.

    Every path that was tried is added to `asked`: the answer holds as long as none of them changes.
    """
    if is_too_long(name):
        return None, True
    first, *rest = name.split(".")
    if search.only is not None and first != search.only:
        return None, False
    namespace: str | None = None
    for place in search.places:
        entry = _entry(files, place, first, asked)
        if entry is None or (first == "jax" and _is_library_source(files, os.path.dirname(entry))):
            continue
        if first in LIBRARIES and _is_package(files, place, asked):
            continue  # a module of a package, which nobody imports without the package: `layers/torch.py`
        if not entry.endswith(".py"):
            # A folder without `__init__.py` gives way to any regular package, an installed library among them.
            namespace = namespace or (entry if first not in LIBRARIES else None)
            if entry == namespace and rest and _descend(files, entry, rest, asked) is not None:
                break
            continue
        return _descend(files, entry, rest, asked), True
    found = _descend(files, namespace, rest, asked) if namespace else None
    return found, found is not None


def _is_package(files: Files, folder: str, asked: set[str]) -> bool:
    init = os.path.join(folder, INIT)
    asked.add(init)
    return files.is_file(init)


def _descend(files: Files, module: str, rest: Sequence[str], asked: set[str]) -> str | None:
    found: str | None = module
    for part in rest:
        if found is None:
            return None
        found = submodule(files, found, part, asked)
    return found


def _relative_base(path: str, level: int, limit: str | None) -> str | None:
    """The folder that `level` dots mean in a file, unless it lies outside `limit`."""
    folder = os.path.dirname(path)
    for _ in range(level - 1):
        if folder in {limit, (parent := os.path.dirname(folder))}:
            return None
        folder = parent
    return folder


def find_relative(files: Files, path: str, roots: Sequence[str], level: int, name: str, asked: set[str]) -> str | None:
    """Path of a relative module, `None` where it does not exist or the dots leave the workspace folder of the file."""
    folder = _relative_base(path, level, holder(path, roots))
    if folder is None or is_too_long(name):
        return None
    init = os.path.join(folder, INIT)
    asked.add(init)
    package = init if files.is_file(init) else folder
    return _descend(files, package, name.split(".") if name else [], asked)
