"""Many outputs as the nested structure that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvls.graph import GraphIndex, details, search, view
from tvls.graph.structures import FEW, MANY

from .captures import as_capture, document, operation, value

Tree = dict[str, Any]


def program(outputs: Tree) -> GraphIndex:
    """`sin` makes value 1, `cos` value 2."""
    return GraphIndex(
        as_capture(
            document(
                values=[value("input"), value(), value()],
                operations=[operation("sin.0", [0], [1]), operation("cos.0", [0], [2])],
                inputs={"args": [{"value": 0}], "kwargs": {}},
                outputs=outputs,
            )
        )
    )


def arrays(count: int, of: int = 1) -> Tree:
    return {"dict": {f"a{at:03}": {"value": of} for at in range(count)}}


STEP = program(
    {
        "tuple": [
            {"dict": {"params": {"dict": {"head": arrays(5), "body": arrays(9)}}}},
            {"tuple": [{"dict": {"count": {"value": 1}, "mu": arrays(8, of=2)}}]},
            {"value": 2},
        ]
    }
)


def shown(index: GraphIndex, expanded: Sequence[str] = ()) -> list[tuple[str, str, int | None]]:
    nodes = view(index, expanded, structures=True).nodes
    return [(node.label, node.parent, node.leaves) for node in nodes if node.kind == "output"]


def test_a_part_of_the_result_is_one_node_until_it_is_opened() -> None:
    assert shown(STEP) == [("result[0].params", "", 14), ("result[1][0]", "", 9), ("result[2]", "", None)]
    opened = shown(STEP, ["outs:result[1][0]", "outs:result[1][0].mu"])
    assert opened[1:4] == [
        ("result[1][0]", "", 9),
        ("result[1][0].count", "outs:result[1][0]", None),
        ("result[1][0].mu", "outs:result[1][0]", 8),
    ]
    assert opened[4] == ("result[1][0].mu.a000", "outs:result[1][0].mu", None)
    assert len(opened) == 3 + 2 + 8


def test_data_flows_into_what_is_shown() -> None:
    def edges(*expanded: str) -> list[tuple[str, str, int]]:
        found = view(STEP, expanded, structures=True).edges
        return [(edge.source, edge.target, edge.count) for edge in found if edge.target.startswith("out")]

    assert edges() == [
        ("op:sin.0", "outs:result[0].params", 14),
        ("op:sin.0", "outs:result[1][0]", 1),
        ("op:cos.0", "outs:result[1][0]", 8),
        ("op:cos.0", "out:result[2]", 1),
    ]
    opened = edges("outs:result[1][0]")
    assert ("op:sin.0", "out:result[1][0].count", 1) in opened
    assert ("op:cos.0", "outs:result[1][0].mu", 8) in opened
    assert not [target for _, target, _ in opened if target == "outs:result[1][0]"]


def test_nothing_changes_for_who_does_not_ask_or_has_few() -> None:
    assert len([node for node in view(STEP).nodes if node.kind == "output"]) == 24
    few = program(arrays(MANY))
    assert view(few, structures=True).nodes == view(few).nodes


def test_outputs_that_stand_beside_each_other_are_one_node() -> None:
    index = program(arrays(MANY + 1))
    assert shown(index) == [("result", "", MANY + 1)]
    assert len(shown(index, ["outs:result"])) == MANY + 2


@pytest.mark.parametrize("limit", [1, 3, 50])
def test_pages_of_a_view_have_every_node_once(limit: int) -> None:
    expanded = ["outs:result[0].params", "outs:result[1][0]"]
    whole = view(STEP, expanded, structures=True)
    nodes, edges, cursor = [], [], None
    while True:
        page = view(STEP, expanded, None, cursor, limit, structures=True)
        nodes += page.nodes
        edges += page.edges
        cursor = page.next_cursor
        if cursor is None:
            break
    assert (nodes, edges) == (whole.nodes, whole.edges)


def test_a_hit_says_what_must_be_open() -> None:
    hits = search(STEP, "mu.a003").nodes
    assert [(hit.label, hit.scopes) for hit in hits] == [
        ("result[1][0].mu.a003", ["outs:result[1][0]", "outs:result[1][0].mu"])
    ]


def test_details_list_what_is_in_it() -> None:
    found = details(STEP, "outs:result[1][0].mu", freshness="fresh").node
    assert (found.node.label, found.node.parent, found.node.leaves) == ("result[1][0].mu", "outs:result[1][0]", 8)
    assert [operand.producer for operand in found.operands] == ["op:cos.0"] * 8
    leaf = details(STEP, "out:result[1][0].mu.a003", freshness="fresh").node.node
    assert leaf.parent == "outs:result[1][0].mu"


KEYS = st.sampled_from(["a", "b", "layer 1", 'q"uote', "x.y", "[0]", "é", ""])
TREES = st.recursive(
    st.just({"value": 1}),
    lambda inner: (
        st.dictionaries(KEYS, inner, min_size=1, max_size=5).map(lambda it: {"dict": it})
        | st.lists(inner, min_size=1, max_size=5).map(lambda it: {"tuple": it})
    ),
    max_leaves=60,
)


@given(TREES)
def test_every_output_is_in_one_place(tree: Tree) -> None:
    index = program(tree)
    plain = [node.id for node in view(index, limit=2_000).nodes if node.kind == "output"]
    closed = [node for node in view(index, structures=True, limit=2_000).nodes if node.kind == "output"]
    assert len(closed) <= max(MANY, 1)
    assert sum(node.leaves or 1 for node in closed) == len(plain)
    expanded: list[str] = []
    while True:
        nodes = [node for node in view(index, expanded, structures=True, limit=2_000).nodes if node.kind == "output"]
        more = [node.id for node in nodes if node.leaves is not None and not node.expanded]
        if not more:
            break
        expanded += more
    assert [node.id for node in nodes if node.leaves is None] == plain
    assert len({node.id for node in nodes}) == len(nodes)
    inside = [node for node in nodes if node.leaves is not None]
    assert all(node.leaves > FEW for node in inside if node.leaves is not None)
    assert all(sum(1 for it in nodes if it.parent == node.id) > 0 for node in inside)
