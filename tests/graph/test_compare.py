"""What an edit changed in a graph."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tvls.graph import GraphIndex, compare
from tvls.protocol import types_canvas as canvas

from .captures import as_capture, document, documents, mlp, operation, value


def index(found: dict[str, Any]) -> GraphIndex:
    return GraphIndex(as_capture(document(**{key: part for key, part in found.items() if key != "captureId"})))


def changes(before: dict[str, Any], after: dict[str, Any]) -> canvas.CompareResult:
    return compare(index(before), index(after))


def test_moved_lines_are_no_difference() -> None:  # R38
    moved = mlp()
    for frame in moved["frames"]:
        frame["line"] += 10
        frame["endLine"] += 10
    found = changes(mlp(), moved)
    assert (found.same, found.summary, found.unchanged_total) == (True, "no difference", 6)


def test_an_inserted_operation_is_added_and_its_reader_reads_another() -> None:  # R38
    after = mlp()
    after["values"].append(value(shape=(2, 8)))
    after["operations"].insert(4, operation("net/mul.1", [8, 7], [11], 1))
    after["operations"][5]["inputs"][0] = {"value": 11}
    found = changes(mlp(), after)
    assert [(c.node, c.label) for c in found.added] == [("op:net/mul.1", "mul")]
    assert [(c.node, c.what) for c in found.changed] == [("op:net/Dense_1/dot_general.0", ["operands"])]
    assert found.changed[0].text == ["operand 1: net/mul.0 → net/mul.1"]
    assert found.removed == []
    assert found.scopes == {"scope:net": 2, "scope:net/Dense_1": 1}
    back = changes(after, mlp())
    assert [c.node for c in back.removed] == ["op:net/mul.1"]
    assert back.summary == "1 removed, 1 changed (1 operands)"


def test_numbers_that_shift_are_no_difference() -> None:  # R38: an earlier `mul` renumbers those after it
    def program(names: list[str]) -> dict[str, Any]:
        operations = [operation(name, [at], [at + 1], primitive=name[:3]) for at, name in enumerate(names)]
        return document(
            inputs={"args": [{"value": 0}], "kwargs": {}},
            outputs={"value": len(names)},
            values=[value("input"), *(value() for _ in names)],
            operations=operations,
        )

    found = changes(
        program(["sin.0", "mul.0", "cos.0", "mul.1"]), program(["mul.0", "sin.0", "mul.1", "cos.0", "mul.2"])
    )
    assert [c.node for c in found.added] == ["op:mul.0"]
    assert [(c.node, c.before, c.what) for c in found.changed] == [("op:sin.0", "op:sin.0", ["operands"])]
    assert found.unchanged_total == 3


def test_shapes_dtypes_and_parameters_that_changed() -> None:  # R38
    after = mlp()
    for at in (3, 5):
        after["values"][at]["shape"] = [*after["values"][at]["shape"][:-1], 16]
    after["values"][9]["dtype"] = "bfloat16"
    after["operations"][2]["inputs"][1]["literal"] = 1.0
    after["operations"][3]["params"] = {"axis": 1}
    found = changes(mlp(), after)
    assert {c.node: (c.what, c.text) for c in found.changed} == {
        "op:net/Dense_0/dot_general.0": (["shape"], ["f32[2,8] → f32[2,16]"]),
        "op:net/relu/max.0": (["params"], ["operand 2: 0.0:f32 → 1.0:f32"]),
        "op:net/mul.0": (["params"], ["axis: absent → 1"]),
        "op:net/Dense_1/dot_general.0": (["dtype"], ["f32[2,4] → bf16[2,4]"]),
    }
    assert (found.added_total, found.removed_total) == (0, 0)
    assert found.summary == "4 changed (1 shape, 1 dtype, 2 params)"


def test_a_renamed_module_is_the_same_one_elsewhere() -> None:  # R38
    after = mlp()
    after["scopes"][2]["id"] = "net/first"
    for at in (0, 1):
        after["operations"][at]["id"] = after["operations"][at]["id"].replace("Dense_0", "first")
    found = changes(mlp(), after)
    assert [(c.node, c.before, c.what) for c in found.changed] == [
        ("op:net/first/dot_general.0", "op:net/Dense_0/dot_general.0", ["scope"]),
        ("op:net/first/add.0", "op:net/Dense_0/add.0", ["scope"]),
    ]


def test_subprograms_inputs_and_outputs() -> None:  # R38
    def program(primitive: str, shape: tuple[int, ...], outputs: int) -> dict[str, Any]:
        body = {
            "label": "",
            "inputs": [0],
            "outputs": [{"value": 1}],
            "values": [value("input"), value()],
            "operations": [operation(f"{primitive}.0", [0], [1])],
            "scopes": [{"id": "", "parent": None, "kind": "root"}],
            "bodies": [],
        }
        refs = [{"role": "body", "body": 0}]
        return document(
            inputs={"args": [{"value": 0}], "kwargs": {}},
            outputs={"tuple": [{"value": 1}] * outputs},
            values=[value("input", shape), value()],
            operations=[
                operation("scan.0", [0], [1], opaque="opaque_kernel", bodies=refs, params={"jaxpr": {"body": 0}})
            ],
            bodies=[body],
        )

    found = changes(program("sin", (2, 3), 1), program("cos", (4, 3), 2))
    assert [(c.node, c.what) for c in found.changed] == [("op:scan.0", ["body"]), ("in:args[0]", ["shape"])]
    assert [c.node for c in found.added] == ["out:result[1]"]


@settings(max_examples=60, deadline=None)
@given(documents(), st.data())
def test_comparing_is_symmetric_and_loses_nothing(found: dict[str, Any], data: st.DataObject) -> None:
    same = changes(found, copy.deepcopy(found))
    assert same.same, same.summary
    after = copy.deepcopy(found)
    if after["operations"]:
        chosen = data.draw(st.sampled_from(after["operations"]))
        chosen["params"] = {"axis": 99}
        one = changes(found, after)
        assert (one.changed_total, one.added_total, one.removed_total) == (1, 0, 0)
        assert [c.node for c in one.changed] == [f"op:{chosen['id']}"]
    other = data.draw(documents())
    there, back = changes(found, other), changes(other, found)
    operations = len(other["operations"])
    added = sum(c.node.startswith("op:") for c in there.added)
    changed = sum(c.node.startswith("op:") for c in there.changed)
    assert added + changed + there.unchanged_total == operations
    assert (there.added_total, there.removed_total) == (back.removed_total, back.added_total)
