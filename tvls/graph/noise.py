"""What a reader may want out of the way: constants, parameters on their way, and changes of shape alone."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

from tvls.capture.document import Operand, Operation
from tvls.graph.index import Graph
from tvls.graph.text import operation_label
from tvls.graph.torch_costs import DROPOUT
from tvls.graph.torch_costs import SHAPE as TORCH_SHAPE

Noise = Literal["constant", "parameter", "shape"]
WORDS: Final[tuple[Noise, ...]] = ("constant", "parameter", "shape")

_SHAPE: Final = frozenset(
    [
        "broadcast",
        "broadcast_in_dim",
        "bitcast_convert_type",
        "convert_element_type",
        "copy",
        "copy_p",
        "device_put",
        "expand_dims",
        "layout_constraint",
        "mesh_cast",
        "name",
        "optimization_barrier",
        "pbroadcast",
        "pvary",
        "reshape",
        "reshard",
        "sharding_constraint",
        "squeeze",
        "stop_gradient",
        "transpose",
    ]
)
"""Operations that give one value another shape, dtype or place."""

_PREPARES: Final = _SHAPE | frozenset(("slice", "dynamic_slice", "split"))
"""What a parameter goes through on its way to where it is used."""

_PARAMETER_NAMES: Final = frozenset(("params", "variables", "weights", "batch_stats", "opt_state"))
_MANY: Final = 8
"""Leaves of one argument from which on they are taken for parameters."""


def operation_noise(graph: Graph) -> list[Noise | None]:
    """For each operation what noise it is, if any."""
    known = graph.noise
    if known is None:
        known = graph.noise = _operation_noise(graph)
    return known


def _operation_noise(graph: Graph) -> list[Noise | None]:
    data, parameter, constant = 0, 1, 2
    parameters = parameter_inputs(graph)
    origin = [constant if value["role"] == "constant" else data for value in graph.values]
    for at, value in enumerate(graph.values):
        if value["role"] == "state" or at in parameters:
            origin[at] = parameter
    found: list[Noise | None] = []
    for operation in graph.operations:
        primitive = operation["primitive"]
        in_torch = "." in primitive
        moves = _moves_in_torch(operation) if in_torch else primitive in _SHAPE
        kinds = {origin[value] for o in operation["inputs"] if (value := o.get("value")) is not None}
        noise: Noise | None = None
        made = data
        if "opaque" not in operation and (in_torch or "bodies" not in operation) and operation["outputs"]:
            if data not in kinds:
                if parameter not in kinds:
                    noise, made = "constant", constant
                elif moves or primitive in _PREPARES:
                    noise, made = "parameter", parameter
            elif moves and len(operation["outputs"]) == 1:
                noise = "shape"
        for value in operation["outputs"]:
            origin[value] = made
        found.append(noise)
    return found


def _moves_in_torch(operation: Operation) -> bool:
    label = operation_label(operation["primitive"])
    return label in TORCH_SHAPE or (label in DROPOUT and "bodies" not in operation)  # the latter in evaluation


def parameter_inputs(graph: Graph) -> dict[int, None]:
    """Input values that are parameters by the name of what they are in, or by how many leaves their argument has."""
    known = graph.parameter_inputs
    if known is None:
        leaves = Counter(_argument(port.place) for port in graph.inputs)
        known = graph.parameter_inputs = {}
        for port in graph.inputs:
            value = port.operand.get("value")
            if value is None or graph.values[value]["role"] != "input":
                continue
            many = leaves[_argument(port.place)] > _MANY and _argument(port.place) != port.place
            if many or not _PARAMETER_NAMES.isdisjoint(_words(f"{port.place}.{graph.values[value].get('name', '')}")):
                known[value] = None
    return known


def _argument(place: str) -> str:
    """`args[0]` of `args[0].layers[1].kernel`."""
    head, _, rest = place.partition("[") if place.startswith("args[") else place.partition(".")
    if place.startswith("args["):
        return f"args[{rest.partition(']')[0]}]"
    return f"{head}.{rest.partition('.')[0].partition('[')[0]}" if rest else head


def _words(place: str) -> list[str]:
    return place.replace("[", ".").replace("]", ".").replace("/", ".").replace('"', "").replace("'", "").split(".")


def scope_noise(graph: Graph) -> list[tuple[int, ...]]:
    """For each scope how many of its own operations are noise, by `WORDS`."""
    known = graph.scope_noise
    if known is None:
        counts = [[0] * len(WORDS) for _ in graph.scopes]
        place = {word: at for at, word in enumerate(WORDS)}
        for scope, noise in zip(graph.home, operation_noise(graph), strict=True):
            if noise is not None:
                counts[scope][place[noise]] += 1
        known = graph.scope_noise = [tuple(count) for count in counts]
    return known


def passed_on(graph: Graph, operation: int) -> int | None:
    """The value that an operation of noise `shape` changes the shape of."""
    operands: list[Operand] = graph.operations[operation]["inputs"]
    for operand in operands:
        value = operand.get("value")
        if value is not None and not graph.quiet[value]:
            return value
    return None
