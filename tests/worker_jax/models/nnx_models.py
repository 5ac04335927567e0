"""NNX modules in the forms that people write."""

import functools
import inspect

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class MLP(nnx.Module):
    def __init__(self, din: int, width: int, *, rngs: nnx.Rngs):
        self.first = nnx.Linear(din, width, rngs=rngs)
        self.norm = nnx.BatchNorm(width, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.second = nnx.Linear(width, 2, rngs=rngs)

    def __call__(self, x):
        return self.second(self.drop(nnx.relu(self.norm(self.first(x)))))

    def embed(self, x):
        return self.first(x)


class Counter(nnx.Module):
    """Writes state in every call."""

    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.tied = self.linear
        self.calls = nnx.Variable(jnp.zeros((), jnp.int32))

    @nnx.jit
    def __call__(self, x):
        self.calls.value = self.calls.value + 1
        return self.tied(self.linear(x))


class Looking(nnx.Module):
    """A constructor that looks at values, which an abstract initialisation does not have."""

    def __init__(self, rngs: nnx.Rngs):
        scale = jax.random.uniform(rngs.params())
        self.scale = nnx.Param(jnp.full((3,), float(scale)))

    def __call__(self, x):
        return x * self.scale.value


def make_counter():
    return Counter(nnx.Rngs(3))


def make_method():
    return MLP(3, 4, rngs=nnx.Rngs(0)).embed


def make_partial():
    return functools.partial(apply_model, MLP(3, 4, rngs=nnx.Rngs(0)))


def apply_model(model, x):
    return model(x)


def train_step(model, optimizer, x):
    def loss(model):
        return jnp.mean(model(x) ** 2)

    value, grads = nnx.value_and_grad(loss)(model)
    if "model" in inspect.signature(optimizer.update).parameters:
        optimizer.update(model, grads)
    else:  # before Flax 0.11
        optimizer.update(grads)
    return value


def make_train_inputs():
    model = MLP(3, 4, rngs=nnx.Rngs(0))
    return {"args": (model, nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param), jnp.ones((2, 3))), "kwargs": {}}
