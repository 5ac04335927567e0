"""Models that take a configuration: set up by the fields of its class, and traced with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

FILES = {
    "pyproject.toml": "",
    "settings.py": """\
from dataclasses import dataclass, field
from enum import Enum


class Activation(Enum):
    GELU = "gelu"
    RELU = "relu"


@dataclass(frozen=True)
class Attention:
    n_head: int = 4
    bias: bool = True


@dataclass
class GPTConfig:
    vocab_size: int
    n_layer: int = 12
    n_embd: int = 32
    activation: Activation = Activation.GELU
    attention: Attention = field(default_factory=lambda: Attention(n_head=2))
    größe: int = 1
""",
    "gpt.py": """\
import torch
from torch import nn
from settings import Activation, GPTConfig


class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.attention.bias)
        self.out = nn.Linear(3 * config.n_embd // config.attention.n_head, config.n_embd)
        self.activation = nn.GELU() if config.activation is Activation.GELU else nn.ReLU()

    def forward(self, x):
        return self.activation(x + self.out(self.qkv(x)[..., : self.out.in_features]))


class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])

    def forward(self, idx):
        x = self.wte(idx)
        for block in self.h:
            x = block(x)
        return x
""",
    "net.py": """\
import jax.numpy as jnp
from flax import linen as nn
from settings import Activation, GPTConfig


class Net(nn.Module):
    config: GPTConfig

    @nn.compact
    def __call__(self, x):
        for _ in range(self.config.n_layer):
            x = nn.Dense(self.config.n_embd)(x)
            x = nn.gelu(x) if self.config.activation is Activation.GELU else jnp.maximum(x, 0)
        return x
""",
}


def run(folder: Path, *arguments: str, code: int = 0) -> str:
    env = os.environ | {
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / ".state"),
        "XDG_CACHE_HOME": str(folder / ".cache"),
    }
    command = [sys.executable, "-m", "tvls", *arguments]
    ran = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=170
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout if code == 0 else ran.stderr


def write(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text)


def config_of(folder: Path, name: str) -> dict[str, Any]:
    return tomllib.loads((folder / "tensorviz.toml").read_text())["profiles"][name]["init"]["kwargs"]["config"]


def test_a_pytorch_model_with_a_dataclass(tmp_path: Path, torch_python: str) -> None:  # R9, R10
    write(tmp_path)
    asked = run(tmp_path, "setup", "gpt.py:GPT", "--set", "idx=int64[2,8]", code=3)
    assert "init.kwargs.config.fields.vocab_size" in asked
    assert "State them: --set config.vocab_size=VALUE" in asked
    for wrong, says in (
        ("config.n_heads=2", "there is no field 'n_heads' in GPTConfig"),
        ("config.nlayer=2", "there is no field 'nlayer' in GPTConfig; did you mean 'n_layer'?"),
        ("config.attention.n_hed=2", "there is no field 'n_hed' in Attention; did you mean 'n_head'?"),
        ("vocab_size=2", "did you mean config.vocab_size?"),
        ("config.activation=SILU", "this is one of GELU, RELU, not 'SILU'"),
        ("config.attention.n_head=two", "this is a whole number, not 'two'"),
    ):
        assert says in run(tmp_path, "setup", "gpt.py:GPT", "--set", wrong, code=2)
    values = (
        "config.vocab_size=64",
        "config.n_layer=3",
        "config.activation=RELU",
        "config.attention.bias=false",
        "config.größe=2",
    )
    run(tmp_path, "setup", "gpt.py:GPT", "--set", "idx=int64[2,8]", *(part for v in values for part in ("--set", v)))
    assert config_of(tmp_path, "gpt") == {
        "kind": "object",
        "class": "settings:GPTConfig",
        "fields": {
            "vocab_size": 64,
            "n_layer": 3,
            "activation": {"kind": "enum", "class": "settings:Activation", "member": "RELU"},
            "attention": {"kind": "object", "class": "settings:Attention", "fields": {"n_head": 2, "bias": False}},
            "größe": 2,
        },
    }
    graph = json.loads(run(tmp_path, "trace", "gpt.py:GPT", "--python", torch_python, "--trust", "--json"))
    text = json.dumps(graph)
    assert "h.2.qkv" in text
    assert "h.3" not in text
    assert "relu" in text
    assert "gelu" not in text
    assert "qkv.bias" not in text


def test_a_flax_model_with_the_same_dataclass(tmp_path: Path, models_python: str) -> None:  # R9, R10
    write(tmp_path)
    values = ("x=float32[2,32]", "config.vocab_size=1", "config.n_layer=2", "config.activation=RELU")
    run(tmp_path, "setup", "net.py:Net", *(part for v in values for part in ("--set", v)))
    text = run(tmp_path, "trace", "net.py:Net", "--python", models_python, "--trust")
    assert "Dense_1/kernel" in text
    assert "Dense_2" not in text
    assert "max  " in text
    given = ("config.vocab_size=1", "config.n_layer=1", "config.activation=Activation.RELU")
    options = (*(part for v in given for part in ("--init", v)), "--input", "x=float32[2,32]")
    text = run(tmp_path, "trace", "net.py:Net", *options, "--python", models_python, "--trust")
    assert "max  " in text
    assert "Dense_1" not in text
    setup = tmp_path / "tensorviz.toml"
    setup.write_text(setup.read_text().replace("n_layer = 2", "n_layers = 2"))
    said = run(tmp_path, "trace", "net.py:Net", "--python", models_python, "--trust", code=3)
    assert "GPTConfig has no field 'n_layers'; did you mean 'n_layer'?" in said
