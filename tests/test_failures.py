"""A failed trace as people see it."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from tvls.capture.document import Failure
from tvls.failures import failure_error, report_message, short_message


def failure(**detail: Any) -> Failure:
    return {
        "formatVersion": 1,
        "framework": "jax",
        "versions": {},
        "target": {"kind": "jax.function", "module": "model", "qualname": "net"},
        "failure": {
            "kind": "exception",
            "type": "TypeError",
            "message": "no",
            "frames": [],
            "phase": "trace",
            **detail,
        },
        "sources": [],
        "observations": [],
    }


def test_message_and_hint_reach_the_request_and_the_diagnostic() -> None:
    # R22, R35
    frame = {"path": "model.py", "workspace": True, "function": "net", "line": 3}
    failed = failure(
        type="jax.errors.TracerBoolConversionError",
        message="Python needs to know …",
        hint="mark it static",
        frames=[frame],
    )
    assert short_message(failed) == "TracerBoolConversionError: Python needs to know …"
    assert report_message(failed) == "TracerBoolConversionError: Python needs to know …\nMark it static."
    error = failure_error(failed)
    assert error.kind == "traceFailed"
    assert str(error).startswith("net failed while tracing it at model.py:3: TracerBoolConversionError: Python needs")
    assert "Mark it static. Correct the code" in error.data.next_step


@pytest.mark.parametrize(("framework", "library"), [("jax", "a JAX that"), ("torch", "a PyTorch that")])
def test_a_device_is_had_by_the_library_of_the_framework(
    framework: Literal["jax", "torch"], library: str
) -> None:  # R21
    failed = failure(kind="device", type="SetupFault", message="cuda:0 is not available")
    failed["framework"] = framework
    assert library in failure_error(failed).data.next_step


@pytest.mark.parametrize("hint", ["jnp.where keeps the shape", "`x` is an array", "x.at[i].set(y)", "nnx.Dropout(…)"])
def test_names_at_the_start_of_a_hint_stay(hint: str) -> None:
    assert report_message(failure(hint=hint)).splitlines()[1].startswith(hint)


def test_a_message_of_many_lines_becomes_one() -> None:
    assert short_message(failure(message="first\n  second\n\nthird")) == "TypeError: first second third"
    assert len(short_message(failure(message="x" * 1000))) == 300
    assert short_message(failure(message="")) == "TypeError"
