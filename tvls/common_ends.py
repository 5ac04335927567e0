"""What two versions of one thing have in common at both ends."""

from __future__ import annotations

from collections.abc import Sequence


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How many items are equal at the beginning, and how many of the others at the end."""
    shorter = min(len(old), len(new))
    before = 0
    while before < shorter and old[before] == new[before]:
        before += 1
    after = 0
    while after < shorter - before and old[-1 - after] == new[-1 - after]:
        after += 1
    return before, after
