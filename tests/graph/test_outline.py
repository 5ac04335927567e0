# ruff: noqa: RUF001 - the multiplication sign is meant
"""The readable text of a capture."""

from __future__ import annotations

import re
from itertools import product, takewhile
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tvls.graph import outline
from tvls.graph.names import fold
from tvls.graph.text import float_text, short_dtype

from .captures import Json, as_capture, document, documents, frame, mlp, operation, value, with_bodies


def text(found: Json, **options: Any) -> str:
    return outline(as_capture(found), **options)


def program(found: Json, **options: Any) -> list[str]:
    """Lines of the program."""
    lines = text(found, max_lines=None, **options).splitlines()
    return lines[lines.index("program:") + 1 : lines.index("", lines.index("program:"))]


def table(found: Json, title: str) -> list[str]:
    lines = text(found).splitlines()
    start = lines.index(f"{title}:") + 1
    return list(takewhile(lambda line: line.startswith("  "), lines[start:]))


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


# --- what the capture is ---------------------------------------------------------------------------------------------


def test_what_the_capture_is_comes_first_in_few_lines() -> None:  # R14
    lines = text(mlp(), freshness="stale").splitlines()
    assert lines[:4] == [
        "model:net  (jax.function)  model.py:4",
        "jax 0.10.2, python 3.11.7 · device cpu · seed 0",
        "stale · inferred from a trace, in which nothing is computed · coverage complete, of the traced program",
        "6 operations",
    ]
    assert table(mlp(), "inputs") == ['  args[0]["a b"]  i32[7]', "  x               f32[2,3]"]
    assert lines[-2:] == ["sources: model.py", f"capture: {mlp()['captureId']}"]  # not in front of the shapes
    assert "sha256" not in "".join(lines[:-2])


def test_what_is_unavailable_is_one_line_of_names() -> None:  # R23
    reasons = {"storage_aliases": "a reason", "output_bytes": "another", "something_new": "x"}
    shown = text(document(unavailable=reasons))
    assert "\nunavailable: measured output bytes, something new, storage aliases\n" in shown
    assert "a reason" not in shown
    assert "unavailable" not in text(document())


@pytest.mark.parametrize(
    ("framework", "kind", "notes", "said"),
    [
        ("torch", "torch.module", [], "· eval mode ·"),
        ("jax", "flax.nnx", ["freshly_initialised"], "· eval mode ·"),
        ("jax", "flax.nnx", [], "· in the mode that its factory left it in ·"),
        ("jax", "flax.linen", ["freshly_initialised"], None),
        ("jax", "jax.function", [], None),
    ],
)
def test_a_mode_is_said_where_it_decided_something(
    framework: str, kind: str, notes: list[str], said: str | None
) -> None:  # R20
    found = document()
    found |= {"framework": framework, "target": {**found["target"], "kind": kind}}
    found["setup"] = {**found["setup"], "mode": "eval", "notes": notes}
    line = text(found).splitlines()[1]
    assert said in line if said else "mode" not in line


def test_the_star_of_a_weak_type_is_explained_once() -> None:  # R15
    assert "weak type" not in text(document())
    shown = text(mlp())
    assert "]*" in shown
    assert shown.count("*: a weak type") == 1


def test_partial_coverage_in_words() -> None:  # R17
    lines = text(with_bodies()).splitlines()
    assert lines[2].endswith("coverage partial, of the traced program")
    assert lines[3].startswith("  partial: 2 operations with subprograms that stay one operation")
    assert lines[3].endswith("(opaque_kernel)")
    coverage = {"scope": "traced_program", "status": "partial", "reasons": ["effects_incomplete", "of_tomorrow"]}
    assert text(document(coverage=coverage)).splitlines()[3] == (
        "  partial: with side effects that are not recorded in full (effects_incomplete); of_tomorrow"
    )


