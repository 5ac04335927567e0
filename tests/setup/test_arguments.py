"""Arguments on a command line."""

from __future__ import annotations

from typing import Any

import pytest

from tvls.analysis.types import Enumeration, NamedType, Parameter, Record
from tvls.protocol.errors import TvlsError
from tvls.setup.arguments import parse_inits, parse_inputs


def tensor(shape: list[int], dtype: str) -> dict[str, Any]:
    return {"kind": "tensor", "shape": shape, "dtype": dtype, "requires_grad": False, "generator": {"kind": "ones"}}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x=float32[2,3]", ("x", tensor([2, 3], "float32"))),
        ("float32[2,3]", (None, tensor([2, 3], "float32"))),
        (" x = f32 [ 2 , 3 ] ", ("x", tensor([2, 3], "float32"))),
        ("x=bf16[]", ("x", tensor([], "bfloat16"))),
        ("x=f32[1_024,]", ("x", tensor([1024], "float32"))),
        ("x=f32[0]", ("x", tensor([0], "float32"))),
        ("größe=i32[2]", ("größe", tensor([2], "int32"))),
        ("x=jnp.float32[2]", ("x", tensor([2], "float32"))),
        (
            "key=key<fry>[]",
            ("key", {"kind": "tensor", "shape": [], "dtype": "key<fry>", "requires_grad": False}),
        ),
        ("train=true", ("train", True)),
        ("train=True", ("train", True)),
        ("mask=None", ("mask", {"kind": "none"})),
        ("n=3", ("n", 3)),
        ("n=-0.5e-3", ("n", -0.0005)),
        ('name="a=b [2]"', ("name", "a=b [2]")),
        ("name='s'", ("name", "s")),
        ('"s"', (None, "s")),
        ("[1, 2]", (None, [1, 2])),
        ("cfg={a=1, b=[true]}", ("cfg", {"a": 1, "b": [True]})),
        ("xs=[f32[2], [i32[], 3]]", ("xs", [tensor([2], "float32"), [tensor([], "int32"), 3]])),
        ("p={w=f32[2,3], 'a b'=[true]}", ("p", {"w": tensor([2, 3], "float32"), "a b": [True]})),
        ("""names=["f32[2]", 'x[1]', "\\"f32[2]"]""", ("names", ["f32[2]", "x[1]", '"f32[2]'])),
        ('{kind="tuple", items=[1]}', (None, {"kind": "tuple", "items": [1]})),
        ('b={x={kind="tensor", shape=[2], dtype="f32"}}', ("b", {"x": tensor([2], "float32")})),
    ],
)
def test_what_is_read(text: str, wanted: tuple[str | None, Any]) -> None:
    call = parse_inputs([text])
    (read,) = call.kwargs.items() if call.kwargs else [(None, call.args[0])]
    assert read == wanted
    assert type(read[1]) is type(wanted[1])  # true is not 1


@pytest.mark.parametrize(
    ("text", "message", "next_step"),
    [
        ("x=float32[batch,3]", "'batch' is no dimension", "whole number"),
        ("x=float32[?,3]", "'?' is no dimension", "none is guessed"),
        ("x=float32[-1]", "'-1' is no dimension", "none is guessed"),
        ("x=float32[None]", "'None' is no dimension", "none is guessed"),
        ("x=float32[2,,3]", "left out", "float32[2,3]"),
        ("x=float32[,]", "left out", "float32[2,3]"),
        ("x=flaot32[2]", "did you mean 'float32'", "DTYPE[DIM,DIM]"),
        ("x=float32", "not a value", "float32[2,3]"),
        ("x=key[]", "key<fry>", "DTYPE"),
        ("name=relu", "not a value", "quotes"),
        ("x=", "no value", "NAME=VALUE"),
        ("", "no value", "NAME=VALUE"),
        ("x=inf", "factory", "Correct"),
        ("x=1979-05-27", "date", "Correct"),
        ("x=1\ny=2", "more than one", "each argument"),
        ("xs.0=f32[2]", "'0' is no name", "written as xs[0]=VALUE"),
        ("a.b.1.w=f32[2]", "'1' is no name", "written as a.b[1].w=VALUE"),
        ("xs=(f32[2], f32[3],)", "not a value", "as a list: [f32[2], f32[3]]"),
        ("xs=[f32[2], relu]", "not a value", "as in TOML"),
        ("xs=[f32[batch]]", "'batch' is no dimension", "whole number"),
        ("xs=[flaot32[2]]", "did you mean 'float32'", "DTYPE[DIM,DIM]"),
        ("xs[2]=1", "xs has an item 2 and no item 0", "xs[0]=VALUE"),
        ("a.b[0][1]=1", "a.b[0] has an item 1 and no item 0", "a.b[0][0]=VALUE"),
        ('x={kind="tensor", shape=["n"], dtype="f32"}', "at shape[0]", "Correct"),
    ],
)
def test_what_is_refused_and_why(text: str, message: str, next_step: str) -> None:
    with pytest.raises(TvlsError) as caught:
        parse_inputs([text])
    assert caught.value.kind == "setupInvalid"
    assert message in caught.value.message
    assert next_step in caught.value.data.next_step


