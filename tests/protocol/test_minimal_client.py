"""The example of a client does what its text says, and needs nothing but Python. Promise: R28."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "examples" / "minimal_client.py"


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    places = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, str(CLIENT), *arguments, "--server", f"{sys.executable} -m tvls serve"]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT), **places}, capture_output=True, text=True, check=False
    )


def test_it_is_short_and_stands_alone() -> None:
    text = CLIENT.read_text("utf-8")
    assert len(text.splitlines()) <= 150
    imported = {
        name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert {str(name).partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_it_opens_a_model_and_prints_its_graph(tmp_path: Path, models_python: str) -> None:
    model = str(ROOT / "examples" / "mlp.py")
    listed = run(tmp_path, model)
    assert listed.stdout.splitlines() == ["MLP  flax.linen  line 7", "NnxMLP  flax.nnx  line 15"]

    refused = run(tmp_path, model, "MLP", "--python", models_python)
    assert refused.returncode == 1
    assert "is not trusted" in refused.stderr

    opened = run(tmp_path, model, "MLP", "--python", models_python, "--trust")
    assert opened.returncode == 0, opened.stderr
    lines = opened.stdout.splitlines()
    assert lines[0] == "MLP: inferred, fresh, coverage complete"
    assert "  dot_general(x, params/Dense_1/kernel) -> float32[2, 16]   mlp.py:12" in lines
    assert lines[-1] == "result(add) -> float32[2, 4]"
