import flax.linen as nn
import jax.numpy as jnp


class Broken(nn.Module):
    @nn.compact
    def __call__(self, x):
        hidden = nn.Dense(8)(x)
        return jnp.dot(hidden, jnp.ones((9, 4)))
