"""FLOPs of PyTorch programs, beside what PyTorch's own counter says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.worker_jax.batches import documents, request
from tests.worker_torch.test_captures import tensor
from tvls.graph.costs import capture_costs
from tvls.graph.index import GraphIndex
from tvls.graph.torch_costs import torch_contraction_flops, torch_flops

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(600)

SHAPES = {"Products": (5, 7, 6), "Convolutions": (2, 4, 13, 11), "Attention": (3, 5, 8), "Recurrent": (3, 4)}


@pytest.fixture(scope="module")
def found(torch_python: str) -> dict[str, Any]:
    requests = {
        name: request(HERE, "contractions", name, [tensor(*shape)], kind="torch.module", framework="torch")
        for name, shape in SHAPES.items()
    }
    return documents(torch_python, requests)


@pytest.fixture(scope="module")
def counted(torch_python: str) -> dict[str, int]:
    command = [torch_python, "-B", str(HERE / "contractions.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return json.loads(ran.stdout)


@pytest.mark.parametrize("name", SHAPES)
def test_contractions_count_as_pytorch_counts_them(found: dict[str, Any], counted: dict[str, int], name: str) -> None:
    assert "failure" not in found[name], found[name]["failure"]
    costs = capture_costs(GraphIndex(found[name]))
    assert costs.contraction_flops == counted[name]
    assert costs.flops is not None
    assert costs.flops >= costs.contraction_flops
    assert costs.uncounted == 0


def test_multiplications_with_padding_are_none() -> None:
    params = {"stride": [1], "padding": [1], "dilation": [1], "transposed": False}
    # windows of three over four elements with one of padding on each side: 2 + 3 + 3 + 2 multiplications
    assert torch_contraction_flops("aten.convolution", [[1, 1, 4], [1, 1, 3]], [[1, 1, 4]], params) == 2 * 10
    transposed = params | {"transposed": True}
    assert torch_contraction_flops("aten.convolution", [[1, 1, 4], [1, 1, 3]], [[1, 1, 4]], transposed) == 2 * 10
    same = {"stride": 1, "padding": "same", "dilation": 1}
    assert torch_contraction_flops("torch.conv1d", [[1, 1, 4], [1, 1, 3]], [[1, 1, 4]], same) == 2 * 10


@pytest.mark.parametrize(
    ("primitive", "operands", "results", "params", "flops"),
    [
        ("torch.Tensor.view", [[4, 4]], [[16]], {}, 0),
        ("aten.relu", [[4, 4]], [[4, 4]], {}, 16),
        ("aten.sum", [[4, 4]], [[]], {}, 16),
        ("aten.max_pool2d_with_indices", [[1, 1, 4, 4]], [[1, 1, 2, 2]], {"kernel_size": [2, 2]}, 16),
        ("aten._linalg_svd", [[4, 4]], [[4, 4]], {}, None),
        ("quantized.linear", [[4, 4]], [[4, 4]], {}, None),
        ("aten.mul", [[2, -1]], [[2, -1]], {}, None),
    ],
)
def test_other_work(primitive: str, operands: Any, results: Any, params: Any, flops: int | None) -> None:
    assert torch_flops(primitive, operands, results, params) == flops
