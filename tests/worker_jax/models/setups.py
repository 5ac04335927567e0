"""Targets that are made by others, transformed functions, and factories of every form."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax import nnx


class Net(nn.Module):
    width: int
    scale: float = 1.0

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.width)(x) * self.scale


class Other(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x


Small = functools.partial(Net, 4)
Smaller = functools.partial(Small, scale=0.5)


def bound_net():
    model = Net(5)
    return model.bind(model.init(jax.random.key(0), jnp.ones((2, 3))))


def other_net():
    return Other()


class Block(nnx.Module):
    def __init__(self, width, out=2, *, rngs):
        self.linear = nnx.Linear(width, out, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.drop(self.linear(x))


class Sub(Block):
    pass


Narrow = functools.partial(Block, 3)
Seeded = functools.partial(Block, 3, rngs=nnx.Rngs(0))


class Registry:
    small = functools.partial(Net, 4)


def block(mode):
    model = Block(3, rngs=nnx.Rngs(0))
    if mode is not None:
        getattr(model, mode)()
    return model


# --- makers ---


def make_linen(width=2):
    return Net(width)


def make_pair(x):
    return {"model": Net(x.shape[-1]), "name": "net"}


def make_bound():
    return bound_net()


def make_nnx(rngs=None):
    return nnx.Linear(3, 2, rngs=rngs or nnx.Rngs(0))


def make_from_key(key):
    return nnx.Linear(3, 2, rngs=nnx.Rngs(key))


def make_function(factor=2.0):
    return lambda x: x * factor


def make_partial(factor=2.0):
    return jax.tree_util.Partial(jnp.multiply, factor)


def make_class():
    return Net


# --- and what makes nothing ---


def initialise(key, x):
    model = Net(2)
    return model, model.init(key, x)


def averaged(one, other):
    graphdef, state = nnx.split(one)
    mean = jax.tree.map(lambda a, b: (a + b) / 2, nnx.state(one, nnx.Param), nnx.state(other, nnx.Param))
    return nnx.merge(graphdef, nnx.merge_state(state, mean) if hasattr(nnx, "merge_state") else state)


def same(one):
    return one


def two_models():
    return {"one": nnx.Linear(3, 2, rngs=nnx.Rngs(0)), "other": nnx.Linear(3, 2, rngs=nnx.Rngs(1))}


def linearised(x):
    return jax.linearize(jnp.sin, x)[1]


def nothing():
    return {"a": 1}


# --- transformed ---


@functools.partial(jax.vmap, in_axes=(None, 0))
def dense(w, x):
    return x @ w


def loss(w, x, scale=1.0):
    return jnp.sum(x @ w) * scale


gradient = jax.grad(loss)
both = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
held = functools.partial(jax.vmap(loss, in_axes=(None, 0)), jnp.ones((3,)))
jitted = jax.jit(loss, static_argnames="scale")


def keyword_wrapper(function):
    @functools.wraps(function)
    def wrapper(*, w, x):
        return function(w, x)

    return wrapper


def key_wrapper(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(jnp.ones((3, 4)), x)

    return wrapper


named = keyword_wrapper(loss)
without_first = key_wrapper(loss)


class Holder:
    @functools.partial(jax.vmap, in_axes=(None, None, 0))
    def method(self, w, x):
        return x @ w


def holder_method():
    return Holder().method


def arrays(**shapes):
    return {name: np.ones(shape, np.float32) for name, shape in shapes.items()}


# --- inputs ---


def of_args(args, key):
    return args["x"] + key


def returns(form):
    x = np.ones((2,), np.float32)
    return {
        "tuple": (x, x),
        "list": [x, x],
        "array": x,
        "none": None,
        "number": {"args": 5},
        "array args": {"args": x},
        "string": {"args": "xy"},
        "kwargs": {"args": (x,), "kwargs": [x]},
        "names": {"args": (x,), "kwargs": {1: x}},
        "junk": {"args": (x, x), "junk": 1},
        "junk kwargs": {"kwargs": {"args": x}, "key": x},
        "own": {"args": {"x": x}, "key": x},
        "call": {"args": ({"x": x},), "kwargs": {"key": x}},
        "only kwargs": {"kwargs": {"args": {"x": x}, "key": x}},
    }[form]


def bare(x, y):
    return x + y


@jax.jit
def plain_jit(x, mode):
    return x if mode else -x


def reshaped(x, shape):
    return jnp.reshape(x, shape)


def make_maker():
    return make_linen


def one_model():
    return {"one": nnx.Linear(3, 2, rngs=nnx.Rngs(0))}


def total(xs, n):
    return jax.lax.scan(lambda c, x: (c + x, x), n, xs)


def sine(x):
    return jnp.sin(x)


def scaled(x, config):
    return x * config.scale