def test_notes_and_static_values() -> None:  # R20
    setup = {
        "digest": "sha256:00",
        "device": "cpu",
        "mode": "eval",
        "seed": 3,
        "profile": "p",
        "static": {"args[1]": True, "kwargs.n": 2},
        "notes": ["axis:batch=1", "freshly_initialised", "leaked_tracer:cache", "a note of tomorrow", "x:y"],
    }
    shown = text(document(setup=setup))
    assert " · device cpu · seed 3 · profile p\nstatic: args[1] = True, kwargs.n = 2\n" in shown
    assert (
        "\nthe named axis batch was given the size 1 to trace with; freshly initialised, not trained; "
        "the global cache kept a traced array after the trace; a note of tomorrow; x:y\n"
    ) in shown
    assert "inputs: none" in shown
    assert "\n0 operations\n" in shown


def state(name: str, shape: tuple[int, ...], collection: str | None = "params", dtype: str = "float32") -> Json:
    more = {} if collection is None else {"collection": collection}
    return value("state", shape, dtype, name=name, **more)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([state("params/w", (3, 4)), state("params/b", ())], "0 operations · 13 parameters in 2 arrays, 52 bytes"),
        ([state("w", (500, 1000), "Param", "bfloat16")], "0 operations · 500,000 parameters in 1 array, 1 MB"),
        ([state("w", (3,), "Param", "int4")], "0 operations · 3 parameters in 1 array, 2 bytes"),
        ([state("w", (3,), "Param", "key<fry>")], "0 operations · 3 parameters in 1 array"),
        (
            [state("params/w", (2,)), state("batch_stats/mean", (8,), "batch_stats")],
            "0 operations · 2 parameters in 1 array, 8 bytes · batch_stats 8 in 1 array, 32 bytes",
        ),
    ],
)
def test_totals_are_derived_from_shapes_and_say_so(values: list[Json], line: str) -> None:  # R41
    assert f"\n{line} (derived from shapes)\n" in text(document(values=values))


def test_state_without_a_collection_is_not_called_parameters() -> None:
    assert "\n0 operations\n" in text(document(values=[state("w", (3,), None)]))


# --- state -----------------------------------------------------------------------------------------------------------


def test_state_of_repeated_blocks_is_folded_in_natural_order() -> None:  # R36
    values = [state(f"params/h/{at}/{name}", (4, 4)) for at in range(12) for name in ("q/kernel", "a/kernel")]
    values += [state("params/h/3/extra", (9,)), state("params/out/2/w", (1,)), state("params/out/10/w", (2,))]
    assert [line.split() for line in table(document(values=values), "state")] == [
        ["params/h/{0…11}/a/kernel", "f32[4,4]", "×", "12"],
        ["params/h/{0…11}/q/kernel", "f32[4,4]", "×", "12"],
        ["params/h/3/extra", "f32[9]"],
        ["params/out/2/w", "f32[1]"],
        ["params/out/10/w", "f32[2]"],
    ]


def test_a_folded_row_stands_for_exactly_the_names_that_are_there() -> None:
    names = [f"s{s}/b{b}/w" for s, blocks in ((1, 3), (2, 3), (3, 6)) for b in range(blocks) if (s, b) != (3, 4)]
    rows = table(document(values=[state(name, (4,)) for name in names]), "state")
    assert [row.split()[0] for row in rows] == ["s{1…2}/b{0…2}/w", "s3/b{0…3,5}/w"]
    assert [row.split()[-1] for row in rows] == ["6", "5"]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.booleans()), unique=True, min_size=1))
def test_folding_loses_and_invents_no_name(keys: list[tuple[int, int, bool]]) -> None:
    names = {f"h/{a}/{'k' if c else 'b'}_{b}" for a, b, c in keys}
    found: list[str] = []
    for row in fold((name, "f32[1]") for name in names):
        options = [
            [str(n) for part in piece.split(",") for n in range(int(part.split("…")[0]), int(part.split("…")[-1]) + 1)]
            if at % 2
            else [piece]
            for at, piece in enumerate(re.split(r"[{}]", row.name))
        ]
        expanded = ["".join(pieces) for pieces in product(*options)]
        assert len(expanded) == row.names
        found += expanded
    assert len(found) == len(names)
    assert set(found) == names


