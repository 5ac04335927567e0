"""Derived costs against what XLA counts of the same programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tvls.graph import GraphIndex
from tvls.graph.costs import capture_costs

HERE = Path(__file__).parent

pytestmark = pytest.mark.timeout(300)


def test_contractions_are_those_that_xla_counts(models_python: str, tmp_path: Path) -> None:  # R41
    out = tmp_path / "costs.json"
    command = [models_python, "-B", str(HERE / "cost_programs.py"), str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(out.read_text())
    assert len(found) > 20
    for name, program in found.items():
        costs = capture_costs(GraphIndex({**program["document"], "captureId": name}))
        assert costs.contraction_flops == program["flops"], name
        assert costs.flops == costs.contraction_flops, name
        assert costs.uncounted == 0, name
