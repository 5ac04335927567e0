"""Open the lenses above `net` and `MLP`."""

import jax
import jax.numpy as jnp
from flax import linen as nn


@jax.jit
def net(x, weights):
    hidden = jax.nn.relu(x @ weights)
    return hidden / jnp.linalg.norm(hidden, axis=-1, keepdims=True)


class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        hidden = nn.gelu(nn.Dense(4 * self.width)(nn.LayerNorm()(x)))
        return x + nn.Dense(self.width)(hidden)


class MLP(nn.Module):
    width: int = 32
    depth: int = 3
    classes: int = 10

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        for _ in range(self.depth):
            x = Block(self.width)(x)
        return nn.Dense(self.classes)(x)
