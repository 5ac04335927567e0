"""A program of 100,000 operations."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from .cases import Case, tensor
from .conftest import MODELS, ROOT

pytestmark = pytest.mark.timeout(600)

SCRIPT = """
import json, os, sys, time
root, models, out, request = sys.argv[1:]
sys.path.insert(0, root)
from tvls.worker import trace
trace.load_framework("jax")
os.chdir(models)
sys.path.insert(0, models)
marks = []
data = trace.run(json.loads(request), lambda phase: marks.append((phase, time.process_time())))
end = time.process_time()
first = dict(reversed(marks))
open(out, "wb").write(data)
print(json.dumps({"trace": first["encode"] - first["trace"], "encode": end - first["encode"]}))
"""


def test_a_hundred_thousand_operations(models_python: str, tmp_path: Path) -> None:
    # R22: captured and encoded, for less than the trace itself costs
    case = Case("large", "chain", [tensor(2), 50_000])
    target = {"kind": "jax.function", "module": "large", "qualname": "chain", "path": "large.py", "line": 1}
    request = {"workspace": str(MODELS), "sysPath": [str(MODELS)], "target": target, "setup": case.setup, "limits": {}}
    out = tmp_path / "large.json"
    command = [models_python, "-B", "-c", SCRIPT, str(ROOT), str(MODELS), str(out), json.dumps(request)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert ran.returncode == 0, ran.stderr[-3000:]
    seconds = json.loads(ran.stdout)
    document = json.loads(out.read_bytes())
    operations = document["operations"]
    assert [operation["primitive"] for operation in operations] == ["sin", "mul"] * 50_000
    assert operations[-1]["inputs"][0] == {"value": operations[-2]["outputs"][0]}
    assert {tuple(operation["frames"]) for operation in operations} == {tuple(op["frames"]) for op in operations[:2]}
    assert out.stat().st_size < 32 * 1024 * 1024
    assert seconds["encode"] < seconds["trace"], seconds
