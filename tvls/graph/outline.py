"""A capture as readable text: for the terminal, and for editors that have no canvas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import prod

from tvls.capture.document import Capture, Failure, Tree, Value
from tvls.graph.costs import PARAMETER_COLLECTIONS, value_bytes
from tvls.graph.index import Graph, GraphIndex, collector_paused, tree_children
from tvls.graph.listing import Line, operand_text, program_lines
from tvls.graph.names import Row, fold
from tvls.graph.text import child_place, plural, size_text, value_text
from tvls.protocol import types as t

MAX_LINES = 400
_ROWS_SHOWN = 40
_WRITTEN_OUT = 12
"""Inputs or outputs up to this number are written one by one."""
_TIMES = "\u00d7"

_SCOPES = {"traced_program": "the traced program", "eager_forward": "one eager forward"}
_REASONS = {
    "opaque_kernel": "with subprograms that stay one operation, no branch or iteration of which is claimed to have run",
    "effects_incomplete": "with side effects that are not recorded in full",
}
_NOTES = {
    "freshly_initialised": "freshly initialised, not trained",
    "lazily_initialised": "lazy modules were initialised by a call before this one",
    "meta_device": "too large to be held, so it ran on the meta device: with shapes, without values",
    "values_read_by_python": "Python read values of tensors: for other values it may go another way",
}
_NOTES_WITH_NAME = {
    "axis": "the named axis {0} was given the size {1} to trace with",
    "leaked_tracer": "the global {0} kept a traced array after the trace",
    "updates_lost": "what {0} writes to {1} is lost, for JAX gives it a copy: return it, or use nnx.jit and its like",
}
_EVIDENCE = {"inferred": "inferred from a trace, in which nothing is computed", "measured": "measured in a run"}
_ON_REQUEST = "measured on request"
_UNAVAILABLE = {"output_bytes": "measured output bytes", "source_edit_recipes": "source-edit recipes"}
_PHASES = {
    "import": "importing the module",
    "init": "initialising the model",
    "inputs": "making the inputs",
    "trace": "tracing the call",
    "encode": "writing the capture",
}


def outline(
    capture: Capture,
    *,
    max_lines: int | None = MAX_LINES,
    depth: int | None = None,
    freshness: t.Freshness | None = None,
) -> str:
    """What the capture is, its inputs, outputs and state, its scopes and operations, and where it comes from.

    No operation stands before one whose value it reads. `max_lines` is the number of lines at most, all of them
    counted (None: no limit); the text says how many operations were left out. Scopes and bodies inside more than
    `depth` others are one line each. Neighbours that repeat one another are written once, with how many there are.
    """
    return outline_of(GraphIndex(capture), max_lines=max_lines, depth=depth, freshness=freshness)


def outline_of(
    index: GraphIndex,
    *,
    max_lines: int | None = MAX_LINES,
    depth: int | None = None,
    freshness: t.Freshness | None = None,
) -> str:
    """`outline` of a capture that is indexed already."""
    with collector_paused():
        return _outline(index, max_lines, depth, freshness)


def _outline(index: GraphIndex, max_lines: int | None, depth: int | None, freshness: t.Freshness | None) -> str:
    head = [*_header(index, freshness), "", *_interface(index), "", "program:"]
    tail = ["", *_origin(index.capture)]
    program = program_lines(index.program, depth)
    if max_lines is None:
        lines = [*head, *(line.text for line in program), *tail]
    else:
        # What says what the capture is comes first: where there is little room, the end gives way.
        room = max(max_lines - len(head), 0)
        kept = list(islice(program, room + 1))
        if len(kept) + len(tail) > room and room < 2 * len(tail):
            tail = []
        lines = [*head[:max_lines], *_cut(kept, room - len(tail), len(index.program.operations)), *tail]
    return "\n".join(lines) + "\n"


def _cut(lines: list[Line], room: int, total: int) -> list[str]:
    """As many lines as there is room for, the last one saying what was left out."""
    if len(lines) <= room or room == 0:
        return [line.text for line in lines[:room]]
    left = total - sum(line.operations for line in lines[: room - 1])
    more = plural(left, "more operation") if left else "more lines"
    return [*(line.text for line in lines[: room - 1]), f"  … {more} left out"]


def failure_text(failure: Failure) -> str:
    """What failed, in which phase and where: workspace frames first, then the rest of the stack."""
    detail = failure["failure"]
    lines = [
        _target_line(failure),
        _versions(failure),
        f"failed while {_PHASES[detail['phase']]}",
        "",
        f"{detail['type']}: {detail['message'].rstrip()}",
    ]
    if "hint" in detail:
        lines.append(f"try: {detail['hint']}")
    if "key" in detail:
        lines.append(f"in the setup at {detail['key']}")
    if "limit" in detail:
        lines.append(f"limit: {detail['limit']}")
    for title, workspace in (("in your code", True), ("in libraries", False)):
        frames = [frame for frame in detail["frames"] if frame["workspace"] is workspace]
        if frames:
            lines += ["", f"{title}, innermost first:"]
            lines += [f"  {frame['path']}:{frame['line']}  {frame['function']}" for frame in frames]
    if "detail" in detail:
        lines += ["", "in full:", *(f"  {line}".rstrip() for line in detail["detail"].strip().splitlines())]
    seen = len(failure["observations"])
    if seen:
        lines += ["", f"shapes were seen at {plural(seen, 'place')} before the failure; they are on hover"]
    return "\n".join(lines) + "\n"


def coverage_lines(capture: Capture) -> list[str]:
    """Coverage in words: its status and scope, then, where it is partial, why, all reasons in one line."""
    coverage = capture["coverage"]
    counts = coverage.get("counts", {})
    lines = [f"coverage {coverage['status']}, of {_SCOPES[coverage['scope']]}"]
    told: list[str] = []
    for reason in coverage["reasons"]:
        words = [plural(counts[reason], "operation")] if reason in counts else []
        words += [_REASONS[reason]] if reason in _REASONS else []
        told.append(f"{' '.join(words)} ({reason})" if words else reason)
    return [*lines, f"  partial: {'; '.join(told)}"] if told else lines


def _target_line(document: Capture | Failure) -> str:
    target = document["target"]
    place = ""
    if "path" in target:
        place = f"  {target['path']}:{target['line']}" if "line" in target else f"  {target['path']}"
    return f"{target['module']}:{target['qualname']}  ({target['kind']}){place}"


def _versions(document: Capture | Failure) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(document["versions"].items()))


def _header(index: GraphIndex, freshness: t.Freshness | None) -> Iterator[str]:
    capture = index.capture
    setup = capture["setup"]
    yield _target_line(capture)
    given = [_versions(capture), f"device {setup['device']}", *_mode(capture), f"seed {setup['seed']}"]
    given += [f"profile {setup['profile']}"] if "profile" in setup else []
    yield " · ".join(given)
    if setup["static"]:
        yield "static: " + ", ".join(f"{place} = {value!r}" for place, value in setup["static"].items())
    covered, *why = coverage_lines(capture)
    state = [] if freshness is None else [freshness]
    yield " · ".join([*state, _EVIDENCE[capture["evidence"]], covered])
    yield from why
    if setup["notes"]:
        yield "; ".join(map(_note, setup["notes"]))
    yield _totals(index.program)


def _mode(capture: Capture) -> list[str]:
    """The setup's mode where it decided something: functions and Linen modules have a mode in their arguments alone."""
    if capture["framework"] == "torch":
        return [f"{capture['setup']['mode']} mode"]
    if capture["target"]["kind"] != "flax.nnx":
        return []
    built = "freshly_initialised" in capture["setup"]["notes"]
    return [f"{capture['setup']['mode']} mode" if built else "in the mode that its factory left it in"]