def test_the_kind_of_variable_is_told_where_the_name_does_not() -> None:
    values = [
        state("bn/mean", (8,), "BatchStat"),
        state("bn/scale", (8,), "Param"),
        state("batch_stats/m", (1,), "batch_stats"),
    ]
    rows = [line.split() for line in table(document(values=values), "state")]
    assert rows == [["batch_stats/m", "f32[1]"], ["bn/mean", "f32[8]", "BatchStat"], ["bn/scale", "f32[8]"]]


# --- program ---------------------------------------------------------------------------------------------------------


def test_operations_with_operands_results_and_source() -> None:
    shown = text(mlp())
    assert "Dense_0 (Dense) → f32[2,8]   model.py:6\n" in shown
    assert "dot_general  f32[2,3] · params/Dense_0/kernel:f32[3,8] → f32[2,8]   model.py:6\n" in shown
    assert "max  f32[2,8] · 0.0:f32 → f32[2,8]   model.py:7\n" in shown
    assert "neg  f32[2,4] → f32[2,4]*   model.py:9\n" in shown  # a weak type has a star
    assert "model.Note, not an array" in shown
    depths = {line.strip().split()[0]: indent(line) for line in program(mlp())}
    assert depths["dot_general"] > depths["Dense_0"] == depths["mul"]


def blocks(count: int, *, kind: str = "Block", skip: int | None = None, axis: int | None = None) -> Json:
    """Modules, each reading what the one before made and a parameter of its own.

    `skip`: this one reads what the one before the last made. `axis`: this one has another parameter in its second
    operation.
    """
    scopes: list[Json] = [{"id": "", "parent": None, "kind": "root"}]
    scopes.append({"id": "h", "parent": 0, "kind": "module", "name": "h", "path": "h", "class": "m.Blocks"})
    values, operations = [value("input")], []
    for at in range(count):
        more = {"class": f"m.{kind}", "parameters": {"count": 6, "bytes": 24}, "path": f"h/{at}"}
        scopes.append({"id": f"h/{at}", "parent": 1, "kind": "module", "name": str(at), **more})
        values += [state(f"params/h/{at}/w", (2, 3)), value(), value(shape=(2, 9) if at == 7 else (2, 3))]
        own = len(values) - 3
        before = 0 if at == 0 else own - 1 - (3 if at == skip else 0)
        operations.append(operation(f"h/{at}/add.0", [before, own], [own + 1], at + 2, frames=[0]))
        axes = {"axis": 1 if at == axis else 0}
        operations.append(operation(f"h/{at}/sin.0", [own + 1], [own + 2], at + 2, frames=[0], params=axes))
    return document(values=values, operations=operations, scopes=scopes, frames=[frame(3, 4, 9)])


def test_modules_that_repeat_are_one_entry_with_the_first_inside() -> None:  # R36
    shown = program(blocks(6))
    assert [line.strip() for line in shown] == [
        "h (Blocks) → f32[2,3]   model.py:3",
        "h/0 … h/5 (Block) × 6 → f32[2,3] · 6 parameters each   model.py:3",
        "add  f32[2,3] · params/h/0/w:f32[2,3] → f32[2,3]   model.py:3",
        "sin  f32[2,3] → f32[2,3]   model.py:3",
    ]


