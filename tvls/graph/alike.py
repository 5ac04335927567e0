"""Which neighbours of a program repeat one another: equal in structure, shapes, parameters and wiring."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tvls.capture.document import Operation, Value
from tvls.graph.index import Graph
from tvls.graph.order import Part, operations_of
from tvls.graph.text import literal_text, scope_label

Link = tuple[object, ...]
"""How a part is joined to the one before it, by the values that it reads from outside."""


class Alike:
    """Repeats in one graph. Modules may differ in their name, in the lines they come from, and in what random keys are
    folded with, as dropout in each has its own; all else in nothing."""

    def __init__(self, graph: Graph, parts: Sequence[Part]) -> None:
        self._graph = graph
        numbers: dict[object, int] = {}
        types = [numbers.setdefault(_type_key(value), len(numbers)) for value in graph.values]
        self._operations = [
            numbers.setdefault(_operation_key(operation, types), len(numbers)) for operation in graph.operations
        ]
        folding = {at for at, operation in enumerate(graph.operations) if operation["primitive"] == "random_fold_in"}
        inside_a_part = [
            numbers.setdefault(_operation_key(operation, types, any_data=True), len(numbers))
            if at in folding
            else number
            for at, (operation, number) in enumerate(zip(graph.operations, self._operations, strict=True))
        ]
        self._parts: dict[Part, int] = {}
        for part in reversed(parts):
            scope = graph.scopes[part.scope]
            inside = tuple(self._parts[x] if isinstance(x, Part) else (inside_a_part[x],) for x in part.items)
            module = scope["kind"] == "module"
            name = None if module else scope_label(scope)
            size = scope.get("parameters", {"count": None})["count"]
            key = (scope["kind"], scope.get("class"), name, size, part.continued, inside)
            self._parts[part] = numbers.setdefault(key, len(numbers))

    def runs(self, items: Sequence[int | Part]) -> list[list[int | Part]]:
        """Items with neighbours that repeat one another together."""
        runs: list[list[int | Part]] = []
        link: Link | None = None
        for item in items:
            if runs:
                joined = self._link(runs[-1][-1], item)
                if joined is not None and (len(runs[-1]) == 1 or joined == link):
                    runs[-1].append(item)
                    link = joined
                    continue
            runs.append([item])
        return runs

    def _link(self, a: int | Part, b: int | Part) -> Link | None:
        """How `b` follows `a` where the two are alike, else None."""
        if isinstance(a, Part) and isinstance(b, Part):
            return self._part_link(a, b) if self._parts[a] == self._parts[b] else None
        if isinstance(a, Part) or isinstance(b, Part) or self._operations[a] != self._operations[b]:
            return None
        return () if self._same_lines(a, b) and self._same_names(a, b) else None

    def _same_lines(self, a: int, b: int) -> bool:
        return self._graph.operations[a]["frames"] == self._graph.operations[b]["frames"]

    def _same_names(self, a: int, b: int) -> bool:
        """Whether two operations read state and constants of the same names."""
        quiet, values = self._graph.quiet, self._graph.values
        pairs = zip(self._graph.operations[a]["inputs"], self._graph.operations[b]["inputs"], strict=True)
        for o, p in pairs:
            v, w = o.get("value"), p.get("value")
            if v is None or w is None or not (quiet[v] or quiet[w]):
                continue
            if values[v].get("name") != values[w].get("name"):
                return False
        return True

    def _part_link(self, a: Part, b: Part) -> Link | None:
        graph = self._graph
        module = graph.scopes[a.scope]["kind"] == "module"
        counterpart: dict[int, int] = {}  # value made in `a` → the one made at the same place in `b`
        ordinals: dict[int, int] = {}
        read: dict[int, int] = {}  # value from outside of `a` → the one read at the same places in `b`
        readers: dict[int, int] = {}
        made_in_b = {value for at in operations_of(b) for value in graph.operations[at]["outputs"]}
        for x, y in zip(operations_of(a), operations_of(b), strict=True):
            if not module and not self._same_lines(x, y):
                return None
            first, second = graph.operations[x], graph.operations[y]
            for o, p in zip(first["inputs"], second["inputs"], strict=True):
                v, w = o.get("value"), p.get("value")
                if v is None or w is None:
                    continue
                if v in counterpart or w in made_in_b:
                    if counterpart.get(v) != w:
                        return None
                elif read.setdefault(v, w) != w or readers.setdefault(w, v) != v:
                    return None
            for v, w in zip(first["outputs"], second["outputs"], strict=True):
                counterpart[v] = w
                ordinals[v] = len(ordinals)
        link: list[object] = []
        for v, w in read.items():
            how = "same" if v == w else ordinals.get(w)
            if how is None and self._own(a, v, b, w):
                how = "own"
            if how is None:
                return None
            link.append(how)
        return tuple(link)

    def _own(self, a: Part, v: int, b: Part, w: int) -> bool:
        """Whether two values that no operation makes are the same thing of each part: its parameter, its input."""
        graph = self._graph
        if graph.producer[v] >= 0 or graph.producer[w] >= 0:
            return False
        first, second = graph.values[v], graph.values[w]
        if first["role"] != second["role"]:
            return False
        if first["role"] != "state":
            return True
        return _within(first.get("name"), graph.scopes[a.scope].get("path")) == _within(
            second.get("name"), graph.scopes[b.scope].get("path")
        )


def _within(name: str | None, path: str | None) -> str | None:
    """The name of state with the path of its module left out."""
    if not name or not path:
        return name
    return f"/{name}".replace(f"/{path}/", "/\0/", 1)


def _operation_key(operation: Operation, types: list[int], *, any_data: bool = False) -> object:
    """`any_data`: literals are alike whatever they are."""
    return (
        operation["primitive"],
        tuple(
            [
                types[v] if (v := o.get("value")) is not None else "" if any_data else literal_text(o)
                for o in operation["inputs"]
            ]
        ),
        tuple([types[value] for value in operation["outputs"]]),
        msgspec.json.encode(operation["params"], order="deterministic"),
        operation.get("opaque"),
        tuple([(ref["role"], ref["body"]) for ref in operation.get("bodies", ())]),
    )


def _type_key(value: Value) -> object:
    return (value["dtype"], value.get("weakType", False), value.get("sharding"), *value["shape"])
