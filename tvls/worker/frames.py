"""Source frames, interned: every distinct frame of a capture is written once."""

from __future__ import annotations

import os
from types import CodeType, TracebackType
from typing import Any, Dict, List, Optional, Tuple

from tvls.capture.document import Frame
from tvls.worker.places import Places

_WORKER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_OWN = "tvls.worker."

_Key = Tuple[str, str, int, Optional[int], Optional[int], Optional[int]]


class FrameTable:
    """`add` answers the index of a frame in `table()`; equal frames get equal indices."""

    def __init__(self, workspace: str, places: Optional[Places] = None) -> None:
        self.places = Places(workspace) if places is None else places
        self._indices: Dict[_Key, int] = {}
        self._files: Dict[str, Tuple[str, bool]] = {}
        self._table: List[Frame] = []

    def add(
        self,
        filename: str,
        function: str,
        line: int,
        column: Optional[int] = None,
        end_line: Optional[int] = None,
        end_column: Optional[int] = None,
    ) -> int:
        """Lines are 1-based, columns 0-based in UTF-8 bytes; None, or a negative column, where they are not known."""
        key = (filename, function, line, column, end_line, end_column)
        index = self._indices.get(key)
        if index is None:
            place = self._files.get(filename)
            if place is None:
                place = self._files[filename] = self.places.portable(filename)
            index = self._indices[key] = len(self._table)
            self._table.append(make_frame(place, function, line, column, end_line, end_column))
        return index

    def at(self, index: int) -> Frame:
        return self._table[index]

    def table(self) -> List[Frame]:
        return self._table


def make_frame(
    place: Tuple[str, bool],
    function: str,
    line: int,
    column: Optional[int] = None,
    end_line: Optional[int] = None,
    end_column: Optional[int] = None,
) -> Frame:
    """A frame of the document; `place` is what `Places.portable` says of its file."""
    frame: Frame = {"path": place[0], "workspace": place[1], "function": function, "line": line}
    if column is not None and column >= 0:
        frame["column"] = column
        if end_line is not None and end_column is not None and end_column >= 0:
            frame["endLine"] = end_line
            frame["endColumn"] = end_column
    return frame


def traceback_frames(places: Places, traceback: Optional[TracebackType]) -> List[Frame]:
    """Frames of a traceback, innermost first, without those of the worker itself."""
    frames: List[Frame] = []
    positions = CodePositions()
    while traceback is not None:
        code = traceback.tb_frame.f_code
        module = traceback.tb_frame.f_globals.get("__name__")  # of code run by `exec` it may be anything
        own = code.co_filename.startswith(_WORKER) or (isinstance(module, str) and module.startswith(_OWN))
        # Python itself hides the import machinery where it is all that stands between an import and a module.
        if not own and not code.co_filename.startswith("<frozen importlib"):
            position: Position = positions.at(code, traceback.tb_lasti)
            if position[0] != traceback.tb_lineno:
                position = traceback.tb_lineno, None, None, None
            name: str = getattr(code, "co_qualname", code.co_name)
            frames.append(make_frame(places.portable(code.co_filename), name, *position))
        traceback = traceback.tb_next
    frames.reverse()
    return frames


Position = Tuple[int, Optional[int], Optional[int], Optional[int]]
"""Line, column, end line, end column, as `FrameTable.add` takes them."""


class CodePositions:
    """Where the instructions of code objects stand in their source. The positions of a code object are decoded once,
    and not for each instruction anew: a function of ten thousand lines is asked about ten thousand times."""

    def __init__(self) -> None:
        # By identity: a code object hashes everything in it at every question.
        self._known: Dict[int, Tuple[CodeType, List[Tuple[Optional[int], ...]]]] = {}

    def at(self, code: CodeType, offset: int) -> Position:
        """Of the instruction at `offset`, in bytes. Python 3.10 knows lines only."""
        known = self._known.get(id(code))
        if known is None:
            known = self._known[id(code)] = code, _decoded(code)
        index = offset // 2
        if 0 <= index < len(known[1]):
            line, end_line, column, end_column = known[1][index]
            if line is not None:
                return line, column, end_line, end_column
        return code.co_firstlineno, None, None, None


def _decoded(code: CodeType) -> List[Tuple[Optional[int], ...]]:
    """Line, end line, column and end column of each instruction."""
    positions: Any = getattr(code, "co_positions", None)  # from Python 3.11 on
    if positions is not None:
        return list(positions())
    lines: List[Tuple[Optional[int], ...]] = []
    for start, end, line in code.co_lines():
        lines += [(line, None, None, None)] * ((end - start) // 2)
    return lines
