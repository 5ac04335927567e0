"""Captures of the cases, made once by the interpreter that has the models' libraries, and the real worker process."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
WORKER = ROOT / "tvls" / "worker" / "__main__.py"
MODELS = HERE / "models"


@pytest.fixture(scope="session")
def captured(models_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """`{name: {"document", "backends", "reference"}}` of all cases and faults."""
    out = tmp_path_factory.mktemp("captures") / "all.json"
    command = [models_python, "-B", str(HERE / "runner.py"), str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(out.read_text())


def run_worker(python: str, request: dict[str, Any]) -> bytes:
    """The document that a worker process of its own answers with, as bytes."""
    command = [python, "-B", "-u", str(WORKER), "trace"]
    ran = subprocess.run(command, input=json.dumps(request).encode(), capture_output=True, check=False, timeout=300)
    data, documents = ran.stdout, []
    while data:
        (size,) = struct.unpack(">Q", data[1:9])
        if data[:1] == b"D":
            documents.append(data[9 : 9 + size])
        data = data[9 + size :]
    assert len(documents) == 1, ran.stderr.decode()[-3000:]
    return documents[0]
