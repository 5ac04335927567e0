"""Indices over one immutable capture, from which views, details, search and positions are answered.

A `Graph` indexes one graph: the traced program, or a body of one of its operations (a body is a graph with indices of
its own). All but the raw lists is built when it is first asked for, in passes linear in the size of the graph.
"""

from __future__ import annotations

import gc
from collections import Counter, OrderedDict
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast
from urllib.parse import quote, unquote

from tvls.capture.document import Body, Capture, Frame, Operand, Operation, Scope, Tree, Value
from tvls.graph.order import Part, reading_order
from tvls.graph.text import child_place, scope_label
from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError

PRODUCED_NOWHERE = -1


class Port(NamedTuple):
    """An input or output of a graph, at its place in the call, such as `args[0].x` or `result[1]`."""

    id: str
    place: str
    operand: Operand


class Flow(NamedTuple):
    """What crosses the border of each scope: ordered sets of value indices. Scopes without an entry have none.

    The root has no border; `state` and `constants` have entries for it all the same. Where nothing that a scope makes
    is read outside of it, what its last operation made and nothing reads is its output: it was called for that.
    """

    inputs: dict[int, dict[int, None]]
    outputs: dict[int, dict[int, None]]
    state: dict[int, dict[int, None]]
    constants: dict[int, dict[int, None]]


class Segments(NamedTuple):
    """Scopes as they can be boxes: each as often as its operations need it, in reading order."""

    parts: list[Part]
    scopes: list[Scope]
    home: list[int]
    """For each operation the scope that it stands in."""
    numbers: list[tuple[int, int]]
    """For each scope which segment it is, from 1, and of how many; empty where no scope has several."""


class Use(NamedTuple):
    operation: int
    argument: int


def node_not_found(node: str) -> TvlsError:
    return TvlsError(
        "nodeNotFound", f"There is no node {node!r} in this graph.", "Ask for the view again; ids come from there."
    )


