"""Plays the client's part of a transcript to a server, and compares what the server says; or writes it down."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from tvls.protocol.conformance.connection import Connection, Fault, is_answer, shorten
from tvls.protocol.conformance.transcript import Json, Line, Transcript, difference, fill

TRACE_SECONDS: Final = 120.0


def write_files(transcript: Transcript, folder: Path) -> None:
    for name, text in transcript.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def known(folder: Path, python: str | None) -> dict[str, str]:
    """Variables that every transcript has."""
    return {"folder": folder.as_uri(), "folderPath": str(folder), "python": python or "python3"}


def replay(
    transcript: Transcript, connection: Connection, variables: dict[str, str], seconds: float = TRACE_SECONDS
) -> None:
    """Raises Fault at the first thing that the server should not have said, or did not say within `seconds`."""
    taken: set[int] = set()
    for line in transcript.lines:
        if line.side == "client":
            connection.send(fill(line.message, variables))
        else:
            _expect(line.message, connection, variables, taken, seconds)
    _nothing_else(connection, taken)


def _expect(written: Json, connection: Connection, variables: dict[str, str], taken: set[int], seconds: float) -> None:
    """Waits for the first message of this kind that was not taken yet, and compares it."""
    at = 0
    while True:
        at = connection.wait_for(lambda m: _same_kind(written, m), _name(written), at, seconds)
        if at not in taken:
            break
        at += 1
    taken.add(at)
    fault = difference(written, connection.received[at], variables)
    if fault is not None:
        raise Fault(f"{_name(written)}: {fault}")


def _same_kind(written: Json, found: Json) -> bool:
    if "method" in written:
        return found.get("method") == written["method"] and ("id" in written) == ("id" in found)
    return is_answer(found, written["id"])


def _name(message: Json) -> str:
    return message["method"] if "method" in message else f"the answer to request {message['id']!r}"


def _nothing_else(connection: Connection, taken: set[int]) -> None:
    """Other notifications are allowed; another answer or another request is not."""
    for at, message in enumerate(connection.received):
        if at not in taken and "id" in message:
            raise Fault(f"the server also sent {shorten(message)}")


# --- recording -------------------------------------------------------------------------------------------------------

_VARYING: Final = {"version", "pid", "stderr", "message", "nextStep", "help"}
"""Fields that differ between runs, or whose words are each server's own."""
_LEFT_OUT: Final = {"unavailable", "jsonrpc"}
_BEGINNINGS: Final = {"methods": 2, "commands": 2}


def record(transcript: Transcript, connection: Connection, variables: dict[str, str]) -> Transcript:
    """The client's lines with what this server says between them, values of this run replaced by variables.

    Notifications of the server that the transcript has already are waited for where they stand.
    """
    lines: list[Line] = []
    taken = 0
    waiting: list[Any] = []
    asked: dict[str, str] = {}
    examples: dict[str, str] = {}

    def take(until: int) -> None:
        nonlocal taken
        while taken <= until:
            message = connection.received[taken]
            taken += 1
            if message.get("method") in ("window/logMessage", "$/progress"):
                continue
            if "method" in message and "id" in message:
                asked[message["id"]] = name = f"question{len(asked) + 1}"
                examples[name] = f"server-{len(asked)}"
                message = {**message, "id": f"${{{name}}}"}
            lines.append(Line("server", _generalise(message, variables, examples)))

    def take_answers() -> None:
        while waiting:
            msg_id = waiting.pop(0)
            take(connection.wait_for(lambda m, i=msg_id: is_answer(m, i), f"an answer to {msg_id}", 0, TRACE_SECONDS))

    for line in transcript.lines:
        message = line.message
        if line.side == "server":
            if (name := message.get("method")) is not None and "id" not in message:
                take_answers()
                if _said(lines, name):
                    continue
                awaited = connection.wait_for(lambda m, n=name: m.get("method") == n, name, taken, TRACE_SECONDS)
                take(awaited)
            continue
        if "method" not in message:
            take(connection.wait_for(lambda m: "method" in m and "id" in m, "a question", taken, TRACE_SECONDS))
            variables |= {name: real for real, name in asked.items()}
        elif "id" in message:
            take_answers()
            waiting.append(message["id"])
        elif message["method"] != "$/cancelRequest":
            take_answers()
        connection.send(fill(message, variables))
        lines.append(line)
    take_answers()
    return replace(transcript, lines=lines, examples={**examples, **transcript.examples})


def _said(lines: list[Line], method: str) -> bool:
    """Whether the server has sent this notification since the client spoke last."""
    for line in reversed(lines):
        if line.side == "client":
            return False
        if line.message.get("method") == method:
            return True
    return False


def _generalise(message: Json, variables: dict[str, str], examples: dict[str, str]) -> Json:
    for match in re.findall(r"sha256:[0-9a-f]{64}", str(message)):
        if match not in variables.values():
            name = f"capture{sum(name.startswith('capture') for name in variables) + 1}"
            variables[name] = examples[name] = match
    return cast(Json, _general(message, sorted(variables.items(), key=lambda item: -len(item[1])), ""))


def _general(value: Any, variables: Sequence[tuple[str, str]], key: str) -> Any:
    if isinstance(value, dict):
        table = cast(Json, value)
        if "$any" in table:
            return table
        if key == "versions":
            return {"$any": "object", "example": table}
        if "suggestedName" in table:  # a file that was exported, with the versions of libraries in it
            table = {**table, "text": {"$any": "string", "example": table["text"]}}
        if key == "capabilities":
            table = {name: table[name] for name in ("positionEncoding", "experimental") if name in table}
        return {name: _general(entry, variables, name) for name, entry in table.items() if name not in _LEFT_OUT}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if key in _BEGINNINGS:
            return {"$begin": items[: _BEGINNINGS[key]]}
        if key == "frames":
            # Those of libraries differ from version to version.
            mine = [_general(frame, variables, "") for frame in items if frame["workspace"]]
            ordered = all(frame["workspace"] for frame in items[: len(mine)])
            return {"$begin": mine} if ordered else {"$any": "array", "example": mine}
        return [_general(entry, variables, "") for entry in items]
    if isinstance(value, str):
        for name, known_value in variables:
            value = value.replace(known_value, f"${{{name}}}")
    if key in _VARYING and isinstance(value, str | int | float):
        return {"$any": "string" if isinstance(value, str) else "number", "example": value}
    return value
