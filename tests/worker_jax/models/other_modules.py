"""Equinox and Haiku models: modules that are PyTrees, and modules that are names."""

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.LayerNorm

    def __init__(self, key):
        self.linear = eqx.nn.Linear(6, 6, key=key)
        self.norm = eqx.nn.LayerNorm(6)

    def __call__(self, x):
        return jax.nn.relu(self.linear(self.norm(x)))


class Net(eqx.Module):
    blocks: list
    head: eqx.nn.Linear

    def __init__(self, key):
        self.blocks = [Block(key), Block(key)]
        self.head = eqx.nn.Linear(6, 2, key=key)

    @eqx.filter_jit
    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return self.pool(self.head(x))

    def pool(self, x):
        return x.sum()


def equinox_step(model, x):
    return eqx.filter_value_and_grad(lambda model: jnp.mean(jax.vmap(model)(x)))(model)


def equinox_inputs():
    return {"args": (Net(jax.random.key(0)), jnp.ones((4, 6))), "kwargs": {}}


def net():
    return Net(jax.random.key(0))


def anything(x):
    raise AssertionError("the init factory takes its place")


class Own(hk.Module):
    def __call__(self, x):
        return hk.Linear(3)(x) + self.other(x)

    def other(self, x):
        return hk.Linear(3, name="inside")(x)


transformed = hk.without_apply_rng(hk.transform(lambda x: Own()(hk.nets.MLP([5, 6])(x))))


def haiku_apply(params, x):
    return transformed.apply(params, x)


def haiku_inputs():
    x = jnp.ones((2, 6))
    return {"args": (jax.eval_shape(transformed.init, jax.random.key(0), x), x), "kwargs": {}}
