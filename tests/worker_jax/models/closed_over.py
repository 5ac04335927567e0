"""Functions that have NNX objects by name, and transformed functions that write to copies of theirs."""

import functools

import helpers_closed_over
import jax
import jax.numpy as jnp
from flax import nnx


class Calls(nnx.Variable):
    pass


class Meter(nnx.Module):
    """Counts its calls."""

    def __init__(self):
        self.n = Calls(jnp.zeros((), jnp.int32))

    def __call__(self, x):
        self.n[...] = self.n[...] + 1
        return x * self.n[...]


METER = Meter()
RNGS = nnx.Rngs(0)
LINEAR = nnx.Linear(3, 2, rngs=nnx.Rngs(1))
LIMIT = Calls(jnp.int32(2))
BEFORE = {name: nnx.split(globals()[name]) for name in ("METER", "RNGS", "LINEAR", "LIMIT")}


def metered(x):
    return METER(x)


def metered_by_value(x):
    """As every version of Flax writes to a variable."""
    METER.n.value = METER.n.value + 1
    return x * METER.n.value


def twice(METER, x):  # noqa: N803
    """Has an argument of the name of a global that it uses all the same."""
    return metered(x) + METER(x)


def make_meter():
    return {"METER": Meter(), "x": jnp.ones(3)}


def through_helpers(x):
    return helpers_closed_over.apply(_noisy, x)


def _noisy(x):
    return jax.vmap(LINEAR)(x + jax.random.normal(RNGS.params(), x.shape))


def unused(x):
    return jnp.sin(x)


def contents(x):
    """Looks at what a global holds: it stays a constant."""
    return x * 2 if int(LIMIT[...]) > 1 else x


def make_closure():
    meter = Meter()

    def call(x):
        return meter(x)

    return functools.partial(call)


@jax.jit
def inside_jit(x):
    """What JAX refuses: the transformation changes what it did not get."""
    return METER(x)


def assigns(x):
    global METER
    METER = Meter()
    return METER(x)


# --- models without arrays ---


def abstract_model():
    return nnx.eval_shape(lambda: nnx.Linear(3, 5, rngs=nnx.Rngs(0)))


def abstract_arguments():
    return {"args": (abstract_model(), jax.ShapeDtypeStruct((2, 3), jnp.float32)), "kwargs": {}}


def apply(model, x):
    return model(x)


# --- updates that are lost ---


class Net(nnx.Module):
    def __init__(self, *, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)

    def __call__(self, x):
        return self.norm(self.linear(x))


def make_net():
    return {"args": (Net(rngs=nnx.Rngs(0)), jnp.ones((4, 3))), "kwargs": {}}


def _step(model, x):
    grads = nnx.grad(lambda model: model(x).sum())(model)
    nnx.update(model, jax.tree.map(lambda w, g: w - 0.1 * g, nnx.state(model, nnx.Param), grads))
    return model(x).mean()


@jax.jit
def lost_step(model, x):
    return _step(model, x)


kept_step = nnx.jit(_step)


@jax.jit
def returned_step(model, x):
    loss = _step(model, x)
    return loss, model


@jax.jit
def state_step(model, x):
    loss = _step(model, x)
    return loss, nnx.state(model)


def nested(model, x):
    """The lost step among others, in a loop."""
    for _ in range(2):
        loss = lost_step({"net": model}["net"], x)
    return loss + kept_step(model, x)


def lost_in_grad(model, x):
    return jax.grad(lambda net: net(x).sum(), allow_int=True)(model)


def made_inside(x):
    @jax.jit
    def count(x):
        return Meter()(x)

    return count(x)


def through_nnx_jit(model, x):
    """Flax carries the update out of its own transformation, and JAX loses it."""
    return jax.jit(lambda model: kept_step(model, x))(model)
