"""A training step: loss, gradient, and the update of an optimiser with a schedule and clipping."""

import jax
import jax.numpy as jnp
import optax

optimizer = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)),
)


def loss(params, x, labels):
    hidden = jnp.tanh(x @ params["hidden"]["kernel"] + params["hidden"]["bias"])
    logits = hidden @ params["out"]["kernel"] + params["out"]["bias"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@jax.jit
def train_step(params, state, x, labels):
    value, gradient = jax.value_and_grad(loss)(params, x, labels)
    updates, state = optimizer.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, value


def inputs():
    sizes = {"hidden": (12, 8), "out": (8, 4)}
    params = {name: {"kernel": jnp.zeros(size), "bias": jnp.zeros(size[1])} for name, size in sizes.items()}
    x, labels = jnp.zeros((16, 12)), jnp.zeros(16, jnp.int32)
    return {"params": params, "state": optimizer.init(params), "x": x, "labels": labels}
