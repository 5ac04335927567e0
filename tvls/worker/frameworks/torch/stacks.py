"""Source frames of an operation: the Python stack at its call, without what every call passes through."""

from __future__ import annotations

import os
from types import CodeType, FrameType
from typing import Any, Dict, List, Optional, Tuple

from tvls.worker.frames import CodePositions
from tvls.worker.job import FrameRegistry

_SKIP, _CUT = -1, -2
ENTRY = "tvls_entry"
"""Name of the function that calls the model: frames outside it are not the program's."""
_WORKER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_MACHINERY = tuple(
    os.path.join("torch", *name.split("/"))
    for name in ("nn/modules/module.py", "overrides.py", "utils/_contextlib.py", "utils/_device.py", "_ops.py")
)


class Stacks:
    """Frames by index into the frame table, innermost first."""

    def __init__(self, frames: FrameRegistry) -> None:
        self._frames = frames
        self._positions = CodePositions()
        self._known: Dict[Tuple[int, int], int] = {}
        self._alive: List[CodeType] = []  # code objects whose id is a key

    def of(self, frame: Optional[FrameType], function: object) -> List[int]:
        """The stack from `frame` outwards; without that of `function` itself, which is the operation."""
        own: Any = getattr(function, "__code__", None)
        found: List[int] = []
        while frame is not None:
            code = frame.f_code
            if code is not own or found:
                index = self._index(code, frame.f_lasti)
                if index == _CUT:
                    break
                if index >= 0:
                    found.append(index)
            frame = frame.f_back
        return found

    def _index(self, code: CodeType, offset: int) -> int:
        key = (id(code), offset)
        index = self._known.get(key)
        if index is None:
            index = self._known[key] = self._intern(code, offset)
            self._alive.append(code)
        return index

    def _intern(self, code: CodeType, offset: int) -> int:
        filename = code.co_filename
        if filename.startswith(_WORKER):
            return _CUT if code.co_name == ENTRY else _SKIP
        if filename.endswith(_MACHINERY):
            return _SKIP
        name: str = getattr(code, "co_qualname", code.co_name)
        return self._frames.add(filename, name, *self._positions.at(code, offset))
