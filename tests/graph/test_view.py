"""Views: what is visible for a set of expanded scopes, and the data between what is visible."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvls.graph import GraphIndex, details, view
from tvls.protocol.errors import TvlsError

from .captures import as_capture, document, documents, mlp, operation, value, with_bodies


def ids(nodes: list[Any]) -> list[str]:
    return [node.id for node in nodes]


def edge_list(shown: Any) -> list[tuple[str, str, int, int | None]]:
    return [(edge.source, edge.target, edge.count, edge.argument) for edge in shown.edges]


def test_a_program_that_is_one_jit_shows_its_inside() -> None:
    shown = view(GraphIndex(as_capture(mlp())))
    assert ids(shown.nodes) == [
        'in:args[0]["a b"]',
        "in:args[0].x",
        "scope:net/Dense_0",
        "scope:net/relu",
        "op:net/mul.0",
        "scope:net/Dense_1",
        "const:2",
        "out:result.kernel",
        "out:result.logits",
    ]
    assert {node.parent for node in shown.nodes} == {""}
    assert shown.total == len(shown.nodes)
    assert shown.next_cursor is None


def test_edges_between_representatives() -> None:  # R15: argument positions and repeated uses
    shown = view(GraphIndex(as_capture(mlp())))
    assert edge_list(shown) == [
        ("in:args[0].x", "scope:net/Dense_0", 1, None),
        ("scope:net/Dense_0", "scope:net/relu", 1, None),
        ("scope:net/relu", "op:net/mul.0", 1, 0),
        ("scope:net/relu", "op:net/mul.0", 1, 1),
        ("op:net/mul.0", "scope:net/Dense_1", 1, None),
        ("const:2", "out:result.kernel", 1, None),
        ("scope:net/Dense_1", "out:result.logits", 1, None),
    ]
    assert (shown.edges[0].value.shape, shown.edges[0].value.dtype) == ([2, 3], "float32")


def test_state_and_constants_are_listed_where_they_are_read() -> None:
    shown = {node.id: node for node in view(GraphIndex(as_capture(mlp()))).nodes}
    dense = shown["scope:net/Dense_0"]
    assert [info.name for info in dense.state] == ["params/Dense_0/kernel"]
    assert [info.shape for info in dense.constants] == [[8]]
    assert (dense.label, dense.class_name, dense.scope_kind, dense.scope_evidence) == (
        "Dense_0",
        "Dense",
        "module",
        "name_stack",
    )
    assert dense.operations == 2
    assert [info.shape for info in dense.outputs] == [[2, 8]]
    assert dense.source == "model.py:6"  # where the module was called


def test_an_expanded_scope_stands_before_its_contents() -> None:
    shown = view(GraphIndex(as_capture(mlp())), ["scope:net/Dense_1", "scope:gone", "op:net/mul.0", "nonsense"])
    inner = [node for node in shown.nodes if node.parent == "scope:net/Dense_1"]
    assert ids(inner) == ["op:net/Dense_1/dot_general.0", "op:net/Dense_1/neg.0"]
    at = ids(shown.nodes).index("scope:net/Dense_1")
    assert shown.nodes[at].expanded
    assert shown.nodes[at].state == []
    assert shown.nodes[at + 1 : at + 3] == inner
    assert [info.name for info in inner[0].state] == ["params/Dense_1/kernel"]
    assert ("op:net/Dense_1/neg.0", "out:result.logits", 1, None) in edge_list(shown)


def test_several_values_between_two_nodes_are_one_edge_with_a_count() -> None:
    found = document(
        inputs={"args": [{"value": 0}], "kwargs": {}},
        values=[value("input"), value(shape=(1,)), value(shape=(2,)), value()],
        scopes=[
            {"id": "", "parent": None, "kind": "root"},
            {"id": "a", "parent": 0, "kind": "jit"},
            {"id": "b", "parent": 0, "kind": "jit"},
        ],
        operations=[operation("a/split.0", [0], [1, 2], 1), operation("b/dot.0", [2, 1, 2], [3], 2)],
    )
    shown = view(GraphIndex(as_capture(found)))
    assert edge_list(shown) == [("in:args[0]", "scope:a", 1, None), ("scope:a", "scope:b", 2, None)]
    assert shown.edges[1].value.shape == [2]  # the first that is read
    opened = view(GraphIndex(as_capture(found)), ["scope:b"])
    assert edge_list(opened)[1:] == [("scope:a", "op:b/dot.0", 1, at) for at in range(3)]


def test_bodies_are_views_of_their_own() -> None:  # R34
    index = GraphIndex(as_capture(with_bodies()))
    scan = next(node for node in view(index).nodes if node.id == "op:scan.1")
    assert scan.opaque == "opaque_kernel"
    assert [(body.role, body.operations) for body in scan.bodies] == [("jaxpr", 1)]
    step = view(index, body=scan.bodies[0].id)
    assert ids(step.nodes) == ["in:0", "op:a#b>c/cond.0", "out:0"]
    branches = step.nodes[1].bodies
    assert len({body.id for body in branches}) == 2
    primitives = [ids(view(index, body=body.id).nodes)[1] for body in branches]
    assert primitives == ["op:sin.0", "op:cos.0"]
    literal = view(index, body=branches[0].id).nodes[-1]
    assert (literal.id, literal.kind, literal.label) == ("out:1", "output", "out[1] = 1:i32")


def test_inputs_of_a_body_are_named_as_what_is_handed_in() -> None:  # R34
    inner = {
        "values": [value("input"), value("input"), value()],
        "operations": [operation("mul.0", [0, 1], [2])],
        "label": "",
        "scopes": [{"id": "", "parent": None, "kind": "root"}],
        "bodies": [],
        "inputs": [0, 1],
        "outputs": [{"value": 2}],
    }
    branch = [{"role": "branch 0", "body": 0}]
    middle = {
        **inner,
        "values": [value("input"), value("input"), value("input", ()), value()],
        "operations": [operation("cond.0", [2, 0, 1], [3], bodies=branch)],
        "bodies": [inner],
        "inputs": [0, 1, 2],
        "outputs": [{"value": 3}],
    }
    values = [value("state", name="cell.kernel"), value("input", name="x"), value("input", (), name="flag")]
    scan = operation("scan.0", [0, 1, 2], [3], bodies=[{"role": "body", "body": 0}])
    # A body that two operations share has the names that both give.
    again = operation("scan.1", [0, 3, 2], [4], bodies=[{"role": "body", "body": 0}])
    inputs = {"args": [{"value": 1}, {"value": 2}], "kwargs": {}}
    for operations, second in (([scan], "x"), ([scan, again], "in[1]")):
        found = document(values=[*values, value(), value()], operations=operations, bodies=[middle], inputs=inputs)
        index = GraphIndex(as_capture(found))
        outer = index.program.operations[0]
        (body,) = details(index, f"op:{outer['id']}").node.node.bodies
        labels = [node.label for node in view(index, body=body.id).nodes if node.kind == "input"]
        assert labels == ["cell.kernel", second, "flag"]
        (deeper,) = details(index, "op:cond.0", body.id).node.node.bodies
        labels = [node.label for node in view(index, body=deeper.id).nodes if node.kind == "input"]
        assert labels == ["cell.kernel", second]


@pytest.mark.parametrize(
    "body", ["scan.0", "scan.0#1", "scan.0#-1", "scan.0#0>", "gone#0", "scan.0#0>x#0", "#", ">", "#٣"]
)
def test_an_unknown_body_is_an_error(body: str) -> None:
    with pytest.raises(TvlsError) as error:
        view(GraphIndex(as_capture(with_bodies())), body=body)
    assert error.value.kind == "nodeNotFound"


@pytest.mark.parametrize("limit", [-5, 0, 1])
def test_the_limit_is_clamped_from_below(limit: int) -> None:
    assert len(view(GraphIndex(as_capture(mlp())), limit=limit).nodes) == 1


def test_the_limit_is_clamped_from_above() -> None:
    values = [value("input"), *(value() for _ in range(3000))]
    operations = [operation(f"neg.{at}", [at], [at + 1]) for at in range(3000)]
    found = document(values=values, operations=operations, inputs={"args": [{"value": 0}], "kwargs": {}})
    index = GraphIndex(as_capture(found))
    assert len(view(index).nodes) == 200
    assert len(view(index, limit=10**9).nodes) == 2000


@pytest.mark.parametrize(
    "cursor", ["", "x", "3", "0.", "-1.{}", "0.{}", "9.{}", "10.{}", "99999999999999.{}", "٣.{}", "1.{} "]
)
def test_a_bad_cursor_is_an_error(cursor: str) -> None:
    index = GraphIndex(as_capture(mlp()))
    first = view(index, limit=1).next_cursor
    assert first is not None
    with pytest.raises(TvlsError) as error:
        view(index, cursor=cursor.format(first.partition(".")[2]))
    assert error.value.kind == "cursorInvalid"


def test_a_cursor_belongs_to_its_question() -> None:
    index = GraphIndex(as_capture(mlp()))
    cursor = view(index, ["scope:net/relu"], limit=2).next_cursor
    assert view(index, ["scope:net/relu"], cursor=cursor, limit=5).nodes
    with pytest.raises(TvlsError):
        view(index, [], cursor=cursor)


def test_values_listed_on_a_node_are_limited_with_their_number() -> None:
    values = [value("state", name=f"params/{at}") for at in range(100)] + [value()]
    found = document(values=values, operations=[operation("concatenate.0", list(range(100)), [100])])
    index = GraphIndex(as_capture(found))
    node = view(index).nodes[0]
    assert (len(node.state), node.state_total) == (64, 100)
    full = details(index, node.id).node.node
    assert (len(full.state), full.state_total) == (100, None)


def test_scopes_without_operations_are_shown() -> None:
    scopes = [{"id": "", "parent": None, "kind": "root"}] + [
        {"id": name, "parent": 0, "kind": "jit", "name": name} for name in ("identity", "double")
    ]
    found = document(
        values=[value("input"), value()], scopes=scopes, operations=[operation("double/add.0", [0, 0], [1], 2)]
    )
    shown = view(GraphIndex(as_capture(found)))
    assert ids(shown.nodes) == ["in:#0", "scope:double", "scope:identity"]
    assert shown.nodes[2].operations == 0


# --- against a model that walks everything ---------------------------------------------------------------------------


def graphs_of(found: dict[str, Any]) -> list[tuple[str | None, dict[str, Any]]]:
    """Every graph of a document with its body id, found by following what nodes list."""
    index = GraphIndex(as_capture(found))
    pending: list[tuple[str | None, dict[str, Any]]] = [(None, found)]
    result = []
    while pending:
        body, graph = pending.pop()
        result.append((body, graph))
        for made in graph["operations"]:
            infos = details(index, f"op:{made['id']}", body).node.node.bodies
            refs = made.get("bodies", [])
            assert len(infos) == len(refs)
            pending += [(info.id, graph["bodies"][ref["body"]]) for info, ref in zip(infos, refs, strict=True)]
    return result


class Model:
    """A view computed the slow way: every operation looks up who stands for it."""

    def __init__(self, graph: dict[str, Any], expanded: set[str], program: bool) -> None:
        self.graph = graph
        self.scopes = graph["scopes"]
        self.expanded = expanded
        self.makers = {v: o for o in graph["operations"] for v in o["outputs"]}
        self.hidden = self.wrappers()
        self.input_names = self.inputs(program)

    def inputs(self, program: bool) -> dict[int, str]:
        values = self.graph["values"]
        if program:
            names = {tree["value"]: f"in:args[{at}]" for at, tree in enumerate(self.graph["inputs"]["args"])}
        else:
            names = {v: f"in:{at}" for at, v in enumerate(self.graph["inputs"])}
        return names | {at: f"in:#{at}" for at, v in enumerate(values) if v["role"] == "input" and at not in names}

    def chain(self, scope: int) -> list[int]:
        parent = self.scopes[scope]["parent"]
        return [] if parent is None else [*self.chain(parent), scope]

    def wrappers(self) -> set[int]:
        hidden = {0}
        top = 0
        while True:
            inside = [at for at, scope in enumerate(self.scopes) if scope["parent"] == top]
            if len(inside) != 1 or any(o["scope"] == top for o in self.graph["operations"]):
                return hidden
            top = inside[0]
            hidden.add(top)

    def collapsed(self, scope: int) -> int | None:
        """The outermost scope around that is not open."""
        for at in self.chain(scope):
            if at not in self.hidden and f"scope:{self.scopes[at]['id']}" not in self.expanded:
                return at
        return None

    def shown_for(self, operation: dict[str, Any]) -> str:
        scope = self.collapsed(operation["scope"])
        return f"op:{operation['id']}" if scope is None else f"scope:{self.scopes[scope]['id']}"

    def quiet(self, v: int) -> bool:
        return v not in self.makers and self.graph["values"][v]["role"] in ("state", "constant")

    def source(self, v: int) -> str | None:
        if v in self.makers:
            return self.shown_for(self.makers[v])
        return None if self.quiet(v) else self.input_names[v]

    def visible(self) -> set[str]:
        nodes = {self.shown_for(o) for o in self.graph["operations"]} | set(self.input_names.values())
        for at, scope in enumerate(self.scopes):
            if at not in self.hidden and self.collapsed(scope["parent"]) is None:
                nodes.add(f"scope:{scope['id']}")
        return nodes

    def producers(self) -> dict[str, Counter[tuple[str, int | None]]]:
        """Target → (source, argument) with the number of different values, for operations and scopes."""
        flows: dict[str, set[tuple[str, int | None, int]]] = {}
        for o in self.graph["operations"]:
            target = self.shown_for(o)
            for at, operand in enumerate(o["inputs"]):
                v = operand.get("value")
                source = None if v is None else self.source(v)
                if source is not None and source != target:
                    flows.setdefault(target, set()).add((source, at if target.startswith("op:") else None, v))
        return {target: Counter((s, a) for s, a, _ in flow) for target, flow in flows.items()}


def whole(node: str) -> str:
    """A scope's node for any of its segments."""
    return f"scope:{node.split(':', 2)[2]}" if node.startswith("segment:") else node