@pytest.mark.parametrize(
    ("found", "entries"),
    [
        (blocks(12), ["h/0 … h/6 (Block) × 7", "h/7 (Block)", "h/8 (Block)", "h/9 … h/11 (Block) × 3"]),  # other shapes
        (blocks(6, skip=3), ["h/0 … h/2 (Block) × 3", "h/3 … h/5 (Block) × 3"]),  # other wiring
        (blocks(6, axis=2), ["h/0 … h/1 (Block) × 2", "h/2 (Block)", "h/3 … h/5 (Block) × 3"]),  # other parameters
    ],
)
def test_only_what_is_equal_is_folded(found: Json, entries: list[str]) -> None:  # R36
    shown = [line.strip().split(" →")[0] for line in program(found) if "h/" in line.split("(")[0]]
    assert [line for line in shown if "(Block)" in line] == entries
    assert sum("sin" in line for line in program(found)) == len(entries)


@pytest.mark.parametrize(
    ("primitive", "entries"),
    [("random_fold_in", ["h/0 … h/2 (Block) × 3"]), ("sin", ["h/0 (Block)", "h/1 (Block)", "h/2 (Block)"])],
)
def test_blocks_fold_though_each_has_random_numbers_of_its_own(primitive: str, entries: list[str]) -> None:  # R36
    found = blocks(3)
    for number, made in enumerate(found["operations"][1::2]):
        made["primitive"] = primitive
        made["inputs"].append({"literal": number, "dtype": "uint32"})
    shown = [re.split(" [→·]", line.strip())[0] for line in program(found)]
    assert [line for line in shown if "(Block)" in line] == entries


def parallel(*reads: tuple[int, int]) -> Json:
    """Modules that each subtract one of two inputs from another."""
    scopes: list[Json] = [{"id": "", "parent": None, "kind": "root"}]
    values, operations = [value("input"), value("input")], []
    for at, (a, b) in enumerate(reads):
        scopes.append({"id": f"m{at}", "parent": 0, "kind": "module", "name": f"m{at}", "class": "Sub"})
        values.append(value())
        operations.append(operation(f"m{at}/sub.0", [a, b], [len(values) - 1], at + 1))
    return document(values=values, operations=operations, scopes=scopes)


def test_wiring_to_the_outside_counts() -> None:
    assert program(parallel((0, 1), (0, 1), (0, 1)))[0].startswith("  m0 … m2 (Sub) × 3")
    assert len(program(parallel((0, 1), (1, 1)))) == 4  # one value twice is not two values
    assert len(program(parallel((0, 0), (0, 1)))) == 4


def test_calls_of_functions_fold_only_from_one_line() -> None:
    def calls(lines: list[int], names: list[str]) -> list[str]:
        scopes: list[Json] = [{"id": "", "parent": None, "kind": "root"}]
        scopes += [{"id": f"f:{at}", "parent": 0, "kind": "jit", "name": name} for at, name in enumerate(names)]
        values = [value("input"), *(value() for _ in names)]
        operations = [operation(f"neg.{at}", [at], [at + 1], at + 1, frames=[lines[at]]) for at in range(len(names))]
        found = document(values=values, operations=operations, scopes=scopes, frames=[frame(3, 4, 9), frame(4, 4, 9)])
        return [line.strip() for line in program(found)]

    assert calls([0, 0], ["f", "f"]) == ["f (jit) × 2   model.py:3", "neg  f32[2,3] → f32[2,3]   model.py:3"]
    assert len(calls([0, 1], ["f", "f"])) == 4
    assert len(calls([0, 0], ["f", "g"])) == 4


def test_the_same_operation_again_is_counted() -> None:
    values = [value("input"), *(value() for _ in range(5))]
    found = document(values=values, operations=[operation(f"neg.{at}", [at], [at + 1]) for at in range(5)])
    assert program(found) == ["  neg  f32[2,3] → f32[2,3]   × 5"]


def test_operations_that_only_look_alike_are_not_counted_together() -> None:
    values = [value("input"), state("a", (2, 3)), state("b", (2, 3)), *(value() for _ in range(4))]
    operations = [
        operation("add.0", [0, 1], [3]),
        operation("add.1", [3, 2], [4]),  # other state
        operation("sum.0", [4], [5], params={"axes": [0]}),
        operation("sum.1", [5], [6], params={"axes": [1]}),
    ]
    assert len(program(document(values=values, operations=operations))) == 4


