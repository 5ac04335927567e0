"""Changes of single places in a profile's table."""

from __future__ import annotations

from typing import Any, Final, cast

from tvls.setup.keys import Key, show_key
from tvls.setup.placeholders import ask, is_ask

_TENSOR_KEYS: Final = frozenset({"shape", "dtype", "requires_grad", "generator"})
_LONGEST_LIST: Final = 1000
_OF_NAMES: Final = {"fields": "object", "items": "dict"}
"""Keys under which a value has others by their names, and the value's kind."""


def set_value(table: dict[str, Any], key: Key, value: Any) -> None:
    """Puts `value` at a place of the profile; what leads there is made, gaps in lists become placeholders.

    Raises ValueError where the place cannot be: an element of a number, a position far behind the end of a list.
    """
    _replace(table, (), key, value)


def remove_value(table: dict[str, Any], key: Key) -> None:
    """Takes back what is at a place. Within a list a placeholder takes its place, so that nothing moves."""
    container: Any = table
    for part in key[:-1]:
        container = _item(container, part)
        if container is None:
            return
    last = key[-1]
    match container:
        case dict():
            cast("dict[Any, Any]", container).pop(last, None)
        case list() if isinstance(last, int):
            items = cast("list[Any]", container)
            if last == len(items) - 1:
                items.pop()
            elif last < len(items):
                items[last] = ask()
        case _:
            pass


def _item(container: Any, part: str | int) -> Any:
    if isinstance(container, dict):
        return cast("dict[Any, Any]", container).get(part)
    if isinstance(container, list) and isinstance(part, int):
        items = cast("list[Any]", container)
        return items[part] if part < len(items) else None
    return None


def _replace(container: Any, at: Key, rest: Key, value: Any, *, of_names: bool = False) -> Any:
    """`container` with `value` at `rest`; a new container where there was none. `of_names`: a `kind` in it is one."""
    if not rest:
        return value
    part = rest[0]
    if container is None or (is_ask(container) and not of_names):
        if isinstance(part, int):
            container = []
        else:
            # Below `inputs.args[0]`, and no parameter or field of that name.
            tensor = part in _TENSOR_KEYS and len(at) > 2 and not of_names
            container = {"kind": "tensor"} if tensor else {}
    if isinstance(container, dict) and isinstance(part, str):
        table = cast("dict[str, Any]", container)
        if part in {"args", "kwargs"} and len(at) == 1:
            table.pop("factory", None)  # arguments take the place of the factory that made them
        elif part == "factory" and len(at) == 1:
            table.pop("args", None)
            table.pop("kwargs", None)
        names = table.get("kind") == _OF_NAMES.get(part, ...) or (part == "kwargs" and len(at) == 1)
        table[part] = _replace(table.get(part), (*at, part), rest[1:], value, of_names=names)
        return table
    if isinstance(container, list) and isinstance(part, int):
        items = cast("list[Any]", container)
        if part > len(items) + _LONGEST_LIST:
            raise ValueError(f"{show_key((*at, part))} is far behind the end of the list, which has {len(items)} items")
        while len(items) <= part:
            items.append(ask())
        items[part] = _replace(items[part], (*at, part), rest[1:], value)
        return items
    raise ValueError(f"{show_key(at) or 'the profile'} has no {part!r}")
