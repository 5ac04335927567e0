"""A PyTorch model on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = """\
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(8, 4)
        self.head = nn.LazyLinear(8, bias=False)
        self.out = nn.Linear(4, 8)
        self.out.weight = self.embedding.weight

    def forward(self, ids):
        h = self.embedding(ids)
        if h.mean().item() > 10:
            return self.head(h)
        return self.head(h) + self.out(h)
"""


@pytest.mark.timeout(600)
def test_an_outline_says_what_ran_and_what_was_measured(tmp_path: Path, torch_python: str) -> None:  # R24, R26, R34
    (tmp_path / "tagger.py").write_text(MODEL)
    command = [sys.executable, "-m", "tvls", "trace", "tagger.py:Tagger", "--input", "int64[2,3]", "--trust"]
    command += ["--python", torch_python, "--measure", "output_bytes", "-o", "tagger.json", "--depth", "5"]
    command += ["--limit", "seconds=300"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=500)
    assert ran.returncode == 0, ran.stderr
    text = ran.stdout
    assert "measured in a run" in text
    assert "one eager forward" in text
    assert "lazy modules were initialised by a call before this one" in text
    assert "for other values it may go another way" in text
    assert "also out.weight" in text
    assert "72 parameters in 3 arrays" in text
    assert "torch.nn.functional.linear" in text
    assert "linear: operators that ran" in text
    assert "not reported as executed" not in text
    assert "activation_statistics: measured on request: the forward runs once more" in text
    assert "output_bytes:" not in text, "it is measured"
    document = json.loads((tmp_path / "tagger.json").read_text())
    made = [value for value in document["values"] if value["role"] == "intermediate"]
    assert all("bytes" in value for value in made)
    shown = subprocess.run(
        [sys.executable, "-m", "tvls", "show", "tagger.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
