"""Factories for functions, Linen and NNX, where they go wrong: what is said, and at which line."""

from __future__ import annotations

from typing import Any

import pytest

from . import cases
from .batches import documents, request

pytestmark = pytest.mark.timeout(600)

MODELS = """
import jax.numpy as jnp
from flax import linen, nnx


def net(x, scale=1.0):
    return jnp.sin(x) * scale


class Dense(linen.Module):
    width: int = 4

    @linen.compact
    def __call__(self, x):
        return linen.Dense(self.width)(x)


class Linear(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 2, rngs=rngs)

    def __call__(self, x):
        return self.inner(x)
"""
MAKE = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
import models


def arrays(rows=2, *, columns=3):
    return {"x": np.ones((rows, columns), np.float32)}


class Batches:
    @staticmethod
    def small():
        return {"args": (jnp.ones((1, 3)),)}

    @classmethod
    def named(cls, rows):
        return arrays(rows)


def linen(width):
    model = models.Dense(width)
    return model.bind(model.init(jax.random.key(0), jnp.ones((1, 3))))


def linear():
    return models.Linear(nnx.Rngs(1))


def configured(scale):
    return functools.partial(models.net, scale=scale)


def raises(*anything):
    return helper()


def helper():
    return jnp.ones((2, 3)) @ jnp.ones((2, 3))


def nothing():
    pass


@functools.cache
def number():
    return 3


async def later():
    return {}


partly = functools.partial(arrays, rows=5)
constant = 3
"""
X = cases.tensor(2, 3)
KINDS = {"net": "jax.function", "Dense": "flax.linen", "Linear": "flax.nnx"}


def of(target: str, *, init: Any = None, inputs: Any = None) -> Any:
    return lambda folder: request(
        folder, "models", target, [] if inputs else [X], kind=KINDS[target], init=init, inputs=inputs
    )


def made(name: str, **kwargs: Any) -> dict[str, Any]:
    return cases.factory("make", name, **kwargs)


GOOD = {
    **{f"inputs:{target}": of(target, inputs=made("arrays")) for target in KINDS},
    "keywords": of("net", inputs=made("arrays", rows=7, columns=2)),
    "static": of("net", inputs=made("Batches.small")),
    "class": of("net", inputs=made("Batches.named", rows=4)),
    "partial": of("net", inputs=made("partly")),
    "linen": of("Dense", init=made("linen", width=6)),
    "nnx": of("Linear", init=made("linear")),
    "callable": of("net", init=made("configured", scale=2.0)),
}
LINES = {name: MAKE.splitlines().index(line) + 1 for name, line in {
    "linen": "def linen(width):",
    "nothing": "def nothing():",
    "number": "@functools.cache",
    "later": "async def later():",
    "arrays": "def arrays(rows=2, *, columns=3):",
    "helper": "    return jnp.ones((2, 3)) @ jnp.ones((2, 3))",
    "raises": "    return helper()",
}.items()}  # fmt: skip
BAD: dict[str, tuple[Any, str, str, str | None]] = {
    # What is asked, the key at fault, what is said, and whose line is the first frame.
    **{f"inputs:{t}": (of(t, inputs=made("nothing")), "inputs.factory", "not NoneType", "nothing") for t in KINDS},
    "coroutine": (of("net", inputs=made("later")), "inputs.factory", "not coroutine", "later"),
    "number": (of("net", inputs=made("number")), "inputs.factory", "not int", "number"),
    "linen": (of("Dense", init=made("nothing")), "init.factory", "must return Dense", "nothing"),
    "nnx": (of("Linear", init=made("linen", width=2)), "init.factory", "an instance of Linear", "linen"),
    "function": (of("net", init=made("nothing")), "init.factory", "must return a callable", "nothing"),
    "unknown": (of("net", inputs=made("arrays", row=1)), "inputs.factory.kwargs", "unexpected keyword", "arrays"),
    "missing": (of("Dense", init=made("linen")), "init.factory.kwargs", "missing 1 required", "linen"),
    "name": (of("net", inputs=made("arays")), "inputs.factory.callable", "did you mean arrays", None),
    "method": (of("net", inputs=made("Batches.smal")), "inputs.factory.callable", "did you mean small", None),
    "constant": (of("net", inputs=made("constant")), "inputs.factory.callable", "is not callable", None),
    "tensor": (of("net", inputs=made("arrays", rows=X)), "inputs.factory.kwargs.rows", "plain values", None),
}


@pytest.fixture(scope="module")
def answers(models_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("factories")
    (folder / "models.py").write_text(MODELS)
    (folder / "make.py").write_text(MAKE)
    raising = {f"raises:{part}": of("net", **{part: made("raises")}) for part in ("init", "inputs")}
    asked: dict[str, Any] = {**GOOD, **{f"bad:{name}": row[0] for name, row in BAD.items()}, **raising}
    return documents(models_python, {name: make(folder) for name, make in asked.items()})


def shapes(document: dict[str, Any], role: str) -> list[list[int]]:
    assert "failure" not in document, document["failure"]
    return [value["shape"] for value in document["values"] if value["role"] == role]


def test_factories_of_every_kind(answers: dict[str, Any]) -> None:
    # R12
    for target in KINDS:
        assert shapes(answers[f"inputs:{target}"], "input") == [[2, 3]]
    assert shapes(answers["keywords"], "input") == [[7, 2]]
    assert shapes(answers["static"], "input") == [[1, 3]]
    assert shapes(answers["class"], "input") == [[4, 3]]
    assert shapes(answers["partial"], "input") == [[5, 3]]
    assert [3, 6] in shapes(answers["linen"], "state")
    assert [3, 2] in shapes(answers["nnx"], "state")
    assert shapes(answers["callable"], "input") == [[2, 3]]
    assert all("make.py" in [source["path"] for source in answers[name]["sources"]] for name in GOOD)


@pytest.mark.parametrize("name", BAD)
def test_a_factory_at_fault_is_told_with_its_line(answers: dict[str, Any], name: str) -> None:
    # R12, R22
    _, key, says, place = BAD[name]
    failure = answers[f"bad:{name}"]["failure"]
    assert failure["key"] == key
    assert says in failure["message"]
    frames = [(frame["path"], frame["line"]) for frame in failure["frames"]]
    assert frames == ([] if place is None else [("make.py", LINES[place])])


@pytest.mark.parametrize("part", ["init", "inputs"])
def test_a_factory_that_raises_is_the_first_frame(answers: dict[str, Any], part: str) -> None:
    # R12, R22
    failure = answers[f"raises:{part}"]["failure"]
    assert (failure["kind"], failure["phase"]) == ("exception", part)
    frames = [(frame["path"], frame["line"]) for frame in failure["frames"][:2]]
    assert frames == [("make.py", LINES["helper"]), ("make.py", LINES["raises"])]
