"""One node: operands, results, uses and where it comes from."""

from __future__ import annotations

import pytest

from tvls.capture.document import Frame
from tvls.graph import GraphIndex, details, sources
from tvls.protocol.errors import TvlsError

from .captures import Json, as_capture, document, frame, mlp, operation, value, with_bodies


def places(frames: list[Frame]) -> list[str]:
    return [f"{found['path']}:{found['line']}" for found in frames]


def test_operands_by_position_with_their_producers() -> None:  # R15
    index = GraphIndex(as_capture(mlp()))
    found = details(index, "op:net/mul.0", freshness="fresh").node
    assert [(o.producer, o.value and o.value.shape) for o in found.operands] == [("op:net/relu/max.0", [2, 8])] * 2
    assert found.scope_path == ["net"]
    assert found.freshness == "fresh"
    assert [(use.node, use.argument) for use in found.results[0].uses] == [("op:net/Dense_1/dot_general.0", 0)]


def test_every_use_of_a_value_is_listed_with_its_position() -> None:
    found = details(GraphIndex(as_capture(mlp())), "op:net/relu/max.0").node
    assert [(use.node, use.argument) for use in found.results[0].uses] == [("op:net/mul.0", 0), ("op:net/mul.0", 1)]
    literal = found.operands[1]
    assert (literal.literal, literal.producer) == (0.0, None)
    assert literal.value is not None
    assert literal.value.dtype == "float32"


def test_state_has_no_producer_unless_it_is_shown() -> None:
    index = GraphIndex(as_capture(mlp()))
    shown = details(index, "op:net/Dense_0/dot_general.0").node.operands
    hidden = details(index, "op:net/Dense_1/dot_general.0").node.operands
    assert [o.producer for o in shown] == ["in:args[0].x", "const:2"]
    assert [o.producer for o in hidden] == ["op:net/mul.0", None]
    assert hidden[1].value is not None
    assert (hidden[1].value.role, hidden[1].value.name) == ("state", "params/Dense_1/kernel")


def test_a_scope_reads_and_gives_what_crosses_its_border() -> None:
    found = details(GraphIndex(as_capture(mlp())), "scope:net/Dense_0").node
    assert [o.producer for o in found.operands] == ["in:args[0].x"]
    assert [(r.value.shape, [u.node for u in r.uses]) for r in found.results] == [([2, 8], ["op:net/relu/max.0"])]
    assert found.scope_path == ["net"]


def test_what_a_module_was_called_for_is_its_result_though_nothing_reads_it() -> None:
    found = document(
        outputs={"value": 2},
        values=[value("input"), *(value(shape=(at,)) for at in range(1, 7))],
        scopes=[
            {"id": "", "parent": None, "kind": "root"},
            {"id": "bert", "parent": 0, "kind": "module", "path": "bert"},
            {"id": "bert/pooler", "parent": 1, "kind": "module", "path": "bert.pooler"},
            {"id": "bert/pooler/tanh", "parent": 2, "kind": "module", "path": "bert.pooler.activation"},
        ],
        operations=[
            operation("bert/neg.0", [0], [1, 2], 1),
            operation("bert/pooler/max.0", [2], [3, 4], 2),
            operation("bert/pooler/tanh/tanh.0", [3], [5], 3),
        ],
    )
    index = GraphIndex(as_capture(found))
    results = {
        node: [(r.value.shape, [use.node for use in r.uses]) for r in details(index, f"scope:{node}").node.results]
        for node in ("bert", "bert/pooler", "bert/pooler/tanh")
    }
    assert results == {
        "bert": [([2], ["out:result"])],  # something of it is read: what nothing reads is no result of it
        "bert/pooler": [([5], [])],  # the second result of `max` is not what it was called for
        "bert/pooler/tanh": [([5], [])],
    }


@pytest.mark.parametrize(
    ("node", "kind", "uses"),
    [
        ("in:args[0].x", "input", ["op:net/Dense_0/dot_general.0"]),
        ('in:args[0]["a b"]', "input", []),
        ("const:2", "constant", ["op:net/Dense_0/dot_general.0", "out:result.kernel"]),
    ],
)
def test_inputs_and_constants(node: str, kind: str, uses: list[str]) -> None:
    found = details(GraphIndex(as_capture(mlp())), node).node
    assert found.node.kind == kind
    assert [use.node for result in found.results for use in result.uses] == uses


def test_an_output_names_what_makes_it() -> None:
    found = details(GraphIndex(as_capture(mlp())), "out:result.logits").node
    assert [o.producer for o in found.operands] == ["op:net/Dense_1/neg.0"]
    assert found.node.outputs[0].weak_type


def test_uses_are_limited_with_their_number() -> None:
    values = [value("input"), *(value() for _ in range(1500))]
    operations = [operation(f"neg.{at}", [0], [at + 1]) for at in range(1500)]
    found = document(values=values, operations=operations, inputs={"args": [{"value": 0}], "kwargs": {}})
    result = details(GraphIndex(as_capture(found)), "in:args[0]").node.results[0]
    assert (len(result.uses), result.uses_total) == (1000, 1500)


def test_frames_start_in_the_workspace() -> None:  # R26
    index = GraphIndex(as_capture(mlp()))
    assert places(details(index, "op:net/Dense_0/add.0").frames) == ["flax/linen/linear.py:41", "model.py:6"]
    assert places(sources(index, "op:net/Dense_0/add.0")) == ["model.py:6", "flax/linen/linear.py:41"]
    assert places(sources(index, "scope:net/Dense_0")) == ["model.py:6"]
    assert places(sources(index, "scope:net/Dense_1")) == ["model.py:9"]
    assert sources(index, "scope:net") == []  # its operations have no frame in common
    assert sources(index, "in:args[0].x") == []


