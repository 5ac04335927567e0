"""Transcripts: whole conversations, one JSON object a line, that are played to servers and to clients.

The first line is the head: `about` (a sentence), `files` (the workspace: path → text), `tracing` (true where the server
needs a Python with JAX), `examples` (variable → the value it has where nothing else gave it one). Each further line is
a message: `{"from": "client" | "server", "message": {…}}`, without `"jsonrpc"`.

In messages,

- `${name}` in a string stands for a value: the first time it takes what is there, later it has to be the same.
  `${folder}` (the URI of the workspace), `${folderPath}` and `${python}` are known from the beginning.
- `{"$any": "string" | "number" | "boolean" | "object" | "array", "example": …}` is any value of that type.
- `{"$begin": […]}` is a list that begins so.

A message says at least what is written: more fields are no fault. Lists have the length that is written.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

Json = dict[str, Any]
Side = Literal["client", "server"]

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}


@dataclass(frozen=True)
class Line:
    side: Side
    message: Json


@dataclass(frozen=True)
class Transcript:
    name: str
    about: str
    lines: list[Line]
    files: dict[str, str] = field(default_factory=dict[str, str])
    tracing: bool = False
    examples: dict[str, str] = field(default_factory=dict[str, str])


def read(path: Path) -> Transcript:
    """Raises ValueError, with the line at fault."""
    head: Json = {}
    lines: list[Line] = []
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            value = cast(Json, json.loads(text))
            if number == 1:
                head = value
            else:
                lines.append(_line(value))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: {error!r}") from error
    if "about" not in head or not lines:
        raise ValueError(f"{path}: no head with `about`, or no messages")
    return Transcript(
        path.stem, head["about"], lines, head.get("files", {}), head.get("tracing", False), head.get("examples", {})
    )


def _line(value: Json) -> Line:
    if value["from"] not in ("client", "server") or not isinstance(value["message"], dict):
        raise ValueError('a line is {"from": "client" or "server", "message": {…}}')
    return Line(value["from"], cast(Json, value["message"]))


def write(path: Path, transcript: Transcript) -> None:
    head: Json = {"about": transcript.about}
    if transcript.tracing:
        head["tracing"] = True
    head |= {"files": transcript.files, "examples": transcript.examples}
    lines = [head, *({"from": line.side, "message": line.message} for line in transcript.lines)]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")


def difference(written: Any, found: Any, variables: dict[str, str], place: str = "") -> str | None:
    """What `found` lacks of `written`, with its place; None where nothing. Variables that it fixes are added."""
    if isinstance(written, dict):
        table = cast(Json, written)
        if "$any" in table:
            kind = _TYPES[table["$any"]]
            fits = isinstance(found, kind) and (table["$any"] != "number" or not isinstance(found, bool))
            return None if fits else f"{place or 'the message'} is no {table['$any']}: {_short(found)}"
        if "$begin" in table:
            return _list_difference(table["$begin"], found, variables, place, begins=True)
        if not isinstance(found, dict):
            return f"{place or 'the message'} is {_short(found)} where an object was expected"
        for key, value in table.items():
            if key not in found:
                return f"{place}.{key} is missing"
            if (fault := difference(value, found[key], variables, f"{place}.{key}")) is not None:
                return fault
        return None
    if isinstance(written, list):
        return _list_difference(cast("list[Any]", written), found, variables, place, begins=False)
    if isinstance(written, str) and _VARIABLE.search(written):
        return _text_difference(written, found, variables, place)
    if written != found or isinstance(written, bool) != isinstance(found, bool):
        return f"{place} is {_short(found)} where {_short(written)} was expected"
    return None


def _list_difference(
    written: list[Any], found: Any, variables: dict[str, str], place: str, *, begins: bool
) -> str | None:
    if not isinstance(found, list):
        return f"{place} is {_short(found)} where a list was expected"
    items = cast("list[Any]", found)
    if len(items) < len(written) or (len(items) > len(written) and not begins):
        return f"{place} has {len(items)} entries where {len(written)} were expected: {_short(items)}"
    for at, value in enumerate(written):
        if (fault := difference(value, items[at], variables, f"{place}[{at}]")) is not None:
            return fault
    return None


def _text_difference(written: str, found: Any, variables: dict[str, str], place: str) -> str | None:
    pattern, at, seen = "", 0, set[str]()
    for match in _VARIABLE.finditer(written):
        name = match[1]
        pattern += re.escape(written[at : match.start()])
        if name in variables:
            pattern += re.escape(variables[name])
        elif name in seen:
            pattern += f"(?P={name})"
        else:
            pattern += f"(?P<{name}>.+)"
            seen.add(name)
        at = match.end()
    fits = isinstance(found, str) and re.fullmatch(pattern + re.escape(written[at:]), found, re.DOTALL)
    if not fits:
        return f"{place} is {_short(found)} where {_short(fill(written, variables))} was expected"
    variables.update(fits.groupdict())
    return None


def fill(written: Any, variables: dict[str, str]) -> Any:
    """A message to send: variables and patterns are replaced. What no variable gives stays as it is written."""
    if isinstance(written, dict):
        table = cast(Json, written)
        if "$any" in table:
            return fill(table.get("example"), variables)
        if "$begin" in table:
            return fill(table["$begin"], variables)
        return {key: fill(value, variables) for key, value in table.items()}
    if isinstance(written, list):
        return [fill(value, variables) for value in cast("list[Any]", written)]
    if isinstance(written, str):
        return _VARIABLE.sub(lambda match: variables.get(match[1], match[0]), written)
    return written


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"
