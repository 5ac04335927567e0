"""A transformer block of Equinox modules, over a batch, with its gradient."""

import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    mlp: eqx.nn.MLP
    norms: list[eqx.nn.LayerNorm]

    def __init__(self, width: int, *, key: jax.Array):
        first, second = jax.random.split(key)
        self.attention = eqx.nn.MultiheadAttention(4, width, key=first)
        self.mlp = eqx.nn.MLP(width, width, 4 * width, 1, activation=jax.nn.gelu, key=second)
        self.norms = [eqx.nn.LayerNorm(width) for _ in range(2)]

    def __call__(self, x):
        y = jax.vmap(self.norms[0])(x)
        x = x + self.attention(y, y, y)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norms[1])(x))


def loss(model, batch):
    return jnp.mean(jax.vmap(model)(batch) ** 2)


@eqx.filter_jit
def gradient(model, batch):
    return eqx.filter_value_and_grad(loss)(model, batch)


def inputs():
    return {"model": Block(16, key=jax.random.key(0)), "batch": jnp.zeros((3, 6, 16))}
