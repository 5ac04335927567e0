"""NNX modules in transformations of JAX: refused by the oldest Flax, copied by the newest, which loses updates."""

from __future__ import annotations

from typing import Any

import pytest

from tests.versions.environments import ROWS, Row, find_python
from tests.versions.test_versions import python_of
from tests.worker_jax import cases
from tests.worker_jax.batches import documents, request
from tests.worker_jax.conftest import MODELS

pytestmark = pytest.mark.timeout(600)
OLDEST, NEWEST = ROWS
NAMES = ("lost_step", "lost_in_grad", "kept_step")


def answers(row: Row) -> dict[str, Any]:
    if find_python(row) is None:
        pytest.skip(f"no Python {' or '.join(row.pythons)} on this machine")
    made = cases.factory("closed_over", "make_net")
    requests = {name: request(MODELS, "closed_over", name, inputs=made) for name in NAMES}
    requests["metered"] = request(MODELS, "closed_over", "metered_by_value", [cases.tensor(3)])
    return documents(python_of(row), requests)


def written(document: dict[str, Any]) -> set[str]:
    assert "failure" not in document, document["failure"]
    return set(document["outputs"]["tuple"][1]["dict"])


def test_modules_that_jax_refuses_are_for_the_transformations_of_flax() -> None:
    # R22, R30
    found = answers(OLDEST)
    failure = found["lost_step"]["failure"]
    assert "`model` of lost_step is a closed_over.Net" in failure["message"]
    assert "nnx.jit" in failure["hint"]
    assert failure["frames"][0]["path"] == "closed_over.py"
    failure = found["lost_in_grad"]["failure"]
    assert failure["message"] == "a closed_over.Net cannot be traced as an array"
    assert "nnx.grad" in failure["hint"]
    assert failure["frames"][0]["path"] == "closed_over.py"
    assert "model/linear/kernel" in written(found["kept_step"])
    assert written(found["metered"]) == {"METER/n"}


def test_updates_to_copies_are_said_to_be_lost() -> None:
    # R20, R30
    found = answers(NEWEST)
    lost = "updates_lost:lost_step=model (linear/bias, linear/kernel, norm/bias and 3 more)"
    assert found["lost_step"]["setup"]["notes"] == [lost]
    assert found["lost_in_grad"]["setup"]["notes"] == ["updates_lost:<lambda>=net (norm/mean, norm/var)"]
    assert found["kept_step"]["setup"]["notes"] == []
    assert "model/linear/kernel" in written(found["kept_step"])
    assert written(found["metered"]) == {"METER/n"}
