"""Finding nodes by words: primitives, scopes, parameters, library functions, shapes and source lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Literal, NamedTuple

from tvls.capture.document import Value
from tvls.graph.cursor import question, read_cursor, write_cursor
from tvls.graph.folds import instances_to_see
from tvls.graph.index import Graph, GraphIndex, Located
from tvls.graph.positions import operation_hit
from tvls.graph.structures import output_structures
from tvls.graph.text import scope_label, short_dtype
from tvls.protocol import types as t

DEFAULT_LIMIT = 100
MAX_LIMIT = 2_000
_QUERIES_KEPT = 4

_DTYPE = r"(?:(?:bfloat|float|uint|int|complex|bf|f|u|i|c)\d\w*|bool|key<\w+>)?"
_WORD = re.compile(rf"{_DTYPE}\[[^\[\]]*\](?!\S)|\S+", re.IGNORECASE)
_SHAPE = re.compile(rf"({_DTYPE})\[([^\[\]]*)\]", re.IGNORECASE)
_DIMENSION = re.compile(r"\d+|\*|\.\.\.")
_LINE = re.compile(r"(.+\.py):(\d+)")


@dataclass(frozen=True)
class ShapePattern:
    """`dims`: sizes, None for any size, and `...` for any number of dimensions. No dtype means any."""

    dtype: str | None
    dims: tuple[int | str | None, ...]


@dataclass(frozen=True)
class Query:
    words: tuple[str, ...]
    """Lower case."""
    shapes: tuple[ShapePattern, ...]
    lines: tuple[tuple[str, int], ...]


class _Entry(NamedTuple):
    """A node of a graph that a query matched."""

    located: Located
    kind: str
    at: int
    by_call: bool = False
    """Whether only a library function that was called has a word; such nodes come last."""


class _Calls(NamedTuple):
    """Frames of a capture, by their place in its table."""

    of: dict[str, frozenset[int]]
    """Word → frames in library functions of that name; without words that no function has."""
    own: frozenset[int]
    """Frames in the workspace."""

    def include(self, word: str, frames: Sequence[int]) -> bool:
        """Whether the innermost line of the workspace, as far as the frames have one, called such a function."""
        named = self.of[word]
        if named.isdisjoint(frames):
            return False
        inside = frozenset(takewhile(lambda frame: frame not in self.own, frames))
        return len(inside) < len(frames) and not named.isdisjoint(inside)


def parse_query(text: str) -> Query:
    """Words are matched as text unless they read as a shape, such as `f32[2,*]`, or as `file.py:12`."""
    words: list[str] = []
    shapes: list[ShapePattern] = []
    lines: list[tuple[str, int]] = []
    for word in _WORD.findall(text):
        shape = parse_shape(word)
        line = _LINE.fullmatch(word)
        if shape is not None:
            shapes.append(shape)
        elif line is not None:
            lines.append((line[1].replace("\\", "/"), int(line[2])))
        else:
            words.append(word.lower())
    return Query(tuple(words), tuple(shapes), tuple(lines))


def parse_shape(word: str) -> ShapePattern | None:
    """`[*, 64]`, `f32[2,*]`, `float32[2, 3]`, `[..., 64]` and `[]`; None for anything else."""
    found = _SHAPE.fullmatch(word)
    if found is None:
        return None
    parts = [part.strip() for part in found[2].split(",")] if found[2].strip() else []
    if parts and not parts[-1]:  # as a tuple of one is written: `[64,]`
        parts.pop()
    if not all(_DIMENSION.fullmatch(part) for part in parts):
        return None
    dims = tuple(None if part == "*" else part if part == "..." else int(part) for part in parts)
    return ShapePattern(short_dtype(found[1].lower()) or None, dims)


def shape_matches(pattern: ShapePattern, value: Value) -> bool:
    if pattern.dtype is not None and short_dtype(value["dtype"].lower()) != pattern.dtype:
        return False
    return _dims_match(pattern.dims, tuple(value["shape"]))


@lru_cache(maxsize=4096)
def _dims_match(dims: tuple[int | str | None, ...], shape: tuple[int, ...]) -> bool:
    if not dims:
        return not shape
    if dims[0] == "...":
        return any(_dims_match(dims[1:], shape[skip:]) for skip in range(len(shape) + 1))
    return bool(shape) and dims[0] in (None, shape[0]) and _dims_match(dims[1:], shape[1:])


def search(index: GraphIndex, query: str, cursor: str | None = None, limit: int = DEFAULT_LIMIT) -> t.SearchResult:
    """Nodes that match every word, in program order, the program before its bodies; an empty query finds none.

    Text words match, in any case and anywhere, the primitive, the scope path, and names of parameters and other state
    that an operation reads; an input or output by its name, a scope by its path and class. After all these come
    operations of a library function that the program called by a name with the word in it. A shape matches a result.
    `file.py:12` matches an operation with a workspace frame on that line of a file whose path ends so. `limit` is
    clamped to 1 … 2,000. Raises `cursorInvalid`.
    """
    entries = _entries(index, query)
    asked = question([index.capture_id, "search", query])
    start = read_cursor(cursor, asked, len(entries))
    stop = min(start + max(1, min(limit, MAX_LIMIT)), len(entries))
    hits = [_hit(index, entry) for entry in entries[start:stop]]
    more = write_cursor(asked, stop) if stop < len(entries) else None
    return t.SearchResult(nodes=hits, total=len(entries), next_cursor=more)


def _entries(index: GraphIndex, text: str) -> list[_Entry]:
    kept: dict[str, list[_Entry]] = index.caches.setdefault("search", {})
    known = kept.get(text)
    if known is None:
        query = parse_query(text)
        empty = not (query.words or query.shapes or query.lines)
        known = [] if empty else _found(index, query)
        while len(kept) >= _QUERIES_KEPT:
            kept.pop(next(iter(kept)))
        kept[text] = known
    return known


def _found(index: GraphIndex, query: Query) -> list[_Entry]:
    calls = _calls(index, query)
    found = [entry for located in index.graphs for entry in _matches(index, located, query, calls)]
    return sorted(found, key=lambda entry: entry.by_call)


def _calls(index: GraphIndex, query: Query) -> _Calls:
    frames = index.capture["frames"]
    public = [
        (at, name.lower())
        for at, frame in enumerate(frames)
        if not frame["workspace"] and not (name := frame["function"].rpartition(".")[2]).startswith(("_", "<"))
    ]
    of = {word: frozenset(at for at, name in public if word in name) for word in query.words}
    return _Calls(
        {word: named for word, named in of.items() if named},
        frozenset(at for at, frame in enumerate(frames) if frame["workspace"]),
    )


def _matches(index: GraphIndex, located: Located, query: Query, calls: _Calls) -> Iterator[_Entry]:
    graph = located.graph
    if not query.lines:
        for at, port in enumerate(graph.inputs):
            if _port_matches(graph, port.operand.get("value"), port.place, query):
                yield _Entry(located, "in", at)
    yield from _program_matches(index, located, query, calls)
    if not query.lines:
        for at, port in enumerate(graph.outputs):
            if _port_matches(graph, port.operand.get("value"), port.place, query):
                yield _Entry(located, "out", at)


def _port_matches(graph: Graph, value: int | None, place: str, query: Query) -> bool:
    described = None if value is None else graph.values[value]
    text = f"{place}\n{described.get('name', '') if described else ''}".lower()
    if not all(word in text for word in query.words):
        return False
    return all(described is not None and shape_matches(shape, described) for shape in query.shapes)


def _program_matches(index: GraphIndex, located: Located, query: Query, calls: _Calls) -> Iterator[_Entry]:
    graph = located.graph
    operation_matches = _operation_test(index, graph, query, calls)
    scopes_wanted = bool(query.words) and not query.shapes and not query.lines
    passed = [at in graph.wrappers for at in range(len(graph.scopes))]  # wrappers are not nodes of a view
    for at, scope in enumerate(graph.home):
        if scopes_wanted and not passed[scope]:
            for outer in graph.scope_chain(scope):
                if not passed[outer]:
                    passed[outer] = True
                    if _scope_matches(graph, outer, query.words):
                        yield _Entry(located, "scope", outer)
        by = operation_matches(at)
        if by is not None:
            yield _Entry(located, "op", at, by == "call")
    if scopes_wanted:
        for scope in range(len(passed)):
            if not passed[scope] and _scope_matches(graph, scope, query.words):
                yield _Entry(located, "scope", scope)


def _scope_matches(graph: Graph, at: int, words: Sequence[str]) -> bool:
    """All words in its path or class, one of them in its own part of the path: else all that it holds would match."""
    scope = graph.scopes[at]
    own = f"{scope_label(scope)}\n{scope.get('class', '')}\n{scope['id'].rsplit('/', 1)[-1]}".lower()
    text = f"{_scope_text(graph, at)}\n{own}"
    return all(word in text for word in words) and any(word in own for word in words)


def _scope_text(graph: Graph, at: int) -> str:
    return f"{graph.scopes[at]['id']}\n{'/'.join(graph.scope_path(at))}".lower()


def _operation_test(
    index: GraphIndex, graph: Graph, query: Query, calls: _Calls
) -> Callable[[int], Literal["name", "call"] | None]:
    operations, values, home = graph.operations, graph.values, graph.home
    lines = [_frames_on_line(index, path, line) for path, line in query.lines]
    primitive_hits: dict[tuple[str, int], list[str]] = {}
    names = {
        at: value["name"].lower() for at, value in enumerate(values) if "name" in value and value["role"] != "input"
    }

    def words_left(at: int) -> list[str]:
        """Words that neither the primitive nor the scope has: many operations share both."""
        operation = operations[at]
        key = (operation["primitive"], home[at])
        known = primitive_hits.get(key)
        if known is None:
            text = f"{key[0]}\n{_scope_text(graph, key[1])}".lower()
            known = primitive_hits[key] = [word for word in query.words if word not in text]
        return known

    def matches(at: int) -> Literal["name", "call"] | None:
        operation = operations[at]
        by: Literal["name", "call"] = "name"
        missing = words_left(at)
        if missing:
            read = [
                names[value] for o in operation["inputs"] if (value := o.get("value")) is not None and value in names
            ]
            for word in missing:
                if not any(word in name for name in read):
                    if word not in calls.of or not calls.include(word, operation["frames"]):
                        return None
                    by = "call"
        for shape in query.shapes:
            if not any(shape_matches(shape, values[value]) for value in operation["outputs"]):
                return None
        if any(on_line.isdisjoint(operation["frames"]) for on_line in lines):
            return None
        return by

    return matches


def _frames_on_line(index: GraphIndex, path: str, line: int) -> frozenset[int]:
    return frozenset(
        at
        for at, frame in enumerate(index.capture["frames"])
        if frame["workspace"]
        and frame["line"] <= line <= frame.get("endLine", frame["line"])
        and (frame["path"] == path or frame["path"].endswith("/" + path))
    )


def _hit(index: GraphIndex, entry: _Entry) -> t.NodeHit:
    located, kind, at, _ = entry
    graph = located.graph
    if kind == "op":
        return operation_hit(index, located, at)
    if kind == "scope":
        scope = graph.scopes[at]
        return t.NodeHit(
            capture_id=index.capture_id,
            node=graph.scope_node_id(at),
            label=scope_label(scope),
            scopes=graph.scopes_to_expand(graph.parent(at)),
            body=located.body,
            instances=instances_to_see(graph, at),
        )
    port = (graph.inputs if kind == "in" else graph.outputs)[at]
    value = port.operand.get("value")
    name = graph.values[value].get("name") if kind == "in" and value is not None else None
    return t.NodeHit(
        capture_id=index.capture_id,
        node=port.id,
        label=name or port.place,
        scopes=list(output_structures(graph).around[port.id]) if kind == "out" else [],
        body=located.body,
    )
