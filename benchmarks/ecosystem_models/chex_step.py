"""A dataclass of Chex as state, with its static and its checked assertions."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass(frozen=True)
class Trace:
    mean: chex.Array
    square: chex.Array
    count: chex.Array


@jax.jit
def update(trace: Trace, batch):
    chex.assert_rank(batch, 2)
    chex.assert_equal_shape([trace.mean, batch[0]])
    count = trace.count + batch.shape[0]
    delta = batch - trace.mean
    mean = trace.mean + delta.sum(0) / count
    return trace.replace(mean=mean, square=trace.square + (delta * (batch - mean)).sum(0), count=count)


def inputs():
    trace = Trace(mean=jnp.zeros(4), square=jnp.zeros(4), count=jnp.zeros((), jnp.int32))
    return {"trace": trace, "batch": jnp.zeros((8, 4))}
