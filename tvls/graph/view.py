"""What a view shows: the nodes that a set of expanded scopes makes visible, and the data that flows between them.

A page costs what it shows. Counts and borders of scopes are known from the index, collapsed scopes are never entered,
and the layout (which stretch of which scope's children is visible where) is kept between the pages of one view.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from tvls.graph.cursor import question, read_cursor, write_cursor
from tvls.graph.describe import (
    constant_node,
    input_node,
    operation_node,
    output_node,
    scope_node,
    structure_node,
    value_info,
)
from tvls.graph.folds import Fold, fold_info, folds
from tvls.graph.index import Graph, GraphIndex, Port
from tvls.graph.noise import WORDS, operation_noise, parameter_inputs, passed_on, scope_noise
from tvls.graph.structures import Structure, output_structures
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
    noise: dict[str, int]
    """Nodes of each kind of noise over all pages, hidden or not."""
    hidden: int
    """Nodes that are left out, over all pages."""


class Shown(NamedTuple):
    """How repeats, noise and nested outputs are shown."""

    fold: bool = False
    instances: frozenset[tuple[str, int]] = frozenset()
    hide: frozenset[str] = frozenset()
    structures: bool = False


class Around(NamedTuple):
    """An open fold around a place, with the member that it shows."""

    fold: Fold
    shown: int


class ShownOutput(NamedTuple):
    """An output or a structure of several, with the id of the open structure around it."""

    what: Port | Structure
    parent: str
    open: bool


class Source(NamedTuple):
    """The visible node that data comes from."""

    node: str
    through: int = 0
    folded: bool = False


@dataclass
class Layout:
    """Visible children as stretches of the children of open scopes, in the order shown."""

    how: Shown
    open: dict[int, str]
    """Scopes whose children are visible, with the id that these have as parent: empty at the top level."""
    chosen: dict[Fold, int] = field(default_factory=dict[Fold, int])
    """Which member a fold shows, where it is not the first."""
    stretches: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """Scope, and the half-open range of its shown children."""
    starts: list[int] = field(default_factory=list[int])
    """Position of each stretch among the visible children."""
    total: int = 0
    fingerprint: str = ""
    """Of what was asked for."""
    noise: dict[str, int] = field(default_factory=dict[str, int])
    inputs: list[int] = field(default_factory=list[int])
    """Positions of the inputs that are shown."""
    constants: list[int] = field(default_factory=list[int])
    outputs: list[ShownOutput] = field(default_factory=list[ShownOutput])
    shown_by: dict[int, tuple[str | None, int, bool]] = field(default_factory=dict[int, tuple[str | None, int, bool]])
    """Scope → id of the collapsed scope that stands for its operations (None where they are visible), the scope that is
    shown in its place, and whether that is another one inside an open fold."""
    around: dict[int, tuple[Around, ...]] = field(default_factory=dict[int, tuple[Around, ...]])


def view(
    index: GraphIndex,
    expanded: Iterable[str] = (),
    body: str | None = None,
    cursor: str | None = None,
    limit: int = DEFAULT_LIMIT,
    *,
    fold: bool = False,
    instances: Mapping[str, int] | None = None,
    hide: Iterable[str] = (),
    structures: bool = False,
) -> View:
    """One page of the visible nodes and the edges into them.

    Order: inputs, then the program depth first (an expanded scope before its contents), then constants that are
    outputs, then outputs; no node reads from one that stands after it. `expanded` are ids of scope nodes; ids that the
    graph does not have are ignored, as are words of `hide` that name no noise. With `fold`, neighbours of equal
    structure are one node, of which `instances` says which one it shows; with `structures`, many outputs are nodes of
    their nested structure. `limit` is clamped to 1 … 2,000. Raises
    `nodeNotFound` for an unknown body and `cursorInvalid`.
    """
    graph = index.graph(body)
    chosen = frozenset((instances or {}).items()) if fold else frozenset[tuple[str, int]]()
    how = Shown(fold, chosen, frozenset(hide) & set(WORDS), structures)
    layout = _layout(graph, frozenset(expanded), how)
    inputs, constants, outputs = layout.inputs, layout.constants, layout.outputs
    first_constant = len(inputs) + layout.total
    first_output = first_constant + len(constants)
    total = first_output + len(outputs)

    asked = question([index.capture_id, body or "", layout.fingerprint])
    start = read_cursor(cursor, asked, total)
    stop = min(start + max(1, min(limit, MAX_LIMIT)), total)

    ports = graph.inputs
    nodes: list[t.Node] = [input_node(graph, ports[at]) for at in inputs[start:stop]]
    edges: list[t.Edge] = []
    for child, scope in _children(graph, layout, start - len(inputs), stop - len(inputs)):
        parent = layout.open[scope]
        if child >= 0:
            nodes.append(operation_node(graph, child, parent, body))
            edges += _operation_edges(graph, layout, child)
            continue
        found = folds(graph).of.get(~child) if fold else None
        if found is not None:
            nodes.append(_fold_node(graph, layout, found[0], parent))
            if _member(layout, found[0]) not in layout.open:
                edges += _scope_edges(graph, layout, found[0].members, scope)
        elif ~child in layout.open:
            nodes.append(scope_node(graph, ~child, parent, expanded=True))
        else:
            nodes.append(_collapsed(graph, ~child, parent))
            edges += _scope_edges(graph, layout, [~child], scope)
    nodes += [constant_node(graph, value) for value in _slice(constants, start - first_constant, stop - first_constant)]
    for output in _slice(outputs, start - first_output, stop - first_output):
        if isinstance(output.what, Port):
            nodes.append(output_node(graph, output.what, output.parent))
        else:
            nodes.append(structure_node(output.what, output.parent, expanded=output.open))
        if not output.open:
            edges += _output_edges(graph, layout, output.what)
    more = write_cursor(asked, stop) if stop < total else None
    hidden = sum(layout.noise[word] for word in how.hide)
    return View(nodes, edges, total, more, {word: n for word, n in layout.noise.items() if n}, hidden)


# --- what is visible -------------------------------------------------------------------------------------------------


def _layout(graph: Graph, expanded: frozenset[str], how: Shown) -> Layout:
    key = (expanded, how)
    known: Layout | None = graph.layouts.get(key)
    if known is None:
        known = graph.layouts[key] = _make_layout(graph, expanded, how)
        while len(graph.layouts) > _LAYOUTS_KEPT:
            graph.layouts.popitem(last=False)
    graph.layouts.move_to_end(key)
    return known


def _make_layout(graph: Graph, expanded: frozenset[str], how: Shown) -> Layout:
    layout = Layout(how, open=dict.fromkeys(graph.wrappers, ""))
    plain = how == Shown()
    named = [str(how.fold), str(sorted(how.instances)), str(sorted(how.hide)), str(how.structures)]
    layout.fingerprint = question([*sorted(expanded), *([] if plain else named)])
    if how.instances:
        _choose(graph, layout)
    opened_in: dict[int, dict[int, None]] = {}
    wrappers = frozenset(graph.wrappers)
    for node in expanded:
        scope = graph.scopes_by_node.get(node)
        if scope is not None and scope not in wrappers:
            if how.fold:
                scope = _in_place_of(graph, layout, scope)
            opened_in.setdefault(graph.parent(scope), {})[scope] = None

    def slot(scope: int) -> int:
        first = _first_member(graph, scope) if how.fold else scope
        return _row(graph, graph.parent(scope), how)[1][first]

    def last_first(scope: int) -> list[int]:
        return sorted(opened_in.get(scope, ()), key=slot, reverse=True)

    # Each entry: a scope and the shown children of it from `start` on that are still to be placed.
    top = graph.wrappers[-1]
    pending: list[tuple[int, int, list[int]]] = [(top, 0, last_first(top))]
    while pending:
        scope, start, opened = pending.pop()
        if not opened:
            _add_stretch(layout, scope, start, len(_row(graph, scope, how)[0]))
            continue
        inner = opened.pop()
        after = slot(inner) + 1
        _add_stretch(layout, scope, start, after)
        pending.append((scope, after, opened))
        layout.open[inner] = graph.scope_node_id(_first_member(graph, inner) if how.fold else inner)
        pending.append((inner, 0, last_first(inner)))
    _count_noise(graph, layout)
    layout.outputs = list(_shown_outputs(output_structures(graph).parts if how.structures else graph.outputs, expanded))
    return layout


def _shown_outputs(
    parts: Sequence[Port | Structure], expanded: frozenset[str], parent: str = ""
) -> Iterable[ShownOutput]:
    for part in parts:
        opened = isinstance(part, Structure) and part.id in expanded
        yield ShownOutput(part, parent, opened)
        if isinstance(part, Structure) and opened:
            yield from _shown_outputs(part.parts, expanded, part.id)


def _choose(graph: Graph, layout: Layout) -> None:
    """Reads the chosen instances. One named inside another member than the one shown counts for its counterpart."""
    named: list[tuple[int, int, int]] = []
    for node, instance in layout.how.instances:
        scope = graph.scopes_by_node.get(node)
        if scope is not None and scope in folds(graph).of:
            named.append((len(graph.scope_chain(scope)), scope, instance))
    exact: set[Fold] = set()
    for _, scope, instance in sorted(named):
        place = _in_place_of(graph, layout, graph.parent(scope))
        same_place = place == graph.parent(scope)
        inner = scope if same_place else _counterpart_below(graph, layout, scope)
        found = folds(graph).of.get(inner)
        if found is None or (found[0] in exact and not same_place):
            continue
        layout.chosen[found[0]] = max(0, min(instance, len(found[0].members) - 1))
        if same_place:
            exact.add(found[0])


def _counterpart_below(graph: Graph, layout: Layout, scope: int) -> int:
    """The scope that stands for `scope` as far as the folds around it go, whatever the fold that it is in shows."""
    found = folds(graph).of[scope]
    parent_place = graph.children[graph.parent(scope)].index(~found[0].members[0])
    return ~graph.children[_in_place_of(graph, layout, graph.parent(scope))][parent_place]


def _in_place_of(graph: Graph, layout: Layout, scope: int) -> int:
    """The scope that is shown in place of `scope`: its counterpart in the members that folds show."""
    of = folds(graph).of
    chain = graph.scope_chain(scope)
    for depth in range(len(chain)):
        found = of.get(chain[depth])
        if found is not None:
            fold, member = found
            shown = layout.chosen.get(fold, 0)
            if shown != member:
                scope = fold.scope_counterpart(graph, scope, member, shown)
                chain = graph.scope_chain(scope)
    return scope


def _operation_in_place_of(graph: Graph, layout: Layout, operation: int) -> int:
    of = folds(graph).of
    chain = graph.scope_chain(graph.home[operation])
    for depth in range(len(chain)):
        found = of.get(chain[depth])
        if found is not None:
            fold, member = found
            shown = layout.chosen.get(fold, 0)
            if shown != member:
                operation = fold.counterpart(operation, member, shown)
                chain = graph.scope_chain(graph.home[operation])
    return operation


def _first_member(graph: Graph, scope: int) -> int:
    found = folds(graph).of.get(scope)
    return found[0].members[0] if found else scope


def _member(layout: Layout, fold: Fold) -> int:
    return fold.members[layout.chosen.get(fold, 0)]


Row = tuple[list[int], dict[int, int] | list[int]]


def _row(graph: Graph, scope: int, how: Shown) -> Row:
    """Children of a scope that are shown, and for each scope among them its position."""
    children = graph.children[scope]
    if not how.fold and not how.hide:
        return children, graph.slots
    key = (scope, how.fold, how.hide)
    known: Row | None = graph.rows.get(key)
    if known is None:
        noise = operation_noise(graph)
        of = folds(graph).of if how.fold else {}
        shown = [
            child
            for child in children
            if (noise[child] not in how.hide if child >= 0 else ((found := of.get(~child)) is None or found[1] == 0))
        ]
        slots = {~child: slot for slot, child in enumerate(shown) if child < 0}
        known = graph.rows[key] = (shown, slots)
    return known


def _count_noise(graph: Graph, layout: Layout) -> None:
    counts = [0] * len(WORDS)
    each = scope_noise(graph)
    for scope in layout.open:
        for at, count in enumerate(each[scope]):
            counts[at] += count
    layout.noise = dict(zip(WORDS, counts, strict=True))
    hide = layout.how.hide
    parameters = parameter_inputs(graph)
    layout.noise["parameter"] += len(parameters)
    layout.noise["constant"] += len(graph.quiet_outputs)
    layout.inputs = [
        at
        for at, port in enumerate(graph.inputs)
        if "parameter" not in hide or port.operand.get("value") not in parameters
    ]
    layout.constants = [] if "constant" in hide else graph.quiet_outputs


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
        for child in _row(graph, scope, layout.how)[0][first + start - offset : first + taken]:
            yield child, scope
        start = offset + taken
        at += 1


def _slice(items: list[T], start: int, stop: int) -> list[T]:
    return items[max(start, 0) : max(stop, 0)]


# --- scopes ----------------------------------------------------------------------------------------------------------


def _collapsed(graph: Graph, scope: int, parent: str) -> t.Node:
    node = graph.scope_nodes.get(scope)
    if node is None or node.parent != parent:  # the parent is another one where a fold shows the scope around
        node = graph.scope_nodes[scope] = scope_node(graph, scope, parent)
    return node


def _fold_node(graph: Graph, layout: Layout, fold: Fold, parent: str) -> t.Node:
    instance = layout.chosen.get(fold, 0)
    member = fold.members[instance]
    expanded = member in layout.open
    node = scope_node(graph, member, parent, expanded=True) if expanded else _collapsed(graph, member, parent)
    info = graph.fold_infos.get((fold.members[0], instance))
    if info is None:
        info = graph.fold_infos[fold.members[0], instance] = fold_info(graph, fold, instance)
    return replace(node, id=graph.scope_node_id(fold.members[0]), fold=info)


# --- edges -----------------------------------------------------------------------------------------------------------


def _edge(graph: Graph, source: Source, target: str, value: int, argument: int | None = None, count: int = 1) -> t.Edge:
    return t.Edge(
        source=source.node,
        target=target,
        value=value_info(graph, value),
        count=count,
        argument=argument,
        through=source.through,
        folded=source.folded,
    )


def _operation_edges(graph: Graph, layout: Layout, operation: int) -> list[t.Edge]:
    found = graph.operations[operation]
    target = f"op:{found['id']}"
    quiet, home = graph.quiet, graph.home[operation]
    return [
        _edge(graph, source, target, value, argument)
        for argument, operand in enumerate(found["inputs"])
        if (value := operand.get("value")) is not None
        and not quiet[value]
        and (source := _source(graph, layout, value, home)) is not None
    ]


def _scope_edges(graph: Graph, layout: Layout, scopes: list[int], parent: int) -> Iterable[t.Edge]:
    """Into a collapsed scope, or into several that are shown as one."""
    members = frozenset(scopes) if len(scopes) > 1 else None
    values = dict.fromkeys(value for scope in scopes for value in graph.flow.inputs.get(scope, ()))
    read = [value for value in values if members is None or not _made_in(graph, value, members)]
    return _joined_edges(graph, layout, read, graph.scope_node_id(scopes[0]), parent)


def _output_edges(graph: Graph, layout: Layout, output: Port | Structure) -> Iterable[t.Edge]:
    """Into an output, or into several that are shown as one. A literal comes from nowhere."""
    ports = [output] if isinstance(output, Port) else output.ports
    values = [value for port in ports if (value := port.operand.get("value")) is not None]
    return _joined_edges(graph, layout, values, output.id, 0)


def _joined_edges(graph: Graph, layout: Layout, values: Iterable[int], target: str, parent: int) -> Iterable[t.Edge]:
    """One edge from each visible node, into a target that stands in the open scope `parent`."""
    first: dict[str, tuple[int, Source]] = {}
    counts: dict[str, int] = {}
    for value in values:
        source = _source(graph, layout, value, parent)
        if source is None:
            continue
        first.setdefault(source.node, (value, source))
        counts[source.node] = counts.get(source.node, 0) + 1
    for node, (value, source) in first.items():
        yield _edge(graph, source, target, value, count=counts[node])


def _made_in(graph: Graph, value: int, scopes: frozenset[int]) -> bool:
    made = graph.producer[value]
    return made >= 0 and not scopes.isdisjoint(graph.scope_chain(graph.home[made]))


def _source(graph: Graph, layout: Layout, value: int, reader: int) -> Source | None:
    """The visible node that a value comes from, for what stands in the open scope `reader`.

    None where it comes from nothing that is visible: a hidden constant, a parameter.
    """
    how = layout.how
    through, folded = 0, False
    while True:
        made = graph.producer[value]
        if made < 0:
            if graph.quiet[value]:
                shown = not reader and "constant" not in how.hide
                return Source(f"const:{value}", through, folded) if shown else None
            if "parameter" in how.hide and value in parameter_inputs(graph):
                return None
            return Source(graph.input_ids[value], through, folded)
        if how.fold:
            before = _entry(graph, layout, value, reader)
            if before is not None:  # made by a member that is not shown: the first one reads this in its place
                value, folded = before, True
                continue
        scope = graph.home[made]
        known = layout.shown_by.get(scope)
        if known is None:
            known = layout.shown_by[scope] = _stands_for(graph, layout, scope)
        node, place, moved = known
        if node is not None:
            return Source(node, through, folded or moved)
        if place != scope:
            made = _operation_in_place_of(graph, layout, made)
        if how.hide and (noise := operation_noise(graph)[made]) in how.hide:
            passed = passed_on(graph, made) if noise == "shape" else None
            if passed is None:
                return None
            value, reader, through = passed, place, through + 1
            folded = folded or moved
            continue
        return Source(f"op:{graph.operations[made]['id']}", through, folded or moved)


def _stands_for(graph: Graph, layout: Layout, scope: int) -> tuple[str | None, int, bool]:
    place = _in_place_of(graph, layout, scope) if layout.how.fold else scope
    moved = False
    if place != scope:
        # The first scope in which the two ways part is a fold; shown open, it shows another member than this.
        pairs = zip(graph.scope_chain(scope), graph.scope_chain(place), strict=True)
        moved = next(b for a, b in pairs if a != b) in layout.open
    if place in layout.open:
        return None, place, moved
    at = place
    while graph.parent(at) not in layout.open:
        at = graph.parent(at)
    return graph.scope_node_id(_first_member(graph, at) if layout.how.fold else at), place, moved


def _entry(graph: Graph, layout: Layout, value: int, reader: int) -> int | None:
    """What stands for a value that the shown member of an open fold around `reader` reads from the member before."""
    around = layout.around.get(reader)
    if around is None:
        of = folds(graph).of
        found = [of[scope] for scope in graph.scope_chain(reader) if scope in of]
        around = layout.around[reader] = tuple(Around(fold, shown) for fold, shown in found if shown)
    for fold, shown in around:
        before = fold.entry.get(value)
        if before is not None and value not in fold.made_by(graph, shown):
            return before
    return None
