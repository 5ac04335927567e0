"""From a place in the source to the operations that come from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from typing import NamedTuple, cast

from tvls.capture.document import Frame
from tvls.graph.index import Graph, GraphIndex, Located
from tvls.protocol import types as t

DEFAULT_HITS = 100


class Stack(NamedTuple):
    """Operations of one graph that have exactly the same frames."""

    located: Located
    frames: list[int]
    operations: list[int]


@dataclass
class Positions:
    """Workspace frames by the lines that they cover, and the stacks that each is part of."""

    at_line: dict[tuple[str, int], list[int]] = field(default_factory=dict[tuple[str, int], list[int]])
    stacks: dict[int, list[Stack]] = field(default_factory=dict[int, list[Stack]])


class Hits(NamedTuple):
    nodes: list[t.NodeHit]
    total: int


def positions(index: GraphIndex) -> Positions:
    """Built at the first question and kept with the index."""
    known = cast(Positions | None, index.caches.get("positions"))
    if known is None:
        known = index.caches["positions"] = _build(index)
    return known


def _build(index: GraphIndex) -> Positions:
    found = Positions()
    table = index.capture["frames"]
    workspace = [frame["workspace"] for frame in table]
    for located in index.graphs:
        stacks: dict[tuple[int, ...], Stack] = {}
        for at, operation in enumerate(located.graph.operations):
            key = tuple(operation["frames"])
            stack = stacks.get(key)
            if stack is None:
                stack = stacks[key] = Stack(located, operation["frames"], [])
                for frame in dict.fromkeys(key):
                    if workspace[frame]:
                        found.stacks.setdefault(frame, []).append(stack)
            stack.operations.append(at)
    for at in found.stacks:
        frame = table[at]
        for line in range(frame["line"], frame.get("endLine", frame["line"]) + 1):
            found.at_line.setdefault((frame["path"], line), []).append(at)
    return found


def contains(frame: Frame, line: int, column: int) -> bool:
    """Whether a position (1-based line, UTF-8 byte column) lies in the range of a frame. Its end counts as inside."""
    start = frame.get("column")
    end = frame.get("endColumn")
    if start is None or end is None:
        return False
    return (frame["line"], start) <= (line, column) <= (frame.get("endLine", frame["line"]), end)


def extent(frame: Frame) -> tuple[int, int]:
    """Orders ranges that overlap: fewer lines first, then fewer bytes (meaningful within one line)."""
    return (
        frame.get("endLine", frame["line"]) - frame["line"],
        (frame.get("endColumn") or 0) - (frame.get("column") or 0),
    )


def frames_at(index: GraphIndex, path: str, line: int, column: int) -> tuple[list[int], list[int]]:
    """Workspace frames whose range contains the position, the smallest first, and the others of that line."""
    table = index.capture["frames"]
    here = positions(index).at_line.get((path, line), [])
    inside = [at for at in here if contains(table[at], line, column)]
    # A position between two ranges touches the end of the first; the one that begins there is meant.
    inside.sort(
        key=lambda at: (
            (table[at].get("endLine", line), table[at].get("endColumn")) == (line, column),
            extent(table[at]),
        )
    )
    chosen = set(inside)
    return inside, [at for at in here if at not in chosen]


def operations_of(index: GraphIndex, frame: int) -> Iterator[tuple[Located, int]]:
    """Operations with this frame: first those for which it is the innermost workspace frame, each in program order."""
    table = index.capture["frames"]
    inner: list[Stack] = []
    outer: list[Stack] = []
    for stack in positions(index).stacks.get(frame, ()):
        innermost = next(at for at in stack.frames if table[at]["workspace"])
        (inner if innermost == frame else outer).append(stack)
    for group in (inner, outer):
        yield from _in_program_order(group)


def _in_program_order(stacks: Iterable[Stack]) -> Iterator[tuple[Located, int]]:
    by_graph: dict[int, tuple[Located, list[list[int]]]] = {}
    for stack in stacks:
        by_graph.setdefault(id(stack.located), (stack.located, []))[1].append(stack.operations)
    for located, runs in by_graph.values():
        for operation in merge(*runs):
            yield located, operation


def nodes_at(index: GraphIndex, path: str, line: int, column: int, limit: int = DEFAULT_HITS) -> Hits:
    """Operations that come from a source position, those of bodies included; at most `limit` of `total`.

    `path` is workspace-relative, `line` 1-based, `column` a UTF-8 byte offset. Operations whose range contains the
    position come first, the smallest range first; then those that only share the line.
    """
    inside, beside = frames_at(index, path, line, column)
    stacks = {id(stack): stack for at in (*inside, *beside) for stack in positions(index).stacks[at]}
    total = sum(len(stack.operations) for stack in stacks.values())
    hits: list[t.NodeHit] = []
    seen: set[tuple[int, int]] = set()
    for at in (*inside, *beside):
        for located, operation in operations_of(index, at):
            if len(hits) >= limit:
                return Hits(hits, total)
            key = (id(located), operation)
            if key not in seen:
                seen.add(key)
                hits.append(operation_hit(index, located, operation))
    return Hits(hits, total)


def operation_hit(index: GraphIndex, located: Located, operation: int) -> t.NodeHit:
    graph: Graph = located.graph
    found = graph.operations[operation]
    return t.NodeHit(
        capture_id=index.capture_id,
        node=f"op:{found['id']}",
        label=found["primitive"],
        scopes=graph.scopes_to_expand(found["scope"]),
        body=located.body,
    )
