"""Small JAX programs over everything that an equation can be. Runs in the models' interpreter.

A program is a function and its arguments. `catalogue` draws shapes and dtypes from a seed; `composed` nests programs of
the catalogue in random transformations.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.experimental import jet, ode

Program = tuple[Callable[..., Any], tuple[Any, ...]]
FLOATS = ("float32", "bfloat16", "float16")
INTS = ("int32", "uint8", "int16", "uint32")
EIGHT_BITS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz")


def abstract(shape: Any, dtype: Any = "float32") -> Any:
    return jax.ShapeDtypeStruct(tuple(shape), dtype if not isinstance(dtype, str) else getattr(jnp, dtype))


class Draw:
    """Random choices that repeat with their seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def pick(self, items: Any) -> Any:
        items = list(items)
        return items[int(self.rng.integers(len(items)))]

    def shape(self, least: int = 0, most: int = 3) -> tuple[int, ...]:
        return tuple(int(n) for n in self.rng.integers(1, 5, size=int(self.rng.integers(least, most + 1))))

    def floats(self, least: int = 0, most: int = 3) -> Any:
        return abstract(self.shape(least, most), self.pick(FLOATS))

    def ints(self, least: int = 0, most: int = 3) -> Any:
        return abstract(self.shape(least, most), self.pick(INTS))


# --- jax.lax, by its public names ------------------------------------------------------------------------------------

NOT_OPERATIONS = frozenset(
    [
        "broadcast_shapes",
        "conv_dimension_numbers",
        "conv_general_permutations",
        "conv_general_shape_tuple",
        "conv_shape_tuple",
        "conv_transpose_shape_tuple",
        "ConvGeneralDilatedDimensionNumbers",
        "DotDimensionNumbers",
        "PrecisionLike",
        "padtype_to_pads",
        "reduce_window_shape_tuple",
        "dtype",
        "shape_as_value",
        "linalg",
        "psend",
        "infeed",
        "outfeed",
        "precv",
    ]
)


def _axis(call: Callable[[Any], Any]) -> Callable[[Draw], Program]:
    """A collective, inside a function that is mapped over a named axis."""
    return lambda draw: (jax.vmap(call, axis_name="i"), (abstract((4, 4, 3), draw.pick(FLOATS)),))


def _mesh(call: Callable[[Any], Any]) -> Callable[[Draw], Program]:
    """A collective, inside a `shard_map` over the only device."""

    def build(draw: Draw) -> Program:
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))
        spec = jax.sharding.PartitionSpec("i")
        return jax.shard_map(call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False), (abstract((4, 3)),)

    return build


def _fixed(call: Callable[..., Any], *shapes: Any) -> Callable[[Draw], Program]:
    return lambda draw: (
        call,
        tuple(abstract(*shape) if shape and isinstance(shape[0], tuple) else abstract(shape) for shape in shapes),
    )


def _drawn(call: Callable[..., Any], choices: Any, shape: tuple[int, ...]) -> Callable[[Draw], Program]:
    """A program whose last argument is static and one of `choices`."""

    def build(draw: Draw) -> Program:
        choice = draw.pick(choices)
        return lambda x: call(x, choice), (abstract(shape),)

    return build


def _gather(draw: Draw) -> Program:
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    mode = draw.pick(lax.GatherScatterMode)
    fill = draw.pick((None, 7, float("nan"))) if mode == lax.GatherScatterMode.FILL_OR_DROP else None
    call = functools.partial(
        lax.gather, dimension_numbers=numbers, slice_sizes=(1, 3), mode=mode, fill_value=fill, unique_indices=True
    )
    return call, (abstract((5, 3)), abstract((2, 1), "int32"))


def _scatter(name: str) -> Callable[[Draw], Program]:
    def build(draw: Draw) -> Program:
        numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
        modes = [
            mode
            for mode in lax.GatherScatterMode
            if "FILL" in mode.name or "CLIP" in mode.name or "PROMISE" in mode.name
        ]
        call = functools.partial(getattr(lax, name), dimension_numbers=numbers, mode=draw.pick(modes))
        return call, (abstract((5, 3)), abstract((2, 1), "int32"), abstract((2, 3)))

    return build


def _scatter_apply(draw: Draw) -> Program:
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))

    def call(x: Any, at: Any) -> Any:
        return lax.scatter_apply(x, at, jnp.sin, numbers, update_shape=(2, 3))

    return call, (abstract((5, 3)), abstract((2, 1), "int32"))


