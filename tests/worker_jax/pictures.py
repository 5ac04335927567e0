"""What a view draws of a graph: every scope, closed, is one node among its siblings."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any


def cycle_of(scopes: Sequence[dict[str, Any]], operations: Sequence[tuple[int, Sequence[int]]]) -> list[str] | None:
    """Names of a cycle among the children of some scope, the scope first; None where there is none.

    An operation is its scope and the operations it reads from.
    """
    chains: list[list[int]] = []
    for at, scope in enumerate(scopes):
        chains.append([at] if scope["parent"] is None else [*chains[scope["parent"]], at])
    edges: dict[int, dict[str, set[str]]] = {}
    paths = [[*(("scope", at) for at in chains[scope]), ("operation", op)] for op, (scope, _) in enumerate(operations)]

    def label(node: tuple[str, int]) -> str:
        return scopes[node[1]]["id"] if node[0] == "scope" else f"operation {node[1]}"

    for reader, (_, reads) in enumerate(operations):
        for maker in reads:
            one, other = paths[maker], paths[reader]
            at = next(level for level, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
            edges.setdefault(one[at - 1][1], {}).setdefault(label(other[at]), set()).add(label(one[at]))
    for scope, siblings in sorted(edges.items()):
        try:
            TopologicalSorter(siblings).prepare()
        except CycleError as error:
            return [scopes[scope]["id"], *sorted(set(error.args[1]))]
    return None


def cycle_in(graph: dict[str, Any]) -> list[str] | None:
    """The same of a capture or body, its bodies included."""
    makers = {value: at for at, operation in enumerate(graph["operations"]) for value in operation["outputs"]}
    operations = [
        (operation["scope"], [makers[i["value"]] for i in operation["inputs"] if i.get("value") in makers])
        for operation in graph["operations"]
    ]
    found = cycle_of(graph["scopes"], operations)
    return found or next((cycle for body in graph["bodies"] if (cycle := cycle_in(body))), None)
