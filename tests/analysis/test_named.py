"""What somebody names that discovery takes for no model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvls.analysis.client import Analysis

FILES = {
    "blocks.py": """\
from torch import nn


class Block(nn.Module):
    def forward(self, x, mask=None):
        return x
""",
    "nets.py": """\
import timm
import torch
import torchvision.models as models
from flax import linen
from torch import nn

from blocks import Block


class Net(nn.Module):
    def __init__(self, block, width=8):
        super().__init__()

    def forward(self, x, scale=1.0):
        return x

    def features(self, x):
        return x

    @classmethod
    def small(cls, depth=2):
        return cls(Block, depth)

    @staticmethod
    def tiny(depth):
        return Net(Block, depth)


class Mlp(linen.Module):
    width: int

    def encode(self, x):
        return x


def _net(block, width):
    return Net(block, width)


def net(width=4):
    return _net(Block, width)


def either(deep):
    return Net(Block) if deep else Block()


def backbone(pretrained=False):
    return models.resnet18(weights=None)


def created():
    return timm.create_model("resnet18")


def again(n):
    return again(n - 1)


model = net()
encoder = nn.Sequential(nn.Linear(4, 4))
weights = torch.ones(3)
""",
}


@pytest.mark.parametrize(
    ("name", "kind", "init", "call"),
    [
        ("net", "torch.module", ["width"], ["x", "scale"]),
        ("either", "torch.module", ["deep"], ["args", "kwargs"]),
        ("backbone", "torch.module", ["pretrained"], ["args", "kwargs"]),
        ("created", "torch.module", [], ["args", "kwargs"]),
        ("model", "torch.module", [], ["x", "scale"]),
        ("encoder", "torch.module", [], ["args", "kwargs"]),
        ("Net.features", "torch.module", ["block", "width"], ["x"]),
        ("Net.small", "torch.module", ["depth"], ["x", "scale"]),
        ("Net.tiny", "torch.module", ["depth"], ["x", "scale"]),
        ("Mlp.encode", "flax.linen", ["width"], ["x"]),
        ("again", "jax.function", [], ["n"]),
        ("weights", None, [], []),
        ("Net.missing", None, [], []),
    ],
)
async def test_what_makes_a_module_or_is_a_method_of_one(
    analysis: Analysis, tmp_path: Path, name: str, kind: str | None, init: list[str], call: list[str]
) -> None:  # R1, R24
    for path, text in FILES.items():
        (tmp_path / path).write_text(text)
    found = (await analysis.named(tmp_path / "nets.py", name, None, [tmp_path])).target
    if kind is None:
        assert found is None
        return
    assert found is not None
    assert (found.name, found.kind, found.discovered) == (name, kind, False)
    assert [p.name for p in found.init_parameters] == init
    assert [p.name for p in found.parameters] == call
