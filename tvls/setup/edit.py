"""Changes of profiles in the text of `tensorviz.toml`, in place: comments, order, quoting and unknown keys stay."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from typing import Any, Final, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, InlineTable, Item

from tvls.setup.disk import BOM
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
        before = tomllib.loads(body)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise EditError(f"the file is not valid TOML: {error}") from error
    profiles: Any = before.get("profiles", {})
    if not isinstance(profiles, dict):
        raise EditError("profiles is no table in it")
    wanted = deepcopy(before)
    if not any(key != "version" for key in before):
        wanted["version"] = before.get("version", VERSION)
    wanted.setdefault("profiles", {})[name] = table
    known = cast("dict[str, Any]", profiles)
    if name not in known:
        ways = [_appended(body, name, table), _replaced(body, name, table)]
    else:
        # What tomlkit cannot change inside of a key's value is written anew as a whole.
        ways = [_replaced(body, name, table), _replaced(body, name, table, anew=True)]
    for edited in ways:
        if edited is not None and _reads_as(edited, wanted):
            return mark + edited
    raise EditError(f"the profile {name!r} is written in a way that cannot be changed in place")


def _reads_as(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return same(tomllib.loads(text), wanted)
    except tomllib.TOMLDecodeError:
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
        below.append("")
        below.append(f"[{header}]")
        below.append(render_profile(cast("dict[str, Any]", value), header).rstrip("\n"))
    return "\n".join([*lines, *below]) + "\n"


def _tall(value: Any) -> str:
    if not isinstance(value, list):
        return inline(value)
    items = "".join(f"  {inline(item)},\n" for item in cast("list[Any]", value))
    return f"[\n{items}]"


def _appended(body: str, name: str, table: dict[str, Any]) -> str:
    newline = "\r\n" if _is_crlf(body) else "\n"
    header = f"profiles.{bare(name)}"
    text = f"[{header}]\n{render_profile(table, header)}"
    try:
        empty = not tomllib.loads(body)
    except tomllib.TOMLDecodeError:
        empty = False
    if empty:
        text = f"version = {VERSION}\n\n{text}"
    gap = "" if not body else "\n" if body.endswith("\n") else "\n\n"
    return body + (gap + text).replace("\n", newline)


def _is_crlf(text: str) -> bool:
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


# --- a profile that is there -----------------------------------------------------------------------------------------


def _replaced(body: str, name: str, table: dict[str, Any], *, anew: bool = False) -> str | None:
    try:
        document = tomlkit.parse(body)
        profiles: Any = document["profiles"] if "profiles" in document else document.setdefault("profiles", {})
        if name in profiles and isinstance(profiles[name], dict):
            if anew:
                _drop_changed(profiles[name], table)
            _update(profiles[name], table)
        else:
            profiles[name] = _item(table, profiles)
        text = tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None  # its caller says so
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if _is_crlf(body) else text


def _drop_changed(container: Any, wanted: dict[str, Any]) -> None:
    for key in list(container):
        if key not in wanted or not same(_plain(container[key]), wanted[key]):
            del container[key]


def _update(container: Any, wanted: dict[str, Any]) -> None:
    """Changes only what differs. `container` is a table, an inline table, or what tomlkit puts in place of them."""
    for key in [key for key in container if key not in wanted]:
        del container[key]
    for key, value in wanted.items():
        if key not in container:
            container[key] = _item(value, container)
            continue
        now = container[key]
        if same(_plain(now), value):
            continue
        if isinstance(now, dict) and isinstance(value, dict):
            _update(now, cast("dict[str, Any]", value))
        elif isinstance(now, Array | AoT) and isinstance(value, list):
            _update_list(now, cast("list[Any]", value))
        else:
            container[key] = _item(value, container)


def _update_list(now: Any, wanted: list[Any]) -> None:
    while len(now) > len(wanted):
        del now[len(now) - 1]
    for index, value in enumerate(wanted):
        if index >= len(now):
            now.append(_item(value, now))
            continue
        item = now[index]
        if same(_plain(item), value):
            continue
        if isinstance(item, dict) and isinstance(value, dict):
            _update(item, cast("dict[str, Any]", value))
        elif isinstance(item, Array) and isinstance(value, list):
            _update_list(item, cast("list[Any]", value))
        else:
            now[index] = _item(value, now)


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value


def _item(value: Any, container: Any) -> Item:
    """A new value for the container, in one line; a table where only tables can be."""
    if isinstance(container, AoT):
        if not isinstance(value, dict):
            raise TypeError("an array of tables has tables alone")
        table = tomlkit.table()
        for key, part in cast("dict[str, Any]", value).items():
            table.append(key, _item(part, table))
        return table
    end = "" if isinstance(container, InlineTable | Array) else "\n"
    made: Any = tomlkit.parse(f"value = {inline(value)}{end}")["value"]
    return made
