"""Where the lines of an older text are in a newer one."""

from __future__ import annotations

from difflib import SequenceMatcher

_MAX_DIFFED_LINES = 4_000
"""Longest changed middle that is compared line by line; in a longer one only the unchanged ends are mapped."""


class LineMap:
    """Maps 1-based lines between two texts. A line that has no equal counterpart maps to None."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        prefix = 0
        while prefix < min(len(old), len(new)) and old[prefix] == new[prefix]:
            prefix += 1
        suffix = 0
        while suffix < min(len(old), len(new)) - prefix and old[-1 - suffix] == new[-1 - suffix]:
            suffix += 1
        self._blocks: list[tuple[int, int, int]] = [(0, 0, prefix)]  # first old line, first new line, length; 0-based
        old_middle, new_middle = old[prefix : len(old) - suffix], new[prefix : len(new) - suffix]
        if max(len(old_middle), len(new_middle)) <= _MAX_DIFFED_LINES:
            matcher = SequenceMatcher(None, old_middle, new_middle, autojunk=False)
            self._blocks += [
                (prefix + block.a, prefix + block.b, block.size)
                for block in matcher.get_matching_blocks()
                if block.size
            ]
        self._blocks.append((len(old) - suffix, len(new) - suffix, suffix))

    def to_new(self, line: int) -> int | None:
        for old_start, new_start, size in self._blocks:
            if old_start <= line - 1 < old_start + size:
                return line - old_start + new_start
        return None

    def to_old(self, line: int) -> int | None:
        for old_start, new_start, size in self._blocks:
            if new_start <= line - 1 < new_start + size:
                return line - new_start + old_start
        return None
