"""Neighbouring scopes of equal structure, which a view can show as one: the layers of a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

import msgspec

from tvls.capture.document import Body, Operand, Operation, Value
from tvls.graph.costs import scopes_costs
from tvls.graph.index import Graph, GraphIndex, node_not_found
from tvls.graph.text import literal_text, scope_label
from tvls.protocol import types as t
from tvls.protocol import types_canvas as canvas

_NUMBER: Final = re.compile(r"\d+")


@dataclass(eq=False)
class Fold:
    """Scopes that follow one another directly, each with the same operations in the same order.

    They agree in primitives, types, subprograms and inner wiring; parameters of operations and literals may differ.
    """

    members: list[int]
    operations: list[list[int]]
    """For each member its operations, in one order for all."""
    entry: dict[int, int] = field(default_factory=dict[int, int])
    """Value that a member reads from the one before it → what the first member reads in its place."""
    differences: list[Difference] = field(default_factory=list["Difference"])
    costs: t.Costs | None = None
    """Of all members, once they were asked for."""
    positions: dict[int, dict[int, int]] = field(default_factory=dict[int, dict[int, int]])
    inner: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    made: dict[int, set[int]] = field(default_factory=dict[int, set[int]])

    def counterpart(self, operation: int, of: int, to: int) -> int:
        """The operation of member `to` that stands where `operation` stands in member `of`."""
        at = self.positions.get(of)
        if at is None:
            at = self.positions[of] = {found: place for place, found in enumerate(self.operations[of])}
        return self.operations[to][at[operation]]

    def made_by(self, graph: Graph, member: int) -> set[int]:
        """Values that a member makes."""
        known = self.made.get(member)
        if known is None:
            made = (graph.operations[at]["outputs"] for at in self.operations[member])
            known = self.made[member] = {value for each in made for value in each}
        return known

    def scope_counterpart(self, graph: Graph, scope: int, of: int, to: int) -> int:
        return self._scopes(graph, to)[self._scopes(graph, of).index(scope)]

    def _scopes(self, graph: Graph, member: int) -> list[int]:
        known = self.inner.get(member)
        if known is None:
            known = self.inner[member] = []
            pending = [self.members[member]]
            while pending:
                scope = pending.pop()
                known.append(scope)
                pending += [~child for child in reversed(graph.children[scope]) if child < 0]
        return known


class Difference(NamedTuple):
    place: int
    """Of the operation in each member."""
    name: str


class Folds(NamedTuple):
    of: dict[int, tuple[Fold, int]]
    """Scope → the fold that it is a member of, and which one."""


def folds(graph: Graph) -> Folds:
    """Found at the first question and kept with the graph."""
    known = cast(Folds | None, graph.folds)
    if known is None:
        known = graph.folds = _find(graph)
    return known


def instances_to_see(graph: Graph, scope: int) -> dict[str, int]:
    """Which instances must be chosen to see what stands in `scope`, for folds that show another one at first."""
    of = folds(graph).of
    chosen: dict[str, int] = {}
    for around in graph.scope_chain(scope):
        found = of.get(around)
        if found is not None and found[1]:
            chosen[graph.scope_node_id(found[0].members[0])] = found[1]
    return chosen


def fold_info(graph: Graph, fold: Fold, instance: int) -> t.FoldInfo:
    members = fold.members
    if fold.costs is None:
        fold.costs = scopes_costs(graph, members)
    return t.FoldInfo(
        count=len(members),
        first=_label(graph, members[0]),
        last=_label(graph, members[-1]),
        instance=instance,
        shown=graph.scope_node_id(members[instance]),
        operations=len(members) * len(fold.operations[0]),
        costs=fold.costs,
        chained=bool(fold.entry),
        differences=len(fold.differences),
    )


def fold_details(index: GraphIndex, node: str, body: str | None = None) -> canvas.FoldResult:
    """The neighbours that a folded node stands for. Raises `nodeNotFound` where it stands for itself alone."""
    graph = index.graph(body)
    scope = graph.scopes_by_node.get(node)
    found = None if scope is None else folds(graph).of.get(scope)
    if found is None:
        raise node_not_found(node)
    fold = found[0]
    instances: list[canvas.FoldInstance] = []
    for member in fold.members:
        described = graph.scopes[member]
        names = [graph.values[value].get("name") or "" for value in graph.flow.state.get(member, ())]
        instances.append(
            canvas.FoldInstance(
                node=graph.scope_node_id(member),
                label=scope_label(described),
                path=described.get("path") or "/".join(graph.scope_path(member)),
                parameters=[name for name in names if name],
            )
        )
    differences = [
        canvas.FoldDifference(
            node=graph.operation_node(fold.operations[0][place]),
            name=name,
            values=[_value_text(graph.operations[operations[place]], name) for operations in fold.operations],
        )
        for place, name in fold.differences
    ]
    return canvas.FoldResult(instances=instances, differences=differences)


def _value_text(operation: Operation, name: str) -> str:
    if name.startswith("operand "):
        return literal_text(operation["inputs"][int(name.removeprefix("operand ")) - 1])
    return msgspec.json.encode(operation["params"].get(name)).decode()


def _label(graph: Graph, scope: int) -> str:
    """Name of a scope; a mere number, as of a block in a list, with the name of what it is in."""
    label = scope_label(graph.scopes[scope])
    parent = graph.parent(scope)
    return f"{scope_label(graph.scopes[parent])}/{label}" if label.isdigit() and parent else label


# --- finding them ----------------------------------------------------------------------------------------------------


def _find(graph: Graph) -> Folds:
    found: dict[int, tuple[Fold, int]] = {}
    if not any(scope["kind"] in ("module", "named", "jit", "remat") for scope in graph.scopes):
        return Folds(found)
    shapes = _structures(graph)
    stems = [_stem(graph, scope) for scope in range(len(graph.scopes))]
    for children in graph.children:
        run: list[int] = []
        for child in (*children, 0):
            scope = ~child
            fits = child < 0 and stems[scope] is not None and graph.operation_counts[scope] > 0
            if fits and run and (shapes[run[0]], stems[run[0]]) == (shapes[scope], stems[scope]):
                run.append(scope)
                continue
            if len(run) > 1:
                _add(graph, run, found)
            run = [scope] if fits else []
    return Folds(found)


def _stem(graph: Graph, scope: int) -> str | None:
    """Name without its numbers; None for what is never folded: parts of a scope, and functions without a number."""
    described = graph.scopes[scope]
    label = scope_label(described)
    if scope == 0 or graph.segment(scope)[1] > 1:
        return None
    if described["kind"] != "module" and not _NUMBER.search(label):
        return None
    return _NUMBER.sub("#", label)


def _structures(graph: Graph) -> list[int]:
    """A number for each scope: equal where kinds, classes, primitives and types are, all the way down."""
    numbers: dict[Any, int] = {}
    types = [
        numbers.setdefault((v["dtype"], v.get("weakType", False), v.get("sharding"), *v["shape"]), len(numbers))
        for v in graph.values
    ]
    kinds = [_operation_kind(graph, operation, types, numbers) for operation in graph.operations]
    found = [0] * len(graph.scopes)
    for scope in range(len(graph.scopes) - 1, -1, -1):
        described = graph.scopes[scope]
        label = None if described["kind"] == "module" else _NUMBER.sub("#", scope_label(described))
        inside = tuple([~found[~child] if child < 0 else kinds[child] for child in graph.children[scope]])
        key = (described["kind"], described.get("class"), label, inside)
        found[scope] = numbers.setdefault(key, len(numbers))
    return found


def _operation_kind(graph: Graph, operation: Operation, types: list[int], numbers: dict[Any, int]) -> int:
    operands = tuple([types[v] if (v := o.get("value")) is not None else o.get("dtype") for o in operation["inputs"]])
    key: tuple[Any, ...] = (operation["primitive"], operands, tuple([types[value] for value in operation["outputs"]]))
    if "bodies" in operation:
        key = (*key, *((ref["role"], body_key(graph, ref["body"])) for ref in operation["bodies"]))
    return numbers.setdefault(key, len(numbers))


def body_key(graph: Graph, body: int) -> bytes:
    """Equal for subprograms that are equal in all but the lines they come from."""
    known = graph.body_keys.get(body)
    if known is None:
        known = graph.body_keys[body] = msgspec.json.encode(_without_lines(graph.bodies[body]), order="deterministic")
    return known


def _without_lines(body: Body) -> Any:
    return [
        body["label"],
        body["inputs"],
        body["outputs"],
        body["values"],
        [
            [o["primitive"], o["inputs"], o["outputs"], o["params"], o.get("opaque"), o.get("bodies")]
            for o in body["operations"]
        ],
        [_without_lines(inner) for inner in body["bodies"]],
    ]


class _Wiring(NamedTuple):
    """How the operations of a scope are joined, with places instead of values."""

    pattern: list[tuple[int, int] | None]
    """For each operand: place and output of what makes it; -1 and its number for what comes from outside."""
    outside: list[int]
    """Values from outside, in the order in which they are first read."""


def _wiring(graph: Graph, operations: Sequence[int]) -> _Wiring:
    made: dict[int, tuple[int, int]] = {}
    numbers: dict[int, int] = {}
    pattern: list[tuple[int, int] | None] = []
    for place, at in enumerate(operations):
        operation = graph.operations[at]
        for operand in operation["inputs"]:
            value = operand.get("value")
            if value is None:
                pattern.append(None)
            else:
                inner = made.get(value)
                pattern.append((-1, numbers.setdefault(value, len(numbers))) if inner is None else inner)
        for output, value in enumerate(operation["outputs"]):
            made[value] = (place, output)
    return _Wiring(pattern, list(numbers))


def _operations(graph: Graph, scope: int) -> list[int]:
    found: list[int] = []
    pending = [iter(graph.children[scope])]
    while pending:
        child = next(pending[-1], None)
        if child is None:
            pending.pop()
        elif child < 0:
            pending.append(iter(graph.children[~child]))
        else:
            found.append(child)
    return found


def _add(graph: Graph, run: list[int], found: dict[int, tuple[Fold, int]]) -> None:
    """Folds the neighbours of a run that are wired alike."""
    operations = [_operations(graph, scope) for scope in run]
    wirings = [_wiring(graph, each) for each in operations]
    first = 0
    while first < len(run) - 1:
        last = _last_alike(graph, run, operations, wirings, first)
        if last > first:
            taken = slice(first, last + 1)
            fold = Fold(run[taken], operations[taken])
            fold.differences = _differences(graph, fold.operations)
            _set_entries(graph, fold, [wiring.outside for wiring in wirings[taken]])
            for at, scope in enumerate(fold.members):
                found[scope] = (fold, at)
        first = last + 1


def _last_alike(graph: Graph, run: list[int], operations: list[list[int]], wirings: list[_Wiring], first: int) -> int:
    """The last scope up to which each is wired, and joined to the one before it, as the first ones are."""
    producer = graph.producer
    where: dict[int, tuple[int, int]] = {}  # operation of the run → which scope, and its place there
    for member in range(first, len(run)):
        where.update({at: (member, place) for place, at in enumerate(operations[member])})
    chain: list[tuple[int, int] | None] | None = None
    last = first
    for member in range(first + 1, len(run)):
        before, here = wirings[member - 1], wirings[member]
        if before.pattern != here.pattern:
            break
        joined: list[tuple[int, int] | None] = []
        for v, w in zip(before.outside, here.outside, strict=True):
            made = where.get(producer[w])
            if made is not None:
                if made[0] != member - 1:
                    return last
                joined.append((made[1], graph.operations[producer[w]]["outputs"].index(w)))
                continue
            joined.append(None)
            if graph.quiet[v] != graph.quiet[w]:
                return last
            if graph.quiet[w] and v != w and not _own(graph, run[member - 1], v, run[member], w):
                return last
        if chain is not None and joined != chain:
            return last
        chain, last = joined, member
    return last


def _own(graph: Graph, a: int, v: int, b: int, w: int) -> bool:
    """Whether two values that no operation makes are the same thing of each scope: its parameter, its constant."""
    first, second = graph.values[v], graph.values[w]
    if first["role"] != second["role"]:
        return False
    return _within(first, graph.scopes[a].get("path")) == _within(second, graph.scopes[b].get("path"))


def _within(value: Value, path: str | None) -> str | None:
    name = value.get("name")
    if name and path:
        name = f"/{name}".replace(f"/{path}/", "/\0/", 1)
    return _NUMBER.sub("#", name) if name else name


def _set_entries(graph: Graph, fold: Fold, outside: list[list[int]]) -> None:
    inside = {operation for each in fold.operations for operation in each}
    for each in outside[1:]:
        for slot, value in enumerate(each):
            if graph.producer[value] in inside:
                fold.entry[value] = outside[0][slot]


def _differences(graph: Graph, members: list[list[int]]) -> list[Difference]:
    """Parameters and literals in which operations at the same place differ."""
    found: list[Difference] = []
    operations = graph.operations
    first = members[0]
    for place, at in enumerate(first):
        reference = operations[at]
        params, literals = reference["params"], _literals(reference["inputs"])
        names: dict[str, None] = {}
        for member in members[1:]:
            other = operations[member[place]]
            if other["params"] != params:
                for name in {**params, **other["params"]}:
                    a, b = params.get(name), other["params"].get(name)
                    if a != b and _plain(graph, a) != _plain(graph, b):
                        names[name] = None
            if literals and _literals(other["inputs"]) != literals:
                for number, (a, b) in enumerate(zip(reference["inputs"], other["inputs"], strict=True), 1):
                    if a.get("literal") != b.get("literal"):
                        names[f"operand {number}"] = None
        found += [Difference(place, name) for name in names]
    return found


def _literals(operands: list[Operand]) -> list[Any]:
    return [operand.get("literal") for operand in operands if "literal" in operand]


def plain_params(graph: Graph, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with references to subprograms replaced by what these are."""
    return {name: _plain(graph, value) for name, value in params.items()}


def _plain(graph: Graph, value: Any) -> Any:
    """A parameter with references to subprograms replaced by what these are."""
    if isinstance(value, dict):
        entries = cast(dict[str, Any], value)
        if entries.keys() == {"body"} and isinstance(entries["body"], int) and entries["body"] < len(graph.bodies):
            return body_key(graph, entries["body"])
        return {key: _plain(graph, inner) for key, inner in entries.items()}
    if isinstance(value, list):
        return [_plain(graph, inner) for inner in cast(list[Any], value)]
    return value