def _convolution(draw: Draw) -> Program:
    layout = draw.pick((("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("HWNC", "HWOI", "NHWC")))
    sizes = {"N": 2, "C": 4, "H": 6, "W": 7}
    groups = draw.pick((1, 2))
    kernel = {"O": 2, "I": 4 // groups, "H": 3, "W": 2}
    strides, dilation = (draw.pick((1, 2)), 1), (1, draw.pick((1, 2)))
    call = functools.partial(
        lax.conv_general_dilated,
        window_strides=strides,
        padding=draw.pick(("SAME", "VALID", ((1, 0), (0, 2))) if dilation == (1, 1) else (((1, 0), (0, 2)),)),
        lhs_dilation=dilation,
        rhs_dilation=(draw.pick((1, 2)), 1),
        dimension_numbers=layout,
        feature_group_count=groups,
        precision=draw.pick((None, "highest", lax.Precision.HIGH, ("default", "highest"))),
        preferred_element_type=draw.pick((None, jnp.float32)),
    )
    return call, (abstract([sizes[d] for d in layout[0]]), abstract([kernel[d] for d in layout[1]]))


def _dot_general(draw: Draw) -> Program:
    precision = draw.pick(
        (None, "highest", lax.DotAlgorithmPreset.F32_F32_F32, lax.DotAlgorithmPreset.BF16_BF16_F32_X3)
    )
    call = functools.partial(
        lax.dot_general,
        dimension_numbers=(((2,), (1,)), ((0,), (0,))),
        precision=precision,
        preferred_element_type=jnp.float32,
    )
    return call, (abstract((2, 3, 4)), abstract((2, 4, 5)))


def _ragged_dot_general(draw: Draw) -> Program:
    numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])

    def call(x: Any, y: Any, groups: Any) -> Any:
        return lax.ragged_dot_general(x, y, groups, numbers, preferred_element_type=jnp.float32)

    return call, (abstract((6, 4)), abstract((2, 4, 5)), abstract((2,), "int32"))


def _reduce(draw: Draw) -> Program:
    combine = draw.pick((lax.add, lax.max, lambda a, b: a * b + a, lambda a, b: jnp.where(a > b, a, jnp.sin(b))))
    axis = draw.pick((0, 1))
    return lambda x: lax.reduce(x, np.float32(0), combine, (axis,)), (abstract((3, 4)),)


def _reduce_several(x: Any, y: Any) -> Any:
    def first_of_larger(a: Any, b: Any) -> Any:
        keep = a[0] >= b[0]
        return lax.select(keep, a[0], b[0]), lax.select(keep, a[1], b[1])

    return lax.reduce((x, y), (np.float32(-np.inf), np.int32(0)), first_of_larger, (1,))


def _reduce_window(draw: Draw) -> Program:
    combine = draw.pick((lax.add, lax.max, lax.min, lax.mul, lambda a, b: a * b + 1))
    padding = draw.pick(("SAME", "VALID", ((0, 1), (1, 0))))
    return lambda x: lax.reduce_window(x, np.float32(0), combine, (2, 3), (1, 2), padding), (abstract((6, 7)),)


def _pooling(draw: Draw) -> Program:
    def pooled(x: Any) -> Any:
        return lax.reduce_window(x, -np.inf, lax.max, (2, 3), (1, 2), "SAME").sum()

    call = draw.pick((jax.grad(pooled), pooled, lambda x: jax.jvp(jax.grad(pooled), (x,), (x,))))
    return call, (abstract((6, 7)),)


def _sort(draw: Draw) -> Program:
    keys = draw.pick((1, 2))
    call = functools.partial(lax.sort, dimension=draw.pick((0, 1)), is_stable=draw.pick((True, False)), num_keys=keys)
    return lambda x, y: call((x, y)), (abstract((3, 4)), abstract((3, 4), "int32"))


def _fft(draw: Draw) -> Program:
    kind, dtype, lengths = draw.pick(
        (
            ("fft", "complex64", (8,)),
            (lax.FftType.IFFT, "complex64", (2, 8)),
            ("rfft", "float32", (8,)),
            ("irfft", "complex64", (14,)),
        )
    )
    return lambda x: lax.fft(x, kind, lengths), (abstract((2, 8), dtype),)


def _while(draw: Draw) -> Program:
    def call(n: Any, x: Any) -> Any:
        return lax.while_loop(lambda s: (s[0] < n) & (s[1].sum() < 9), lambda s: (s[0] + 1, s[1] * x), (0, x))

    return call, (abstract((), "int32"), abstract((3,)))


def _scan(draw: Draw) -> Program:
    call = functools.partial(
        lax.scan,
        lambda c, x: (c + x, {"y": c * x, "n": None}),
        reverse=draw.pick((True, False)),
        unroll=draw.pick((1, 2, True)),
    )
    return call, (abstract((3,)), abstract((4, 3)))


def _custom_root(x: Any) -> Any:
    def solve(f: Any, guess: Any) -> Any:
        return lax.fori_loop(0, 4, lambda i, v: v - f(v) / 2, guess)

    return jax.grad(lambda v: lax.custom_root(lambda y: y**2 - v, v, solve, lambda g, y: y / g(1.0)))(x)


def _linear_solve(a: Any, b: Any) -> Any:
    def solve(matvec: Any, v: Any) -> Any:
        return v / jnp.diag(a)

    return lax.custom_linear_solve(lambda v: a @ v, b, solve, solve, symmetric=False)


def _rng_bits(draw: Draw) -> Program:
    algorithm = draw.pick(lax.RandomAlgorithm)
    words = 4
    return lambda key: lax.rng_bit_generator(key, (3, 2), jnp.uint32, algorithm), (abstract((words,), "uint32"),)


def _composite(x: Any, y: Any) -> Any:
    inner = lax.composite(lambda x, y, *, scale: x * scale + y, name="tests.scaled_add", version=3)
    return inner(x, y, scale=np.float32(2)) + lax.composite(jnp.sin, name="tests.sine")(x)


def _platform(x: Any) -> Any:
    return lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.cos, default=jnp.tan)


def _branches(draw: Draw) -> Program:
    return lambda i, x: lax.switch(i, [jnp.sin, lambda v: v * 2, jax.jit(jnp.cos)], x), (
        abstract((), "int32"),
        abstract((3,)),
    )


LAX: dict[str, Callable[[Draw], Program]] = {
    "all_gather": _axis(lambda x: lax.all_gather(x, "i", tiled=True)),
    "all_to_all": _axis(lambda x: lax.all_to_all(x, "i", 0, 1)),
    "axis_index": _axis(lambda x: x + lax.axis_index("i")),
    "axis_size": _axis(lambda x: x * lax.axis_size("i")),
    "pbroadcast": _mesh(lambda x: lax.pbroadcast(x, "i", 0)),
    "pcast": _mesh(lambda x: x + lax.pcast(jnp.ones(3), "i", to="varying")),
    "pvary": _mesh(lambda x: x + lax.pvary(jnp.ones(3), "i")),
    "pmax": _axis(lambda x: lax.pmax(x, "i")),
    "pmean": _mesh(lambda x: x - lax.pmean(x, "i")),
    "pmin": _axis(lambda x: lax.pmin(x, "i")),
    "ppermute": _mesh(lambda x: lax.ppermute(x, "i", [(0, 0)])),
    "pshuffle": _mesh(lambda x: lax.pshuffle(x, "i", [0])),
    "psum": _mesh(lambda x: x * lax.psum(x, "i")),
    "psum_scatter": _mesh(lambda x: lax.psum_scatter(x, "i", tiled=True)),
    "pswapaxes": _axis(lambda x: lax.pswapaxes(x, "i", 0)),
    "ragged_all_to_all": _mesh(
        lambda x: lax.ragged_all_to_all(x, x * 0, *[jnp.ones((1,), jnp.int32)] * 4, axis_name="i")
    ),
    "after_all": _fixed(lambda x: (lax.after_all(lax.create_token(x)), x)[1], (3,)),
    "create_token": _fixed(lambda x: (lax.create_token(x), x)[1], (3,)),
    "approx_max_k": _fixed(lambda x: lax.approx_max_k(x, 2), (4, 5)),
    "approx_min_k": _fixed(lambda x: lax.approx_min_k(x, 2, recall_target=0.5), (4, 5)),
    "argmax": _drawn(lambda x, dtype: lax.argmax(x, 0, dtype), (jnp.int32, jnp.uint8), (3, 2)),
    "argmin": lambda draw: (lambda x: lax.argmin(x, 1, jnp.int32), (abstract((3, 2)),)),
    "associative_scan": lambda draw: (
        lambda x: lax.associative_scan(jnp.maximum, x, reverse=True),
        (abstract((5, 2)),),
    ),
    "batch_matmul": _fixed(lax.batch_matmul, (2, 3, 4), (2, 4, 3)),
    "betainc": _fixed(lax.betainc, (3,), (3,), (3,)),
    "bitcast_convert_type": _drawn(lax.bitcast_convert_type, (jnp.int32, jnp.uint8, jnp.bfloat16), (3,)),
    "broadcast": _fixed(lambda x: lax.broadcast(x, (2, 3)), (4,)),
    "broadcast_in_dim": _fixed(lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1,)), (3,)),
    "broadcast_like": _fixed(lambda x, y: lax.broadcast_like(x, y), (), (2, 2)),
    "broadcast_to_rank": _fixed(lambda x: lax.broadcast_to_rank(x, 3), (4,)),
    "broadcasted_iota": _fixed(lambda: lax.broadcasted_iota(jnp.int32, (2, 3), 1)),
    "clamp": _fixed(lax.clamp, (), (3,), ()),
    "collapse": _fixed(lambda x: lax.collapse(x, 0, 2), (2, 3, 4)),
    "complex": _fixed(lax.complex, (3,), (3,)),
    "conj": lambda draw: (lax.conj, (abstract((3,), draw.pick(("float32", "complex64"))),)),
    "composite": _fixed(_composite, (3,), (3,)),
    "concatenate": _fixed(lambda x, y: lax.concatenate([x, y, x], np.int64(1)), (2, 3), (2, 4)),
    "cond": _fixed(lambda p, x: lax.cond(p, lambda v: {"a": v}, lambda v: {"a": v * 2}, x), ((), "bool_"), (3,)),
    "conv": _fixed(lambda x, k: lax.conv(x, k, (1, 1), "SAME"), (1, 3, 6, 6), (2, 3, 3, 3)),
    "conv_general_dilated": _convolution,
    "conv_general_dilated_local": _fixed(
        lambda x, k: lax.conv_general_dilated_local(x, k, (1,), "VALID", (2,), dimension_numbers=("NHC", "HIO", "NHC")),
        (1, 4, 3),
        (3, 6, 2),
    ),
    "conv_general_dilated_patches": _fixed(
        lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "SAME"), (1, 3, 5, 5)
    ),
    "conv_transpose": _fixed(lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), (1, 4, 4, 3), (3, 3, 3, 2)),
    "conv_with_general_padding": _fixed(
        lambda x, k: lax.conv_with_general_padding(x, k, (1, 1), ((1, 1), (0, 0)), None, None),
        (1, 3, 6, 6),
        (2, 3, 3, 3),
    ),
    "convert_element_type": _drawn(
        lax.convert_element_type, (jnp.int4, jnp.bfloat16, jnp.bool_, float, np.int8, *EIGHT_BITS), (3,)
    ),
    **{
        name: _fixed(functools.partial(getattr(lax, name), axis=1, reverse=True), (2, 3))
        for name in ("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum")
    },
    "custom_linear_solve": _fixed(_linear_solve, (3, 3), (3,)),
    "custom_root": _fixed(_custom_root, ()),
    "dce_sink": _fixed(lambda x: (lax.dce_sink(x * 2), x)[1], (3,)),
    "dot": _fixed(lambda x, y: lax.dot(x, y, precision="high"), (2, 3), (3, 4)),
    "dot_general": _dot_general,
    "dynamic_index_in_dim": _fixed(lambda x, i: lax.dynamic_index_in_dim(x, i), (3, 4), ((), "int32")),
    "dynamic_slice": _fixed(lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 2)), (3, 4), ((), "int32")),
    "dynamic_slice_in_dim": _fixed(lambda x, i: lax.dynamic_slice_in_dim(x, i, 2), (3, 4), ((), "int32")),
    "dynamic_update_index_in_dim": _fixed(
        lambda x, y, i: lax.dynamic_update_index_in_dim(x, y, i, 0), (3, 4), (4,), ((), "int32")
    ),
    "dynamic_update_slice": _fixed(
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i)), (3, 4), (2, 2), ((), "int8")
    ),
    "dynamic_update_slice_in_dim": _fixed(
        lambda x, y, i: lax.dynamic_update_slice_in_dim(x, y, i, 0), (3, 4), (2, 4), ((), "int32")
    ),
    "empty": _fixed(lambda: lax.empty((2, 3), jnp.float32)),
    "expand_dims": _fixed(lambda x: lax.expand_dims(x, (0, 2)), (3, 4)),
    "fft": _fft,
    "fori_loop": _fixed(
        lambda n, x: lax.fori_loop(0, n, lambda i, v: v * i, lax.fori_loop(0, 3, lambda i, v: v + i, x)),
        ((), "int32"),
        (3,),
    ),
    "full": _fixed(lambda x: lax.full((2, 3), x), ()),
    "full_like": _fixed(lambda x: lax.full_like(x, 7, jnp.float16), (2, 3)),
    "gather": _gather,
    "igamma_grad_a": _fixed(lax.igamma_grad_a, (3,), (3,)),
    "index_in_dim": _fixed(lambda x: lax.index_in_dim(x, 1), (3, 4)),
    "index_take": _fixed(lambda x, i: lax.index_take(x, (i,), (0,)), (3, 4), ((2,), "int32")),
    "integer_pow": _fixed(lambda x: lax.integer_pow(x, 3), (3,)),
    "iota": _fixed(lambda: lax.iota(jnp.bfloat16, 3)),
    "map": _fixed(lambda x: lax.map(jnp.sin, x, batch_size=2), (5, 3)),
    "optimization_barrier": _fixed(lambda x, y: lax.optimization_barrier((x, [y])), (3,), (2,)),
    "pad": _fixed(lambda x: lax.pad(x, 0.0, ((1, 2, 0), (np.int64(0), -1, 1))), (3, 4)),
    "platform_dependent": _fixed(_platform, (3,)),
    "polygamma": _fixed(lax.polygamma, (3,), (3,)),
    "ragged_dot": _fixed(lax.ragged_dot, (6, 4), (2, 4, 5), ((2,), "int32")),
    "ragged_dot_general": _ragged_dot_general,
    "random_gamma_grad": _fixed(lax.random_gamma_grad, (3,), (3,)),
    "reduce": _reduce,
    "reduce_and": _fixed(lambda x: lax.reduce_and(x, (0,)), ((3, 2), "int32")),
    "reduce_or": _fixed(lambda x: lax.reduce_or(x, (1,)), ((3, 2), "bool_")),
    "reduce_xor": _fixed(lambda x: lax.reduce_xor(x, (0, 1)), ((3, 2), "uint8")),
    **{
        name: _fixed(functools.partial(getattr(lax, name), axes=(np.int64(0),)), (3, 2))
        for name in ("reduce_max", "reduce_min", "reduce_prod", "reduce_sum")
        if hasattr(lax, name)
    },
    "reduce_precision": _fixed(lambda x: lax.reduce_precision(x, 5, 10), (3,)),
    "reduce_window": _reduce_window,
    "reshape": _fixed(lambda x: lax.reshape(x, (2, 6), (1, 0)), (3, 4)),
    "rev": _fixed(lambda x: lax.rev(x, (0,)), (3, 4)),
    "rng_bit_generator": _rng_bits,
    "rng_uniform": _fixed(lambda a, b: lax.rng_uniform(a, b, (3,)), (), ()),
    "round": _drawn(lax.round, lax.RoundingMethod, (3,)),
    "scaled_dot": _fixed(
        lambda x, y, a, b: lax.scaled_dot(x, y, lhs_scale=a, rhs_scale=b),
        ((1, 2, 64), "float8_e4m3fn"),
        ((1, 64, 3), "float8_e4m3fn"),
        ((1, 2, 2), "float8_e8m0fnu"),
        ((1, 2, 3), "float8_e8m0fnu"),
    ),
    "scan": _scan,
    "scatter_apply": _scatter_apply,
    **{
        name: _scatter(name)
        for name in ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub")
        if hasattr(lax, name)
    },
    "select": _fixed(lax.select, ((3,), "bool_"), (3,), (3,)),
    "select_n": _fixed(lax.select_n, ((3,), "int32"), (3,), (3,), (3,)),
    "slice": _fixed(lambda x: lax.slice(x, (0, 1), (2, 4), (1, 2)), (3, 4)),
    "slice_in_dim": _fixed(lambda x: lax.slice_in_dim(x, 0, 3, 2), (3, 4)),
    "sort": _sort,
    "sort_key_val": _fixed(lax.sort_key_val, (3,), (3,)),
    "split": _fixed(lambda x: lax.split(x, (1, np.int64(2)), 0), (3, 4)),
    "squeeze": _fixed(lambda x: lax.squeeze(x, (0,)), (1, 4)),
    "stack": _fixed(lambda x, y: lax.stack([x, y], 1), (3,), (3,)),
    "stage": _fixed(lambda x: lax.stage(x), (3,)),
    "switch": _branches,
    "tile": _fixed(lambda x: lax.tile(x, (2, 1)), (3, 4)),
    "top_k": _fixed(lambda x: lax.top_k(x, 2), (3, 4)),
    "transpose": _fixed(lambda x: lax.transpose(x, (1, 0)), (3, 4)),
    "unstack": _fixed(lambda x: lax.unstack(x, 0), (3, 4)),
    "while_loop": _while,
    "with_sharding_constraint": lambda draw: (
        lambda x: lax.with_sharding_constraint(x, jax.sharding.SingleDeviceSharding(jax.devices()[0])),
        (abstract((3,)),),
    ),
}


