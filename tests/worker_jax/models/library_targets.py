"""Equinox classes and Haiku programs, as they are opened by name."""

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp


class Tower(eqx.Module):
    layers: list
    dropout: eqx.nn.Dropout
    scale: float = eqx.field(static=True, default=2.0)

    def __init__(self, width: int, depth: int = 2, *, key):
        keys = jax.random.split(key, depth)
        self.layers = [eqx.nn.Linear(width, width, key=k) for k in keys]
        self.dropout = eqx.nn.Dropout(0.5)

    def __call__(self, x):
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
        return self.dropout(x) * self.scale

    def energy(self, x):
        return jnp.sum(self(x) ** 2)


class Plain(eqx.Module):
    weight: jax.Array
    power: int = 2

    def __call__(self, x):
        return self.weight * x**self.power


class Looking(eqx.Module):
    weight: jax.Array

    def __init__(self, size):
        self.weight = jnp.arange(size) if float(jnp.ones(()).sum()) > 0 else None

    def __call__(self, x):
        return self.weight + x


def make_plain(power):
    return Plain(jnp.ones(3), power)


def network(x, is_training=True):
    x = hk.nets.MLP([5, 4])(x)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training)
    return hk.dropout(hk.next_rng_key(), 0.5, x) if is_training is True else x


stateful = hk.transform_with_state(network)
plain = hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(3)(x)))
silent = hk.without_apply_rng(hk.transform(lambda x, *, scale: hk.Linear(3)(x) * scale))


@hk.without_apply_rng
@hk.transform_with_state
def decorated(x):
    return hk.BatchNorm(True, True, 0.9)(x, True)


def make_program():
    return plain
