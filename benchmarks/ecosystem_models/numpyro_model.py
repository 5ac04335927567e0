"""The potential energy of a hierarchical model, as a sampler sees it, and its gradient."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer.util import log_density


def model(groups, y):
    centre = numpyro.sample("centre", dist.Normal(0.0, 5.0))
    spread = numpyro.sample("spread", dist.HalfCauchy(5.0))
    with numpyro.plate("groups", 8):
        effect = numpyro.sample("effect", dist.Normal(centre, spread))
    with numpyro.plate("data", y.shape[0]):
        numpyro.sample("y", dist.Normal(effect[groups], 1.0), obs=y)


def gradient(params, groups, y):
    return jax.value_and_grad(lambda params: log_density(model, (groups, y), {}, params)[0])(params)


def inputs():
    params = {"centre": jnp.zeros(()), "spread": jnp.ones(()), "effect": jnp.zeros(8)}
    return {"params": params, "groups": jnp.zeros(20, jnp.int32), "y": jnp.zeros(20)}
