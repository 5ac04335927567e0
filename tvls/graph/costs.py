"""What a program costs by its shapes: floating-point operations, bytes and parameters. Derived, never measured.

Contractions and convolutions are counted exactly, two for each multiplication with its addition. Other arithmetic
counts one for each element of its result, reductions one for each element that they read, and moving data none. Where
shapes do not tell (`while`, `cond`, kernels, decompositions) nothing is counted, and that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Final, NamedTuple, cast

from msgspec.structs import replace

from tvls.capture.document import Operand, Operation, Value
from tvls.graph.index import Graph, GraphIndex
from tvls.graph.torch_costs import torch_contraction_flops, torch_flops
from tvls.graph.windows import valid_positions
from tvls.protocol import types as t

PARAMETER_COLLECTIONS: Final = frozenset(("params", "Param", "LoRAParam", "parameters"))
"""Collections (Linen), types of variables (NNX) and kinds of tensors (PyTorch) that hold parameters."""

_BITS = re.compile(r"(?:bfloat|float|quint|qint|uint|int|complex)(\d+)")

_MOVES: Final = frozenset(
    [
        "broadcast",
        "broadcast_in_dim",
        "concatenate",
        "convert_element_type",
        "copy",
        "copy_p",
        "copy_to_host_async",
        "bitcast_convert_type",
        "create_token",
        "device_put",
        "dynamic_slice",
        "dynamic_update_slice",
        "empty",
        "expand_dims",
        "full",
        "gather",
        "get",
        "iota",
        "mutable_array",
        "name",
        "optimization_barrier",
        "pad",
        "pbroadcast",
        "pvary",
        "random_unwrap",
        "random_wrap",
        "real",
        "imag",
        "reduce_precision",
        "ref",
        "reshape",
        "rev",
        "scatter",
        "select_n",
        "sharding_constraint",
        "slice",
        "split",
        "squeeze",
        "stop_gradient",
        "swap",
        "tie_in",
        "tile",
        "transpose",
        "layout_constraint",
        "mesh_cast",
        "reshard",
        "unreshard",
        "freeze",
        "new_ref",
        "axis_index",
    ]
)
"""Primitives that compute nothing: they move, repeat, select or reinterpret elements."""

_READS: Final = frozenset(
    [
        "argmax",
        "argmin",
        "reduce",
        "reduce_and",
        "reduce_max",
        "reduce_min",
        "reduce_or",
        "reduce_prod",
        "reduce_sum",
        "reduce_xor",
        "cumlogsumexp",
        "cummax",
        "cummin",
        "cumprod",
        "cumsum",
        "sort",
        "top_k",
        "approx_top_k",
    ]
)
"""Primitives that count one for each element of their first operand."""

_SCATTERS: Final = frozenset(
    [
        "scatter-add",
        "scatter-mul",
        "scatter-min",
        "scatter-max",
        "scatter-sub",
        "scatter_add",
        "scatter_mul",
        "scatter_min",
        "scatter_max",
        "scatter_sub",
        "scatter-apply",
    ]
)
_WINDOWS: Final = frozenset(
    [
        "reduce_window",
        "reduce_window_sum",
        "reduce_window_max",
        "reduce_window_min",
        "select_and_gather_add",
        "select_and_scatter_add",
    ]
)
_UNKNOWN: Final = frozenset(
    [
        "cholesky",
        "cholesky_update",
        "eig",
        "eigh",
        "fft",
        "geqrf",
        "geqp3",
        "hessenberg",
        "householder_product",
        "lu",
        "lu_pivots_to_permutation",
        "lu_solve",
        "ormqr",
        "qr",
        "schur",
        "svd",
        "symmetric_product",
        "triangular_solve",
        "tridiagonal",
        "tridiagonal_solve",
    ]
)
"""Decompositions and transforms, whose work is not in proportion to what they read or make."""

_CALLS: Final = frozenset(
    [
        "call",
        "closed_call",
        "core_call",
        "core_closed_call",
        "jit",
        "pjit",
        "xla_call",
        "remat",
        "remat2",
        "checkpoint",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "eval_jaxpr",
        "run_state",
    ]
)
"""Boundaries whose one body runs once."""


class Work(NamedTuple):
    """Of one operation, or of several together."""

    flops: int = 0
    contractions: int = 0
    uncounted: int = 0


class OperationWork(NamedTuple):
    """For each operation of a graph, in its order."""

    flops: list[int]
    contractions: list[int]
    uncounted: list[int]


class ScopeWork(NamedTuple):
    """For each scope, however deep its operations stand."""

    flops: list[int]
    contractions: list[int]
    uncounted: list[int]


def operation_costs(graph: Graph, at: int) -> t.Costs:
    """Of one operation. `flops` is absent where nothing of it can be counted."""
    work = operation_work(graph)
    operation = graph.operations[at]
    uncounted = work.uncounted[at]
    quiet = graph.quiet
    read = [value for o in operation["inputs"] if (value := o.get("value")) is not None and quiet[value]]
    return _costs(
        graph,
        None if uncounted and not work.flops[at] else work.flops[at],
        work.contractions[at],
        uncounted,
        operation["outputs"],
        dict.fromkeys(read),
        iterations=_length(operation),
    )


def scope_costs(graph: Graph, scope: int) -> t.Costs:
    """Of everything inside a scope. A module's parameters are all that it has, read or not."""
    known = graph.scope_costs.get(scope)
    if known is None:
        known = graph.scope_costs[scope] = _scope_costs(graph, scope)
    return known


