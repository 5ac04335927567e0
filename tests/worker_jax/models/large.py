"""Programs of many operations."""

import jax.numpy as jnp


def chain(x, length):
    for _ in range(length):
        x = jnp.sin(x) * 2.0
    return x
