"""Updates of NNX state that a transformation of JAX throws away.

`jax.jit`, `jax.grad` and the rest take an NNX module apart and give the function a copy. What the function writes to
the copy, and does not return, is lost without a word; the transformations of Flax carry it back. Here writes to
variables are watched while a program is traced: the frames around a write tell which transformation it happens in, and
the function's arguments whether the variable came in through them. A watch on its return tells whether it got out.
"""

from __future__ import annotations

import inspect
import os
import sys
import types
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Generator, Iterator, List, Optional, Set, Tuple

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import content
from tvls.worker.frameworks.jax.trees import key_text

_CONTENT = ("_raw_value", "raw_value", "value")
"""Attributes of a variable that hold its array, by version of Flax."""
_WORKER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_SHOWN = 3


@dataclass
class Lost:
    """Of one function, the state of one argument that it writes and does not return."""

    function: str
    argument: str
    paths: List[str]

    def note(self) -> str:
        shown = ", ".join(self.paths[:_SHOWN])
        more = f" and {len(self.paths) - _SHOWN} more" if len(self.paths) > _SHOWN else ""
        return f"updates_lost:{self.function}={self.argument}" + (f" ({shown}{more})" if shown else "")


@dataclass
class _Watch:
    is_object: Callable[[object], bool]
    seen: Dict[int, Any] = field(default_factory=lambda: {})  # noqa: PIE807
    """Variables about which all is known, by identity, which they keep by being here."""
    open: Dict[types.FrameType, List[Any]] = field(default_factory=lambda: {})  # noqa: PIE807
    """By the frame of a function that a transformation runs, the variables written to in it."""
    lost: Dict[Tuple[str, str], Set[str]] = field(default_factory=lambda: {})  # noqa: PIE807
    previous: Any = None

    def wrote(self, variable: Any) -> None:
        if id(variable) in self.seen:
            return
        frame = _traced_function(sys._getframe(2))  # pyright: ignore[reportPrivateUsage]
        if frame is None or _is_in(frame, lib.flax):
            return  # Flax carries it back, or is making the variable
        self.seen[id(variable)] = variable
        if _is_worker(frame):
            return
        if not self.open:
            self.previous = sys.getprofile()
            sys.setprofile(self.profile)
        self.open.setdefault(frame, []).append(variable)

    def profile(self, frame: types.FrameType, event: str, value: Any) -> None:
        if event != "return" or frame not in self.open:
            return
        written = self.open.pop(frame)
        if not self.open:
            sys.setprofile(self.previous)
        kept = {id(leaf) for leaf in lib.jax.tree_util.tree_leaves(value)}
        # Only now: Flax takes an object apart while it updates it, so that a write finds it half empty.
        places = self.places(frame)
        for variable in written:
            place = places.get(id(variable))
            if place is not None and id(content(variable)) not in kept:
                self.lost.setdefault((frame.f_code.co_name, place[0]), set()).add(place[1])

    def places(self, frame: types.FrameType) -> Dict[int, Tuple[str, str]]:
        """Of the variables in a function's arguments, by identity, the argument and the path in it."""
        found: Dict[int, Tuple[str, str]] = {}
        for argument, value in _arguments(frame):
            pairs: Any = lib.jax.tree_util.tree_flatten_with_path(value, is_leaf=self.is_object)[0]
            for outer, item in pairs:
                for path, node in lib.nnx.iter_graph(item) if self.is_object(item) else ():
                    keys = [*(key_text(key) for key in outer), *(str(key) for key in path)]
                    found.setdefault(id(node), (argument, "/".join(keys)))
        return found


@contextmanager
def watched_updates(is_object: Callable[[object], bool]) -> Generator[List[Lost], None, None]:
    """A list that holds, after this context, the updates that were lost in it. Empty where Flax has no NNX, or none
    whose modules JAX takes apart."""
    found: List[Lost] = []
    variable: Any = getattr(lib.nnx, "Variable", None)
    plain: Any = vars(variable).get("__setattr__") if isinstance(variable, type) else None
    if not isinstance(plain, types.FunctionType):
        yield found
        return
    watch = _Watch(is_object)

    def set_attribute(self: Any, name: str, value: Any) -> None:
        plain(self, name, value)
        if name in _CONTENT:
            watch.wrote(self)

    type.__setattr__(variable, "__setattr__", set_attribute)
    try:
        yield found
    finally:
        type.__setattr__(variable, "__setattr__", plain)
        if watch.open:
            sys.setprofile(watch.previous)
    found += [Lost(function, argument, sorted(paths)) for (function, argument), paths in sorted(watch.lost.items())]


def _arguments(frame: types.FrameType) -> Iterator[Tuple[str, Any]]:
    given = inspect.getargvalues(frame)
    for name in (*given.args, given.varargs, given.keywords):
        if name is not None and name in given.locals:
            yield name, given.locals[name]


def _traced_function(frame: Optional[types.FrameType]) -> Optional[types.FrameType]:
    """The frame of the function that the innermost transformation of JAX around a frame runs."""
    inner: Optional[types.FrameType] = None
    while frame is not None:
        if _is_in(frame, lib.jax) and not os.path.basename(frame.f_code.co_filename).startswith("tree"):
            if inner is not None:
                return inner
        elif not (_is_worker(frame) and frame.f_code.co_name == "call"):  # a mark around a method
            inner = frame
        frame = frame.f_back
    return None


def _is_in(frame: types.FrameType, package: Any) -> bool:
    return frame.f_code.co_filename.startswith(os.path.dirname(package.__file__) + os.sep)


def _is_worker(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_WORKER)
