"""The scope tree of one graph: module and named scopes from name stacks, merged with the scopes of expanded calls."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from tvls.capture.limits import LimitExceeded, Limits
from tvls.worker.frameworks.jax.instances import PREFIX
from tvls.worker.frameworks.jax.internals import name_stack_segments
from tvls.worker.frameworks.jax.modules import Modules, Parameters, Path
from tvls.worker.frameworks.jax.order import Order


class Scopes:
    """Scopes of one graph, in order of appearance; index 0 is the root, which stands inside the module at `path`.

    A name stack that comes again means the same scope, unless that scope, drawn as one node, would then stand before
    and after what lies between. Raises LimitExceeded from `enter` and `open` where the capture has too many scopes.
    """

    def __init__(
        self, modules: Modules, limits: Limits, used: Set[str], count: List[int], path: Optional[Path] = None
    ) -> None:
        self.items: List[Dict[str, Any]] = [{"id": "", "parent": None, "kind": "root"}]
        self.order = Order()
        self._paths: List[Optional[Path]] = [path]
        self._modules = modules
        self._limits = limits
        self._used = used
        self._count = count  # scopes of the whole capture, shared with the graphs of bodies
        self._by_stack: Dict[Tuple[int, int], int] = {}
        self._alive: List[Any] = []  # name stacks whose id is a key of _by_stack
        self._named: Dict[Tuple[int, str], int] = {}
        self._ordinals: Dict[str, int] = {}

    def path(self, scope: int) -> Optional[Path]:
        """Path of the module that a scope stands in."""
        return self._paths[scope]

    def enter(self, parent: int, name_stack: Any, producers: Sequence[int]) -> int:
        """Index of the scope that a name stack, relative to the scope `parent`, leads to, for an equation that reads
        what the operations `producers` made."""
        key = (parent, id(name_stack))
        index = self._by_stack.get(key)
        if index is not None:
            if index == parent or self.order.joinable(index, producers) == self.order.depth(index):
                return index
            del self._by_stack[key]
        # A scope opened here is the last of its name: the next equation of that name tries it first.
        index, joining = parent, True
        for label, name in name_stack_segments(name_stack):
            found = self._named.get((index, label)) if joining else None
            joining = found is not None and self.order.joinable(found, producers) == self.order.depth(found)
            index = found if joining and found is not None else self._child(index, label, name)
        self._by_stack[key] = index
        self._alive.append(name_stack)
        return index

    def call(self, parent: int, functions: Sequence[str], producers: Sequence[int]) -> int:
        """Index of the scope for calls of library functions inside `parent`. Inside of a module the module is enough:
        what its library does to run it says nothing of the model."""
        if self._paths[parent]:
            return parent
        index, joining = parent, True
        for name in functions:
            key = (index, f"{name}()")
            found = self._named.get(key) if joining else None
            joining = found is not None and self.order.joinable(found, producers) == self.order.depth(found)
            if not joining or found is None:
                found = self._named[key] = self._add(index, {"kind": "call", "name": name}, self._paths[index])
            index = found
        return index

    def open(self, parent: int, kind: str, name: str) -> int:
        """Index of a new scope for one expanded call."""
        return self._add(parent, {"kind": kind, "name": name}, self._paths[parent])

    def _child(self, parent: int, label: str, name: Optional[str]) -> int:
        index = self._named[parent, label] = self._new_child(parent, label, name)
        return index

    def _new_child(self, parent: int, label: str, name: Optional[str]) -> int:
        around = self._paths[parent]
        if name is not None and name.startswith(PREFIX):
            mark = self._modules.marks[int(name[len(PREFIX) :])]
            path = mark.path
            if mark.relative and path is not None:
                path = None if around is None else (*around, *path)
            shown = label.replace(name, mark.label())
            return self._module(parent, shown, path, mark.kind, "instance_path", mark.parameters)
        found = None if name is None else self._modules.find(name, around)
        if found is None:
            return self._add(parent, {"kind": "named", "name": label}, around)
        return self._module(parent, label, found.path, found.module.kind, found.module.evidence, found.parameters)

    def _module(
        self, parent: int, name: str, path: Optional[Path], kind: str, evidence: str, parameters: Optional[Parameters]
    ) -> int:
        scope: Dict[str, Any] = {"kind": "module", "name": name}
        if path is not None:
            scope["path"] = "/".join(path)
        scope["class"] = kind
        scope["evidence"] = evidence
        if parameters is not None:
            scope["parameters"] = {"count": parameters.count, "bytes": parameters.bytes}
        return self._add(parent, scope, path)

    def _add(self, parent: int, scope: Dict[str, Any], path: Optional[Path]) -> int:
        self._count[0] += 1
        if self._count[0] > self._limits.scopes:
            raise LimitExceeded("scopes", self._limits.scopes, self._count[0])
        parent_id: str = self.items[parent]["id"]
        stem = f"{parent_id}/{scope['name']}" if parent_id else scope["name"]
        ordinal = self._ordinals.get(stem, 0)
        unique = f"{stem}:{ordinal}" if ordinal else stem
        while unique in self._used:
            ordinal += 1
            unique = f"{stem}:{ordinal}"
        self._ordinals[stem] = ordinal + 1
        self._used.add(unique)
        self.items.append({"id": unique, "parent": parent, **scope})
        self._paths.append(path)
        self.order.add_scope(parent)
        return len(self.items) - 1
