"""The program of a capture as lines: scopes and operations in reading order, repeats folded, bodies inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tvls.capture.document import BodyRef, Operand, Scope
from tvls.graph.alike import Alike
from tvls.graph.index import Graph
from tvls.graph.order import Part
from tvls.graph.text import literal_text, measured_text, plural, scope_label, short_type, value_text

_VALUES_SHOWN = 8
_OUTPUTS_SHOWN = 4
_TIMES = "\u00d7"
_NOT_EXECUTED = "not reported as executed"
_ROLES = {
    ("scan", "body"): "body, one iteration",
    ("while", "body"): "body, one iteration",
    ("while", "cond"): "condition, one evaluation",
}


class Line(NamedTuple):
    text: str
    operations: int
    """Operations of the program that the line stands for; those of bodies are not of the program."""


class _Listed(NamedTuple):
    """What is known of one graph while it is listed."""

    root: Part
    alike: Alike
    repeated: set[int]
    """Module scopes that have an earlier one of the same name beside them."""


class _Level(NamedTuple):
    """Items of a scope or body that are still to be written."""

    graph: Graph
    listed: _Listed
    runs: Iterator[list[int | Part]]
    indent: str
    depth: int
    """How many scopes and bodies are around."""
    counted: bool
    """Whether the operations are of the program."""
    one_of_many: bool = False
    """Whether this is the first of several that repeat one another, the others of which are not written."""


def program_lines(graph: Graph, depth: int | None = None) -> Iterator[Line]:
    """Scopes and operations, no operation before one whose value it reads.

    A scope or body that stands inside more than `depth` others is one line, with its operations and outputs. A body
    that several operations have is written at the first of them.
    """
    known: dict[int, _Listed] = {}
    written: set[int] = set()
    pending: list[_Level | Line] = [_level(graph, known, "  ", 0, counted=True)]
    while pending:
        level = pending[-1]
        if isinstance(level, Line):
            pending.pop()
            yield level
            continue
        run = next(level.runs, None)
        if run is None:
            pending.pop()
            continue
        first, indent = run[0], level.indent
        closed = depth is not None and level.depth >= depth
        if isinstance(first, Part):
            parts = [part for part in run if isinstance(part, Part)]
            left = sum(part.count for part in (parts if closed else parts[1:]))
            yield Line(indent + _part_text(level, parts, closed), left if level.counted else 0)
            several = level.one_of_many or len(parts) > 1
            if closed:
                outputs = [] if first.continued else list(level.graph.flow.outputs.get(first.scope, ()))
                pending += reversed(_measured(level.graph, outputs, indent, several))
            else:
                runs = iter(level.listed.alike.runs(first.items))
                pending.append(
                    level._replace(runs=runs, indent=indent + "  ", depth=level.depth + 1, one_of_many=several)
                )
            continue
        times = f"   {_TIMES} {len(run):,}" if len(run) > 1 else ""
        yield Line(indent + _operation_text(level.graph, first) + times, len(run) if level.counted else 0)
        results = level.graph.operations[first]["outputs"]
        inside: list[_Level | Line] = [*_measured(level.graph, results, indent, level.one_of_many or len(run) > 1)]
        for ref in level.graph.operations[first].get("bodies", ()):
            body = level.graph.body_graph(ref["body"])
            head = f"{indent}  {_body_text(level.graph, first, ref, body)}"
            if closed or id(body) in written:
                where = ", written above" if id(body) in written else ""
                inside.append(Line(f"{head} · {plural(len(body.operations), 'operation')}{where}", 0))
            else:
                written.add(id(body))
                inside.append(Line(head, 0))
                inside.append(_level(body, known, indent + "    ", level.depth + 1, counted=False))
        pending += reversed(inside)


def _level(graph: Graph, known: dict[int, _Listed], indent: str, depth: int, *, counted: bool) -> _Level:
    """Everything in one graph."""
    listed = known.get(id(graph))
    if listed is None:
        parts = graph.segments.parts
        listed = known[id(graph)] = _Listed(parts[0], Alike(graph, parts), _repeated(graph))
    return _Level(graph, listed, iter(listed.alike.runs(listed.root.items)), indent, depth, counted)


def _repeated(graph: Graph) -> set[int]:
    """Module scopes with an earlier one of the same name in the same scope: another call, or another part of one."""
    seen: set[tuple[int | None, str, str | None]] = set()
    repeated: set[int] = set()
    for at, scope in enumerate(graph.scopes):
        if scope["kind"] == "module":
            key = (scope["parent"], scope_label(scope), scope.get("path"))
            if key in seen:
                repeated.add(at)
            seen.add(key)
    return repeated


# --- text ------------------------------------------------------------------------------------------------------------


def _part_text(level: _Level, parts: list[Part], closed: bool) -> str:
    """`attn (Attention) → f32[1,64,768] · 2,362,368 parameters`, with the operations where nothing is shown inside."""
    graph, first = level.graph, parts[0]
    scope = graph.scopes[first.scope]
    label = _label(graph, first.scope)
    described = _described(scope, label)
    described += ["continued"] if first.continued else ["again"] if first.scope in level.listed.repeated else []
    last = _label(graph, parts[-1].scope)
    names = label if last == label else f"{label} … {last}"
    text = f"{names} ({', '.join(described)})" if described else names
    each = ""
    if len(parts) > 1:
        text += f" {_TIMES} {len(parts):,}"
        each = " each"
    outputs = [] if first.continued else list(graph.flow.outputs.get(first.scope, ()))
    if outputs and (closed or scope["kind"] == "module"):
        text += f" → {_values_text(graph, outputs)}"
    size = scope.get("parameters")
    if size is not None and size["count"] and not first.continued and _own_call(scope):
        text += f" · {plural(size['count'], 'parameter')}{each}"
    if closed or first.count == 0:
        text += f" · {plural(first.count, 'operation') if first.count else 'no operations'}{each}"
    source = graph.source(graph.call_frames[first.scope])
    return f"{text}   {source}" if source else text


def _label(graph: Graph, at: int) -> str:
    """Name of a scope; a mere number, as of a block in a list, with the name of what it is in."""
    scope = graph.scopes[at]
    label = scope_label(scope)
    if not label.isdigit() or not scope["parent"]:
        return label
    return f"{scope_label(graph.scopes[scope['parent']])}/{label}"


def _described(scope: Scope, label: str) -> list[str]:
    kind = scope.get("class", "").rsplit(".", 1)[-1]
    if kind and kind != label:
        return [kind]
    return [scope["kind"]] if scope["kind"] != label else []


def _own_call(scope: Scope) -> bool:
    """Whether a module scope is the module's own call, and not one of its other methods (`attn.setup`)."""
    name, path = scope.get("name", ""), scope.get("path")
    return not path or not name.startswith(path.rsplit("/", 1)[-1] + ".")


