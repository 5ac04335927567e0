"""Equinox classes and Haiku programs as targets (R33, R37): built or initialised here, without an array."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from . import cases
from .batches import documents, primitives, request
from .conftest import MODELS
from .pictures import cycle_in

pytestmark = pytest.mark.timeout(600)

X = cases.tensor(4)
ROWS = cases.tensor(2, 3)


@pytest.fixture(scope="module")
def answers(models_python: str) -> dict[str, Any]:
    def ask(name: str, *args: Any, **options: Any) -> dict[str, Any]:
        return request(MODELS, "library_targets", name, list(args), **options)

    def init(**kwargs: Any) -> dict[str, Any]:
        return {"args": [], "kwargs": kwargs}

    requests = {
        "tower": ask("Tower", X, init=init(width=4, depth=3)),
        "tower again": ask("Tower", X, init=init(width=4, depth=3)),
        "other seed": ask("Tower", X, init=init(width=4, depth=3), seed=1),
        "positional": ask("Tower", X, init={"args": [4, 1], "kwargs": {}}),
        "method": ask("Tower.energy", X, init=init(width=4), discovered=False),
        "plain": ask("Plain", cases.tensor(3), init=init(weight=cases.tensor(3), power=3)),
        "factory": ask("Plain", cases.tensor(3), init=cases.factory("library_targets", "make_plain", power=4)),
        "looking": ask("Looking", cases.tensor(3), init=init(size=3)),
        "wrong": ask("Tower", X, init=init(width=4, breadth=3)),
        "stateful": ask("stateful", ROWS, 1),
        "training": ask("stateful", ROWS, kwargs={"is_training": True}),
        "evaluated": ask("stateful", ROWS, False),
        "haiku": ask("plain", ROWS),
        "silent": ask("silent", ROWS, kwargs={"scale": 2.0}),
        "decorated": ask("decorated", ROWS),
        "program factory": ask("network", ROWS, init=cases.factory("library_targets", "make_program")),
        "haiku init": ask("plain", ROWS, init=init(width=4)),
        "haiku fails": ask("plain", cases.tensor()),
    }
    return documents(models_python, requests)


def values(document: dict[str, Any], role: str) -> dict[str, list[int]]:
    assert "failure" not in document, document["failure"]
    assert cycle_in(document) is None
    return {value["name"]: value["shape"] for value in document["values"] if value["role"] == role}


def test_an_equinox_class_is_built_from_its_fields_and_the_seed(answers: dict[str, Any]) -> None:
    # R20 for Equinox: fresh, abstract, in inference mode
    tower = answers["tower"]
    state = {f"layers/{at}/{name}": shape for at in range(3) for name, shape in (("weight", [4, 4]), ("bias", [4]))}
    assert values(tower, "state") == state
    assert values(tower, "input") == {"x": [4]}
    assert tower["setup"]["notes"] == ["freshly_initialised"]
    assert tower["target"]["kind"] == "jax.function"
    assert primitives(tower) == ["dot_general", "add", "max"] * 3 + ["mul"]  # the dropout is off
    paths = {scope["path"]: scope["class"] for scope in tower["scopes"] if scope["kind"] == "module"}
    assert paths[""] == "library_targets.Tower"
    assert {"layers/0", "layers/1", "layers/2"} <= set(paths)
    assert tower["captureId"] == answers["tower again"]["captureId"] != answers["other seed"]["captureId"]
    assert len(values(answers["positional"], "state")) == 2


def test_other_ways_to_an_equinox_module(answers: dict[str, Any]) -> None:
    assert primitives(answers["method"])[-2:] == ["integer_pow", "reduce_sum"]
    assert values(answers["plain"], "state") == {"weight": [3]}
    assert primitives(answers["plain"]) == ["integer_pow", "mul"]
    assert answers["factory"]["setup"]["notes"] == []
    assert answers["factory"]["operations"][0]["params"] == {"y": 4}
    assert answers["looking"]["setup"]["notes"] == ["concrete_initialisation", "freshly_initialised"]
    assert values(answers["looking"], "state") == {"weight": [3]}
    failure = answers["wrong"]["failure"]
    assert (failure["phase"], failure["type"]) == ("init", "TypeError")
    assert "breadth" in failure["message"]


def test_a_haiku_program_is_initialised_and_applied(answers: dict[str, Any]) -> None:
    stateful = answers["stateful"]
    state = values(stateful, "state")
    assert state["params/mlp/~/linear_0/w"] == [3, 5]
    assert state["params/batch_norm/scale"] == [1, 4]
    assert state["state/batch_norm/~/mean_ema/average"] == [1, 4]
    assert values(stateful, "input") == {"x": [2, 3]}  # the key is not used
    assert stateful["setup"]["notes"] == ["freshly_initialised"]
    output, new_state = stateful["outputs"]["tuple"]
    assert "value" in output
    assert set(new_state["dict"]) == {"batch_norm/~/mean_ema", "batch_norm/~/var_ema"}
    paths = {scope["path"] for scope in stateful["scopes"] if scope["kind"] == "module"}
    assert {"mlp", "mlp/~/linear_0", "batch_norm"} <= paths
    training = answers["training"]
    assert values(training, "input") == {"rng": [], "x": [2, 3]}
    assert training["setup"]["static"] == {"kwargs.is_training": True}
    failure = answers["evaluated"]["failure"]  # Haiku itself makes such a state in training only
    assert (failure["phase"], "'batch_norm/~/mean_ema'" in failure["message"]) == ("init", True)


def test_other_ways_to_a_haiku_program(answers: dict[str, Any]) -> None:
    assert values(answers["haiku"], "input") == {"rng": [], "x": [2, 3]}
    assert "random_bits" in primitives(answers["haiku"])
    assert values(answers["silent"], "input") == {"x": [2, 3]}
    assert primitives(answers["silent"])[-1] == "mul"
    assert "state/batch_norm/~/var_ema/hidden" in values(answers["decorated"], "state")
    assert primitives(answers["program factory"]) == primitives(answers["haiku"])
    assert answers["haiku init"]["failure"]["key"] == "init.kwargs"
    failure = answers["haiku fails"]["failure"]
    assert failure["phase"] == "init"
    assert [frame["path"] for frame in failure["frames"] if frame["workspace"]] == ["library_targets.py"]


def test_from_the_lens_to_the_graph(models_python: str, tmp_path: Path) -> None:
    # R1, R6, R10, R37: found by reading, its constructor's values named, the key supplied
    (tmp_path / "library_targets.py").write_text((MODELS / "library_targets.py").read_text())

    def tvls(*arguments: str) -> Any:
        command = [sys.executable, "-m", "tvls", *arguments, "--json"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
        return json.loads(ran.stdout)

    found = {(target["name"], target["kind"]) for target in tvls("discover", str(tmp_path))}
    names = ("Tower", "Plain", "Looking", "make_plain", "stateful", "plain", "silent", "decorated")
    assert found == {(name, "jax.function") for name in names}
    trace = ["trace", "--trust", "--python", models_python]
    missing = tvls(*trace, "library_targets.py:Tower", "--input", "x=float32[4]")
    assert missing["error"]["data"]["kind"] == "setupRequired"
    assert [value["key"] for value in missing["error"]["data"]["missing"] if value.get("required", True)] == [
        "init.kwargs.width"
    ]
    tower = tvls(*trace, "library_targets.py:Tower", "--init", "width=4", "--input", "x=float32[4]")
    assert len(values(tower, "state")) == 4
    silent = tvls(*trace, "library_targets.py:silent", "--input", "x=float32[2,3]", "--input", "scale=2.0")
    assert primitives(silent)[-1] == "mul"
