"""Shapes on hover: what a variable held, or what an expression's operations gave."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from tvls.capture.document import Evidence, Failure, Frame, Observation
from tvls.graph.index import GraphIndex, Located
from tvls.graph.positions import Stack, extent, frames_at, positions
from tvls.graph.text import long_type
from tvls.protocol import types as t

SHAPES_SHOWN = 4
PRIMITIVES_SHOWN = 6
_TIMES = "\u00d7"

_AUGMENTED = frozenset(["+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "<<=", ">>=", "&=", "|=", "^="])
_COMPARISONS = frozenset(["<", ">", "<=", ">=", "==", "!="])
_OPERATORS = _AUGMENTED | _COMPARISONS | {"+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "~"}
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_OPENING.values())
_EVIDENCE: Mapping[str, Evidence] = {"jax": "inferred", "torch": "measured"}


@dataclass(frozen=True)
class HoverText:
    markdown: str
    start: int
    """Range on the line that the text is about, in UTF-8 bytes."""
    end: int


@dataclass(frozen=True)
class _Token:
    text: str
    kind: int
    start: int
    end: int
    """UTF-8 byte columns."""


def _markdown(types: Counter[str], evidence: Evidence, freshness: t.Freshness) -> str:
    """The most frequent type first, with occurrences, evidence and freshness; then the other types."""
    ranked = types.most_common()
    first, count = ranked[0]
    text = f"`{first} · {_TIMES}{count:,} · {evidence} · {freshness}`"
    if len(ranked) > 1:
        others = ", ".join(f"`{shown} {_TIMES}{times:,}`" for shown, times in ranked[1:SHAPES_SHOWN])
        left = len(ranked) - SHAPES_SHOWN
        text += f"\n\nalso {others}" + (f" and {left:,} more" if left > 0 else "")
    return text


class Observations:
    """What local variables held, by file, function and name."""

    def __init__(self, observations: Sequence[Observation], frames: Iterable[Frame]) -> None:
        self._lines: dict[tuple[str, str, str], dict[int, Counter[str]]] = {}
        self._extents: dict[str, dict[str, tuple[int, int]]] = {}
        for seen in observations:
            function = seen.get("function", "")
            types = self._lines.setdefault((seen["path"], function, seen["name"]), {}).setdefault(
                seen["line"], Counter()
            )
            for held in seen["seen"]:
                types[long_type(held["shape"], held["dtype"])] += held["count"]
            self._cover(seen["path"], function, seen["line"], seen["line"])
        # The last line of a function may hold no new local; the operations on it still belong to the function.
        known = {
            (path, function.rsplit(".", 1)[-1]): function
            for path, functions in self._extents.items()
            for function in functions
        }
        for frame in frames:
            function = known.get((frame["path"], frame["function"].rsplit(".", 1)[-1]))
            if frame["workspace"] and function is not None:
                self._cover(frame["path"], function, frame["line"], frame.get("endLine", frame["line"]))

    def _cover(self, path: str, function: str, first: int, last: int) -> None:
        extents = self._extents.setdefault(path, {})
        low, high = extents.get(function, (first, last))
        extents[function] = (min(low, first), max(high, last))

    def held(
        self, path: str, line: int, name: str, *, before: bool = False, exactly: bool = False
    ) -> Counter[str] | None:
        """What `name` held at the nearest line of the function up to `line`: above it, or at no other, if so asked.

        A name that is not a local of that function is looked for in the functions around it.
        """
        around = sorted(
            (high - low, function)
            for function, (low, high) in self._extents.get(path, {}).items()
            if low <= line <= high
        )
        for _, function in around:
            lines = self._lines.get((path, function, name))
            if lines is not None:
                if exactly:
                    return lines.get(line)
                nearest = max((at for at in lines if at < line or (at == line and not before)), default=None)
                return None if nearest is None else lines[nearest]
        return None


def observations(index: GraphIndex) -> Observations:
    known = cast(Observations | None, index.caches.get("observations"))
    if known is None:
        capture = index.capture
        known = index.caches["observations"] = Observations(capture["observations"], capture["frames"])
    return known


def hover(
    asked: GraphIndex | Failure, path: str, line: int, byte_column: int, line_text: str, freshness: t.Freshness
) -> HoverText | None:
    """Shape and dtype of the variable or expression under the cursor; for a failed trace, of variables alone.

    `path` is workspace-relative, `line` the 1-based line as it was traced, `line_text` its text, `byte_column` a UTF-8
    byte offset in it. None where there is nothing to say: keywords, strings, comments, names of modules and attributes.
    """
    tokens = _tokens(line_text)
    at = _token_at(tokens, byte_column)
    if at is None or _is_import(tokens):
        return None
    if isinstance(asked, GraphIndex):
        seen, evidence = observations(asked), asked.capture["evidence"]
    else:
        here = [found for found in asked["observations"] if found["path"] == path]
        seen, evidence = Observations(here, asked["failure"]["frames"]), _EVIDENCE[asked["framework"]]

    types = _held(seen, path, line, tokens, at)
    if types:
        return HoverText(_markdown(types, evidence, freshness), tokens[at].start, tokens[at].end)
    if isinstance(asked, GraphIndex):
        frame = _expression(asked, path, line, tokens, at)
        if frame is not None:
            return _expression_text(asked, frame, line, tokens[at], freshness)
    return None


def _held(seen: Observations, path: str, line: int, tokens: list[_Token], at: int) -> Counter[str] | None:
    if tokens[at].text == "return":
        return seen.held(path, line, "return", exactly=True)
    if not _is_variable(tokens, at):
        return None
    return seen.held(path, line, tokens[at].text, before=_is_read_before_assignment(tokens, at))


# --- the line under the cursor ---------------------------------------------------------------------------------------


def _tokens(line_text: str) -> list[_Token]:
    """Tokens of one line, comments left out; a line of a larger statement is read as far as it makes sense alone."""
    found: list[_Token] = []
    line = line_text.rstrip("\r\n").lstrip("\ufeff")
    shift = len(line_text.encode("utf-8", "replace")) - len(line_text.lstrip("\ufeff").encode("utf-8", "replace"))
    try:
        for token in tokenize.generate_tokens(io.StringIO(line + "\n").readline):
            if token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING) and token.start[0] == 1:
                start = shift + len(line[: token.start[1]].encode("utf-8", "replace"))
                size = len(token.string.encode("utf-8", "replace"))
                found.append(_Token(token.string, token.type, start, start + size))
    except (tokenize.TokenError, SyntaxError):
        pass  # an open bracket, string or odd indentation: what was read so far stands
    return found


def _token_at(tokens: list[_Token], column: int) -> int | None:
    """The token that the column lies in, else a name that ends there."""
    touching = None
    for at, token in enumerate(tokens):
        if token.start <= column < token.end:
            return at
        if token.end == column and token.kind == tokenize.NAME:
            touching = at
    return touching


def _text(tokens: list[_Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""


def _is_import(tokens: list[_Token]) -> bool:
    return _text(tokens, 0) in ("import", "from")


def _is_variable(tokens: list[_Token], at: int) -> bool:
    """A plain name that is read or assigned: no keyword, attribute, callee, definition or keyword argument."""
    token = tokens[at]
    if token.kind != tokenize.NAME or keyword.iskeyword(token.text) or _is_import(tokens):
        return False
    before, after = _text(tokens, at - 1), _text(tokens, at + 1)
    if before in (".", "def", "class", "global", "nonlocal") or after == "(":
        return False
    return not (after == "=" and _is_argument_name(tokens, at))


def _is_argument_name(tokens: list[_Token], at: int) -> bool:
    """`name=` inside a call: after an open bracket, or on a line that only a call over several lines has."""
    depth = _depth(tokens[:at])
    return depth > 0 or _text(tokens, len(tokens) - 1) == "," or _depth(tokens) < 0


def _depth(tokens: Iterable[_Token]) -> int:
    return sum((token.text in _OPENING) - (token.text in _CLOSING) for token in tokens if token.kind == tokenize.OP)


def _is_read_before_assignment(tokens: list[_Token], at: int) -> bool:
    """On `x = f(x)` the second `x` is what `x` held before the line ran."""
    depth = 0
    equals = -1
    for place, token in enumerate(tokens):
        if token.kind != tokenize.OP:
            continue
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0 and (token.text == "=" or token.text in _AUGMENTED):
            equals = place
    return equals >= 0 and at > equals and any(tokens[place].text == tokens[at].text for place in range(equals))


def _closing(tokens: list[_Token], at: int) -> int | None:
    """The bracket that closes the one at `at`, if it is on the line."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += _depth([tokens[place]])
        if depth == 0:
            return place
    return None


