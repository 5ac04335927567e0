"""Modules that are opened by the tests beside this file."""

from __future__ import annotations

import dataclasses
from collections import namedtuple

import torch
import torch.nn.functional as F  # noqa: N812  (as everybody writes it)
from torch import nn


class Single(nn.Linear):
    """The root is a leaf (pytorch-summary#9)."""


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.5)

    def forward(self, x, scale=1.0):
        return x + self.drop(self.down(F.gelu(self.up(self.norm(x))))) * scale


class Configured(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.linear = nn.Linear(config.width, 2)

    def forward(self, x):
        return self.linear(x)


class Tower(nn.Module):
    def __init__(self, width: int = 8, depth: int = 2) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.shared = nn.Linear(width, width)
        self.register_buffer("offset", torch.ones(width))

    def forward(self, x):
        for block in self.blocks:
            x = block(x, scale=0.5)
        return self.shared(self.shared(x)) + self.offset


class Tied(nn.Module):
    """One weight of two names (torchinfo#377)."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.embedding(ids))


class Keywords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, *, x):
        return self.linear(input=x)


class ByShape(nn.Module):
    """Control flow on shapes, of the input and of a parameter (pytorch#54602, pytorch#61733)."""

    def __init__(self, rows: int = 2) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(rows, 3))

    def forward(self, x):
        y = x @ self.weight if self.weight.shape[0] < 4 else x
        return torch.relu(y) if x.shape[0] > 1 else y


class ByValue(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


class OtherMemory(nn.Module):
    """An array that is written, and then given other memory behind PyTorch's back."""

    def forward(self, x):
        x.mul_(2)
        x.data = torch.zeros(1)
        return x + 1


class InPlace(nn.Module):
    """Views and what is written through them."""

    def forward(self, x):
        base = x * 2
        row = base[0]
        row.add_(1)  # base is another now
        after = base + 0
        base.data.mul_(3)  # without the version counter knowing
        third = row + 0
        out = torch.empty_like(x)
        torch.neg(base, out=out)
        out[1] = third
        return after, third, out


Pair = namedtuple("Pair", "left right")


@dataclasses.dataclass
class Answer:
    logits: torch.Tensor
    extra: object = None


class Structures(nn.Module):
    def forward(self, batch, flag=None):
        x, y = batch["pair"]
        return {"pair": Pair(x, [y, None]), "answer": Answer(x + y, "text"), 1: (x if flag else y,)}


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LazyLinear(5)
        self.norm = nn.LazyBatchNorm1d()

    def forward(self, x):
        return self.norm(self.layer(x))


class OnTheFly(nn.Module):
    """A module that no attribute holds."""

    def forward(self, x):
        return nn.Identity()(nn.ReLU()(x))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, num_layers=2, batch_first=True)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return out[:, -1], h, c


class Modes(nn.Module):
    """Batch statistics and dropout: evaluation mode, and gradients off."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.9)

    def forward(self, x):
        assert not self.training
        assert not self.norm.training
        assert not torch.is_grad_enabled()
        return self.drop(self.norm(x))


class Mapped(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda row: row.sin() * 2)(x)


class Wrong(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        hidden = self.first(x)
        return self.second(hidden)


class Huge(nn.Module):
    """Two hundred gigabytes of parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(50_000, 50_000, bias=False) for _ in range(20)])

    def forward(self, x):
        return self.layers(x)


class HugeByValue(Huge):
    def forward(self, x):
        return x if self.layers(x).sum() > 0 else -x


class Heavy(nn.Module):
    """Forty megabytes of parameters, from a constructor that reads values where it is told to."""

    def __init__(self, reads: bool) -> None:
        super().__init__()
        self.rates = [rate.item() for rate in torch.linspace(0, 1, 3)] if reads else [0.0, 0.5, 1.0]
        self.layer = nn.Linear(10_000, 1_000, bias=False)

    def forward(self, x):
        return self.layer(x) * self.rates[1]


class Manifold(nn.Module):
    """160 megabytes in pieces of ten."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(1_600, 1_600, bias=False) for _ in range(16)])

    def forward(self, x):
        return self.layers(x)


class Many(nn.Module):
    def forward(self, x):
        for _ in range(500):
            x = x + 1
        return x


def make(width: int = 4):
    return nn.Sequential(nn.Linear(width, width), nn.ReLU())


instance = make(3)


def compiled(width: int = 4):
    return torch.compile(make(width))


def scripted(width: int = 4):
    return torch.jit.script(make(width))


def quantised(width: int = 4):
    return torch.ao.quantization.quantize_dynamic(make(width), {nn.Linear}, dtype=torch.qint8)


def parallel(width: int = 4):
    return nn.DataParallel(make(width))


def within_itself():
    made = make()
    made.append(nn.ModuleDict({"around": made}))
    return made


def number():
    return 3


class Asynchronous(nn.Module):
    async def forward(self, x):
        return x + 1


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        for _ in range(2):
            x = self.layer(x)
            yield x
