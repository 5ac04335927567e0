"""What is wrong with a setup, as it is found; `Problem` in `read.py` adds the position in the file."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from tvls.setup.keys import Key

Severity = Literal["error", "warning"]


class Finding(msgspec.Struct, frozen=True):
    key: Key
    message: str
    severity: Severity = "error"
    on: Literal["key", "value"] = "value"
    """Which of the two the reader should look at."""


def is_error(findings: Iterable[Finding]) -> bool:
    return any(finding.severity == "error" for finding in findings)


def describe(value: Any) -> str:
    """What a TOML or JSON value is, for 'not …' in a message. Long text is cut."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the string {_cut(value)!r}"
        case int() | float():
            return f"the number {_cut(repr(value))}"
        case list():
            return "a list"
        case dict():
            return "a table"
        case datetime.datetime() | datetime.date() | datetime.time():
            return "a date or time"
        case _:
            return f"a {type(value).__name__}"


def unknown_keys(table: Mapping[str, Any], known: Iterable[str], at: Key, what: str) -> list[Finding]:
    """Warnings for the keys of `table` that `what` does not have: they change nothing, which the writer should know."""
    names = list(known)
    return [
        Finding((*at, key), f"{what} has no key {_cut(key)!r}, so it is ignored{_hint(key, names)}", "warning", "key")
        for key in table
        if key not in names
    ]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _hint(word: str, names: list[str]) -> str:
    return did_you_mean(word, names) or f" (it has {', '.join(names)})"


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
