"""Shapes on hover: what a variable held, or what an expression's operations gave."""

from __future__ import annotations

import ast
import io
import keyword
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

from tvls.capture.document import Evidence, Failure, Frame, Scope
from tvls.graph.annotations import names_by_line
from tvls.graph.index import GraphIndex, Located
from tvls.graph.modules import modules_at, modules_of_class, modules_text
from tvls.graph.observations import RETURN, Held, Kind, Observations, observations, seen_by
from tvls.graph.places import Function, Part, text_of
from tvls.graph.positions import Stack, extent, frames_at, positions
from tvls.graph.text import long_type, operation_label, scope_label
from tvls.protocol import types as t

SHAPES_SHOWN = 4
PRIMITIVES_SHOWN = 6
_CALLEE_SHOWN = 40
TIMES = "\u00d7"
_DERIVATIVES = frozenset(["vjp", "jvp", "linearize", "value_and_grad_f", "grad_f", "jacfun", "_vjp", "_jvp"])
"""Functions of JAX that hand on to its machinery for derivatives."""
_SOFT_KEYWORDS = frozenset(["match", "case", "type"])

_AUGMENTED = frozenset(["+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "<<=", ">>=", "&=", "|=", "^="])
_COMPARISONS = frozenset(["<", ">", "<=", ">=", "==", "!="])
_OPERATORS = _AUGMENTED | _COMPARISONS | {"+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "~"}
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_OPENING.values())
_PROGRAMS: Mapping[Evidence, str] = {"inferred": "the traced program", "measured": "the measured run"}


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


def _markdown(
    types: Sequence[tuple[str, int]], evidence: Evidence, freshness: t.Freshness, about: str = "", table: str = ""
) -> str:
    """The first type, with occurrences, evidence and freshness; the other types; what it is about."""
    (first, count), *others = types
    text = f"`{first} · {TIMES}{count:,} · {evidence} · {freshness}`"
    if table:
        text += f"\n\n```text\n{table}\n```"
    if others:
        listed = ", ".join(f"`{shown} {TIMES}{times:,}`" for shown, times in others[: SHAPES_SHOWN - 1])
        left = len(types) - SHAPES_SHOWN
        text += f"\n\nalso {listed}" + (f" and {left:,} more" if left > 0 else "")
    if about:
        text += f"\n\n{about}"
    times = sum(times for _, times in types)
    return text if times == 1 else f"{text}\n\n{TIMES}: seen {times:,} times in {_PROGRAMS[evidence]}"


def ranked(held: Held) -> list[tuple[Kind, int]]:
    """Arrays and what holds them, the most frequent first; then what does not."""
    return sorted(held.items(), key=lambda item: (not item[0].arrays, -item[1]))


class _Answer(NamedTuple):
    held: Held
    start: int
    end: int
    names: Sequence[str] = ()
    """Of dimensions, by an annotation."""
    named: Held | None = None
    """What the annotation is of; None for all that was held."""
    about: str = ""


def _answer_text(answer: _Answer, evidence: Evidence, freshness: t.Freshness) -> str:
    def names(kind: Kind) -> Sequence[str]:
        return answer.names if answer.named is None or kind in answer.named else ()

    kinds = ranked(answer.held)
    first = kinds[0][0]
    types = [(kind.text(names(kind)), count) for kind, count in kinds]
    return _markdown(types, evidence, freshness, answer.about, first.table() if first.is_long else "")


def hover(
    asked: GraphIndex | Failure,
    path: str,
    line: int,
    byte_column: int,
    line_text: str,
    freshness: t.Freshness,
    lines: Sequence[str] = (),
) -> HoverText | None:
    """Shape and dtype of the variable or expression under the cursor; for a failed trace, of variables alone.

    `path` is workspace-relative, `line` the 1-based line as it was traced, `line_text` its text, `byte_column` a UTF-8
    byte offset in it, `lines` the file as it was traced, whose annotations name dimensions. None where there is nothing
    to say: keywords, strings, comments, names of modules and attributes.
    """
    tokens = _tokens(line_text)
    at = _token_at(tokens, byte_column)
    if at is None or _is_import(tokens) or _is_prose(tokens):
        return None
    seen, evidence = seen_by(asked, path)
    answer = _seen_here(seen, path, line, tokens, at, lines)
    if answer is not None:
        return HoverText(_answer_text(answer, evidence, freshness), answer.start, answer.end)
    if isinstance(asked, GraphIndex) and _text(tokens, at - 1) != "def" and not _in_annotation(tokens, at):
        found = _expression(asked, path, line, line_text, tokens, at)
        if found is not None:
            return _expression_text(asked, found, line, tokens[at], freshness)
        return _modules(asked, path, line, tokens, at, lines, freshness)
    return None


def _modules(
    index: GraphIndex,
    path: str,
    line: int,
    tokens: list[_Token],
    at: int,
    lines: Sequence[str],
    freshness: t.Freshness,
) -> HoverText | None:
    """What the graph knows of the modules of a class, on its name; and of those in an attribute, on `self.name`."""
    token, text = tokens[at], text_of(lines)
    if text is None or token.kind != tokenize.NAME:
        return None
    modules: list[Scope] = []
    if _text(tokens, at - 1) == "class":
        qualname = text.classes.get((line, token.text))
        modules = modules_of_class(index, path, ".".join(qualname)) if qualname else []
    elif _text(tokens, at - 1) == "." and _text(tokens, at - 2) == "self":
        function = text.at(line, token.start).function
        modules = modules_at(index, path, ".".join(function[:-1]), token.text) if function and function[1:] else []
    if not modules:
        return None
    name, told = modules_text(modules)
    markdown = f"`{name} · {index.capture['evidence']} · {freshness}`\n\n{told}"
    return HoverText(markdown, token.start, token.end)


def _seen_here(
    seen: Observations, path: str, line: int, tokens: list[_Token], at: int, lines: Sequence[str]
) -> _Answer | None:
    """What was seen of the variable, the part of one, the `return` or the function that a token stands for."""
    token, text = tokens[at], text_of(lines)
    found = _Answer(Counter(), token.start, token.end)
    if _text(tokens, at - 1) == "def":
        definition = text and text.definitions.get((line, token.text))
        if definition:
            for returned in definition.returns:
                found.held.update(seen.bound(path, returned, RETURN, definition.function))
        names = names_by_line(lines).get((line, RETURN), ())
        return found._replace(names=names, about=f"returned by `{token.text}`") if found.held else None
    if _in_annotation(tokens, at):
        return None
    place = text and text.at(line, token.start)
    if place and place.function is None:
        return None
    function = place.function if place else None
    if token.text == "return":
        held, names = seen.bound(path, line, RETURN, function), names_by_line(lines).get((line, RETURN), ())
        return found._replace(held=held, names=names) if held else None
    if place and place.part:
        return _part(seen, path, place.part, function, found)
    if not _is_variable(tokens, at):
        return None
    bound = seen.bound(path, line, token.text, function)
    if place and place.name:
        binds = isinstance(place.name, ast.arg) or isinstance(place.name.ctx, ast.Store)
    else:
        binds = bool(bound) and not _is_read_before_assignment(tokens, at)
    if binds:
        names = names_by_line(lines).get((line, token.text), ())
        return found._replace(held=bound, names=names) if bound else None
    read = seen.read(path, line, token.text, function)
    above = seen.bound_above(path, line, token.text, function) if function else None
    if above:
        found = found._replace(names=names_by_line(lines).get((above[0], token.text), ()), named=above[1])
    return found._replace(held=read) if read else None


def _part(seen: Observations, path: str, part: Part, function: Function | None, found: _Answer) -> _Answer | None:
    """What a subscript or attribute asks for, of an object that a variable was."""
    for kind, count in seen.read(path, part.of.lineno, part.of.id, function).items():
        inside = kind.part(part.path, part.subscripts)
        if inside is not None:
            found.held[inside] += count
    node = part.node
    if node.lineno == node.end_lineno:
        found = found._replace(start=node.col_offset, end=node.end_col_offset or 0)
    return found if found.held else None


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


def _is_prose(tokens: list[_Token]) -> bool:
    """Two names side by side, as in a line of a docstring: no line of a program has that."""
    if _text(tokens, 0) in _SOFT_KEYWORDS:
        return False
    return any(
        a.kind == b.kind == tokenize.NAME and not (keyword.iskeyword(a.text) or keyword.iskeyword(b.text))
        for a, b in pairwise(tokens)
    )


def _is_definition(tokens: list[_Token]) -> bool:
    return "def" in (_text(tokens, 0), _text(tokens, 1))


def _in_annotation(tokens: list[_Token], at: int) -> bool:
    """Whether a token is part of an annotation: of a parameter, of a result, or of an assigned name."""
    if not _is_definition(tokens):
        # `name: T = value`, `self.name: T`; one that ends with a comma may as well be an entry of a dictionary.
        colon = next((place for place, token in enumerate(tokens) if token.text == ":"), None)
        if colon is None or keyword.iskeyword(tokens[0].text) or _text(tokens, len(tokens) - 1) == ",":
            return False
        if any(token.kind != tokenize.NAME and token.text != "." for token in tokens[:colon]):
            return False
        equals = next((place for place in range(colon, len(tokens)) if tokens[place].text == "="), len(tokens))
        return colon < at < equals
    depth, inside = 0, False
    for place, token in enumerate(tokens):
        if place == at:
            return inside
        depth += (token.text in _OPENING) - (token.text in _CLOSING) if token.kind == tokenize.OP else 0
        if token.text == "->" or (token.text == ":" and depth == 1):
            inside = True
        elif (token.text in (",", "=") and depth == 1) or (depth == 0 and token.text in (":", ")")):
            inside = False
    return False


def _is_variable(tokens: list[_Token], at: int) -> bool:
    """A plain name that is read or assigned: no keyword, attribute, callee, definition or keyword argument."""
    token = tokens[at]
    if token.kind != tokenize.NAME or keyword.iskeyword(token.text) or _is_import(tokens):
        return False
    before, after = _text(tokens, at - 1), _text(tokens, at + 1)
    if before in (".", "def", "class", "global", "nonlocal") or after == "(":
        return False
    return not (after == "=" and not _is_definition(tokens) and _is_argument_name(tokens, at))


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


class _Found(NamedTuple):
    frame: int
    about: str
    """What the expression calls, in words."""


@dataclass(frozen=True)
class _Primary:
    """A call, subscript or attribute, as far as it is on the line."""

    starts: frozenset[int]
    """Where the range of its frame may start: at the expression, for a method by its name (Python 3.12); empty where
    the expression began on an earlier line."""
    ends: list[int]
    """Where it ends, and where it does when what it gives is called in turn: `nn.Dense(8)` and `nn.Dense(8)(x)`."""
    open_ended: bool
    """Whether it goes on below."""
    callee: str
    """Empty where it is no call."""


def _expression(
    index: GraphIndex, path: str, line: int, line_text: str, tokens: list[_Token], at: int
) -> _Found | None:
    """The workspace frame of the call, subscript, attribute or operator expression that the token stands for."""
    token = tokens[at]
    operator = token.kind == tokenize.OP and token.text in _OPERATORS
    primary = None if operator else _primary(tokens, at)
    if not operator and primary is None:
        return None
    inside, beside = frames_at(index, path, line, token.start)
    table = index.capture["frames"]
    if not inside and beside and all(table[frame].get("column") is None for frame in beside):
        only = _only_operation(index, beside)
        return None if only is None else _Found(only, _about(primary, None))
    inside.sort(key=lambda frame: extent(table[frame]))
    if primary is None:
        found = (frame for frame in inside if _is_operator_of(table[frame], line, line_text, tokens, at))
        return next((_Found(frame, "") for frame in found), None)
    for frame in inside:
        calls = _calls(table[frame], line, primary)
        if calls is not None:
            return _Found(frame, _about(primary, calls))
    return None


def _calls(frame: Frame, line: int, primary: _Primary) -> int | None:
    """At which of the ends of a primary a frame ends, counted from 1; None where the frame is another expression's."""
    if frame["line"] == line and primary.starts and frame.get("column") not in primary.starts:
        return None
    if frame["line"] == line and not primary.starts:
        return None
    last = frame.get("endLine", line)
    if last > line:
        return len(primary.ends) + 1 if primary.open_ended else None
    end = frame.get("endColumn")
    return primary.ends.index(end) + 1 if last == line and end in primary.ends else None


def _about(primary: _Primary | None, calls: int | None) -> str:
    if primary is None or not primary.callee:
        return ""
    return f"result of `{primary.callee}{'(…)' * (calls or 1)}`"


def _primary(tokens: list[_Token], at: int) -> _Primary | None:
    """The expression that a name or bracket stands for: of a dotted name, all of it where it is called."""
    token = tokens[at]
    if token.kind == tokenize.NAME:
        if keyword.iskeyword(token.text) or _text(tokens, at - 1) == "class":
            return None
        last = at
        while _text(tokens, last + 1) == "." and last + 2 < len(tokens) and tokens[last + 2].kind == tokenize.NAME:
            last += 2
        start = _start_of_primary(tokens, at)
        if _text(tokens, last + 1) == "(":
            return _call(tokens, start, last)
        if _text(tokens, at - 1) != ".":
            return None
        return _Primary(_starts(tokens, start, at), [token.end], False, "")
    opening = _opening(tokens, at) if token.text in (")", "]") else at if token.text in ("(", "[") else None
    if opening is None or opening == 0 or not _ends_primary(tokens[opening - 1]):
        return None  # a tuple, list or group, or the end of a call that began above
    start = _start_of_primary(tokens, opening - 1)
    if tokens[opening].text == "(" and tokens[opening - 1].kind == tokenize.NAME:
        found = _call(tokens, start, opening - 1)
        # A bracket is that of one call, not of the call of its result.
        return replace(found, ends=found.ends[:1], open_ended=found.open_ended and not found.ends)
    closing = _closing(tokens, opening)
    ends = [] if closing is None else [tokens[closing].end]
    return _Primary(_starts(tokens, start, opening - 1), ends, closing is None, "")


def _call(tokens: list[_Token], start: int | None, last: int) -> _Primary:
    """The call of the dotted name that ends at `last`, and the calls of what it returns."""
    ends: list[int] = []
    place: int | None = last
    while place is not None and _text(tokens, place + 1) == "(":
        place = _closing(tokens, place + 1)
        if place is not None:
            ends.append(tokens[place].end)
    first = last if start is None else start
    callee = "".join(token.text for token in tokens[first : last + 1])
    if start is None or len(callee) > _CALLEE_SHOWN:
        callee = f"….{tokens[last].text}"
    return _Primary(_starts(tokens, start, last), ends, place is None, callee)


def _starts(tokens: list[_Token], start: int | None, last: int) -> frozenset[int]:
    return frozenset([tokens[last].start] if start is None else [tokens[start].start, tokens[last].start])


def _start_of_primary(tokens: list[_Token], at: int) -> int | None:
    """Where the primary begins that a name or closing bracket is the last part of; None if on an earlier line."""
    while True:
        if tokens[at].text in _CLOSING:
            opening = _opening(tokens, at)
            if opening is None:
                return None
            if opening == 0 or not _ends_primary(tokens[opening - 1]):
                return opening
            at = opening - 1
        elif _text(tokens, at - 1) != ".":
            return at
        elif at < 2:
            return None
        else:
            at -= 2


def _ends_primary(token: _Token) -> bool:
    return (token.kind == tokenize.NAME and not keyword.iskeyword(token.text)) or token.text in (")", "]")


def _is_operator_of(frame: Frame, line: int, line_text: str, tokens: list[_Token], at: int) -> bool:
    """Whether the operator is the outermost one of the expression or assignment in the range of the frame."""
    token = tokens[at]
    start, end = frame.get("column", 0), frame.get("endColumn", 0)
    first, last = frame["line"] == line, frame.get("endLine", line) == line
    if first and last:
        try:
            (statement,) = ast.parse(line_text.encode("utf-8", "replace")[start:end].strip()).body
        except (SyntaxError, ValueError):
            return False  # not an expression: the line is another one than was traced
        found = statement.value if isinstance(statement, ast.Expr) else statement
        place = token.start - start
        match found:
            case ast.BinOp():
                return (found.left.end_col_offset or 0) <= place < found.right.col_offset
            case ast.Compare():
                return any(
                    (a.end_col_offset or 0) <= place < b.col_offset
                    for a, b in pairwise([found.left, *found.comparators])
                )
            case ast.AugAssign():
                return (found.target.end_col_offset or 0) <= place < found.value.col_offset
            case ast.UnaryOp():
                return place == 0
            case _:
                return False
    if first and start <= token.start:
        return _depth(x for x in tokens[:at] if x.start >= start) == 0
    if last and end >= token.end:
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


def _expression_text(
    index: GraphIndex, expression: _Found, line: int, token: _Token, freshness: t.Freshness
) -> HoverText | None:
    kept: dict[int, _Result | None] = index.caches.setdefault("hover", {})
    frame = expression.frame
    if frame not in kept:
        kept[frame] = _result(index, frame)
    result = kept[frame]
    if result is None:
        return None
    primitives = _primitives_text(result)
    about = f"{expression.about}: {primitives}" if expression.about else primitives
    text = _markdown(result.types.most_common(), index.capture["evidence"], freshness, about)
    found = index.capture["frames"][frame]
    start, end = found.get("column"), found.get("endColumn")
    if start is None or end is None or found["line"] != line or found.get("endLine", line) != line:
        return HoverText(text, token.start, token.end)
    return HoverText(text, start, end)


def _stacks(index: GraphIndex, frame: int) -> list[Stack]:
    of = positions(index).of[frame]
    return [*of.inner, *of.outer]


class _Step(NamedTuple):
    """One operation of an expression."""

    located: Located
    operation: int
    place: tuple[int, ...]
    """Frames from the operation out to the expression: the same for every time that the same place in the code ran."""


def _result(index: GraphIndex, frame: int) -> _Result | None:
    """None where the expression takes a gradient: nothing tells its result from what was needed for it."""
    stacks = _stacks(index, frame)
    # Operations of a body come before the end of the operation that has it: the outermost graph ends an expression.
    depth = min(_nesting(stack.located) for stack in stacks)
    steps = [
        _Step(stack.located, at, tuple(_inside(stack, frame)))
        for stack in stacks
        if _nesting(stack.located) == depth
        for at in stack.operations
    ]
    table = index.capture["frames"]
    if any(_differentiates(table[at]) for place in {step.place for step in steps} for at in place):
        return None
    # The gradient of an expression has its frames, but is not its result; code that only a gradient runs is.
    steps = [step for step in steps if not is_backward(index, step.located, step.operation)] or steps
    steps.sort(key=lambda step: (step.located.body or "", step.operation))
    final = _final(index, steps)

    def key(step: _Step) -> tuple[tuple[int, ...], str]:
        return step.place, step.located.graph.operations[step.operation]["primitive"]

    last = [step for step in steps if key(step) == key(final)]
    runs = min(len(last), sum(key(step) == key(steps[0]) for step in steps))
    if len({(step.located.body, step.located.graph.home[step.operation]) for step in last}) == 1:
        # Nothing tells one run from the next; a library may as well have done the same several times in one.
        at = index.capture["frames"][frame]
        seen = observations(index).runs(at["path"], at["line"], at.get("endLine", at["line"]))
        runs = min(runs, seen or runs)
    each = len(last) // runs
    types: Counter[str] = Counter()
    for step in last[each - 1 :: each][:runs]:
        graph = step.located.graph
        values = [graph.values[value] for value in graph.operations[step.operation]["outputs"]]
        types[_result_type([(value["dtype"], tuple(value["shape"])) for value in values])] += 1
    primitives: dict[str, None] = {}
    for stack in sorted(stacks, key=lambda stack: (_nesting(stack.located), stack.operations[0])):
        for at in stack.operations:
            if not is_backward(index, stack.located, at) or is_backward(index, final.located, final.operation):
                primitives[operation_label(stack.located.graph.operations[at]["primitive"])] = None
    return _Result(types, list(primitives), key(final)[1])


def _differentiates(frame: Frame) -> bool:
    """Whether a frame is the call of a transform whose result holds derivatives."""
    return frame["path"] == "jax/_src/api.py" and frame["function"].rsplit(".", 1)[-1] in _DERIVATIVES


def _final(index: GraphIndex, steps: list[_Step]) -> _Step:
    """The operation whose result is that of the expression: the last one that something else than a gradient reads.

    In a program that is differentiated, the last operation of an expression may be one that only its gradient needs.
    """
    inside = {(id(step.located.graph), step.operation) for step in steps}
    for step in reversed(steps):
        graph = step.located.graph
        for value in graph.operations[step.operation]["outputs"]:
            if value in graph.output_uses or any(
                (id(graph), use.operation) not in inside and not is_backward(index, step.located, use.operation)
                for use in graph.uses.get(value, ())
            ):
                return step
    return steps[-1]


def is_backward(index: GraphIndex, located: Located, operation: int) -> bool:
    """Whether an operation belongs to a gradient: it, or the operation whose body it is in, was transposed."""
    kept: dict[tuple[str | None, int], bool] = index.caches.setdefault("backward", {})
    graph = located.graph
    scope = graph.home[operation]
    known = kept.get((located.body, scope))
    if known is None:
        known = any(scope_label(graph.scopes[at]).startswith("transpose(") for at in graph.scope_chain(scope))
        if not known and located.body is not None:
            body, _, step = located.body.rpartition(">")
            around = Located(index.graph(body or None), body or None)
            known = is_backward(index, around, around.graph.operations_by_id[unquote(step.rpartition("#")[0])])
        kept[located.body, scope] = known
    return known


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
    return f"{shown}{more}; the shape is that of `{result.last}`"
