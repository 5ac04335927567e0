# ruff: noqa: RUF001 - the multiplication sign is meant
"""The readable text of a capture."""

from __future__ import annotations

import pytest

from tvls.graph import outline
from tvls.graph.text import float_text, short_dtype

from .captures import Json, as_capture, document, frame, mlp, operation, value, with_bodies


def text(found: Json, **options: int | None) -> str:
    return outline(as_capture(found), **options)  # type: ignore[arg-type]


def test_what_the_capture_is_comes_first() -> None:
    lines = text(mlp()).splitlines()
    assert lines[0] == "model:net  (jax.function)  model.py:4"
    assert "versions: jax 0.10.2, python 3.11.7" in lines
    assert "coverage: traced program, complete" in lines
    inputs = lines[lines.index("inputs:") + 1 : lines.index("outputs:")]
    assert [line.split() for line in inputs] == [['args[0]["a', 'b"]', "i32[7]"], ["x", "f32[2,3]"]]


def test_operations_with_operands_results_and_source() -> None:
    shown = text(mlp())
    assert "Dense_0 (Dense, module)   model.py:6\n" in shown
    assert "dot_general  f32[2,3] · params/Dense_0/kernel:f32[3,8] → f32[2,8]   model.py:6\n" in shown
    assert "max  f32[2,8] · 0.0:f32 → f32[2,8]   model.py:7\n" in shown
    assert "neg  f32[2,4] → f32[2,4]*   model.py:9\n" in shown  # a weak type has a star
    assert "model.Note, not an array" in shown
    depth = {
        line.strip().split()[0]: len(line) - len(line.lstrip()) for line in shown.splitlines() if "   model" in line
    }
    assert depth["dot_general"] > depth["Dense_0"] == depth["mul"]


def test_partial_coverage_in_words() -> None:  # R17
    shown = text(with_bodies())
    assert "coverage: traced program, partial\n  opaque_kernel: 2 operations: subprograms" in shown
    assert "[opaque_kernel]" in shown
    assert "jaxpr (scan body), not claimed to have run: 1 operation: cond" in shown


def test_notes_and_static_values() -> None:  # R20
    setup = {
        "digest": "sha256:00",
        "device": "cpu",
        "mode": "eval",
        "seed": 3,
        "profile": "p",
        "static": {"args[1]": True},
        "notes": ["freshly_initialised", "a note of tomorrow"],
    }
    shown = text(document(setup=setup))
    assert "setup: profile p, device cpu, mode eval, seed 3\n  static args[1] = True\n" in shown
    assert "note: freshly initialised, not trained\nnote: a note of tomorrow\n" in shown
    assert "inputs: none" in shown
    assert "program: 0 operations" in shown


def blocks(count: int) -> Json:
    scopes: list[Json] = [{"id": "", "parent": None, "kind": "root"}]
    values, operations = [value("input")], []
    for at in range(count):
        scopes.append({"id": f"block_{at}", "parent": 0, "kind": "module", "name": f"block_{at}", "class": "Block"})
        for name in ("sin", "cos"):
            values.append(value(shape=(2, 9) if at == 7 else (2, 3)))
            operations.append(
                operation(f"block_{at}/{name}.0", [len(values) - 2], [len(values) - 1], at + 1, frames=[0])
            )
    return document(values=values, operations=operations, scopes=scopes, frames=[frame(3, 4, 9)])


def test_repeated_neighbours_are_written_once() -> None:
    lines = [line.strip() for line in text(blocks(12)).splitlines()]
    assert "block_1 … block_6: × 6 more of the same, 2 operations each" in lines
    assert "block_7 (Block, module)   model.py:3" in lines  # other shapes
    assert "block_10 … block_11: × 2 more of the same, 2 operations each" in lines


def test_the_same_operation_again_is_counted() -> None:
    values = [value("input"), *(value() for _ in range(5))]
    found = document(values=values, operations=[operation(f"neg.{at}", [at], [at + 1]) for at in range(5)])
    assert "neg  f32[2,3] → f32[2,3]   × 5\n" in text(found)


def test_what_is_left_out_is_counted() -> None:
    values = [value("input"), *(value(shape=(at,)) for at in range(1000))]
    found = document(values=values, operations=[operation(f"neg.{at}", [at], [at + 1]) for at in range(1000)])
    shown = text(found, max_lines=10)
    assert shown.count("neg") == 10
    assert shown.endswith("  … 990 more operations left out\n")
    assert text(found, max_lines=None).count("neg") == 1000


def test_a_scope_that_is_deeply_nested() -> None:
    scopes: list[Json] = [{"id": "", "parent": None, "kind": "root"}]
    scopes += [{"id": f"s{at}", "parent": at, "kind": "jit"} for at in range(2000)]
    found = document(values=[value()], scopes=scopes, operations=[operation("iota.0", [], [0], 2000)])
    assert "iota" in text(found, max_lines=None)


@pytest.mark.parametrize(
    ("dtype", "short"),
    [
        ("float32", "f32"),
        ("bfloat16", "bf16"),
        ("float8_e4m3fn", "f8_e4m3fn"),
        ("int4", "i4"),
        ("uint64", "u64"),
        ("complex64", "c64"),
        ("bool", "bool"),
        ("key<fry>", "key<fry>"),
        ("float0", "f0"),
        ("token", "token"),
    ],
)
def test_short_dtypes(dtype: str, short: str) -> None:
    assert short_dtype(dtype) == short


@pytest.mark.parametrize(
    ("number", "dtype", "shown"),
    [
        (9.999999974752427e-07, "float32", "1e-06"),
        (0.0999755859375, "float16", "0.1"),
        (0.1, "float64", "0.1"),
        (3.4028234663852886e38, "float32", "3.4028235e+38"),
        (1e300, "float32", "1e+300"),
        (65504.0, "float16", "65500.0"),
        (-0.0, "float32", "-0.0"),
    ],
)
def test_literals_are_as_short_as_their_precision_allows(number: float, dtype: str, shown: str) -> None:
    assert float_text(number, dtype) == shown
