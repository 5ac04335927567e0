"""Finding nodes by words and by source position."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings

from tvls.graph import GraphIndex, nodes_at, search, view
from tvls.protocol.errors import TvlsError

from .captures import Json, as_capture, document, documents, frame, mlp, operation, value, with_bodies


def found_nodes(query: str, found: Json | None = None) -> list[str]:
    return [hit.node for hit in search(GraphIndex(as_capture(found or mlp())), query).nodes]


@pytest.mark.parametrize(
    ("query", "nodes"),
    [
        ("mul", ["op:net/mul.0"]),
        ("MUL", ["op:net/mul.0"]),
        ("dot_general dense_1", ["op:net/Dense_1/dot_general.0"]),
        ("dense_1 dot_general", ["op:net/Dense_1/dot_general.0"]),
        ("dot_general mul", []),
        ("Dense_0", ["scope:net/Dense_0", "op:net/Dense_0/dot_general.0", "op:net/Dense_0/add.0", "out:result.kernel"]),
        ("dense_0/kernel", ["op:net/Dense_0/dot_general.0", "out:result.kernel"]),
        ("logits", ["out:result.logits"]),
        ("args[0].x", ["in:args[0].x"]),
        ("args[0]", ['in:args[0]["a b"]', "in:args[0].x"]),
        ("F32[2,8] MUL", ["op:net/mul.0"]),
        ("[2,4]", ["op:net/Dense_1/dot_general.0", "op:net/Dense_1/neg.0", "out:result.logits"]),
        ("[ *, 4 ] neg", ["op:net/Dense_1/neg.0"]),
        ("f32[2,*] mul", ["op:net/mul.0"]),
        ("float32[..., 8] mul", ["op:net/mul.0"]),
        ("float32[2, 8, ...] mul", ["op:net/mul.0"]),
        ("bf16[2,8]", []),
        ("int32[7]", ['in:args[0]["a b"]']),
        ("i32[7,]", ['in:args[0]["a b"]']),
        ("[]", []),
        ("model.py:6", ["op:net/Dense_0/dot_general.0", "op:net/Dense_0/add.0"]),
        ("model.py:6 add", ["op:net/Dense_0/add.0"]),
        ("el.py:6", []),
        ("model.py:99", []),
        ("linear.py:40", []),  # a library frame
        ("", []),
        ("   ", []),
        ("[2,", []),
        ("nothing", []),
    ],
)
def test_queries(query: str, nodes: list[str]) -> None:  # R29
    assert found_nodes(query) == nodes


def of_a_library() -> Json:
    """`nn.gelu(x)` of the model, a scope named so, and a function of the program that is called by a library."""
    library = {"workspace": False, "path": "jax/_src/nn/functions.py"}
    frames = [
        frame(3, 4, 9, function="Net.__call__"),
        frame(90, 4, 9, **library, function="gelu"),
        frame(80, 4, 9, **library, function="_gelu_impl.<locals>.gelu_part"),
        frame(70, 4, 9, **library, function="_wrapped"),
        frame(60, 4, 9, **library, function="Optimizer.gelu_step"),
    ]
    return document(
        values=[value("input"), value(), value(), value(), value()],
        operations=[
            operation("erf.0", [0], [1], frames=[2, 3, 1, 0, 4]),
            operation("mul.0", [1], [2], frames=[0, 4, 1]),  # what called the program is no function that it called
            operation("add.0", [2], [3], scope=1, frames=[0]),
            operation("neg.0", [3], [4], frames=[1]),
        ],
        scopes=[
            {"id": "", "parent": None, "kind": "root"},
            {"id": "gelu", "parent": 0, "kind": "named", "name": "gelu"},
        ],
        frames=frames,
        inputs={"args": [{"value": 0}], "kwargs": {}},
        outputs={"value": 4},
    )


@pytest.mark.parametrize(
    ("query", "nodes"),
    [
        ("gelu", ["scope:gelu", "op:add.0", "op:erf.0"]),
        ("GELU_part", ["op:erf.0"]),
        ("erf gelu", ["op:erf.0"]),
        ("gelu [2,3] model.py:3", ["op:add.0", "op:erf.0"]),
        ("gelu [9]", []),
        ("wrapped", []),
        ("step", []),
    ],
)
def test_a_library_function_finds_what_it_was_called_for(query: str, nodes: list[str]) -> None:  # R29
    assert found_nodes(query, of_a_library()) == nodes


def test_a_scalar_shape() -> None:
    assert "op:a.0" in found_nodes("[]", document(values=[value(shape=())], operations=[operation("a.0", [], [0])]))


def test_a_literal_star_pattern_is_no_regular_expression() -> None:
    assert found_nodes("m.l") == []
    assert found_nodes("(") == []


def test_hits_say_what_to_expand() -> None:
    hit = search(GraphIndex(as_capture(mlp())), "relu max").nodes[0]
    assert (hit.node, hit.label, hit.scopes, hit.body) == ("op:net/relu/max.0", "max", ["scope:net/relu"], None)


def test_search_goes_into_bodies() -> None:  # R34
    index = GraphIndex(as_capture(with_bodies()))
    (hit,) = search(index, "sin").nodes
    assert hit.body is not None
    assert hit.node in [node.id for node in view(index, hit.scopes, hit.body).nodes]


def test_pages_of_a_search() -> None:
    index = GraphIndex(as_capture(mlp()))
    whole = search(index, "net")
    nodes, cursor = [], None
    while True:
        page = search(index, "net", cursor, 2)
        assert page.total == whole.total > 4
        nodes += page.nodes
        cursor = page.next_cursor
        if cursor is None:
            break
    assert nodes == whole.nodes
    cursor = search(index, "net", None, 2).next_cursor
    with pytest.raises(TvlsError) as error:
        search(index, "other", cursor, 2)
    assert error.value.kind == "cursorInvalid"


@given(documents())
@settings(max_examples=40, deadline=None)
def test_what_is_found_can_be_shown(found: dict[str, Any]) -> None:
    index = GraphIndex(as_capture(found))
    hits = search(index, "a", limit=2000).nodes
    assert {hit.node for hit in hits if hit.body is None and hit.node.startswith("op:")} == {
        f"op:{operation['id']}" for operation in found["operations"]
    }
    for hit in hits:
        assert hit.node in [node.id for node in view(index, hit.scopes, hit.body, limit=2000).nodes]
    for line in range(6):
        for hit in nodes_at(index, "model.py", line, 8).nodes:
            assert hit.node in [node.id for node in view(index, hit.scopes, hit.body, limit=2000).nodes]


# --- positions -------------------------------------------------------------------------------------------------------


def nested() -> Json:
    """`relu(x @ w)` in a function that is called on another line, and one operation beside it."""
    frames = [
        frame(6, 11, 22),  # relu(x @ w)
        frame(6, 16, 21),  # x @ w
        frame(6, 24, 29),  # a + b
        frame(9, 4, 12, function="main"),  # net(x, w)
        frame(9, 4, 30, function="main", endLine=12),  # a call over several lines
    ]
    return document(
        values=[value() for _ in range(4)],
        operations=[
            operation("max.0", [], [0], frames=[0, 3, 4]),
            operation("dot_general.0", [], [1], frames=[1, 3, 4]),
            operation("add.0", [], [2], frames=[2, 3, 4]),
            operation("add.1", [], [3], frames=[2]),
        ],
        frames=frames,
    )


@pytest.mark.parametrize(
    ("line", "column", "nodes"),
    [
        (6, 18, ["dot_general.0", "max.0", "add.0", "add.1"]),
        (6, 12, ["max.0", "dot_general.0", "add.0", "add.1"]),
        (6, 21, ["max.0", "dot_general.0", "add.0", "add.1"]),  # just after `w`: the bracket is meant
        (6, 25, ["add.0", "add.1", "max.0", "dot_general.0"]),
        (9, 5, ["max.0", "dot_general.0", "add.0"]),
        (11, 0, ["max.0", "dot_general.0", "add.0"]),
        (5, 3, []),
        (13, 3, []),
    ],
)
def test_the_smallest_range_first(line: int, column: int, nodes: list[str]) -> None:  # R26
    hits = nodes_at(GraphIndex(as_capture(nested())), "model.py", line, column)
    assert [hit.node.removeprefix("op:") for hit in hits.nodes] == nodes
    assert hits.total == len(nodes)


def test_other_files_and_libraries_have_no_positions() -> None:
    index = GraphIndex(as_capture(mlp()))
    assert nodes_at(index, "other.py", 6, 10).nodes == []
    assert nodes_at(index, "flax/linen/linear.py", 40, 10).nodes == []


def test_positions_inside_bodies() -> None:
    hits = nodes_at(GraphIndex(as_capture(with_bodies())), "model.py", 11, 10).nodes
    assert [hit.node for hit in hits] == ["op:sin.0", "op:cos.0"]
    assert len({hit.body for hit in hits}) == 2


def test_frames_without_columns_are_on_the_line() -> None:  # R30: Python 3.10 has no columns
    bare = {"path": "model.py", "workspace": True, "function": "f", "line": 3}
    found = document(values=[value()], operations=[operation("iota.0", [], [0], frames=[0])], frames=[bare])
    assert [hit.node for hit in nodes_at(GraphIndex(as_capture(found)), "model.py", 3, 0).nodes] == ["op:iota.0"]


def test_a_line_that_everything_comes_from_is_cut_with_the_number() -> None:
    values = [value() for _ in range(20_000)]
    operations = [operation(f"neg.{at}", [], [at], frames=[at % 3, 3]) for at in range(20_000)]
    frames = [frame(line, 0, 9) for line in (1, 2, 3)] + [frame(50, 0, 9)]
    index = GraphIndex(as_capture(document(values=values, operations=operations, frames=frames)))
    nodes_at(index, "model.py", 1, 1)
    start = time.perf_counter()
    hits = nodes_at(index, "model.py", 50, 1)
    assert time.perf_counter() - start < 0.05
    assert (len(hits.nodes), hits.total) == (100, 20_000)
    assert [hit.node for hit in hits.nodes[:3]] == ["op:neg.0", "op:neg.1", "op:neg.2"]
