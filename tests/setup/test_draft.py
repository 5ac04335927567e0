"""What source alone says of a setup: annotations, defaults, names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.setup.targets import found_target
from tvls.analysis.types import FoundTarget, Parameter
from tvls.setup.annotations import Hint, read_annotation
from tvls.setup.draft import draft_profile
from tvls.setup.form import State, make_form

NAMED: Any = ("?batch", 784)


@pytest.mark.parametrize(
    ("annotation", "hint"),
    [
        ("int", Hint(type="integer")),
        ("'bool'", Hint(type="boolean")),
        ("float | int", Hint(type="number")),
        ("Optional[str]", Hint(type="string", optional=True)),
        ("typing.Union[int, None]", Hint(type="integer", optional=True)),
        ("Literal['a', 'b', None]", Hint(type="choice", options=("a", "b"), optional=True)),
        ("Literal[1] | Literal[2]", Hint(type="choice", options=(1, 2))),
        ("jax.Array", Hint(type="tensor")),
        ("jax.Array | None", Hint(type="tensor", optional=True)),
        ("torch.LongTensor", Hint(type="tensor", dtype="int64")),
        ("PRNGKeyArray", Hint(type="tensor", shape=(), dtype="key<fry>")),
        ('Float[Array, "batch 784"]', Hint(type="tensor", shape=NAMED)),
        ('jt.Float32[Array, "batch 784"] | None', Hint(type="tensor", shape=NAMED, dtype="float32", optional=True)),
        ('Bool[Array, ""]', Hint(type="tensor", shape=(), dtype="bool")),
        ('Int[Array, "*batch n"]', Hint(type="tensor", dtype="int32")),
        ('Float[Array, "... n"]', Hint(type="tensor")),
        ('Float[Array, "#b n-1 dim=3 _ _x"]', Hint(type="tensor", shape=("?b", "?n-1", 3, "?", "?"))),
        ("list[int]", Hint(type="list", items=(Hint(type="integer"),))),
        ("tuple[jax.Array, int]", Hint(type="tuple", items=(Hint(type="tensor"), Hint(type="integer")))),
        ("dict[str, jax.Array]", Hint(type="table", items=(Hint(type="tensor"),))),
        ("Callable[[int], int]", Hint(only_factory="a function")),
        ("GPTConfig", Hint(only_factory="an object of GPTConfig")),
        ("Annotated[int, 'x']", Hint(type="integer")),
        ("Any", Hint()),
        ("int[", Hint()),
        (None, Hint()),
    ],
)
def test_annotations(annotation: str | None, hint: Hint) -> None:  # R10
    assert read_annotation(annotation) == hint


def target(*parameters: Parameter) -> FoundTarget:
    return found_target(parameters=list(parameters))


def parameter(name: str, annotation: str | None = None, default: str | None = None) -> Parameter:
    return Parameter(name, "positional_or_keyword", annotation, default)


def test_dtypes_are_assumed_and_shapes_are_not() -> None:  # R10
    table, assumed = draft_profile(
        target(
            parameter("x"),
            parameter("token_ids", "jax.Array"),
            parameter("mask", "jax.Array"),
            parameter("dropout_rng", "jax.Array"),
            parameter("weights", 'Float16[Array, "n"]'),
        )
    )
    args = table["inputs"]["args"]
    assert [value["dtype"] for value in args] == ["float32", "int32", "bool", "key<fry>", "float16"]
    assert [value["shape"] for value in args] == ["?", "?", "?", [], ["?n"]]
    assert "inputs.args[4].dtype" not in assumed
    assert {"inputs.args[0].dtype", "inputs.args[3].shape"} <= assumed


def test_indices_of_pytorch_are_of_64_bits_and_it_has_no_typed_keys() -> None:  # R10
    names = ("idx", "input_ids", "edge_index", "attention_mask", "rng")
    table, _ = draft_profile(
        found_target("Net", "torch.module", parameters=[parameter(name, "Tensor") for name in names])
    )
    assert [value["dtype"] for value in table["inputs"]["args"]] == ["int64", "int64", "int64", "bool", "float32"]


@pytest.mark.parametrize(
    ("parameters", "dtype"),
    [
        ([parameter("key"), parameter("n_in", "int")], "key<fry>"),
        ([parameter("dropout_key", "jax.Array"), parameter("x")], "key<fry>"),
        ([parameter("key"), parameter("query"), parameter("value")], "float32"),
        ([parameter("key", 'Float[Array, "n d"]')], "float32"),
    ],
)
def test_a_key_is_random_unless_it_is_one_of_attention(parameters: list[Parameter], dtype: str) -> None:  # R10
    table, assumed = draft_profile(target(*parameters))
    (value, *_) = table["inputs"]["args"]
    assert value["dtype"] == dtype
    if dtype == "key<fry>":
        assert value["shape"] == []
        assert "inputs.args[0].dtype" in assumed


def test_dimensions_of_expressions_follow_from_the_named_ones() -> None:  # R10
    wanted = target(parameter("x", 'Float[Array, "n d"]'), parameter("y", 'Float[Array, "n-1 2*d"]'))
    state = State(target=wanted, name="f", table=draft_profile(wanted)[0])
    form = make_form(state)
    assert [field.key for field in form.fields if field.group == "dimensions"] == ["dimensions.n", "dimensions.d"]
    state.dimensions |= {"n": 3, "d": 4}
    form = make_form(state)
    assert form.complete
    assert [value["shape"] for value in form.setup["inputs"]["args"]] == [[3, 4], [2, 8]]
    state.dimensions["n"] = 0
    form = make_form(state)
    assert not form.complete
    assert [field.key for field in form.fields if field.error] == ["dimensions.n"]