def _opening(tokens: list[_Token], at: int) -> int | None:
    depth = 0
    for place in range(at, -1, -1):
        depth += _depth([tokens[place]])
        if depth == 0:
            return place
    return None


# --- the expression under the cursor ---------------------------------------------------------------------------------


def _expression(index: GraphIndex, path: str, line: int, tokens: list[_Token], at: int) -> int | None:
    """The workspace frame of the call, subscript, attribute or operator expression that the token stands for."""
    token = tokens[at]
    inside, beside = frames_at(index, path, line, token.start)
    table = index.capture["frames"]
    if not inside and beside and all(table[frame].get("column") is None for frame in beside):
        return _only_operation(index, beside) if _stands_for_expression(tokens, at) else None
    inside.sort(key=lambda frame: extent(table[frame]))
    if token.kind == tokenize.OP and token.text in _OPERATORS:
        return next((frame for frame in inside if _is_operand_level(table[frame], line, tokens, at)), None)
    ends = _expression_end(tokens, at)
    if ends is None:
        return None
    end, open_ended = ends
    for frame in inside:
        last = table[frame].get("endLine", line)
        if (last > line) if open_ended else (last == line and table[frame].get("endColumn") == end):
            return frame
    return None


def _stands_for_expression(tokens: list[_Token], at: int) -> bool:
    token = tokens[at]
    return (token.kind == tokenize.OP and token.text in _OPERATORS) or _expression_end(tokens, at) is not None


