"""Targets that another function or a partial makes, transformed functions with named inputs, and forms of factories."""

from __future__ import annotations

from typing import Any

import pytest

from . import cases
from .batches import documents, primitives, request
from .conftest import MODELS

pytestmark = pytest.mark.timeout(600)
X = cases.tensor(2, 3)
W, B = cases.tensor(3, 4), cases.tensor(2, 3)
KEY = cases.tensor(dtype="key<fry>")


def made(name: str, **kwargs: Any) -> dict[str, Any]:
    return cases.factory("setups", name, **kwargs)


def of(name: str, *args: Any, **options: Any) -> dict[str, Any]:
    return request(MODELS, "setups", name, list(args), **options)


MADE = {
    "make_linen": of("make_linen"),
    "make_linen:array": of("make_linen", X),
    "make_pair": of("make_pair", X),
    "make_bound": of("make_bound"),
    "make_nnx": of("make_nnx"),
    "make_from_key": of("make_from_key", KEY),
    "make_from_key:raw": of("make_from_key", cases.tensor(2, dtype="uint32")),
    "two_models": of("two_models"),
    "make_function": of("make_function"),
    "make_partial": of("make_partial"),
    "make_class": of("make_class"),
    "from_factory": of("same", init=made("make_maker")),
}
FORMS = ["tuple", "list", "array", "none", "number", "array args", "string", "kwargs", "names", "junk", "junk kwargs"]
GOOD = ["own", "call", "only kwargs"]
NAMED: dict[str, tuple[dict[str, Any], str]] = {
    "jit": (of("plain_jit", X, kwargs={"mode": "add"}), "`inputs.kwargs.mode` of the setup is the str 'add'"),
    "jit:inside": (of("plain_jit", X, {"a": ["b"]}), "`inputs.args[1].a[0]` of the setup is the str 'b'"),
    "misspelt": (of("sine", {**X, "kind": "tensr"}), "`inputs.args[0]` of the setup is a dictionary"),
    "list": (of("sine", kwargs={"x": [1.0, 2.0]}), "`inputs.kwargs.x` of the setup is a list"),
    "string": (of("sine", kwargs={"x": "float32[2,3]"}), "`inputs.kwargs.x` of the setup is the str"),
    "shape": (of("reshaped", X, kwargs={"shape": "3,2"}), "`inputs.kwargs.shape` of the setup is the str '3,2'"),
    "shape:float": (of("reshaped", X, 3.5), "`inputs.args[1]` of the setup is the float 3.5"),
    "loop": (of("total", X, kwargs={"n": "0"}), "`inputs.kwargs.n` of the setup is the str '0'"),
    "none": (of("bare", X, kwargs={"y": {"kind": "none"}}), "`inputs.kwargs.y` of the setup is none"),
    "tuple": (of("bare", X, {"kind": "tuple", "items": ["a"]}), "`inputs.args[1].items` of the setup is a tuple"),
    "table": (of("scaled", kwargs={"x": X, "config": {"scale": 1}}), "`inputs.kwargs.config` is a table of the setup"),
    "field": (of("Net", X, init={"kwargs": {"width": "8"}}), "`init.kwargs.width` of the setup is the str '8'"),
    "field:list": (of("Net", X, init={"kwargs": {"width": [8]}}), "`init.kwargs.width` of the setup is a list"),
    "parameter": (of("Block", X, init={"args": ["3"]}), "`init.args[0]` of the setup is the str '3'"),
}
UNNAMED = {
    "traced": of("reshaped", X, kwargs={"shape": X}),
    "shapes": of("bare", X, cases.tensor(5, 7)),
    "missing": of("bare", X),
}
REQUESTS = {
    **MADE,
    **{f"named:{name}": given for name, (given, _) in NAMED.items()},
    **{f"unnamed:{name}": given for name, given in UNNAMED.items()},
    "initialise": of("initialise", KEY, X),
    "averaged": of("averaged", inputs=made("two_models")),
    "same": of("same", inputs=made("one_model")),
    "linearised": of("linearised", X),
    "nothing": of("nothing"),
    "small": of("Small", X),
    "small:undiscovered": of("Small", X, discovered=False),
    "smaller": of("Smaller", X, init={"kwargs": {"width": 6}}),
    "smaller:more": of("Smaller", X, init={"kwargs": {"scale": 3.0}}),
    "small:factory": of("Small", X, init=made("bound_net")),
    "small:other": of("Small", X, init=made("other_net")),
    "narrow": of("Narrow", X),
    "narrow:init": of("Narrow", X, init={"args": [5]}),
    "narrow:factory": of("Narrow", X, init=made("block", mode="eval")),
    "narrow:other": of("Narrow", X, init=made("bound_net")),
    "seeded": of("Seeded", X),
    "registry": of("Registry.small", X),
    "block": of("Block", X, init={"args": [3]}),
    "block:fresh": of("Block", X, init=made("block", mode=None)),
    "block:train": of("Block", X, init=made("block", mode="train")),
    "block:eval": of("Block", X, init=made("block", mode="eval")),
    "dense": of("dense", kwargs={"x": B, "w": W}),
    "dense:factory": of("dense", inputs=made("arrays", x=[2, 3], w=[3, 4])),
    "dense:mixed": of("dense", W, kwargs={"x": B}),
    "dense:wrong": of("dense", kwargs={"x": B, "w": cases.tensor(3, 4, dtype="float64")}),
    "gradient": of("gradient", inputs=made("arrays", x=[2, 3], w=[3, 4])),
    "both": of("both", kwargs={"x": B, "w": W, "scale": 2.0}),
    "held": of("held", kwargs={"x": B}),
    "jitted": of("jitted", kwargs={"x": B, "w": W, "scale": 2.0}),
    "named": of("named", kwargs={"x": B, "w": W}),
    "without_first": of("without_first", kwargs={"x": B}),
    "method": of("dense", kwargs={"x": B, "w": W}, init=made("holder_method")),
    **{f"form:{form}": of("bare", inputs=made("returns", form=form)) for form in FORMS},
    **{f"form:{form}": of("of_args", inputs=made("returns", form=form)) for form in GOOD},
}


