"""Nodes as they are drawn and listed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from tvls.capture.document import Operand
from tvls.graph.costs import operation_costs, scope_costs
from tvls.graph.index import Graph, Port, body_id
from tvls.graph.noise import operation_noise, parameter_inputs
from tvls.graph.structures import Structure
from tvls.graph.text import literal_text, operation_label, scope_label, short_type
from tvls.protocol import types as t

LISTED = 64
"""Values that an operation lists at most, of each kind, in a view."""

LISTED_OF_SCOPE = 8
"""The same for a collapsed scope, which may read the parameters of a whole model."""


def value_info(graph: Graph, index: int) -> t.ValueInfo:
    known = graph.value_infos.get(index)
    if known is None:
        known = graph.value_infos[index] = _value_info(graph, index)
    return known


def _value_info(graph: Graph, index: int) -> t.ValueInfo:
    value = graph.values[index]
    role = value["role"]
    statistics = value.get("statistics")
    return t.ValueInfo(
        shape=value["shape"],
        dtype=value["dtype"],
        name=value.get("name"),
        role=None if role == "intermediate" else role,
        also_named=value.get("alsoNamed", []),
        device=value.get("device"),
        weak_type=value.get("weakType", False),
        sharding=value.get("sharding"),
        bytes=value.get("bytes"),
        storage=value.get("storage"),
        statistics=None if statistics is None else t.ValueStatistics(**statistics),
    )


def operand_value(graph: Graph, operand: Operand) -> t.ValueInfo:
    value = operand.get("value")
    if value is not None:
        return value_info(graph, value)
    return t.ValueInfo(shape=operand.get("shape", []), dtype=operand.get("dtype", ""))


def operation_node(graph: Graph, index: int, parent: str, body: str | None, limit: int | None = LISTED) -> t.Node:
    """`limit`: values listed of each kind; None for all. `body`: id of the body that the graph is."""
    operation = graph.operations[index]
    outputs = operation["outputs"]
    quiet = graph.quiet
    read = [value for operand in operation["inputs"] if (value := operand.get("value")) is not None and quiet[value]]
    if not read and "bodies" not in operation and (limit is None or len(outputs) <= limit):
        # Most operations; a page has hundreds of them.
        return t.Node(
            id=f"op:{operation['id']}",
            kind="operation",
            label=operation_label(operation["primitive"]),
            parent=parent,
            opaque=operation.get("opaque"),
            outputs=[value_info(graph, value) for value in outputs],
            source=graph.source(operation["frames"]),
            costs=operation_costs(graph, index),
            noise=operation_noise(graph)[index],
        )
    read = list(dict.fromkeys(read))
    state = [value for value in read if graph.values[value]["role"] == "state"]
    constants = [value for value in read if graph.values[value]["role"] == "constant"]
    return t.Node(
        id=f"op:{operation['id']}",
        kind="operation",
        label=operation_label(operation["primitive"]),
        parent=parent,
        opaque=operation.get("opaque"),
        outputs=_listed(graph, outputs, limit),
        outputs_total=_total(len(outputs), limit),
        state=_listed(graph, state, limit),
        state_total=_total(len(state), limit),
        constants=_listed(graph, constants, limit),
        constants_total=_total(len(constants), limit),
        bodies=body_infos(graph, index, body),
        source=graph.source(operation["frames"]),
        costs=operation_costs(graph, index),
        noise=operation_noise(graph)[index],
    )


def body_infos(graph: Graph, operation: int, body: str | None) -> list[t.BodyInfo]:
    found = graph.operations[operation]
    return [
        t.BodyInfo(
            id=body_id(body, found["id"], at),
            role=ref["role"],
            label=graph.bodies[ref["body"]]["label"],
            operations=len(graph.bodies[ref["body"]]["operations"]),
        )
        for at, ref in enumerate(found.get("bodies", ()))
    ]


def scope_node(
    graph: Graph, index: int, parent: str, *, expanded: bool = False, limit: int | None = LISTED_OF_SCOPE
) -> t.Node:
    """A scope; expanded, it lists no values, since its contents do."""
    scope = graph.scopes[index]
    flow = graph.flow
    number, count = graph.segment(index)
    outputs = () if expanded else flow.outputs.get(index, {})
    state = () if expanded else flow.state.get(index, {})
    constants = () if expanded else flow.constants.get(index, {})
    return t.Node(
        id=graph.scope_node_id(index),
        kind="scope",
        label=scope_label(scope),
        parent=parent,
        scope_kind=scope["kind"],
        scope_evidence=scope.get("evidence"),
        class_name=scope.get("class"),
        expanded=expanded,
        operations=graph.operation_counts[index],
        outputs=_listed(graph, outputs, limit),
        outputs_total=_total(len(outputs), limit),
        state=_listed(graph, state, limit),
        state_total=_total(len(state), limit),
        constants=_listed(graph, constants, limit),
        constants_total=_total(len(constants), limit),
        source=graph.source(graph.call_frames[index]),
        costs=scope_costs(graph, index),
        segment=t.SegmentInfo(number=number, count=count) if count > 1 else None,
    )


def input_node(graph: Graph, port: Port) -> t.Node:
    value = operand_value(graph, port.operand)
    noise = "parameter" if port.operand.get("value") in parameter_inputs(graph) else None
    return t.Node(id=port.id, kind="input", label=value.name or port.place, outputs=[value], noise=noise)


def output_node(graph: Graph, port: Port, parent: str = "") -> t.Node:
    """An output with what arrives there; a literal of the program is in its label, since nothing makes it."""
    value = operand_value(graph, port.operand)
    label = port.place if "value" in port.operand else f"{port.place} = {literal_text(port.operand)}"
    return t.Node(id=port.id, kind="output", label=label, parent=parent, outputs=[value])


def structure_node(structure: Structure, parent: str = "", *, expanded: bool = False) -> t.Node:
    """Outputs that are one node."""
    return t.Node(
        id=structure.id,
        kind="output",
        label=structure.place,
        parent=parent,
        expanded=expanded,
        leaves=len(structure.ports),
    )


def constant_node(graph: Graph, value: int) -> t.Node:
    """A constant or a state value that is an output of the program as it is."""
    info = value_info(graph, value)
    return t.Node(
        id=f"const:{value}",
        kind="constant",
        label=info.name or short_type(info.shape, info.dtype),
        outputs=[info],
        noise="constant",
    )


def _listed(graph: Graph, values: Iterable[int], limit: int | None) -> list[t.ValueInfo]:
    return [value_info(graph, value) for value in islice(values, limit)]


def _total(count: int, limit: int | None) -> int | None:
    return count if limit is not None and count > limit else None
