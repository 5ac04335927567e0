"""Which workspace files a trace depends on, by the bytes that it really used.

Modules are compiled from the very bytes that are hashed: never from a cached `.pyc`, which may belong to another text.
Files that user code opens for reading are added by an audit hook. What native code opens by itself is not seen. A file
that the trace wrote to is no source: what is in it came from the trace.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib.machinery
import os
import stat
import sys
from contextlib import contextmanager
from types import CodeType
from typing import Any, Callable, Dict, Generator, List, Optional, Set, Tuple

from tvls.capture.document import Source
from tvls.worker.modules import file_of
from tvls.worker.places import Places

_CHUNK = 1 << 20

_WRITES = os.O_WRONLY | os.O_TRUNC | os.O_APPEND | os.O_CREAT
"""Flags of an open that is there to write. O_RDWR alone may be for reading only, as that of `numpy.memmap`."""

_CHANGES: Dict[str, Tuple[Tuple[int, ...], Tuple[Optional[int], ...]]] = {
    "os.rename": ((0, 1), (2, 3)),
    "os.remove": ((0,), (1,)),
    "os.truncate": ((0,), (None,)),
}
"""Audit events of changes to files: which arguments are names, and which the folder that each is relative to."""


class SourceLog:
    """The workspace files loaded so far, in the order of their first use."""

    def __init__(self, places: Places, loaded: bool = True) -> None:
        """`loaded`: whether modules that are there by now may be the workspace's.

        In a fork that would otherwise not write to the pages of a thousand modules, just to look at them is dear.
        """
        self.places = places
        self._loaded = loaded
        self._imported: Set[str] = set()
        self.on_code: Optional[Callable[[CodeType], None]] = None
        """Called with the code object of each workspace module before it runs."""
        self.on_text: Optional[Callable[[str, bytes], Optional[Callable[[ast.Module], None]]]] = None
        """Called with path and text of each workspace module; may answer what is to change its tree before it is
        compiled."""
        self._digests: Dict[str, str] = {}
        self._texts: Dict[str, bytes] = {}
        self._states: Dict[str, Tuple[int, int, int]] = {}
        self._touched: Dict[str, str] = {}
        """Files that the trace may have written to, moved or removed, with their absolute names."""
        self._quiet = False

    def install(self) -> None:
        """From now on, log imports and reads of this process. Cannot be taken back: a trace is a process of its own."""
        load = importlib.machinery.SourceFileLoader.get_code
        log = self

        # On the class, not in a finder: import hooks of the user's (jaxtyping, beartype) derive from this loader.
        def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> Optional[CodeType]:
            filename = self.get_filename(fullname)
            path = log.places.workspace_path(filename)
            if path is None:
                return load(self, fullname)
            log._quiet = True
            try:
                data = self.get_data(filename)
            finally:
                log._quiet = False
            log._digests[path] = "sha256:" + hashlib.sha256(data).hexdigest()
            log._texts[path] = data
            # Numba compiles bytecode, and knows nothing of the calls that would be inserted.
            asked = log.on_text if b"numba" not in data else None
            instrument = None if asked is None else asked(path, data)
            if instrument is None:
                code: CodeType = self.source_to_code(data, filename)
            else:
                with _instrumented_compile(filename, instrument):
                    code = self.source_to_code(data, filename)
            if log.on_code is not None:
                log.on_code(code)
            return code

        importlib.machinery.SourceFileLoader.get_code = get_code
        sys.meta_path.insert(0, _Listener(self._imported))
        sys.addaudithook(self._audit)

    def text(self, path: str) -> Optional[bytes]:
        """Bytes of a workspace module as it was compiled."""
        return self._texts.get(path)

    def table(self) -> List[Source]:
        """Every workspace file used so far, sorted by path."""
        # Extension modules and bytecode without source are loaded without passing through either door.
        for name in list(sys.modules) if self._loaded else sorted(self._imported):
            filename = file_of(sys.modules.get(name))
            if filename is not None:
                path = self.places.workspace_path(filename)
                if path is not None and path not in self._digests and path not in self._touched:
                    self._hash_file(filename, path)
        return [{"path": path, "digest": self._digests[path]} for path in sorted(self._digests) if self._counts(path)]

    def _counts(self, path: str) -> bool:
        """Not where the trace changed the file that it had read. Code was loaded as it was, whatever came later."""
        if path not in self._touched or path in self._texts:
            return True
        try:
            return _state(os.stat(self._touched[path])) == self._states.get(path)
        except OSError:  # removed
            return False

    def _audit(self, event: str, arguments: Tuple[Any, ...]) -> None:
        if (event not in _CHANGES and event != "open") or self._quiet:
            return
        if event == "open":
            name, _, flags = arguments
            if isinstance(flags, int):
                self._note(name, reads=not flags & _WRITES, writes=bool(flags & (_WRITES | os.O_RDWR)))
            return
        names, folders = _CHANGES[event]
        for at, folder in zip(names, folders, strict=True):
            if folder is None or arguments[folder] == -1:  # else it is relative to an open folder
                self._note(arguments[at], reads=False, writes=True)

    def _note(self, name: object, reads: bool, writes: bool) -> None:
        if not isinstance(name, (str, bytes)):  # a descriptor, which was a name before
            return
        filename = os.path.abspath(os.fsdecode(name))
        path = self.places.workspace_path(filename)
        if path is None or path in self._texts:
            return
        # What was read before a change is compared with what is there in the end; what comes after it is the trace's.
        if reads and path not in self._touched:
            self._hash_file(filename, path)
        if writes:
            self._touched[path] = filename

    def _hash_file(self, filename: str, path: str) -> None:
        self._quiet = True
        try:
            status = os.stat(filename)
            state = _state(status)
            # A pipe or a device has no content to come back to, and reading it would take it from the user's code.
            if not stat.S_ISREG(status.st_mode) or self._states.get(path) == state:
                return
            sha = hashlib.sha256()
            with open(filename, "rb", buffering=0) as file:
                while True:
                    chunk = file.read(_CHUNK)
                    if not chunk:
                        break
                    sha.update(chunk)
            self._digests[path] = "sha256:" + sha.hexdigest()
            self._states[path] = state
        except OSError:
            # Not there or not readable: the open that is being audited fails by itself and says so to its caller.
            return
        finally:
            self._quiet = False


class _Listener:
    """Stands first among the finders, finds nothing, and knows what was asked for."""

    def __init__(self, names: Set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        self._names.add(name)


def _state(status: os.stat_result) -> Tuple[int, int, int]:
    return status.st_mtime_ns, status.st_size, status.st_ino


@contextmanager
def _instrumented_compile(filename: str, instrument: Callable[[ast.Module], None]) -> Generator[None]:
    """Within, `compile` of this file lets `instrument` change the tree, also one that an import hook brings."""
    plain: Any = builtins.compile

    def compile_instrumented(source: Any, name: Any, mode: str, *arguments: Any, **options: Any) -> Any:
        flags = arguments[0] if arguments else options.get("flags", 0)
        if name != filename or mode != "exec" or flags & ast.PyCF_ONLY_AST:
            return plain(source, name, mode, *arguments, **options)
        try:
            tree = source if isinstance(source, ast.Module) else plain(source, name, mode, ast.PyCF_ONLY_AST, True)
            instrument(tree)
            return plain(tree, name, mode, *arguments, **options)
        except (SyntaxError, RecursionError):  # from the text, for an error that shows it; or too deep for a tree
            return plain(source, name, mode, *arguments, **options)

    builtins.compile = compile_instrumented
    try:
        yield
    finally:
        builtins.compile = plain
