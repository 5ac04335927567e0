"""Changes inside of a profile that is there, with tomlkit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, InlineTable, Item

from tvls.setup.edit import is_crlf, same
from tvls.setup.texts import inline


def replaced(body: str, name: str, table: dict[str, Any], *, anew: bool = False) -> str | None:
    """The text with the profile as `table` has it; None where tomlkit cannot. Not checked.

    `anew`: keys of the profile whose values differ are written again as a whole.
    """
    try:
        document = tomlkit.parse(body)
        profiles: Any = document["profiles"] if "profiles" in document else document.setdefault("profiles", {})
        if name in profiles and isinstance(profiles[name], dict):
            if anew:
                _drop_changed(profiles[name], table)
            _update(profiles[name], table)
        else:
            profiles[name] = _item(table, profiles)
        text = _with_comments(body, tomlkit.dumps(document))
    except (TOMLKitError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None  # its caller says so
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if is_crlf(body) else text


def _with_comments(before: str, after: str) -> str:
    """Comments above a header go with it; to tomlkit they are the end of the table before, and leave with that one."""
    lost = Counter(_comments(before))
    lost.subtract(_comments(after))
    if not any(count > 0 for count in lost.values()):
        return after
    above: dict[str, list[str]] = {}
    for gap, line in _gaps(before):
        above[line.strip()] = [] if line.strip() in above else gap
    text = ""
    for gap, line in _gaps(after):
        wanted = above.get(line.strip(), []) if not line or line.lstrip().startswith("[") else []
        if any(lost[kept.strip()] > 0 for kept in wanted if kept.strip()):
            end = "\n" if text and not text.endswith("\n") else ""
            gap = [end, *(kept for kept in gap if kept.strip() and kept not in wanted), *wanted]
        text += "".join(gap) + line
    return text


def _gaps(text: str) -> Iterator[tuple[list[str], str]]:
    """Every line that says something, with the comments and empty lines above it; the last is an empty one."""
    gap: list[str] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if not line.strip() or line.lstrip().startswith("#"):
            gap.append(line)
        else:
            yield gap, line
            gap = []
    yield gap, ""


def _comments(text: str) -> list[str]:
    return [line.strip() for gap, _ in _gaps(text) for line in gap if line.strip()]


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
