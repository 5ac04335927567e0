"""An NNX model for `probe.py`: it lives in the user's Python, not in the daemon's."""

import jax
from flax import nnx


class EncoderLayer(nnx.Module):
    def __init__(self, width: int, hidden: int, *, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
        self.first = nnx.Linear(width, hidden, rngs=rngs)
        self.second = nnx.Linear(hidden, width, rngs=rngs)
        self.norms = nnx.List([nnx.LayerNorm(width, rngs=rngs) for _ in range(2)])
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        y = self.norms[0](x)
        y = self.attention(y)
        y = self.dropout(y)
        x = x + y
        y = self.norms[1](x)
        y = self.first(y)
        y = jax.nn.gelu(y)
        y = self.second(y)
        y = self.dropout(y)
        return x + y


class Encoder(nnx.Module):
    def __init__(self, width: int = 64, hidden: int = 256, layers: int = 4, *, rngs: nnx.Rngs):
        self.layers = nnx.List([EncoderLayer(width, hidden, rngs=rngs) for _ in range(layers)])
        self.norm = nnx.LayerNorm(width, rngs=rngs)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)
