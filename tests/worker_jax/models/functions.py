"""Plain functions in the forms that people write."""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from flax.core import FrozenDict


@jax.jit
def net(x):
    return jax.nn.relu(x @ jnp.ones((3, 4)))


def mlp(params, x):
    for layer in params["layers"]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x


def static_branch(x, double, scale):
    return x * 2 * scale if double else x - scale


def keyword_only(*, inputs, mask=None):
    return jnp.where(mask, inputs, 0.0) if mask is not None else inputs


def positional_only(a, b, /, c):
    return a + b * c


@functools.partial(jax.jit, static_argnums=1, static_argnames="mode")
def jit_static(x, count, mode="sum"):
    return [getattr(jnp, mode)(x) * i for i in range(count)]


@jax.custom_jvp
def softclip(x):
    return jnp.clip(x, -1.0, 1.0)


@softclip.defjvp
def _softclip_jvp(primals, tangents):
    return softclip(primals[0]), tangents[0] * 0.5


@jax.custom_vjp
def halved(x, y):
    return x * y


halved.defvjp(lambda x, y: (x * y, (x, y)), lambda saved, g: (g * saved[1] / 2, g * saved[0] / 2))


def custom_rules(x, y):
    return softclip(halved(x, y)) + halved(softclip(y), x)


def loss(w, x, y):
    return jnp.mean((jnp.sin(x @ w) - y) ** 2)


grad_of_loss = jax.jit(jax.value_and_grad(loss))
per_example = jax.vmap(jax.grad(custom_rules, argnums=(0, 1)))
hessian = jax.hessian(lambda x: jnp.sum(jnp.cos(x) ** 3))


@jax.checkpoint
def block(x):
    return jnp.sin(jnp.sin(x))


def remat(x):
    return jax.grad(lambda x: block(block(x)).sum())(x)


def scan_cond_while(x, n):
    def step(carry, row):
        carry = jax.lax.cond(row.sum() > 0, lambda c: c + row, lambda c: c * jnp.cos(row), carry)
        return carry, jnp.sum(carry)

    carry, sums = jax.lax.scan(step, jnp.zeros(x.shape[1]), x)
    halted = jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, carry))
    return jax.lax.fori_loop(0, 3, lambda i, v: v + i, halted[1]), sums, jax.lax.map(jnp.exp, x)


def moe_scatter(tokens, experts):
    buffers = jnp.zeros((4, tokens.shape[-1])).at[experts].add(tokens)
    chosen = jnp.zeros((4,), jnp.int32).at[experts].max(1, mode="drop")
    return buffers.at[0].set(tokens[0]), chosen, jax.ops.segment_sum(tokens, experts, 4)


def sampled(key, shape_like):
    first, second = jax.random.split(key)
    return jax.random.normal(first, shape_like.shape) + jax.random.uniform(second), jax.random.fold_in(key, 3)


def legacy_key(seed):
    return jax.random.categorical(jax.random.PRNGKey(seed), jnp.arange(5.0))


def half_precision(x, y):
    return jnp.dot(x, y, precision="highest", preferred_element_type=jnp.float32), x.astype(jnp.float8_e4m3fn)