def measured(found: Json) -> Json:
    """With everything measured of each result, its mean being its place among the values."""
    for at, made in enumerate(found["values"]):
        if made["role"] == "intermediate":
            numbers = {"min": -1.5, "max": 12.34567, "mean": float(at), "std": 0.0}
            made |= {"bytes": 2400, "storage": 1, "statistics": {"elements": 6, "zeros": 2, "nan": 0, "infinite": 1}}
            made["statistics"] |= numbers
    return found


def test_what_was_measured_stands_below_what_made_it() -> None:  # R24
    numbers = "min -1.5 · max 12.35 · mean {} · std 0 · zeros 2 · NaN 0 · infinite 1 of 6 elements"
    line = f"measured: 2.4 kB · memory 1 · {numbers}"
    found = measured(blocks(1)) | {"outputs": {"value": 3}}
    shown = [text.strip() for text in program(found)]
    assert shown[2:] == [
        "add  f32[2,3] · params/h/0/w:f32[2,3] → f32[2,3]   model.py:3",
        line.format(2),
        "sin  f32[2,3] → f32[2,3]   model.py:3",
        line.format(3),
    ]
    closed = program(found, depth=1)
    assert closed[1].strip().startswith("h/0 (Block) → f32[2,3] · 6 parameters · 2 operations")
    assert [text.strip() for text in closed[2:]] == [line.format(3)]
    bytes_alone = blocks(1)
    bytes_alone["values"][2]["bytes"] = 24
    assert [text.strip() for text in program(bytes_alone) if "measured" in text] == ["measured: 24 bytes"]


@pytest.mark.parametrize("depth", [None, 1])
def test_what_was_measured_of_one_of_several_says_so(depth: int | None) -> None:  # R36
    lines = [line.strip() for line in program(measured(blocks(6)), depth=depth) if "mean" in line]
    assert lines
    assert all(line.startswith("measured, of the first: ") for line in lines)


def test_depth() -> None:
    full = program(blocks(3), depth=None)
    assert program(blocks(3), depth=2) == full
    assert (
        program(blocks(3), depth=1)
        == [
            full[0],
            "    h/0 … h/2 (Block) × 3 → f32[2,3] · 6 parameters each · 2 operations each   model.py:3",
        ]
        or program(blocks(3), depth=1)[0] == full[0]
    )
    assert program(blocks(3), depth=0) == ["  h (Blocks) → f32[2,3] · 6 operations   model.py:3"]
    (closed,) = program(mlp(), depth=0)
    assert closed == "  net (jit) → f32[2,4]* · 6 operations"
    inner = [line.strip() for line in program(mlp(), depth=1)]
    assert inner[1:3] == [
        "Dense_0 (Dense) → f32[2,8] · 2 operations   model.py:6",
        "relu (custom_jvp) → f32[2,8] · 1 operation   model.py:7",
    ]


@pytest.mark.parametrize("max_lines", [1, 2, 5, 8, 9, 10, 11, 14, 20, 400])
@pytest.mark.parametrize("depth", [None, 0, 1])
def test_every_line_counts(max_lines: int, depth: int | None) -> None:
    values = [value("input"), *(value(shape=(at,)) for at in range(100))]
    many = document(values=values, operations=[operation(f"neg.{at}", [at], [at + 1]) for at in range(100)])
    for found in (many, with_bodies(), blocks(12), mlp(), document()):
        whole = text(found, max_lines=None, depth=depth).splitlines()
        shown = text(found, max_lines=max_lines, depth=depth).splitlines()
        assert len(shown) <= max_lines
        assert shown[0] == whole[0]
        if len(whole) <= max_lines:
            assert shown == whole
        else:
            assert len(shown) >= max_lines - 3  # where there is little room, the end is left out as a whole


