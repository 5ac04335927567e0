"""What locals held in the lines of a file: when a line bound them, and when one read them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from tvls.capture.document import Evidence, Failure, Observation, Seen, Structure
from tvls.graph.annotations import named_type
from tvls.graph.index import GraphIndex
from tvls.graph.names import Row, fold
from tvls.graph.places import Function
from tvls.graph.text import child_place, long_type, plural

RETURN: Final = "return"
_EVIDENCE: Mapping[str, Evidence] = {"jax": "inferred", "torch": "measured"}
INLINE: Final = 4
"""Arrays of an object that are written into its type; of more there is a table."""
_ROWS = 12
_NOT_IN_NAMES = frozenset(["<locals>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"])
_SEQUENCES = {"list": "[]", "tuple": "()"}
_ITEMS = frozenset(["list", "tuple", "dict", "OrderedDict", "defaultdict"])
"""What has its parts by subscript; other objects have them by attribute."""

Path = tuple[str | int, ...]


class ArrayAt(NamedTuple):
    path: Path
    dtype: str
    shape: tuple[int, ...]


class Kind(NamedTuple):
    """An array; or an object that holds arrays, with all of them; or, without any, something else."""

    type: str
    """Empty for an array, and for a part of an object."""
    arrays: tuple[ArrayAt, ...]
    cut: bool = False
    """Whether it may hold more than these."""

    @property
    def is_array(self) -> bool:
        return len(self.arrays) == 1 and not self.arrays[0].path

    def text(self, names: Sequence[str] = (), inline: int = INLINE) -> str:
        """`float32[2, 3]`, `(float32[2], int64[2])`, `dict{w: float32[2, 3]}`; of more than `inline` arrays
        `dict of 24 arrays`."""
        if not self.arrays:
            return "no array"
        if self.is_array:
            ((_, dtype, shape),) = self.arrays
            return named_type(shape, dtype, names)
        if self.cut or len(self.arrays) > inline:
            count = plural(len(self.arrays), "array") + (" and more" if self.cut else "")
            return f"{self.type} of {count}" if self.type else count
        types = [long_type(array.shape, array.dtype) for array in self.arrays]
        if self.type in _SEQUENCES and [array.path for array in self.arrays] == [(at,) for at in range(len(types))]:
            opening, closing = _SEQUENCES[self.type]
            return f"{opening}{', '.join(types)}{',' if closing == ')' and len(types) == 1 else ''}{closing}"
        return f"{self.type}{{{', '.join(f'{name}: {text}' for name, text in self._named())}}}"

    @property
    def is_long(self) -> bool:
        """Whether its text does not tell its arrays."""
        return self.cut or len(self.arrays) > INLINE

    def table(self) -> str:
        """Its arrays by place, a line each; numbered ones that are alike in one."""
        rows = fold(self._named()) if len(self.arrays) > _ROWS else [Row(*row, 1) for row in self._named()]
        width = max(len(row.name) for row in rows[:_ROWS])
        lines = [
            f"{row.name.ljust(width)}  {row.text}" + (f"  \u00d7 {row.names:,}" if row.names > 1 else "")
            for row in rows[:_ROWS]
        ]
        left = sum(row.names for row in rows[_ROWS:])
        if left or self.cut:
            lines.append(f"\u2026 {left:,} more" if not self.cut else "\u2026 and more")
        return "\n".join(lines)

    def _named(self) -> Iterator[tuple[str, str]]:
        for array in self.arrays:
            place = ""
            for key in array.path:
                place = child_place(place, key)
            yield place, long_type(array.shape, array.dtype)

    def part(self, path: Path, subscripts: Sequence[bool]) -> Kind | None:
        """What is at a path of keys, each of a subscript or an attribute; None where that is not known."""
        if not self.type or subscripts[0] != (self.type in _ITEMS):
            return None
        depth = len(path)
        inside = tuple(array._replace(path=array.path[depth:]) for array in self.arrays if array.path[:depth] == path)
        return Kind("", inside, self.cut and not any(not array.path for array in inside)) if inside else None


Held = Counter[Kind]
_Where = tuple[str, int, str]
"""Path, line and name."""


class Observations:
    def __init__(
        self, bound: Sequence[Observation], reads: Sequence[Observation], structures: Sequence[Structure]
    ) -> None:
        self._kinds = [
            Kind(
                found["type"],
                tuple(ArrayAt(tuple(of["path"]), of["dtype"], tuple(of["shape"])) for of in found["arrays"]),
                found.get("cut", False),
            )
            for found in structures
        ]
        self._bound = self._by_place(bound)
        self._read = self._by_place(reads)
        self._lines: dict[tuple[str, Function, str], dict[int, Held]] = defaultdict(dict)
        self._runs: dict[tuple[str, int], int] = {}
        for (path, line, name), of in self._bound.items():
            for function, held in of.items():
                self._lines[path, function, name][line] = held
        for part in (self._bound, self._read):
            for (path, line, _), of in part.items():
                self._runs[path, line] = max(self._runs.get((path, line), 0), *(held.total() for held in of.values()))

    def _by_place(self, observations: Sequence[Observation]) -> dict[_Where, dict[Function, Held]]:
        found: dict[_Where, dict[Function, Held]] = defaultdict(dict)
        for seen in observations:
            function = tuple(part for part in seen.get("function", "").split(".") if part not in _NOT_IN_NAMES)
            held = found[seen["path"], seen["line"], seen["name"]].setdefault(function, Counter())
            for one in seen["seen"]:
                held[self._kind(one)] += one["count"]
        return found

    def _kind(self, seen: Seen) -> Kind:
        if "structure" in seen:
            return self._kinds[seen["structure"]]
        if "shape" in seen and "dtype" in seen:
            return Kind("", (ArrayAt((), seen["dtype"], tuple(seen["shape"])),))
        return Kind("", ())

    def bound(self, path: str, line: int, name: str, function: Function | None = None) -> Held:
        """What a line bound `name` to in a function, or in any; empty where that was not seen."""
        return _of(self._bound.get((path, line, name), {}), function)

    def read(self, path: str, line: int, name: str, function: Function | None = None) -> Held:
        """What `name` was when a line that reads it began."""
        return _of(self._read.get((path, line, name), {}), function)

    def bound_above(self, path: str, line: int, name: str, function: Function) -> tuple[int, Held] | None:
        """The nearest line above that bound `name` in the function or in one around it."""
        for depth in range(len(function), 0, -1):
            lines = self._lines.get((path, function[:depth], name))
            if lines is not None:
                nearest = max((at for at in lines if at < line), default=None)
                return None if nearest is None else (nearest, lines[nearest])
        return None

    def runs(self, path: str, first: int, last: int) -> int | None:
        """How often the lines ran in the trace, by what was seen on them; None where nothing was."""
        counts = [self._runs[path, line] for line in range(first, last + 1) if (path, line) in self._runs]
        return max(counts, default=None)


def _of(found: Mapping[Function, Held], function: Function | None) -> Held:
    if function is not None:
        return found.get(function, Counter())
    every: Held = Counter()
    for held in found.values():
        every += held
    return every


def observations(index: GraphIndex) -> Observations:
    known = cast(Observations | None, index.caches.get("observations"))
    if known is None:
        capture = index.capture
        known = index.caches["observations"] = Observations(
            capture["observations"], capture.get("reads", []), capture.get("structures", [])
        )
    return known


def seen_by(asked: GraphIndex | Failure, path: str) -> tuple[Observations, Evidence]:
    """What a trace saw of a file, also one that failed, and how much that is worth."""
    if isinstance(asked, GraphIndex):
        return observations(asked), asked.capture["evidence"]
    bound, reads = (
        [found for found in part if found["path"] == path] for part in (asked["observations"], asked.get("reads", []))
    )
    return Observations(bound, reads, asked.get("structures", [])), _EVIDENCE[asked["framework"]]