def with_segments(index: GraphIndex, scopes: set[str], body: str | None = None) -> set[str]:
    """Ids of scopes with those of all their segments."""
    return {node for node in index.graph(body).scopes_by_node if whole(node) in scopes}


@settings(max_examples=100, deadline=None)
@given(documents(), st.data())
def test_views_agree_with_the_model(found: dict[str, Any], data: st.DataObject) -> None:
    index = GraphIndex(as_capture(found))
    for body, graph in graphs_of(found):
        scope_ids = [f"scope:{scope['id']}" for scope in graph["scopes"]]
        expanded = data.draw(st.sets(st.sampled_from(scope_ids)))
        model = Model(graph, expanded, body is None)
        shown = view(index, with_segments(index, expanded, body), body, limit=2000)
        divided = {whole(node) for node in index.graph(body).scopes_by_node if node.startswith("segment:")}

        places = {node.id: at for at, node in enumerate(shown.nodes)}
        assert len(places) == len(shown.nodes) == shown.total
        inner = {node for node in places if not node.startswith(("const:", "out:"))}
        assert {whole(node) for node in inner} == model.visible()

        flows: dict[str, Counter[tuple[str, int | None]]] = {}
        for edge in shown.edges:
            assert edge.source in places
            if edge.target.startswith("out:"):
                continue
            if whole(edge.source) != whole(edge.target):
                flows.setdefault(whole(edge.target), Counter())[whole(edge.source), edge.argument] += edge.count
        wanted_flows = model.producers()
        assert {target: set(flow) for target, flow in flows.items()} == {t: set(f) for t, f in wanted_flows.items()}
        for target, flow in flows.items():  # several segments may each read the same value
            if target not in divided:
                assert {k: n for k, n in flow.items() if k[0] not in divided} == {
                    k: n for k, n in wanted_flows[target].items() if k[0] not in divided
                }

        outputs = [node for node in shown.nodes if node.kind == "output"]
        wanted = graph["outputs"].get("tuple") if body is None else None
        if wanted is not None:
            sources = {edge.target: edge.source for edge in shown.edges if edge.target.startswith("out:")}
            assert len(outputs) == len(wanted)
            for node, leaf in zip(outputs, wanted, strict=True):
                assert whole(sources[node.id]) == (model.source(leaf["value"]) or f"const:{leaf['value']}")

        for node in shown.nodes:
            if node.parent:
                assert places[node.parent] < places[node.id]
                assert shown.nodes[places[node.parent]].expanded
        # No node reads from a later one, so boxes make no cycle, whatever is expanded.
        for edge in shown.edges:
            assert places[edge.source] < places[edge.target]
        # Operations of one parent, and so of a flat program, stand in program order.
        order = {f"op:{o['id']}": at for at, o in enumerate(graph["operations"])}
        for parent in {node.parent for node in shown.nodes}:
            siblings = [order[n.id] for n in shown.nodes if n.parent == parent and n.kind == "operation"]
            assert siblings == sorted(siblings)


