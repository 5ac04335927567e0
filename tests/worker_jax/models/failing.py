"""Programs with the mistakes that people make."""

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

KEY = None


def carry_dtype(positions):
    def body(carry, _):
        where, count = carry
        return (where + 1.0, jnp.where(where.sum() > 0, count + 1.0, 0.0)), where

    return jax.lax.scan(body, (positions, jnp.int32(0)), None, length=3)


def carry_shape(state, actions):
    def step(state, action):
        reward = jnp.sum(action, keepdims=True)
        return {**state, "obs": state["obs"] + action, "reward": reward}, None

    return jax.lax.scan(step, state, actions)


def carry_structure(x):
    return jax.lax.fori_loop(0, 3, _two, x)


def _two(_, x):
    return x, x


def while_dtype(x):
    def halve(x):
        return (x / 2).astype(int)

    return jax.lax.while_loop(lambda x: x.sum() > 1, halve, x)


def branches(x):
    return jax.lax.cond(x.sum() > 0, lambda x: x, lambda x: x[:2], x)


def branch_of(x, threshold):
    if x.sum() > threshold:
        return x
    return -x


def size_of(x, count):
    return jnp.zeros((count, 2)) + x


@functools.partial(jax.jit)
def _signed(x, negate):
    return -x if negate else x


@jax.jit
def decided_by_array(x):
    return x if jnp.sum(x) > 0 else -x


def flag_of_jit(x):
    return _signed(x, True)


def entry(table, at):
    return [1.0, 2.0, 3.0][at] * table


def in_numpy(x):
    return np.tanh(np.asarray(x))


def as_float(config):
    return float(config["scale"][0])


def mask(x):
    return x[x > 0]


def meshed(x):
    mesh = jax.make_mesh((4, 2), ("a", "b"))
    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, PartitionSpec("a")))


def meshed_by_hand(x):
    mesh = Mesh(np.array(jax.devices()).reshape(8), ("a",))
    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, PartitionSpec("a")))


@jax.jit
def _apply(x, mode="add"):
    return x + 1 if mode == "add" else x


def string_to_jit(x):
    return _apply(x, mode="add")


def draw(x):
    global KEY
    KEY, key = jax.random.split(jax.random.key(0) if KEY is None else KEY)
    return x + jax.random.normal(key, ())


def draws_twice(x):
    return jax.jit(draw)(x) + jax.jit(lambda y: draw(y))(x)


def leaks_and_succeeds(x):
    return draw(x)


def endless(x):
    return endless(x + 1)


def leaves(x):
    raise SystemExit("usage: train.py CONFIG")


def too_large(x):
    return x + np.ones((1 << 45,), np.float32)


def of_another_version(x):
    return _bucket(x)


def _bucket(positions):
    return -jnp.clip(positions, a_max=0)


def removed(x):
    return jax.tree_map(jnp.sin, x)


def contraction(x):
    hidden = jnp.sin(x)
    return hidden @ jnp.ones((4, 2))


def handled_first(x):
    try:
        {}["missing"]
    except KeyError:
        return x @ jnp.ones((5, 5))


def gradient_of_vector(x):
    return jax.grad(jnp.sin)(x)


def assigns(x):
    x[0] = 1
    return x


def unbound_axis(x):
    return jax.lax.pmean(x, "batch")


def in_backward_pass(x):
    return jax.grad(lambda x: _twice(x).sum())(x)


@jax.custom_vjp
def _twice(x):
    return x * 2


_twice.defvjp(lambda x: (x * 2, None), lambda _, g: (g[:2],))


@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        if getattr(corners, "ndim", 0) != 2:
            raise ValueError("boxes are [n, 4]")
        self.corners = corners

    def tree_flatten(self):
        return (self.corners,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def boxes(boxes):
    return jax.vmap(lambda box: box.corners.sum())(boxes)


def make_boxes():
    return {"boxes": Boxes(jnp.ones((5, 4)))}


def make_nothing():
    return {"x": undefined}  # noqa: F821


class Property(nn.Module):
    def setup(self):
        self.scale = 2.0

    @property
    def wide(self):
        return self.scal * 4

    def __call__(self, x):
        return x * self.wide


class Setup(nn.Module):
    def setup(self):
        self.dense = nn.Dense(self.widht)

    def __call__(self, x):
        return self.dense(x)


class Inner(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=False)(x)


class Dropped(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dropout(0.5, deterministic=False)(x)


def apply_batch_norm(variables, x):
    return Inner().apply(variables, x)


def make_batch_norm():
    x = jnp.ones((2, 3))
    return {"variables": Inner().init(jax.random.key(0), x), "x": x}


def apply_dropout(x):
    return Dropped().apply({}, x)


class NoCompact(nn.Module):
    def __call__(self, x):
        return nn.Dense(3)(x)


class Attribute(nn.Module):
    @nn.compact
    def __call__(self, x):
        self.seen = x
        return x


class OtherShape(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)


def make_other_shape():
    return OtherShape().bind(OtherShape().init(jax.random.key(0), jnp.ones((2, 5))))


LAST = [None]


class Leaking(nn.Module):
    """Keeps a value of the first trace, of `init`, for the second."""

    @nn.compact
    def __call__(self, x):
        y = nn.Dense(3)(x if LAST[0] is None else x + LAST[0])
        LAST[0] = y
        return y


class Plain(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.layers = [nnx.Linear(3, 3, rngs=rngs) for _ in range(2)]

    def __call__(self, x):
        return self.layers[0](x)


class NoStreams(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.drop = nnx.Dropout(0.5)

    def __call__(self, x):
        self.drop.deterministic = False
        return self.drop(x)


class Deep(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return self.linear(x)


class Closed(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.zeros(()))

    def __call__(self, x):
        def step(x):
            self.count[...] += 1
            return x * 2

        return jax.jit(step)(x)
