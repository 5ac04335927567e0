"""A network of Penzai: named axes, and layers that are data."""

import jax
import jax.numpy as jnp
from penzai import pz
from penzai.models import simple_mlp


def apply(model, x):
    return model(pz.nx.wrap(x).tag("batch", "features")).untag("batch", "features").unwrap()


def inputs():
    model = simple_mlp.MLP.from_config(name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[8, 16, 16, 4])
    return {"model": model, "x": jnp.zeros((3, 8))}
