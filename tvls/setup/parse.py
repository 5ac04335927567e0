"""TOML text to values, within bounds that everything behind it can work with."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final, cast

from tvls.setup.keys import show_key
from tvls.setup.positions import Lines, Span, find_duplicate, find_endless_key
from tvls.setup.toml import nodes, read_document

MOST_DEPTH: Final = 100
"""Of lists and tables in each other."""
_MAX_LENGTH: Final = 4_000_000
_MOST_BITS: Final = 4096
"""Of an integer; TOML promises 64. What is longer takes the square of its length to print."""
_LONG_NUMBER: Final = 200
_START: Final = Span(0, 0, 0, 0)
_DEEP: Final = "nested too deeply"
_ENDLESS: Final = "a number has too many digits"
_TWICE: Final = re.compile(r"Cannot (overwrite|declare|mutate)|Duplicate")
_AT: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class BoundsError(ValueError):
    """A value that no setup has: nested too deeply, or with an endless number in it."""


class TomlError(Exception):
    """Text that is no TOML, or outside of the bounds. `message` says so without the place."""

    def __init__(self, message: str, span: Span, shown: str | None = None) -> None:
        super().__init__(shown or message)
        self.message = message
        self.span = span


def parse_toml(text: str) -> dict[str, Any]:
    """The document's values. `text` has no byte-order mark. Raises TomlError."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        span = _span_at(text, text.count("\n", 0, error.start), error.start - text.rfind("\n", 0, error.start) - 1)
        raise TomlError("half of a surrogate pair is no character", span) from error
    if len(text) > _MAX_LENGTH:
        raise TomlError(f"longer than the {_MAX_LENGTH:,} characters that a setup may have", _START)
    if (span := find_endless_key(text)) is not None:
        raise TomlError("this key has too many parts", span)
    try:
        data = tomllib.loads(text)
        check_bounds(data)
    except tomllib.TOMLDecodeError as error:
        raise _explained(text, error) from error
    except RecursionError as error:
        raise TomlError(_DEEP, _START) from error
    except BoundsError as error:
        raise TomlError(str(error), _long_number(text) if str(error) == _ENDLESS else _START) from error
    except ValueError as error:  # tomllib's own, for more digits than Python reads
        raise TomlError(_ENDLESS, _long_number(text)) from error
    return data


def check_bounds(value: Any) -> None:
    """Raises BoundsError. Works on values that are nested as deeply as memory holds."""
    level: list[Any] = [value]
    for _ in range(MOST_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += cast("dict[str, Any]", item).values()
            elif isinstance(item, list):
                below += cast("list[Any]", item)
            elif isinstance(item, int) and item.bit_length() > _MOST_BITS:
                raise BoundsError(_ENDLESS)
        if not below:
            return
        level = below
    raise BoundsError(_DEEP)


def _explained(text: str, error: tomllib.TOMLDecodeError) -> TomlError:
    message = str(error)
    if _TWICE.match(message) and (found := find_duplicate(text)) is not None:
        key, first, second = found
        return TomlError(
            f"not valid TOML: {show_key(key)} is given twice; first on line {first.line + 1}", second, message
        )
    where = _AT.search(message)
    if where and where[1]:
        span = _span_at(text, int(where[1]) - 1, int(where[2]) - 1)
    else:
        span = _span_at(text, text.count("\n"), len(text))
    return TomlError(f"not valid TOML: {_AT.sub('', message)}", span, message)


def _span_at(text: str, line: int, column: int) -> Span:
    """The character at a 0-based line and column in code points; nothing past the end of the line."""
    content = text.split("\n")[line].removesuffix("\r")
    before, here = content[:column].encode("utf-8", "replace"), content[column : column + 1].encode("utf-8", "replace")
    return Span(line, len(before), line, len(before) + len(here))


def _long_number(text: str) -> Span:
    for node in nodes(read_document(text)):
        if node.value is not None and node.value.kind == "bare" and len(node.value.text) > _LONG_NUMBER:
            return Lines(text).span(node.value.start, node.value.end)
    return _START