def _by_trial(call: Callable[..., Any]) -> Callable[[Draw], Program] | None:
    """A program of an element-wise operation of one to three operands, of whatever dtype it takes; None for others."""
    for dtypes in (FLOATS, INTS, ("complex64",), ("bool_",)):
        for count in (1, 2, 3):
            args = tuple(abstract((2, 3), dtypes[0]) for _ in range(count))
            try:
                jax.eval_shape(call, *args)
            except Exception:  # noqa: BLE001, S112 - it is how to find out what an operation takes
                continue

            def build(draw: Draw, dtypes: Any = dtypes, count: int = count) -> Program:
                shape, dtype = draw.shape(), draw.pick(dtypes)
                return call, tuple(abstract(shape, dtype) for _ in range(count))

            return build
    return None


def lax_operations() -> tuple[dict[str, Callable[[Draw], Program]], list[str]]:
    """A builder for each public operation of the installed `jax.lax`, and the names that nothing here can call."""
    builders: dict[str, Callable[[Draw], Program]] = {}
    unknown: list[str] = []
    for name in dir(lax):
        call = getattr(lax, name)
        skip = name.startswith("_") or name.endswith("_p") or name in NOT_OPERATIONS
        if skip or inspect.isclass(call) or not callable(call):
            continue
        builder = LAX.get(name) or _by_trial(call)
        if builder is None:
            unknown.append(name)
        else:
            builders[f"lax.{name}"] = builder
    return builders, unknown


