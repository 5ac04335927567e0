"""NNX objects that a function has by name, models without arrays, and updates that a transformation of JAX loses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tvls.graph.outline import outline

from . import cases
from .batches import documents, primitives, request
from .conftest import MODELS, ROOT

pytestmark = pytest.mark.timeout(600)
X = cases.tensor(3)
STATE = ["linear/bias", "linear/kernel", "norm/bias", "norm/mean", "norm/scale", "norm/var"]


def of(name: str, *args: Any, **options: Any) -> dict[str, Any]:
    return request(MODELS, "closed_over", name, list(args), **options)


def made(name: str) -> dict[str, Any]:
    return cases.factory("closed_over", name)


STEPS = ("lost_step", "kept_step", "returned_step", "state_step", "nested", "lost_in_grad", "through_nnx_jit")
REQUESTS = {
    "metered": of("metered", X),
    "twice": of("twice", inputs=made("make_meter")),
    "through_helpers": of("through_helpers", cases.tensor(2, 3)),
    "contents": of("contents", X),
    "closure": of("unused", X, init=made("make_closure")),
    "unused": of("unused", X),
    "inside_jit": of("inside_jit", X),
    "assigns": of("assigns", X),
    "made_inside": of("made_inside", X),
    "abstract": of("unused", cases.tensor(2, 3), init=made("abstract_model")),
    "abstract argument": of("apply", inputs=made("abstract_arguments")),
    **{name: of(name, inputs=made("make_net")) for name in STEPS},
}


@pytest.fixture(scope="module")
def answers(models_python: str) -> dict[str, Any]:
    return documents(models_python, REQUESTS)


def states(document: dict[str, Any]) -> dict[str, str]:
    assert "failure" not in document, document["failure"]
    return {value["name"]: value["collection"] for value in document["values"] if value["role"] == "state"}


def written(document: dict[str, Any]) -> set[str]:
    """The names of new state, which stands beside what the call returned."""
    *_, last = document["outputs"].get("tuple", [{}])
    return {name for name in last.get("dict", {}) if "/" in name}


# --- objects by name -------------------------------------------------------------------------------------------------


def test_a_global_module_is_state_and_what_a_call_writes_comes_out(answers: dict[str, Any]) -> None:
    # R20: naive tracing refuses the write, as it is made at another trace level
    metered = answers["metered"]
    assert states(metered) == {"METER/n": "Calls"}
    assert written(metered) == {"METER/n"}
    assert primitives(metered) == ["add", "convert_element_type", "mul"]
    assert [scope["path"] for scope in metered["scopes"] if scope["kind"] == "module"] == ["METER"]
    assert states(answers["closure"]) == {"meter/n": "Calls"}
    assert written(answers["closure"]) == {"meter/n"}


def test_objects_are_found_through_functions_and_transformations(answers: dict[str, Any]) -> None:
    # R20, R33
    helped = answers["through_helpers"]
    assert set(states(helped)) == {"LINEAR/bias", "LINEAR/kernel", "RNGS/default/count", "RNGS/default/key"}
    assert written(helped) == {"RNGS/default/count"}
    assert {"LINEAR"} == {scope["path"] for scope in helped["scopes"] if scope["kind"] == "module"}
    assert states(answers["unused"]) == {}


def test_an_argument_and_a_global_of_one_name_stay_two(answers: dict[str, Any]) -> None:
    # R15
    twice = answers["twice"]
    assert set(states(twice)) == {"METER/n", "closed_over.METER/n"}
    assert written(twice) == {"METER/n", "closed_over.METER/n"}
    assert primitives(twice).count("mul") == 2


def test_a_program_that_looks_into_a_global_is_traced_with_its_contents(answers: dict[str, Any]) -> None:
    # R11
    assert primitives(answers["contents"]) == ["mul"]
    assert states(answers["contents"]) == {}
    assert primitives(answers["assigns"]) == primitives(answers["metered"])


def test_a_write_inside_a_transformation_stays_refused(answers: dict[str, Any]) -> None:
    # R22: as JAX runs it
    failure = answers["inside_jit"]["failure"]
    assert failure["type"] == "flax.errors.TraceContextError"
    assert "nnx.jit" in failure["hint"]
    assert failure["frames"][0]["function"] == "Meter.__call__"


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tvls.worker import trace
trace.load_framework("jax")
for request in json.load(sys.stdin):
    trace.prepare_imports(request["workspace"], request["sysPath"])
    document = json.loads(trace.run(request, lambda phase: None))
    import jax, closed_over
    from flax import nnx
    for name, (graphdef, before) in closed_over.BEFORE.items():
        now = nnx.split(getattr(closed_over, name))
        assert now[0] == graphdef, name
        pairs = zip(jax.tree.leaves(now[1]), jax.tree.leaves(before), strict=True)
        assert all(one is other for one, other in pairs), name
    assert sys.getprofile() is None
    assert nnx.Variable.__setattr__.__module__.startswith("flax"), nnx.Variable.__setattr__
"""


