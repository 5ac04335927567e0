"""A PyTorch model on the command line."""

from __future__ import annotations

import json
import re
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
    assert re.search(r"torch.nn.functional.embedding .* → f32\[2,3,4\].*\n *measured: 96 bytes\n", text)
    document = json.loads((tmp_path / "tagger.json").read_text())
    made = [value for value in document["values"] if value["role"] == "intermediate"]
    assert all("bytes" in value for value in made)
    shown = subprocess.run(
        [sys.executable, "-m", "tvls", "show", "tagger.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert "measured: 96 bytes" in shown.stdout


FACTORIES = """\
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 2)

    def forward(self, x):
        return self.layer(x)

    @classmethod
    def of_four(cls):
        return cls(4)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Linear(4, 1)

    def get_value(self, x):
        return self.critic(x)


def net(width=4):
    return Net(width)


def total(x):
    return x.sum()


model = nn.Sequential(net(), nn.ReLU())

if __name__ == "__main__":

    class Script(nn.Module):
        pass
"""


def tvls(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tvls", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=500)


@pytest.mark.timeout(600)
def test_what_makes_a_module_is_one(tmp_path: Path, torch_python: str) -> None:  # R1, R9, R24
    (tmp_path / "nets.py").write_text(FACTORIES)
    chosen = ("--trust", "--python", torch_python, "--limit", "seconds=300")
    for name, given, operations in (
        ("model", "input=float32[3,4]", 2),
        ("Net.of_four", "x=float32[3,4]", 1),
        ("Agent.get_value", "x=float32[3,4]", 1),
    ):
        ran = tvls(tmp_path, "trace", f"nets.py:{name}", "--input", given, *chosen)
        assert ran.returncode == 0, ran.stderr
        assert f"nets:{name}  (torch.module)" in ran.stdout
        assert f"\n{operations} operation" in ran.stdout
    saved = tvls(tmp_path, "setup", "nets.py:net", "--set", "x=float32[2,4]")
    assert saved.returncode == 0, saved.stderr
    assert 'framework = "torch"' in (tmp_path / "tensorviz.toml").read_text()
    opened = tvls(tmp_path, "trace", "nets.py:net", *chosen)
    assert "f32[2,4]" in opened.stdout, opened.stderr

    without = tvls(tmp_path, "trace", "nets.py:Agent", "--input", "x=float32[3,4]", *chosen)
    assert "Agent has no forward, so nothing of it runs" in without.stderr
    assert "or name a method: Agent.get_value" in without.stderr
    plain = tvls(tmp_path, "trace", "nets.py:total", "--init", "x=float32[3]", *chosen)
    assert "name a module whose forward does" in plain.stderr


def test_a_name_that_an_import_does_not_give(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(FACTORIES)
    script = tvls(tmp_path, "trace", "nets.py:Script", "--input", "x=float32[3]")
    assert 'Script is defined under `if __name__ == "__main__"`, which an import does not run' in script.stderr
    imported = tvls(tmp_path, "trace", "nets.py:nn", "--input", "x=float32[3]")
    assert "nn is imported here, from torch." in imported.stderr
    nothing = tvls(tmp_path, "trace", "nets.py:Other", "--input", "x=float32[3]")
    assert "There is no 'Other' in nets.py." in nothing.stderr
    assert "Its models are: Net, Agent." in nothing.stderr


BLOCKS = """\
from torch import nn

from .sizes import OUT


class Tagger(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, OUT)

    def forward(self, x):
        return self.linear(x)
"""


@pytest.mark.timeout(600)
def test_a_file_of_a_package_is_opened_in_the_folder_around_it(tmp_path: Path, torch_python: str) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "__init__.py").touch()
    (parts / "blocks.py").write_text(BLOCKS)
    (parts / "sizes.py").write_text("OUT = 3\n")
    values = ["--init", "width=2", "--input", "x=float32[1,2]"]
    ran = tvls(parts, "trace", "blocks.py:Tagger", *values, "--trust", "--python", torch_python)
    assert ran.returncode == 0, ran.stderr
    assert "parts/blocks.py" in ran.stdout
    assert "result  f32[1,3]" in ran.stdout