def test_several_arguments() -> None:
    call = parse_inputs(["f32[2]", "train=false", "3"])
    assert call.args == [tensor([2], "float32"), 3]
    assert call.kwargs == {"train": False}
    assert parse_inits(["features=8"]).kwargs == {"features": 8}
    with pytest.raises(TvlsError, match="--init 'a=2': 'a' is given twice"):
        parse_inits(["a=1", "a=2"])


def parameter(name: str, annotation: str, default: str | None = None, **names: str) -> Parameter:
    return Parameter(name, "positional_or_keyword", annotation, default, names)


TYPES: dict[str, NamedType] = {
    "m:Pool": Enumeration(["MAX", "AVG"], {"MAX": "max", "AVG": 2}),
    "m:Inner": Record(
        [parameter("pool", "Pool", "Pool.MAX", Pool="m:Pool"), parameter("sizes", "tuple[int, ...]", "()")]
    ),
    "m:Config": Record([parameter("width", "int"), parameter("inner", "Inner", "Inner()", Inner="m:Inner")]),
}
PARAMETERS = [
    parameter("pool", "Pool", None, Pool="m:Pool"),
    parameter("sizes", "int | tuple[int, ...]"),
    parameter("act", "str"),
    parameter("norm", 'Literal["pre", "post"]'),
    parameter("config", "Config", "Config(width=4)", Config="m:Config"),
    parameter("params", "dict"),
]
AVG = {"kind": "enum", "class": "m:Pool", "member": "AVG"}


INNER: dict[str, Any] = {
    "kind": "object", "class": "m:Inner", "fields": {"sizes": {"kind": "tuple", "items": [4]}},
}  # fmt: skip


def an_object(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "object", "class": f"m:{name}", "fields": fields}


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["pool=AVG"], {"pool": AVG}),
        (["pool=Pool.AVG"], {"pool": AVG}),
        (['pool="AVG"'], {"pool": AVG}),
        (["pool=2"], {"pool": AVG}),
        (["sizes=[1, 2]"], {"sizes": {"kind": "tuple", "items": [1, 2]}}),
        (["act=relu"], {"act": "relu"}),
        (['act="relu"'], {"act": "relu"}),
        (["norm=pre"], {"norm": "pre"}),
        (["config.width=8"], {"config": an_object("Config", width=8)}),
        (
            ["config.inner.pool=AVG", "config.inner.sizes=[3]"],
            {
                "config": an_object(
                    "Config", width=4, inner=an_object("Inner", pool=AVG, sizes={"kind": "tuple", "items": [3]})
                )
            },
        ),
        (
            ["params.a.w=f32[2]", "params.b=f32[3]"],
            {"params": {"a": {"w": tensor([2], "float32")}, "b": tensor([3], "float32")}},
        ),
        (["xs[1]=f32[2]", "xs[0]=3"], {"xs": [3, tensor([2], "float32")]}),
        (
            ["params.layers[0].w=f32[2]", "params.layers[0].b=1", "params.layers[1].w=2"],
            {"params": {"layers": [{"w": tensor([2], "float32"), "b": 1}, {"w": 2}]}},
        ),
        (["sizes[0]=4", "sizes[1]=5"], {"sizes": {"kind": "tuple", "items": [4, 5]}}),
        (["config.inner.sizes[0]=4"], {"config": an_object("Config", width=4, inner=INNER)}),
    ],
)
def test_a_value_is_what_the_annotation_says(texts: list[str], wanted: dict[str, Any]) -> None:  # R10
    assert parse_inits(texts, PARAMETERS, TYPES).kwargs == wanted


def test_an_argument_by_its_place_is_what_the_annotation_says() -> None:  # R10
    assert parse_inputs(["AVG", "[1]"], PARAMETERS, TYPES).args == [AVG, {"kind": "tuple", "items": [1]}]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["pool=MEAN"], "this is one of MAX, AVG, not 'MEAN'"),
        (["norm=mid"], "this is one of pre, post, not 'mid'"),
        (["config.widht=8"], "Config has no field 'widht'; did you mean 'width'?"),
        (["config.inner.poll=AVG"], "Inner has no field 'poll'; did you mean 'pool'?"),
        (["config.width=8", "config.width=9"], "'config.width' is given twice"),
        (["params={}", "params.a=1"], "'params.a' is given twice"),
        (["params.a=1", "params={}"], "'params' is given twice"),
        (["params[0]=1", "params[0]=2"], "'params[0]' is given twice"),
        (["params[0].w=1", "params[0]=2"], "'params[0]' is given twice"),
        (["params[0]=1", "params.a=2"], "params has items, and no names"),
        (["params.a=1", "params[0]=2"], "params has names, and no items"),
        (["config[0]=1"], "Config has no field 0"),
    ],
)
def test_a_value_that_the_annotation_does_not_take_is_refused(texts: list[str], message: str) -> None:  # R10
    with pytest.raises(TvlsError) as caught:
        parse_inits(texts, PARAMETERS, TYPES)
    assert message in caught.value.message
