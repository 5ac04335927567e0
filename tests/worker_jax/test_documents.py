"""What a capture says besides its program: names, roles, structure, scopes, frames, parameters, notes."""

from __future__ import annotations

import json
import math
import re
import subprocess
from typing import Any

import pytest

from . import cases
from .conftest import MODELS, WORKER, run_worker

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def document(captured: dict[str, Any], request: pytest.FixtureRequest) -> dict[str, Any]:
    return captured[request.param]["document"]


def of(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("document", [name], indirect=True)


def values(document: dict[str, Any], role: str) -> dict[str, list[int]]:
    return {value["name"]: value["shape"] for value in document["values"] if value["role"] == role}


def operation(document: dict[str, Any], identity: str) -> dict[str, Any]:
    (found,) = [operation for operation in document["operations"] if operation["id"] == identity]
    return found


@of("functions.net")
def test_seed_function(document: dict[str, Any]) -> None:
    # R14, R16
    assert document["backend"] == "jaxpr"
    assert document["evidence"] == "inferred"
    assert document["coverage"] == {"scope": "traced_program", "status": "complete", "reasons": []}
    assert set(document["versions"]) == {"python", "jax", "jaxlib", "flax"}
    ids = [operation["id"] for operation in document["operations"]]
    assert ids == ["net/broadcast_in_dim.0", "net/dot_general.0", "net/relu/relu/max.0"]
    kinds = {scope["id"]: scope["kind"] for scope in document["scopes"]}
    assert kinds == {"": "root", "net": "jit", "net/relu": "custom_jvp", "net/relu/relu": "jit"}
    dot = operation(document, "net/dot_general.0")
    assert dot["params"]["dimension_numbers"] == [[[1], [0]], [[], []]]
    assert document["inputs"] == {"args": [{"value": 0}], "kwargs": {}}
    assert document["values"][0] == {"role": "input", "name": "x", "shape": [2, 3], "dtype": "float32"}


def workspace_lines(document: dict[str, Any], found: dict[str, Any]) -> list[str]:
    frames = [document["frames"][at] for at in found["frames"]]
    source = {name: (MODELS / name).read_text().splitlines() for name in {f["path"] for f in frames if f["workspace"]}}
    return [source[frame["path"]][frame["line"] - 1].strip() for frame in frames if frame["workspace"]]


@of("functions.reused")
def test_a_call_that_jax_traced_once_has_the_frames_of_each_caller(document: dict[str, Any]) -> None:
    # R26: JAX keeps one trace of `net` for the first two calls, whose frames name the first caller
    body, first, second = (
        "return jax.nn.relu(x @ jnp.ones((3, 4)))",
        "y = net(x)",
        "return net(x) + y + net(x * 2), [y, y]",
    )
    assert workspace_lines(document, operation(document, "net/dot_general.0")) == [body, first]
    assert workspace_lines(document, operation(document, "net:1/dot_general.0")) == [body, second]
    assert workspace_lines(document, operation(document, "net:2/dot_general.0")) == [body, second]
    outputs = document["outputs"]["tuple"]
    assert outputs[1]["list"][0] == outputs[1]["list"][1]


def test_no_frame_of_the_worker_and_no_absolute_path(captured: dict[str, Any]) -> None:
    for found in captured.values():
        document = found["document"]
        for frame in document.get("frames", ()):
            assert not frame["path"].startswith("/"), frame
            assert "tvls" not in frame["path"]
        rest = {key: part for key, part in document.items() if key != "failure"}
        assert not re.search(r"0x[0-9a-f]{6,}|/(?:home|root|tmp|work)/", json.dumps(rest))


@of("functions.mlp")
def test_inputs_keep_their_structure(document: dict[str, Any]) -> None:
    # R15
    layers = document["inputs"]["args"][0]["dict"]["layers"]["list"]
    names = [[document["values"][layer["dict"][key]["value"]]["name"] for key in ("b", "w")] for layer in layers]
    assert names == [["params/layers/0/b", "params/layers/0/w"], ["params/layers/1/b", "params/layers/1/w"]]


def test_static_values_are_recorded(captured: dict[str, Any]) -> None:
    # R11
    first, second = (captured[f"functions.static_branch:{which}"]["document"] for which in ("true", "false"))
    assert first["setup"]["static"] == {"args[1]": True, "args[2]": 3}
    assert second["setup"]["static"] == {"args[1]": False, "args[2]": 0.5}
    assert [op["primitive"] for op in first["operations"]] == ["mul", "mul"]
    assert [op["primitive"] for op in second["operations"]] == ["sub"]
    assert first["inputs"]["args"][1:] == [{"static": True}, {"static": 3}]


@of("functions.containers")
def test_registered_containers_are_dictionaries_of_their_keys(document: dict[str, Any]) -> None:
    # R19: static metadata (the name, the tag) is not there, and the validating constructor was content
    state, pair, frozen, checked, nothing, rest = document["inputs"]["args"]
    assert list(state) == ["dict"]
    assert set(state["dict"]) == {"step", "weights"}
    assert set(pair["dict"]) == {"left", "right"}
    assert set(frozen["dict"]["a"]["dict"]) == {"b"}
    assert set(checked["dict"]) == {"matrix"}
    assert nothing == {"static": None}
    assert rest["list"][1:] == [{"static": 5}, {"static": "five"}]
    assert document["values"][pair["dict"]["right"]["value"]]["dtype"] == "bfloat16"
    assert document["values"][pair["dict"]["right"]["value"]]["name"] == "pair/right"
    assert "adam" not in json.dumps(document)
    assert '"square"' not in json.dumps({key: part for key, part in document.items() if key != "operations"})
    assert set(document["outputs"]["tuple"][2]["dict"]) == {"a", "new"}


@of("functions.odd_outputs")
def test_outputs_that_are_no_arrays(document: dict[str, Any]) -> None:
    outputs = document["outputs"]["dict"]
    assert outputs["d"] == {"opaque": "functions.Distribution"}
    assert outputs["r"]["dict"]["note"] == {"opaque": "builtins.str"}
    assert "value" in outputs["r"]["dict"]["value"]
    assert outputs["s"] == {"opaque": "builtins.str"}
    assert (outputs["n"], outputs["none"], outputs["c"]) == ({"static": 3}, {"static": None}, {"static": [1.0, 2.0]})
    assert [op["primitive"] for op in document["operations"]] == ["mul", "add"]


@of("functions.scan_cond_while")
def test_subprograms_stay_boundaries(document: dict[str, Any]) -> None:
    # R17
    assert document["coverage"]["status"] == "partial"
    assert document["coverage"]["reasons"] == ["opaque_kernel"]
    (scan, *_) = [op for op in document["operations"] if op["primitive"] == "scan"]
    assert scan["opaque"] == "opaque_kernel"
    assert [body["role"] for body in scan["bodies"]] == ["body"]
    assert scan["params"]["jaxpr"] == {"body": scan["bodies"][0]["body"]}
    body = document["bodies"][scan["bodies"][0]["body"]]
    assert body["label"] == "scan body"
    (cond,) = [op for op in body["operations"] if op["primitive"] == "cond"]
    assert [branch["role"] for branch in cond["bodies"]] == ["branches[0]", "branches[1]"]
    assert len(body["bodies"]) == 2
    whiles = [op for op in document["operations"] if op["primitive"] == "while"]
    assert {tuple(body["role"] for body in op["bodies"]) for op in whiles} <= {("body", "cond")}


@of("functions.moe_scatter")
def test_scatter_reducers_are_opaque_boundaries(document: dict[str, Any]) -> None:
    # R17, R18
    scatters = {op["primitive"]: op for op in document["operations"] if op["primitive"].startswith("scatter")}
    assert scatters["scatter-add"]["opaque"] == "opaque_kernel"
    assert "scatter-max" in scatters
    params = scatters["scatter-add"]["params"]
    assert params["dimension_numbers"]["inserted_window_dims"] == [0]
    assert isinstance(params["mode"], str)
    assert ("opaque" in scatters["scatter"]) == (scatters["scatter"]["params"]["update_jaxpr"] is not None)


@of("functions.half_precision")
def test_enumerations_and_dtypes_are_names(document: dict[str, Any]) -> None:
    # R18
    (dot,) = [op for op in document["operations"] if op["primitive"] == "dot_general"]
    assert dot["params"]["precision"] == ["HIGHEST", "HIGHEST"]
    assert dot["params"]["preferred_element_type"] == "float32"
    (cast,) = [op for op in document["operations"] if op["primitive"] == "convert_element_type"]
    assert cast["params"]["new_dtype"] == "float8_e4m3fn"


@of("functions.convolution")
def test_convolution_dimensions_have_names(document: dict[str, Any]) -> None:
    # R18
    (conv, *_) = document["operations"]
    numbers = conv["params"]["dimension_numbers"]
    assert numbers == {"lhs_spec": [0, 3, 1, 2], "rhs_spec": [3, 2, 0, 1], "out_spec": [0, 3, 1, 2]}
    assert conv["params"]["padding"] == [[0, 1], [0, 1]]


@of("functions.effects")
def test_effects_and_host_calls_are_incomplete(document: dict[str, Any]) -> None:
    # R17
    assert document["coverage"]["reasons"] == ["effects_incomplete", "opaque_kernel"]
    (call,) = [op for op in document["operations"] if op["primitive"] == "pure_callback"]
    assert call["opaque"] == "opaque_kernel"
    assert list(call["params"]["callback"]) == ["opaque"]


@of("functions.literals")
def test_literals(document: dict[str, Any]) -> None:
    first, _, _, array, number = document["outputs"]["tuple"]
    assert first == {"literal": 2.0, "dtype": "float32"}
    assert number == {"static": 1.5}
    assert document["values"][array["value"]] == {
        "role": "constant",
        "shape": [3],
        "dtype": array_dtype(document, array),
    }
    used = [operand.get("literal") for op in document["operations"] for operand in op["inputs"]]
    assert "inf" in used


def array_dtype(document: dict[str, Any], leaf: dict[str, Any]) -> str:
    dtype = document["values"][leaf["value"]]["dtype"]
    assert dtype in ("int32", "int64")
    return dtype


@of("functions.sampled:rbg")
def test_typed_keys(document: dict[str, Any]) -> None:
    assert document["values"][0] == {"role": "input", "name": "key", "shape": [], "dtype": "key<rbg>"}


@of("functions.scopes")
def test_named_scopes(document: dict[str, Any]) -> None:
    ids = [scope["id"] for scope in document["scopes"]]
    assert {"outer", "outer/inner/deep"} <= set(ids)
    assert any("squash" in scope["name"] and "transpose" in scope["name"] for scope in document["scopes"][1:])


@of("linen_models.MLP")
def test_linen_modules_are_scopes_and_parameters_are_state(document: dict[str, Any]) -> None:
    # R20, R33
    assert document["setup"]["notes"] == ["freshly_initialised"]
    assert values(document, "state") == {
        "params/Dense_0/bias": [4],
        "params/Dense_0/kernel": [8, 4],
        "params/Dense_1/bias": [8],
        "params/Dense_1/kernel": [3, 8],
    }
    scopes = {scope["id"]: scope for scope in document["scopes"]}
    dense = scopes["MLP/Dense_1"]
    assert (dense["kind"], dense["path"], dense["class"]) == ("module", "Dense_1", "flax.linen.linear.Dense")
    assert dense["evidence"] == "name_stack"
    assert (scopes["MLP"]["path"], scopes["MLP"]["class"]) == ("", "linen_models.MLP")
    assert operation(document, "MLP/relu/relu/max.0")


def test_bound_variables_are_not_fresh(captured: dict[str, Any]) -> None:
    # R12
    bound, free = (captured[f"linen_models.MLP:{which}"]["document"] for which in ("bound", "free"))
    assert bound["setup"]["notes"] == []
    assert values(bound, "state")["params/Dense_1/kernel"] == [3, 6]
    assert free["setup"]["notes"] == ["freshly_initialised"]


def test_linen_state_that_the_call_writes(captured: dict[str, Any]) -> None:
    # R20
    trained, evaluated = (captured[f"linen_models.CNN:{which}"]["document"] for which in ("train", "eval"))
    assert "mutable:batch_stats" in trained["setup"]["notes"]
    updated = trained["outputs"]["tuple"][1]["dict"]["batch_stats"]["dict"]
    assert set(updated) == {"BatchNorm_0", "BatchNorm_1"}
    assert evaluated["setup"]["notes"] == ["freshly_initialised"]
    assert "batch_stats/BatchNorm_0/mean" in values(evaluated, "state")
    assert trained["setup"]["static"] == {"kwargs.train": True}


def test_random_streams(captured: dict[str, Any]) -> None:
    trained, evaluated = (captured[f"linen_models.Dropping:{which}"]["document"] for which in ("train", "eval"))
    assert set(values(trained, "input")) == {"x", "rngs/dropout", "rngs/noise"}
    assert set(values(evaluated, "input")) == {"x"}


@of("linen_models.Partitioned")
def test_boxes_of_axis_names_are_not_part_of_a_path(document: dict[str, Any]) -> None:
    assert set(values(document, "state")) == {"params/Dense_0/kernel", "params/Dense_0/bias"}


@of("linen_models.Transformer")
def test_modules_inside_lifted_calls(document: dict[str, Any]) -> None:
    # R33: the name stack inside a remat body is relative to the call
    paths = {scope["path"] for scope in document["scopes"] if scope["kind"] == "module"}
    assert {"block_0/attention/query", "block_1/down", "Embed_0"} <= paths
    kinds = {scope["kind"] for scope in document["scopes"]}
    assert "remat" in kinds


@of("linen_models.train_step:linen")
def test_modules_under_a_gradient(document: dict[str, Any]) -> None:
    names = {scope["name"]: scope for scope in document["scopes"][1:]}
    assert names["jvp(MLP)"]["class"] == names["transpose(jvp(MLP))"]["class"] == "linen_models.MLP"


def test_nnx_state(captured: dict[str, Any]) -> None:
    # R20
    document = captured["nnx_models.MLP"]["document"]
    assert {"first/kernel", "norm/mean", "second/bias"} <= set(values(document, "state"))
    counter = captured["nnx_models.Counter"]["document"]
    assert "linear/kernel" in values(counter, "state")
    assert "tied/kernel" not in values(counter, "state")
    assert list(counter["outputs"]["tuple"][1]["dict"]) == ["calls"]
    assert captured["nnx_models.Looking"]["document"]["setup"]["notes"] == [
        "concrete_initialisation",
        "freshly_initialised",
    ]


def test_no_backend_is_initialised(captured: dict[str, Any]) -> None:
    # R31, R32: a fork of the warm worker stays free of JAX's threads unless the user's code makes arrays
    made_by_factories = {name for name, case in cases.CASES.items() if case.init.get("factory") or case.inputs}
    for name, found in captured.items():
        if name in cases.CASES and name not in made_by_factories | {"nnx_models.Looking"}:
            assert found["backends"] == [], name


def request_for(case: cases.Case) -> dict[str, Any]:
    target = {
        "kind": case.kind,
        "module": case.module,
        "qualname": case.qualname,
        "path": f"{case.module}.py",
        "line": 1,
    }
    return {
        "workspace": str(MODELS),
        "sysPath": [str(MODELS)],
        "target": target,
        "setup": case.setup,
        "limits": {},
    }


@pytest.mark.parametrize("name", ["functions.effects", "functions.numeric", "linen_models.CNN:train", "nnx_models.MLP"])
def test_equal_setup_gives_equal_bytes_in_another_process(
    captured: dict[str, Any], models_python: str, name: str
) -> None:
    case = cases.CASES[name]
    first = run_worker(models_python, request_for(case))
    assert json.loads(first) == captured[name]["document"]


def test_a_model_of_seven_billion_parameters_needs_no_memory_for_them(models_python: str) -> None:
    # R32
    case = cases.Case("linen_models", "Llama", [cases.tensor(1, 128, dtype="int32")])
    measure = (
        "import resource, subprocess, sys; "
        "code = subprocess.run(sys.argv[1:], stdin=sys.stdin).returncode; "
        "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(code)"
    )
    worker = [models_python, "-B", "-u", str(WORKER), "trace"]
    ran = subprocess.run(
        [models_python, "-c", measure, *worker],
        input=json.dumps(request_for(case)).encode(),
        capture_output=True,
        check=True,
    )
    peak_kib = int(ran.stderr.decode().splitlines()[-1])
    document = json.loads(ran.stdout[ran.stdout.index(b'{"backend"') :])
    parameters = sum(math.prod(value["shape"]) for value in document["values"] if value["role"] == "state")
    assert parameters > 6.5e9
    assert peak_kib < 1024 * 1024
    assert len(document["operations"]) > 1500
