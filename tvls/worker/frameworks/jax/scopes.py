"""The scope tree of one graph: module and named scopes from name stacks, merged with the scopes of expanded calls."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Generator, List, Optional, Set, Tuple

from tvls.capture.limits import LimitExceeded, Limits
from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.internals import name_stack_segments

Path = Tuple[str, ...]


@dataclass
class Modules:
    """The Linen modules that ran during a trace: the name each has on name stacks, to its path and class."""

    by_name: Dict[str, Dict[Path, str]] = field(default_factory=lambda: {})  # noqa: PIE807

    def find(self, label: str, parent: Optional[Path]) -> Optional[Tuple[Path, str]]:
        """Path and class of the module that `label` (a name, or `name.method`) means inside the module at `parent`."""
        for name in (label, label.rpartition(".")[0]):
            paths = self.by_name.get(name)
            if paths:
                path = min(paths, key=lambda path: (-_nearness(path, name, parent), len(path), path))
                return path, paths[path]
        return None


def _nearness(path: Path, name: str, parent: Optional[Path]) -> int:
    if parent is None:
        return 0
    if path == (*parent, name):
        return len(parent) + 2
    if path == parent:
        return len(parent) + 1
    shared = 0
    while shared < min(len(path), len(parent)) and path[shared] == parent[shared]:
        shared += 1
    return shared


@contextmanager
def recorded_modules(modules: Modules) -> Generator[None, None, None]:
    """Note every Linen module whose methods run in this context; nothing where Flax is not installed."""
    if lib.linen is None:
        yield
        return

    def note(call: Callable[..., Any], args: Any, kwargs: Any, context: Any) -> Any:
        module: Any = context.module
        if module.scope is not None:
            path: Path = tuple(module.scope.path)
            kind = lib.class_of(module)
            name: str = module.name or kind.__name__
            modules.by_name.setdefault(name, {})[path] = f"{kind.__module__}.{kind.__qualname__}"
        return call(*args, **kwargs)

    with lib.linen.intercept_methods(note):
        yield


class Scopes:
    """Scopes of one graph, in order of appearance; index 0 is the root.

    Raises LimitExceeded from `enter` and `open` where the capture has too many scopes.
    """

    def __init__(self, modules: Modules, limits: Limits, used: Set[str], count: List[int]) -> None:
        self.items: List[Dict[str, Any]] = [{"id": "", "parent": None, "kind": "root"}]
        self._paths: List[Optional[Path]] = [None]
        self._modules = modules
        self._limits = limits
        self._used = used
        self._count = count  # scopes of the whole capture, shared with the graphs of bodies
        self._by_stack: Dict[Tuple[int, int], int] = {}
        self._alive: List[Any] = []  # name stacks whose id is a key of _by_stack
        self._named: Dict[Tuple[int, str], int] = {}

    def enter(self, parent: int, name_stack: Any) -> int:
        """Index of the scope that a name stack, relative to the scope `parent`, leads to."""
        key = (parent, id(name_stack))
        index = self._by_stack.get(key)
        if index is None:
            index = parent
            for label, name in name_stack_segments(name_stack):
                index = self._child(index, label, name)
            self._by_stack[key] = index
            self._alive.append(name_stack)
        return index

    def open(self, parent: int, kind: str, name: str) -> int:
        """Index of a new scope for one expanded call."""
        return self._add(parent, {"kind": kind, "name": name}, self._paths[parent])

    def _child(self, parent: int, label: str, name: Optional[str]) -> int:
        index = self._named.get((parent, label))
        if index is None:
            found = None if name is None else self._modules.find(name, self._paths[parent])
            if found is None:
                index = self._add(parent, {"kind": "named", "name": label}, self._paths[parent])
            else:
                path, kind = found
                scope = {"kind": "module", "name": label, "path": "/".join(path), "class": kind}
                index = self._add(parent, {**scope, "evidence": "name_stack"}, path)
            self._named[parent, label] = index
        return index

    def _add(self, parent: int, scope: Dict[str, Any], path: Optional[Path]) -> int:
        self._count[0] += 1
        if self._count[0] > self._limits.scopes:
            raise LimitExceeded("scopes", self._limits.scopes, self._count[0])
        parent_id: str = self.items[parent]["id"]
        stem = f"{parent_id}/{scope['name']}" if parent_id else scope["name"]
        unique, ordinal = stem, 0
        while unique in self._used:
            ordinal += 1
            unique = f"{stem}:{ordinal}"
        self._used.add(unique)
        self.items.append({"id": unique, "parent": parent, **scope})
        self._paths.append(path)
        return len(self.items) - 1