def _note(note: str) -> str:
    what, colon, rest = note.partition(":")
    words = _NOTES_WITH_NAME.get(what) if colon else None
    if words is None:
        return _NOTES.get(note, note)
    name, _, size = rest.partition("=")
    return words.format(name, size)


def _totals(graph: Graph) -> str:
    """`1,267 operations · 124,439,808 parameters in 148 arrays, 498 MB (derived from shapes)`"""
    parts = [plural(len(graph.operations), "operation")]
    by_collection: dict[str, list[Value]] = {}
    for at in _state(graph):
        collection = graph.values[at].get("collection")
        if collection is not None:
            name = "" if collection in PARAMETER_COLLECTIONS else collection
            by_collection.setdefault(name, []).append(graph.values[at])
    for collection, values in sorted(by_collection.items()):
        count = sum(prod(value["shape"]) for value in values)
        named = plural(count, "parameter") if not collection else f"{collection} {count:,}"
        size = _bytes(values)
        stored = "" if size is None else f", {size_text(size)}"
        parts.append(f"{named} in {plural(len(values), 'array')}{stored}")
    return " · ".join(parts) + (" (derived from shapes)" if by_collection else "")


def _bytes(values: Iterable[Value]) -> int | None:
    """None where a dtype does not say its size."""
    sizes = [value_bytes(value) for value in values]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _origin(capture: Capture) -> list[str]:
    """What one looks up: the star of weak types, what the capture has no evidence of, where it comes from."""
    lines: list[str] = []
    if any(value.get("weakType") for part in (capture, *capture["bodies"]) for value in part["values"]):
        lines.append("*: a weak type, which takes on the dtype of what it is combined with")
    if capture["unavailable"]:
        costs = {what: text for what, text in capture["unavailable"].items() if text.startswith(_ON_REQUEST)}
        names = sorted(_UNAVAILABLE.get(what, what.replace("_", " ")) for what in capture["unavailable"].keys() - costs)
        lines.append(f"unavailable: {', '.join(names)}")
        lines += [f"{what}: {text}" for what, text in sorted(costs.items())]
    files = ", ".join(source["path"] for source in capture["sources"]) or "none in the workspace"
    return [*lines, f"sources: {files}", f"capture: {capture['captureId']}"]