def _scope_costs(graph: Graph, scope: int) -> t.Costs:
    work = scope_work(graph)
    flow = graph.flow
    found = _costs(
        graph,
        work.flops[scope],
        work.contractions[scope],
        work.uncounted[scope],
        flow.outputs.get(scope, ()),
        flow.state.get(scope, ()),
    )
    size = graph.scopes[scope].get("parameters")
    if size is None or graph.segment(scope)[1] > 1:
        return found
    # Of what is read inside a `scan` over layers, the module knows one layer, and the trace reads all of them.
    return replace(found, parameters=size["count"], parameter_bytes=size["bytes"])


def scopes_costs(graph: Graph, scopes: Sequence[int]) -> t.Costs:
    """Of several scopes together; what they share counts once."""
    each = [scope_costs(graph, scope) for scope in scopes]
    flow = graph.flow
    state = {value: None for scope in scopes for value in flow.state.get(scope, ())}
    found = _costs(
        graph,
        sum(costs.flops or 0 for costs in each),
        sum(costs.contraction_flops for costs in each),
        sum(costs.uncounted for costs in each),
        [value for scope in scopes for value in flow.outputs.get(scope, ())],
        state,
    )
    if found.parameters is None and any(costs.parameters is not None for costs in each):
        return replace(
            found,
            parameters=sum(costs.parameters or 0 for costs in each),
            parameter_bytes=sum(costs.parameter_bytes or 0 for costs in each),
        )
    return found


def capture_costs(index: GraphIndex) -> t.Costs:
    """Of the whole program, its state counted whether it is read or not. Kept with the index."""
    known = cast(t.Costs | None, index.caches.get("costs"))
    if known is None:
        known = index.caches["costs"] = _capture_costs(index.program)
    return known


def _capture_costs(graph: Graph) -> t.Costs:
    work = scope_work(graph)
    state = [at for at, value in enumerate(graph.values) if value["role"] == "state"]
    results = [value for port in graph.outputs if (value := port.operand.get("value")) is not None]
    return _costs(graph, work.flops[0], work.contractions[0], work.uncounted[0], dict.fromkeys(results), state)


def _costs(
    graph: Graph,
    flops: int | None,
    contractions: int,
    uncounted: int,
    results: Iterable[int],
    read: Iterable[int],
    iterations: int | None = None,
) -> t.Costs:
    values = graph.values
    parameters: int | None = None
    parameter_bytes: int | None = 0
    other = 0
    for at in read:
        value = values[at]
        if value["role"] != "state":
            continue
        size = value_bytes(value)
        if is_parameter(value):
            parameters = (parameters or 0) + prod(value["shape"])
            parameter_bytes = None if size is None or parameter_bytes is None else parameter_bytes + size
        else:
            other += size or 0
    made: int | None = 0
    for at in results:
        size = value_bytes(values[at])
        made = None if size is None or made is None else made + size
    return t.Costs(
        flops=flops,
        contraction_flops=contractions,
        uncounted=uncounted,
        output_bytes=made,
        parameters=parameters,
        parameter_bytes=None if parameters is None else parameter_bytes,
        state_bytes=other,
        iterations=iterations,
    )


