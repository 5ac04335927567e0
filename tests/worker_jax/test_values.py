"""Setup values to Python values."""

from __future__ import annotations

from typing import Any

import pytest

from tvls.capture.limits import Limits
from tvls.worker.job import SetupFault
from tvls.worker.values import Budget, Making, TensorSpec, build, build_call

TENSOR = {"kind": "tensor", "shape": [2, 3], "dtype": "float32", "generator": {"kind": "full", "value": 1}}


def making(budget: Budget) -> Making:
    def find(name: str, key: str) -> type[Any]:
        raise SetupFault("setup", f"no {name}", key)

    return Making(budget, lambda spec: spec, find)


def built(value: object, limits: Limits | None = None) -> Any:
    return build(value, "inputs.args[0]", making(Budget(limits or Limits())))


@pytest.mark.parametrize("value", [None, True, False, 0, -3, 1.5, float("inf"), "", "kind", [], {}])
def test_plain_values_stay(value: object) -> None:
    # R11
    assert built(value) == value
    assert type(built(value)) is type(value)


def test_containers_keep_their_structure() -> None:
    # R9
    value = {"a": [1, {"kind": "tuple", "items": [2, {"kind": "none"}]}], "kind": "other"}
    assert built(value) == {"a": [1, (2, None)], "kind": "other"}
    assert built({"kind": "dict", "items": {"kind": "tensor", "shape": 1}}) == {"kind": "tensor", "shape": 1}


def test_tensor_carries_its_place() -> None:
    call = build_call({"args": [[TENSOR]], "kwargs": {"x": {"y": TENSOR}}}, "inputs", making(Budget(Limits())))
    assert call.args[0][0] == TensorSpec("inputs.args[0][0]", (2, 3), "float32", False, {"kind": "full", "value": 1})
    assert call.kwargs["x"]["y"].key == "inputs.kwargs.x.y"


def test_zero_elements_and_scalars_are_arrays_too() -> None:
    budget = Budget(Limits())
    for shape in ([], [0], [3, 0, 2]):
        build({**TENSOR, "shape": shape}, "x", making(budget))
    assert (budget.arrays, budget.elements) == (3, 1)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"shape": [1, 2.0]}, ".shape[1]"),
        ({"shape": ["n"]}, ".shape[0]"),
        ({"shape": [False]}, ".shape[0]"),
        ({"shape": [-1]}, ".shape[0]"),
        ({"shape": None}, ".shape"),
        ({"dtype": 32}, ".dtype"),
        ({"requires_grad": 1}, ".requires_grad"),
        ({"generator": "ones"}, ".generator"),
        ({"shapes": []}, ".shapes"),
    ],
)
def test_malformed_tensor_names_the_key(change: dict[str, Any], key: str) -> None:
    with pytest.raises(SetupFault) as fault:
        built({**TENSOR, **change})
    assert (fault.value.kind, fault.value.key) == ("setup", f"inputs.args[0]{key}")


@pytest.mark.parametrize("value", [{"kind": "tuple", "items": 3}, {"kind": "dict", "items": []}, object(), {1, 2}])
def test_what_is_no_setup_value_is_refused(value: object) -> None:
    with pytest.raises(SetupFault):
        built(value)


@pytest.mark.parametrize("name", ["shape", "dtype"])
def test_tensor_without_shape_or_dtype(name: str) -> None:
    with pytest.raises(SetupFault) as fault:
        built({key: value for key, value in TENSOR.items() if key != name})
    assert fault.value.key == f"inputs.args[0].{name}"


def test_limits_are_exact() -> None:
    # R13
    limits = Limits(input_arrays=2, input_elements=12)
    assert len(built([TENSOR, TENSOR], limits)) == 2
    with pytest.raises(SetupFault) as arrays:
        built([{**TENSOR, "shape": []}] * 3, limits)
    with pytest.raises(SetupFault) as elements:
        built([TENSOR, {**TENSOR, "shape": [7]}], limits)
    assert (arrays.value.limit, elements.value.limit) == ("input_arrays", "input_elements")
    assert (arrays.value.key, elements.value.key) == ("inputs.args[0][2]", "inputs.args[0][1]")


@pytest.mark.parametrize("described", [{"args": 3}, {"kwargs": []}])
def test_call_of_the_wrong_form(described: dict[str, Any]) -> None:
    with pytest.raises(SetupFault) as fault:
        build_call(described, "inputs", making(Budget(Limits())))
    assert fault.value.key == f"inputs.{next(iter(described))}"
