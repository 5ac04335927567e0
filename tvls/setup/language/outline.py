"""The profiles of a setup file and their parts, in the order of the text."""

from __future__ import annotations

import msgspec

from tvls.setup.keys import Key
from tvls.setup.language.cursor import Around
from tvls.setup.toml import Part


class Symbol(msgspec.Struct):
    """A key of the file. Offsets: of all that belongs to it, and of its name."""

    name: str
    path: Key
    start: int
    end: int
    part: Part
    detail: str = ""
    children: list[Symbol] = []


def outline(around: Around) -> list[Symbol]:
    """Keys of the top level, profiles, and the keys of each profile with those of `init` and `inputs`."""
    made: dict[Key, Symbol] = {}
    top: list[Symbol] = []
    stops = {part.start: header.stop for header in around.document.headers for part in header.parts[-1:]}
    for node in around.nodes:
        depth = len(node.path)
        if depth > 4 or node.part is None or any(isinstance(part, int) for part in node.path):
            continue
        end = node.value.end if node.value is not None else node.part.end
        if node.header:
            end = max(end, _trimmed(around.text, stops.get(node.part.start, end)))
        for length in range(1, depth):  # what is inside may stand apart from the header of what it is in
            above = made.get(node.path[:length])
            if above is not None:
                above.end = max(above.end, end)
        known = made.get(node.path)
        if known is not None:
            known.end = max(known.end, end)
            continue
        text = node.value.text if node.value is not None and node.value.kind in ("string", "bare") else ""
        detail = text or (around.string((*node.path, "model")) or "")
        symbol = Symbol(str(node.path[-1]), node.path, node.part.start, end, node.part, detail, [])
        made[node.path] = symbol
        parent = made.get(node.path[:-1])
        (top if parent is None else parent.children).append(symbol)
    return top


def profiles(around: Around) -> list[Symbol]:
    """The profiles, each at the first place that names it."""
    return [item for symbol in outline(around) if symbol.path == ("profiles",) for item in symbol.children]


def _trimmed(text: str, stop: int) -> int:
    """The end of the text before `stop` without blank lines."""
    return len(text[:stop].rstrip())
