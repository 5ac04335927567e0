"""What a view shows: the nodes that a set of expanded scopes makes visible, and the data that flows between them.

A page costs what it shows. Counts and borders of scopes are known from the index, collapsed scopes are never entered,
and the layout (which stretch of which scope's children is visible where) is kept between the pages of one view.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from tvls.graph.cursor import question, read_cursor, write_cursor
from tvls.graph.describe import constant_node, input_node, operation_node, output_node, scope_node, value_info
from tvls.graph.index import Graph, GraphIndex
from tvls.protocol import types as t

T = TypeVar("T")

DEFAULT_LIMIT = 200
MAX_LIMIT = 2_000
_LAYOUTS_KEPT = 8


class View(NamedTuple):
    nodes: list[t.Node]
    edges: list[t.Edge]
    """Edges whose target is among the nodes."""
    total: int
    next_cursor: str | None


@dataclass
class Layout:
    """Visible children as stretches of the children of open scopes, in the order shown."""

    open: dict[int, str]
    """Scopes whose children are visible, with the id that these have as parent: empty at the top level."""
    stretches: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """Scope, and the half-open range of its children."""
    starts: list[int] = field(default_factory=list[int])
    """Position of each stretch among the visible children."""
    total: int = 0
    fingerprint: str = ""
    """Of the expanded scopes that were asked for."""
    shown_by: dict[int, str | None] = field(default_factory=dict[int, str | None])
    """Scope → id of the collapsed scope that stands for its operations; None where they are visible themselves."""


def view(
    index: GraphIndex,
    expanded: Iterable[str] = (),
    body: str | None = None,
    cursor: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> View:
    """One page of the visible nodes and the edges into them.

    Order: inputs, then the program depth first (an expanded scope before its contents), then constants that are
    outputs, then outputs. `expanded` are ids of scope nodes; ids that the graph does not have are ignored. `limit` is
    clamped to 1 … 2,000. Raises `nodeNotFound` for an unknown body and `cursorInvalid`.
    """
    graph = index.graph(body)
    ids = frozenset(expanded)
    layout = _layout(graph, ids)
    inputs, constants, outputs = graph.inputs, graph.quiet_outputs, graph.outputs
    first_constant = len(inputs) + layout.total
    first_output = first_constant + len(constants)
    total = first_output + len(outputs)

    asked = question([index.capture_id, body or "", layout.fingerprint])
    start = read_cursor(cursor, asked, total)
    stop = min(start + max(1, min(limit, MAX_LIMIT)), total)

    nodes: list[t.Node] = [input_node(graph, port) for port in inputs[start:stop]]
    edges: list[t.Edge] = []
    for child, scope in _children(graph, layout, start - len(inputs), stop - len(inputs)):
        parent = layout.open[scope]
        if child >= 0:
            nodes.append(operation_node(graph, child, parent, body))
            edges += _operation_edges(graph, layout, child)
        else:
            is_open = ~child in layout.open
            if is_open:
                nodes.append(scope_node(graph, ~child, parent, expanded=True))
                continue
            node = graph.scope_nodes.get(~child)
            if node is None:
                node = graph.scope_nodes[~child] = scope_node(graph, ~child, parent)
            nodes.append(node)
            edges += _scope_edges(graph, layout, ~child)
    nodes += [constant_node(graph, value) for value in _slice(constants, start - first_constant, stop - first_constant)]
    for port in _slice(outputs, start - first_output, stop - first_output):
        nodes.append(output_node(graph, port))
        value = port.operand.get("value")
        if value is not None:
            edges.append(t.Edge(source=_source(graph, layout, value), target=port.id, value=value_info(graph, value)))
    return View(nodes, edges, total, write_cursor(asked, stop) if stop < total else None)


def _layout(graph: Graph, expanded: frozenset[str]) -> Layout:
    kept: dict[frozenset[str], Layout] = graph.layouts
    known = kept.get(expanded)
    if known is None:
        known = kept[expanded] = _make_layout(graph, expanded)
        while len(kept) > _LAYOUTS_KEPT:
            graph.layouts.popitem(last=False)
    graph.layouts.move_to_end(expanded)
    return known


def _make_layout(graph: Graph, expanded: frozenset[str]) -> Layout:
    opened_in: dict[int, list[int]] = {}
    for node in expanded:
        scope = graph.scopes_by_id.get(node.removeprefix("scope:")) if node.startswith("scope:") else None
        if scope is not None and scope not in graph.wrappers:
            opened_in.setdefault(graph.parent(scope), []).append(scope)

    slots = graph.slots

    def last_first(scope: int) -> list[int]:
        return sorted(opened_in.get(scope, ()), key=slots.__getitem__, reverse=True)

    layout = Layout(open=dict.fromkeys(graph.wrappers, ""), fingerprint=question(sorted(expanded)))
    # Each entry: a scope and the children of it from `start` on that are still to be shown.
    top = graph.wrappers[-1]
    pending: list[tuple[int, int, list[int]]] = [(top, 0, last_first(top))]
    while pending:
        scope, start, opened = pending.pop()
        if not opened:
            _add_stretch(layout, scope, start, len(graph.children[scope]))
            continue
        inner = opened.pop()
        after = slots[inner] + 1
        _add_stretch(layout, scope, start, after)
        pending.append((scope, after, opened))
        layout.open[inner] = f"scope:{graph.scopes[inner]['id']}"
        pending.append((inner, 0, last_first(inner)))
    return layout


def _add_stretch(layout: Layout, scope: int, start: int, stop: int) -> None:
    if stop > start:
        layout.stretches.append((scope, start, stop))
        layout.starts.append(layout.total)
        layout.total += stop - start


def _children(graph: Graph, layout: Layout, start: int, stop: int) -> Iterable[tuple[int, int]]:
    """Visible children at positions `start` to `stop`, with the scope that they stand in."""
    start, stop = max(start, 0), min(stop, layout.total)
    at = bisect_right(layout.starts, start) - 1
    while start < stop:
        scope, first, last = layout.stretches[at]
        offset = layout.starts[at]
        taken = min(stop - offset, last - first)
        for child in graph.children[scope][first + start - offset : first + taken]:
            yield child, scope
        start = offset + taken
        at += 1


def _slice(items: list[T], start: int, stop: int) -> list[T]:
    return items[max(start, 0) : max(stop, 0)]


def _operation_edges(graph: Graph, layout: Layout, operation: int) -> list[t.Edge]:
    found = graph.operations[operation]
    target = f"op:{found['id']}"
    quiet = graph.quiet
    return [
        t.Edge(source=_source(graph, layout, value), target=target, value=value_info(graph, value), argument=argument)
        for argument, operand in enumerate(found["inputs"])
        if (value := operand.get("value")) is not None and not quiet[value]
    ]


def _scope_edges(graph: Graph, layout: Layout, scope: int) -> Iterable[t.Edge]:
    first: dict[str, int] = {}
    counts: dict[str, int] = {}
    for value in graph.flow.inputs.get(scope, ()):
        source = _source(graph, layout, value)
        first.setdefault(source, value)
        counts[source] = counts.get(source, 0) + 1
    target = f"scope:{graph.scopes[scope]['id']}"
    for source, value in first.items():
        yield t.Edge(source=source, target=target, value=value_info(graph, value), count=counts[source])


def _source(graph: Graph, layout: Layout, value: int) -> str:
    """Id of the visible node that a value comes from."""
    operation = graph.producer[value]
    if operation < 0:
        return f"const:{value}" if graph.quiet[value] else graph.input_ids[value]
    made_by = graph.operations[operation]
    scope = made_by["scope"]
    shown_by = layout.shown_by
    if scope not in shown_by:
        shown_by[scope] = _stands_for(graph, layout, scope)
    return shown_by[scope] or f"op:{made_by['id']}"


def _stands_for(graph: Graph, layout: Layout, scope: int) -> str | None:
    if scope in layout.open:
        return None
    while graph.parent(scope) not in layout.open:
        scope = graph.parent(scope)
    return f"scope:{graph.scopes[scope]['id']}"