def _expression_end(tokens: list[_Token], at: int) -> tuple[int, bool] | None:
    """Where the expression of a callee, attribute or bracket ends on the line, and whether it goes on below."""
    token = tokens[at]
    if token.kind == tokenize.NAME:
        if keyword.iskeyword(token.text) or _text(tokens, at - 1) in ("def", "class"):
            return None
        if _text(tokens, at + 1) != "(":
            return (token.end, False) if _text(tokens, at - 1) == "." else None
        at += 1
    elif token.text in (")", "]"):
        opening = _opening(tokens, at)
        if opening is None:
            return (token.end, False)
        at = opening
    if _text(tokens, at) not in ("(", "[") or at == 0:
        return None
    # `f(…)` and `x[…]`, but not a tuple, list or group.
    before = tokens[at - 1]
    if not (before.kind == tokenize.NAME and not keyword.iskeyword(before.text)) and before.text not in (")", "]"):
        return None
    closing = _closing(tokens, at)
    return (tokens[-1].end, True) if closing is None else (tokens[closing].end, False)


def _is_operand_level(frame: Frame, line: int, tokens: list[_Token], at: int) -> bool:
    """Whether the operator stands directly in the range of the frame, not in a call or group inside it."""
    token = tokens[at]
    start, end = frame.get("column", 0), frame.get("endColumn", 0)
    if frame["line"] == line and start <= token.start:
        return _depth(x for x in tokens[:at] if x.start >= start) == 0
    if frame.get("endLine", line) == line and end >= token.end:
        return _depth(x for x in tokens[at:] if x.end <= end) == 0
    return False


