"""What the values of a setup mean: static values, random streams, named axes, methods, wide dtypes, keys, outputs."""

from __future__ import annotations

from typing import Any

import pytest

from . import cases
from .batches import documents, primitives, request
from .conftest import MODELS

pytestmark = pytest.mark.timeout(600)
X = cases.tensor(2, 3)


def made(name: str, **kwargs: Any) -> dict[str, Any]:
    return cases.factory("semantics", name, **kwargs)


def linen(name: str, *args: Any, **options: Any) -> dict[str, Any]:
    return request(MODELS, "semantics", name, list(args) or [X], kind="flax.linen", **options)


def function(name: str, *args: Any, **options: Any) -> dict[str, Any]:
    return request(MODELS, "semantics", name, list(args), **options)


def nnx(name: str, *args: Any, **options: Any) -> dict[str, Any]:
    return request(MODELS, "semantics", name, list(args) or [X], kind="flax.nnx", **options)


REQUESTS = {
    "choose:relu": function("choose", inputs=made("make_choice", act="RELU", form="scaled")),
    "choose:tanh": function("choose", inputs=made("make_choice", act="TANH", form="plain")),
    "noisy": linen("Noisy"),
    "noisy:eval": linen("Noisy", kwargs={"train": False}),
    "late": linen("Late"),
    "twice": linen("Twice"),
    "sync": nnx("SyncNorm"),
    "summed": function("summed", X),
    "misspelt": function("misspelt", X),
    "method": linen("Auto.decode", cases.tensor(2, 5), kwargs={"scale": 2.0}, discovered=False),
    "method:inherited": linen("LargerAuto.decode", cases.tensor(2, 7), init={"kwargs": {"width": 7}}, discovered=False),
    "method:nnx": nnx("Codec.decode", cases.tensor(2, 4), init={"kwargs": {"width": 4}}, discovered=False),
    "method:static": function("Outer.net", X, discovered=False),
    "class": linen("Auto", discovered=False),
    "signs": linen("SignNet", kwargs={"train": False}),
    "signs:train": linen("SignNet", kwargs={"train": True}),
    "annotated": nnx("Annotated", cases.tensor(2, 4)),
    "policy": function("policy", cases.tensor(3)),
    "keys": function("draw", inputs=made("make_keys")),
    "narrow": function("widths", cases.tensor(2), cases.tensor(2, dtype="int64")),
}


@pytest.fixture(scope="module")
def answers(models_python: str) -> dict[str, Any]:
    return documents(models_python, REQUESTS)


def names(document: dict[str, Any], role: str) -> set[str]:
    return {value["name"] for value in document["values"] if value["role"] == role}


def test_strings_and_enumerations_are_static_and_choose_the_way(answers: dict[str, Any]) -> None:
    # R11
    relu, tanh = answers["choose:relu"], answers["choose:tanh"]
    assert primitives(relu) == ["max", "mul"]
    assert primitives(tanh) == ["tanh"]
    wanted = {"kwargs.act": "Act.RELU", "kwargs.name": "scaled", "kwargs.level": "Level.HIGH"}
    assert relu["setup"]["static"] == wanted
    assert relu["inputs"]["kwargs"]["act"] == {"static": "Act.RELU"}
    assert relu["captureId"] != tanh["captureId"]


def test_streams_are_found_by_the_initialisation(answers: dict[str, Any]) -> None:
    # R20: every stream that the call asks for, no other, and no trace more than one of each
    document = answers["noisy"]
    assert names(document, "input") == {"x", "rngs/dropout", "rngs/noise"}
    assert document["outputs"]["tuple"][1] == {"static": 2}
    assert names(answers["noisy:eval"], "input") == {"x"}


def test_a_stream_that_only_the_call_needs_is_found(answers: dict[str, Any]) -> None:
    assert names(answers["late"], "input") == {"x", "rngs/late"}
    (wrap,) = [v for v in answers["late"]["values"] if v.get("name") == "rngs/late"]
    assert wrap["dtype"] == "key<fry>"


def test_named_axes_are_supplied_and_said(answers: dict[str, Any]) -> None:
    # issue 1250 of Flax: the second use fails without the axis, at initialisation, too
    assert primitives(answers["twice"]).count("psum") >= 2
    assert "axis:batch=1" in answers["twice"]["setup"]["notes"]
    assert "psum" in primitives(answers["sync"])
    assert "axis:devices=1" in answers["sync"]["setup"]["notes"]
    summed = answers["summed"]
    assert set(primitives(summed)) >= {"psum", "axis_index"}
    assert summed["setup"]["notes"] == ["axis:data=1", "axis:model=1"]
    assert summed["coverage"]["status"] == "complete"