def _values_text(graph: Graph, values: Sequence[int]) -> str:
    shown = [value_text(graph.values[value]) for value in values[:_OUTPUTS_SHOWN]]
    if len(values) > _OUTPUTS_SHOWN:
        shown.append(f"… {len(values) - _OUTPUTS_SHOWN:,} more")
    return ", ".join(shown)


def _measured(graph: Graph, values: Sequence[int], indent: str, one_of_many: bool) -> list[Line]:
    """What was measured of results, a line each. Those that repeat one another differ in it."""
    texts = [text for text in (measured_text(graph.values[value]) for value in values[:_OUTPUTS_SHOWN]) if text]
    whose = "measured, of the first: " if one_of_many else "measured: "
    return [Line(f"{indent}  {whose}{text}", 0) for text in texts]


def _operation_text(graph: Graph, at: int) -> str:
    operation = graph.operations[at]
    operands = _cut([operand_text(graph, operand) for operand in operation["inputs"]])
    results = _cut([value_text(graph.values[value]) for value in operation["outputs"]])
    text = (
        f"{operation['primitive']}  {' · '.join(operands)}{' ' if operands else ''}→ {', '.join(results) or 'nothing'}"
    )
    source = graph.source(operation["frames"])
    if source:
        text += f"   {source}"
    return f"{text}   [{operation['opaque']}]" if "opaque" in operation else text


def operand_text(graph: Graph, operand: Operand) -> str:
    """Type of an operand, with its name where it is state or a constant; a literal as it is."""
    value = operand.get("value")
    if value is None:
        return literal_text(operand)
    found = graph.values[value]
    name = found.get("name")
    if name and graph.producer[value] < 0 and found["role"] != "input":
        return f"{name}:{short_type(found['shape'], found['dtype'])}"
    return value_text(found)


def _signature(operands: list[str], results: list[str]) -> str:
    return " ".join([*([" · ".join(operands)] if operands else []), "→", ", ".join(results) or "nothing"])


def _cut(texts: list[str]) -> list[str]:
    left = len(texts) - _VALUES_SHOWN
    return [*texts[:_VALUES_SHOWN], f"… {left:,} more"] if left > 0 else texts


def _body_text(graph: Graph, at: int, ref: BodyRef, body: Graph) -> str:
    """What a body is, and whether it is claimed to have run."""
    primitive, role = graph.operations[at]["primitive"], ref["role"]
    label = graph.bodies[ref["body"]]["label"] or f"{primitive} {role}"
    taken = _cut([value_text(body.values[value]) for value in graph.bodies[ref["body"]]["inputs"]])
    given = _cut([operand_text(body, port.operand) for port in body.outputs])
    if role == "aten":  # recorded as they ran; in a run without values, as they would
        return f"{label}  {_signature(taken, given)}"
    what = _ROLES.get((primitive, role)) or ("one branch" if role.startswith("branches") else "body")
    return f"{label} ({what}; {_NOT_EXECUTED})  {_signature(taken, given)}"