def test_what_is_left_out_is_counted() -> None:
    values = [value("input"), *(value(shape=(at,)) for at in range(1000))]
    found = document(values=values, operations=[operation(f"neg.{at}", [at], [at + 1]) for at in range(1000)])
    shown = text(found, max_lines=40)
    kept = sum(line.startswith("  neg") for line in shown.splitlines())
    assert f"\n  … {1000 - kept} more operations left out\n" in shown
    assert text(found, max_lines=None).count("neg") == 1000
    shown = text(blocks(6), max_lines=len(text(blocks(6)).splitlines()) - 1)
    assert "  … 2 more operations left out\n" in shown  # those of the blocks that are folded were told of
    shown = text(with_bodies(), max_lines=len(text(with_bodies()).splitlines()) - 4)
    assert "left out" in shown


# --- bodies ----------------------------------------------------------------------------------------------------------


def test_bodies_stand_below_their_operation_and_are_not_reported_as_executed() -> None:  # R17, R34
    found = with_bodies()
    assert [(indent(line), line.strip()) for line in program(found)] == [
        (2, "scan  f32[3] → f32[3]   model.py:12   [opaque_kernel]   × 2"),
        (4, "scan body (body; not reported as executed)  f32[3] → f32[3]"),
        (6, "cond  f32[3] → f32[3], i32[]   model.py:12   [opaque_kernel]"),
        (8, "cond branches (one branch; not reported as executed)  f32[3] → f32[3], 1:i32"),
        (10, "sin  f32[3] → f32[3]   model.py:11"),
        (8, "cond branches (one branch; not reported as executed)  f32[3] → f32[3], 1:i32"),
        (10, "cos  f32[3] → f32[3]   model.py:11"),
    ]
    assert [line.strip() for line in program(found, depth=1)][2:] == [
        "cond  f32[3] → f32[3], i32[]   model.py:12   [opaque_kernel]",
        "cond branches (one branch; not reported as executed)  f32[3] → f32[3], 1:i32 · 1 operation",
        "cond branches (one branch; not reported as executed)  f32[3] → f32[3], 1:i32 · 1 operation",
    ]
    assert [line.strip() for line in program(found, depth=0)][1:] == [
        "scan body (body; not reported as executed)  f32[3] → f32[3] · 1 operation"
    ]


@pytest.mark.parametrize(
    ("primitive", "role", "what"),
    [
        ("scan", "body", "scan body (body, one iteration; not reported as executed)"),
        ("while", "body", "while body (body, one iteration; not reported as executed)"),
        ("while", "cond", "while cond (condition, one evaluation; not reported as executed)"),
        ("cond", "branches[1]", "cond branches[1] (one branch; not reported as executed)"),
        ("pallas_call", "jaxpr", "pallas_call jaxpr (body; not reported as executed)"),
    ],
)
def test_what_a_body_is(primitive: str, role: str, what: str) -> None:  # R34
    found = with_bodies()
    for at in found["operations"]:
        at["primitive"], at["bodies"] = primitive, [{"role": role, "body": 0}]
    found["bodies"][0]["label"] = ""
    assert what in program({**found, "captureId": ""})[1]


def test_a_body_that_many_operations_have_is_written_once() -> None:
    """Each body calls the one inside it twice: written out at every call, these would be a million lines."""
    body: Json | None = None
    for at in range(20):
        calls = [] if body is None else [{"role": "jaxpr", "body": 0}]
        more = {"opaque": "opaque_kernel", "bodies": calls} if calls else {}
        body = {
            "label": f"level {at}",
            "inputs": [0],
            "outputs": [{"value": 2}],
            "values": [value("input", (1,)), value(shape=(2,)), value(shape=(3,))],
            "operations": [operation(f"call.{n}", [n], [n + 1], **more) for n in range(2)],
            "scopes": [{"id": "", "parent": None, "kind": "root"}],
            "bodies": [] if body is None else [body],
        }
    assert body is not None
    found = document(values=body["values"], operations=body["operations"], bodies=body["bodies"])
    shown = program(found)
    assert len(shown) < 200
    assert sum("written above" in line for line in shown) == 19


