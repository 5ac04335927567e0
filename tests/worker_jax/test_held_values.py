"""Objects and members of enumerations in a setup: made as their classes, by the names that the workspace gives them."""

from __future__ import annotations

from typing import Any

import pytest

from . import cases
from .batches import documents, primitives, request
from .conftest import MODELS

pytestmark = pytest.mark.timeout(600)
X = cases.tensor(2, 4)


def held(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "object", "class": f"held_values:{name}", "fields": fields}


def act(member: str) -> dict[str, Any]:
    return {"kind": "enum", "class": "held_values:Act", "member": member}


def of(name: str, *args: Any, config: Any = None, **options: Any) -> dict[str, Any]:
    init = {"args": [], "kwargs": {} if config is None else {"config": config}}
    return request(MODELS, "held_values", name, list(args), init=init, **options)


CONFIG = held("Config", depth=2, act=act("COS"), part=held("Part", width=3))
WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "field": (of("Linen", X, config=held("Config", deep=1)), "init.kwargs.config.fields", "'deep'"),
    "class": (of("Linen", X, config=held("Missing")), "init.kwargs.config.class", "has no class 'Missing'"),
    "plain": (of("Linen", X, config=held("Plain")), "init.kwargs.config.class", "a factory can make an object of it"),
    "member": (of("step", held("State", h=X, c=X), act("TAN")), "inputs.args[1].member", "has SIN, COS"),
    "library": (
        of("scaled", X, {"kind": "object", "class": "fractions:Fraction", "fields": {}}),
        "inputs.args[1].class",
        "the workspace has no module 'fractions'",
    ),
    "package": (
        of("scaled", X, {"kind": "object", "class": "antigravity.sky:Sky", "fields": {}}),
        "inputs.args[1].class",
        "the workspace has no module 'antigravity.sky'",
    ),
    "imported": (
        of("scaled", X, {"kind": "enum", "class": "held_values:HTTPStatus", "member": "OK"}),
        "inputs.args[1].class",
        "HTTPStatus is a class of http, not of the workspace",
    ),
}
REQUESTS = {
    "linen": of("Linen", X, config=CONFIG),
    "nnx": of("Nnx", held("Batch", x=X, train=True), config=held("Config", depth=3)),
    "step": of("step", held("State", h=X, c=X), act("COS")),
    "scaled": of("scaled", X, held("Part", width=7)),
    "factory": of("scaled", inputs=cases.factory("held_values", "inputs", part=held("Part", width=5))),
    "refused": of("Linen", X, config=held("Config", depth=0)),
    **{f"wrong:{name}": given for name, (given, _, _) in WRONG.items()},
}


@pytest.fixture(scope="module")
def answers(models_python: str) -> dict[str, Any]:
    return documents(models_python, REQUESTS)


def shapes(document: dict[str, Any], role: str) -> dict[str, list[int]]:
    return {value["name"]: value["shape"] for value in document["values"] if value["role"] == role}


def test_models_are_made_with_objects(answers: dict[str, Any]) -> None:  # R9, R12
    assert primitives(answers["linen"]).count("cos") == 2
    assert shapes(answers["linen"], "state")["params/Dense_1/kernel"] == [3, 3]
    assert primitives(answers["nnx"]).count("dot_general") == 3
    assert shapes(answers["nnx"], "state")["layers/2/kernel"] == [4, 4]


def test_programs_are_called_with_objects(answers: dict[str, Any]) -> None:  # R9, R11
    assert shapes(answers["nnx"], "input") == {"batch/x": [2, 4]}
    assert "sin" in primitives(answers["nnx"])
    assert primitives(answers["step"]) == ["cos"]
    assert shapes(answers["step"], "input") == {"state/h": [2, 4], "state/c": [2, 4]}
    assert primitives(answers["scaled"]) == ["mul"]
    assert shapes(answers["factory"], "input") == {"x": [2, 5]}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_made_is_a_fault_of_the_setup(answers: dict[str, Any], name: str) -> None:  # R12, R35
    _, key, says = WRONG[name]
    failure = answers[f"wrong:{name}"]["failure"]
    assert (failure["kind"], failure["key"]) == ("setup", key)
    assert says in failure["message"]


def test_what_a_constructor_raises_has_its_line(answers: dict[str, Any]) -> None:  # R35
    failure = answers["refused"]["failure"]
    assert failure["kind"] == "exception"
    assert "a model has a layer or more" in failure["message"]
    assert [frame["function"] for frame in failure["frames"] if frame["workspace"]][-1].endswith("__post_init__")
