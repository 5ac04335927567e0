"""Where the lines of an older text are in a newer one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher

from tvls.common_ends import common_ends

_MAX_DIFFED_LINES = 200
"""Longest changed middle that is compared line by line, whose cost is quadratic."""


class LineMap:
    """Maps 1-based lines between two texts. A line that has no equal counterpart maps to None."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        prefix, suffix = common_ends(old, new)
        self._blocks: list[tuple[int, int, int]] = [(0, 0, prefix)]  # first old line, first new line, length; 0-based
        old_middle, new_middle = old[prefix : len(old) - suffix], new[prefix : len(new) - suffix]
        if max(len(old_middle), len(new_middle)) <= _MAX_DIFFED_LINES:
            matcher = SequenceMatcher(None, old_middle, new_middle, autojunk=False)
            blocks = [(block.a, block.b, block.size) for block in matcher.get_matching_blocks() if block.size]
        else:
            blocks = _blocks_of_unique_lines(old_middle, new_middle)
        self._blocks += [(prefix + old_start, prefix + new_start, size) for old_start, new_start, size in blocks]
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


def _blocks_of_unique_lines(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """Patience diff without its recursion: lines that occur once on both sides anchor, their equal neighbours join."""
    counts = Counter(old), Counter(new)
    places = {line: at for at, line in enumerate(new) if counts[1][line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(old) if counts[0][line] == 1 and line in places]
    blocks: list[tuple[int, int, int]] = []
    old_free = new_free = 0
    for anchor_old, anchor_new in _longest_increasing(pairs):
        if anchor_old < old_free:  # inside the block before
            continue
        start = 0
        while (
            anchor_old - start > old_free
            and anchor_new - start > new_free
            and old[anchor_old - start - 1] == new[anchor_new - start - 1]
        ):
            start += 1
        end = 1
        while (
            anchor_old + end < len(old)
            and anchor_new + end < len(new)
            and old[anchor_old + end] == new[anchor_new + end]
        ):
            end += 1
        blocks.append((anchor_old - start, anchor_new - start, start + end))
        old_free, new_free = anchor_old + end, anchor_new + end
    return blocks


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pairs sorted by their first part, a longest run whose second parts rise too."""
    tails: list[int] = []  # second part of the last pair of the best run of each length
    ends: list[int] = []  # and that pair's index
    previous: list[int | None] = []
    for at, (_, second) in enumerate(pairs):
        length = bisect_left(tails, second)
        previous.append(ends[length - 1] if length else None)
        tails[length : length + 1] = [second]
        ends[length : length + 1] = [at]
    run: list[tuple[int, int]] = []
    at = ends[-1] if ends else None
    while at is not None:
        run.append(pairs[at])
        at = previous[at]
    return run[::-1]
