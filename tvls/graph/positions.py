"""From a place in the source to the operations that come from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple, cast

from tvls.capture.document import Frame
from tvls.graph.folds import instances_to_see
from tvls.graph.index import Graph, GraphIndex, Located
from tvls.graph.text import operation_label
from tvls.protocol import types as t

DEFAULT_HITS = 100


class Stack(NamedTuple):
    """Operations of one graph that have exactly the same frames."""

    located: Located
    frames: list[int]
    operations: list[int]
    """In program order."""


@dataclass
class Of:
    """Stacks that a frame is part of, each list in the order of the first operations, graph by graph."""

    inner: list[Stack] = field(default_factory=list[Stack])
    """Those in which it is the innermost workspace frame."""
    outer: list[Stack] = field(default_factory=list[Stack])


@dataclass
class Positions:
    """Workspace frames by the lines that they cover, and the stacks that each is part of."""

    at_line: dict[tuple[str, int], list[int]] = field(default_factory=dict[tuple[str, int], list[int]])
    of: dict[int, Of] = field(default_factory=dict[int, Of])
    totals: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    """Operations of a line, where they were counted already."""


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
                innermost = True
                for frame in dict.fromkeys(key):
                    if workspace[frame]:
                        of = found.of.get(frame)
                        if of is None:
                            of = found.of[frame] = Of()
                        (of.inner if innermost else of.outer).append(stack)
                        innermost = False
            stack.operations.append(at)
    for at in found.of:
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


def first_operations(stacks: list[Stack], limit: int) -> list[tuple[Located, int]]:
    """The first operations of stacks of one frame, in program order, graph by graph."""
    found: list[tuple[Located, int]] = []
    for located, group in groupby(stacks, key=lambda stack: stack.located):
        left = limit - len(found)
        if left <= 0:
            break
        first: list[int] = []
        for stack in group:
            if len(first) == left and first[-1] < stack.operations[0]:
                break
            first = sorted([*first, *stack.operations[:left]])[:left]
        found += [(located, at) for at in first]
    return found


def nodes_at(index: GraphIndex, path: str, line: int, column: int, limit: int = DEFAULT_HITS) -> Hits:
    """Operations that come from a source position, those of bodies included; at most `limit` of `total`.

    `path` is workspace-relative, `line` 1-based, `column` a UTF-8 byte offset. Operations whose range contains the
    position come first, the smallest range first, the code itself before what it calls; then those that only share the
    line.
    """
    inside, beside = frames_at(index, path, line, column)
    of = positions(index).of
    hits: dict[tuple[int, int], t.NodeHit] = {}
    for at in (*inside, *beside):
        for stacks in (of[at].inner, of[at].outer):
            # As many as are there already may come again.
            for located, operation in first_operations(stacks, limit):
                key = (id(located), operation)
                if len(hits) < limit and key not in hits:
                    hits[key] = operation_hit(index, located, operation)
        if len(hits) >= limit:
            break
    return Hits(list(hits.values()), _total(index, path, line))


def _total(index: GraphIndex, path: str, line: int) -> int:
    known = positions(index)
    total = known.totals.get((path, line))
    if total is None:
        here = [known.of[at] for at in known.at_line.get((path, line), ())]
        stacks = {id(stack): len(stack.operations) for of in here for stack in (*of.inner, *of.outer)}
        total = known.totals[path, line] = sum(stacks.values())
    return total


def operation_hit(index: GraphIndex, located: Located, operation: int) -> t.NodeHit:
    graph: Graph = located.graph
    found = graph.operations[operation]
    return t.NodeHit(
        capture_id=index.capture_id,
        node=f"op:{found['id']}",
        label=operation_label(found["primitive"]),
        scopes=graph.scopes_to_expand(graph.home[operation]),
        body=located.body,
        instances=instances_to_see(graph, graph.home[operation]),
    )