# --- order -----------------------------------------------------------------------------------------------------------


def interleaved(reads: int) -> Json:
    """A scope that is left and entered again; its last operation reads the value `reads`."""
    scopes = [{"id": "", "parent": None, "kind": "root"}]
    scopes.append({"id": "a", "parent": 0, "kind": "module", "name": "a", "path": "a", "class": "A"})
    operations = [
        operation("a/sin.0", [0], [1], 1),
        operation("neg.0", [0], [2]),
        operation("a/cos.0", [reads], [3], 1),
    ]
    values = [value("input", (5,)), *(value(shape=(at,)) for at in (6, 7, 8))]
    return document(values=values, operations=operations, scopes=scopes)


def test_a_scope_is_continued_only_where_its_values_need_it() -> None:
    assert [line.strip().split()[0] for line in program(interleaved(1))] == ["a", "sin", "cos", "neg"]
    shown = [line.strip() for line in program(interleaved(2))]
    assert [line.split()[0] for line in shown] == ["a", "sin", "neg", "a", "cos"]
    assert shown[3] == "a (A, continued)"


def test_several_scopes_of_one_module_read_as_one_module_again() -> None:
    found = interleaved(2)
    found["scopes"].append({"id": "a:1", "parent": 0, "kind": "module", "name": "a", "path": "a", "class": "A"})
    found["operations"][2]["scope"] = 2
    shown = [line.strip() for line in program(found)]
    assert shown[0].startswith("a (A)")
    assert shown[3] == "a (A, again) → f32[8]"
    assert ":1" not in "".join(shown)


_SHAPE = re.compile(r"f32\[(\d+)\]")


def marked(found: Json) -> Json:
    """The document with a shape of its own for every value, so that lines tell which value is meant."""
    number = iter(range(10, 1_000_000))

    def mark(graph: Json) -> None:
        for held in graph["values"]:
            held.update(shape=[next(number)], dtype="float32")
            if held["role"] != "intermediate":
                held.pop("name", None)
        for body in graph["bodies"]:
            mark(body)

    mark(found)
    return found


@given(documents())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_value_is_read_above_the_line_that_makes_it(found: Json) -> None:
    given_values = {f"f32[{held['shape'][0]}]" for held in marked(found)["values"] if held["role"] != "intermediate"}
    own = {operation["primitive"] for operation in found["operations"]}
    lines = program(found)
    made = set(given_values)
    seen = 0
    body_at: int | None = None
    for line in lines:
        if body_at is not None and indent(line) >= body_at:
            continue
        body_at = None
        if "not reported as executed" in line:
            body_at = indent(line) + 1
            continue
        primitive = line.split()[0]
        if primitive not in own or "(" in line.split("  ")[0]:
            continue
        read, _, results = line.partition("→")
        assert {f"f32[{n}]" for n in _SHAPE.findall(read)} <= made
        made |= {f"f32[{n}]" for n in _SHAPE.findall(results)}
        seen += int(line.split("×")[1]) if "×" in line else 1
    assert seen == len(found["operations"])


def test_a_scope_that_is_deeply_nested() -> None:
    scopes: list[Json] = [{"id": "", "parent": None, "kind": "root"}]
    scopes += [{"id": f"s{at}", "parent": at, "kind": "jit"} for at in range(2000)]
    found = document(values=[value()], scopes=scopes, operations=[operation("iota.0", [], [0], 2000)])
    assert "iota" in text(found, max_lines=None)
    assert "s0" not in text(found, depth=3)
    assert len(program(found, depth=3)) == 4


def test_a_scope_without_operations_is_named() -> None:
    scopes = [{"id": "", "parent": None, "kind": "root"}]
    scopes.append({"id": "d", "parent": 0, "kind": "module", "name": "d", "path": "d", "class": "Dropout"})
    assert program(document(scopes=scopes)) == ["  d (Dropout) · no operations"]


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
