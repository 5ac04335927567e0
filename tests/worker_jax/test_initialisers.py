"""Initialisation is abstract and draws nothing; what a program draws itself is its program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worker_jax.batches import documents, request

pytestmark = pytest.mark.timeout(600)

MODEL = """
import flax.linen as nn
import jax
import jax.numpy as jnp


class Noisy(nn.Module):
    \"\"\"Uses an initialiser as a source of noise, beside parameters that have one.\"\"\"

    @nn.compact
    def __call__(self, x):
        noise = nn.initializers.truncated_normal()(self.make_rng("noise"), x.shape)
        return nn.Dense(4, kernel_init=nn.initializers.orthogonal(), dtype=jnp.bfloat16)(x + noise)


class Flat(nn.Module):
    \"\"\"An initialiser that needs two dimensions.\"\"\"

    @nn.compact
    def __call__(self, x):
        return x * self.param("scale", nn.initializers.lecun_normal(), (x.shape[-1],))


class Whole(nn.Module):
    \"\"\"Whole numbers cannot be drawn from a normal distribution.\"\"\"

    @nn.compact
    def __call__(self, x):
        return x + self.param("count", nn.initializers.normal(dtype=jnp.int32), (3,))
"""


@pytest.fixture(scope="module")
def found(models_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = Path(tmp_path_factory.mktemp("initialisers"))
    (folder / "model.py").write_text(MODEL)
    x = {"kind": "tensor", "shape": [2, 3], "dtype": "float32", "requires_grad": False, "generator": {"kind": "zeros"}}
    names = ("Noisy", "Flat", "Whole")
    return documents(models_python, {name: request(folder, "model", name, [x], kind="flax.linen") for name in names})


def test_what_the_program_draws_is_kept(found: dict[str, Any]) -> None:
    # R14, R20
    primitives = [operation["primitive"] for operation in found["Noisy"]["operations"]]
    assert "random_bits" in primitives
    assert "erf_inv" in primitives
    state = {value["name"]: value for value in found["Noisy"]["values"] if value["role"] == "state"}
    assert state["params/Dense_0/kernel"]["shape"] == [3, 4]
    assert state["params/Dense_0/kernel"]["dtype"] == "float32"


@pytest.mark.parametrize("name", ["Flat", "Whole"])
def test_an_initialiser_that_cannot_draw_fails(found: dict[str, Any], name: str) -> None:
    # R22
    failure = found[name]["failure"]
    assert failure["phase"] == "init"
    assert failure["type"] == "ValueError"
