"""Containers that people pass to models and get from them."""

import collections
import dataclasses
import enum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx, struct
from flax.core import FrozenDict


@struct.dataclass
class State:
    step: Any
    params: Any
    name: str = struct.field(pytree_node=False, default="secret")


class Point(NamedTuple):
    y: Any
    x: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Config:
    scale: Any
    size: int = dataclasses.field(metadata={"static": True}, default=3)


@dataclasses.dataclass
class Table:
    """A container whose constructor looks at its fields, registered without names."""

    keys: Any
    rows: Any

    def __post_init__(self):
        if np.shape(self.rows)[0] != np.size(self.keys):
            raise ValueError("as many rows as keys")


jax.tree_util.register_pytree_node(Table, lambda t: ((t.keys, t.rows), None), lambda _, c: Table(*c))


@jax.tree_util.register_pytree_with_keys_class
class Layer:
    """In the manner of Equinox: arrays are children by attribute, functions are static."""

    def __init__(self, weight, activation):
        if weight.ndim != 2:
            raise ValueError("weights are matrices")
        self.weight, self.activation = weight, activation

    def tree_flatten_with_keys(self):
        return [(jax.tree_util.GetAttrKey("weight"), self.weight)], self.activation

    @classmethod
    def tree_unflatten(cls, activation, children):
        return cls(children[0], activation)

    def __call__(self, x):
        return self.activation(x @ self.weight)


class Mode(enum.Enum):
    FAST = 1


def everything(state, point, frozen, config, table, layer, maps, keyed, nothing, ordered):
    y = layer(table.rows) * config.scale + state.params["w"]
    return Point(y=y, x={"next": state.replace(step=state.step + 1)}), table, (frozen["a"], [], None, {})


def make_everything():
    ones = np.ones((3, 3), np.float32)
    return {
        "args": (
            State(np.int32(1), {"w": ones}),
            Point(y=ones, x=None),
            FrozenDict({"a": {"b": ones}}),
            Config(ones),
            Table(np.arange(3, dtype=np.int32), ones),
            Layer(ones, jnp.tanh),
            collections.OrderedDict(b=ones, a=None),
            {1: ones, 2: {(0, "k"): ones}},
            None,
            collections.deque([ones, 2.5]),
        ),
        "kwargs": {},
    }


def keys_that_are_no_strings(tree):
    return {0: tree[1], (1, 2): tree[2]["a"]}


def make_keys():
    return {"tree": {1: np.ones(2, np.float32), 2: {"a": np.zeros(3, np.float32)}}}


class Distribution:
    def __init__(self, mean):
        self.mean = mean


def no_arrays(x):
    return {
        "distribution": Distribution(x),
        "text": "name",
        "mode": Mode.FAST,
        "function": jnp.sin,
        "set": {1},
        "number": np.float32(2),
        "values": [x, (x, x)],
        "nested": Point(y={"logits": x + 1}, x=np.arange(3)),
    }


def make_optimiser_state():
    params = {"w": jnp.ones((2, 2))}
    return {"params": params, "state": optax.adam(1e-3).init(params)}


def update(params, state):
    grads = jax.tree.map(jnp.ones_like, params)
    updates, state = optax.adam(1e-3).update(grads, state, params)
    return optax.apply_updates(params, updates), state


def of_state(state):
    return jax.tree.map(lambda leaf: leaf * 2, state)


def make_state():
    return {"state": nnx.state(nnx.Linear(2, 3, rngs=nnx.Rngs(0)))}


def gradient(x):
    return jax.grad(lambda v: v**2)(x)


jitted_gradient = jax.jit(jax.grad(lambda v: v**2))


def mode_of(x, mode="add"):
    return x + 1 if mode == "add" else x * 2


class Calls(nnx.Variable):
    pass


class Meter(nnx.Module):
    def __init__(self):
        self.count = Calls(jnp.zeros((), jnp.int32))

    def __call__(self, x):
        self.count[...] = self.count[...] + 1
        return x * self.count[...]


def make_meter():
    return {"model": Meter(), "x": jnp.ones(3)}


def use_meter(model, x):
    return model(x)


def use_meter_of_global(x):
    return METER(x)


METER = Meter()


def closes_over(x):
    return x + jnp.sum(jnp.asarray(BIG))


BIG = np.zeros((130, 1024, 256), np.float32)