# --- the rest of JAX -------------------------------------------------------------------------------------------------


def _indexing(draw: Draw) -> Program:
    mode = draw.pick(("clip", "drop", "fill", "promise_in_bounds", "wrap", None))
    take = draw.pick(
        (
            lambda x, i: x[i],
            lambda x, i: x[::-2, None, ..., 1:],
            lambda x, i: x[i, i],
            lambda x, i: x.at[i].get(mode=None if mode == "wrap" else mode, fill_value=3 if mode == "fill" else None),
            lambda x, i: jnp.take(x, i, axis=1, mode=mode if mode in ("clip", "fill", "wrap") else None),
            lambda x, i: jnp.take_along_axis(x, i[:, None], axis=1, mode=mode if mode in ("clip", "fill") else None),
            lambda x, i: x[np.array([True, False, True, True])],
            lambda x, i: x[(i > 1).argmax()],
        )
    )
    return take, (abstract((4, 5)), abstract((4,), draw.pick(("int32", "uint8"))))


def _updates(draw: Draw) -> Program:
    mode = draw.pick(("clip", "drop", "promise_in_bounds", None))
    name = draw.pick(("set", "add", "multiply", "min", "max", "divide", "power", "subtract"))
    unique = draw.pick((True, False))

    def call(x: Any, i: Any, y: Any) -> Any:
        updated = getattr(x.at[i], name)(y, mode=mode, unique_indices=unique, indices_are_sorted=unique)
        return updated.at[0, 1:3].set(0).at[i].apply(jnp.sin)

    return call, (abstract((4, 5)), abstract((3,), "int32"), abstract((3, 5)))