@settings(max_examples=50, deadline=None)
@given(documents(), st.data(), st.integers(1, 7))
def test_pages_add_up_to_the_view(found: dict[str, Any], data: st.DataObject, limit: int) -> None:
    index = GraphIndex(as_capture(found))
    expanded = data.draw(st.sets(st.sampled_from([f"scope:{scope['id']}" for scope in found["scopes"]])))
    whole = view(index, expanded, limit=2000)
    nodes, edges, cursor = [], [], None
    while True:
        page = view(index, expanded, cursor=cursor, limit=limit)
        assert page.total == whole.total
        assert {edge.target for edge in page.edges} <= set(ids(page.nodes))
        nodes += page.nodes
        edges += page.edges
        cursor = page.next_cursor
        if cursor is None:
            break
        assert len(page.nodes) == limit
    assert nodes == whole.nodes
    assert edges == whole.edges


def interleaved() -> dict[str, Any]:
    """A scope whose second operation reads what is made outside of it from its first."""
    return document(
        inputs={"args": [{"value": 0}], "kwargs": {}},
        outputs={"value": 3},
        values=[value("input"), value(), value(), value()],
        scopes=[{"id": "", "parent": None, "kind": "root"}, {"id": "f", "parent": 0, "kind": "jit", "name": "f"}],
        operations=[operation("f/sin.0", [0], [1], 1), operation("cos.0", [1], [2]), operation("f/neg.0", [2], [3], 1)],
    )


