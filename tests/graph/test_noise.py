"""Constants, parameters on their way and changes of shape, out of the way."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tvls.graph import GraphIndex, view
from tvls.graph.noise import WORDS

from .captures import as_capture, document, documents, operation, value


def program() -> dict[str, Any]:
    """An input through a chain of shapes, a mask of constants, a cast parameter, and a projection."""
    return document(
        inputs={"args": [{"value": 0}], "kwargs": {}},
        outputs={"tuple": [{"value": 9}, {"value": 1}]},
        values=[
            value("input", name="x"),
            value("constant", (3,)),
            value("state", name="params/kernel", collection="params"),
            *(value(shape=shape) for shape in ((3,), (3,), (6,), (1, 6), (2, 3), (2, 3), (2, 3))),
        ],
        scopes=[{"id": "", "parent": None, "kind": "root"}, {"id": "f", "parent": 0, "kind": "jit", "name": "f"}],
        operations=[
            operation("iota.0", [], [3]),
            operation("gt.0", [3, 1], [4]),
            operation("reshape.0", [0], [5]),
            operation("broadcast_in_dim.0", [5], [6]),
            operation("convert_element_type.0", [2], [7]),
            operation("dot_general.0", [6, 7], [8]),
            operation("f/select_n.0", [4, 8, 6], [9], 1),
        ],
    )


def edges(shown: Any) -> list[tuple[str, str, int]]:
    return [(edge.source, edge.target, edge.through) for edge in shown.edges]


def test_nodes_say_what_noise_they_are() -> None:
    shown = view(GraphIndex(as_capture(program())))
    assert {node.id: node.noise for node in shown.nodes if node.noise} == {
        "op:iota.0": "constant",
        "op:gt.0": "constant",
        "op:reshape.0": "shape",
        "op:broadcast_in_dim.0": "shape",
        "op:convert_element_type.0": "parameter",
        "const:1": "constant",
    }
    assert (shown.noise, shown.hidden) == ({"constant": 3, "parameter": 1, "shape": 2}, 0)


def test_edges_lead_past_what_is_hidden() -> None:
    index = GraphIndex(as_capture(program()))
    shown = view(index, hide=["shape"])
    assert (shown.hidden, shown.noise) == (2, {"constant": 3, "parameter": 1, "shape": 2})
    assert ("in:args[0]", "op:dot_general.0", 2) in edges(shown)
    assert ("in:args[0]", "scope:f", 2) in edges(shown)
    past = next(edge for edge in shown.edges if edge.target == "op:dot_general.0" and edge.through)
    assert past.value.shape == [1, 6]  # what arrives
    shown = view(index, hide=list(WORDS))
    assert [node.id for node in shown.nodes] == [
        "in:args[0]",
        "op:dot_general.0",
        "scope:f",
        "out:result[0]",
        "out:result[1]",
    ]
    assert edges(shown) == [
        ("in:args[0]", "op:dot_general.0", 2),
        ("op:dot_general.0", "scope:f", 0),
        ("in:args[0]", "scope:f", 2),
        ("scope:f", "out:result[0]", 0),
    ]
    assert (shown.total, shown.hidden) == (5, 6)
    assert view(index, hide=["colour"]).nodes == view(index).nodes


def test_dropout_that_did_nothing_is_out_of_the_way() -> None:
    dropout = {"primitive": "torch.nn.functional.dropout"}
    below = {"bodies": [{"role": "aten", "body": 0}]}
    found = document(
        inputs={"args": [{"value": 0}], "kwargs": {}},
        outputs={"value": 2},
        values=[value("input", name="x"), value(), value()],
        operations=[operation("off.0", [0], [1], **dropout), operation("on.0", [1], [2], **dropout, **below)],
        bodies=[document(inputs=[], outputs=[], values=[], operations=[]) | {"label": "dropout: operators that ran"}],
    )
    assert {node.id: node.noise for node in view(GraphIndex(as_capture(found))).nodes if node.noise} == {
        "op:off.0": "shape"
    }


def test_parameters_that_are_inputs() -> None:
    def named(names: list[str], tree: dict[str, Any]) -> set[str]:
        found = document(
            inputs={"args": [tree, {"value": len(names)}], "kwargs": {}},
            values=[*(value("input", name=name) for name in names), value("input", name="x")],
            operations=[],
        )
        return {node.label for node in view(GraphIndex(as_capture(found))).nodes if node.noise == "parameter"}

    many = [f"w[{at}]" for at in range(9)]
    assert named(many, {"list": [{"value": at} for at in range(9)]}) == set(many)
    few = ["batch.image", "batch.label"]
    assert named(few, {"dict": {"image": {"value": 0}, "label": {"value": 1}}}) == set()
    assert named(["state.params.w"], {"dict": {"params": {"dict": {"w": {"value": 0}}}}}) == {"state.params.w"}


@settings(max_examples=100, deadline=None)
@given(documents(), st.data(), st.sets(st.sampled_from(WORDS)), st.integers(1, 9))
def test_hiding_leaves_out_noise_and_nothing_else(
    found: dict[str, Any], data: st.DataObject, hide: set[str], limit: int
) -> None:
    for at, made in enumerate(found["operations"]):
        if at % 2 and len(made["outputs"]) == 1 and "bodies" not in made:
            made["primitive"] = ("reshape", "iota", "convert_element_type")[at % 3]
    index = GraphIndex(as_capture(document(**{k: v for k, v in found.items() if k != "captureId"})))
    expanded = data.draw(st.sets(st.sampled_from(sorted(index.program.scopes_by_node))))
    whole, shown = view(index, expanded, limit=2000), view(index, expanded, limit=2000, hide=hide)
    assert [node.id for node in shown.nodes] == [node.id for node in whole.nodes if node.noise not in hide]
    assert shown.hidden == len(whole.nodes) - len(shown.nodes)
    assert shown.noise == whole.noise
    assert sum(node.noise is not None for node in whole.nodes) == sum(whole.noise.values())
    # What flows between two nodes that are left flows between them still; all else came past hidden ones.
    left = {node.id for node in shown.nodes}
    direct = [e for e in whole.edges if e.source in left and e.target in left]
    seen = {(e.source, e.target, e.argument) for e in shown.edges}
    assert {(e.source, e.target, e.argument) for e in direct} <= seen
    pages, cursor = [], None
    while True:
        page = view(index, expanded, cursor=cursor, limit=limit, hide=hide)
        pages += page.nodes
        cursor = page.next_cursor
        if cursor is None:
            break
    assert pages == shown.nodes
