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
    while traceback is not None:
        code = traceback.tb_frame.f_code
        own = code.co_filename.startswith(_WORKER) or traceback.tb_frame.f_globals.get("__name__", "").startswith(_OWN)
        # Python itself hides the import machinery where it is all that stands between an import and a module.
        if not own and not code.co_filename.startswith("<frozen importlib"):
            line, end_line, column, end_column = _position(code, traceback)
            name: str = getattr(code, "co_qualname", code.co_name)
            frames.append(make_frame(places.portable(code.co_filename), name, line, column, end_line, end_column))
        traceback = traceback.tb_next
    frames.reverse()
    return frames


def _position(code: CodeType, traceback: TracebackType) -> Tuple[int, Optional[int], Optional[int], Optional[int]]:
    # `co_positions` is there from 3.11 on.
    positions: Any = getattr(code, "co_positions", None)
    if positions is not None and traceback.tb_lasti >= 0:
        for index, (line, end_line, column, end_column) in enumerate(positions()):
            if index == traceback.tb_lasti // 2 and line == traceback.tb_lineno:
                return line, end_line, column, end_column
    return traceback.tb_lineno, None, None, None
