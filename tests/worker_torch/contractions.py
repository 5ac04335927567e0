"""Modules whose work is known to PyTorch's own counter. Run as a program, it prints what that counts for each."""

from __future__ import annotations

import json

import torch
import torch.nn.functional as F  # noqa: N812  (as everybody writes it)
from torch import nn


class Products(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 4)
        self.bilinear = nn.Parameter(torch.ones(5, 4, 3))

    def forward(self, x):
        y = self.linear(x)  # [5, 7, 4]
        z = torch.bmm(y, self.bilinear)
        z = z @ z.transpose(-1, -2)
        return torch.einsum("bij,bjk->bik", z, y) + torch.baddbmm(y, y, self.bilinear @ torch.ones(3, 4))


class Convolutions(nn.Module):
    """Without padding, which PyTorch's counter takes for work."""

    def __init__(self) -> None:
        super().__init__()
        self.strided = nn.Conv2d(4, 8, 3, stride=2, groups=2)
        self.dilated = nn.Conv2d(8, 6, (2, 1), dilation=(2, 1))
        self.up = nn.ConvTranspose2d(6, 4, 3, stride=2, groups=2, output_padding=1)
        self.line = nn.Conv1d(4, 2, 5, padding="valid")

    def forward(self, x):
        x = self.up(self.dilated(self.strided(x)))
        return self.line(x.flatten(2))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        heads = x.unflatten(-1, (2, 4)).transpose(1, 2)
        own = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        return self.layer(x) + self.attention(x, x, x)[0] + own.transpose(1, 2).flatten(2)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 6)
        self.gru = nn.GRU(6, 5, batch_first=True)

    def forward(self, x):
        h, _ = self.cell(x)
        return self.gru(h[None])[0]


INPUTS = {"Products": (5, 7, 6), "Convolutions": (2, 4, 13, 11), "Attention": (3, 5, 8), "Recurrent": (3, 4)}


def main() -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    torch.backends.mha.set_fastpath_enabled(False)  # the counter does not know the operators that it is made of
    counted: dict[str, int] = {}
    for name, shape in INPUTS.items():
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            globals()[name]().eval()(torch.ones(shape))
        counted[name] = counter.get_total_flops()
    print(json.dumps(counted))


if __name__ == "__main__":
    main()