@pytest.fixture(scope="module")
def answers(models_python: str) -> dict[str, Any]:
    return documents(models_python, REQUESTS)


def names(document: dict[str, Any], role: str) -> dict[str, list[int]]:
    assert "failure" not in document, document["failure"]
    return {value["name"]: value["shape"] for value in document["values"] if value["role"] == role}


# --- functions that make something to call ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_a_function_that_makes_something_to_call_is_no_empty_graph(answers: dict[str, Any], name: str) -> None:
    # R22
    failure = answers[name]["failure"]
    assert (failure["kind"], failure["key"], failure["phase"]) == ("setup", "model", "trace")
    assert "does not compute with it" in failure["message"]
    assert "init factory" in failure["hint"]
    if name in ("make_linen", "make_linen:array", "make_pair", "make_bound"):
        assert "builds a model (Net)" in failure["message"]
        assert "Net" in failure["hint"]
    if name in ("make_function", "make_partial", "make_class"):
        assert "makes a function" in failure["message"]


def test_what_computes_or_passes_on_its_inputs_is_a_program(answers: dict[str, Any]) -> None:
    assert "random_bits" in " ".join(primitives(answers["initialise"]))
    assert set(primitives(answers["averaged"])) == {"add", "div"}
    assert primitives(answers["same"]) == []
    assert "cos" in primitives(answers["linearised"])
    assert primitives(answers["nothing"]) == []


# --- partials of module classes --------------------------------------------------------------------------------------


def test_a_partial_of_a_linen_class_is_that_class_with_arguments(answers: dict[str, Any]) -> None:
    # R12, R20
    for name in ("small", "small:undiscovered", "registry"):
        document = answers[name]
        assert names(document, "state") == {"params/Dense_0/bias": [4], "params/Dense_0/kernel": [3, 4]}
        assert document["target"]["kind"] == "flax.linen"
    assert "freshly_initialised" in answers["small"]["setup"]["notes"]
    assert "multiple values" in answers["smaller"]["failure"]["message"]
    literals = [
        operand.get("literal") for operation in answers["smaller:more"]["operations"] for operand in operation["inputs"]
    ]
    assert 3.0 in literals
    assert names(answers["small:factory"], "state")["params/Dense_0/kernel"] == [3, 5]
    assert "freshly_initialised" not in answers["small:factory"]["setup"]["notes"]
    failure = answers["small:other"]["failure"]
    assert failure["key"] == "init.factory"
    assert "must return Net, which Small makes" in failure["message"]


