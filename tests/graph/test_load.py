"""Reading capture files: what is wrong with one is said when it is read, not later."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tvls.capture.encoding import canonical_json, capture_id
from tvls.graph import GraphIndex, details, failure_text, hover, load, nodes_at, outline, search, view
from tvls.protocol.errors import TvlsError

from .captures import Json, as_capture, document, documents, encoded, mlp, value, with_bodies

FAILURE: Json = {
    "formatVersion": 1,
    "framework": "jax",
    "versions": {"python": "3.11.7", "jax": "0.10.2"},
    "target": {"kind": "jax.function", "module": "model", "qualname": "net"},
    "failure": {"kind": "exception", "type": "TypeError", "message": "no", "frames": [], "phase": "trace"},
    "sources": [],
    "observations": [],
}


def refusal(data: bytes) -> str:
    with pytest.raises(TvlsError) as error:
        load(data)
    assert error.value.kind == "captureInvalid"
    return error.value.message


@given(documents())
@settings(max_examples=30, deadline=None)
def test_a_document_comes_back_as_it_was_written(found: Json) -> None:
    data = encoded(found)
    assert canonical_json(load(data)) == data


def test_a_failure_is_not_an_empty_graph() -> None:  # R22
    loaded = load(json.dumps(FAILURE).encode())
    assert "failure" in loaded
    assert "operations" not in loaded


def test_a_file_that_was_laid_out_anew_is_still_the_same_capture() -> None:
    found = mlp()
    data = json.dumps(dict(reversed(found.items())), indent=2).encode()
    assert load(data) == load(encoded(found))


def test_fields_that_a_later_version_adds_are_no_fault() -> None:
    found = {**mlp(), "somethingNew": {"captureId": "x"}}
    assert "failure" not in load(encoded(found))


def test_a_lone_surrogate_in_a_name_does_not_make_a_capture_unreadable() -> None:
    found = document(values=[value("input", name="caf\udce9")])
    assert as_capture(found)["values"][0].get("name") == "caf\ufffd"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"not json",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"formatVersion":1}',
        b'{"formatVersion":"1"}',
    ],
    ids=repr,
)
def test_what_is_no_capture_at_all(data: bytes) -> None:
    assert refusal(data)


def test_another_format_version() -> None:
    assert "format version 2" in refusal(encoded({**mlp(), "formatVersion": 2}))


def test_a_changed_content_is_noticed() -> None:
    data = encoded(mlp())
    assert "content was changed" in refusal(data.replace(b'"mul"', b'"add"'))
    assert "content was changed" in refusal(json.dumps({**mlp(), "captureId": "sha256:00"}).encode())


def test_a_deep_structure_is_refused_not_a_crash() -> None:
    tree: Json = {"value": 0}
    for _ in range(300):
        tree = {"list": [tree]}
    found = document(values=[value("input")], inputs={"args": [tree], "kwargs": {}})
    assert len(GraphIndex(as_capture(found)).program.inputs) == 1
    text = '{"list":[' * 50_000
    assert refusal(b'{"formatVersion":1,"outputs":' + text.encode())


def test_a_truncated_file_at_any_byte() -> None:
    data = encoded(mlp())
    for length in range(0, len(data) - 1, 37):
        assert refusal(data[:length])


def change(path: list[str | int], to: Any) -> Callable[[Json], None]:
    def apply(found: Json) -> None:
        at: Any = found
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = to

    return apply


@pytest.mark.parametrize(
    ("apply", "says"),
    [
        (change(["operations", 0, "inputs", 0], {"value": 99}), "operations[0].inputs[0] is value 99"),
        (change(["operations", 0, "inputs", 0], {"value": -1}), "operations[0].inputs[0] is value -1"),
        (change(["operations", 0, "inputs", 0], {"value": 9}), "which nothing before it makes"),
        (change(["operations", 0, "inputs", 0], {}), "neither a value nor a literal"),
        (change(["operations", 1, "outputs"], [5]), "an input or made by an earlier operation"),
        (change(["operations", 1, "outputs"], [0]), "an input or made by an earlier operation"),
        (change(["operations", 1, "outputs"], [11]), "there are 11 values"),
        (change(["operations", 1, "id"], "net/mul.0"), "is not unique"),
        (change(["operations", 1, "scope"], 5), "there are 5 scopes"),
        (change(["operations", 1, "frames"], [6]), "there are 6 frames"),
        (change(["operations", 1, "frames"], [-1]), "there are 6 frames"),
        (change(["operations", 1, "bodies"], [{"role": "body", "body": 0}]), "there are 0 bodies"),
        (change(["operations", 1, "outputs"], ["5"]), "$.operations[1].outputs[0]"),
        (change(["scopes"], []), "no root"),
        (change(["scopes", 1, "parent"], 2), "a parent stands before its children"),
        (change(["scopes", 1, "parent"], 1), "a parent stands before its children"),
        (change(["scopes", 1, "parent"], None), "is the root"),
        (change(["scopes", 0, "parent"], 0), "is the root"),
        (change(["scopes", 1, "id"], "net/relu"), "is not unique"),
        (change(["inputs", "args", 0], {"value": 10}), "inputs.args[0]"),
        (change(["inputs", "args", 0], {"value": "0"}), "not an index"),
        (change(["inputs", "args", 0], {"value": True}), "not an index"),
        (change(["inputs", "args", 0], {"list": {"a": 1}}), "not a JSON array"),
        (change(["inputs", "args", 0], {"dict": {"a": 1}}), "not a JSON object"),
        (change(["outputs"], {"tuple": [{"list": [{"value": 11}]}]}), "there are 11 values"),
        (change(["outputs"], {}), "outputs is none of"),
        (change(["frames", 0, "endLine"], 2), "frames[0] ends before it begins"),
        (change(["frames", 0, "endLine"], 10**9), "frames[0] covers more than"),
    ],
)
def test_an_index_that_points_nowhere_is_named(apply: Callable[[Json], None], says: str) -> None:
    found = copy.deepcopy(mlp())
    apply(found)
    assert says in refusal(encoded(found))


@pytest.mark.parametrize(
    ("apply", "says"),
    [
        (change(["bodies", 0, "outputs", 0], {"value": 9}), "bodies[0].outputs[0]"),
        (change(["bodies", 0, "inputs"], [3]), "bodies[0].inputs"),
        (
            change(["bodies", 0, "bodies", 1, "operations", 0, "inputs", 0], {"value": 7}),
            "bodies[0].bodies[1].operations[0]",
        ),
        (change(["bodies", 0, "operations", 0, "frames"], [2]), "bodies[0].operations[0].frames"),
    ],
)
def test_bodies_are_checked_too(apply: Callable[[Json], None], says: str) -> None:
    found = copy.deepcopy(with_bodies())
    apply(found)
    assert says in refusal(encoded(found))


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """A document in which some numbers anywhere are others, with an identity that fits."""
    found: Json = copy.deepcopy(draw(st.sampled_from([mlp(), with_bodies()])))
    for _ in range(draw(st.integers(1, 3))):
        at: Any = found
        while True:
            keys: list[Any] = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(at[key], dict | list):
                at = at[key]
                continue
            if isinstance(at[key], int):
                at[key] = draw(st.integers(-2, 15))
            break
    found["captureId"] = capture_id(found)
    return canonical_json(found)


@given(_damaged())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_hand_edited_file_is_refused_or_works(data: bytes) -> None:
    try:
        capture = load(data)
    except TvlsError as refused:
        assert refused.kind == "captureInvalid"
        return
    assert "failure" not in capture
    index = GraphIndex(capture)
    expanded = [f"scope:{scope['id']}" for scope in capture["scopes"]]
    for node in view(index, expanded).nodes:
        details(index, node.id)
    search(index, "f32[*, 8]")
    nodes_at(index, "model.py", 6, 10)
    hover(index, "model.py", 6, 10, "    h = nn.Dense(8)(x)", "fresh")
    assert outline(capture)


def test_a_failure_reads_as_text() -> None:
    frames = [
        {"path": "jax/numpy.py", "workspace": False, "function": "dot", "line": 9},
        {"path": "model.py", "workspace": True, "function": "net", "line": 6},
    ]
    found = {**FAILURE, "failure": {**FAILURE["failure"], "frames": frames, "message": "shapes differ\nlong story"}}
    found["observations"] = [{"path": "model.py", "line": 5, "name": "x", "seen": []}]
    loaded = load(json.dumps(found).encode())
    assert "failure" in loaded
    text = failure_text(loaded)
    assert text.index("TypeError: shapes differ") < text.index("model.py:6  net") < text.index("jax/numpy.py:9")
    assert "tracing" in text
    assert "1 place" in text


def test_a_failure_says_what_to_try_and_keeps_the_full_message() -> None:
    more = {"hint": "give x the shape [3]", "detail": "dot_general requires\n  equal sizes"}
    loaded = load(json.dumps({**FAILURE, "failure": {**FAILURE["failure"], **more}}).encode())
    assert "failure" in loaded
    text = failure_text(loaded)
    assert "\ntry: give x the shape [3]\n" in text
    assert text.index("try:") < text.index("in full:\n  dot_general requires\n    equal sizes")
