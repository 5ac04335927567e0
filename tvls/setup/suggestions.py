"""Values that something else states for the fields of a form: other profiles, and comments about shapes.

They are offered, never filled in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from tvls.protocol.types_setup import SetupSuggestion
from tvls.setup.draft import Slot, all_slots, name_dimensions, value_at
from tvls.setup.keys import show_key
from tvls.setup.placeholders import UNKNOWN, is_ask, is_open, is_open_shape
from tvls.setup.required import TargetLike
from tvls.setup.texts import show_shape, show_value

_MOST: Final = 5
"""Suggestions of one field."""


class SourceText(msgspec.Struct, frozen=True):
    """Where a target is written: lines of the file that belong to it, the first of them being line `first`, 1-based."""

    name: str
    """Of the file, to show."""
    lines: Sequence[str]
    first: int


def suggestions_for(
    target: TargetLike, table: dict[str, Any], name: str, profiles: Mapping[str, Any], source: SourceText | None
) -> dict[str, list[SetupSuggestion]]:
    """By key of the form. `table` is the profile that is edited, `profiles` are the tables of all that are saved."""
    found: dict[str, list[SetupSuggestion]] = {}

    def add(key: str, value: Any, text: str, origin: str) -> None:
        known = found.setdefault(key, [])
        if len(known) < _MOST and all(other.text != text for other in known):
            known.append(SetupSuggestion(value=value, text=text, source=origin))

    named = {slot.parameter.name: slot for slot in all_slots(target, table) if _is_argument(slot)}
    model = f"{target.module}:{target.name}"
    saved = [
        (other, cast("dict[str, Any]", t)) for other, t in profiles.items() if other != name and isinstance(t, dict)
    ]
    for other, profile in sorted(saved, key=lambda item: item[1].get("model") != model):
        same_model = profile.get("model") == model
        origin = f"profile {other}"
        for parameter, value in _arguments(target if same_model else None, profile):
            slot = named.get(parameter)
            if slot is None or is_ask(value):
                continue
            key = show_key(slot.key)
            tensor = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
            if tensor.get("kind") == "tensor":
                shape, dtype = _dims(tensor.get("shape")), tensor.get("dtype")
                is_tensor = slot.hint.type == "tensor"
                if shape is not None:
                    if is_tensor:
                        add(f"{key}.shape", shape, show_shape(shape), origin)
                    elif isinstance(dtype, str):
                        plain = {"kind": "tensor", "shape": shape, "dtype": dtype}
                        add(key, plain, show_value(plain), origin)
                if is_tensor and isinstance(dtype, str) and not is_open(dtype):
                    add(f"{key}.dtype", dtype, dtype, origin)
            elif same_model:
                add(key, value, value if isinstance(value, str) else show_value(value), origin)
        if same_model:
            for dimension, number in name_dimensions(target, profile)[1].items():
                add(show_key(("dimensions", dimension)), number, str(number), origin)
    if source is not None:
        tensors = [parameter for parameter, slot in named.items() if slot.key[0] == "inputs"]
        for parameter, shape, line in shapes_in_comments(source, tensors):
            slot = named[parameter]
            origin = f"{source.name}:{line}"
            if slot.hint.type == "tensor":
                add(f"{show_key(slot.key)}.shape", shape, show_shape(shape), origin)
    return found


def _is_argument(slot: Slot) -> bool:
    """Not a field of an object."""
    return len(slot.key) == 3


def _dims(shape: Any) -> list[Any] | None:
    """The shape, where it is one without placeholders."""
    return cast("list[Any]", shape) if isinstance(shape, list) and not is_open_shape(shape) else None


def _arguments(target: TargetLike | None, profile: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Arguments of a saved profile with the names of their parameters, as far as those can be told."""
    if target is not None:
        for slot in all_slots(target, profile):
            if slot.given and _is_argument(slot):
                yield slot.parameter.name, value_at(profile, slot.key)
        return
    for part in ("inputs", "init"):
        kwargs = value_at(profile, (part, "kwargs"))
        if isinstance(kwargs, dict):
            yield from cast("dict[str, Any]", kwargs).items()


# --- comments --------------------------------------------------------------------------------------------------------

_DIMENSION: Final = r"[A-Za-z_0-9][\w*+/ -]*"
_SHAPE: Final = rf"[\[(]\s*({_DIMENSION}(?:\s*,\s*{_DIMENSION})*\s*,?)\s*[\])]"
_ALONE: Final = re.compile(rf"\s*(?:shape\s*:?\s*)?{_SHAPE}\s*(?:float\w*|int\w*|bool)?\.?\s*", re.IGNORECASE)


def shapes_in_comments(source: SourceText, parameters: Iterable[str]) -> Iterator[tuple[str, list[int | str], int]]:
    """Parameter, shape and line for each comment or sentence that states the shape of a parameter.

    `x: jax.Array,  # [batch, time, dim]` beside a parameter or on the first line that uses it; `x: [batch, dim]`,
    `x: inputs of shape (batch, dim)` in a comment or a documentation string; `batch, dim = x.shape` in the program.
    """
    names = list(parameters)
    used: set[str] = set()
    for offset, line in enumerate(source.lines):
        code, hash_sign, comment = _split(line)
        number = source.first + offset
        here = [name for name in names if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code)]
        alone = _ALONE.fullmatch(comment) if hash_sign else None
        # On a line that makes something else of it, the comment is about that.
        makes = re.match(r"\s*\w+\s*(:[^=]*)?=[^=]", code)
        if alone and len(here) == 1 and here[0] not in used and (not makes or _is_parameter(code, here[0])):
            yield here[0], _dimensions(alone[1]), number
        for name in names:
            if not _is_parameter(code, name):
                used |= {name} & set(here)
            stated = re.search(
                rf"(?<![\w.]){re.escape(name)}\b`*\s*(?::|=|is|has|of|with)[^\[(]*{_SHAPE}", comment or code
            )
            if stated and (hash_sign or _is_prose(code)):
                yield name, _dimensions(stated[1]), number
            unpacked = re.match(
                rf"\s*\(?\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*,?\s*\)?\s*=\s*{re.escape(name)}\.shape\s*$", code
            )
            if unpacked:
                yield name, _dimensions(unpacked[1]), number


def _is_parameter(code: str, name: str) -> bool:
    """Whether the line declares the parameter: `x,`, `x: Array = None`, `def f(x):`."""
    return bool(
        re.match(rf"\s*{re.escape(name)}\s*(:[^=]+)?(=.*)?,?\s*$", code) or re.match(r"\s*(async\s+)?def\b", code)
    )


def _is_prose(code: str) -> bool:
    """A line of a documentation string is no Python."""
    try:
        ast.parse(code.strip())
    except (SyntaxError, ValueError):
        return not re.match(r"\s*(async\s+)?(def|class|if|for|while|with|return|@)\b", code)
    return bool(re.match(r"\s*[A-Za-z_]\w*\s*:\s*[\[(]", code))


def _split(line: str) -> tuple[str, bool, str]:
    """Code and comment of a line; a `#` inside of a string counts as one, which matters to nobody here."""
    code, hash_sign, comment = line.partition("#")
    return code, bool(hash_sign), comment


def _dimensions(text: str) -> list[int | str]:
    dims: list[int | str] = []
    for part in text.split(","):
        word = part.strip()
        if word.isdecimal():
            dims.append(int(word))
        elif word.isidentifier():
            dims.append(UNKNOWN if word == "_" else f"{UNKNOWN}{word}")
        elif word:
            dims.append(UNKNOWN)
    return dims