def test_another_unknown_name_stays_an_error(answers: dict[str, Any]) -> None:
    # R22
    failure = answers["misspelt"]["failure"]
    assert failure["type"] == "NameError"
    assert failure["frames"][0]["function"] == "misspelt"


def test_a_method_of_a_module_is_a_target(answers: dict[str, Any]) -> None:
    # model = "semantics:Auto.decode"
    method = answers["method"]
    assert method["target"]["kind"] == "flax.linen"
    assert names(method, "state") == {"params/up/bias", "params/up/kernel"}
    assert names(method, "input") == {"z"}
    assert method["setup"]["static"] == {"kwargs.scale": 2.0}
    assert method["scopes"][1]["name"] == "Auto.decode"
    assert [v["shape"] for v in answers["method:inherited"]["values"] if v.get("name") == "params/up/kernel"] == [
        [7, 3]
    ]
    codec = answers["method:nnx"]
    assert codec["target"]["kind"] == "flax.nnx"
    assert [value["name"] for value in codec["values"] if value["role"] == "input"] == ["z"]
    assert codec["scopes"][1]["class"] == "semantics.Codec"
    assert "freshly_initialised" in codec["setup"]["notes"]


def test_what_is_no_method_of_a_module_stays_what_it_is(answers: dict[str, Any]) -> None:
    assert primitives(answers["method:static"]) == ["sin"]
    assert answers["method:static"]["target"]["kind"] == "jax.function"
    assert answers["class"]["target"]["kind"] == "flax.linen"


def test_initialisation_and_call_are_both_traced(answers: dict[str, Any]) -> None:
    # issue 2773 of Flax: these mapped parameters can be initialised, and not be called with another mutable collection
    assert primitives(answers["signs"]).count("sign") == 2
    found = {v["name"]: v["collection"] for v in answers["signs"]["values"] if v["role"] == "state"}
    assert found["batch_stats/BatchNorm_0/mean"] == "batch_stats"
    failure = answers["signs:train"]["failure"]
    assert failure["phase"] == "trace"
    assert [frame["function"] for frame in failure["frames"] if frame["workspace"]] == ["SignNet.__call__"]


def test_sharding_annotations_need_no_mesh(answers: dict[str, Any]) -> None:
    # issue 5105 of Flax
    document = answers["annotated"]
    assert "dot_general" in primitives(document)
    assert names(document, "state") == {"linear/bias", "linear/kernel"}


def test_outputs_that_are_no_arrays_are_listed(answers: dict[str, Any]) -> None:
    # R19: issue 5729 of JAX
    outputs = answers["policy"]["outputs"]["dict"]
    assert outputs["distribution"] == {"opaque": "semantics.Normal"}
    assert outputs["name"] == {"opaque": "builtins.str"}
    assert outputs["act"] == {"static": "Act.TANH"}
    assert "value" in outputs["logits"]


def test_typed_keys_keep_their_implementation(answers: dict[str, Any]) -> None:
    # R12
    found = {v["name"]: (v["shape"], v["dtype"]) for v in answers["keys"]["values"] if v["role"] == "input"}
    assert found == {"first": ([], "key<rbg>"), "second": ([4], "key<fry>")}


def test_wide_dtypes_follow_the_environment(answers: dict[str, Any], models_python: str) -> None:
    # R13: refused without JAX_ENABLE_X64, and then not narrowed
    assert answers["narrow"]["failure"]["key"] == "inputs.args[1].dtype"
    assert answers["narrow"]["failure"]["hint"].startswith("set JAX_ENABLE_X64=1 in the environment")
    wide = function("widths", cases.tensor(2, dtype="float64"), cases.tensor(2, dtype="int64"))
    sharp = function("widths", cases.tensor(2), cases.tensor(2, dtype="complex128"))
    found = documents(models_python, {"wide": wide, "sharp": sharp}, JAX_ENABLE_X64="1")
    outputs = [found["wide"]["values"][leaf["value"]]["dtype"] for leaf in found["wide"]["outputs"]["tuple"]]
    assert outputs == ["float64", "int64", "int64"]
    assert found["sharp"]["values"][0]["dtype"] == "float32"
    assert found["sharp"]["values"][1]["dtype"] == "complex128"
