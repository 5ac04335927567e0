"""Captures for tests: a small builder, documents written by hand, and random ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tvls.capture.document import Capture
from tvls.capture.encoding import canonical_json, capture_id

Json = dict[str, Any]


def value(role: str = "intermediate", shape: tuple[int, ...] = (2, 3), dtype: str = "float32", **more: Any) -> Json:
    return {"role": role, "shape": list(shape), "dtype": dtype, **more}


def operation(id: str, inputs: list[Any], outputs: list[int], scope: int = 0, **more: Any) -> Json:
    """Operands are value indices, or documents of literals."""
    return {
        "id": id,
        "primitive": more.pop("primitive", id.rsplit("/", 1)[-1].rsplit(".", 1)[0]),
        "scope": scope,
        "inputs": [{"value": operand} if isinstance(operand, int) else operand for operand in inputs],
        "outputs": outputs,
        "params": more.pop("params", {}),
        "frames": more.pop("frames", []),
        **more,
    }


def frame(line: int, column: int, end_column: int, **more: Any) -> Json:
    found = {
        "path": "model.py",
        "workspace": True,
        "function": "net",
        "line": line,
        "column": column,
        "endLine": line,
        "endColumn": end_column,
    }
    return {**found, **more}


def document(**parts: Any) -> Json:
    """A capture document with its identity. Parts that are not given are those of an empty program."""
    found: Json = {
        "formatVersion": 1,
        "framework": "jax",
        "backend": "jaxpr",
        "versions": {"python": "3.11.7", "jax": "0.10.2"},
        "evidence": "inferred",
        "coverage": {"scope": "traced_program", "status": "complete", "reasons": []},
        "target": {"kind": "jax.function", "module": "model", "qualname": "net", "path": "model.py", "line": 4},
        "setup": {"digest": "sha256:00", "device": "cpu", "mode": "eval", "seed": 0, "static": {}, "notes": []},
        "sources": [{"path": "model.py", "digest": "sha256:00"}],
        "inputs": {"args": [], "kwargs": {}},
        "outputs": {"tuple": []},
        "values": [],
        "operations": [],
        "scopes": [{"id": "", "parent": None, "kind": "root"}],
        "frames": [],
        "observations": [],
        "bodies": [],
        "unavailable": {},
        **parts,
    }
    return {**found, "captureId": capture_id(found)}


def encoded(found: Json) -> bytes:
    return canonical_json({**found, "captureId": capture_id(found)})


def as_capture(found: Json) -> Capture:
    from tvls.graph import load

    loaded = load(encoded(found))
    assert "failure" not in loaded
    return loaded


def mlp() -> Json:
    """A jitted function around a Linen module of two layers, one input of two unused, a constant and a literal."""
    kernel = {"class": "Dense", "evidence": "name_stack"}
    return document(
        inputs={"args": [{"dict": {"x": {"value": 0}, "a b": {"value": 1}}}], "kwargs": {"train": {"static": False}}},
        outputs={"dict": {"logits": {"value": 10}, "kernel": {"value": 2}, "note": {"opaque": "model.Note"}}},
        values=[
            value("input", (2, 3), name="x"),
            value("input", (7,), "int32"),
            value("state", (3, 8), name="params/Dense_0/kernel"),
            value("state", (8, 4), name="params/Dense_1/kernel"),
            value("constant", (8,)),
            value(shape=(2, 8)),
            value(shape=(2, 8)),
            value(shape=(2, 8)),
            value(shape=(2, 8)),
            value(shape=(2, 4)),
            value(shape=(2, 4), weakType=True),
        ],
        scopes=[
            {"id": "", "parent": None, "kind": "root"},
            {"id": "net", "parent": 0, "kind": "jit", "name": "net"},
            {"id": "net/Dense_0", "parent": 1, "kind": "module", "name": "Dense_0", "path": "Dense_0", **kernel},
            {"id": "net/relu", "parent": 1, "kind": "custom_jvp", "name": "relu"},
            {"id": "net/Dense_1", "parent": 1, "kind": "module", "name": "Dense_1", "path": "Dense_1", **kernel},
        ],
        operations=[
            operation("net/Dense_0/dot_general.0", [0, 2], [5], 2, frames=[3, 0]),
            operation("net/Dense_0/add.0", [5, 4], [6], 2, frames=[4, 0]),
            operation("net/relu/max.0", [6, {"literal": 0.0, "dtype": "float32"}], [7], 3, frames=[1]),
            operation("net/mul.0", [7, 7], [8], 1, frames=[2]),
            operation("net/Dense_1/dot_general.0", [8, 3], [9], 4, frames=[3, 5]),
            operation("net/Dense_1/neg.0", [9], [10], 4, frames=[4, 5]),
        ],
        frames=[
            frame(6, 8, 24),
            frame(7, 8, 20),
            frame(8, 8, 13),
            frame(40, 4, 30, path="flax/linen/linear.py", workspace=False, function="Dense.__call__"),
            frame(41, 4, 30, path="flax/linen/linear.py", workspace=False, function="Dense.__call__"),
            frame(9, 11, 27),
        ],
        observations=[
            {"path": "model.py", "line": 5, "name": "x", "function": "net", "seen": [seen((2, 3))]},
            {"path": "model.py", "line": 6, "name": "h", "function": "net", "seen": [seen((2, 8))]},
            {
                "path": "model.py",
                "line": 7,
                "name": "h",
                "function": "net",
                "seen": [seen((4, 8), 1), seen((2, 8), 12)],
            },
            {"path": "model.py", "line": 9, "name": "return", "function": "net", "seen": [seen((2, 4))]},
        ],
    )


def seen(shape: tuple[int, ...], count: int = 1, dtype: str = "float32") -> Json:
    return {"shape": list(shape), "dtype": dtype, "count": count}


def with_bodies() -> Json:
    """A scan whose body has a cond with two branches; the branches and another operation share a graph."""

    def leaf(primitive: str) -> Json:
        return {
            "label": "",
            "inputs": [0],
            "outputs": [{"value": 1}, {"literal": 1, "dtype": "int32"}],
            "values": [value("input", (3,)), value(shape=(3,))],
            "operations": [operation(f"{primitive}.0", [0], [1], frames=[1, 0])],
            "scopes": [{"id": "", "parent": None, "kind": "root"}],
            "bodies": [],
        }

    step = {
        "label": "scan body",
        "inputs": [0],
        "outputs": [{"value": 1}],
        "values": [value("input", (3,), name="carry"), value(shape=(3,)), value(shape=(), dtype="int32")],
        "operations": [
            operation(
                "a#b>c/cond.0",
                [0],
                [1, 2],
                opaque="opaque_kernel",
                bodies=[{"role": "branches", "body": 0}, {"role": "branches", "body": 1}],
                frames=[0],
            )
        ],
        "scopes": [{"id": "", "parent": None, "kind": "root"}],
        "bodies": [leaf("sin"), leaf("cos")],
    }
    return document(
        coverage={
            "scope": "traced_program",
            "status": "partial",
            "reasons": ["opaque_kernel"],
            "counts": {"opaque_kernel": 2},
        },
        inputs={"args": [{"value": 0}], "kwargs": {}},
        outputs={"tuple": [{"value": 1}, {"value": 2}, {"value": 0}]},
        values=[value("input", (3,), name="x"), value(shape=(3,)), value(shape=(3,))],
        operations=[
            operation("scan.0", [0], [1], opaque="opaque_kernel", bodies=[{"role": "jaxpr", "body": 0}], frames=[0]),
            operation("scan.1", [1], [2], opaque="opaque_kernel", bodies=[{"role": "jaxpr", "body": 0}], frames=[0]),
        ],
        frames=[frame(12, 4, 40), frame(11, 8, 20, function="step")],
        bodies=[step],
    )


# --- random documents ------------------------------------------------------------------------------------------------

_SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)


@st.composite
def _graphs(draw: st.DrawFn, nesting: int, inputs: int, frames: int) -> Json:
    """Values, operations, scopes and bodies of one graph; the first `inputs` values are inputs."""
    scopes: list[Json] = [{"id": "", "parent": None, "kind": "root"}]
    for at in range(1, draw(st.integers(1, 7))):
        parent = draw(st.integers(0, at - 1))
        kind = draw(st.sampled_from(["jit", "module", "named", "custom_jvp"]))
        # An id may look like a path, have odd characters, and be equal to the id of an operation.
        scopes.append({"id": draw(st.sampled_from(["s", "a/b", "é >#%"])) + str(at), "parent": parent, "kind": kind})
    values = [value("input", draw(_SHAPES)) for _ in range(inputs)]
    values += [value(draw(st.sampled_from(["state", "constant"])), draw(_SHAPES), name=f"p/{at}") for at in range(2)]
    bodies = [draw(_bodies(nesting - 1, frames)) for _ in range(draw(st.integers(0, 2)) if nesting else 0)]
    operations: list[Json] = []
    for at in range(draw(st.integers(0, 12))):
        known = st.integers(0, len(values) - 1)
        literal = st.just({"literal": "nan", "dtype": "float32"})
        operands = draw(st.lists(st.one_of(known, known, literal), max_size=3))
        outputs: list[int] = []
        for _ in range(draw(st.integers(0, 2))):
            outputs.append(len(values))
            values.append(value(shape=draw(_SHAPES)))
        more: Json = {}
        if bodies and draw(st.booleans()):
            refs = draw(st.lists(st.integers(0, len(bodies) - 1), min_size=1, max_size=2))
            more = {"opaque": "opaque_kernel", "bodies": [{"role": "body", "body": ref} for ref in refs]}
        stack = draw(st.lists(st.integers(0, frames - 1), max_size=4)) if frames else []
        scope = draw(st.integers(0, len(scopes) - 1))
        operations.append(operation(f"add.{at}", operands, outputs, scope, frames=stack, **more))
    return {"values": values, "operations": operations, "scopes": scopes, "bodies": bodies}


@st.composite
def _bodies(draw: st.DrawFn, nesting: int, frames: int) -> Json:
    inputs = draw(st.integers(0, 2))
    graph = draw(_graphs(nesting, inputs, frames))
    known = st.integers(0, len(graph["values"]) - 1)
    outputs = [{"value": at} for at in draw(st.lists(known, max_size=2))]
    return {"label": "body", "inputs": list(range(inputs)), "outputs": outputs, **graph}


@st.composite
def documents(draw: st.DrawFn) -> Json:
    """Any capture that the contract allows, small."""
    frames = [
        frame(
            draw(st.integers(1, 4)),
            draw(st.integers(0, 6)),
            draw(st.integers(7, 12)),
            workspace=draw(st.booleans()),
            function=draw(st.sampled_from(["f", "g"])),
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    inputs = draw(st.integers(0, 3))
    graph = draw(_graphs(2, inputs, len(frames)))
    known = st.integers(0, len(graph["values"]) - 1)
    outputs = draw(st.lists(known, max_size=4))
    tree = (
        {"tuple": [{"value": at} for at in outputs]}
        if draw(st.booleans())
        else {"dict": {f"k {place}": {"list": [{"value": at}]} for place, at in enumerate(outputs)}}
    )
    shown = draw(st.integers(0, inputs))  # inputs that the call does not show are allowed
    return document(
        inputs={"args": [{"value": at} for at in range(shown)], "kwargs": {}}, outputs=tree, frames=frames, **graph
    )
