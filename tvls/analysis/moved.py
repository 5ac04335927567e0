"""Last good targets of a text that does not parse, moved with the edits since (R8)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import msgspec

from tvls.analysis.types import FoundTarget
from tvls.common_ends import common_ends

_DIFF_LIMIT = 4000
"""Lines of a changed region above which no finer difference is looked for: matching is quadratic."""


class LineMap:
    """Where the lines of an old text are in a new one; lines are 0-based."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.new = new
        before, after = common_ends(old, new)
        self._before, self._after_old = before, len(old) - after
        self._shift = len(new) - len(old)
        self._middle: list[tuple[int, int, int, int, bool]] = []
        a, b = old[before : len(old) - after], new[before : len(new) - after]
        if len(a) + len(b) > _DIFF_LIMIT:
            self._middle = [(before, before + len(a), before, before + len(b), False)]
        else:
            for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
                self._middle.append((before + i1, before + i2, before + j1, before + j2, tag == "equal"))

    def exact(self, line: int) -> int | None:
        """The same line in the new text."""
        if line < self._before:
            return line
        if line >= self._after_old:
            return line + self._shift
        for i1, i2, j1, _, equal in self._middle:
            if i1 <= line < i2:
                return j1 + line - i1 if equal else None
        return None

    def near(self, line: int) -> range:
        """New lines that took the place of an old one."""
        for i1, i2, j1, j2, equal in self._middle:
            if i1 <= line < i2 and not equal:
                return range(j1, j2)
        return range(0)

    def at_most(self, line: int) -> int:
        """The new line that ends what ended at an old one."""
        while line >= 0:
            if (found := self.exact(line)) is not None:
                return found
            line -= 1
        return 0


def moved(targets: Sequence[FoundTarget], lines: LineMap) -> list[FoundTarget]:
    """Targets where their header line is now. One whose header is gone is dropped."""
    result: list[FoundTarget] = []
    for target in targets:
        name_line = lines.exact(target.name_line - 1)
        column, end_column = target.column, target.end_column
        if name_line is None:
            short = re.escape(target.name.rpartition(".")[2])
            pattern = re.compile(rf"\s*(?:(?:async\s+)?(?:def|class)\s+)?({short})\b")
            for number in lines.near(target.name_line - 1):
                if found := pattern.match(lines.new[number]):
                    name_line = number
                    column = len(lines.new[number][: found.start(1)].encode(errors="surrogatepass"))
                    end_column = column + len(found[1].encode())
                    break
            else:
                continue
        shift = name_line + 1 - target.name_line
        end = max(lines.at_most(target.end_line - 1), name_line)
        header_end = min(max(lines.at_most(target.header_end_line - 1), name_line), end)
        result.append(
            msgspec.structs.replace(
                target,
                line=max(target.line + shift, 1),
                name_line=name_line + 1,
                column=column,
                end_column=end_column,
                header_end_line=header_end + 1,
                end_line=end + 1,
            )
        )
    return result