def test_a_stack_without_a_workspace_frame_keeps_its_order() -> None:
    library = [frame(line, 0, 1, path="lib.py", workspace=False) for line in (1, 2)]
    found = document(values=[value()], operations=[operation("iota.0", [], [0], frames=[1, 0])], frames=library)
    index = GraphIndex(as_capture(found))
    assert places(sources(index, "op:iota.0")) == ["lib.py:2", "lib.py:1"]


@pytest.mark.parametrize(
    "node", ["", "op:", "op:gone", "scope:gone", "in:args[1]", "const:4", "const:x", "out:", "x", "op"]
)
def test_an_unknown_node_is_an_error(node: str) -> None:
    index = GraphIndex(as_capture(mlp()))
    for ask in (details, sources):
        with pytest.raises(TvlsError) as error:
            ask(index, node)
        assert error.value.kind == "nodeNotFound"


def test_nodes_of_bodies() -> None:  # R34
    index = GraphIndex(as_capture(with_bodies()))
    body = details(index, "op:scan.1").node.node.bodies[0].id
    cond = details(index, "op:a#b>c/cond.0", body)
    assert cond.node.operands[0].producer == "in:0"
    inner = cond.node.node.bodies[1].id
    assert details(index, "op:cos.0", inner).node.results[0].uses[0].node == "out:0"
    assert places(sources(index, "op:cos.0", inner)) == ["model.py:11", "model.py:12"]
    assert body.startswith("scan.1")  # the ids of the two scans' shared body differ
    assert details(index, "op:scan.0").node.node.bodies[0].id != body


def test_what_no_line_of_the_workspace_makes_comes_from_the_operation_around() -> None:  # R26
    """`lax.switch(i, [jnp.sin, …])`: the branch has frames of the library alone."""
    library = {"path": "jax/_src/pjit.py", "workspace": False}

    def body(*operations: Json, bodies: list[Json] | None = None) -> Json:
        return {
            "label": "branch",
            "inputs": [],
            "outputs": [],
            "values": [value(), value()],
            "operations": list(operations),
            "scopes": [{"id": "", "parent": None, "kind": "root"}],
            "bodies": bodies or [],
        }

    inner = body(operation("cos.0", [], [0], frames=[0]))
    outer = body(
        operation("sin.0", [], [0], frames=[0]),
        operation("cond.1", [], [1], frames=[0], bodies=[{"role": "branch", "body": 0}]),
        bodies=[inner],
    )
    shared = body(operation("tan.0", [], [0], frames=[]))
    found = document(
        values=[value(), value()],
        operations=[
            operation("cond.0", [], [0], frames=[1, 3], bodies=[{"role": n, "body": b} for b, n in enumerate("ab")]),
            operation("cond.1", [], [1], frames=[2, 3], bodies=[{"role": "a", "body": 1}]),
        ],
        frames=[frame(1, 0, 9, **library), frame(7, 4, 40), frame(8, 4, 40), frame(20, 0, 9, function="main")],
        bodies=[outer, shared],
    )
    index = GraphIndex(as_capture(found))
    assert details(index, "op:sin.0", "cond.0#0").node.node.source == "model.py:7"
    assert places(sources(index, "op:sin.0", "cond.0#0")) == ["model.py:7", "jax/_src/pjit.py:1", "model.py:20"]
    assert details(index, "op:cos.0", "cond.0#0>cond.1#0").node.node.source == "model.py:7"
    # Of a body of two operations, the line that both come from.
    assert details(index, "op:tan.0", "cond.1#0").node.node.source == "model.py:20"
    assert places(sources(index, "op:tan.0", "cond.0#1")) == ["model.py:20"]


def test_a_module_comes_from_the_line_that_calls_it() -> None:  # R26
    """Also where all that it does is on one line of its own."""
    frames = [
        frame(3, 8, 20, function="Block.__call__"),
        frame(9, 8, 30, function="Net.__call__"),
        frame(10, 8, 30, function="Net.__call__"),
    ]
    module = {"kind": "module", "evidence": "name_stack"}
    found = document(
        values=[value("input"), value(), value(), value()],
        scopes=[
            {"id": "", "parent": None, "kind": "root"},
            {"id": "Net", "parent": 0, "name": "Net", "path": "", "class": "model.Net", **module},
            {"id": "Net/block", "parent": 1, "name": "block", "path": "block", "class": "model.Block", **module},
        ],
        operations=[
            operation("Net/block/sin.0", [0], [1], scope=2, frames=[0, 1]),
            operation("Net/block/cos.0", [1], [2], scope=2, frames=[0, 1]),
            operation("Net/tan.0", [2], [3], scope=1, frames=[2]),
        ],
        frames=frames,
        inputs={"args": [{"value": 0}], "kwargs": {}},
        outputs={"value": 3},
    )
    index = GraphIndex(as_capture(found))
    assert places(details(index, "scope:Net/block").frames) == ["model.py:9"]
    assert places(details(index, "op:Net/block/sin.0").frames) == ["model.py:3", "model.py:9"]
    only = document(**{**found, "operations": found["operations"][:2], "outputs": {"value": 2}})
    # Nothing of the workspace calls the outermost one: its own lines are better than none.
    assert places(details(GraphIndex(as_capture(only)), "scope:Net").frames) == ["model.py:9"]
