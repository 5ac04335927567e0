"""What a failure has to say of each mistake in models/failing.py. Read by the tests and by runner.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cases import Case, factory, tensor


@dataclass
class Failing:
    """`says`: in the message. `hints`: in the hint. `at`: the source line of the first frame."""

    case: Case
    says: tuple[str, ...]
    hints: tuple[str, ...]
    at: str
    type: str = "TypeError"
    phase: str = "trace"
    kind: str = "exception"
    limits: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"


@dataclass
class _Nnx(Case):
    @property
    def kind(self) -> str:
        return "flax.nnx"


def _of(name: str, *args: Any, **more: Any) -> Case:
    return Case("failing", name, list(args), **more)


_x = tensor(3)
_state = {"obs": tensor(3), "reward": tensor(), "done": tensor()}
_concrete = "jax.errors.ConcretizationTypeError"
_flax = "flax.errors."
FAILING = {
    f"failing.{failing.case.name}": failing
    for failing in [
        Failing(
            _of("carry_dtype", tensor(2)),
            ("scan: carry component carry[1] is int32[] before and float32[] after",),
            ("carry[1]", "astype"),
            "def body(carry, _):",
        ),
        Failing(
            _of("carry_shape", _state, tensor(4, 3)),
            ("scan: carry component state['reward'] is float32[] before and float32[1] after",),
            ("shape",),
            "def step(state, action):",
        ),
        Failing(
            _of("carry_structure", _x),
            ("scan: ", "loop_carry[1] is an array but", "is a tuple"),
            ("structure",),
            "def _two(_, x):",
        ),
        Failing(
            _of("while_dtype", _x),
            ("while_loop: carry component x is float32[3]", "int32[3]"),
            ("astype",),
            "def halve(x):",
        ),
        Failing(
            _of("branches", _x),
            ("cond: ", "float32[3]", "float32[2]"),
            ("same",),
            "return jax.lax.cond(x.sum() > 0, lambda x: x, lambda x: x[:2], x)",
        ),
        Failing(
            _of("branch_of", _x, tensor()),
            ("true", "`x` and `threshold`"),
            ("static", "jax.lax.cond"),
            "if x.sum() > threshold:",
            "jax.errors.TracerBoolConversionError",
        ),
        Failing(
            _of("size_of", tensor(2), tensor(dtype="int32")),
            ("shape", "depends on `count`"),
            ("`count` is an array in the setup: a plain Python value there stays static",),
            "return jnp.zeros((count, 2)) + x",
        ),
        Failing(
            _of("flag_of_jit", _x),
            ("true", "`negate`"),
            ("`_signed` can have `negate` static", "static_argnames=('negate',)", "jax.lax.cond"),
            "return -x if negate else x",
            "jax.errors.TracerBoolConversionError",
        ),
        Failing(
            _of("decided_by_array", _x),
            ("true", "`x`"),
            ("^jnp.where or jax.lax.cond decides inside the program$",),
            "return x if jnp.sum(x) > 0 else -x",
            "jax.errors.TracerBoolConversionError",
        ),
        Failing(
            _of("entry", _x, tensor(dtype="int32")),
            ("integer", "`at`"),
            ("`at` is an array in the setup",),
            "return [1.0, 2.0, 3.0][at] * table",
            "jax.errors.TracerIntegerConversionError",
        ),
        Failing(
            _of("in_numpy", _x),
            ("NumPy", "float32[3]", "`x`"),
            ("jax.numpy",),
            "return np.tanh(np.asarray(x))",
            "jax.errors.TracerArrayConversionError",
        ),
        Failing(
            _of("as_float", {"scale": _x}),
            ("`float`", "`config/scale`"),
            ("x.astype",),
            'return float(config["scale"][0])',
            _concrete,
        ),
        Failing(
            _of("mask", _x),
            ("boolean index", "bool[3]"),
            ("jnp.where",),
            "return x[x > 0]",
            "jax.errors.NonConcreteBooleanIndexError",
        ),
        Failing(
            _of("meshed", tensor(8)),
            ("Number of devices 1", "(4, 2)"),
            ("is one device", "set XLA_FLAGS=--xla_force_host_platform_device_count=8 in the environment"),
            'mesh = jax.make_mesh((4, 2), ("a", "b"))',
            "ValueError",
        ),
        Failing(
            _of("meshed_by_hand", tensor(8)),
            ("cannot reshape",),
            ("--xla_force_host_platform_device_count=8",),
            'mesh = Mesh(np.array(jax.devices()).reshape(8), ("a",))',
            "ValueError",
        ),
        Failing(
            _of("string_to_jit", _x),
            ("`mode` of _apply is a str",),
            ("static_argnames=('mode',)",),
            'return _apply(x, mode="add")',
        ),
        Failing(
            _of("Leaking", _x),
            ("`failing.LAST` still holds a traced value (float32[3]), made at failing.py:",),
            ("return the value",),
            "y = nn.Dense(3)(x if LAST[0] is None else x + LAST[0])",
            "jax.errors.UnexpectedTracerError",
        ),
        Failing(
            _of("draws_twice", tensor()),
            ("`failing.KEY` still holds a traced value", "made at failing.py:", "in draw"),
            ("return the value",),
            "return jax.jit(draw)(x) + jax.jit(lambda y: draw(y))(x)",
            "jax.errors.UnexpectedTracerError",
        ),
        Failing(
            _of("endless", _x), ("recursion",), ("`endless` calls itself",), "return endless(x + 1)", "RecursionError"
        ),
        Failing(
            _of("leaves", _x),
            ("sys.exit('usage: train.py CONFIG')",),
            ("__main__",),
            'raise SystemExit("usage: train.py CONFIG")',
            "SystemExit",
        ),
        Failing(
            _of("too_large", _x),
            ("more memory than the limit of",),
            (),
            "return x + np.ones((1 << 45,), np.float32)",
            "numpy._core._exceptions._ArrayMemoryError",
            kind="limit",
        ),
        Failing(
            _of("of_another_version", _x),
            ("clip() got an unexpected keyword argument 'a_max'",),
            ("jax.numpy.clip of JAX", "max"),
            "return -jnp.clip(positions, a_max=0)",
        ),
        Failing(_of("removed", _x), ("tree_map",), (), "return jax.tree_map(jnp.sin, x)", "AttributeError"),
        Failing(_of("contraction", _x), ("(3,) and (4,)",), (), "return hidden @ jnp.ones((4, 2))"),
        Failing(_of("handled_first", _x), ("(3,) and (5,)",), (), "return x @ jnp.ones((5, 5))"),
        Failing(
            _of("gradient_of_vector", _x), ("scalar-output", "(3,)"), ("sum or mean",), "return jax.grad(jnp.sin)(x)"
        ),
        Failing(_of("assigns", _x), ("immutable",), (".at[index].set",), "x[0] = 1"),
        Failing(
            _of("in_backward_pass", _x),
            ("float32[2]", "float32[3]"),
            (),
            "return jax.grad(lambda x: _twice(x).sum())(x)",
            "ValueError",
        ),
        Failing(
            _of("boxes", inputs=factory("failing", "make_boxes")),
            ("boxes are [n, 4]",),
            ("tree_unflatten",),
            'raise ValueError("boxes are [n, 4]")',
            "ValueError",
        ),
        Failing(
            _of("contraction", inputs=factory("failing", "make_nothing"), label=":inputs"),
            ("'undefined' is not defined",),
            (),
            'return {"x": undefined}  # noqa: F821',
            "NameError",
            "inputs",
        ),
        Failing(
            _of("Property", _x),
            ('no attribute "scal" in the property `wide`',),
            ("property",),
            "return self.scal * 4",
            _flax + "DescriptorAttributeError",
            "init",
        ),
        Failing(_of("Setup", _x), ('"widht"',), (), "self.dense = nn.Dense(self.widht)", "AttributeError", "init"),
        Failing(
            _of("apply_batch_norm", inputs=factory("failing", "make_batch_norm")),
            ('Cannot update variable "mean"', '"batch_stats" is immutable'),
            ("mutable=['batch_stats']",),
            "return nn.BatchNorm(use_running_average=False)(x)",
            _flax + "ModifyScopeVariableError",
        ),
        Failing(
            _of("apply_dropout", _x),
            ('needs PRNG for "dropout"',),
            ("rngs={'dropout': key}",),
            "return nn.Dropout(0.5, deterministic=False)(x)",
            _flax + "InvalidRngError",
        ),
        Failing(
            _of("NoCompact", _x),
            ("Dense must be defined",),
            ("@nn.compact",),
            "return nn.Dense(3)(x)",
            _flax + "AssignSubModuleError",
            "init",
        ),
        Failing(
            _of("Attribute", _x),
            ("seen",),
            ("setup",),
            "self.seen = x",
            _flax + "SetAttributeFrozenModuleError",
            "init",
        ),
        Failing(
            _of("OtherShape", tensor(2, 4), init=factory("failing", "make_other_shape")),
            ("kernel", "(4, 3)", "(5, 3)"),
            ("another shape",),
            "return nn.Dense(3)(x)",
            _flax + "ScopeParamShapeError",
        ),
        Failing(
            _Nnx("failing", "Plain", [_x]),
            ("`layers` is a plain list",),
            ("nnx.List",),
            "self.layers = [nnx.Linear(3, 3, rngs=rngs) for _ in range(2)]",
            "ValueError",
            "init",
        ),
        Failing(
            _Nnx("failing", "NoStreams", [_x]),
            ("no `rngs` argument was provided to Dropout",),
            ("nnx.Dropout(…, rngs=rngs)",),
            "return self.drop(x)",
            "ValueError",
        ),
        Failing(_Nnx("failing", "Deep", [_x]), ("(3,) and (4,)",), (), "return self.linear(x)"),
        Failing(
            _Nnx("failing", "Closed", [_x]),
            ("different trace level",),
            ("nnx.jit",),
            "self.count[...] += 1",
            _flax + "TraceContextError",
        ),
    ]
}
