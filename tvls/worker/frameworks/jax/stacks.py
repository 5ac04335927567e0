"""Source frames of equations, from JAX's tracebacks.

An equation inside an expanded call keeps the frames of its own function only, and those of the call follow: JAX traces
a jitted function once and reuses the result, so that what it recorded outside the function belongs to the first call.
The machinery that every equation passes through alike is left out; library functions that do something are kept.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Tuple

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


def make_stacks(frames: FrameRegistry) -> Callable[[Any, Frames], Frames]:
    """A function from an equation's traceback and the enclosing call's frames to frame indices, innermost first."""
    by_position: Dict[Tuple[int, int], int] = {}
    by_traceback: Dict[Any, Frames] = {}
    alive: List[Any] = []  # code objects whose id is a key of by_position
    positions = CodePositions()

    def resolve(traceback: Any) -> Frames:
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
        return tuple(found)

    def stack(traceback: Any, outer: Frames) -> Frames:
        if traceback is None:
            return outer
        inner = by_traceback.get(traceback)
        if inner is None:
            inner = by_traceback[traceback] = resolve(traceback)
        return inner + outer if outer else inner

    return stack


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
