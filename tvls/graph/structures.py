"""Outputs as the nested structure that the program returns: that of a training step has hundreds of arrays."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tvls.graph.index import Graph, Port

MANY: Final = 12
"""Outputs that are shown one by one."""
FEW: Final = 3
"""Outputs below one place that get no node of their own."""

_STEP: Final = re.compile(r'\[(?:\d+|"(?:[^"\\]|\\.)*")\]|\.?\w+')


class Structure(NamedTuple):
    """A part of the result that one node stands for."""

    id: str
    place: str
    ports: list[Port]
    parts: list[Port | Structure]
    """What it shows when it is opened."""


class Structures(NamedTuple):
    parts: list[Port | Structure]
    """All outputs in their order; as nodes of their own where there are few of them."""
    by_id: dict[str, Structure]
    around: dict[str, tuple[str, ...]]
    """Output or structure → ids of the structures that must be open to see it, from the outside in."""


def output_structures(graph: Graph) -> Structures:
    known: Structures | None = graph.output_structures
    if known is None:
        ports = graph.outputs
        stepped = [(port, _STEP.findall(port.place)) for port in ports]
        parts: list[Port | Structure] = [*ports]
        if len(ports) > MANY:
            parts = _parts(stepped, 0)
        if len(parts) > MANY:
            parts = [_structure(stepped, _shared(stepped, 0), parts)]
        known = graph.output_structures = Structures(parts, {}, {})
        _enter(known, parts, ())
    return known


def _enter(structures: Structures, parts: list[Port | Structure], around: tuple[str, ...]) -> None:
    for part in parts:
        structures.around[part.id] = around
        if isinstance(part, Structure):
            structures.by_id[part.id] = part
            _enter(structures, part.parts, (*around, part.id))


_Stepped = tuple[Port, list[str]]


def _structure(stepped: list[_Stepped], depth: int, parts: list[Port | Structure]) -> Structure:
    """Of outputs that have the first `depth` steps in common."""
    place = "".join(stepped[0][1][:depth])
    return Structure(f"outs:{place}", place, [port for port, _ in stepped], parts)


def _parts(stepped: list[_Stepped], depth: int) -> list[Port | Structure]:
    """What is below a place, by the next step in which its outputs differ."""
    depth = _shared(stepped, depth)
    by_step: dict[str, list[_Stepped]] = {}
    for port, steps in stepped:
        by_step.setdefault(steps[depth] if depth < len(steps) else "", []).append((port, steps))
    found: list[Port | Structure] = []
    for below in by_step.values():
        if len(below) <= FEW or len(by_step) == 1:
            found += [port for port, _ in below]
        else:
            found.append(_structure(below, _shared(below, depth), _parts(below, depth + 1)))
    return found


def _shared(stepped: list[_Stepped], depth: int) -> int:
    """How many steps all have in common, of which `depth` are known."""
    first = stepped[0][1]
    while depth < len(first) and all(steps[depth : depth + 1] == [first[depth]] for _, steps in stepped):
        depth += 1
    return depth
