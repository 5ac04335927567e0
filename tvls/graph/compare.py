"""What is different between two captures: operations that were added, removed or changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

import msgspec

from tvls.capture.document import Operand, Operation
from tvls.common_ends import common_ends
from tvls.graph.folds import body_key, plain_params
from tvls.graph.index import Graph, GraphIndex, Port
from tvls.graph.text import literal_text, operation_label, value_text
from tvls.protocol import types_canvas as canvas

MAX_LIMIT: Final = 10_000
_ALIGNED: Final = 4_000
"""Operations of one scope, of both captures together, up to which they are aligned: that is quadratic at worst."""
_TEXTS: Final = 8
"""Lines that say what changed in one node."""
_ORDER: Final = ("shape", "dtype", "params", "operands", "body", "scope")


@dataclass
class _Pairs:
    """Operations of the two graphs that are the same one."""

    after: dict[int, int] = field(default_factory=dict[int, int])
    """Operation before → after."""
    before: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, a: int, b: int) -> None:
        self.after[a] = b
        self.before[b] = a


def compare(before: GraphIndex, after: GraphIndex, limit: int = 1000) -> canvas.CompareResult:
    """Differences of the programs. Lines that only moved are none; bodies are compared as a whole.

    Operations are the same one where they stand in the same scope (by its id) and at the same place among the
    operations there that are alike; then, where scopes were renamed or moved, by what they do. `limit` is clamped to
    1 … 10,000.
    """
    old, new = before.program, after.program
    limit = max(1, min(limit, MAX_LIMIT))
    pairs = _match(old, new)
    changed: list[canvas.NodeChange] = []
    kinds: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    totals = Counter[str]()
    for a, b in sorted(pairs.after.items(), key=lambda pair: pair[1]):
        what, text = _operation_change(old, new, pairs, a, b)
        if not what:
            continue
        totals["changed"] += 1
        kinds.update(what)
        _count_scopes(new, new.home[b], inside)
        if len(changed) < limit:
            changed.append(_operation_node(new, b, before=old.operation_node(a), what=what, text=text))
    added: list[canvas.NodeChange] = []
    for b in range(len(new.operations)):
        if b not in pairs.before:
            totals["added"] += 1
            _count_scopes(new, new.home[b], inside)
            if len(added) < limit:
                added.append(_operation_node(new, b))
    removed: list[canvas.NodeChange] = []
    for a in range(len(old.operations)):
        if a not in pairs.after:
            totals["removed"] += 1
            _count_scopes(old, old.home[a], inside, known=new)
            if len(removed) < limit:
                removed.append(_operation_node(old, a))
    unchanged = len(pairs.after) - totals["changed"]
    _compare_ports(old, new, pairs, added, removed, changed, totals, kinds)
    return canvas.CompareResult(
        same=not totals,
        added=added[:limit],
        removed=removed[:limit],
        changed=changed[:limit],
        added_total=totals["added"],
        removed_total=totals["removed"],
        changed_total=totals["changed"],
        unchanged_total=unchanged,
        scopes=dict(inside),
        summary=_summary(totals, kinds),
    )


def _summary(totals: Counter[str], kinds: Counter[str]) -> str:
    if not totals:
        return "no difference"
    parts = [f"{totals[word]:,} {word}" for word in ("added", "removed", "changed") if totals[word]]
    if totals["changed"]:
        parts[-1] += f" ({', '.join(f'{kinds[kind]:,} {kind}' for kind in _ORDER if kinds[kind])})"
    return ", ".join(parts)


def _count_scopes(graph: Graph, scope: int, inside: Counter[str], known: Graph | None = None) -> None:
    for around in graph.scope_chain(scope):
        node = graph.scope_node_id(around)
        if known is None or node in known.scopes_by_node:
            inside[node] += 1


def _operation_node(
    graph: Graph, at: int, before: str | None = None, what: Sequence[str] = (), text: Sequence[str] = ()
) -> canvas.NodeChange:
    return canvas.NodeChange(
        node=graph.operation_node(at),
        label=operation_label(graph.operations[at]["primitive"]),
        scopes=graph.scopes_to_expand(graph.home[at]),
        before=before,
        what=list(what),
        text=list(text),
    )


# --- which are the same ----------------------------------------------------------------------------------------------


def _match(old: Graph, new: Graph) -> _Pairs:
    pairs = _Pairs()
    first, second = _signatures(old), _signatures(new)
    by_scope = _by_scope(new)
    for node, operations in _by_scope(old).items():
        _align(pairs, old, new, first, second, operations, by_scope.get(node, []))
    # What is left stands in scopes that only one of the two has: renamed, moved, or new.
    rest = [at for at in range(len(old.operations)) if at not in pairs.after]
    others = [at for at in range(len(new.operations)) if at not in pairs.before]
    if rest and others:
        gone = [at for at in rest if old.scope_node_id(old.home[at]) not in new.scopes_by_node]
        fresh = [at for at in others if new.scope_node_id(new.home[at]) not in old.scopes_by_node]
        _align(pairs, old, new, first, second, gone, fresh)
        rest = [at for at in rest if at not in pairs.after]
        others = [at for at in others if at not in pairs.before]
        _equal_blocks(pairs, [first[at] for at in rest], [second[at] for at in others], rest, others, least=3)
    return pairs


def _by_scope(graph: Graph) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, scope in enumerate(graph.home):
        found.setdefault(graph.scope_node_id(scope), []).append(at)
    return found


def _align(
    pairs: _Pairs, old: Graph, new: Graph, first: list[int], second: list[int], a: list[int], b: list[int]
) -> None:
    """Operations of one scope: equal ones in order, then those of one primitive between them, then by their ids."""
    _equal_blocks(pairs, [first[at] for at in a], [second[at] for at in b], a, b)
    left_a = [at for at in a if at not in pairs.after]
    left_b = [at for at in b if at not in pairs.before]
    if not left_a or not left_b:
        return
    names_a = [old.operations[at]["primitive"] for at in a]
    names_b = [new.operations[at]["primitive"] for at in b]
    place_b = {at: place for place, at in enumerate(b)}
    for begin, end in _gaps(pairs, a):
        # Between two operations that are the same in both, the rest is aligned by primitive.
        low = place_b[pairs.after[a[begin - 1]]] + 1 if begin else 0
        high = place_b[pairs.after[a[end]]] if end < len(a) else len(b)
        if low < high:
            _equal_blocks(pairs, names_a[begin:end], names_b[low:high], a[begin:end], b[low:high])
    by_id = {new.operations[at]["id"]: at for at in left_b if at not in pairs.before}
    for at in left_a:
        twin = None if at in pairs.after else by_id.get(old.operations[at]["id"])
        if twin is not None:
            pairs.add(at, twin)


def _gaps(pairs: _Pairs, operations: list[int]) -> list[tuple[int, int]]:
    """Stretches of operations that have no counterpart yet."""
    found: list[tuple[int, int]] = []
    begin: int | None = None
    for place, at in enumerate([*operations, -1]):
        matched = at == -1 or at in pairs.after
        if not matched and begin is None:
            begin = place
        elif matched and begin is not None:
            found.append((begin, place))
            begin = None
    return found


def _equal_blocks(
    pairs: _Pairs, keys_a: Sequence[Any], keys_b: Sequence[Any], a: list[int], b: list[int], least: int = 1
) -> None:
    """Pairs what has equal keys in the same order, in blocks of `least` at least."""
    start, stop = common_ends(keys_a, keys_b)
    blocks = [(0, 0, start), (len(a) - stop, len(b) - stop, stop)]
    inner_a, inner_b = keys_a[start : len(a) - stop], keys_b[start : len(b) - stop]
    if inner_a and inner_b and len(inner_a) + len(inner_b) <= _ALIGNED:
        matcher = SequenceMatcher(None, inner_a, inner_b, autojunk=False)
        blocks += [(start + i, start + j, size) for i, j, size in matcher.get_matching_blocks()]
    for i, j, size in blocks:
        if size >= least:
            for step in range(size):
                pairs.add(a[i + step], b[j + step])


def _signatures(graph: Graph) -> list[int]:
    """For each operation a number that is equal for operations that do the same to the same types."""
    known = graph.signatures
    if known is None:
        types = [hash((v["dtype"], v.get("weakType", False), *v["shape"])) for v in graph.values]
        known = graph.signatures = [_signature(graph, operation, types) for operation in graph.operations]
    return known


def _signature(graph: Graph, operation: Operation, types: list[int]) -> int:
    params = operation["params"] if "bodies" not in operation else plain_params(graph, operation["params"])
    return hash(
        (
            operation["primitive"],
            tuple([types[v] if (v := o.get("value")) is not None else literal_text(o) for o in operation["inputs"]]),
            tuple([types[value] for value in operation["outputs"]]),
            msgspec.json.encode(params, order="deterministic"),
        )
    )


# --- what changed ----------------------------------------------------------------------------------------------------


def _operation_change(old: Graph, new: Graph, pairs: _Pairs, a: int, b: int) -> tuple[list[str], list[str]]:
    first, second = old.operations[a], new.operations[b]
    what: dict[str, None] = {}
    text: list[str] = []
    for kind, line in _results(old, new, first, second):
        what[kind] = None
        text.append(line)
    if first["params"] != second["params"]:
        params, others = plain_params(old, first["params"]), plain_params(new, second["params"])
        for name in {**params, **others}:
            if params.get(name) != others.get(name):
                is_body = isinstance(params.get(name), bytes) or isinstance(others.get(name), bytes)
                what["body" if is_body else "params"] = None
                text.append(f"{name}: another subprogram" if is_body else _param_text(name, params, others))
    if _bodies(old, first) != _bodies(new, second) and "body" not in what:
        what["body"] = None
        text.append("another subprogram")
    if first["inputs"] or second["inputs"]:
        for kind, line in _operands(old, new, pairs, first, second):
            what[kind] = None
            text.append(line)
    if old.scopes[old.home[a]]["id"] != new.scopes[new.home[b]]["id"]:
        what["scope"] = None
        text.append(f"{old.scopes[old.home[a]]['id'] or 'top'} → {new.scopes[new.home[b]]['id'] or 'top'}")
    return [kind for kind in _ORDER if kind in what], text[:_TEXTS]


def _bodies(graph: Graph, operation: Operation) -> list[bytes]:
    return [body_key(graph, ref["body"]) for ref in operation.get("bodies", ())]


def _param_text(name: str, params: dict[str, Any], others: dict[str, Any]) -> str:
    def text(side: dict[str, Any]) -> str:
        return msgspec.json.encode(side[name]).decode() if name in side else "absent"

    return f"{name}: {text(params)} → {text(others)}"


def _results(old: Graph, new: Graph, first: Operation, second: Operation) -> Iterator[tuple[str, str]]:
    if len(first["outputs"]) != len(second["outputs"]):
        yield "shape", f"{len(first['outputs'])} results → {len(second['outputs'])}"
        return
    for v, w in zip(first["outputs"], second["outputs"], strict=True):
        yield from _type_change(old, new, v, w)


def _type_change(old: Graph, new: Graph, v: int, w: int) -> Iterator[tuple[str, str]]:
    a, b = old.values[v], new.values[w]
    line = f"{value_text(a)} → {value_text(b)}"
    if a["shape"] != b["shape"]:
        yield "shape", line
    if a["dtype"] != b["dtype"] or a.get("weakType", False) != b.get("weakType", False):
        yield "dtype", line


def _operands(old: Graph, new: Graph, pairs: _Pairs, first: Operation, second: Operation) -> Iterator[tuple[str, str]]:
    if len(first["inputs"]) != len(second["inputs"]):
        yield "operands", f"{len(first['inputs'])} operands → {len(second['inputs'])}"
        return
    for number, (o, p) in enumerate(zip(first["inputs"], second["inputs"], strict=True), 1):
        v, w = o.get("value"), p.get("value")
        if v is None and w is None:
            if o != p:
                yield "params", f"operand {number}: {literal_text(o)} → {literal_text(p)}"
        elif v is None or w is None or not _same_value(old, new, pairs, v, w):
            yield "operands", f"operand {number}: {_operand_text(old, o)} → {_operand_text(new, p)}"


def _same_value(old: Graph, new: Graph, pairs: _Pairs, v: int, w: int) -> bool:
    a, b = old.producer[v], new.producer[w]
    if a >= 0 and b >= 0:
        return pairs.after.get(a) == b and old.operations[a]["outputs"].index(v) == new.operations[b]["outputs"].index(
            w
        )
    if a >= 0 or b >= 0:
        return False
    first, second = old.values[v], new.values[w]
    if first["role"] != second["role"]:
        return False
    if first["role"] == "input":
        return old.input_ids.get(v) == new.input_ids.get(w)
    if first["role"] == "constant":  # constants have no names that last
        return (first["shape"], first["dtype"]) == (second["shape"], second["dtype"])
    return first.get("name") == second.get("name")


def _operand_text(graph: Graph, operand: Operand) -> str:
    value = operand.get("value")
    if value is None:
        return literal_text(operand)
    made = graph.producer[value]
    if made >= 0:
        return graph.operations[made]["id"]
    return graph.values[value].get("name") or graph.input_ids.get(value) or value_text(graph.values[value])


# --- inputs and outputs ----------------------------------------------------------------------------------------------


def _compare_ports(
    old: Graph,
    new: Graph,
    pairs: _Pairs,
    added: list[canvas.NodeChange],
    removed: list[canvas.NodeChange],
    changed: list[canvas.NodeChange],
    totals: Counter[str],
    kinds: Counter[str],
) -> None:
    for ports, others in ((old.inputs, new.inputs), (old.outputs, new.outputs)):
        before = {port.id: port for port in ports}
        after = {port.id: port for port in others}
        for port in _only(after, before):
            added.append(canvas.NodeChange(node=port.id, label=port.place))
            totals["added"] += 1
        for port in _only(before, after):
            removed.append(canvas.NodeChange(node=port.id, label=port.place))
            totals["removed"] += 1
        for id, port in after.items():
            if id not in before:
                continue
            found = dict(_port_change(old, new, pairs, before[id], port, ports is old.outputs))
            if found:
                totals["changed"] += 1
                kinds.update(found.keys())
                changed.append(
                    canvas.NodeChange(
                        node=id, label=port.place, before=id, what=list(found), text=list(dict.fromkeys(found.values()))
                    )
                )


def _only(ports: dict[str, Port], others: dict[str, Port]) -> Iterable[Port]:
    return (port for id, port in ports.items() if id not in others)


def _port_change(
    old: Graph, new: Graph, pairs: _Pairs, before: Port, after: Port, is_output: bool
) -> Iterator[tuple[str, str]]:
    v, w = before.operand.get("value"), after.operand.get("value")
    if v is not None and w is not None:
        yield from _type_change(old, new, v, w)
        if is_output and not _same_value(old, new, pairs, v, w):
            yield "operands", f"{_operand_text(old, before.operand)} → {_operand_text(new, after.operand)}"
    elif before.operand != after.operand:
        yield "operands", f"{_operand_text(old, before.operand)} → {_operand_text(new, after.operand)}"
