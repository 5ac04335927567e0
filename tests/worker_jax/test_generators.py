"""Generated arrays of constructors, in every dtype, in the real worker; inputs, of which no element is made."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tvls.setup.dtypes import DTYPES, resolve_dtype
from tvls.setup.findings import Finding, is_error
from tvls.setup.schema import GENERATORS
from tvls.setup.values import check_value

from .batches import documents, request

pytestmark = pytest.mark.timeout(600)

MODEL = """
import json
import jax, numpy as np
import flax.linen as nn


class Net(nn.Module):
    table: jax.Array
    file: str

    def __call__(self, x):
        table = self.table
        if jax.dtypes.issubdtype(table.dtype, jax.dtypes.prng_key):
            with jax.ensure_compile_time_eval():
                values = np.asarray(jax.random.key_data(table)).astype(float)
        else:
            values = np.asarray(table)
            values = np.stack([values.real, values.imag]) if values.dtype.kind == "c" else values
            values = values.astype(float)
        open(self.file, "w").write(json.dumps([list(table.shape), str(table.dtype), values.ravel().tolist()]))
        return x


def peak(x):
    import resource
    open("peak", "w").write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
    return x + 1
"""
GIVEN: dict[str, dict[str, Any]] = {"full": {"value": 1}, "randint": {"low": 0, "high": 2}}
NAMES = [*(name for name in DTYPES if name not in {"int1", "uint1"}), "key<fry>", "key<rbg>", "key<urbg>"]
NOT_IN_JAX = {"float6_e2m3fn", "float6_e3m2fn"}
"""Names that a setup may have and that JAX itself does not."""
OWN: dict[str, dict[str, Any]] = {
    "float8_e8m0fnu": {"arange": {"start": 1}, "uniform": {"low": 1, "high": 4}},
    "int2": {"arange": {"start": -2, "step": 0}},
    "uint2": {"arange": {"start": 3, "step": 0}},
}


def tensor(dtype: str, kind: str | None = None, shape: tuple[int, ...] = (2, 3), **given: Any) -> dict[str, Any]:
    generator = {} if kind is None else {"generator": {"kind": kind, **given}}
    return {"kind": "tensor", "shape": list(shape), "dtype": dtype, **generator}


def checked(value: Any) -> Any:
    """As a profile hands it to the worker."""
    found: list[Finding] = []
    result = check_value(value, (), found)
    assert not is_error(found), found
    return result


def made(name: str) -> list[tuple[str, str | None, dict[str, Any]]]:
    family = resolve_dtype(name).family
    if family == "key":
        return [(name, None, {})]
    own = OWN.get(name, {})
    return [
        (name, kind, {**GIVEN.get(kind, {}), **own.get(kind, {})})
        for kind, generator in GENERATORS.items()
        if family in generator.families and not (name == "float8_e8m0fnu" and kind in {"zeros", "normal"})
    ]


CASES = {f"{name}-{kind}": (name, kind, given) for name in NAMES for name, kind, given in made(name)}


def of(workspace: Path, file: str, value: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    init = {"kwargs": {"table": checked(value), "file": file}}
    return request(workspace, "generated", "Net", [tensor("float32")], init=init, kind="flax.linen", seed=seed)


@pytest.fixture(scope="module")
def answers(models_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """`{name: [shape, dtype, values]}`, or the failure."""
    workspace = tmp_path_factory.mktemp("generated")
    (workspace / "generated.py").write_text(MODEL)
    requests = {name: of(workspace, name, tensor(dtype, kind, **given)) for name, (dtype, kind, given) in CASES.items()}
    requests |= {
        "again": of(workspace, "again", tensor("float32", "normal")),
        "seeded": of(workspace, "seeded", tensor("float32", "normal"), seed=7),
        "wide": of(workspace, "wide", tensor("uint64", "randint", low=2**62, high=2**63 - 1)),
        "narrow": of(workspace, "narrow", tensor("float8_e4m3fn", "normal", (64, 64), std=400)),
        "scalar": of(workspace, "scalar", tensor("key<fry>", shape=())),
        "empty": of(workspace, "empty", tensor("float32", "normal", (0, 3))),
        "steps": of(workspace, "steps", tensor("int32", "arange", start=5, step=-2)),
    }
    found: dict[str, Any] = {}
    for name, document in documents(models_python, requests, JAX_ENABLE_X64="1").items():
        file = workspace / name
        found[name] = document["failure"] if "failure" in document else json.loads(file.read_text() or "null")
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_generator_makes_every_dtype_it_can(answers: dict[str, Any], name: str) -> None:
    # R9
    dtype, kind, given = CASES[name]
    if dtype in NOT_IN_JAX:
        failure = answers[name]
        assert (failure["kind"], failure["key"]) == ("dtype", "init.kwargs.table.dtype")
        assert dtype in failure["message"]
        return
    shape, got, values = answers[name]
    assert (shape, got) == ([2, 3], dtype)
    assert all(math.isfinite(value) for value in values)
    real = values[: len(values) // 2] if dtype.startswith("complex") else values
    match kind:
        case "zeros":
            assert set(values) == {0}
        case "ones" | "full":
            assert set(real) == {1}
        case "arange":
            start, step = given.get("start", 0), given.get("step", 1)
            exact = [start + step * index for index in range(6)]
            assert all(abs(a - b) <= 0.34 * abs(b) for a, b in zip(real, exact, strict=True))
        case "uniform":
            assert all(given.get("low", 0) <= value <= given.get("high", 1) for value in values)
        case "randint" | "bernoulli":
            assert set(values) <= {0, 1, -1} - ({-1} if dtype != "int2" else set())
        case _:
            assert len(set(values)) > 1  # keys and normal draws differ


def test_draws_follow_the_seed(answers: dict[str, Any]) -> None:
    # R9: equal setup, equal capture
    assert answers["again"] == answers["float32-normal"]
    assert answers["seeded"] != answers["again"]


def test_edges(answers: dict[str, Any]) -> None:
    assert all(2**62 <= value <= 2**63 for value in answers["wide"][2])
    assert max(answers["narrow"][2]) == 448
    assert min(answers["narrow"][2]) == -448
    assert answers["scalar"][:2] == [[], "key<fry>"]
    assert answers["empty"] == [[0, 3], "float32", []]
    assert answers["steps"][2] == [5, 3, 1, -1, -3, -5]


def test_of_inputs_no_element_is_made(models_python: str, tmp_path: Path) -> None:
    # R13, R32: the largest input there may be costs no memory, whatever its generator
    (tmp_path / "generated.py").write_text(MODEL)
    peaks: list[int] = []
    for shape in ((2, 2), (2048, 2048)):
        value = checked(tensor("complex64", "normal", shape))
        (document,) = documents(
            models_python, {"peak": request(tmp_path, "generated", "peak", [value])}, JAX_ENABLE_X64="1"
        ).values()
        assert "failure" not in document, document["failure"]
        peaks.append(int((tmp_path / "peak").read_text()))
    elements = 2048 * 2048 * 8 // 1024  # KiB
    assert peaks[1] - peaks[0] < elements // 2


@pytest.mark.parametrize(
    ("dtype", "generator", "says"),
    [
        ("bool", {"kind": "randint", "high": 2}, "'bernoulli' does"),
        ("float32", {"kind": "randint", "high": 2}, "'uniform' does"),
        ("int32", {"kind": "normal"}, "'randint' does"),
        ("bool", {"kind": "arange"}, "bool cannot hold"),
        ("int8", {"kind": "full", "value": 300}, "outside int8's -128…127"),
        ("int4", {"kind": "arange", "start": 5}, "ends at 10"),
        ("uint4", {"kind": "full", "value": -1}, "outside uint4's 0…15"),
        ("float16", {"kind": "full", "value": 1e6}, "outside float16's -65504…65504"),
        ("float8_e4m3fn", {"kind": "full", "value": 500}, "outside float8_e4m3fn's -448…448"),
        ("float8_e8m0fnu", {"kind": "zeros"}, "it has no 0"),
        ("bool", {"kind": "bernoulli", "p": 1.5}, "from 0 to 1"),
        ("int32", {"kind": "randint", "low": 3, "high": 3}, "high must be above low"),
        ("float32", {"kind": "normal", "std": -1}, "cannot be negative"),
        ("key<fry>", {"kind": "ones"}, "made from the profile's seed"),
        ("float32", {"kind": "gaussian"}, "one of full, zeros"),
    ],
)
def test_what_makes_no_sense_is_told(dtype: str, generator: dict[str, Any], says: str) -> None:
    # R9
    found: list[Finding] = []
    check_value({**tensor(dtype), "generator": generator}, (), found)
    assert any(says in finding.message for finding in found), found