def test_a_partial_of_an_nnx_class_is_that_class_with_arguments(answers: dict[str, Any]) -> None:
    # R12, R20
    assert answers["narrow"]["target"]["kind"] == "flax.nnx"
    assert names(answers["narrow"], "state")["linear/kernel"] == [3, 2]
    assert names(answers["narrow:init"], "state")["linear/kernel"] == [3, 5]
    assert names(answers["seeded"], "state")["linear/kernel"] == [3, 2]
    assert primitives(answers["narrow:factory"]) == primitives(answers["narrow"])
    assert "an instance of Block" in answers["narrow:other"]["failure"]["message"]


def test_only_what_is_constructed_here_is_put_into_eval_mode(answers: dict[str, Any]) -> None:
    # R12, R21: the mode of what a factory returns is the factory's choice
    for name in ("block", "block:eval"):
        assert "random_bits" not in primitives(answers[name]), name
    for name in ("block:train", "block:fresh"):
        assert any("random" in primitive for primitive in primitives(answers[name])), name


# --- named inputs of transformed functions ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dense", "dense:factory", "dense:mixed", "method"])
def test_named_inputs_of_a_mapped_function_stand_where_its_axes_count(answers: dict[str, Any], name: str) -> None:
    # R11, R12
    document = answers[name]
    assert primitives(document) == ["dot_general"]
    assert names(document, "input") == {"w": [3, 4], "x": [2, 3]}
    assert [list(tree) for tree in document["inputs"]["args"]] == [["value"], ["value"]]


def test_named_inputs_of_gradients(answers: dict[str, Any]) -> None:
    gradient = answers["gradient"]
    assert gradient["values"][gradient["outputs"]["value"]]["shape"] == [3, 4]
    assert answers["both"]["setup"]["static"] == {"kwargs.scale": 2.0}
    assert names(answers["both"], "input") == {"w": [3, 4], "x": [2, 3]}
    assert names(answers["held"], "input") == {"x": [2, 3]}


def test_where_names_are_good_enough_they_stay(answers: dict[str, Any]) -> None:
    assert set(answers["jitted"]["inputs"]["kwargs"]) == {"x", "w", "scale"}
    assert set(answers["named"]["inputs"]["kwargs"]) == {"x", "w"}
    assert names(answers["without_first"], "input") == {"x": [2, 3]}


def test_a_fault_names_the_place_in_the_setup(answers: dict[str, Any]) -> None:
    # R13: not the position that the input was moved to
    assert answers["dense:wrong"]["failure"]["key"] == "inputs.kwargs.w.dtype"


@pytest.mark.parametrize("name", NAMED)
def test_a_value_of_an_unexpected_type_is_named_by_its_key(answers: dict[str, Any], name: str) -> None:
    # R35
    failure = answers[f"named:{name}"]["failure"]
    assert failure["kind"] == "exception"
    assert NAMED[name][1] in failure["hint"]
    assert "known while tracing" not in failure["message"]  # there is no traced value in it


@pytest.mark.parametrize("name", UNNAMED)
def test_no_value_is_blamed_without_reason(answers: dict[str, Any], name: str) -> None:
    assert "of the setup" not in answers[f"unnamed:{name}"]["failure"].get("hint", "")


# --- forms of inputs factories ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_what_an_inputs_factory_must_not_return(answers: dict[str, Any], form: str) -> None:
    # R12
    failure = answers[f"form:{form}"]["failure"]
    assert (failure["kind"], failure["key"], failure["phase"]) == ("inputs", "inputs.factory", "inputs")
    assert 'return {"args": (x, y), "kwargs": {"flag": True}}' in failure["hint"]
    said = {"tuple": "not tuple", "number": "not int", "junk": "'junk' beside args", "none": "NoneType"}
    assert said.get(form, "factory") in failure["message"]


@pytest.mark.parametrize("form", GOOD)
def test_parameters_may_be_called_args(answers: dict[str, Any], form: str) -> None:
    # R12
    assert primitives(answers[f"form:{form}"]) == ["add"]
