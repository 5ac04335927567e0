"""Changes of profiles in the text of `tensorviz.toml`, in place: comments, order, quoting and unknown keys stay."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final, cast

from tvls.setup.disk import BOM
from tvls.setup.parse import TomlError, parse_toml
from tvls.setup.read import VERSION
from tvls.setup.texts import bare, inline

_WIDTH: Final = 100


class EditError(Exception):
    """The text cannot be edited as it is; the message says why."""


def edit_profile(text: str, name: str, table: dict[str, Any]) -> str:
    """The text in which the profile `name` has the values of `table`, and all else is as it was.

    Raises EditError for text that is no TOML, and for one in which the profile cannot be written.
    """
    mark, body = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    try:
        before = parse_toml(body)
    except TomlError as error:
        raise EditError(f"the file is not valid TOML: {error}") from error
    profiles: Any = before.get("profiles", {})
    if not isinstance(profiles, dict):
        raise EditError("profiles is no table in it")
    known = cast("dict[str, Any]", profiles)
    wanted = {**before, "profiles": {**known, name: table}}
    if not any(key != "version" for key in before):
        wanted["version"] = before.get("version", VERSION)
    for edited in _ways(body, name, table, is_new=name not in known):
        if edited is not None and _reads_as(edited, wanted):
            return mark + edited
    raise EditError(f"the profile {name!r} is written in a way that cannot be changed in place")


def _ways(body: str, name: str, table: dict[str, Any], *, is_new: bool) -> Iterator[str | None]:
    """Texts that may say what is wanted, the closest to the old one first."""
    from tvls.setup.inplace import replaced  # only an edit needs tomlkit: not at the start of the server

    if is_new:
        yield _appended(body, name, table)
        yield replaced(body, name, table)
        return
    # tomlkit takes ten times as long as tomllib: it gets the lines of the profile alone, where those are together.
    start, end = section_of(body, name) or (0, len(body))
    for first, last in dict.fromkeys([(start, end), (0, len(body))]):
        for anew in (False, True):  # what tomlkit cannot change inside of a key's value is written anew as a whole
            edited = replaced(body[first:last], name, table, anew=anew)
            yield None if edited is None else body[:first] + edited + body[last:]


_HEADER: Final = re.compile(r"^[ \t]*\[[^\n]*", re.MULTILINE)


def section_of(body: str, name: str) -> tuple[int, int] | None:
    """The lines under the headers of a profile, by their look; None where others stand among them, or there are none.

    A line of a longer value may look like a header.
    """
    headers = [(found.start(), _is_of(found[0], name)) for found in _HEADER.finditer(body)]
    mine = [index for index, (_, is_mine) in enumerate(headers) if is_mine]
    if not mine or mine[-1] - mine[0] != len(mine) - 1:
        return None
    end = headers[mine[-1] + 1][0] if mine[-1] + 1 < len(headers) else len(body)
    return headers[mine[0]][0], end


def _is_of(header: str, name: str) -> bool:
    if name not in header and inline(name)[1:-1] not in header:
        return False
    try:
        profiles: Any = tomllib.loads(header).get("profiles")
    except tomllib.TOMLDecodeError:
        return False
    return isinstance(profiles, dict) and name in profiles


def _reads_as(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return same(parse_toml(text), wanted)
    except TomlError:
        return False


def same(one: Any, other: Any) -> bool:
    """Equal values of equal types: TOML tells `1`, `1.0` and `true` apart."""
    if not isinstance(one, dict | list):
        return type(one) is type(other) and bool(one == other)
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(one, list) and isinstance(other, list):
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(map(same, items, others))
    return False


# --- a new profile ---------------------------------------------------------------------------------------------------


def render_profile(table: dict[str, Any], at: str = "") -> str:
    """The keys of a profile as text, one a line; `at` is the header that they stand under, for tables below it."""
    lines: list[str] = []
    below: list[str] = []
    for key, value in table.items():
        line = f"{bare(key)} = {inline(value)}"
        if len(line) <= _WIDTH or not isinstance(value, dict):
            lines.append(line if len(line) <= _WIDTH else f"{bare(key)} = {_tall(value)}")
            continue
        header = f"{at}.{bare(key)}" if at else bare(key)
        inner = render_profile(cast("dict[str, Any]", value), header).rstrip("\n")
        if not inner.startswith("\n"):  # it has keys of its own
            below += ["", f"[{header}]"]
        below.append(inner)
    return "\n".join([*lines, *below]) + "\n"


def _tall(value: Any) -> str:
    if not isinstance(value, list):
        return inline(value)
    items = "".join(f"  {inline(item)},\n" for item in cast("list[Any]", value))
    return f"[\n{items}]"


def _appended(body: str, name: str, table: dict[str, Any]) -> str:
    newline = "\r\n" if is_crlf(body) else "\n"
    header = f"profiles.{bare(name)}"
    text = f"[{header}]\n{render_profile(table, header)}"
    try:
        empty = not parse_toml(body)
    except TomlError:
        empty = False
    if empty:
        text = f"version = {VERSION}\n\n{text}"
    gap = "" if not body else "\n" if body.endswith("\n") else "\n\n"
    return body + (gap + text).replace("\n", newline)


def is_crlf(text: str) -> bool:
    return "\r\n" in text and text.count("\r\n") == text.count("\n")
