"""Long lists of names: in natural order, and with the numbers of repeated blocks folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_NUMBER = re.compile(r"(\d+)")
_FEW = 3
"""Names that are folded at least; fewer are as short written out."""


Box = tuple[tuple[str, ...], ...]
"""Numbers by position: every combination of them is meant."""


class Row(NamedTuple):
    name: str
    """With `{0…11}` for numbers that vary."""
    text: str
    names: int
    """How many names it stands for."""


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts `h/2` before `h/10`."""
    parts = _NUMBER.split(name)
    return tuple((1, int(part), part) if at % 2 else (0, 0, part) for at, part in enumerate(parts))


def fold(rows: Iterable[tuple[str, str]]) -> list[Row]:
    """Rows of a name and a text in natural order; names that differ in numbers alone, and in nothing else, together.

    A folded row stands for every combination of its numbers: `h/{0…1}/ln_{1…2}` are four names.
    """
    groups: dict[tuple[tuple[str, ...], str], set[tuple[str, ...]]] = {}
    folded: list[Row] = []
    for name, text in rows:
        parts = _NUMBER.split(name)
        group = groups.setdefault((tuple(parts[::2]), text), set())
        numbers = tuple(parts[1::2])
        if numbers in group:  # the same name once more
            folded.append(Row(name, text, 1))
        group.add(numbers)
    for (words, text), numbers in groups.items():
        for box in _boxes(numbers):
            count = 1
            for values in box:
                count *= len(values)
            if count >= _FEW:
                folded.append(Row(_join(words, [_span(values) for values in box]), text, count))
                continue
            folded += [Row(_join(words, row), text, 1) for row in sorted(numbers) if _inside(row, box)]
    # A folded name has its first number where its first name has it: the order is that of the first names.
    folded.sort(key=lambda row: natural_key(row.name.replace("{", "")))
    return folded


def _boxes(rows: set[tuple[str, ...]]) -> set[Box]:
    """Rows of numbers as products of sets, one set for each position."""
    boxes: set[Box] = {tuple((number,) for number in row) for row in rows}
    for at in reversed(range(len(next(iter(boxes))))):
        merged: dict[tuple[Box, Box], set[str]] = {}
        for box in boxes:
            merged.setdefault((box[:at], box[at + 1 :]), set()).update(box[at])
        boxes = {
            (*before, tuple(sorted(values, key=natural_key)), *after) for (before, after), values in merged.items()
        }
    return boxes


def _inside(row: Sequence[str], box: Sequence[Sequence[str]]) -> bool:
    return all(number in values for number, values in zip(row, box, strict=True))


def _join(words: Sequence[str], numbers: Sequence[str]) -> str:
    return words[0] + "".join(number + word for number, word in zip(numbers, words[1:], strict=True))


def _span(values: Sequence[str]) -> str:
    """`{0…3}`, `{0…2,5}`; a single number stands for itself."""
    if len(values) == 1:
        return values[0]
    spans: list[list[str]] = []
    for value in values:
        if spans and int(value) == int(spans[-1][-1]) + 1:
            spans[-1].append(value)
        else:
            spans.append([value])
    shown = [span[0] if len(span) == 1 else f"{span[0]}…{span[-1]}" for span in spans]
    return "{" + ",".join(shown) + "}"
