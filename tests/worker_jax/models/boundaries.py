"""Programs whose equations hold programs of their own."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify, io_callback, pallas


def double_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2 + pallas.program_id(0)


def pallas_call(x):
    spec = pallas.BlockSpec((2, 4), lambda i: (i, 0))
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pallas.pallas_call(double_kernel, out, grid=(2,), in_specs=[spec], out_specs=spec, interpret=True)(x)


def shard_map(x, w):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    spec = jax.sharding.PartitionSpec
    inner = jax.shard_map(
        lambda x, w: jax.lax.psum(x @ w, "data"),
        mesh=mesh,
        in_specs=(spec(None, "data"), spec("data")),
        out_specs=spec(),
    )
    return inner(x, w)


def switch(i, x):
    return jax.lax.switch(i, [jnp.sin, jnp.cos, lambda v: v * 2], x)


def loops(n, x):
    def step(i, v):
        return v + i

    known = jax.lax.fori_loop(0, 3, step, x)
    return jax.lax.fori_loop(0, n, step, known)


def linear_solve(a, b):
    def matvec(v):
        return a @ v

    return jax.lax.custom_linear_solve(matvec, b, lambda mv, v: v / jnp.diag(a), symmetric=True)


def root(x):
    def solve(f, guess):
        return jax.lax.while_loop(lambda v: f(v) > 1e-3, lambda v: v - f(v) / 2, guess)

    return jax.lax.custom_root(lambda y: y**2 - x, x, solve, lambda g, y: y / g(1.0))


def reducers(x, at):
    def combine(a, b):
        return a * b + 1

    whole = jax.lax.reduce(x, np.float32(0), combine, (0,))
    windows = jax.lax.reduce_window(x, np.float32(0), combine, (2, 2), (1, 1), "VALID")
    pooled = jax.lax.reduce_window(x, -np.inf, jax.lax.max, (2, 2), (1, 1), "VALID")
    return whole, windows, pooled, x.at[at].add(1.0), x.at[at].set(0.0), x.at[at].apply(jnp.sin), x[at]


def composite(x):
    return jax.lax.composite(lambda v: v * 2, name="example.double")(x)


def callbacks(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    y = jax.pure_callback(np.sin, shape, x)
    z = io_callback(np.cos, shape, x, ordered=True)
    jax.debug.callback(lambda v: None, y)
    return y + z


def effect_in_body(x):
    def step(v, _):
        jax.debug.print("{}", v)
        return v + 1, None

    return jax.lax.scan(step, x, None, length=2)[0]


def checked(x):
    def inner(x):
        checkify.check(jnp.all(x > 0), "negative")
        return jnp.sqrt(x)

    return checkify.checkify(inner)(x)[1]


def deep(x):
    def level(v, depth):
        if depth == 0:
            return jnp.tanh(v)
        if depth % 2:
            return jax.lax.cond(v.sum() > 0, lambda v: level(v, depth - 1), lambda v: v, v)
        return jax.lax.scan(lambda c, _: (jax.jit(level, static_argnums=1)(c, depth - 1), None), v, None, length=2)[0]

    return level(x, 12)


@jax.jit
def inside_jit(x):
    return jax.jit(jax.jit(jnp.sin))(x)


def inside_call(x):
    from jax.extend.core import primitives

    closed = jax.make_jaxpr(lambda v: jnp.cos(v) + 1)(x)
    params = primitives.closed_call_p.get_bind_params({"call_jaxpr": closed})
    functions, params = ((), params) if isinstance(params, dict) else params
    return primitives.closed_call_p.bind(*functions, x, **params)


@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def saved(x):
    return jnp.sin(jax.checkpoint(jnp.cos)(x @ x))


@jax.custom_jvp
def clipped(x):
    return jnp.clip(x, 0, 1)


clipped.defjvp(lambda p, t: (clipped(p[0]), t[0]))


@jax.custom_vjp
def doubled(x):
    return x * 2


doubled.defvjp(lambda x: (doubled(x), None), lambda _, g: (g,))


def expanded(x):
    return saved(doubled(clipped(x)))


def deep_scopes(x):
    def nested(v, depth):
        return jax.jit(nested, static_argnums=1)(v, depth - 1) + 1 if depth else jnp.sin(v)

    return nested(x, 25)


def deep_names(x):
    from contextlib import ExitStack

    with ExitStack() as stack:
        for level in range(300):
            stack.enter_context(jax.named_scope(f"level{level}"))
        return jnp.sin(x)