def _only_operation(index: GraphIndex, frames: list[int]) -> int | None:
    """Without columns (Python 3.10) a line says something about one expression only where it has one operation."""
    if len(frames) != 1:
        return None
    places = {tuple(_inside(stack, frames[0])) for stack in _stacks(index, frames[0])}
    return frames[0] if len(places) == 1 else None


@dataclass(frozen=True)
class _Result:
    """What an expression gave, over all the times that it ran."""

    types: Counter[str]
    primitives: list[str]
    """Of all its operations, in program order, without repeats."""
    last: str
    """Primitive of the last operation, whose result it is taken to be."""


def _expression_text(index: GraphIndex, frame: int, line: int, token: _Token, freshness: t.Freshness) -> HoverText:
    kept: dict[int, _Result] = index.caches.setdefault("hover", {})
    result = kept.get(frame)
    if result is None:
        result = kept[frame] = _result(_stacks(index, frame), frame)
    evidence = index.capture["evidence"]
    text = _markdown(result.types, evidence, freshness) + "\n\n" + _primitives_text(result)
    found = index.capture["frames"][frame]
    start, end = found.get("column"), found.get("endColumn")
    if start is None or end is None or found["line"] != line or found.get("endLine", line) != line:
        return HoverText(text, token.start, token.end)
    return HoverText(text, start, end)


def _stacks(index: GraphIndex, frame: int) -> list[Stack]:
    of = positions(index).of[frame]
    return [*of.inner, *of.outer]


def _result(stacks: list[Stack], frame: int) -> _Result:
    # Operations of a body come before the end of the operation that has it: the outermost graph ends an expression.
    depth = min(_nesting(stack.located) for stack in stacks)
    outermost = [stack for stack in stacks if _nesting(stack.located) == depth]
    final = max(outermost, key=lambda stack: (stack.located.body or "", stack.operations[-1]))
    place = _inside(final, frame)
    shapes: Counter[tuple[tuple[str, tuple[int, ...]], ...]] = Counter()
    for stack in outermost:
        if _inside(stack, frame) == place:
            graph = stack.located.graph
            last = graph.operations[stack.operations[-1]]["primitive"]
            for at in stack.operations:
                # Without columns in a library, one stack may hold several operations of each time that it ran.
                if graph.operations[at]["primitive"] == last:
                    values = [graph.values[value] for value in graph.operations[at]["outputs"]]
                    shapes[tuple((value["dtype"], tuple(value["shape"])) for value in values)] += 1
    types: Counter[str] = Counter()
    for found, count in shapes.items():
        types[_result_type(found)] += count
    primitives: dict[str, None] = {}
    for stack in sorted(stacks, key=lambda stack: (_nesting(stack.located), stack.operations[0])):
        for at in stack.operations:
            primitives[stack.located.graph.operations[at]["primitive"]] = None
    return _Result(types, list(primitives), final.located.graph.operations[final.operations[-1]]["primitive"])


def _nesting(located: Located) -> int:
    return 0 if located.body is None else 1 + located.body.count(">")


def _inside(stack: Stack, frame: int) -> list[int]:
    """Frames from the operations out to `frame`: the same for every time that the same place in the code ran."""
    return stack.frames[: stack.frames.index(frame) + 1]


def _result_type(values: Sequence[tuple[str, tuple[int, ...]]]) -> str:
    types = [long_type(shape, dtype) for dtype, shape in values[: SHAPES_SHOWN + 1]]
    if len(types) == 1:
        return types[0]
    shown = ", ".join(types[:SHAPES_SHOWN])
    return f"({shown}, …)" if len(types) > SHAPES_SHOWN else f"({shown})"


def _primitives_text(result: _Result) -> str:
    primitives = result.primitives
    if len(primitives) == 1:
        return f"`{primitives[0]}`"
    shown = ", ".join(f"`{primitive}`" for primitive in primitives[:PRIMITIVES_SHOWN])
    more = f" and {len(primitives) - PRIMITIVES_SHOWN} more" if len(primitives) > PRIMITIVES_SHOWN else ""
    return f"{shown}{more}; the shape is that of the last, `{result.last}`"
