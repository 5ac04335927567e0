"""What a failed trace says: one line, what to try, and whose code is at fault."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from .conftest import HERE, MODELS

sys.path.insert(0, str(HERE))
import failing_cases

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def failed(models_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("failures") / "all.json"
    command = [models_python, "-B", str(HERE / "runner.py"), str(out), *failing_cases.FAILING]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(out.read_text())


@pytest.mark.parametrize("name", failing_cases.FAILING)
def test_failure_teaches(failed: dict[str, Any], name: str) -> None:
    # R22, R35
    case, document = failing_cases.FAILING[name], failed[name]["document"]
    assert "operations" not in document
    failure = document["failure"]
    assert (failure["type"], failure["phase"], failure["kind"]) == (case.type, case.phase, case.kind)
    for part in case.says:
        assert part in failure["message"], failure
    for part in case.hints:
        whole = part.startswith("^")
        assert part.strip("^$") == failure["hint"] if whole else part in failure["hint"], failure
    for line in (failure["message"], failure.get("hint", "-")):
        assert line
        assert "\n" not in line
        assert len(line) <= 300
    first = failure["frames"][0]
    assert (first["path"], first["workspace"]) == ("failing.py", True)
    assert (MODELS / "failing.py").read_text().splitlines()[first["line"] - 1].strip() == case.at
    text = json.dumps(failure)
    for machinery in ("tvls", "tracers[", "jax/_src", "0x7"):
        assert machinery not in text, text


def test_full_text_is_kept(failed: dict[str, Any]) -> None:
    failure = failed["failing.carry_dtype"]["document"]["failure"]
    assert "Revise the function so that all output types match" in failure["detail"]
    assert "detail" not in failed["failing.Setup"]["document"]["failure"]
    depends = failed["failing.size_of"]["document"]["failure"]["detail"]
    assert "depends on the value of the argument count" in depends
    assert "tracing the target for jit" in depends


def test_shapes_up_to_the_failing_line(failed: dict[str, Any]) -> None:
    # R35
    document = failed["failing.contraction"]["document"]
    seen = {found["name"]: found["seen"][0]["shape"] for found in document["observations"]}
    assert seen == {"x": [3], "hidden": [3]}
