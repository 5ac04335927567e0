"""Module scopes of Equinox and Haiku (R33)."""

from __future__ import annotations

from typing import Any

import pytest

from . import cases
from .batches import documents, request
from .conftest import MODELS
from .pictures import cycle_in

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def answers(models_python: str) -> dict[str, Any]:
    def made(name: str) -> dict[str, Any]:
        return cases.factory("other_modules", name)

    requests = {
        "step": request(MODELS, "other_modules", "equinox_step", inputs=made("equinox_inputs")),
        "net": request(MODELS, "other_modules", "anything", [cases.tensor(6)], init=made("net")),
        "haiku": request(MODELS, "other_modules", "haiku_apply", inputs=made("haiku_inputs")),
    }
    return documents(models_python, requests)


def modules(document: dict[str, Any]) -> dict[str, tuple[str, str, int]]:
    assert "failure" not in document, document["failure"]
    assert cycle_in(document) is None
    return {
        scope["id"]: (scope["path"], scope["class"].rpartition(".")[2], scope["parameters"]["count"])
        for scope in document["scopes"]
        if scope["kind"] == "module"
    }


def test_equinox_modules_have_paths_through_jit(answers: dict[str, Any]) -> None:
    # R33: and their arrays are state, as for other modules
    found = modules(answers["net"])
    assert found["Net"] == ("", "Net", 122)
    assert found["Net/__call__/blocks/1/norm"] == ("blocks/1/norm", "LayerNorm", 12)
    assert found["Net/__call__/Net.pool"] == ("", "Net", 122)
    states = {value["name"] for value in answers["net"]["values"] if value["role"] == "state"}
    assert {"blocks/0/linear/weight", "head/bias"} <= states


def test_equinox_modules_under_gradient_and_vmap(answers: dict[str, Any]) -> None:
    found = modules(answers["step"])
    assert found["jvp(vmap(model))/__call__/blocks/0"] == ("model/blocks/0", "Block", 54)
    backward = [path for name, (path, _, _) in found.items() if name.startswith("transpose")]
    assert {"model", "model/head", "model/blocks/1/linear"} <= set(backward)


def test_haiku_modules_have_their_names(answers: dict[str, Any]) -> None:
    found = modules(answers["haiku"])
    assert found["mlp/linear_0"] == ("mlp/~/linear_0", "Linear", 35)
    assert found["own/linear"] == ("own/linear", "Linear", 21)
    assert found["own"] == ("own", "Own", 42)