def convolution(x, kernel):
    y = jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def dot_product_attention(q, k, v, mask):
    logits = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    weights = jax.nn.softmax(jnp.where(mask, logits, -1e9), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


class Pair(NamedTuple):
    right: Any
    left: Any


@struct.dataclass
class TrainState:
    step: Any
    weights: Any
    name: str = struct.field(pytree_node=False, default="adam")


@jax.tree_util.register_pytree_with_keys_class
class Checked:
    """A container whose constructor refuses anything but a matrix."""

    def __init__(self, matrix, tag):
        if matrix.ndim != 2:
            raise ValueError("not a matrix")
        self.matrix, self.tag = matrix, tag

    def tree_flatten_with_keys(self):
        return [(jax.tree_util.GetAttrKey("matrix"), self.matrix)], self.tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        return cls(children[0], tag)


def containers(state, pair, frozen, checked, nothing, rest):
    state = state.replace(step=state.step + 1)
    return state, Pair(left=pair.left @ checked.matrix, right=pair.right), frozen.copy({"new": rest[0]}), checked


def make_containers():
    ones = np.ones((2, 2), np.float32)
    return {
        "args": (
            TrainState(jnp.asarray(1), {"w": ones}),
            Pair(left=ones, right=jax.ShapeDtypeStruct((3,), jnp.bfloat16)),
            FrozenDict({"a": {"b": ones}}),
            Checked(ones, "square"),
            None,
            [np.float32(2), 5, "five"],
        ),
        "kwargs": {},
    }


def make_named(width):
    return {"b": jnp.zeros((width,)), "a": np.ones((width,), np.float32), "c": 3.0}


def make_keys():
    return {"key": jax.random.key(7), "shape_like": jnp.zeros((2, 3))}


class Distribution:
    def __init__(self, mean):
        self.mean = mean


@dataclass
class Report:
    value: Any
    note: str


def odd_outputs(x):
    return {
        "d": Distribution(x * 2),
        "r": Report(x + 1, "fine"),
        "s": "text",
        "n": 3,
        "x": x,
        "none": None,
        "c": 1 + 2j,
    }


def literals(x):
    return jnp.float32(2.0), x, jnp.where(x > jnp.inf, -jnp.inf, jnp.nan), np.arange(3), 1.5


def reused(x):
    y = net(x)
    return net(x) + y + net(x * 2), [y, y]


def effects(x):
    jax.debug.print("x = {}", x)
    y = jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    return y + 1


def weak(x):
    return x * 2 + 1, jnp.full((2,), 3.0) * True, x.astype(int)


def scopes(x):
    with jax.named_scope("outer"):
        y = jnp.sin(x)
        with jax.named_scope("inner/deep"):
            y = jax.jit(lambda v: jnp.cos(v) * v)(y)
    return jax.grad(lambda v: jnp.sum(jax.named_call(jnp.tanh, name="squash")(v) ** 2))(y)


def numeric(x):
    vals, vecs = jnp.linalg.eigh(x @ x.T)
    q, r = jnp.linalg.qr(x)
    solved = jax.scipy.linalg.solve(x, jnp.ones(3), assume_a="pos")
    solution, _ = jax.scipy.sparse.linalg.cg(lambda v: x @ v, jnp.ones(3))
    return vals, q @ r, jnp.sort(x)[::-1], jnp.fft.rfft(x), jax.lax.top_k(x, 2), jnp.cumsum(x), solved, solution, vecs


def generic_reduce(x):
    return jax.lax.reduce(x, np.float32(1), lambda a, b: a * b + 1, (0,)), jax.lax.associative_scan(jnp.add, x)


def empty():
    return jnp.arange(4)


def identity(x):
    return x


class Configured:
    def __init__(self, power):
        self.power = power

    def __call__(self, x):
        return x**self.power

    def method(self, x):
        return jnp.exp(x) * self.power


def make_configured(power):
    return Configured(power)


def make_method(power):
    return functools.partial(Configured(power).method)


def fails(x):
    y = jnp.sin(x)
    return y @ jnp.ones((5, 5))


def random_program(x, y, seed):
    """A program drawn from a seed: operations in random order inside random nestings of transformations."""
    rng = np.random.default_rng(seed)
    unary = [jnp.sin, jax.nn.relu, jax.nn.silu, jnp.exp, softclip, block, lambda v: v[::-1], lambda v: v * 2.5]
    binary = [jnp.add, jnp.maximum, halved, lambda a, b: jnp.where(a > b, a, b), lambda a, b: a.at[0].add(b[0])]

    def straight(values, length):
        values = list(values)
        for _ in range(length):
            if rng.random() < 0.5:
                values.append(unary[rng.integers(len(unary))](values[rng.integers(len(values))]))
            else:
                first, second = (values[rng.integers(len(values))] for _ in range(2))
                values.append(binary[rng.integers(len(binary))](first, second))
        return values[-2:]

    def nested(values, depth):
        first, second = straight(values, int(rng.integers(1, 5)))
        if depth == 0:
            return first, second
        form = int(rng.integers(6))
        if form == 0:
            return jax.jit(lambda a, b: nested((a, b), depth - 1))(first, second)
        if form == 1:
            return jax.lax.cond(
                first[0] > 0, lambda a, b: (b, a), lambda a, b: nested((a, b), depth - 1), first, second
            )
        if form == 2:
            carry, out = jax.lax.scan(
                lambda c, r: (nested((c, c + r), depth - 1)[0], r), first, jnp.stack([second] * 2)
            )
            return carry, out[0]
        if form == 3:
            return jax.checkpoint(lambda a, b: nested((a, b), depth - 1))(first, second)
        if form == 4:
            return jax.grad(lambda a: jnp.sum(nested((a, second), depth - 1)[0]))(first), second
        mapped = jax.vmap(lambda a, b: nested((a, b), depth - 1))(jnp.stack([first] * 2), jnp.stack([second] * 2))
        return mapped[0][0], second

    return nested(nested((x, y), 2), 1)


def make_wide():
    return {"x": np.zeros(3)}
