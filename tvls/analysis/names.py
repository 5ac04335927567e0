"""File names on their way between processes and to people.

A name that is not valid in the file system's encoding has lone surrogates in Python, which no message can hold.
"""

from __future__ import annotations

import re

from tvls.printable import written_out

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile("\0([0-9a-f]{4})")


def to_wire(name: str) -> str:
    """A path as text without surrogates; `from_wire` gives it back. No path has a NUL, which marks what is replaced."""
    return name if name.isascii() else _SURROGATE.sub(lambda found: f"\0{ord(found[0]):04x}", name)


def from_wire(name: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), name) if "\0" in name else name


def as_text(name: str) -> str:
    """A name with what no encoding holds written as `\\udcff`."""
    return _SURROGATE.sub(written_out, name)
