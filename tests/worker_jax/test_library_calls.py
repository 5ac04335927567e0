"""Calls of library functions outside of modules are scopes: a train step shows its loss, optimizer and update."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worker_jax.batches import documents, request

pytestmark = pytest.mark.timeout(600)

MODEL = """
import functools
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(nn.relu(nn.Dense(4)(x)))


def step(params, state, x, y):
    def loss(params):
        return optax.softmax_cross_entropy(MLP().apply(params, x), y).mean()

    value, gradients = jax.value_and_grad(loss)(params)
    updates, state = optax.adam(1e-3).update(gradients, state)
    return optax.apply_updates(params, updates), state, value


def inputs():
    x = jax.ShapeDtypeStruct((3, 5), jnp.float32)
    params = jax.eval_shape(MLP().init, jax.random.key(0), x)
    state = jax.eval_shape(optax.adam(1e-3).init, params)
    return {"args": (params, state, x, jax.ShapeDtypeStruct((3, 2), jnp.float32))}


def own(x):
    return functools.reduce(jnp.add, [x, x, x])
"""


@pytest.fixture(scope="module")
def found(models_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = Path(tmp_path_factory.mktemp("calls"))
    (folder / "model.py").write_text(MODEL)
    x = {"kind": "tensor", "shape": [3], "dtype": "float32", "requires_grad": False, "generator": {"kind": "zeros"}}
    requests = {
        "step": request(folder, "model", "step", inputs={"factory": {"file": "model.py", "callable": "inputs"}}),
        "own": request(folder, "model", "own", [x]),
    }
    return documents(models_python, requests)


def test_a_train_step_shows_the_functions_of_its_optimizer(found: dict[str, Any]) -> None:
    # R33, R37
    document = found["step"]
    scopes = document["scopes"]
    calls = {scope["id"] for scope in scopes if scope["kind"] == "call"}
    assert {"jvp()/softmax_cross_entropy", "transpose(jvp())/softmax_cross_entropy", "apply_updates"} <= calls
    assert any(name.startswith("chain/") and name.endswith("scale_by_adam/tree_update_moment") for name in calls)
    loose = [operation["primitive"] for operation in document["operations"] if operation["scope"] == 0]
    assert len(loose) < len(document["operations"]) / 10, loose


def test_what_runs_a_module_is_no_scope_of_it(found: dict[str, Any]) -> None:
    # the loss calls Flax, which calls JAX: neither stands around the module
    modules = [scope for scope in found["step"]["scopes"] if scope["kind"] == "module" and scope["name"] == "jvp(MLP)"]
    assert [scope["parent"] for scope in modules] == [0]


def test_the_standard_library_is_none(found: dict[str, Any]) -> None:
    assert [scope["kind"] for scope in found["own"]["scopes"]] == ["root"]
    assert len(found["own"]["operations"]) == 2
