"""Boundaries with their bodies, coverage, and the structure of what goes in and comes out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from . import checker
from .conftest import HERE, MODELS

sys.path.insert(0, str(HERE))
import form_cases

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def found(models_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("forms") / "all.json"
    command = [models_python, "-B", str(HERE / "runner.py"), str(out), *form_cases.FORMS]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return {name: result["document"] for name, result in json.loads(out.read_text()).items()}


def primitives(graph: dict[str, Any]) -> list[str]:
    return [operation["primitive"] for operation in graph["operations"]]


def one(graph: dict[str, Any], primitive: str) -> dict[str, Any]:
    (operation,) = [operation for operation in graph["operations"] if operation["primitive"] == primitive]
    return operation


def bodies(graph: dict[str, Any], operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {body["role"]: graph["bodies"][body["body"]] for body in operation["bodies"]}


def lines(document: dict[str, Any], operation: dict[str, Any]) -> list[str]:
    frames = [document["frames"][at] for at in operation["frames"]]
    text = (MODELS / "boundaries.py").read_text().splitlines()
    return [text[frame["line"] - 1].strip() for frame in frames if frame["workspace"]]


@pytest.mark.parametrize("name", form_cases.FORMS)
def test_every_form_is_captured_soundly(found: dict[str, Any], name: str) -> None:
    assert "failure" not in found[name], found[name]
    checker.assert_sound(found[name])


BOUNDARIES = {
    "pallas_call": ("pallas_call", {"body": "pallas_call body"}),
    "shard_map": ("shard_map", {"body": "shard_map body"}),
    "switch": ("cond", {f"branches[{at}]": f"cond branches[{at}]" for at in range(3)}),
    "linear_solve": (
        "custom_linear_solve",
        {role: f"custom_linear_solve {role}" for role in ("matvec", "vecmat", "solve", "transpose_solve")},
    ),
    "root": ("while", {"body": "while body", "cond": "while cond"}),
    "composite": ("composite", {"body": "composite body"}),
    "effect_in_body": ("scan", {"body": "scan body"}),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_a_boundary_keeps_its_bodies_with_labels(found: dict[str, Any], name: str) -> None:
    # R17, R34
    document = found[f"boundaries.{name}"]
    primitive, roles = BOUNDARIES[name]
    operation = one(document, primitive)
    assert operation["opaque"] == "opaque_kernel"
    assert {role: body["label"] for role, body in bodies(document, operation).items()} == roles
    assert document["coverage"]["status"] == "partial"
    assert document["coverage"]["counts"]["opaque_kernel"] == 1
    for body in bodies(document, operation).values():
        assert len(body["inputs"]) >= 1
        assert all("value" in output or "literal" in output for output in body["outputs"])


def test_loops_are_boundaries_and_no_iteration_is_unrolled(found: dict[str, Any]) -> None:
    # R17
    document = found["boundaries.loops"]
    assert primitives(document) == ["scan", "while"]
    assert document["coverage"]["counts"] == {"opaque_kernel": 2}
    scan, loop = document["operations"]
    assert scan["params"]["length"] == 3
    steps = [bodies(document, scan)["body"], bodies(document, loop)["body"]]
    for step in steps:
        own = [operation for operation in step["operations"] if lines(document, operation) == ["return v + i"]]
        assert [operation["primitive"] for operation in own] == ["convert_element_type", "add"]
    assert primitives(bodies(document, loop)["cond"]) == ["lt"]


def test_reducers_are_boundaries_where_they_hold_a_program(found: dict[str, Any]) -> None:
    # R17: a scatter that replaces, a gather and a window maximum hold none
    document = found["boundaries.reducers"]
    opaque = {operation["primitive"] for operation in document["operations"] if "opaque" in operation}
    assert opaque == {"reduce", "reduce_window", "scatter-add", "scatter"}
    combiner = bodies(document, one(document, "reduce"))["body"]
    assert primitives(combiner) == ["mul", "add"]
    assert lines(document, combiner["operations"][0]) == ["return a * b + 1"]
    assert primitives(bodies(document, one(document, "scatter-add"))["update"]) == ["add"]
    scatters = [operation for operation in document["operations"] if operation["primitive"] == "scatter"]
    assert ["opaque" in scatter for scatter in scatters] == ["bodies" in scatter for scatter in scatters]
    assert "opaque" not in one(document, "gather")
    assert "opaque" not in one(document, "reduce_window_max")


def test_host_calls_and_effects(found: dict[str, Any]) -> None:
    # R17
    document = found["boundaries.callbacks"]
    assert document["coverage"]["reasons"] == ["effects_incomplete", "opaque_kernel"]
    assert document["coverage"]["counts"] == {"effects_incomplete": 2, "opaque_kernel": 3}
    for name in ("pure_callback", "io_callback", "debug_callback"):
        operation = one(document, name)
        assert operation["opaque"] == "opaque_kernel"
        assert list(operation["params"]["callback"]) == ["opaque"]
    inner = found["boundaries.effect_in_body"]
    assert inner["coverage"]["reasons"] == ["effects_incomplete", "opaque_kernel"]
    assert found["boundaries.checked"]["coverage"] == {"scope": "traced_program", "status": "complete", "reasons": []}


def test_parameters_of_boundaries_are_data(found: dict[str, Any]) -> None:
    # R18
    mapped = one(found["boundaries.shard_map"], "shard_map")["params"]
    assert mapped["in_specs"] == [[None, "data"], ["data"]]
    assert "'data': 1" in mapped["mesh"]
    kernel = one(found["boundaries.pallas_call"], "pallas_call")["params"]
    assert kernel["out_avals"] == [{"shape": [4, 4], "dtype": "float32"}]
    assert kernel["interpret"] is True
    assert list(kernel["grid_mapping"]) == ["opaque"]


def test_a_kernel_opens(found: dict[str, Any]) -> None:
    # R34
    document = found["boundaries.pallas_call"]
    body = bodies(document, one(document, "pallas_call"))["body"]
    assert {"get", "swap", "program_id", "mul"} <= set(primitives(body))
    multiply = one(body, "mul")
    assert lines(document, multiply) == ["o_ref[...] = x_ref[...] * 2 + pallas.program_id(0)"]


def chain(graph: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield graph
    for body in graph["bodies"]:
        yield from chain(body)


def test_bodies_nest_to_any_depth_with_frames(found: dict[str, Any]) -> None:
    # R34
    document = found["boundaries.deep"]

    def depth(graph: dict[str, Any]) -> int:
        return 1 + max((depth(body) for body in graph["bodies"]), default=0)

    assert depth(document) == 13
    assert primitives(document) == ["scan"]
    innermost = [op for graph in chain(document) for op in graph["operations"] if op["primitive"] == "tanh"]
    assert innermost
    assert {lines(document, operation)[0] for operation in innermost} == {"return jnp.tanh(v)"}
    # an expanded call inside a body is a scope of that body
    kinds = {scope["kind"] for graph in chain(document) for scope in graph["scopes"]}
    assert kinds == {"root", "jit"}


def test_a_program_that_is_one_call_shows_its_inside(found: dict[str, Any]) -> None:
    # R16
    document = found["boundaries.inside_jit"]
    assert primitives(document) == ["sin"]
    assert [scope["kind"] for scope in document["scopes"]] == ["root", "jit", "jit", "jit"]
    called = found["boundaries.inside_call"]
    assert primitives(called) == ["cos", "add"]
    assert [scope["kind"] for scope in called["scopes"]] == ["root", "call"]
    for name in ("inside_jit", "inside_call"):
        assert found[f"boundaries.{name}"]["coverage"]["reasons"] == []


def test_scopes_name_what_was_expanded(found: dict[str, Any]) -> None:
    # R16
    document = found["boundaries.expanded"]
    kinds = {scope["id"]: scope["kind"] for scope in document["scopes"]}
    assert (kinds["clipped"], kinds["doubled"], kinds["saved"]) == ("custom_jvp", "custom_vjp", "remat")
    assert kinds["saved/cos"] == "remat"
    assert document["coverage"]["status"] == "complete"
    assert [op["id"] for op in document["operations"]][-3:] == [
        "saved/dot_general.0",
        "saved/cos/cos.0",
        "saved/sin.0",
    ]


def test_scopes_go_deep(found: dict[str, Any]) -> None:
    # R22
    jitted, named = found["boundaries.deep_scopes"], found["boundaries.deep_names"]
    assert len(jitted["scopes"]) == 26
    assert primitives(jitted) == ["sin"] + ["add"] * 25
    assert len(named["scopes"]) == 301
    assert named["operations"][0]["id"].endswith("level298/level299/sin.0")


# --- PyTrees ---------------------------------------------------------------------------------------------------------


def test_containers_become_dictionaries_of_their_keys(found: dict[str, Any]) -> None:
    # R19
    document = found["trees.everything"]
    state, point, frozen, config, table, layer, ordered, keyed, nothing, odd = document["inputs"]["args"]
    assert state == {"dict": {"step": {"value": 0}, "params": {"dict": {"w": {"value": 1}}}}}
    assert point == {"dict": {"y": {"value": 2}, "x": {"static": None}}}
    assert frozen == {"dict": {"a": {"dict": {"b": {"value": 3}}}}}
    assert config == {"dict": {"scale": {"value": 4}}}  # its static field is metadata
    assert table == {"dict": {"0": {"value": 5}, "1": {"value": 6}}}
    assert layer == {"dict": {"weight": {"value": 7}}}
    assert ordered == {"dict": {"a": {"static": None}, "b": {"value": 8}}}
    assert keyed == {"dict": {"1": {"value": 9}, "2": {"dict": {"(0, 'k')": {"value": 10}}}}}
    assert nothing == {"static": None}
    assert odd == {"opaque": "collections.deque"}  # JAX takes it for a leaf
    assert "secret" not in json.dumps(document)
    names = [value.get("name") for value in document["values"][:8]]
    assert names[:4] == ["state/step", "state/params/w", "point/y", "frozen/a/b"]
    assert names[7] == "layer/weight"


def test_outputs_keep_their_names(found: dict[str, Any]) -> None:
    # R15, R19
    point, table, rest = found["trees.everything"]["outputs"]["tuple"]
    assert set(point["dict"]) == {"y", "x"}
    assert set(point["dict"]["x"]["dict"]["next"]["dict"]) == {"step", "params"}
    assert table == {"dict": {"0": {"value": 5}, "1": {"value": 6}}}
    assert rest == {"tuple": [{"dict": {"b": {"value": 3}}}, {"list": []}, {"static": None}, {"dict": {}}]}
    assert set(found["trees.keys_that_are_no_strings"]["outputs"]["dict"]) == {"0", "(1, 2)"}


def test_outputs_that_are_no_arrays_are_opaque_leaves(found: dict[str, Any]) -> None:
    # R19
    outputs = found["trees.no_arrays"]["outputs"]["dict"]
    assert outputs["distribution"] == {"opaque": "trees.Distribution"}
    assert outputs["text"] == {"opaque": "builtins.str"}
    assert outputs["mode"] == {"static": "Mode.FAST"}
    assert outputs["set"] == {"opaque": "builtins.set"}
    assert list(outputs["function"]) == ["opaque"]
    assert outputs["number"] == {"literal": 2.0, "dtype": "float32"}
    assert outputs["values"] == {"list": [{"value": 0}, {"tuple": [{"value": 0}, {"value": 0}]}]}
    assert list(outputs["nested"]["dict"]["y"]["dict"]) == ["logits"]


def test_optimiser_state_in_and_out(found: dict[str, Any]) -> None:
    # R19
    document = found["trees.update"]
    before, after = document["inputs"]["kwargs"]["state"], document["outputs"]["tuple"][1]
    assert set(before["tuple"][0]["dict"]) == set(after["tuple"][0]["dict"]) == {"count", "mu", "nu"}


def test_objects_with_state_show_it(found: dict[str, Any]) -> None:
    # R19, R20
    document = found["trees.use_meter"]
    assert document["inputs"]["kwargs"] == {"model": {"dict": {"count": {"value": 0}}}, "x": {"value": 1}}
    assert document["values"][0]["name"] == "model/count"
    assert list(document["outputs"]["tuple"][1]["dict"]) == ["model/count"]
    assert document["setup"]["static"] == {}
    state = found["trees.of_state"]["inputs"]["kwargs"]["state"]
    assert state == {"dict": {"bias": {"value": 0}, "kernel": {"value": 1}}}


def test_a_gradient_is_not_one_box(found: dict[str, Any]) -> None:
    # R16
    plain, jitted = found["trees.gradient"], found["trees.jitted_gradient"]
    assert primitives(plain) == primitives(jitted) != []


def test_a_string_is_static_and_chooses_the_way(found: dict[str, Any]) -> None:
    # R11
    assert primitives(found["trees.mode_of:default"]) == ["add"]
    assert primitives(found["trees.mode_of:named"]) == ["mul"]
    assert found["trees.mode_of:named"]["setup"]["static"] == {"kwargs.mode": "mul"}


def test_a_tracer_that_stays_behind_is_noted(found: dict[str, Any]) -> None:
    assert found["failing.leaks_and_succeeds"]["setup"]["notes"] == ["leaked_tracer:failing.KEY"]


def test_constants_are_described_and_never_sent(found: dict[str, Any]) -> None:
    # R32: 130 MiB
    document = found["trees.closes_over"]
    (constant,) = [value for value in document["values"] if value["role"] == "constant"]
    assert constant == {"role": "constant", "shape": [130, 1024, 256], "dtype": "float32"}
    assert len(json.dumps(document)) < 20_000
