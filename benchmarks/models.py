"""Models that the benchmarks trace: they live in the user's Python, not in the daemon's.

`python benchmarks/models.py` is not meant to be run; `speed.py` copies this file into a workspace.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp


class MLP(nn.Module):
    width: int = 128

    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.relu(nn.Dense(self.width)(x))
        return nn.Dense(10)(x)


class Attention(nn.Module):
    heads: int
    head_dim: int

    @nn.compact
    def __call__(self, x, positions):
        features = x.shape[-1]
        q, k, v = (
            nn.DenseGeneral((self.heads, self.head_dim), use_bias=False, name=name)(x) for name in ("q", "k", "v")
        )
        q, k = rotate(q, positions), rotate(k, positions)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(self.head_dim).astype(x.dtype)
        causal = positions[:, None, :, None] >= positions[:, None, None, :]
        weights = jax.nn.softmax(jnp.where(causal, scores, -1e30), axis=-1)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
        return nn.DenseGeneral(features, axis=(-2, -1), use_bias=False, name="o")(mixed)


def rotate(x, positions):
    half = x.shape[-1] // 2
    frequencies = 1.0 / (10000.0 ** (jnp.arange(half) / half))
    angles = positions[..., None, None] * frequencies
    sin, cos = jnp.sin(angles), jnp.cos(angles)
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


class Block(nn.Module):
    heads: int
    head_dim: int
    hidden: int

    @nn.compact
    def __call__(self, x, positions):
        x = x + Attention(self.heads, self.head_dim)(nn.RMSNorm()(x), positions)
        y = nn.RMSNorm()(x)
        gate = nn.Dense(self.hidden, use_bias=False, name="gate")(y)
        up = nn.Dense(self.hidden, use_bias=False, name="up")(y)
        return x + nn.Dense(x.shape[-1], use_bias=False, name="down")(nn.silu(gate) * up)


class Llama(nn.Module):
    """Llama-2-7B by its shapes: 32 layers, 4,096 wide, 32,000 tokens, 6.7 billion parameters."""

    layers: int = 32
    width: int = 4096
    heads: int = 32
    hidden: int = 11008
    vocabulary: int = 32000

    @nn.compact
    def __call__(self, tokens):
        positions = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
        x = nn.Embed(self.vocabulary, self.width)(tokens)
        for _ in range(self.layers):
            x = Block(self.heads, self.width // self.heads, self.hidden)(x, positions)
        return nn.Dense(self.vocabulary, use_bias=False, name="head")(nn.RMSNorm()(x))
