"""What a key or value of a setup file means."""

from __future__ import annotations

import msgspec

from tvls.analysis.types import Enumeration, Record
from tvls.setup.keys import Key
from tvls.setup.language import describe
from tvls.setup.language.cursor import Around, Cursor
from tvls.setup.language.tables import (
    Workspace,
    fact_at,
    factory_file,
    factory_function,
    is_value,
    parameter_at,
    target_of,
)
from tvls.setup.schema import VALUE_TABLES, generator_table


class HoverText(msgspec.Struct, frozen=True):
    markdown: str
    start: int
    end: int
    """Offsets of what it is about."""


def hover(around: Around, offset: int, workspace: Workspace) -> HoverText | None:
    """None where there is nothing to say."""
    cursor = around.at(offset)
    if cursor is None:
        return None
    if cursor.place == "value":
        text = _value(around, cursor.path, workspace)
    elif cursor.part is not None:
        text = _key(around, (*cursor.path, cursor.part.name), workspace)
    else:
        text = None
    return None if text is None else HoverText(text, *_range(cursor))


def _range(cursor: Cursor) -> tuple[int, int]:
    """A string with its quotation marks."""
    if cursor.value is not None:
        return cursor.value.start, cursor.value.end
    return cursor.start, cursor.end


def _key(around: Around, path: Key, workspace: Workspace) -> str | None:
    fact = fact_at(around, path)
    if fact is not None:
        return describe.key(str(path[-1]), fact)
    if len(path) == 2 and path[0] == "profiles":
        target = target_of(around, path, workspace)
        about = describe.target(target) if target is not None else around.string((*path, "model"))
        return f"The profile **{path[1]}**" + (f" of\n\n{about}" if about else "")
    return _argument(around, path, workspace)


def _class(around: Around, path: Key, name: str, workspace: Workspace) -> str | None:
    """A class of the workspace, with what it is made of."""
    target = target_of(around, path, workspace)
    match target.types.get(name) if target is not None else None:
        case Record(parameters=taken):
            text = f"class {name.partition(':')[2]}({describe.parameters(taken)})"
        case Enumeration(members=members):
            text = f"class {name.partition(':')[2]}(Enum): {', '.join(members)}"
        case _:
            return None
    return f"```python\n{text}\n```\nin `{name.partition(':')[0]}`"


def _argument(around: Around, path: Key, workspace: Workspace) -> str | None:
    found = parameter_at(around, path, workspace)
    if found is None:
        return None
    parameter, arguments = found
    needed = "required" if parameter.default is None else "may be left out"
    return f"```python\n{describe.parameter(parameter)}\n```\nFor {arguments.what}; {needed}."


def _value(around: Around, path: Key, workspace: Workspace) -> str | None:
    fact = fact_at(around, path)
    if fact is None:
        return _argument(around, path, workspace)
    text = around.string(path)
    more: str | None = None
    match path[-1]:
        case "model":
            target = target_of(around, path, workspace)
            more = describe.target(target) if target is not None else None
        case "dtype":
            more = describe.dtype(text or "")
        case "file":
            file = factory_file(around, path, workspace)
            names = ", ".join(f"`{item.name}`" for item in file.definitions[:30]) if file is not None else ""
            more = f"`{text}` defines {names}" if names else None
        case "callable":
            function = factory_function(around, path, workspace)
            more = describe.function(function) if function is not None else None
        case "class" if (found := _class(around, path, text or "", workspace)) is not None:
            more = found
        case "kind" if path[-2] == "generator":
            table = generator_table(text)
            given = "\n".join(f"- `{name}`: {item.help}" for name, item in table.keys.items() if name != "kind")
            more = f"**`{text}`**: {table.help}\n\n{given}".strip() if table.help else None
        case _:
            value = around.values.get(path)
            written = f'"{text}"' if text is not None else (value.text if value is not None else "")
            table = VALUE_TABLES.get(text or "") if path[-1] == "kind" else None
            meaning = fact.values.get(written) or (table.help if table is not None and is_value(path[:-1]) else None)
            more = f"`{written}`: {meaning}" if meaning else None
    return more or describe.key(str(path[-1]), fact)