def test_the_names_lead_to_the_users_objects_again(models_python: str) -> None:
    # R20: no tracer is left in them, after a failure either
    requests = [REQUESTS[name] for name in ("metered", "through_helpers", "contents", "inside_jit", "nested")]
    command = [models_python, "-B", "-c", SCRIPT, str(ROOT)]
    ran = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]


# --- models without arrays -------------------------------------------------------------------------------------------


def test_an_abstract_model_has_shapes_and_sizes_without_an_array(answers: dict[str, Any]) -> None:
    # R20, R32, R33
    for name, root in (("abstract", ""), ("abstract argument", "model/")):
        document = answers[name]
        shapes = {value["name"]: value["shape"] for value in document["values"] if value["role"] == "state"}
        assert shapes == {f"{root}bias": [5], f"{root}kernel": [3, 5]}
        assert primitives(document) == ["dot_general", "reshape", "add"]
        (scope,) = [scope for scope in document["scopes"] if scope["kind"] == "module"]
        assert scope["parameters"] == {"count": 20, "bytes": 80}


# --- updates that are lost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("lost_step", ["updates_lost:lost_step=model (linear/bias, linear/kernel, norm/bias and 3 more)"]),
        ("nested", ["updates_lost:lost_step=model (linear/bias, linear/kernel, norm/bias and 3 more)"]),
        ("through_nnx_jit", ["updates_lost:<lambda>=model (linear/bias, linear/kernel, norm/bias and 3 more)"]),
        ("lost_in_grad", ["updates_lost:<lambda>=net (norm/mean, norm/var)"]),
        ("kept_step", []),
        ("returned_step", []),
        ("state_step", []),
        ("made_inside", []),
        ("metered", []),
    ],
)
def test_updates_that_a_transformation_loses_are_said(answers: dict[str, Any], name: str, notes: list[str]) -> None:
    # R20
    assert "failure" not in answers[name], answers[name]["failure"]
    assert answers[name]["setup"]["notes"] == notes


def test_what_is_lost_is_no_output_and_what_is_kept_is(answers: dict[str, Any]) -> None:
    # R20
    assert written(answers["lost_step"]) == set()
    assert written(answers["through_nnx_jit"]) == set()
    assert written(answers["kept_step"]) == {f"model/{name}" for name in STATE}
    for name in ("returned_step", "state_step"):
        model = answers[name]["outputs"]["tuple"][1]["dict"]
        found = {f"{module}/{variable}": tree for module in model for variable, tree in model[module]["dict"].items()}
        assert sorted(found) == STATE
        assert all(list(tree) == ["value"] for tree in found.values())


def test_the_note_is_a_sentence(answers: dict[str, Any]) -> None:
    # R20
    said = "what lost_step writes to model (linear/bias, linear/kernel, norm/bias and 3 more) is lost"
    assert said in outline(answers["lost_step"])


def test_a_call_that_does_not_fit_is_shown_at_the_target(models_python: str, tmp_path: Path) -> None:
    # R35: no line of the program runs, and there is a place for the diagnostic all the same
    (tmp_path / "model.py").write_text("import jax\n\n\n@jax.jit\ndef net(x):\n    return x + 1\n")
    given = request(tmp_path, "model", "net", [X, X])
    given["target"]["line"] = 5
    failure = documents(models_python, {"net": given})["net"]["failure"]
    assert "takes 1 positional argument" in failure["message"]
    first = failure["frames"][0]
    assert (first["path"], first["workspace"], first["function"], first["line"]) == ("model.py", True, "net", 5)