def _linalg(draw: Draw) -> Program:
    linalg = jnp.linalg
    call = draw.pick(
        (
            linalg.svd,
            linalg.qr,
            linalg.eigh,
            linalg.cholesky,
            linalg.inv,
            linalg.det,
            linalg.slogdet,
            linalg.pinv,
            linalg.eigvalsh,
            linalg.matrix_rank,
            linalg.eig,
            linalg.eigvals,
            jax.scipy.linalg.lu,
            jax.scipy.linalg.expm,
            jax.scipy.linalg.schur,
            jax.scipy.linalg.sqrtm,
            jax.scipy.linalg.hessenberg,
            jax.scipy.linalg.polar,
            lambda x: lax.linalg.triangular_solve(x, x, transpose_a=True, lower=True),
            lambda x: lax.linalg.svd(x, full_matrices=False, subset_by_index=None),
            lambda x: lax.linalg.eigh(x, implementation=None),
            lambda x: linalg.lstsq(x, x),
            lambda x: linalg.solve(x, x),
            lambda x: lax.linalg.tridiagonal(x),
            lambda x: lax.linalg.householder_product(x, x[0]),
            lambda x: lax.linalg.tridiagonal_solve(x[0], x[1], x[2], x),
            lambda x: jax.scipy.linalg.cho_solve((x, True), x),
        )
    )
    return call, (abstract((3, 3), draw.pick(("float32", "complex64"))),) if call in (linalg.qr, linalg.svd) else (
        abstract((3, 3)),
    )


def _random(draw: Draw) -> Program:
    name = draw.pick(("threefry2x32", "rbg", "unsafe_rbg"))
    r = jax.random
    sample = draw.pick(
        (
            lambda k: r.normal(k, (2, 3), jnp.bfloat16),
            lambda k: r.uniform(k, (3,)),
            lambda k: r.bits(k, (3,), jnp.uint8),
            lambda k: r.categorical(k, jnp.zeros((2, 5))),
            lambda k: r.gamma(k, 2.0, (2,)),
            lambda k: r.permutation(k, 5),
            lambda k: r.choice(k, 5, (2,), replace=False),
            lambda k: r.truncated_normal(k, -1, 1, (2,)),
            lambda k: r.bernoulli(k, 0.3, (3,)),
            lambda k: r.randint(k, (3,), 0, 9),
            lambda k: r.dirichlet(k, jnp.ones(3)),
            lambda k: r.poisson(k, 3.0, (2,)) if name == "threefry2x32" else r.gumbel(k, (2,)),
            lambda k: r.split(k, (2, 2)),
            lambda k: r.fold_in(k, 3),
            lambda k: r.key_data(k),
            lambda k: r.clone(k),
            lambda k: r.wrap_key_data(r.key_data(k), impl=name),
            lambda k: jax.vmap(r.normal)(r.split(k, 3)),
            lambda k: r.binomial(k, 4, 0.5, (2,)),
            lambda k: r.orthogonal(k, 3),
        )
    )
    key = jax.eval_shape(lambda: jax.random.key(0, impl=name))
    return sample, (key,)