class Graph:
    """Index over the program or one body. Operations, scopes and values are named by their position in its lists.

    In `children`, an operation is its index and a scope is the complement (`~index`) of its own.
    """

    def __init__(
        self,
        values: list[Value],
        operations: list[Operation],
        scopes: list[Scope],
        bodies: list[Body],
        inputs: list[Port],
        outputs: list[Port],
        frames: list[Frame],
    ) -> None:
        self.values = values
        self.operations = operations
        self._captured_scopes = scopes
        self.bodies = bodies
        self.frames = frames
        self.outputs = outputs
        self._listed_inputs = inputs
        self._body_graphs: dict[int, Graph] = {}
        self.given_names: dict[int, str] = {}
        """Of a body: names of inputs that have none here, by value, as the operation around it gives them."""
        self.around: list[int] = []
        """Of a body: frames that the operations have in common that it is a body of."""
        self.value_infos: dict[int, t.ValueInfo] = {}
        """Values as they travel, made when they are first asked for."""
        self.scope_nodes: dict[int, t.Node] = {}
        """Collapsed scopes as they are drawn; the capture does not change, and so neither do they."""
        self.layouts: OrderedDict[Any, Any] = OrderedDict()
        """The last layouts of `view`, which owns them."""
        self.work: dict[str, Any] = {}
        """Of `costs`."""
        self.scope_costs: dict[int, t.Costs] = {}
        self.noise: list[Any] | None = None
        """Of `noise`, as the two below."""
        self.scope_noise: list[tuple[int, ...]] | None = None
        self.parameter_inputs: dict[int, None] | None = None
        self.folds: Any = None
        """Of `folds`, as the two below."""
        self.output_structures: Any = None
        """Kept by `structures`."""
        self.fold_infos: dict[tuple[int, int], t.FoldInfo] = {}
        self.body_keys: dict[int, bytes] = {}
        self.signatures: list[int] | None = None
        """Of `compare`."""
        self.rows: dict[tuple[int, bool, frozenset[str]], Any] = {}
        """Children of scopes as views show them; of `view`."""

    # --- values ----------------------------------------------------------------------------------------------------

    @cached_property
    def producer(self) -> list[int]:
        """For each value the operation that makes it, or -1."""
        producer = [PRODUCED_NOWHERE] * len(self.values)
        for index, operation in enumerate(self.operations):
            for value in operation["outputs"]:
                producer[value] = index
        return producer

    @cached_property
    def quiet(self) -> list[bool]:
        """For each value whether it is state or a constant: not a node, but listed where it is read."""
        pairs = zip(self.values, self.producer, strict=True)
        return [made_by < 0 and value["role"] in ("state", "constant") for value, made_by in pairs]

    @cached_property
    def inputs(self) -> list[Port]:
        """Inputs that are nodes: those of the call, then inputs of the program that the call does not show."""
        listed: dict[int, Port] = {}
        for port in self._listed_inputs:
            value = port.operand.get("value")
            if value is not None and not self.quiet[value]:
                listed.setdefault(value, port)
        for value, described in enumerate(self.values):
            if described["role"] == "input" and value not in listed and self.producer[value] < 0:
                listed[value] = Port(f"in:#{value}", described.get("name") or f"#{value}", {"value": value})
        return list(listed.values())

    @cached_property
    def input_ids(self) -> dict[int, str]:
        """Value → id of its input node."""
        return {port.operand["value"]: port.id for port in self.inputs if "value" in port.operand}

    @cached_property
    def quiet_outputs(self) -> list[int]:
        """State and constants that are an output as they are: these are shown as nodes."""
        found = (port.operand.get("value") for port in self.outputs)
        return list(dict.fromkeys(value for value in found if value is not None and self.quiet[value]))

    @cached_property
    def uses(self) -> dict[int, list[Use]]:
        """Value → operations that read it, in program order. Values that none reads have no entry."""
        uses: dict[int, list[Use]] = {}
        for index, operation in enumerate(self.operations):
            for argument, operand in enumerate(operation["inputs"]):
                value = operand.get("value")
                if value is not None:
                    uses.setdefault(value, []).append(Use(index, argument))
        return uses

    @cached_property
    def output_uses(self) -> dict[int, list[Port]]:
        """Value → outputs of the graph that it is."""
        uses: dict[int, list[Port]] = {}
        for port in self.outputs:
            value = port.operand.get("value")
            if value is not None:
                uses.setdefault(value, []).append(port)
        return uses

    def value_node(self, value: int) -> str | None:
        """Node that a value comes from. State and constants have one only where they are an output themselves."""
        made_by = self.producer[value]
        if made_by >= 0:
            return self.operation_node(made_by)
        if self.quiet[value]:
            return f"const:{value}" if value in self.quiet_outputs else None
        return self.input_ids.get(value)

    # --- scopes ----------------------------------------------------------------------------------------------------

    @cached_property
    def segments(self) -> Segments:
        """Reading order. A scope that cannot be one box without a cycle between boxes is several scopes here."""
        captured = self._captured_scopes
        parts = reading_order(self.operations, captured, self.producer)
        if len(parts) == len(captured):
            return Segments(parts, captured, [operation["scope"] for operation in self.operations], [])
        counts = Counter(part.scope for part in parts)
        reached: Counter[int] = Counter()
        scopes: list[Scope] = []
        numbers: list[tuple[int, int]] = []
        home = [0] * len(self.operations)
        for at, part in enumerate(parts):  # a part stands before those inside it
            reached[part.scope] += 1
            numbers.append((reached[part.scope], counts[part.scope]))
            scope = captured[part.scope]
            scopes.append({**scope, "parent": part.parent.scope if part.parent else None})
            part.scope = at
            for item in part.items:
                if isinstance(item, int):
                    home[item] = at
        return Segments(parts, scopes, home, numbers)

    @property
    def scopes(self) -> list[Scope]:
        """Of the capture, but a scope that cannot be one box has an entry for each of its segments."""
        return self.segments.scopes

    @property
    def home(self) -> list[int]:
        """For each operation the scope that it stands in."""
        return self.segments.home

    def segment(self, scope: int) -> tuple[int, int]:
        """Which segment of its scope this is, from 1, and of how many."""
        return self.segments.numbers[scope] if self.segments.numbers else (1, 1)

    def scope_node_id(self, scope: int) -> str:
        number, _ = self.segment(scope)
        id = self.scopes[scope]["id"]
        return f"scope:{id}" if number == 1 else f"segment:{number}:{id}"

    @cached_property
    def children(self) -> list[list[int]]:
        """For each scope its operations and child scopes, a scope standing where its first operation does.

        Scopes that hold no operation come last.
        """
        children: list[list[int]] = [[] for _ in self.scopes]
        placed = [False] * len(self.scopes)
        placed[0] = True

        def place(scope: int) -> None:
            chain: list[int] = []
            while not placed[scope]:
                placed[scope] = True
                chain.append(scope)
                scope = self.parent(scope)
            for inner in reversed(chain):
                children[self.parent(inner)].append(~inner)

        for index, scope in enumerate(self.home):
            if not placed[scope]:
                place(scope)
            children[scope].append(index)
        for scope in range(len(self.scopes)):
            place(scope)
        return children

    @cached_property
    def slots(self) -> list[int]:
        """For each scope its position among the children of its parent."""
        slots = [0] * len(self.scopes)
        for children in self.children:
            for slot, child in enumerate(children):
                if child < 0:
                    slots[~child] = slot
        return slots

    @cached_property
    def operation_counts(self) -> list[int]:
        """For each scope the number of operations inside, however deep."""
        counts = [0] * len(self.scopes)
        for scope in self.home:
            counts[scope] += 1
        for scope in range(len(self.scopes) - 1, 0, -1):
            counts[self.parent(scope)] += counts[scope]
        return counts

    def parent(self, scope: int) -> int:
        """Parent of a scope other than the root."""
        return cast(int, self.scopes[scope]["parent"])

    def scope_chain(self, scope: int) -> list[int]:
        """From the outermost scope below the root to `scope` itself."""
        chain: list[int] = []
        while scope != 0:
            chain.append(scope)
            scope = self.parent(scope)
        chain.reverse()
        return chain

    @cached_property
    def wrappers(self) -> list[int]:
        """The root, and scopes below it that are all there is: one jitted function is shown by its inside.

        The last one is the scope whose children make the top level.
        """
        wrappers = [0]
        while len(self.children[wrappers[-1]]) == 1 and self.children[wrappers[-1]][0] < 0:
            wrappers.append(~self.children[wrappers[-1]][0])
        return wrappers

    def scopes_to_expand(self, scope: int) -> list[str]:
        """Scope nodes, from the outside in, that must be expanded to see what stands directly in `scope`."""
        return [self.scope_node_id(s) for s in self.scope_chain(scope) if s not in self.wrappers]

    def scope_path(self, scope: int) -> list[str]:
        return [scope_label(self.scopes[s]) for s in self.scope_chain(scope)]

    @cached_property
    def flow(self) -> Flow:
        """Values that cross scope borders, and the state and constants read inside each scope."""
        inputs: dict[int, dict[int, None]] = {}
        outputs: dict[int, dict[int, None]] = {}
        state: dict[int, dict[int, None]] = {}
        constants: dict[int, dict[int, None]] = {}
        parents = [scope["parent"] for scope in self.scopes]
        depth = [0] * len(parents)
        for scope, parent in enumerate(parents):
            if parent is not None:
                depth[scope] = depth[parent] + 1
        home = self.home
        producer = self.producer
        roles = [value["role"] for value in self.values]

        def enter(crossed: dict[int, dict[int, None]], value: int, scope: int, stop: int | None) -> None:
            # A scope that has the value has passed it on already: every later reader meets the same producer.
            at: int | None = scope
            while at is not None and at != stop:
                found = crossed.setdefault(at, {})
                if value in found:
                    return
                found[value] = None
                at = parents[at]

        def leave(value: int, scope: int, stop: int) -> None:
            while scope != stop:
                outputs.setdefault(scope, {})[value] = None
                scope = cast(int, parents[scope])

        for operation, here in zip(self.operations, home, strict=True):
            for operand in operation["inputs"]:
                value = operand.get("value")
                if value is None:
                    continue
                made_by = producer[value]
                if made_by >= 0:
                    there = home[made_by]
                    if there == here:
                        continue
                    a, b = here, there
                    while a != b:
                        if depth[a] >= depth[b]:
                            a = cast(int, parents[a])
                        else:
                            b = cast(int, parents[b])
                    enter(inputs, value, here, a)
                    leave(value, there, a)
                elif roles[value] == "state":
                    enter(state, value, here, None)
                elif roles[value] == "constant":
                    enter(constants, value, here, None)
                elif here != 0:
                    enter(inputs, value, here, 0)
        for value in self.output_uses:
            if producer[value] >= 0:
                leave(value, home[producer[value]], 0)
        for scope, operation in self._last_operations().items():
            if scope not in outputs:
                dead = [value for value in self.operations[operation]["outputs"] if value not in self.uses]
                if dead:
                    outputs[scope] = dict.fromkeys(dead)
        return Flow(inputs, outputs, state, constants)

    def _last_operations(self) -> dict[int, int]:
        """For each scope but the root, the last operation that stands in it, however deep."""
        last = dict(zip(self.home, range(len(self.operations)), strict=True))
        for scope in range(len(self.scopes) - 1, 0, -1):
            if scope in last:
                parent = self.parent(scope)
                last[parent] = max(last.get(parent, -1), last[scope])
        last.pop(0, None)
        return last

    # --- source ----------------------------------------------------------------------------------------------------

    @cached_property
    def call_frames(self) -> list[list[int]]:
        """For each scope the frames, innermost first, that all operations inside share: where it was called from.

        Where one line of a module makes all that is inside, that line is shared too, and is no call of the module."""
        shared: list[list[int] | None] = [None] * len(self.scopes)
        last: list[list[int] | None] = [None] * len(self.scopes)
        for scope, operation in zip(self.home, self.operations, strict=True):
            frames = operation["frames"]
            known = shared[scope]
            if known is None:
                shared[scope] = frames
            elif last[scope] != frames and not _ends_with(frames, known):
                shared[scope] = _common_end(known, frames)
            last[scope] = frames
        for scope in range(len(self.scopes) - 1, 0, -1):
            inner = shared[scope]
            if inner is not None:
                parent = self.parent(scope)
                outer = shared[parent]
                shared[parent] = inner if outer is None else _common_end(outer, inner)
        return [self._callers(scope, frames or []) for scope, frames in enumerate(shared)]

    def _callers(self, scope: int, frames: list[int]) -> list[int]:
        """Without the frames in methods of the scope's own class; the outermost of them stays where nothing of the
        workspace called it."""
        name = self.scopes[scope].get("class")
        if name is None or any(self.scopes[around].get("class") == name for around in self.scope_chain(scope)[:-1]):
            return frames  # in a class within itself nothing tells whose line it is
        method = name.rpartition(".")[2] + "."
        own = [at for at, frame in enumerate(frames) if self.frames[frame]["function"].startswith(method)]
        if not own:
            return frames
        outside = frames[own[-1] + 1 :]
        return outside if self.innermost(outside) else frames[own[-1] :]

    def innermost(self, frames: Sequence[int]) -> str | None:
        """`path:line` of the innermost workspace frame."""
        for index in frames:
            frame = self.frames[index]
            if frame["workspace"]:
                return f"{frame['path']}:{frame['line']}"
        return None

    def source(self, frames: Sequence[int]) -> str | None:
        """`path:line` of an operation or call: of what no line of the workspace makes, that of the operation around."""
        return self.innermost(frames) or self.innermost(self.around)

    # --- ids -------------------------------------------------------------------------------------------------------

    def operation_node(self, operation: int) -> str:
        return f"op:{self.operations[operation]['id']}"

    @cached_property
    def operations_by_id(self) -> dict[str, int]:
        return {operation["id"]: index for index, operation in enumerate(self.operations)}

    @cached_property
    def scopes_by_node(self) -> dict[str, int]:
        """Id of a scope's node → the scope."""
        return {self.scope_node_id(scope): scope for scope in range(len(self.scopes))}

    @cached_property
    def ports_by_id(self) -> dict[str, Port]:
        return {port.id: port for port in (*self.inputs, *self.outputs)}

    # --- bodies ----------------------------------------------------------------------------------------------------

    def body_graph(self, body: int) -> Graph:
        """Index over a body of this graph, built once, however many operations refer to it."""
        known = self._body_graphs.get(body)
        if known is None:
            found = self.bodies[body]
            names = self._names_given.get(body, [None] * len(found["inputs"]))
            known = Graph(
                found["values"],
                found["operations"],
                found["scopes"],
                found["bodies"],
                [
                    Port(f"in:{at}", found["values"][value].get("name") or name or f"in[{at}]", {"value": value})
                    for at, (value, name) in enumerate(zip(found["inputs"], names, strict=True))
                ],
                [Port(f"out:{at}", f"out[{at}]", operand) for at, operand in enumerate(found["outputs"])],
                self.frames,
            )
            around = self._frames_around.get(body, [])
            known.around = around if self.innermost(around) else self.around
            known.given_names = {value: name for value, name in zip(found["inputs"], names, strict=True) if name}
            self._body_graphs[body] = known
        return known

    @cached_property
    def _frames_around(self) -> dict[int, list[int]]:
        """Body → frames of the operation that it is of, or those that several have in common."""
        found: dict[int, list[int]] = {}
        for operation in self.operations:
            for ref in operation.get("bodies", ()):
                body, frames = ref["body"], operation["frames"]
                found[body] = _common_end(found[body], frames) if body in found else frames
        return found

    @cached_property
    def _names_given(self) -> dict[int, list[str | None]]:
        """Body → names of its inputs, where they are the operands of the operation: all, or of a branch those after the
        index. None where an operand has no name, or operations that share the body give different ones."""
        found: dict[int, list[str | None]] = {}
        for operation in self.operations:
            for ref in operation.get("bodies", ()):
                operands = operation["inputs"]
                more = len(operands) - len(self.bodies[ref["body"]]["inputs"])
                if more != (1 if ref["role"].startswith("branch") else 0):
                    continue
                values = [operand.get("value") for operand in operands[more:]]
                names = [
                    None if at is None else self.values[at].get("name") or self.given_names.get(at) for at in values
                ]
                known = found.get(ref["body"], names)
                found[ref["body"]] = [name if name == other else None for name, other in zip(names, known, strict=True)]
        return found


