"""A capture as readable text: for the terminal, and for editors that have no canvas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tvls.capture.document import Capture, Failure, Operand, Tree
from tvls.graph.index import Graph, GraphIndex, tree_children
from tvls.graph.text import child_place, literal_text, plural, scope_label, short_type, value_text
from tvls.protocol import types as t

MAX_LINES = 400
_NAMES_SHOWN = 40
_PRIMITIVES_SHOWN = 5
_OPERANDS_SHOWN = 8
_TIMES = "\u00d7"

_SCOPES = {"traced_program": "traced program", "eager_forward": "one eager forward"}
_REASONS = {
    "opaque_kernel": "subprograms that stay one operation; none of their branches or iterations is claimed to have run",
    "effects_incomplete": "side effects that are not recorded in full",
}
_NOTES = {"freshly_initialised": "freshly initialised, not trained"}
_EVIDENCE = {"inferred": "from a trace, in which nothing is computed", "measured": "from a run"}
_PHASES = {
    "import": "importing the module",
    "init": "initialising the model",
    "inputs": "making the inputs",
    "trace": "tracing the call",
    "encode": "writing the capture",
}


class _Line(NamedTuple):
    text: str
    operations: int
    """Operations that the line stands for."""


def outline(capture: Capture, *, max_lines: int | None = MAX_LINES, freshness: t.Freshness | None = None) -> str:
    """What the capture is, its inputs, outputs and state, then its scopes and operations in program order.

    `max_lines` limits the part with the operations (None: all of it) and the text says how many operations it left out.
    Neighbours that repeat one another are written once, with how many there are.
    """
    return outline_of(GraphIndex(capture), max_lines=max_lines, freshness=freshness)


def outline_of(index: GraphIndex, *, max_lines: int | None = MAX_LINES, freshness: t.Freshness | None = None) -> str:
    """`outline` of a capture that is indexed already."""
    graph = index.program
    lines = [*_header(index.capture, freshness), "", *_interface(index), ""]
    total = len(graph.operations)
    lines.append(f"program: {plural(total, 'operation')}")
    shown = 0
    for count, line in enumerate(_program(graph)):
        if max_lines is not None and count >= max_lines:
            lines.append(f"  … {plural(total - shown, 'more operation')} left out")
            break
        lines.append(line.text)
        shown += line.operations
    return "\n".join(lines) + "\n"


def failure_text(failure: Failure) -> str:
    """What failed, in which phase and where: workspace frames first, then the rest of the stack."""
    detail = failure["failure"]
    lines = [
        *_target_lines(failure),
        f"failed while {_PHASES[detail['phase']]}",
        "",
        f"{detail['type']}: {detail['message'].rstrip()}",
    ]
    if "key" in detail:
        lines.append(f"in the setup at {detail['key']}")
    if "limit" in detail:
        lines.append(f"limit: {detail['limit']}")
    for title, workspace in (("in your code", True), ("in libraries", False)):
        frames = [frame for frame in detail["frames"] if frame["workspace"] is workspace]
        if frames:
            lines += ["", f"{title}, innermost first:"]
            lines += [f"  {frame['path']}:{frame['line']}  {frame['function']}" for frame in frames]
    seen = len(failure["observations"])
    if seen:
        lines += ["", f"shapes were seen at {plural(seen, 'place')} before the failure; they are on hover"]
    return "\n".join(lines) + "\n"


def coverage_lines(capture: Capture) -> list[str]:
    """Coverage in words: its scope and status, then each reason with how many operations stand behind it."""
    coverage = capture["coverage"]
    counts = coverage.get("counts", {})
    lines = [f"coverage: {_SCOPES[coverage['scope']]}, {coverage['status']}"]
    for reason in coverage["reasons"]:
        told = [plural(counts[reason], "operation")] if reason in counts else []
        told += [_REASONS[reason]] if reason in _REASONS else []
        lines.append(": ".join([f"  {reason}", *told]))
    return lines


def _target_lines(document: Capture | Failure) -> list[str]:
    target = document["target"]
    place = ""
    if "path" in target:
        place = f"  {target['path']}:{target['line']}" if "line" in target else f"  {target['path']}"
    versions = ", ".join(f"{name} {version}" for name, version in sorted(document["versions"].items()))
    return [f"{target['module']}:{target['qualname']}  ({target['kind']}){place}", f"versions: {versions}"]


def _header(capture: Capture, freshness: t.Freshness | None) -> Iterator[str]:
    yield from _target_lines(capture)
    setup = capture["setup"]
    profile = f"profile {setup['profile']}, " if "profile" in setup else ""
    yield f"setup: {profile}device {setup['device']}, mode {setup['mode']}, seed {setup['seed']}"
    for place, value in setup["static"].items():
        yield f"  static {place} = {value!r}"
    yield f"evidence: {capture['evidence']} ({_EVIDENCE[capture['evidence']]}; backend {capture['backend']})"
    yield from coverage_lines(capture)
    for note in setup["notes"]:
        yield f"note: {_NOTES.get(note, note)}"
    for what, reason in sorted(capture["unavailable"].items()):
        yield f"unavailable: {what} ({reason})"
    yield f"sources: {', '.join(source['path'] for source in capture['sources']) or 'none in the workspace'}"
    if freshness is not None:
        yield f"freshness: {freshness}"
    yield f"capture: {capture['captureId']}"


def _interface(index: GraphIndex) -> Iterator[str]:
    graph = index.program
    capture = index.capture
    trees = [
        *((f"args[{at}]", tree) for at, tree in enumerate(capture["inputs"]["args"])),
        *((child_place("kwargs", key), tree) for key, tree in capture["inputs"]["kwargs"].items()),
    ]
    opaque_inputs = [row for place, tree in trees for row in _opaque_leaves(place, tree)]
    rows = [
        (graph.values[port.operand["value"]].get("name") or port.place, value_text(graph.values[port.operand["value"]]))
        for port in graph.inputs
        if "value" in port.operand
    ]
    yield from _table("inputs", [*rows, *opaque_inputs])
    rows = [(port.place, _operand_text(graph, port.operand)) for port in graph.outputs]
    yield from _table("outputs", [*rows, *_opaque_leaves("result", capture["outputs"])])
    state = [
        (value.get("name", f"#{at}"), value_text(value))
        for at, value in enumerate(graph.values)
        if value["role"] == "state" and graph.producer[at] < 0
    ]
    if state:
        yield from _table("state", state)


def _table(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    yield f"{title}:" if rows else f"{title}: none"
    width = max((len(name) for name, _ in rows[:_NAMES_SHOWN]), default=0)
    for name, text in rows[:_NAMES_SHOWN]:
        yield f"  {name.ljust(width)}  {text}"
    if len(rows) > _NAMES_SHOWN:
        yield f"  … {len(rows) - _NAMES_SHOWN:,} more"


def _opaque_leaves(place: str, tree: Tree) -> Iterator[tuple[str, str]]:
    """Leaves that are no arrays, with the type that they have."""
    if "opaque" in tree:
        yield place, f"{tree['opaque']}, not an array"
    for key, child in tree_children(tree):
        yield from _opaque_leaves(child_place(place, key), child)


def _program(graph: Graph) -> Iterator[_Line]:
    """Scopes and operations, depth first, with repeated neighbours folded."""
    alike = _signatures(graph)
    pending: list[tuple[int, Iterator[list[int] | _Line]]] = [(1, iter(_runs(graph, 0, alike)))]
    while pending:
        depth, items = pending[-1]
        item = next(items, None)
        if item is None:
            pending.pop()
            continue
        if isinstance(item, _Line):
            yield item
            continue
        indent = "  " * depth
        first, count = item[0], len(item)
        if first >= 0:
            yield _Line(indent + _operation_text(graph, first) + (f"   {_TIMES} {count:,}" if count > 1 else ""), count)
            for line in _body_lines(graph, first):
                yield _Line(f"{indent}  {line}", 0)
            continue
        yield _Line(indent + _scope_text(graph, ~first), 0)
        if count > 1:
            others = [~child for child in item[1:]]
            left = sum(graph.operation_counts[scope] for scope in others)
            pending.append((depth, iter([_Line(indent + _repeated_text(graph, others), left)])))
        pending.append((depth + 1, iter(_runs(graph, ~first, alike))))


def _runs(graph: Graph, scope: int, alike: tuple[list[int], list[int]]) -> list[list[int]]:
    """Children of a scope, neighbours that are alike together."""
    operations, scopes = alike
    runs: list[list[int]] = []
    last: tuple[bool, int] | None = None
    for child in graph.children[scope]:
        key = (child >= 0, operations[child] if child >= 0 else scopes[~child])
        if key == last:
            runs[-1].append(child)
        else:
            runs.append([child])
        last = key
    return runs


def _signatures(graph: Graph) -> tuple[list[int], list[int]]:
    """Numbers for operations and scopes: equal where they would be written alike but for names."""
    numbers: dict[object, int] = {}
    values = graph.values

    def typed(value: int) -> tuple[object, ...]:
        found = values[value]
        return (found["dtype"], *found["shape"])

    operations: list[int] = []
    for operation in graph.operations:
        key = (
            operation["primitive"],
            tuple(typed(o["value"]) if "value" in o else literal_text(o) for o in operation["inputs"]),
            tuple(map(typed, operation["outputs"])),
            tuple(operation["frames"]),
            tuple(ref["body"] for ref in operation.get("bodies", ())),
        )
        operations.append(numbers.setdefault(key, len(numbers)))
    scopes = [0] * len(graph.scopes)
    for at in range(len(graph.scopes) - 1, -1, -1):
        scope = graph.scopes[at]
        inside = tuple(operations[c] if c >= 0 else (scopes[~c],) for c in graph.children[at])
        key = (scope["kind"], scope.get("class"), scope_label(scope).rstrip("0123456789"), inside)
        scopes[at] = numbers.setdefault(key, len(numbers))
    return operations, scopes


def _repeated_text(graph: Graph, others: list[int]) -> str:
    first, last = scope_label(graph.scopes[others[0]]), scope_label(graph.scopes[others[-1]])
    names = first if first == last else f"{first} … {last}"
    size = plural(graph.operation_counts[others[0]], "operation")
    return f"{names}: {_TIMES} {len(others):,} more of the same, {size} each"


def _scope_text(graph: Graph, at: int) -> str:
    scope = graph.scopes[at]
    label = scope_label(scope)
    described = scope["kind"] if scope["kind"] != label else ""
    kind = scope.get("class", "").rsplit(".", 1)[-1]
    if kind and kind != label:
        described = f"{kind}, {described}" if described else kind
    text = f"{label} ({described})" if described else label
    source = graph.innermost(graph.call_frames[at])
    return f"{text}   {source}" if source else text


def _operation_text(graph: Graph, at: int) -> str:
    operation = graph.operations[at]
    operands = [_operand_text(graph, operand) for operand in operation["inputs"][:_OPERANDS_SHOWN]]
    if len(operation["inputs"]) > _OPERANDS_SHOWN:
        operands.append(f"… {len(operation['inputs']) - _OPERANDS_SHOWN:,} more")
    results = [value_text(graph.values[value]) for value in operation["outputs"][:_OPERANDS_SHOWN]]
    if len(operation["outputs"]) > _OPERANDS_SHOWN:
        results.append(f"… {len(operation['outputs']) - _OPERANDS_SHOWN:,} more")
    text = f"{operation['primitive']}  {' · '.join(operands)} → {', '.join(results) or 'nothing'}"
    source = graph.innermost(operation["frames"])
    if source:
        text += f"   {source}"
    return f"{text}   [{operation['opaque']}]" if "opaque" in operation else text


def _operand_text(graph: Graph, operand: Operand) -> str:
    value = operand.get("value")
    if value is None:
        return literal_text(operand)
    found = graph.values[value]
    name = found.get("name")
    if name and graph.producer[value] < 0 and found["role"] != "input":
        return f"{name}:{short_type(found['shape'], found['dtype'])}"
    return value_text(found)


def _body_lines(graph: Graph, at: int) -> Iterator[str]:
    """One line for each body of a boundary: how many operations, and which are the most frequent."""
    for ref in graph.operations[at].get("bodies", ()):
        body = graph.bodies[ref["body"]]
        counts = Counter(operation["primitive"] for operation in body["operations"])
        shown = [
            f"{primitive} {_TIMES} {count:,}" if count > 1 else primitive
            for primitive, count in counts.most_common(_PRIMITIVES_SHOWN)
        ]
        if len(counts) > _PRIMITIVES_SHOWN:
            shown.append("…")
        listed = f": {', '.join(shown)}" if shown else ""
        label = "" if body["label"] in ("", ref["role"]) else f" ({body['label']})"
        yield f"{ref['role']}{label}, not claimed to have run: {plural(len(body['operations']), 'operation')}{listed}"
