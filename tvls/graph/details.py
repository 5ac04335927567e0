"""Everything known of one node, and where it comes from in the source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tvls.capture.document import Frame, Operand
from tvls.graph.describe import (
    constant_node,
    input_node,
    operand_value,
    operation_node,
    output_node,
    scope_node,
    structure_node,
    value_info,
)
from tvls.graph.index import Graph, GraphIndex, Port, Use, node_not_found
from tvls.graph.structures import output_structures
from tvls.protocol import types as t

MAX_USES = 1_000
"""Uses listed of one value."""


class Details(NamedTuple):
    node: t.NodeDetails
    """Without frames: where an editor can go for one is for the caller to say."""
    frames: list[Frame]
    """Innermost first."""


def details(index: GraphIndex, node: str, body: str | None = None, *, freshness: t.Freshness = "stale") -> Details:
    """Operands with their producers, results with their uses, parameters, scopes and frames. Raises `nodeNotFound`.

    For a scope: operands are what it reads from outside, results what is used outside, frames where it was called.
    `scope_path` names the scopes around the node from the outside in.
    """
    graph = index.graph(body)
    frames = [graph.frames[at] for at in _frames_of(graph, node)]
    return Details(_details(graph, node, body, freshness), frames)


def _details(graph: Graph, node: str, body: str | None, freshness: t.Freshness) -> t.NodeDetails:
    """Of a node that the graph has."""
    kind, _, key = node.partition(":")
    if kind == "op":
        at = graph.operations_by_id[key]
        operation = graph.operations[at]
        around = graph.scope_chain(graph.home[at])
        return t.NodeDetails(
            node=operation_node(graph, at, _parent(graph, around), body, limit=None),
            operands=[_operand(graph, operand) for operand in operation["inputs"]],
            results=[_result(graph, value, graph.uses.get(value, ())) for value in operation["outputs"]],
            primitive=operation["primitive"],
            params=operation["params"],
            scope_path=graph.scope_path(graph.home[at]),
            freshness=freshness,
        )
    if node in graph.scopes_by_node:
        at = graph.scopes_by_node[node]
        around = graph.scope_chain(at)[:-1]
        flow = graph.flow
        return t.NodeDetails(
            node=scope_node(graph, at, _parent(graph, around), limit=None),
            operands=[_operand(graph, {"value": value}) for value in flow.inputs.get(at, ())],
            results=[_result(graph, value, _outside(graph, at, value)) for value in flow.outputs.get(at, ())],
            scope_path=graph.scope_path(at)[:-1],
            freshness=freshness,
        )
    if kind == "const":
        value = int(key)
        result = _result(graph, value, graph.uses.get(value, ()))
        return t.NodeDetails(node=constant_node(graph, value), results=[result], freshness=freshness)
    if kind == "outs":
        structures = output_structures(graph)
        structure, around = structures.by_id[node], structures.around[node]
        return t.NodeDetails(
            node=structure_node(structure, around[-1] if around else ""),
            operands=[_operand(graph, port.operand) for port in structure.ports],
            freshness=freshness,
        )
    port = graph.ports_by_id[node]
    if kind == "out":
        around = output_structures(graph).around[node]
        shown = output_node(graph, port, around[-1] if around else "")
        return t.NodeDetails(node=shown, operands=[_operand(graph, port.operand)], freshness=freshness)
    return t.NodeDetails(node=input_node(graph, port), results=[_input_result(graph, port)], freshness=freshness)


def sources(index: GraphIndex, node: str, body: str | None = None) -> list[Frame]:
    """Frames of a node: the innermost workspace frame first, then the rest, innermost first. Raises `nodeNotFound`.

    For a scope these are the frames that all of its operations share: where the module or function was called.
    Of an operation or scope of a body that no line of the workspace makes, those of the operation around follow.
    Inputs, outputs and constants have none.
    """
    graph = index.graph(body)
    own = _frames_of(graph, node)
    makes = node.startswith(("op:", "scope:"))
    around = graph.around if makes and not graph.innermost(own) else []
    frames = [graph.frames[at] for at in (*own, *around)]
    first = next((at for at, frame in enumerate(frames) if frame["workspace"]), 0)
    return [*frames[first : first + 1], *frames[:first], *frames[first + 1 :]]


def method_frame(index: GraphIndex, node: str, body: str | None = None) -> Frame | None:
    """For a module, a frame in a method of its class; None where no frame tells of one, as for an inherited method."""
    graph = index.graph(body)
    scope = graph.scopes_by_node.get(node)
    name = graph.scopes[scope].get("class") if scope is not None else None
    operation = _any_operation(graph, scope) if scope is not None and name is not None else None
    if operation is None or name is None:
        return None
    frames = (graph.frames[at] for at in graph.operations[operation]["frames"])
    return next((frame for frame in frames if frame["function"].split(".")[-2:-1] == [name.rpartition(".")[2]]), None)


def _any_operation(graph: Graph, scope: int) -> int | None:
    pending = [~scope]
    while pending:
        child = pending.pop()
        if child >= 0:
            return child
        pending += graph.children[~child]
    return None


def _frames_of(graph: Graph, node: str) -> list[int]:
    """Frames of any node of the graph. Raises `nodeNotFound`."""
    kind, _, key = node.partition(":")
    if kind == "op" and key in graph.operations_by_id:
        return graph.operations[graph.operations_by_id[key]]["frames"]
    if node in graph.scopes_by_node:
        return graph.call_frames[graph.scopes_by_node[node]]
    if node in graph.ports_by_id or node in output_structures(graph).by_id:
        return []
    if node in (f"const:{value}" for value in graph.quiet_outputs):
        return []
    raise node_not_found(node)


def _parent(graph: Graph, around: list[int]) -> str:
    visible = [scope for scope in around if scope not in graph.wrappers]
    return graph.scope_node_id(visible[-1]) if visible else ""


def _operand(graph: Graph, operand: Operand) -> t.OperandInfo:
    value = operand.get("value")
    if value is not None:
        return t.OperandInfo(value=value_info(graph, value), producer=graph.value_node(value))
    # The shape and dtype of a literal are worth showing too, where the program states them.
    described = operand_value(graph, operand) if operand.get("dtype") else None
    return t.OperandInfo(value=described, literal=operand.get("literal"))


def _result(graph: Graph, value: int, uses: Iterable[Use]) -> t.ResultInfo:
    found = [t.UseInfo(node=graph.operation_node(use.operation), argument=use.argument) for use in uses]
    found += [t.UseInfo(node=port.id, argument=0) for port in graph.output_uses.get(value, ())]
    return t.ResultInfo(
        value=value_info(graph, value),
        uses=found[:MAX_USES],
        uses_total=len(found) if len(found) > MAX_USES else None,
    )


def _input_result(graph: Graph, port: Port) -> t.ResultInfo:
    value = port.operand.get("value")
    if value is None:
        return t.ResultInfo(value=operand_value(graph, port.operand))
    return _result(graph, value, graph.uses.get(value, ()))


def _outside(graph: Graph, scope: int, value: int) -> Iterable[Use]:
    """Uses of a value by operations that do not stand in `scope`, however deep."""
    return (use for use in graph.uses.get(value, ()) if scope not in graph.scope_chain(graph.home[use.operation]))
