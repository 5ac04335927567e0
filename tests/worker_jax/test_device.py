"""Devices: what is not there fails first, and what a factory places stays where it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from . import cases
from .batches import documents, request
from .conftest import MODELS, run_worker

pytestmark = pytest.mark.timeout(600)


def made(name: str, **kwargs: Any) -> dict[str, Any]:
    return cases.factory("semantics", name, **kwargs)


@pytest.mark.parametrize("device", ["cuda:0", "cuda:7", "cuda", "tpu:0", "CPU", ""])
def test_a_device_that_is_not_there_fails_before_the_model_is_imported(
    models_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    # R21: nothing takes its place, and nothing of the workspace has run
    canary = tmp_path / "canary"
    monkeypatch.setenv("TVLS_CANARY", str(canary))
    there = request(MODELS, "semantics", "scaled", [cases.tensor(2), cases.tensor(2)])
    asked = {**there, "setup": {**there["setup"], "device": device}}
    document = json.loads(run_worker(models_python, asked))
    assert document["failure"]["kind"] == "device"
    assert document["failure"]["key"] == "device"
    assert document["sources"] == []
    assert not canary.exists()
    if device == "cuda:0":  # and the canary does sing
        assert "failure" not in json.loads(run_worker(models_python, there))
        assert canary.read_text() == "imported"


TELLING = """\
import os

import jax
import jax.numpy as jnp
from flax import linen as nn


def tell(where):
    with open(os.environ["TVLS_TOLD"], "a") as told:
        told.write(f"{where}: {jax.config.jax_default_device}\\n")


tell("import")


class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(3, kernel_init=kernel)

    def __call__(self, x):
        tell("trace")
        return self.dense(x)


def kernel(*arguments):
    tell("parameters")
    return jnp.ones((2, 3))


def make():
    tell("init")
    return Net()


def batch():
    tell("inputs")
    return {"x": jnp.ones((1, 2))}
"""


PARTS = {"init": "make", "inputs": "batch"}


def test_the_device_is_that_of_import_init_factories_and_trace(
    models_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # R21
    told = tmp_path / "told"
    monkeypatch.setenv("TVLS_TOLD", str(told))
    (tmp_path / "telling.py").write_text(TELLING)
    by = {part: {"factory": {"file": "telling.py", "callable": name}} for part, name in PARTS.items()}
    document = json.loads(run_worker(models_python, request(tmp_path, "telling", "Net", kind="flax.linen", **by)))
    assert "failure" not in document, document["failure"]
    lines = [line.partition(": ") for line in told.read_text().splitlines()]
    assert {where for where, _, _ in lines} == {"import", "init", "inputs", "parameters", "trace"}
    assert {device for _, _, device in lines} == {"cpu"}


def test_placement_of_factory_arrays_is_kept_and_shown(models_python: str) -> None:
    # R21
    requests = {
        "one": request(MODELS, "semantics", "scaled", inputs=made("make_sharded", devices=1)),
        "two": request(MODELS, "semantics", "scaled", inputs=made("make_sharded", devices=2)),
        "last": request(MODELS, "semantics", "scaled", inputs=made("make_on_last_device")),
        "model": request(
            MODELS, "semantics", "ShardedModel", [cases.tensor(2, 4)], kind="flax.nnx", init=made("sharded_model")
        ),
    }
    found = documents(models_python, requests, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    for name, document in found.items():
        assert "failure" not in document, (name, document["failure"])
    one, two, last, model = (found[name]["values"] for name in ("one", "two", "last", "model"))
    for values in (one, two):
        assert "'data'" in values[0]["sharding"]
        assert "PartitionSpec('data'" in values[0]["sharding"] or "P('data'" in values[0]["sharding"]
        assert "sharding" not in values[1]  # placed by default
    assert "'data': 1" in one[0]["sharding"]
    assert "'data': 2" in two[0]["sharding"]
    assert "1" in last[0]["sharding"]
    assert last[0]["sharding"] != two[0]["sharding"]
    (kernel,) = [value for value in model if value["role"] == "state"]
    assert "'data': 2" in kernel["sharding"]