@dataclass(frozen=True)
class Located:
    """A graph with the id that it is asked for by: None for the program, else a body id."""

    graph: Graph
    body: str | None


class GraphIndex:
    """Everything that is asked about one capture. Building it is cheap; parts are computed on first use."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.capture_id = capture["captureId"]
        inputs = [
            port
            for place, tree in (
                *((f"args[{at}]", tree) for at, tree in enumerate(capture["inputs"]["args"])),
                *((child_place("kwargs", key), tree) for key, tree in capture["inputs"]["kwargs"].items()),
            )
            for port in tree_ports("in", place, tree)
        ]
        self.program = Graph(
            capture["values"],
            capture["operations"],
            capture["scopes"],
            capture["bodies"],
            inputs,
            list(tree_ports("out", "result", capture["outputs"])),
            capture["frames"],
        )
        self.caches: dict[str, Any] = {}
        """Results that a module of this package keeps with the capture, by the name of the module."""

    def graph(self, body: str | None) -> Graph:
        """The program, or the body with this id. Raises `nodeNotFound`."""
        if not body:
            return self.program
        graph = self.program
        for step in body.split(">"):
            operation_id, _, at = step.rpartition("#")
            operation = graph.operations_by_id.get(unquote(operation_id))
            bodies = [] if operation is None else graph.operations[operation].get("bodies", [])
            if not at.isdecimal() or int(at) >= len(bodies):
                raise TvlsError(
                    "nodeNotFound",
                    f"There is no body {body!r} in this capture.",
                    "Ask for the node again; it lists the bodies that it has.",
                )
            graph = graph.body_graph(bodies[int(at)]["body"])
        return graph

    @cached_property
    def graphs(self) -> list[Located]:
        """The program, then every body at its first mention, depth first."""
        found: list[Located] = []
        pending = [Located(self.program, None)]
        while pending:
            here = pending.pop()
            found.append(here)
            inside: dict[int, str] = {}
            for operation in here.graph.operations:
                for at, ref in enumerate(operation.get("bodies", ())):
                    inside.setdefault(ref["body"], body_id(here.body, operation["id"], at))
            pending += [Located(here.graph.body_graph(body), id) for body, id in reversed(inside.items())]
        return found

    def prepare(self) -> None:
        """Computes what the first view and hover need, so that they answer at once. May run in a thread of its own."""
        from tvls.graph.costs import capture_costs, scope_work
        from tvls.graph.folds import folds
        from tvls.graph.noise import scope_noise
        from tvls.graph.positions import positions

        graph = self.program
        with collector_paused():
            _ = (graph.scopes_by_node, scope_work(graph), scope_noise(graph), folds(graph))
            _ = (graph.slots, graph.operation_counts, graph.flow, graph.call_frames, graph.inputs, graph.uses)
            positions(self)
            capture_costs(self)


@contextmanager
def collector_paused() -> Generator[None]:
    """No cyclic garbage collection while many objects are made that stay: each pass would walk all of them again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def body_id(outer: str | None, operation_id: str, at: int) -> str:
    """Id of the body at position `at` of an operation in the program, or in the body `outer`."""
    step = f"{quote(operation_id, safe='/.')}#{at}"
    return f"{outer}>{step}" if outer else step


def tree_ports(kind: Literal["in", "out"], place: str, tree: Tree) -> Iterator[Port]:
    """Array leaves (values and literals) of a nested structure, in order."""
    if "value" in tree or "literal" in tree:
        yield Port(f"{kind}:{place}", place, cast(Operand, tree))
        return
    for key, child in tree_children(tree):
        yield from tree_ports(kind, child_place(place, key), child)


def tree_children(tree: Tree) -> list[tuple[str | int, Tree]]:
    """Children of a list, tuple or dict node with their keys; nothing for a leaf."""
    items: list[Tree] | None = tree.get("list", tree.get("tuple"))
    if items is not None:
        return list(enumerate(items))
    entries: dict[str, Tree] = tree.get("dict", {})
    return list(entries.items())


def _ends_with(frames: list[int], end: list[int]) -> bool:
    return not end or frames[-len(end) :] == end


def _common_end(a: list[int], b: list[int]) -> list[int]:
    length = 0
    for x, y in zip(reversed(a), reversed(b), strict=False):
        if x != y:
            break
        length += 1
    return a[len(a) - length :]
