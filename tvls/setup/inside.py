"""What is inside of the values of a setup. Names of fields, items and arguments are names, a `kind` among them too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tvls.setup.keys import Key


def parts_of(value: Any) -> Iterator[tuple[Key, Any]]:
    """The values directly inside of one, each with its place in it."""
    match value:
        case {"kind": "tensor" | "enum" | "none" | "ask"}:
            pass
        case {"kind": "tuple" | "dict", "items": items}:
            yield from _named(items, "items")
        case {"kind": "object", "class": _}:
            yield from _named(cast("dict[str, Any]", value).get("fields"), "fields")
        case _:
            yield from _named(value)


def walk(value: Any, at: Key) -> Iterator[tuple[Key, Any]]:
    """A value and all that is inside of it, each with its place."""
    yield at, value
    for part, inner in parts_of(value):
        yield from walk(inner, (*at, *part))


def arguments_in(table: dict[str, Any]) -> Iterator[tuple[Key, Any]]:
    """The arguments in a profile's table, those of factories included, whatever else is wrong with it."""
    for part in ("init", "inputs"):
        call: Any = table.get(part)
        if not isinstance(call, dict):
            continue
        yield from _named(cast("dict[str, Any]", call).get("args"), part, "args")
        yield from _named(cast("dict[str, Any]", call).get("kwargs"), part, "kwargs")
        factory: Any = cast("dict[str, Any]", call).get("factory")
        if isinstance(factory, dict):
            yield from _named(cast("dict[str, Any]", factory).get("kwargs"), part, "factory", "kwargs")


def _named(items: Any, *at: str) -> Iterator[tuple[Key, Any]]:
    if isinstance(items, list):
        yield from (((*at, index), item) for index, item in enumerate(cast("list[Any]", items)))
    elif isinstance(items, dict):
        yield from (((*at, name), item) for name, item in cast("dict[str, Any]", items).items())
