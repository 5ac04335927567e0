"""Every capture against an independent reading of `jax.make_jaxpr` of the same model."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from . import cases, checker

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("name", list(cases.CASES))
def test_capture_equals_the_jaxpr(captured: dict[str, Any], name: str) -> None:
    # R14, R15, R16, R17: operations, order, operands, shapes, dtypes, weak types and bodies, one to one
    found = captured[name]
    document, reference = found["document"], found["reference"]
    assert "crash" not in reference, reference.get("crash")
    assert "failure" not in document, document.get("failure")
    checker.assert_sound(document)
    written_state = "more" if cases.CASES[name].module == "nnx_models" else "equal"
    program = checker.program_of_document(document, reference["streams"])
    checker.assert_equal_programs(program, reference["program"], written_state)
    states = [value for value in document["values"] if value["role"] == "state"]
    assert [[value["shape"], value["dtype"], value.get("weakType", False)] for value in states] == reference["state"]


@pytest.mark.parametrize("name", list(cases.FAULTS))
def test_fault_says_what_and_where(captured: dict[str, Any], name: str) -> None:
    # R13, R21, R22: each mistake and each excess is a failure of its own, never a graph
    fault, document = cases.FAULTS[name], captured[name]["document"]
    assert "operations" not in document
    failure = document["failure"]
    assert failure["kind"] == fault.kind, failure
    assert fault.says in failure["message"]
    if fault.key:
        assert failure["key"] == fault.key
    if fault.phase:
        assert failure["phase"] == fault.phase
    if fault.limits:
        assert [failure["limit"]] == list(fault.limits)


def test_checker_sees_a_changed_document(captured: dict[str, Any]) -> None:
    found = captured["functions.net"]
    document, reference = found["document"], found["reference"]["program"]
    for change in (_drop_operation, _swap_operands, _other_shape, _other_dtype):
        changed = change(document)
        with pytest.raises(AssertionError):
            checker.assert_equal_programs(checker.program_of_document(changed, []), reference)


def _drop_operation(document: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    last = changed["operations"].pop()
    changed["outputs"] = last["inputs"][0]
    return changed


def _swap_operands(document: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    changed["operations"][1]["inputs"].reverse()
    return changed


def _other_shape(document: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    changed["values"][-1]["shape"] = [4, 2]
    return changed


def _other_dtype(document: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    changed["values"][-1]["dtype"] = "bfloat16"
    return changed