def test_a_scope_that_would_make_a_cycle_is_shown_in_segments() -> None:
    index = GraphIndex(as_capture(interleaved()))
    shown = view(index)
    assert ids(shown.nodes) == ["in:args[0]", "scope:f", "op:cos.0", "segment:2:f", "out:result"]
    segments = [node.segment for node in shown.nodes if node.segment]
    assert [(segment.number, segment.count) for segment in segments] == [(1, 2), (2, 2)]
    assert edge_list(shown) == [
        ("in:args[0]", "scope:f", 1, None),
        ("scope:f", "op:cos.0", 1, 0),
        ("op:cos.0", "segment:2:f", 1, None),
        ("segment:2:f", "out:result", 1, None),
    ]
    opened = view(index, ["segment:2:f"])
    assert [(node.id, node.parent) for node in opened.nodes if node.parent] == [("op:f/neg.0", "segment:2:f")]
    assert details(index, "segment:2:f").node.operands[0].producer == "op:cos.0"


@settings(max_examples=50, deadline=None)
@given(documents(), st.data(), st.booleans(), st.sets(st.sampled_from(["constant", "parameter", "shape"])))
def test_no_view_has_a_cycle(found: dict[str, Any], data: st.DataObject, fold: bool, hide: set[str]) -> None:
    index = GraphIndex(as_capture(found))
    for body, _ in graphs_of(found):
        scopes = sorted(index.graph(body).scopes_by_node)
        expanded = data.draw(st.sets(st.sampled_from(scopes)))
        shown = view(index, expanded, body, limit=2000, fold=fold, hide=hide)
        places = {node.id: at for at, node in enumerate(shown.nodes)}
        assert len(places) == len(shown.nodes) == shown.total
        for edge in shown.edges:
            assert places[edge.source] < places[edge.target]
        for node in shown.nodes:
            assert not node.parent or shown.nodes[places[node.parent]].expanded


@settings(max_examples=50, deadline=None)
@given(documents())
def test_every_operation_can_be_reached_by_expanding(found: dict[str, Any]) -> None:
    index = GraphIndex(as_capture(found))
    for body, graph in graphs_of(found):
        expanded: set[str] = set()
        while True:
            nodes = view(index, expanded, body, limit=2000).nodes
            more = {node.id for node in nodes if node.kind == "scope"} - expanded
            if not more:
                break
            expanded |= more
        assert {f"op:{o['id']}" for o in graph["operations"]} <= set(ids(nodes))