def _legacy_random(draw: Draw) -> Program:
    name = draw.pick(("threefry2x32", "rbg", "unsafe_rbg"))

    def call(seed: Any) -> Any:
        with jax.default_prng_impl(name):
            return jax.random.normal(jax.random.fold_in(jax.random.PRNGKey(seed), 1), (3,))

    return call, (abstract((), "int32"),)


def _narrow(draw: Draw) -> Program:
    dtype = draw.pick(("bfloat16", *EIGHT_BITS, "int4", "uint4", "complex64", "float16"))

    def call(x: Any) -> Any:
        wide = x.astype(jnp.complex64 if dtype == "complex64" else jnp.float32)
        return (
            (wide * np.float32(np.inf) + 1).astype(x.dtype),
            x,
            wide.astype(jnp.float32),
            jnp.zeros((3,), x.dtype) + x.dtype.type(2),
        )

    return call, (abstract((3,), dtype),)


def _sparse(draw: Draw) -> Program:
    from jax.experimental import sparse

    def call(x: Any, y: Any) -> Any:
        matrix = sparse.BCOO.fromdense(x, nse=4)
        shrunk = sparse.bcoo_sum_duplicates(matrix, nse=3)
        return matrix @ y, matrix.T.todense(), shrunk, sparse.bcoo_multiply_dense(matrix, x), matrix.sum(0)

    return call, (abstract((4, 3)), abstract((3, 2)))


def _sparsified(x: Any, y: Any) -> Any:
    from jax.experimental import sparse

    matrix = sparse.BCOO.fromdense(x, nse=5)
    return sparse.sparsify(lambda m, y: jnp.sin(m) @ y + (m * 2.0) @ y)(matrix, y)


def _pallas(draw: Draw) -> Program:
    from jax.experimental import pallas

    blocks = draw.pick((True, False))

    def double(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] * 2 + pallas.program_id(0) * blocks

    @functools.partial(jax.jit)
    def call(x: Any) -> Any:
        spec = pallas.BlockSpec((2, 4), lambda i: (i, 0))
        more = {"grid": (2,), "in_specs": [spec], "out_specs": spec} if blocks else {}
        return pallas.pallas_call(double, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True, **more)(x)

    return (lambda x: call(x)) if blocks else (lambda x: _whole_pallas(x)), (abstract((4, 4)),)


def _whole_pallas(x: Any) -> Any:
    from jax.experimental import pallas

    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[0, :] = jnp.sum(x_ref[...], axis=0)

    shape = jax.ShapeDtypeStruct((1, x.shape[1]), x.dtype)
    return pallas.pallas_call(kernel, out_shape=shape, interpret=True, name="total")(x)


def _shard_map(draw: Draw) -> Program:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "model"))
    spec = jax.sharding.PartitionSpec
    inner = jax.shard_map(
        lambda x, w: jax.lax.psum(jax.nn.relu(x @ w), "model"),
        mesh=mesh,
        in_specs=(spec("data", "model"), spec("model")),
        out_specs=spec("data"),
    )
    call = draw.pick((inner, lambda x, w: jax.grad(lambda w: inner(x, w).sum())(w), jax.jit(inner)))
    return call, (abstract((4, 6)), abstract((6, 2)))


def _placed(x: Any) -> Any:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    y = jax.lax.with_sharding_constraint(x, sharding)
    return jax.device_put(y, jax.devices()[0]) + jax.jit(jnp.sin, out_shardings=sharding)(y)


def _pure_callback(x: Any) -> Any:
    def host(v: Any, *, scale: float) -> Any:
        return np.asarray(v) * scale

    result = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.vmap(
        lambda r: jax.pure_callback(
            functools.partial(host, scale=2.0), jax.ShapeDtypeStruct(r.shape, r.dtype), r, vmap_method="sequential"
        )
    )(x) + jax.pure_callback(host, result, x, scale=1.0)


def _io_callback(x: Any) -> Any:
    from jax.experimental import io_callback

    y = io_callback(lambda v: np.asarray(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True)
    return y + io_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), y)


def _debug(x: Any) -> Any:
    jax.debug.print("x {x} of {}", x.sum(), x=x, ordered=True)
    jax.debug.callback(lambda v: None, x)
    return lax.fori_loop(0, 2, lambda i, v: (jax.debug.print("{}", i), v + 1)[1], x)


def _checkify(x: Any) -> Any:
    from jax.experimental import checkify

    def checked(x: Any) -> Any:
        checkify.check(jnp.all(x > 0), "smallest {}", jnp.min(x))
        return jnp.log(x)[0]

    error, y = checkify.checkify(checked, errors=checkify.all_checks)(x)
    return y, error.get_exception if error is None else 0


@jax.custom_jvp
def _clipped(x: Any) -> Any:
    return jnp.clip(x, -1, 1)


_clipped.defjvp(lambda primals, tangents: (_clipped(primals[0]), tangents[0] * 2))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _scaled(x: Any, factor: float) -> Any:
    return {"y": x * factor}


_scaled.defvjp(lambda x, factor: (_scaled(x, factor), x), lambda factor, saved, g: (g["y"] * saved,))