def _state(graph: Graph) -> list[int]:
    return [at for at, value in enumerate(graph.values) if value["role"] == "state" and graph.producer[at] < 0]


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
    yield from _table("inputs", _rows([*rows, *opaque_inputs]))
    rows = [(port.place, operand_text(graph, port.operand)) for port in graph.outputs]
    yield from _table("outputs", _rows([*rows, *_opaque_leaves("result", capture["outputs"])]))
    state = [_state_row(graph, at) for at in _state(graph)]
    if state:
        yield from _table("state", fold(state))


def _rows(rows: Sequence[tuple[str, str]]) -> list[Row]:
    """In the order of the call where they are few, else folded."""
    return [Row(name, text, 1) for name, text in rows] if len(rows) <= _WRITTEN_OUT else fold(rows)


def _state_row(graph: Graph, at: int) -> tuple[str, str]:
    value = graph.values[at]
    name = value.get("name", f"#{at}")
    collection = value.get("collection")
    said = collection is None or collection in PARAMETER_COLLECTIONS or name.startswith(f"{collection}/")
    text = value_text(value) if said else f"{value_text(value)}  {collection}"
    others = value.get("alsoNamed")
    return name, f"{text}  also {', '.join(others)}" if others else text


def _table(title: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"{title}:" if rows else f"{title}: none"
    width = max((len(row.name) for row in rows[:_ROWS_SHOWN]), default=0)
    for row in rows[:_ROWS_SHOWN]:
        times = f"  {_TIMES} {row.names:,}" if row.names > 1 else ""
        yield f"  {row.name.ljust(width)}  {row.text}{times}"
    if len(rows) > _ROWS_SHOWN:
        yield f"  … {sum(row.names for row in rows[_ROWS_SHOWN:]):,} more"


def _opaque_leaves(place: str, tree: Tree) -> Iterator[tuple[str, str]]:
    """Leaves that are no arrays, with the type that they have."""
    if "opaque" in tree:
        yield place, f"{tree['opaque']}, not an array"
    for key, child in tree_children(tree):
        yield from _opaque_leaves(child_place(place, key), child)
