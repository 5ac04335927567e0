"""Places in a setup, such as `profiles.net.inputs.args[0].shape[1]`."""

from __future__ import annotations

import json
import re
from typing import Final

Key = tuple[str | int, ...]

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def show_key(key: Key) -> str:
    """`key` as a person would write it in TOML: dots between names, brackets around positions in a list.

    A name that is not a bare key is quoted, so that two different places never look alike.
    """
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False)
            text += f".{name}" if text else name
    return text


_MOST_PARTS: Final = 100
_PART: Final = re.compile(r"""\[(\d+)\]|(?:^|\.)(?:([A-Za-z0-9_-]+)|("(?:[^"\\]|\\.)*"))""")


def parse_key(text: str) -> Key:
    """The place that `show_key` wrote. Raises ValueError where the text is none."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        if len(parts) == _MOST_PARTS:
            raise ValueError(f"a key of a setup has up to {_MOST_PARTS} parts")
        match = _PART.match(text, at)
        if match is None or match.end() == at:
            raise ValueError(f"{text[:100]!r} is no key of a setup, such as inputs.args[0].shape")
        index, bare, quoted = match.groups()
        name = bare if bare is not None else str(json.loads(quoted or '""'))
        if not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name):
            raise ValueError("half of a surrogate pair is no character")
        parts.append(int(index) if index is not None else name)
        at = match.end()
    return tuple(parts)
