"""Lines of an older text in a newer one."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvls.linemap import LineMap

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "    d", "e"]), max_size=40)


def check(old: list[str], new: list[str]) -> LineMap:
    found = LineMap(old, new)
    mapped = [found.to_new(line) for line in range(1, len(old) + 1)]
    kept = [line for line in mapped if line is not None]
    assert kept == sorted(set(kept))  # order is kept, and no line is used twice
    for line, other in enumerate(mapped, 1):
        if other is not None:
            assert old[line - 1] == new[other - 1]
            assert found.to_old(other) == line
    return found


@given(LINES, LINES)
def test_a_map_keeps_content_and_order(old: list[str], new: list[str]) -> None:
    check(old, new)


@given(LINES, LINES, st.randoms(use_true_random=False))
def test_a_large_change_too(old: list[str], new: list[str], rng: random.Random) -> None:
    unique = [f"line {number}" for number in range(300)]
    rng.shuffle(unique)
    check([*old, *unique[:250], *new], [*new, *unique[20:], *old])


def test_an_insertion_moves_what_is_below() -> None:
    text = ["import x", "", "def f():", "    return 1"]
    found = check(text, ["# new", *text])
    assert [found.to_new(line) for line in range(1, 5)] == [2, 3, 4, 5]
    assert found.to_old(1) is None


def test_an_edited_line_has_no_counterpart() -> None:
    found = check(["a", "b", "c"], ["a", "B", "c"])
    assert found.to_new(2) is None
    assert found.to_new(3) == 3


@pytest.mark.parametrize("line", ["x = x + 1.0", ""])
def test_thousands_of_equal_lines_cost_little(line: str) -> None:
    old = ["first", *[line] * 20_000, "last"]
    new = ["changed", *[line] * 20_000, "x", "also changed"]
    start = time.process_time()
    check(old, new)
    assert time.process_time() - start < 5  # quadratic work would take minutes
