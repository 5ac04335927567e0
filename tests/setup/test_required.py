"""What a target still needs from a setup, and what it cannot take."""

from __future__ import annotations

import ast
from typing import Any

import msgspec
import pytest

from tests.setup.targets import found_target
from tvls.analysis.types import FoundTarget, Parameter
from tvls.protocol.errors import TvlsError
from tvls.protocol.types import CallSetup, InlineSetup
from tvls.setup.inline import inline_profile
from tvls.setup.kinds import value_kind
from tvls.setup.read import read_setup
from tvls.setup.required import missing

NOTHING = CallSetup()
TENSOR = {"kind": "tensor", "shape": [2], "dtype": "float32"}


def parameters(signature: str) -> list[Parameter]:
    """Parameters from a Python signature, as the analysis would give them."""
    arguments = ast.parse(f"def f({signature}): ...").body[0].args  # type: ignore[attr-defined]

    def source(node: ast.expr | None) -> str | None:
        return None if node is None else ast.unparse(node)

    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    found = [
        Parameter(
            a.arg,
            "positional_only" if a in arguments.posonlyargs else "positional_or_keyword",
            source(a.annotation),
            source(default),
        )
        for a, default in zip(positional, defaults, strict=True)
    ]
    if arguments.vararg:
        found.append(Parameter(arguments.vararg.arg, "var_positional"))
    found += [
        Parameter(a.arg, "keyword_only", source(a.annotation), source(default))
        for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        found.append(Parameter(arguments.kwarg.arg, "var_keyword"))
    return found


def target(kind: Any = "jax.function", call: str = "x", init: str = "") -> FoundTarget:
    return found_target(
        "net",
        kind,
        path="/w/model.py",
        module="model",
        column=4,
        end_column=7,
        parameters=parameters(call),
        init_parameters=parameters(init),
    )


def lacking(found: FoundTarget, inputs: CallSetup = NOTHING, init: CallSetup = NOTHING) -> dict[str, str]:
    wanted, problems = missing(found, inline_profile(found, InlineSetup(inputs=inputs, init=init)))
    assert problems == []
    return {value.key: value.kind for value in wanted if value.required}


def refused(found: FoundTarget, inputs: CallSetup = NOTHING, init: CallSetup = NOTHING) -> dict[str, str]:
    _, problems = missing(found, inline_profile(found, InlineSetup(inputs=inputs, init=init)))
    return {problem.key: problem.message for problem in problems}


def test_everything_is_missing_without_a_profile() -> None:  # R10
    wanted, problems = missing(target(call="x, train: bool, n: int = 3, *rest, scale, **more"), None)
    assert problems == []
    assert [(w.key, w.parameter, w.kind, w.required, w.default) for w in wanted] == [
        ("inputs.args[0]", "x", "tensor", True, None),
        ("inputs.args[1]", "train", "value", True, None),
        ("inputs.kwargs.n", "n", "value", False, "3"),
        ("inputs.kwargs.scale", "scale", "unknown", True, None),
    ]


@pytest.mark.parametrize(
    ("signature", "args", "kwargs", "wanted"),
    [
        ("x, y", [TENSOR], {}, ["inputs.args[1]"]),
        ("x, y", [], {"x": TENSOR}, ["inputs.kwargs.y"]),
        ("x, y", [], {"y": TENSOR}, ["inputs.args[0]"]),
        ("x, y, z", [], {"y": TENSOR}, ["inputs.args[0]", "inputs.kwargs.z"]),
        ("x, /, y", [], {"y": TENSOR}, ["inputs.args[0]"]),
        ("x, y=None, *, z", [TENSOR], {}, ["inputs.kwargs.z"]),
        ("*xs", [], {}, []),
        ("x, *xs", [TENSOR, TENSOR, TENSOR], {}, []),
        ("x, /, **kw", [TENSOR], {"x": 1}, []),
        ("", [], {}, []),
    ],
)
def test_arguments_bind_as_python_binds_them(
    signature: str, args: list[Any], kwargs: dict[str, Any], wanted: list[str]
) -> None:  # R10, R11
    assert list(lacking(target(call=signature), CallSetup(args=args, kwargs=kwargs))) == wanted


def test_arguments_that_do_not_fit() -> None:
    two = target(call="x, train")
    assert "takes 2 positional arguments" in refused(two, CallSetup(args=[1, 2, 3]))["inputs.args[2]"]
    assert "given twice" in refused(two, CallSetup(args=[1], kwargs={"x": 1, "train": True}))["inputs.kwargs.x"]
    assert "'train'" in refused(two, CallSetup(args=[1], kwargs={"trian": True}))["inputs.kwargs.trian"]
    assert "inputs.kwargs.x" in refused(target(call="x, /"), CallSetup(args=[1], kwargs={"x": 2}))
    assert "no positional" in refused(target(call="*, x"), CallSetup(args=[1]))["inputs.args[0]"]


def test_a_function_has_no_constructor() -> None:  # R11
    assert "no constructor" in refused(target(), CallSetup(args=[TENSOR]), CallSetup(kwargs={"a": 1}))["init"]


def test_a_factory_satisfies_everything() -> None:  # R12
    factory = CallSetup(factory={"file": "f.py", "callable": "make"})
    for kind in ("flax.linen", "flax.nnx", "torch.module"):
        assert lacking(target(kind, "x, y", "width: int"), factory, factory) == {}
    assert lacking(target(call="x, y"), factory) == {}
    # A function's factory returns a configured callable, whose signature is not in the source.
    assert refused(target(call="x, y"), CallSetup(args=[1]), factory) == {}


def test_constructor_fields() -> None:  # R10
    linen = target("flax.linen", "x, train: bool", "features: int, act: Callable, dtype: Any = jnp.float32")
    assert lacking(linen, CallSetup(args=[TENSOR], kwargs={"train": False})) == {
        "init.kwargs.features": "value",
        "init.kwargs.act": "unknown",
    }
    given = CallSetup(kwargs={"features": 3, "act": "relu", "name": "net", "parent": {"kind": "none"}})
    assert lacking(linen, CallSetup(args=[TENSOR, True]), given) == {}


def test_rngs_of_an_nnx_constructor_are_supplied() -> None:
    for signature in (
        "din: int, *, rngs: nnx.Rngs",
        "din: int, *, r: nnx.Rngs",
        "din: int, rngs",
        "din: int, *, r: 'Rngs'",
    ):
        assert lacking(target("flax.nnx", "x", signature), CallSetup(args=[TENSOR])) == {"init.kwargs.din": "value"}
    # But not those of a call, nor in other frameworks.
    assert "inputs.args[0]" in lacking(target("flax.nnx", "rngs"))
    assert "init.kwargs.rngs" in lacking(target("torch.module", "", "rngs"))


def test_signatures_that_source_does_not_show_are_left_to_the_trace() -> None:
    built_in = target("flax.nnx", "", "")
    assert refused(built_in, CallSetup(args=[TENSOR]), CallSetup(args=[3, 4])) == {}


def test_dimensions_are_asked_for_not_guessed() -> None:  # R10
    setup = read_setup(
        'version = 1\n[profiles.p]\nframework = "jax"\nmodel = "model:net"\n'
        'inputs = { args = [{ kind = "tensor", dtype = "f32" }], kwargs = { y = [{ kind = "tensor", shape = [] }] } }'
    )
    assert setup.problems == []
    wanted, problems = missing(target(call="x, y"), setup.profiles["p"], setup)
    assert problems == []
    assert [(w.key, w.parameter, w.required) for w in wanted] == [
        ("inputs.args[0].shape", "x", True),
        ("inputs.kwargs.y[0].dtype", "y", True),
    ]
    assert [w.key for w in missing(None, setup.profiles["p"])[0]] == [w.key for w in wanted]


def test_a_profile_of_another_framework() -> None:
    setup = read_setup('version = 1\n[profiles.p]\nmodel = "model:net"\nseed = 1\ninputs.args = [1]\ninit.args = [2]')
    _, problems = missing(target(), setup.profiles["p"], setup)
    assert [(p.key, p.line) for p in problems] == [("profiles.p.framework", 1), ("profiles.p.init", 5)]
    assert "framework = 'jax'" in problems[0].message
    # Framework of an inline setup follows the target.
    for kind, framework in (("torch.module", "torch"), ("flax.nnx", "jax")):
        assert inline_profile(target(kind), InlineSetup()).framework == framework


@pytest.mark.parametrize(
    ("parameter", "kind"),
    [
        ("a: jax.Array", "tensor"),
        ("a: 'jnp.ndarray | None' = None", "tensor"),
        ("a: Optional[Tensor]", "tensor"),
        ("a: Float[Array, 'batch dim']", "tensor"),
        ("a: Float32[Array, '']", "tensor"),
        ("a: jaxtyping.Int[jax.Array, 'b']", "tensor"),
        ("a: Annotated[jax.Array, 'x']", "tensor"),
        ("a: ArrayLike | float", "tensor"),
        ("a: int", "value"),
        ("a: Optional[int] = None", "value"),
        ("a: Literal['same', 'valid']", "value"),
        ("a: Sequence[int]", "value"),
        ("a: tuple[int, ...]", "value"),
        ("a: dict[str, float]", "value"),
        ("a: list[jax.Array]", "unknown"),
        ("a: Params", "unknown"),
        ("a: Callable[[int], int]", "unknown"),
        ("x: Config", "unknown"),
        ("a: None", "unknown"),
        ("a: 'not python ('", "unknown"),
        ("a: 'x' \"'\"", "unknown"),
        ("a=True", "value"),
        ("a=(1, 2)", "value"),
        ("a=None", "unknown"),
        ("mask=None", "tensor"),
        ("a=nn.relu", "unknown"),
        ("input_ids", "tensor"),
        ("attention_mask", "tensor"),
        ("params", "unknown"),
    ],
)
def test_kinds_of_parameters(parameter: str, kind: str) -> None:  # R10
    (read,) = parameters(parameter)
    assert value_kind(read) == kind


def test_inline_setups_are_checked_like_saved_ones() -> None:
    bad = InlineSetup(
        device="cuda",
        seed=-1,
        inputs=CallSetup(args=[{"kind": "tensor", "shape": [2, None], "dtype": "f33"}], kwargs={"k": None}),
    )
    with pytest.raises(TvlsError) as caught:
        inline_profile(target(), bad)
    assert caught.value.kind == "setupInvalid"
    assert {problem.key for problem in caught.value.data.problems or []} == {
        "device",
        "seed",
        "inputs.args[0].shape[1]",
        "inputs.args[0].dtype",
    }


def test_an_inline_setup_equals_the_saved_one() -> None:
    saved = read_setup(
        'version = 1\n[profiles.p]\nframework = "jax"\nmodel = "model:net"\nseed = 3\n'
        'inputs = { args = [{ kind = "tensor", shape = [2], dtype = "f32" }], kwargs = { a = { kind = "none" } } }'
    ).profiles["p"]
    inline = inline_profile(target(), InlineSetup(seed=3, inputs=CallSetup(args=[TENSOR], kwargs={"a": None})))
    assert inline.digest == saved.digest
    assert "profile" not in inline.to_worker()


def test_gradients_are_refused_for_jax_only() -> None:  # R13
    grad = CallSetup(args=[{**TENSOR, "requires_grad": True}])
    with pytest.raises(TvlsError, match="requires_grad"):
        inline_profile(target(), InlineSetup(inputs=grad))
    assert inline_profile(target("torch.module"), InlineSetup(inputs=grad)).inputs.args[0]["requires_grad"] is True


def test_a_library_base_may_take_more_than_the_source_shows() -> None:
    wide = target("flax.linen", init="scale: float = 1.0")
    init = CallSetup(args=[8, 4], kwargs={"features": 4})
    assert refused(wide, CallSetup(args=[TENSOR]), init)
    assert not refused(msgspec.structs.replace(wide, more_init_parameters=True), CallSetup(args=[TENSOR]), init)
