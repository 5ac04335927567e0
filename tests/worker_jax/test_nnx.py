"""NNX objects in a trace: state that is read and written, arrays that are shared, objects that stay as they were."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from . import cases
from .batches import documents, request
from .conftest import MODELS, ROOT, WORKER

pytestmark = pytest.mark.timeout(600)
X = cases.tensor(2, 5, 3)


def made(name: str, **kwargs: Any) -> dict[str, Any]:
    return cases.factory("semantics", name, **kwargs)


REQUESTS = {
    "module": request(MODELS, "semantics", "Stateful", [X], kind="flax.nnx"),
    "factory": request(MODELS, "semantics", "Stateful", [X], kind="flax.nnx", init=made("kept")),
    "method": request(MODELS, "semantics", "anything", [X], init=made("kept_method")),
    "partial": request(MODELS, "semantics", "anything", [X], init=made("kept_partial")),
    "argument": request(MODELS, "semantics", "training", inputs=made("kept_inputs")),
}


@pytest.fixture(scope="module")
def answers(models_python: str) -> dict[str, Any]:
    return documents(models_python, REQUESTS)


def states(document: dict[str, Any]) -> dict[str, str]:
    assert "failure" not in document, document["failure"]
    return {value["name"]: value["collection"] for value in document["values"] if value["role"] == "state"}


def written(document: dict[str, Any]) -> set[str]:
    outputs = document["outputs"]
    return set(outputs["tuple"][1]["dict"]) if "tuple" in outputs else set()


def test_every_kind_of_state_is_labelled(answers: dict[str, Any]) -> None:
    # R20, R33
    found = states(answers["module"])
    assert found["norm/mean"] == "BatchStat"
    assert found["norm/scale"] == "Param"
    assert found["drop/rngs/count"] == "RngCount"
    assert found["drop/rngs/key"] == "RngKey"
    assert found["cell/dense_h/kernel"] == "Param"
    assert "rnn/cell/dense_h/kernel" not in found  # one cell under two names
    (key,) = [value for value in answers["module"]["values"] if value.get("name") == "drop/rngs/key"]
    assert key["dtype"] == "key<fry>"


def test_eval_mode_writes_nothing_and_training_is_seen(answers: dict[str, Any]) -> None:
    # R20: report 3997 of Flax: what a call writes comes out as state
    assert "norm/mean" not in written(answers["module"])
    assert "drop/rngs/count" not in written(answers["module"])
    for name in ("partial", "argument"):
        root = {"partial": "", "argument": "model/"}[name]
        assert {f"{root}norm/mean", f"{root}norm/var", f"{root}drop/rngs/count"} <= written(answers[name]), name


def test_bound_methods_and_partials_have_state_and_scopes(answers: dict[str, Any]) -> None:
    # R20, R33
    assert [scope["name"] for scope in answers["method"]["scopes"][1:3]] == ["Stateful.normed", "norm"]
    assert set(states(answers["method"])) == set(states(answers["factory"]))
    assert states(answers["partial"])["norm/mean"] == "BatchStat"
    assert states(answers["argument"])["model/norm/mean"] == "BatchStat"
    assert "freshly_initialised" not in answers["factory"]["setup"]["notes"]
    assert "freshly_initialised" in answers["module"]["setup"]["notes"]


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tvls.worker import trace
trace.load_framework("jax")
for request in json.load(sys.stdin):
    trace.prepare_imports(request["workspace"], request["sysPath"])
    document = json.loads(trace.run(request, lambda phase: None))
    assert "failure" not in document, document["failure"]
    import jax, semantics
    from flax import nnx
    graphdef, state = nnx.split(semantics.KEPT)
    assert graphdef == semantics.BEFORE[0]
    now, before = jax.tree.leaves(state), jax.tree.leaves(semantics.BEFORE[1])
    assert not any(isinstance(leaf, jax.core.Tracer) for leaf in now)
    # the very arrays, and not copies of them
    assert all(one is other for one, other in zip(now, before, strict=True))
    for _, node in nnx.iter_graph(semantics.KEPT):
        assert not [name for name in getattr(node, "__dict__", ()) if "tvls" in name], node
    for cls in (semantics.Stateful, nnx.BatchNorm, nnx.Linear):
        assert cls.__call__.__code__.co_filename.endswith(cls.__module__.rpartition(".")[2] + ".py")
"""


def test_the_users_objects_and_classes_stay_as_they_were(models_python: str) -> None:
    # R20: no tracer is left in them, and nothing of the marks
    command = [models_python, "-B", "-c", SCRIPT, str(ROOT)]
    requests = [REQUESTS[name] for name in ("factory", "method", "partial", "argument")]
    ran = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_arrays_are_shared_and_not_copied(models_python: str) -> None:
    # R20: the peak of the worker grows by the size of the arrays once
    def peak(megabytes: int) -> int:
        heavy = request(
            MODELS, "semantics", "Heavy", [cases.tensor(2)], kind="flax.nnx", init=made("heavy", megabytes=megabytes)
        )
        measure = (
            "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdin=sys.stdin).returncode; "
            "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(code)"
        )
        worker = [models_python, "-B", "-u", str(WORKER), "trace"]
        ran = subprocess.run(
            [models_python, "-c", measure, *worker], input=json.dumps(heavy).encode(), capture_output=True, check=True
        )
        document = json.loads(ran.stdout[ran.stdout.index(b'{"backend"') :])
        assert states(document) == {"weight": "Param"}
        return int(ran.stderr.decode().splitlines()[-1]) // 1024

    small, large = peak(1), peak(400)
    assert 300 < large - small < 500
