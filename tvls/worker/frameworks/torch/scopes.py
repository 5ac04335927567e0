"""Module calls as scopes: one scope a call, one path a module."""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from typing import Any, Dict, Generator, List, NamedTuple, Optional

from tvls.capture.limits import LimitExceeded, Limits
from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.job import type_of


class Unchanged(NamedTuple):
    """A tensor that a function returned as it got it, as `to` does for a dtype that is there already."""

    tensor: Any
    """A weak reference."""
    before: int
    after: int
    """The values that it held before and after the call."""


class _Call:
    def __init__(self, module: Any, path: Optional[str]) -> None:
        self.module = module
        self.path = path
        self.scope: Optional[int] = None
        """None until an operation runs in it: a module in which nothing ran is not shown."""
        self.unchanged: List[Unchanged] = []


class _Calls(threading.local):
    """Calls that a thread is in, from the outside in."""

    def __init__(self) -> None:
        self.calls: List[_Call] = []


class Scopes:
    """Scopes in order of their first operation; index 0 is the root."""

    def __init__(self, root: Any, name: str, limits: Limits) -> None:
        self.items: List[Dict[str, Any]] = [{"id": "", "parent": None, "kind": "root"}]
        self._root = root
        self._name = name
        self._limits = limits
        self._in = _Calls()
        self._paths: Dict[int, str] = {id(module): path for path, module in lib.torch.nn.Module.named_modules(root)}
        self._sizes: Dict[int, Dict[str, int]] = {}
        self._ordinals: Dict[str, int] = {}

    def enter(self, module: Any) -> None:
        """A module is called. One that the model made while it ran has no path."""
        self._in.calls.append(_Call(module, self._paths.get(id(module))))

    def leave(self) -> None:
        self._in.calls.pop()

    @contextmanager
    def inside(self, module: Any) -> Generator[None, None, None]:
        """In the context a module is called, if it is one, although it has returned: what it left to be computed."""
        if module is None:
            yield
            return
        self.enter(module)
        try:
            yield
        finally:
            self.leave()

    def unchanged(self, tensor: Any, before: int, after: int) -> None:
        """A function returned a tensor as it got it, in the module that runs now."""
        if self._in.calls:
            self._in.calls[-1].unchanged.append(Unchanged(weakref.ref(tensor), before, after))

    def keep(self, returned: List[Any]) -> List[Unchanged]:
        """The module that runs now returns tensors: what is unchanged and not among them, the last one first. What is
        among them is a matter of the module around it from now on.
        """
        *outer, call = self._in.calls
        kept = {id(tensor) for tensor in returned}
        if outer:
            outer[-1].unchanged += [item for item in call.unchanged if id(item.tensor()) in kept]
        return [item for item in reversed(call.unchanged) if id(item.tensor()) not in kept]

    @property
    def any_unchanged(self) -> bool:
        return bool(self._in.calls[-1].unchanged)

    def around(self) -> List[Any]:
        """Calls that this thread is in, for one that it starts."""
        return list(self._in.calls)

    def begin(self, around: List[Any]) -> None:
        """This thread works inside those calls."""
        self._in.calls = list(around)

    def here(self) -> int:
        """Index of the scope that runs now. Raises LimitExceeded."""
        parent, around = 0, ""
        for call in self._in.calls:
            if call.scope is None:
                call.scope = self._add(parent, call, around)
            parent = call.scope
            around = around if call.path is None else call.path
        return parent

    def where(self) -> Optional[str]:
        """The innermost module that runs now, for messages: `layers.0 (Linear)`."""
        calls = self._in.calls
        if not calls:
            return None
        call = calls[-1]
        kind = type(call.module).__name__
        return f"{call.path} ({kind})" if call.path else kind

    def _add(self, parent: int, call: _Call, around: str) -> int:
        if len(self.items) >= self._limits.scopes:
            raise LimitExceeded("scopes", self._limits.scopes, len(self.items) + 1)
        kind = type_of(call.module)
        if call.module is self._root:
            name = self._name
        elif call.path is None:
            name = kind.__name__
        else:
            inside = around and call.path.startswith(around + ".")
            name = call.path[len(around) + 1 :] if inside else call.path
        scope: Dict[str, Any] = {"id": self._identify(parent, name), "parent": parent, "kind": "module", "name": name}
        if call.path is not None:
            scope["path"] = call.path
        scope["class"] = f"{kind.__module__}.{kind.__qualname__}"
        scope["evidence"] = "hook"
        size = self._size(call.module)
        if size["count"]:
            scope["parameters"] = size
        self.items.append(scope)
        return len(self.items) - 1

    def _identify(self, parent: int, name: str) -> str:
        parent_id: str = self.items[parent]["id"]
        stem = f"{parent_id}/{name}" if parent_id else name
        ordinal = self._ordinals.get(stem, 0)
        self._ordinals[stem] = ordinal + 1
        return f"{stem}:{ordinal}" if ordinal else stem

    def _size(self, module: Any) -> Dict[str, int]:
        size = self._sizes.get(id(module))
        if size is None:
            try:
                parameters = list(lib.torch.nn.Module.parameters(module))  # each once, however often it is tied
                size = {"count": sum(p.numel() for p in parameters), "bytes": sum(p.nbytes for p in parameters)}
            except Exception:  # noqa: BLE001  (quantised and scripted modules pack them away; a lazy one has none yet)
                size = {"count": 0, "bytes": 0}
            self._sizes[id(module)] = size
        return size
