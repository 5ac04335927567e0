"""Repeated blocks shown as one node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvls.graph import GraphIndex, fold_details, nodes_at, search, view
from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError

from .captures import as_capture, document, frame, operation, value

Json = dict[str, Any]


class Program:
    """Writes a capture: scopes that stand where their first operation does, and values by their index."""

    def __init__(self) -> None:
        self.values: list[Json] = [value("input", name="x")]
        self.operations: list[Json] = []
        self.scopes: list[Json] = [{"id": "", "parent": None, "kind": "root"}]

    def scope(self, parent: int, name: str, **more: Any) -> int:
        around = self.scopes[parent]["id"]
        id = f"{around}/{name}" if around else name
        self.scopes.append({"id": id, "parent": parent, "kind": "module", "name": name, "path": id, **more})
        return len(self.scopes) - 1

    def state(self, name: str, shape: tuple[int, ...] = (3, 3)) -> int:
        self.values.append(value("state", shape, name=f"params/{name}", collection="params"))
        return len(self.values) - 1

    def add(self, scope: int, primitive: str, operands: list[Any], **more: Any) -> int:
        self.values.append(value())
        around = self.scopes[scope]["id"]
        id = f"{around}/{primitive}.{len(self.operations)}"
        self.operations.append(
            operation(id, operands, [len(self.values) - 1], scope, primitive=primitive, frames=[0], **more)
        )
        return len(self.values) - 1

    def index(self, output: int) -> GraphIndex:
        found = document(
            inputs={"args": [{"value": 0}], "kwargs": {}},
            outputs={"value": output},
            values=self.values,
            operations=self.operations,
            scopes=self.scopes,
            frames=[frame(3, 0, 9)],
        )
        return GraphIndex(as_capture(found))


def layers(count: int, rate: Callable[[int], Any] = lambda at: 0.5, skip: bool = False) -> GraphIndex:
    """Chained layers of a projection and a nonlinearity in a module of its own, between an operation and a head."""
    program = Program()
    net = program.scope(0, "net")
    x = program.add(net, "sin", [0])
    made = []
    for at in range(count):
        layer = program.scope(net, f"layers_{at}")
        dense = program.scope(layer, "dense")
        h = program.add(dense, "dot_general", [x, program.state(f"net/layers_{at}/dense/kernel")])
        h = program.add(layer, "mul", [h, {"literal": rate(at), "dtype": "float32"}], params={"axis": rate(at)})
        x = program.add(layer, "add", [h, x])
        made.append(x)
    head = program.scope(net, "head")
    return program.index(program.add(head, "concatenate", [made[0], x] if skip else [x]))


def edges(shown: Any) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in shown.edges]


def fold_of(shown: Any) -> t.FoldInfo:
    (info,) = [node.fold for node in shown.nodes if node.fold]
    return info


def test_layers_fold_to_one_node() -> None:  # R36
    shown = view(layers(12), fold=True)
    assert [node.id for node in shown.nodes] == [
        "in:args[0]",
        "op:net/sin.0",
        "scope:net/layers_0",
        "scope:net/head",
        "out:result",
    ]
    info = fold_of(shown)
    assert (info.count, info.first, info.last, info.instance) == (12, "layers_0", "layers_11", 0)
    assert (info.operations, info.shown, info.chained, info.differences) == (36, "scope:net/layers_0", True, 0)
    assert (info.costs.parameters, info.costs.parameter_bytes) == (12 * 9, 12 * 36)
    assert edges(shown) == [
        ("in:args[0]", "op:net/sin.0"),
        ("op:net/sin.0", "scope:net/layers_0"),
        ("scope:net/layers_0", "scope:net/head"),
        ("scope:net/head", "out:result"),
    ]
    assert not any(edge.folded for edge in shown.edges)
    assert shown.total == 5


def test_without_the_option_nothing_is_folded() -> None:
    shown = view(layers(12))
    assert sum(node.id.startswith("scope:net/layers_") for node in shown.nodes) == 12
    assert not any(node.fold for node in shown.nodes)


def test_an_opened_fold_shows_one_instance_and_steps_through_the_others() -> None:  # R36
    index = layers(12)
    for instance in (0, 5, 11):
        inside = f"net/layers_{instance}"
        shown = view(index, ["scope:net/layers_0"], fold=True, instances={"scope:net/layers_0": instance})
        assert fold_of(shown).shown == f"scope:{inside}"
        inner = [node.id for node in shown.nodes if node.parent == "scope:net/layers_0"]
        start = 1 + 3 * instance
        assert inner == [f"scope:{inside}/dense", f"op:{inside}/mul.{start + 1}", f"op:{inside}/add.{start + 2}"]
        # What the layer before it makes stands for what the first one reads; its result for that of the last.
        assert edges(shown) == [
            ("in:args[0]", "op:net/sin.0"),
            ("op:net/sin.0", inner[0]),
            (inner[0], inner[1]),
            (inner[1], inner[2]),
            ("op:net/sin.0", inner[2]),
            (inner[2], "scope:net/head"),
            ("scope:net/head", "out:result"),
        ]
        folded = [(edge.source, edge.target) for edge in shown.edges if edge.folded]
        entering = [("op:net/sin.0", inner[0]), ("op:net/sin.0", inner[2])] if instance else []
        leaving = [(inner[2], "scope:net/head")] if instance != 11 else []
        assert folded == entering + leaving


def test_what_was_expanded_in_one_instance_is_in_the_next() -> None:  # R36
    index = layers(3)
    opened = ["scope:net/layers_0", "scope:net/layers_0/dense"]
    shown = view(index, opened, fold=True, instances={"scope:net/layers_0": 2})
    assert "op:net/layers_2/dense/dot_general.7" in [node.id for node in shown.nodes]
    beyond = view(index, opened, fold=True, instances={"scope:net/layers_0": 99, "scope:gone": 1})
    assert beyond.nodes == shown.nodes


def test_an_edge_past_the_layers_is_true() -> None:  # R36
    shown = view(layers(4, skip=True), ["scope:net/head"], fold=True)
    into_head = [(e.source, e.argument) for e in shown.edges if e.target.startswith("op:net/head")]
    assert into_head == [("scope:net/layers_0", 0), ("scope:net/layers_0", 1)]


def test_what_differs_is_listed() -> None:  # R36
    index = layers(3, rate=lambda at: at / 10)
    assert fold_of(view(index, fold=True)).differences == 2
    found = fold_details(index, "scope:net/layers_0")
    assert [(i.node, i.path, i.parameters) for i in found.instances] == [
        (f"scope:net/layers_{at}", f"net/layers_{at}", [f"params/net/layers_{at}/dense/kernel"]) for at in range(3)
    ]
    assert [(d.node, d.name, d.values) for d in found.differences] == [
        ("op:net/layers_0/mul.2", "axis", ["0.0", "0.1", "0.2"]),
        ("op:net/layers_0/mul.2", "operand 2", ["0.0:f32", "0.1:f32", "0.2:f32"]),
    ]
    with pytest.raises(TvlsError) as error:
        fold_details(index, "scope:net/head")
    assert error.value.kind == "nodeNotFound"


@pytest.mark.parametrize("change", ["primitive", "shape", "wiring", "class", "name"])
def test_what_is_not_alike_is_not_folded(change: str) -> None:
    program = Program()
    x = program.add(0, "sin", [0])
    first = x
    for at in range(4):
        odd = at == 2
        name = "other" if odd and change == "name" else f"block_{at}"
        block = program.scope(0, name, **{"class": "B" if odd and change == "class" else "A"})
        kernel = program.state(f"{name}/kernel", (3, 4) if odd and change == "shape" else (3, 3))
        h = program.add(block, "tanh" if odd and change == "primitive" else "exp", [x])
        x = program.add(block, "dot_general", [first if odd and change == "wiring" else h, kernel])
    index = program.index(x)
    folds = [node.fold for node in view(index, fold=True).nodes if node.fold]
    assert [(fold.first, fold.last) for fold in folds] == [("block_0", "block_1")]


def test_projections_of_different_names_are_not_folded() -> None:
    program = Program()
    made = []
    for name in ("query", "key", "value"):
        made.append(program.add(program.scope(0, name), "dot_general", [0, program.state(f"{name}/kernel")]))
    assert not any(node.fold for node in view(program.index(program.add(0, "add", made)), fold=True).nodes)


def test_parallel_branches_fold() -> None:  # R36
    program = Program()
    made = []
    for at in range(3):
        head = program.scope(0, f"head_{at}")
        made.append(program.add(head, "dot_general", [0, program.state(f"head_{at}/kernel")]))
    index = program.index(program.add(0, "concatenate", made))
    shown = view(index, fold=True)
    assert (fold_of(shown).count, fold_of(shown).chained) == (3, False)
    assert edges(shown)[:4] == [("in:args[0]", "scope:head_0"), *([("scope:head_0", "op:/concatenate.3")] * 3)]
    opened = view(index, ["scope:head_0"], fold=True, instances={"scope:head_0": 1})
    into = [(edge.source, edge.argument, edge.folded) for edge in opened.edges if "concatenate" in edge.target]
    assert into == [("op:head_1/dot_general.1", at, at != 1) for at in range(3)]


def test_a_module_called_again_folds_and_its_parameters_count_once() -> None:  # R36, R41
    program = Program()
    kernel = program.state("cell/kernel")
    x = 0
    for at in range(4):
        cell = program.scope(0, "cell")
        program.scopes[cell]["id"] = f"cell.{at}"
        x = program.add(cell, "dot_general", [x, kernel])
    info = fold_of(view(program.index(x), fold=True))
    assert (info.count, info.costs.parameters) == (4, 9)


def test_hits_name_the_instance_that_shows_them() -> None:  # R36
    index = layers(4)
    (hit,) = search(index, "layers_2 mul").nodes
    assert hit.instances == {"scope:net/layers_0": 2}
    hits = nodes_at(index, "model.py", 3, 2).nodes
    assert len(hits) == 14
    for found in (hit, *hits, *search(index, "dense").nodes):
        shown = view(index, found.scopes, fold=True, instances=found.instances)
        visible = {node.fold.shown if node.fold else node.id for node in shown.nodes}
        assert found.node in visible, found


def nested(outer: int, inner: int) -> GraphIndex:
    program = Program()
    x = 0
    for at in range(outer):
        stage = program.scope(0, f"stage_{at}")
        for within in range(inner):
            block = program.scope(stage, f"block_{within}")
            x = program.add(block, "dot_general", [x, program.state(f"stage_{at}/block_{within}/kernel")])
    return program.index(program.add(0, "neg", [x]))


def test_folds_inside_folds() -> None:  # R36
    index = nested(3, 4)
    opened = ["scope:stage_0", "scope:stage_0/block_0"]
    shown = view(index, opened, fold=True, instances={"scope:stage_0": 1, "scope:stage_0/block_0": 2})
    assert [(node.id, node.parent) for node in shown.nodes[1:4]] == [
        ("scope:stage_0", ""),
        ("scope:stage_1/block_0", "scope:stage_0"),
        ("op:stage_1/block_2/dot_general.6", "scope:stage_1/block_0"),
    ]
    assert edges(shown)[0] == ("in:args[0]", "op:stage_1/block_2/dot_general.6")
    assert edges(shown)[1] == ("op:stage_1/block_2/dot_general.6", "op:/neg.12")
    # A choice inside the stage that is shown counts before one inside another.
    both = {"scope:stage_0": 1, "scope:stage_0/block_0": 2, "scope:stage_1/block_0": 3}
    again = view(index, opened, fold=True, instances=both)
    assert again.nodes[3].id == "op:stage_1/block_3/dot_general.7"


# --- against the view that is not folded -----------------------------------------------------------------------------


@st.composite
def stacks(draw: st.DrawFn) -> tuple[GraphIndex, int]:
    """Blocks of one random structure, chained or beside one another, with random operations around them."""
    program = Program()
    before = [0, program.add(0, "sin", [0]), program.add(0, "cos", [0])]
    count = draw(st.integers(2, 4))
    entries = draw(st.integers(1, 2))
    shape = draw(
        st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 9), min_size=1, max_size=3)), min_size=2, max_size=6)
    )
    results = draw(st.lists(st.integers(0, len(shape) - 1), min_size=entries, max_size=entries, unique=True))
    chained = draw(st.booleans())
    carried = draw(st.lists(st.sampled_from(before), min_size=entries, max_size=entries, unique=True))
    made: list[int] = []
    for at in range(count):
        block = program.scope(0, f"block_{at}")
        inner = program.scope(block, "inner")
        kernel = program.state(f"block_{at}/kernel")
        known = [*carried, kernel, before[1]]
        here: list[int] = []
        for inside, operands in shape:
            pool = [*known, *here]
            here.append(program.add(inner if inside else block, "add", [pool[o % len(pool)] for o in operands]))
        made += here
        if chained:
            carried = [here[r] for r in results]
    after = draw(st.lists(st.sampled_from(made), min_size=1, max_size=4))
    return program.index(program.add(0, "concatenate", after)), count


@settings(max_examples=150, deadline=None)
@given(stacks(), st.data())
def test_a_folded_view_is_the_whole_one_with_the_others_left_out(  # R36
    stack: tuple[GraphIndex, int], data: st.DataObject
) -> None:
    index, _ = stack
    folded = view(index, fold=True, limit=2000)
    whole = view(index, limit=2000)
    box: dict[str, str] = {}
    for node in folded.nodes:
        if node.fold is not None:
            for member in fold_details(index, node.id).instances:
                box[member.node] = node.id
    contracted = {(box.get(e.source, e.source), box.get(e.target, e.target)) for e in whole.edges}
    assert {(e.source, e.target) for e in folded.edges} == {(a, b) for a, b in contracted if a != b}
    if not box:
        return
    chosen = data.draw(st.sampled_from(sorted(box)))
    inner = data.draw(st.booleans())
    instances = {
        box[chosen]: next(i for i, (m, b) in enumerate(m for m in box.items() if m[1] == box[chosen]) if m == chosen)
    }
    opened = [chosen, f"{chosen}/inner"] if inner else [chosen]
    shown = view(index, opened, fold=True, instances=instances, limit=2000)
    places = {node.id: at for at, node in enumerate(shown.nodes)}
    for edge in shown.edges:
        assert places[edge.source] < places[edge.target]
    reference = view(index, opened, limit=2000)
    inside = {node.id for node in reference.nodes if node.parent.startswith(chosen)}
    assert {node.id for node in shown.nodes if node.parent in (box[chosen], f"{chosen}/inner")} == inside

    # Unfolded, the same instance has the same edges inside; and it reads as many things from outside.
    def within(v: Any) -> list[tuple[str, str, int | None]]:
        return [(e.source, e.target, e.argument) for e in v.edges if e.source in inside and e.target in inside]

    assert within(shown) == within(reference)
    entering = [
        (e.target, e.argument, e.count) for e in reference.edges if e.target in inside and e.source not in inside
    ]
    assert [
        (e.target, e.argument)
        for e in shown.edges
        if e.target in inside and e.source not in inside and e.argument is not None
    ] == [(target, argument) for target, argument, _ in entering if argument is not None]