def _custom_rules(draw: Draw) -> Program:
    def call(x: Any) -> Any:
        return _scaled(_clipped(jnp.sin(x)), 3.0)["y"].sum()

    return draw.pick(
        (call, jax.grad(call), jax.jit(call), lambda x: jax.linearize(call, x)[1](x), lambda x: jax.vmap(_clipped)(x))
    ), (abstract((3,)),)


def _custom_batching(x: Any) -> Any:
    @jax.custom_batching.custom_vmap
    def inner(x: Any) -> Any:
        return jnp.sin(x)

    @inner.def_vmap
    def rule(size: Any, batched: Any, x: Any) -> Any:
        return inner(x), batched[0]

    return inner(x), jax.vmap(inner)(x)


def _closure(x: Any) -> Any:
    y = jax.closure_convert(lambda v: v * x, x)[0](x, *jax.closure_convert(lambda v: v * x, x)[1])
    return y, jax.custom_derivatives.linear_call(lambda r, v: r * v, lambda r, g: r * g, x, y)


def _remat(draw: Draw) -> Program:
    policies = jax.checkpoint_policies
    policy = draw.pick(
        (
            None,
            policies.dots_saveable,
            policies.nothing_saveable,
            policies.save_only_these_names("mid"),
            policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("mid")),
            policies.checkpoint_dots_with_no_batch_dims,
        )
    )

    @functools.partial(jax.checkpoint, policy=policy, prevent_cse=draw.pick((True, False)))
    def outer(x: Any) -> Any:
        inner = jax.checkpoint(lambda v: checkpoint_name(jnp.sin(v @ v), "mid"), policy=policies.everything_saveable)
        return jnp.cos(inner(x)).sum()

    return draw.pick(
        (outer, jax.grad(outer), lambda x: lax.scan(lambda c, _: (c * outer(x), None), 1.0, None, length=2))
    ), (abstract((3, 3)),)


def _references(x: Any) -> Any:
    make = (
        getattr(jax, "new_ref", None) or jax.experimental.mutable_array
        if hasattr(jax.experimental, "mutable_array")
        else jax.new_ref
    )
    ref = make(x)
    ref[0] = 1.0
    ref[...] += 2.0
    lax.fori_loop(0, 2, lambda i, _: ref.__setitem__(i, ref[i] * 2), None)
    return ref[...]


def _names(x: Any) -> Any:
    def inner(v: Any) -> Any:
        with jax.named_scope("at 0x7f00deadbeef"):
            return jnp.sin(v)

    return (
        jax.named_call(inner, name="/home/someone/secret")(x),
        jax.jit(functools.partial(inner))(x),
        jax.jit(operator.neg)(x),
    )


def _transforms(draw: Draw) -> Program:
    def f(x: Any) -> Any:
        return jnp.sum(jnp.tanh(x) ** 3)

    call = draw.pick(
        (
            jax.grad(f),
            jax.hessian(f),
            jax.jacfwd(jnp.sin),
            jax.jacrev(jnp.sin),
            jax.vmap(jax.grad(f)),
            lambda x: jax.jvp(f, (x,), (x,)),
            lambda x: jax.vjp(f, x)[1](1.0),
            lambda x: jax.linearize(f, x),
            jax.value_and_grad(lambda x: (f(x), {"aux": x}), has_aux=True),
            lambda x: ode.odeint(lambda y, t: -y, x, jnp.arange(3.0)),
            lambda x: jet.jet(jnp.sin, (x,), ((x, x),)),
            lambda x: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(x, x),
        )
    )
    return call, (abstract((3, 2)) if call is not None else abstract(()),)


def _solvers(draw: Draw) -> Program:
    sparse = jax.scipy.sparse.linalg
    solver = draw.pick((sparse.cg, sparse.gmres, sparse.bicgstab))
    call = draw.pick(
        (
            lambda x: solver(lambda v: x @ v, jnp.ones(3))[0],
            lambda x: jax.grad(lambda x: solver(lambda v: x @ v, jnp.ones(3))[0].sum())(x),
            lambda x: jax.scipy.optimize.minimize(lambda v: jnp.sum((x @ v) ** 2), jnp.ones(3), method="BFGS").x,
        )
    )
    return call, (abstract((3, 3)),)


def _numpy(draw: Draw) -> Program:
    call = draw.pick(
        (
            lambda x: jnp.einsum("ij,kj->ik", x, x),
            lambda x: jnp.sort(x, axis=0),
            jnp.median,
            lambda x: jnp.percentile(x, 30),
            lambda x: jnp.unique(x, size=3),
            lambda x: jnp.nonzero(x, size=2),
            lambda x: jnp.histogram(x, 3),
            jnp.cov,
            lambda x: jnp.convolve(x[0], x[1]),
            lambda x: jnp.fft.fftn(x),
            lambda x: jnp.interp(x, x[0], x[1]),
            jnp.argsort,
            lambda x: jnp.searchsorted(x[0], x),
            lambda x: jnp.pad(x, 1, mode="reflect"),
            lambda x: jnp.roll(x, 1, 0),
            jnp.var,
            lambda x: jax.nn.softmax(x),
            jax.nn.gelu,
            lambda x: jax.nn.one_hot(x[0].astype(int), 4),
            jax.nn.logsumexp,
            jnp.triu,
            lambda x: jax.image.resize(x, (6, 6), "bilinear"),
            lambda x: jax.scipy.signal.convolve2d(x, x),
            lambda x: jnp.linalg.norm(x),
            lambda x: jax.nn.dot_product_attention(*[x.reshape(1, 3, 1, 4)] * 3),
            lambda x: jnp.lexsort((x[0], x[1])),
            jnp.nanmean,
            lambda x: jax.scipy.ndimage.map_coordinates(x, [x[0], x[1]], 1),
            lambda x: jnp.piecewise(x, [x > 0], [jnp.sin, 2.0]),
            lambda x: jnp.polyfit(x[0], x[1], 1),
            lambda x: jnp.packbits(x > 0),
            lambda x: jnp.frexp(x),
            lambda x: jnp.apply_along_axis(jnp.sum, 0, x),
            lambda x: jax.ops.segment_max(x, jnp.array([0, 0, 1]), 2),
            lambda x: jax.lax.top_k(x, 2),
            jax.scipy.special.logsumexp,
            lambda x: x @ x.T,
        )
    )
    return call, (abstract((3, 4)),)


