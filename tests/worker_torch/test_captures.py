"""PyTorch modules as captures, traced by a Python that has PyTorch and no JAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worker_jax.batches import documents, request

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(600)


def tensor(*shape: int, dtype: str = "float32", **generator: Any) -> dict[str, Any]:
    made = {"kind": "full", "value": 1} | generator
    return {"kind": "tensor", "shape": list(shape), "dtype": dtype, "requires_grad": False, "generator": made}


def ids(*shape: int, below: int = 10) -> dict[str, Any]:
    return tensor(*shape, dtype="int64", kind="randint", low=0, high=below) | {
        "generator": {"kind": "randint", "low": 0, "high": below}
    }


def opened(name: str, *args: Any, **more: Any) -> dict[str, Any]:
    more.setdefault("framework", "torch")
    return request(HERE, "models", name, list(args), kind="torch.module", **more)


def with_init(**kwargs: Any) -> dict[str, Any]:
    return {"args": [], "kwargs": kwargs}


REQUESTS: dict[str, dict[str, Any]] = {
    "Single": opened("Single", tensor(1, 2), init=with_init(in_features=2, out_features=3)),
    "Tower": opened("Tower", tensor(3, 8)),
    "Tied": opened("Tied", ids(2, 3)),
    "Keywords": opened("Keywords", kwargs={"x": tensor(1, 3)}),
    "ByShape": opened("ByShape", tensor(2, 2)),
    "ByShape of one row": opened("ByShape", tensor(1, 2)),
    "ByValue": opened("ByValue", tensor(2)),
    "ByValue below zero": opened("ByValue", tensor(2, value=-1)),
    "InPlace": opened("InPlace", tensor(2, 3)),
    "OtherMemory": opened("OtherMemory", tensor(2, 3)),
    "Structures": opened("Structures", {"pair": [tensor(2), tensor(2)]}, True),
    "Lazy": opened("Lazy", tensor(4, 3)),
    "OnTheFly": opened("OnTheFly", tensor(2)),
    "Recurrent": opened("Recurrent", tensor(2, 5, 4)),
    "Modes": opened("Modes", tensor(2, 4)),
    "Mapped": opened("Mapped", tensor(2, 4)),
    "Wrong": opened("Wrong", tensor(2, 4)),
    "Huge": opened("Huge", tensor(1, 50_000)),
    "Heavy": {**opened("Heavy", tensor(1, 10_000), init=with_init(reads=False)), "limits": {"memory_bytes": 2 * 10**8}},
    "Heavy that reads": {
        **opened("Heavy", tensor(1, 10_000), init=with_init(reads=True)),
        "limits": {"memory_bytes": 2 * 10**8},
    },
    "Manifold": {**opened("Manifold", tensor(1, 1_600)), "limits": {"memory_bytes": 2 * 10**8}},
    "HugeByValue": opened("HugeByValue", tensor(1, 50_000)),
    "make": opened("make", tensor(2, 4)),
    "instance": opened("instance", tensor(2, 3)),
    "compiled": opened("compiled", tensor(2, 4)),
    "scripted": opened("scripted", tensor(2, 4)),
    "quantised": opened("quantised", tensor(2, 4)),
    "parallel": opened("parallel", tensor(2, 4)),
    "within_itself": opened("within_itself", tensor(2, 4)),
    "number": opened("number"),
    "Asynchronous": opened("Asynchronous", tensor(2)),
    "Steps": opened("Steps", tensor(2, 4)),
    "Configured": opened("Configured", tensor(1, 2), init=with_init(config={"width": 2})),
    "Single without": opened("Single", tensor(1, 2)),
    "Tied of floats": opened("Tied", tensor(2, 3)),
    "cuda": opened("Single", tensor(1, 2), device="cuda:0"),
    "measured": opened("InPlace", tensor(2, 3), measure=["storage_aliases", "activation_statistics", "output_bytes"]),
    "limited": {**opened("Many", tensor(1)), "limits": {"operations": 100}},
}


@pytest.fixture(scope="module")
def found(torch_python: str) -> dict[str, Any]:
    return documents(torch_python, REQUESTS)


def operations(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [found for found in document["operations"] if found["primitive"].rpartition(".")[2] == name]


def one(document: dict[str, Any], name: str) -> dict[str, Any]:
    (operation,) = operations(document, name)
    return operation


def maker(document: dict[str, Any], value: int) -> str | None:
    """Name of the operation that makes a value."""
    for operation in document["operations"]:
        if value in operation["outputs"]:
            return str(operation["primitive"].rpartition(".")[2])
    return None


def read(operation: dict[str, Any]) -> list[int]:
    return [operand["value"] for operand in operation["inputs"]]


def names(document: dict[str, Any]) -> list[str]:
    return [operation["primitive"].rpartition(".")[2] for operation in document["operations"]]


def scopes(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {scope["id"]: scope for scope in document["scopes"]}


HINTS = {
    "Configured": "`init.kwargs.config` is a table of the setup, which comes as a dictionary",
    "Single without": "state it in `init` of the setup (--init NAME=VALUE), or let a factory make it",
    "Tied of floats": "token ids are integers: dtype int64",
}
FAILS = {"Wrong", "HugeByValue", "within_itself", "number", "Asynchronous", "cuda", "limited", *HINTS}


@pytest.mark.parametrize("name", sorted(set(REQUESTS) - FAILS))
def test_a_capture_is_sound(found: dict[str, Any], name: str) -> None:
    # R24
    document = found[name]
    assert "failure" not in document, document["failure"]
    assert (document["framework"], document["backend"]) == ("torch", "eager")
    assert document["coverage"]["scope"] == "eager_forward"
    assert_sound(document)
    assert len({operation["id"] for operation in document["operations"]}) == len(document["operations"])


def assert_sound(graph: dict[str, Any]) -> None:
    """Every operand stands before the operation that reads it, and every value is made once."""
    known = {at for at, value in enumerate(graph["values"]) if value["role"] != "intermediate"}
    made: set[int] = set()
    for operation in graph["operations"]:
        assert set(read(operation)) <= known, operation
        assert not made & set(operation["outputs"])
        assert 0 <= operation["scope"] < len(graph["scopes"])
        made |= set(operation["outputs"])
        known |= made
    assert known == set(range(len(graph["values"])))
    for body in graph["bodies"]:
        assert_sound(body)


@pytest.mark.parametrize("name", sorted(set(REQUESTS) - FAILS - {"Huge", "Manifold"}))
def test_what_ran_is_measured(found: dict[str, Any], name: str) -> None:
    # R24
    assert found[name]["evidence"] == "measured"


def test_the_same_setup_gives_the_same_capture_in_another_process(found: dict[str, Any], torch_python: str) -> None:
    # R14
    chosen = {name: REQUESTS[name] for name in ("Tower", "Recurrent", "InPlace")}
    again = documents(torch_python, chosen, PYTHONHASHSEED="7")
    assert {name: again[name]["captureId"] for name in chosen} == {name: found[name]["captureId"] for name in chosen}


def test_a_root_without_children_is_a_scope_with_its_operation(found: dict[str, Any]) -> None:
    document = found["Single"]
    assert names(document) == ["linear"]
    assert document["scopes"][one(document, "linear")["scope"]]["name"] == "Single"


def test_module_calls_form_the_hierarchy(found: dict[str, Any]) -> None:
    # R24, R33
    document = found["Tower"]
    known = scopes(document)
    up = known["Tower/blocks.1/up"]
    assert (up["path"], up["class"], up["evidence"]) == ("blocks.1.up", "torch.nn.modules.linear.Linear", "hook")
    assert up["parameters"] == {"count": 8 * 16 + 16, "bytes": 4 * (8 * 16 + 16)}
    # one module called twice: two scopes of one path, with the same parameters
    first, second = known["Tower/shared"], known["Tower/shared:1"]
    assert first["path"] == second["path"] == "shared"
    weights = [
        read(found)[1]
        for found in operations(document, "linear")
        if found["scope"] in (document["scopes"].index(first), document["scopes"].index(second))
    ]
    assert len(weights) == 2
    assert weights[0] == weights[1]
    state = {value["name"]: value["collection"] for value in document["values"] if value["role"] == "state"}
    assert state["blocks.0.norm.weight"] == "parameters"
    assert state["offset"] == "buffers"


def test_an_operation_is_what_the_program_wrote_and_what_ran_below_is_its_body(found: dict[str, Any]) -> None:
    # R24
    document = found["Single"]
    linear = one(document, "linear")
    assert linear["primitive"] == "torch.nn.functional.linear"
    (body,) = linear["bodies"]
    assert body["role"] == "aten"
    below = [operation["primitive"] for operation in document["bodies"][body["body"]]["operations"]]
    assert "aten.addmm" in below
    assert document["coverage"] == {"scope": "eager_forward", "status": "complete", "reasons": []}


def test_dropout_in_evaluation_mode_is_shown_as_it_was_called(found: dict[str, Any]) -> None:
    document = found["Tower"]
    dropout = operations(document, "dropout")[0]
    assert dropout["params"] == {"p": 0.5, "training": False, "inplace": False}
    assert "bodies" not in dropout


def test_tied_weights_are_one_value_that_two_operations_read(found: dict[str, Any]) -> None:
    document = found["Tied"]
    weights = [value for value in document["values"] if value["role"] == "state"]
    assert [(value["name"], value.get("alsoNamed")) for value in weights] == [("embedding.weight", ["head.weight"])]
    assert read(one(document, "linear"))[1] == read(one(document, "embedding"))[1]
    assert scopes(document)["Tied"]["parameters"]["count"] == 40


def test_arguments_given_by_keyword_are_operands_and_named(found: dict[str, Any]) -> None:
    document = found["Keywords"]
    assert document["inputs"]["kwargs"]["x"] == {"value": read(one(document, "linear"))[0]}
    assert scopes(document)["Keywords/linear"]["path"] == "linear"


def test_control_flow_is_what_ran(found: dict[str, Any]) -> None:
    assert names(found["ByShape"]) == ["matmul", "relu"]
    assert names(found["ByShape of one row"]) == ["matmul"]
    assert "add" in names(found["ByValue"])
    assert "sub" in names(found["ByValue below zero"])
    # and says where it may have gone another way for other values
    assert "values_read_by_python" in found["ByValue"]["setup"]["notes"]
    assert "values_read_by_python" not in found["ByShape"]["setup"]["notes"]


def test_what_is_written_through_a_view_changes_its_base(found: dict[str, Any]) -> None:
    document = found["InPlace"]
    tree = document["outputs"]["tuple"]
    after, third, _ = (tree[at]["value"] for at in range(3))
    adds = {operation["outputs"][0]: operation for operation in operations(document, "add")}
    assert maker(document, read(adds[after])[0]) == "add_"
    assert maker(document, read(adds[third])[0]) == "mul_"
    negated = one(document, "neg")
    assert maker(document, read(negated)[0]) == "mul_"
    assert maker(document, tree[2]["value"]) == "__setitem__"
    written = one(document, "__setitem__")
    assert [maker(document, value) for value in read(written)] == ["neg", "add"]


def test_structures_keep_their_keys(found: dict[str, Any]) -> None:
    document = found["Structures"]
    assert list(document["inputs"]["args"][0]["dict"]) == ["pair"]
    assert [value["name"] for value in document["values"] if value["role"] == "input"] == [
        "batch/pair/0",
        "batch/pair/1",
    ]
    out = document["outputs"]["dict"]
    assert list(out["pair"]["dict"]) == ["left", "right"]
    assert out["pair"]["dict"]["right"]["list"][1] == {"static": None}
    assert out["answer"]["dict"]["extra"] == {"static": "text"}
    assert out["1"]["tuple"][0] == out["pair"]["dict"]["left"]
    assert document["setup"]["static"] == {"args[1]": True}


def test_lazy_modules_are_shown_as_they_are_after_their_first_call(found: dict[str, Any]) -> None:
    document = found["Lazy"]
    assert names(document) == ["linear", "batch_norm"]
    assert "lazily_initialised" in document["setup"]["notes"]
    shapes = {value["name"]: value["shape"] for value in document["values"] if value["role"] == "state"}
    assert shapes["layer.weight"] == [5, 3]


def test_a_module_without_a_path_is_named_by_its_class(found: dict[str, Any]) -> None:
    known = scopes(found["OnTheFly"])
    assert known["OnTheFly/ReLU"]["class"] == "torch.nn.modules.activation.ReLU"
    assert "path" not in known["OnTheFly/ReLU"]
    assert "OnTheFly/Identity" not in known, "nothing ran in it"


def test_functions_of_transforms_are_followed(found: dict[str, Any]) -> None:
    document = found["Mapped"]
    assert not [value for value in document["values"] if value["role"] == "constant"]
    result = document["outputs"]["value"]
    assert maker(document, result) is not None


@pytest.mark.parametrize("name", ["make", "instance", "compiled", "parallel"])
def test_whatever_makes_a_module_is_a_model(found: dict[str, Any], name: str) -> None:
    assert names(found[name]) == ["linear", "relu"]


def test_scripted_and_quantised_modules_show_the_operators_that_ran(found: dict[str, Any]) -> None:
    assert "aten.relu" in [operation["primitive"] for operation in found["scripted"]["operations"]]
    assert any("quantized" in operation["primitive"] for operation in found["quantised"]["operations"])


def test_a_model_that_is_too_large_runs_without_values_and_says_so(found: dict[str, Any]) -> None:
    # R32
    document = found["Huge"]
    assert document["evidence"] == "inferred"
    assert "meta_device" in document["setup"]["notes"]
    assert names(document) == ["linear"] * 20
    assert scopes(document)["Huge"]["parameters"]["bytes"] == 20 * 4 * 50_000**2
    failure = found["HugeByValue"]["failure"]
    assert "too large" in failure["hint"]
    assert found["Manifold"]["evidence"] == "inferred"
    for name in ("Heavy", "Heavy that reads"):  # weighed before they were made
        assert found[name]["evidence"] == "measured"


def test_a_wrong_shape_is_shown_at_the_users_line_with_the_module(found: dict[str, Any]) -> None:
    # R22, R35
    failure = found["Wrong"]["failure"]
    assert failure["phase"] == "trace"
    assert failure["message"].startswith("linear given float32[2, 8], float32[2, 4], float32[2] in second (Linear):")
    line = (HERE / "models.py").read_text().splitlines()[failure["frames"][0]["line"] - 1]
    assert line.strip() == "return self.second(hidden)"
    seen = {(at["name"], tuple(at["seen"][0].get("shape", ()))) for at in found["Wrong"]["observations"]}
    assert ("hidden", (2, 8)) in seen


def test_what_a_forward_yields_ran_in_its_module(found: dict[str, Any]) -> None:
    # R22
    assert names(found["Steps"]) == ["linear", "linear"]
    assert scopes(found["Steps"])["Steps/layer"]["path"] == "layer"
    assert [list(output) for output in found["Steps"]["outputs"]["list"]] == [["value"], ["value"]]


def test_faults_of_the_setup_and_the_limits_are_told(found: dict[str, Any]) -> None:
    assert found["number"]["failure"]["kind"] == "setup"
    assert "not a torch.nn.Module" in found["number"]["failure"]["message"]
    assert "the model contains itself, as '2.around'" in found["within_itself"]["failure"]["message"]
    assert found["cuda"]["failure"]["kind"] == "device"
    assert "returns a coroutine: nothing of it runs" in found["Asynchronous"]["failure"]["message"]
    assert found["limited"]["failure"]["limit"] == "operations"


@pytest.mark.parametrize("name", HINTS)
def test_what_a_first_try_lacks_is_told(found: dict[str, Any], name: str) -> None:
    # R22
    assert found[name]["failure"]["hint"].startswith(HINTS[name])


def test_measurements_are_made_on_request_alone(found: dict[str, Any]) -> None:
    # R24
    plain, measured = found["InPlace"], found["measured"]
    assert not any("statistics" in value for value in plain["values"])
    for name in ("storage_aliases", "activation_statistics", "output_bytes"):
        assert "on request" in plain["unavailable"][name]
        assert name not in measured["unavailable"]
    base = measured["values"][one(measured, "mul")["outputs"][0]]
    row = measured["values"][one(measured, "__getitem__")["outputs"][0]]
    assert base["bytes"] == 24
    assert base["storage"] == row["storage"]
    assert base["statistics"] == {
        "elements": 6, "zeros": 0, "nan": 0, "infinite": 0, "min": 2.0, "max": 2.0, "mean": 2.0, "std": 0.0,
    }  # fmt: skip
    assert "timings" in measured["unavailable"]
