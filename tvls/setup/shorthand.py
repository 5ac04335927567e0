"""Values as they are typed on a command line: `float32[2,3]`, `true`, `"text"`, `key<fry>[]`."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from tvls.setup.dtypes import resolve_dtype
from tvls.setup.findings import Finding, is_error
from tvls.setup.keys import show_key
from tvls.setup.parse import TomlError, parse_toml
from tvls.setup.placeholders import UNKNOWN, names_in
from tvls.setup.values import check_value

_ARRAY: Final = re.compile(r"([A-Za-z_][\w.]*(?:\s*<[^<>\[\]]*>)?)\s*\[(.*)\]", re.DOTALL)
_INSIDE: Final = re.compile(r""""(?:\\.|[^"\\])*"|'[^']*'|([A-Za-z_][\w.]*(?:<[^<>\[\]]*>)?)\[([^\[\]]*)\]""")
"""Strings in TOML, and arrays between them."""
WORD: Final = re.compile(r"[\w./:-]+")
_DIMENSION: Final = re.compile(r"[0-9]+(?:_[0-9]+)*")
_PYTHON: Final[dict[str, Any]] = {"True": True, "False": False, "None": {"kind": "none"}}


class TextError(ValueError):
    """Text that is no value: what is wrong with it, and what would be right."""

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step


def parse_value(source: str, *, for_form: bool = False) -> Any:
    """A value in canonical form. For a form it stays as written, and `float32[batch, ?]` is a value.

    Raises TextError.
    """
    source = source.strip()
    if not source:
        raise TextError("there is no value", "Write it as NAME=VALUE, such as x=float32[2,3].")
    if source in _PYTHON:
        return _PYTHON[source]
    if (array := _ARRAY.fullmatch(source)) is not None:
        return _parse_array(array[1], array[2], for_form)
    return _parse_toml(source, for_form)


def parse_shape(text: str, *, open_dimensions: bool = False) -> list[int | str]:
    """The dimensions `2, 3`. With `open_dimensions`, names and `?` are placeholders. Raises TextError."""
    parts = [part.strip() for part in text.split(",")]
    if parts[-1] == "":
        parts.pop()  # `float32[]` is a scalar, `float32[2,]` is as Python writes it
    dims: list[int | str] = []
    for part in parts:
        if _DIMENSION.fullmatch(part):
            dims.append(int(part))
        elif open_dimensions and (part == UNKNOWN or names_in(f"{UNKNOWN}{part}")):
            dims.append(part if part == UNKNOWN else f"{UNKNOWN}{part}")
        else:
            raise TextError(
                f"{part!r} is no dimension" if part else "a dimension is left out",
                "State every dimension as a whole number, such as float32[2,3]; none is guessed.",
            )
    return dims


def _parse_array(dtype_text: str, dims_text: str, for_form: bool) -> dict[str, Any]:
    dtype, shape = _dtype_and_shape(dtype_text, dims_text, for_form)
    return _checked({"kind": "tensor", "shape": shape, "dtype": dtype}, for_form)


def _dtype_and_shape(dtype_text: str, dims_text: str, for_form: bool) -> tuple[str, list[int | str]]:
    try:
        dtype = resolve_dtype(dtype_text)
    except ValueError as error:
        raise TextError(str(error), "An array is written as DTYPE[DIM,DIM], such as float32[2,3].") from error
    return dtype.name, parse_shape(dims_text, open_dimensions=for_form)


def _parse_toml(source: str, for_form: bool) -> Any:
    try:
        document = parse_toml(f"value = {_with_tables(source, for_form)}")
    except TomlError as error:
        hint = _hint(source)
        if for_form:  # where the message alone is shown
            text = f'text is written in quotes, "{source}"' if WORD.fullmatch(source) else ""
            array = hint if hint.startswith("An array needs") else ""
            told = array[:1].lower() + array[1:-1] or text
            raise TextError(f"{source!r} is not a value{told and '; '}{told}", hint) from error
        raise TextError(f"{source!r} is not a value", hint) from error
    if list(document) != ["value"]:
        raise TextError(f"{source!r} is more than one value", "Give one option for each argument.")
    return _checked(document["value"], for_form)


def _with_tables(source: str, for_form: bool) -> str:
    """`[float32[2], 3]` with tables in the place of its arrays. Raises TextError."""

    def table(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        dtype, shape = _dtype_and_shape(found[1], found[2], for_form)
        return f"{{ kind = 'tensor', shape = {json.dumps(shape, ensure_ascii=False)}, dtype = '{dtype}' }}"

    return _INSIDE.sub(table, source) if source[0] in "[{" else source


def _hint(source: str) -> str:
    try:
        return f"An array needs its dimensions: {resolve_dtype(source).name}[2,3], or {source}[] for a scalar."
    except ValueError:
        pass
    if source.startswith("("):
        return f"A tuple is written as a list: [{source[1:].removesuffix(')').removesuffix(',')}]."
    if WORD.fullmatch(source):
        return f"A string needs quotes, which the shell must not take away: 'NAME=\"{source}\"'."
    return 'Write an array as float32[2,3], anything else as in TOML: 3, true, "text", [1, float32[2]], { a = 1 }.'


def _checked(value: Any, for_form: bool) -> Any:
    found: list[Finding] = []
    checked = check_value(value, (), found)
    if is_error(found):
        finding = next(finding for finding in found if finding.severity == "error")
        where = f" at {show_key(finding.key)}" if finding.key else ""
        raise TextError(f"{finding.message}{where}", "Correct it and try again.")
    return value if for_form else checked