def is_parameter(value: Value) -> bool:
    """Whether state is a parameter; of libraries without collections, all state is."""
    return value["role"] == "state" and value.get("collection", "params") in PARAMETER_COLLECTIONS


def value_bytes(value: Value) -> int | None:
    """By shape and dtype, packed below a byte; None where one of them does not say, as the dtype of a key."""
    bits = dtype_bits(value["dtype"])
    ragged = any(dim < 0 for dim in value["shape"])
    return None if bits is None or ragged else -(-prod(value["shape"]) * bits // 8)


@lru_cache(maxsize=256)
def dtype_bits(dtype: str) -> int | None:
    found = _BITS.match(dtype)
    return int(found[1]) if found else 8 if dtype == "bool" else None


# --- work ------------------------------------------------------------------------------------------------------------


def operation_work(graph: Graph) -> OperationWork:
    """Counted once for a graph, its bodies included."""
    known = cast(OperationWork | None, graph.work.get("operations"))
    if known is None:
        known = graph.work["operations"] = _operation_work(graph)
    return known


def scope_work(graph: Graph) -> ScopeWork:
    known = cast(ScopeWork | None, graph.work.get("scopes"))
    if known is None:
        work = operation_work(graph)
        known = graph.work["scopes"] = ScopeWork(*(_of_scopes(graph, each) for each in work))
    return known


def _of_scopes(graph: Graph, each: list[int]) -> list[int]:
    sums = [0] * len(graph.scopes)
    for scope, count in zip(graph.home, each, strict=True):
        sums[scope] += count
    for scope in range(len(sums) - 1, 0, -1):
        sums[graph.parent(scope)] += sums[scope]
    return sums


def _operation_work(graph: Graph) -> OperationWork:
    values = graph.values
    sizes = [prod(value["shape"]) for value in values]
    flops: list[int] = []
    contractions: list[int] = []
    uncounted: list[int] = []
    for operation in graph.operations:
        primitive = operation["primitive"]
        inexact = exact = unknown = 0
        if primitive in _MOVES:
            pass
        elif "." in primitive:  # a function or an operator of PyTorch
            inexact, exact, unknown = _of_torch(graph, operation, sizes)
        elif primitive in _SPECIAL or "opaque" in operation or "bodies" in operation:
            work = _special(graph, operation, sizes)
            inexact, exact, unknown = work
        else:
            outputs = operation["outputs"]
            inexact = sizes[outputs[0]] if outputs else 0
        flops.append(inexact)
        contractions.append(exact)
        uncounted.append(unknown)
    return OperationWork(flops, contractions, uncounted)


def _of_torch(graph: Graph, operation: Operation, sizes: list[int]) -> Work:
    """The operators that ran below a function say what it did; one without them is an operator itself."""
    for ref in operation.get("bodies", ()):
        if ref["role"] == "aten":
            inner = scope_work(graph.body_graph(ref["body"]))
            return Work(inner.flops[0], inner.contractions[0], inner.uncounted[0])
    shapes = [_shape(graph, operand) for operand in operation["inputs"]]
    outputs = [graph.values[value]["shape"] for value in operation["outputs"]]
    exact = torch_contraction_flops(operation["primitive"], shapes, outputs, operation["params"])
    if exact is not None:
        return Work(exact, exact)
    count = torch_flops(operation["primitive"], shapes, outputs, operation["params"])
    return Work(0, 0, 1) if count is None else Work(count)


_CONTRACTIONS: Final = frozenset(("dot_general", "ragged_dot", "ragged_dot_general", "conv_general_dilated"))
_SPECIAL: Final = _READS | _SCATTERS | _WINDOWS | _UNKNOWN | _CONTRACTIONS


def _special(graph: Graph, operation: Operation, sizes: list[int]) -> Work:
    primitive = operation["primitive"]
    if primitive in _CONTRACTIONS:
        shapes = [_shape(graph, operand) for operand in operation["inputs"]]
        count = contraction_flops(
            primitive, shapes, graph.values[operation["outputs"][0]]["shape"], operation["params"]
        )
        return Work(0, 0, 1) if count is None else Work(count, count, 0)
    first = operation["inputs"][0].get("value") if operation["inputs"] else None
    if primitive in _READS and first is not None:
        return Work(sizes[first])
    if primitive in _SCATTERS and len(operation["inputs"]) > 2:
        updates = operation["inputs"][-1].get("value")
        return Work(1 if updates is None else sizes[updates])
    if primitive in _WINDOWS and operation["outputs"]:
        window = operation["params"].get("window_dimensions")
        if isinstance(window, list):
            # Of a selection's gradient, the windows are those over its operand, one for each element of its source.
            counted = sizes[first] if primitive.startswith("select_and_scatter") and first is not None else None
            each = sizes[operation["outputs"][0]] if counted is None else counted
            return Work(each * prod(cast(list[int], window)))
        return Work(0, 0, 1)
    bodies = operation.get("bodies", [])
    if len(bodies) == 1 and (primitive == "scan" or primitive in _CALLS):
        times = _length(operation) if primitive == "scan" else 1
        if times is not None:
            inner = scope_work(graph.body_graph(bodies[0]["body"]))
            return Work(times * inner.flops[0], times * inner.contractions[0], inner.uncounted[0])
    return Work(0, 0, 1)


def _shape(graph: Graph, operand: Operand) -> list[int]:
    value = operand.get("value")
    return graph.values[value]["shape"] if value is not None else operand.get("shape", [])


def _length(operation: Operation) -> int | None:
    length = operation["params"].get("length") if operation["primitive"] == "scan" else None
    return length if isinstance(length, int) else None


def contraction_flops(
    primitive: str, operands: Sequence[Sequence[int]], result: Sequence[int], params: dict[str, Any]
) -> int | None:
    """Two for each multiplication with its addition; None where the parameters do not say what is contracted."""
    try:
        if primitive == "dot_general":
            return _dot(operands, result, params["dimension_numbers"])
        if primitive == "conv_general_dilated":
            return _convolution(operands, params)
        if primitive == "ragged_dot":
            return 2 * prod(result) * operands[0][-1]
        return _ragged_dot(operands, result, params["ragged_dot_dimension_numbers"])
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def _dot(operands: Sequence[Sequence[int]], result: Sequence[int], numbers: Any) -> int:
    contracted: list[int] = numbers[0][0]
    return 2 * prod(result) * prod(operands[0][axis] for axis in contracted)


def _ragged_dot(operands: Sequence[Sequence[int]], result: Sequence[int], numbers: dict[str, Any]) -> int:
    """Each row belongs to one group, so the number of groups multiplies nothing."""
    dot = numbers["dot_dimension_numbers"]
    contracted = dot[0][0]
    work = _dot(operands, result, dot)
    if set(numbers["lhs_ragged_dimensions"]) & set(contracted):
        work //= max(1, operands[2][-1])  # the result has the groups in front, and they share out what is contracted
    return work


def _convolution(operands: Sequence[Sequence[int]], params: dict[str, Any]) -> int:
    """Multiplications with padding, and with the holes of a dilated operand, are none."""
    numbers = params["dimension_numbers"]
    lhs, rhs = operands[0], operands[1]
    lhs_spec: list[int] = numbers["lhs_spec"]
    rhs_spec: list[int] = numbers["rhs_spec"]
    spatial = range(2, len(lhs_spec))
    places = 1
    for at in spatial:
        low, high = params["padding"][at - 2]
        places *= valid_positions(
            lhs[lhs_spec[at]],
            rhs[rhs_spec[at]],
            params["window_strides"][at - 2],
            low,
            high,
            params["lhs_dilation"][at - 2],
            params["rhs_dilation"][at - 2],
        )
    batch, features, inputs = lhs[lhs_spec[0]], rhs[rhs_spec[0]], rhs[rhs_spec[1]]
    return 2 * (batch // params.get("batch_group_count", 1)) * features * inputs * places
