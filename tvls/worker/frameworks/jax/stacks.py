"""Source frames of equations, from JAX's tracebacks.

An equation inside an expanded call keeps the frames of its own function only, and those of the call follow: JAX traces
a jitted function once and reuses the result, so that what it recorded outside the function belongs to the first call.
The machinery that every equation passes through alike is left out; library functions that do something are kept.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from tvls.capture.document import Frame
from tvls.worker.frames import CodePositions
from tvls.worker.job import FrameRegistry

_SKIP, _CUT = -1, -2
_WORKER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_BOUNDARIES = frozenset(("trace_to_jaxpr", "trace_to_jaxpr_dynamic", "trace_to_jaxpr_dynamic2"))
_TRACER_FILE = os.path.join("jax", "_src", "interpreters", "partial_eval.py")
_FROZEN = ("<frozen importlib", "<frozen runpy")
_MACHINERY = tuple(
    os.path.join("jax", "_src", *name.split("/"))
    for name in (
        "source_info_util.py",
        "traceback_util.py",
        "linear_util.py",
        "profiler.py",
        "core.py",
        "interpreters/partial_eval.py",
    )
)
_INTERCEPTION = (os.path.join("flax", "linen", "module.py"), frozenset(("run_interceptors", "wrapped")))
"""Frames that are there because scopes.py notes the modules that run."""

Frames = Tuple[int, ...]


class Stack(NamedTuple):
    frames: Frames
    """Indices, innermost first: those of the equation's own function, then those of the enclosing call."""
    calls: Tuple[str, ...]
    """The library functions that the equation's own function called on the way to it, outermost first."""


_NO_CALLS: Tuple[str, ...] = ()


def make_stacks(frames: FrameRegistry) -> Callable[[Any, Frames], Stack]:
    """A function from an equation's traceback and the enclosing call's frames to its stack."""
    by_position: Dict[Tuple[int, int], int] = {}
    by_traceback: Dict[Any, Stack] = {}
    in_library: Dict[int, Optional[str]] = {}
    alive: List[Any] = []  # code objects whose id is a key of by_position
    positions = CodePositions()

    def resolve(traceback: Any) -> Stack:
        codes, offsets = traceback.raw_frames()
        found: List[int] = []
        for code, offset in zip(codes, offsets, strict=True):
            position = (id(code), offset)
            index = by_position.get(position)
            if index is None:
                index = by_position[position] = _intern(frames, positions, code, offset)
                alive.append(code)
            if index >= 0:
                found.append(index)
            elif index == _CUT:
                break
        return Stack(tuple(found), calls(found))

    def calls(found: List[int]) -> Tuple[str, ...]:
        names: List[str] = []
        for index in found:
            if index not in in_library:
                in_library[index] = _library_function(frames.at(index))
            name = in_library[index]
            if name is None:
                continue
            if not name:  # the program's own line, which called all that stands inside it
                return tuple(reversed(names[-_MOST_CALLS:]))
            if not names or names[-1] != name:
                names.append(name)
        return _NO_CALLS  # no line of the program is in it

    def stack(traceback: Any, outer: Frames) -> Stack:
        if traceback is None:
            return Stack(outer, _NO_CALLS)
        inner = by_traceback.get(traceback)
        if inner is None:
            inner = by_traceback[traceback] = resolve(traceback)
        return Stack(inner.frames + outer, inner.calls) if outer else inner

    return stack


_MOST_CALLS = 4
_FRAMEWORKS = ("jax", "jaxlib", "flax", "numpy", "scipy", "haiku", "equinox", "opt_einsum", "ml_dtypes")
_DECORATORS = ("jaxtyping", "beartype", "typeguard", "wrapt")
_NO_LIBRARY = frozenset((*_FRAMEWORKS, *_DECORATORS))
"""Packages whose functions are no scopes: JAX itself, those whose modules are, and those that only wrap."""


def _library_function(frame: Frame) -> Optional[str]:
    """Name of the library function that a frame is in; empty for one of the program, None for what says nothing."""
    if frame["workspace"]:
        return ""
    package, separator, _ = frame["path"].partition("/")
    if not separator or package in _NO_LIBRARY or package in sys.stdlib_module_names or package.startswith("<"):
        return None
    name = frame["function"].partition(".<locals>")[0]
    return None if name.startswith("<") else name


def _intern(frames: FrameRegistry, positions: CodePositions, code: Any, offset: int) -> int:
    filename: str = code.co_filename
    if code.co_name in _BOUNDARIES and filename.endswith(_TRACER_FILE):
        return _CUT
    if filename.startswith(_WORKER):
        return _CUT if code.co_name == "tvls_entry" else _SKIP
    if filename.startswith(_FROZEN) or filename.endswith(_MACHINERY):
        return _SKIP
    if filename.endswith(_INTERCEPTION[0]) and code.co_name in _INTERCEPTION[1]:
        return _SKIP
    return frames.add(filename, getattr(code, "co_qualname", code.co_name), *positions.at(code, offset))