OTHERS: dict[str, tuple[Callable[[Draw], Program], int]] = {
    "indexing": (_indexing, 24),
    "updates": (_updates, 16),
    "linalg": (_linalg, 27),
    "random": (_random, 30),
    "legacy_random": (_legacy_random, 3),
    "narrow": (_narrow, 10),
    "sparse": (_sparse, 1),
    "sparsified": (_fixed(_sparsified, (4, 3), (3, 2)), 1),
    "pallas": (_pallas, 4),
    "shard_map": (_shard_map, 5),
    "placed": (_fixed(_placed, (4,)), 1),
    "pure_callback": (_fixed(_pure_callback, (3, 2)), 1),
    "io_callback": (_fixed(_io_callback, (3,)), 1),
    "debug": (_fixed(_debug, (3,)), 1),
    "checkify": (_fixed(_checkify, (3,)), 1),
    "custom_rules": (_custom_rules, 8),
    "custom_batching": (_fixed(_custom_batching, (3,)), 1),
    "closure": (_fixed(_closure, (3,)), 1),
    "remat": (_remat, 14),
    "references": (_fixed(_references, (3,)), 1),
    "names": (_fixed(_names, (3,)), 1),
    "transforms": (_transforms, 16),
    "solvers": (_solvers, 8),
    "numpy": (_numpy, 48),
    "reduce_several": (_fixed(_reduce_several, (2, 3), ((2, 3), "int32")), 1),
    "scatter": (lambda draw: _scatter("scatter_add")(draw), 3),
    "convolution": (_convolution, 10),
    "dot_general": (_dot_general, 4),
    "gather": (_gather, 8),
    "reduce": (_reduce, 4),
    "reduce_window": (_reduce_window, 6),
    "pooling": (_pooling, 6),
    "fft": (_fft, 4),
    "rng_bits": (_rng_bits, 3),
    "casts": (LAX["convert_element_type"], 8),
}


# --- nested ----------------------------------------------------------------------------------------------------------


def composed(draw: Draw, builders: list[Callable[[Draw], Program]]) -> Program:
    """Programs of the catalogue inside random transformations, fed by one array of their own each."""
    parts = [draw.pick(builders)(draw) for _ in range(int(draw.rng.integers(2, 5)))]
    calls = [call for call, _ in parts]
    counts = [len(args) for _, args in parts]
    forms = [int(draw.rng.integers(6)) for _ in parts]

    def call(flag: Any, *args: Any) -> Any:
        results: list[Any] = []
        rest = list(args)
        for part, count, form in zip(calls, counts, forms, strict=True):
            own, rest = rest[:count], rest[count:]
            results.append(wrapped(part, own, flag, form))
        return results

    def wrapped(part: Any, own: Any, flag: Any, form: int) -> Any:
        if form == 0:
            return jax.jit(lambda *own: part(*own))(*own)
        if form == 1:
            return lax.cond(flag > 0, lambda own: part(*own), lambda own: jax.jit(part)(*own), own)
        if form == 2:
            return lax.scan(lambda carry, _: (carry + 1, part(*own)), flag, None, length=2)
        if form == 3:
            return jax.checkpoint(lambda *own: part(*own))(*own)
        if form == 4:
            return lax.fori_loop(0, flag, lambda i, kept: lax.optimization_barrier((part(*own), kept))[1], flag)
        return jax.vmap(lambda i: part(*own))(jnp.arange(2))

    return call, (abstract((), "int32"), *(arg for _, args in parts for arg in args))


NUMBERED = ("checkify:0",)
"""Programs in which JAX writes numbers that it counts up with every trace of a process."""


def catalogue() -> tuple[dict[str, Callable[[], Program]], list[str]]:
    """Every program by its name, and the names of `jax.lax` that nothing here can call."""
    operations, unknown = lax_operations()
    found: dict[str, Callable[[], Program]] = {}
    for at, (name, builder) in enumerate(operations.items()):
        found[name] = functools.partial(builder, Draw(at))
    for name, (builder, count) in OTHERS.items():
        for seed in range(count):
            found[f"{name}:{seed}"] = functools.partial(builder, Draw(1000 + seed))
    plain = [builder for name, builder in operations.items() if name.removeprefix("lax.") not in _MAPPED]
    plain += [_indexing, _updates, _numpy, _custom_rules, _remat]
    for seed in range(60):
        found[f"composed:{seed}"] = functools.partial(composed, Draw(5000 + seed), plain)
    return found, unknown


_MAPPED = frozenset(
    # inside other transformations these are refused by JAX or end in another program
    [
        "pcast",
        "pmean",
        "ppermute",
        "pshuffle",
        "psum",
        "psum_scatter",
        "ragged_all_to_all",
        "all_gather",
        "all_to_all",
        "pswapaxes",
        "pbroadcast",
        "axis_index",
        "axis_size",
        "pmax",
        "pmin",
        "rng_uniform",
        "create_token",
        "after_all",
        "platform_dependent",
        "ragged_dot_general",
        "scaled_dot",
        "custom_root",
        "custom_linear_solve",
        "with_sharding_constraint",
        "stage",
        "dce_sink",
    ]
)
