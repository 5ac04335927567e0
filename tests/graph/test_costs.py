"""What programs cost by their shapes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvls.graph import GraphIndex, details, view
from tvls.graph.costs import capture_costs, contraction_flops
from tvls.graph.torch_costs import torch_contraction_flops
from tvls.graph.windows import valid_positions

from .captures import as_capture, document, mlp, operation, value

DOT = {"dimension_numbers": [[[1], [0]], [[], []]]}


def step(*operations: dict[str, Any], values: list[dict[str, Any]], outputs: list[int]) -> dict[str, Any]:
    """A body; its first value is its input."""
    return {
        "label": "body",
        "inputs": [0],
        "outputs": [{"value": at} for at in outputs],
        "values": values,
        "operations": list(operations),
        "scopes": [{"id": "", "parent": None, "kind": "root"}],
        "bodies": [],
    }


def square(count: int = 2) -> list[dict[str, Any]]:
    return [value("input", (4, 4)), *(value(shape=(4, 4)) for _ in range(count - 1))]


@given(
    st.integers(0, 9),
    st.integers(0, 5),
    st.integers(1, 4),
    st.integers(-3, 6),
    st.integers(-3, 6),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_positions_of_a_convolution_are_those_that_can_be_counted(  # R41
    size: int, window: int, stride: int, low: int, high: int, base: int, dilation: int
) -> None:
    holes = [at % base == 0 for at in range((size - 1) * base + 1 if size else 0)]
    reach = (window - 1) * dilation + 1 if window else 0
    results = max(0, (len(holes) + low + high - reach) // stride + 1)
    places = [r * stride + k * dilation - low for r in range(results) for k in range(window)]
    counted = sum(0 <= at < len(holes) and holes[at] for at in places)
    assert valid_positions(size, window, stride, low, high, base, dilation) == counted


@pytest.mark.parametrize(
    ("ragged", "result", "flops"),
    [
        # rows fall into groups; what is contracted falls into groups; batches do
        (([0], [[1], [1]], [[], []]), [8, 5], 2 * 8 * 4 * 5),
        (([0], [[0], [0]], [[], []]), [3, 4, 5], 2 * 8 * 4 * 5),
        (([0], [[2], [1]], [[0], [0]]), [8, 4, 5], 2 * 8 * 4 * 6 * 5),
    ],
)
def test_each_row_of_a_ragged_contraction_counts_once(ragged: Any, result: list[int], flops: int) -> None:  # R41
    axes, contracted, batch = ragged
    numbers = {"dot_dimension_numbers": [contracted, batch], "lhs_ragged_dimensions": axes, "rhs_group_dimensions": []}
    lhs = [8, 4] if len(result) == 2 or not batch[0] else [8, 4, 6]
    params = {"ragged_dot_dimension_numbers": numbers}
    assert contraction_flops("ragged_dot_general", [lhs, [3, 4, 5], [3]], result, params) == flops


@pytest.mark.parametrize(
    ("primitive", "operands", "result", "params", "flops"),
    [
        ("aten.mm", [[32, 8], [8, 5]], [32, 5], {}, 2 * 32 * 8 * 5),
        ("aten.addmm", [[5], [32, 8], [8, 5]], [32, 5], {}, 2 * 32 * 8 * 5),
        ("aten.bmm", [[4, 16, 3], [4, 3, 16]], [4, 16, 16], {}, 2 * 4 * 16 * 3 * 16),
        # Along 5 elements, padded by one, a window of 3: 2 + 3 + 3 + 3 + 2 products; then with a stride of two.
        ("aten.convolution", [[2, 3, 5], [8, 3, 3]], [2, 8, 5], {}, 2 * 2 * 8 * 3 * 13),
        ("aten.convolution", [[2, 3, 5], [8, 3, 3]], [2, 8, 3], {"stride": [2]}, 2 * 2 * 8 * 3 * 7),
        ("aten.convolution", [[2, 4, 5], [8, 2, 3]], [2, 8, 5], {"groups": 2}, 2 * 2 * 8 * 2 * 13),
        # Transposed, each of 5 elements meets each of 3 positions, but for the two that padding cuts off.
        (
            "aten.convolution",
            [[2, 3, 5], [3, 8, 3]],
            [2, 8, 9],
            {"stride": [2], "transposed": True},
            2 * 2 * 3 * 8 * 13,
        ),
    ],
)
def test_contractions_of_pytorch(  # R24, R41
    primitive: str, operands: list[list[int]], result: list[int], params: dict[str, Any], flops: int
) -> None:
    default = {"stride": [1], "padding": [1], "dilation": [1], "output_padding": [0], "transposed": False, "groups": 1}
    assert torch_contraction_flops(primitive, operands, [result], {**default, **params}) == flops


def test_functions_of_pytorch_count_the_operators_that_ran() -> None:  # R24, R41
    body = step(
        operation("t.0", [0], [1], primitive="aten.t"),
        operation("mm.0", [0, 1], [2], primitive="aten.mm"),
        values=square(3),
        outputs=[2],
    )
    found = document(
        inputs={"args": [{"value": 0}], "kwargs": {}},
        values=square(3),
        operations=[
            operation("linear.0", [0], [1], primitive="torch.nn.linear", bodies=[{"role": "aten", "body": 0}]),
            operation("view.0", [1], [2], primitive="torch.Tensor.view"),
        ],
        bodies=[body],
    )
    whole = capture_costs(GraphIndex(as_capture(found)))
    assert (whole.flops, whole.contraction_flops, whole.uncounted) == (128, 128, 0)


def test_parameters_that_say_nothing_leave_a_contraction_uncounted() -> None:
    found = document(
        values=[value("input", (2, 3)), value("input", (3, 4)), value(shape=(2, 4))],
        operations=[operation("dot_general.0", [0, 1], [2], params={"dimension_numbers": {"opaque": "x.Y"}})],
    )
    (node,) = [node for node in view(GraphIndex(as_capture(found))).nodes if node.kind == "operation"]
    assert node.costs is not None
    assert (node.costs.flops, node.costs.uncounted, node.costs.output_bytes) == (None, 1, 32)


def test_arithmetic_counts_results_reductions_what_they_read_and_moves_nothing() -> None:  # R41
    found = document(
        inputs={"args": [{"value": 0}], "kwargs": {}},
        values=[value("input", (4, 5)), *(value(shape=shape) for shape in ((4, 5), (5, 4), (5,), (3,)))],
        operations=[
            operation("tanh.0", [0], [1]),
            operation("transpose.0", [1], [2]),
            operation("reduce_sum.0", [2], [3]),
            operation("cholesky.0", [3], [4]),
        ],
    )
    nodes = {node.label: node.costs for node in view(GraphIndex(as_capture(found))).nodes if node.costs}
    counted = {label: (costs.flops, costs.uncounted) for label, costs in nodes.items()}
    assert counted == {"tanh": (20, 0), "transpose": (0, 0), "reduce_sum": (20, 0), "cholesky": (None, 1)}
    assert capture_costs(GraphIndex(as_capture(found))).flops == 40


def test_a_scan_counts_its_body_times_its_length_and_a_while_not_at_all() -> None:  # R41
    body = step(operation("dot_general.0", [0, 0], [1], params=DOT), values=square(), outputs=[1])
    unknown = step(
        operation("while.0", [0], [1], opaque="opaque_kernel", bodies=[{"role": "body", "body": 0}]),
        operation("tanh.0", [1], [2]),
        values=square(3),
        outputs=[2],
    )
    unknown["bodies"] = [body]
    found = document(
        inputs={"args": [{"value": 0}], "kwargs": {}},
        values=square(3),
        operations=[
            operation(
                "scan.0", [0], [1], params={"length": 7}, opaque="opaque_kernel", bodies=[{"role": "body", "body": 0}]
            ),
            operation(
                "scan.1", [1], [2], params={"length": 3}, opaque="opaque_kernel", bodies=[{"role": "body", "body": 1}]
            ),
        ],
        bodies=[body, unknown],
    )
    index = GraphIndex(as_capture(found))
    one, other = (node.costs for node in view(index).nodes if node.costs)
    assert (one.flops, one.contraction_flops, one.uncounted, one.iterations) == (7 * 128, 7 * 128, 0, 7)
    assert (other.flops, other.contraction_flops, other.uncounted, other.iterations) == (3 * 16, 0, 1, 3)
    whole = capture_costs(index)
    assert (whole.flops, whole.contraction_flops, whole.uncounted) == (7 * 128 + 48, 7 * 128, 1)
    # Inside, a body is one iteration.
    inside = [node.costs.flops for node in view(index, body="scan.0#0").nodes if node.costs]
    assert inside == [128]


def test_modules_count_their_parameters_and_shared_ones_once() -> None:  # R41
    found = mlp()
    index = GraphIndex(as_capture(found))
    nodes = {node.id: node.costs for node in view(index).nodes if node.costs}
    dense = nodes["scope:net/Dense_0"]
    assert (dense.parameters, dense.parameter_bytes, dense.state_bytes) == (24, 96, 0)
    found["operations"][4]["inputs"][1] = {"value": 2}  # the second layer reads the first one's kernel as well
    found["operations"].append(operation("net/Dense_1/dot_general.1", [8, 3], [11], 4))
    found["values"].append(value(shape=(2, 4)))
    shared = GraphIndex(as_capture({**document(), **found}))
    whole = capture_costs(shared)
    assert (whole.parameters, whole.parameter_bytes) == (24 + 32, 4 * 56)
    of_modules = [n.costs.parameters for n in view(shared).nodes if n.costs and n.id.startswith("scope:net/Dense")]
    assert of_modules == [24, 24 + 32]


def test_state_that_is_no_parameter_is_counted_apart() -> None:  # R41
    found = document(
        values=[
            value("input", (2, 3)),
            value("state", (3,), name="params/bn/scale", collection="params"),
            value("state", (3,), name="batch_stats/bn/mean", collection="batch_stats"),
            value("state", (5,), "bfloat16", name="params/unread", collection="params"),
            value(shape=(2, 3)),
        ],
        scopes=[
            {"id": "", "parent": None, "kind": "root"},
            {
                "id": "bn",
                "parent": 0,
                "kind": "module",
                "path": "bn",
                "name": "bn",
                "parameters": {"count": 8, "bytes": 22},
            },
            {"id": "f", "parent": 0, "kind": "jit", "name": "f"},
        ],
        operations=[operation("bn/add.0", [0, 1, 2], [4], 1)],
    )
    index = GraphIndex(as_capture(found))
    whole = capture_costs(index)
    assert (whole.parameters, whole.parameter_bytes, whole.state_bytes) == (8, 12 + 10, 12)
    module = next(node.costs for node in view(index).nodes if node.id == "scope:bn")
    assert module is not None
    assert (module.parameters, module.parameter_bytes, module.state_bytes) == (8, 22, 12)  # all that the module has
    read = details(index, "op:bn/add.0").node.node.costs
    assert read is not None
    assert (read.parameters, read.parameter_bytes, read.state_bytes, read.output_bytes) == (3, 12, 12, 24)
    function = details(index, "scope:f").node.node.costs
    assert function is not None
    assert (function.parameters, function.flops) == (None, 0)
