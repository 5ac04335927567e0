"""Results that are computed as they are taken: of generators and the like they are outputs, of coroutines a mistake."""

from __future__ import annotations

from typing import Any

import pytest

from .batches import documents, primitives, request
from .cases import tensor

MODELS = """\
import asyncio

import jax.numpy as jnp
from flax import nnx


def yields(x):
    for step in range(2):
        yield jnp.sin(x)


def maps(x):
    return {"mapped": map(jnp.sin, [x, x]), "pair": (x, (jnp.cos(x) for _ in range(2)))}


class Counted(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.zeros(()))

    def __call__(self, x):
        yield x
        self.count.value = self.count.value + 1


def forever(x):
    while True:
        yield x


async def coroutine(x):
    return jnp.sin(x)


async def asynchronous(x):
    yield jnp.sin(x)


def inside(x):
    return x, [coroutine(x)]


def awaited(x):
    return asyncio.run(coroutine(x))
"""
NAMES = ("yields", "maps", "Counted", "forever", "coroutine", "asynchronous", "inside", "awaited")


@pytest.fixture(scope="module")
def found(models_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("lazy")
    (folder / "models.py").write_text(MODELS)
    asked = {name: request(folder, "models", name, [tensor(2)], discovered=False) for name in NAMES}
    asked["forever"]["limits"] = {"values": 1000}
    return documents(models_python, asked)


def test_what_a_generator_yields_are_the_outputs(found: dict[str, Any]) -> None:  # R19, R22
    assert primitives(found["yields"]) == ["sin", "sin"]
    assert found["yields"]["coverage"]["status"] == "complete"
    assert [list(output) for output in found["yields"]["outputs"]["list"]] == [["value"], ["value"]]
    assert {frame["line"] for frame in found["yields"]["frames"] if frame["workspace"]} == {9}


def test_iterators_inside_of_a_result_are_run_as_well(found: dict[str, Any]) -> None:  # R19, R22
    assert primitives(found["maps"]) == ["sin", "sin", "cos", "cos"]
    outputs = found["maps"]["outputs"]["dict"]
    assert len(outputs["mapped"]["list"]) == 2
    assert outputs["pair"]["tuple"][0] == {"value": 0}
    assert len(outputs["pair"]["tuple"][1]["list"]) == 2


def test_state_that_is_written_after_the_last_yield_counts(found: dict[str, Any]) -> None:  # R22
    assert primitives(found["Counted"]) == ["add"]
    assert list(found["Counted"]["outputs"]["tuple"][1]["dict"]) == ["count"]


def test_a_generator_that_does_not_end_exceeds_a_limit(found: dict[str, Any]) -> None:  # R32
    assert (found["forever"]["failure"]["kind"], found["forever"]["failure"]["limit"]) == ("limit", "values")


@pytest.mark.parametrize(
    ("name", "what"),
    [("coroutine", "a coroutine"), ("asynchronous", "an asynchronous generator"), ("inside", "a coroutine")],
)
def test_what_has_to_be_awaited_is_told_with_a_way_out(found: dict[str, Any], name: str, what: str) -> None:  # R22
    failure = found[name]["failure"]
    assert failure["kind"] == "setup"
    assert f"the call returns {what}: nothing of it runs" in failure["message"]
    assert "asyncio.run" in failure["hint"]


def test_the_way_out_is_one(found: dict[str, Any]) -> None:
    assert primitives(found["awaited"]) == ["sin"]
