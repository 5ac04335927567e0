"""A plain function: opens with the profile `jax_example`, or with an input given on the command line."""

import jax
import jax.numpy as jnp


@jax.jit
def net(x):
    return jax.nn.relu(x @ jnp.ones((3, 4)))
