"""Models as people write them in one file: a small GPT, a U-Net, a recurrent classifier, a pair of a GAN."""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (t.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))


class GPTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = CausalSelfAttention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary: int = 1024, length: int = 64, width: int = 128, heads: int = 4, layers: int = 6):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(GPTBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for name, parameter in self.named_parameters():
            if name.endswith("out.weight"):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers))

    def forward(self, ids, targets=None):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        if targets is None:
            return self.head(x[:, [-1], :]), None
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def _double(inner: int, outer: int) -> nn.Sequential:
    layers = [nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Conv2d(outer, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, channels: int = 3, classes: int = 2, width: int = 16) -> None:
        super().__init__()
        widths = [width * 2**at for at in range(4)]
        self.first = _double(channels, width)
        self.down = nn.ModuleList(_double(a, b) for a, b in itertools.pairwise(widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in itertools.pairwise(widths))
        self.merge = nn.ModuleList(_double(2 * a, a) for a in widths[:-1])
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        kept = [self.first(x)]
        for down in self.down:
            kept.append(down(F.max_pool2d(kept[-1], 2)))
        x = kept.pop()
        for up, merge in zip(reversed(self.up), reversed(self.merge), strict=True):
            x = merge(torch.cat([kept.pop(), up(x)], dim=1))
        return self.out(x)


class LSTMTagger(nn.Module):
    def __init__(self, vocabulary: int = 1000, width: int = 64, tags: int = 10) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.out = nn.Linear(2 * width, tags)

    def forward(self, ids, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
        out, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return F.log_softmax(self.out(out), dim=-1)


class Generator(nn.Module):
    def __init__(self, latent: int = 100, width: int = 32) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.ConvTranspose2d(latent, 8 * width, 4, 1, 0, bias=False)]
        for at in (8, 4, 2):
            layers += [nn.BatchNorm2d(at * width), nn.ReLU(True)]
            layers += [nn.ConvTranspose2d(at * width, at // 2 * width, 4, 2, 1, bias=False)]
        self.main = nn.Sequential(
            *layers, nn.BatchNorm2d(width), nn.ReLU(True), nn.Conv2d(width, 3, 3, 1, 1), nn.Tanh()
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, True)]
        for at in (1, 2, 4):
            layers += [nn.utils.parametrizations.spectral_norm(nn.Conv2d(at * width, 2 * at * width, 4, 2, 1))]
            layers += [nn.LeakyReLU(0.2, True)]
        self.main = nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(1))

    def forward(self, x):
        return self.main(x).squeeze(1)


class GAN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator, self.discriminator = Generator(), Discriminator()

    def forward(self, z):
        made = self.generator(z)
        return made, self.discriminator(made)
