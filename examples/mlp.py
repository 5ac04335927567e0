"""A Flax Linen and a Flax NNX module of the same shape."""

from flax import linen as nn
from flax import nnx


class MLP(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(nn.relu(nn.Dense(self.width)(x)))


class NnxMLP(nnx.Module):
    def __init__(self, features: int, width: int = 8, *, rngs: nnx.Rngs):
        self.hidden = nnx.Linear(features, width, rngs=rngs)
        self.out = nnx.Linear(width, 4, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.hidden(x)))
