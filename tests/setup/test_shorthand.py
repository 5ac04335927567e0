"""Arguments on a command line."""

from __future__ import annotations

from typing import Any

import pytest

from tvls.protocol.errors import TvlsError
from tvls.setup.shorthand import parse_inits, parse_input, parse_inputs


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
        ('{kind="tuple", items=[1]}', (None, {"kind": "tuple", "items": [1]})),
        ('b={x={kind="tensor", shape=[2], dtype="f32"}}', ("b", {"x": tensor([2], "float32")})),
    ],
)
def test_what_is_read(text: str, wanted: tuple[str | None, Any]) -> None:
    read = parse_input(text)
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
        ('x={kind="tensor", shape=["n"], dtype="f32"}', "at shape[0]", "Correct"),
    ],
)
def test_what_is_refused_and_why(text: str, message: str, next_step: str) -> None:
    with pytest.raises(TvlsError) as caught:
        parse_input(text)
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
