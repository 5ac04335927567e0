"""What can be written at a place of a setup file."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from tvls.analysis.types import Enumeration, Record
from tvls.setup.annotations import hint_of
from tvls.setup.keys import Key
from tvls.setup.kinds import ParameterLike, value_kind
from tvls.setup.language import describe
from tvls.setup.language.cursor import Around, Cursor
from tvls.setup.language.tables import (
    Arguments,
    Workspace,
    arguments_at,
    fact_at,
    factory_file,
    is_value,
    parameter_at,
    table_at,
    target_of,
)
from tvls.setup.objects import Types
from tvls.setup.schema import GENERATORS, TENSOR, TENSOR_SNIPPET, KeyFact
from tvls.setup.texts import inline

ItemKind = Literal["key", "table", "value", "model", "file", "function", "parameter", "snippet"]

_PLACE = re.compile(r"\$(\d)|\$\{\d:([^}]*)\}")
_FACTORY = '{ factory = { file = "$1", callable = "$2" } }'
_PROFILE = """\
[profiles.${1:name}]
kind = "model"
framework = "${2:jax}"
model = "$3"
init = { kwargs = { $4 } }
inputs = { kwargs = { $5 } }"""


class Item(msgspec.Struct, frozen=True):
    label: str
    kind: ItemKind
    snippet: str
    """With `$1`, `${2:default}`, … where the person goes on; `$` and `}` of the text itself are escaped."""
    detail: str = ""
    help: str = ""
    """Markdown."""

    @property
    def plain(self) -> str:
        """The text for an editor without snippets."""
        return re.sub(r"\\([$}\\])", r"\1", _PLACE.sub(lambda found: found[2] or "", self.snippet))


class Completions(msgspec.Struct, frozen=True):
    """Items in the order of their use, and the offsets of what they take the place of."""

    items: list[Item]
    start: int
    end: int


def complete(around: Around, offset: int, workspace: Workspace) -> Completions | None:
    """None where nothing can be written, such as in a comment."""
    cursor = around.at(offset)
    if cursor is None:
        return None
    if cursor.place == "value":
        items = list(_values(around, cursor, workspace))
    else:
        items = list(_keys(around, cursor, workspace))
    return Completions(items, cursor.start, cursor.end)


# --- keys ------------------------------------------------------------------------------------------------------------


def _keys(around: Around, cursor: Cursor, workspace: Workspace) -> Iterator[Item]:
    in_header = cursor.place == "header"
    path = cursor.path
    present = set(around.names(path, cursor.part))
    table = table_at(around, path)
    if table is None and is_value(path) and path[-1] not in {"items", "fields"}:
        table = TENSOR  # what a table without a kind most likely becomes
    for name, fact in table.keys.items() if table is not None else ():
        nested = fact.type.startswith("table")
        if (name in present and not in_header) or (in_header and not nested):
            continue
        text = name if in_header or cursor.assigned else f"{name} = {_start(fact)}"
        yield Item(name, "table" if nested else "key", text, _detail(fact), describe.key(name, fact))
    if path == () and cursor.place == "key" and not cursor.assigned and cursor.part is None:
        yield Item("[profiles.…]", "snippet", _PROFILE, "a new profile")
    if path == ("profiles",):
        for target in workspace.targets:
            name = re.sub(r"[^A-Za-z0-9_-]", "_", target.name).lower()
            if name not in present:
                yield Item(name, "key", name, f"a profile of {target.module}:{target.name}", describe.target(target))
    yield from _argument_names(around, cursor, workspace, present)


def _argument_names(around: Around, cursor: Cursor, workspace: Workspace, present: set[str]) -> Iterator[Item]:
    arguments = arguments_at(around, cursor.path, workspace)
    if arguments is None or cursor.path[-1] not in {"kwargs", "fields"}:
        return
    by_name = cursor.path[-1] == "fields" or cursor.path[-2] == "factory"
    given = 0 if by_name else around.count((*cursor.path[:-1], "args"))
    positional = [p for p in arguments.parameters if p.kind in {"positional_only", "positional_or_keyword"}]
    by_position = {p.name for p in positional[:given]}
    for item in arguments.parameters:
        if item.kind not in {"positional_or_keyword", "keyword_only"} or item.name in present | by_position:
            continue
        value = next(iter(_values_of(item, arguments)), "$1")
        key = item.name if item.name.isascii() else json.dumps(item.name, ensure_ascii=False)
        text = key if cursor.assigned or cursor.place == "header" else f"{key} = {value}"
        yield Item(item.name, "parameter", text, describe.parameter(item), f"For {arguments.what}.")


def _start(fact: KeyFact) -> str:
    """How the value of a key begins."""
    if fact.snippet is not None:
        return fact.snippet
    if fact.closed and len(fact.values) == 1:
        return next(iter(fact.values))
    if fact.type.startswith("string"):
        return '"$1"'
    return f"${{1:{fact.default}}}" if fact.default is not None else "$1"


def _detail(fact: KeyFact) -> str:
    return f"{fact.type}, required" if fact.required else fact.type


# --- values ----------------------------------------------------------------------------------------------------------


def _values(around: Around, cursor: Cursor, workspace: Workspace) -> Iterator[Item]:
    path = cursor.path
    quoted = cursor.value is not None and cursor.value.kind == "string"

    def string(text: str, kind: ItemKind, detail: str = "", more: str = "") -> Item:
        inner = json.dumps(text, ensure_ascii=False)
        return Item(text, kind, _escaped(inner[1:-1] if quoted else inner), detail, more)

    fact = fact_at(around, path)
    if fact is not None:
        yield from _of_key(around, path, fact, quoted, workspace, string)
    found = parameter_at(around, path, workspace)
    if found is not None:
        parameter, arguments = found
        for text in _values_of(parameter, arguments):
            if not quoted:
                yield Item(_label(text), "value", text, describe.parameter(parameter))
            elif text.startswith('"'):
                yield Item(text[1:-1], "value", text[1:-1], describe.parameter(parameter))
    plain = found is not None and value_kind(found[0]) == "value"
    if is_value(path) and fact is None and not quoted and not plain and "factory" not in path[:4]:
        seen = [] if found is None else [_label(text) for text in _values_of(*found)]
        for text, detail in (
            (TENSOR_SNIPPET, "an array"),
            ('{ kind = "tuple", items = [$1] }', "a tuple"),
            ('{ kind = "none" }', "None"),
        ):
            if _label(text) not in seen:
                yield Item(_label(text), "snippet", text, detail)


def _of_key(
    around: Around, path: Key, fact: KeyFact, quoted: bool, workspace: Workspace, string: Any
) -> Iterator[Item]:
    name = path[-1]
    for written, text in fact.values.items():
        if written.startswith('"'):
            yield string(written[1:-1], "value", "default" if written == fact.default else "", text)
        elif not quoted:
            yield Item(written, "value", written, "default" if written == fact.default else "", text)
    match name:
        case "model":
            for target in workspace.targets:
                kind = describe.KINDS[target.kind]
                yield string(f"{target.module}:{target.name}", "model", kind, describe.target(target))
        case "dtype":
            for known in describe.dtype_names():
                yield string(known, "value", "", describe.dtype(known) or "")
        case "file":
            for file in workspace.files():
                yield string(file, "file")
        case "class" | "member":
            for text in _of_class(around, path, workspace):
                yield string(text, "value")
        case "callable":
            file = factory_file(around, path, workspace)
            for item in file.definitions if file is not None else ():
                yield string(item.name, "function", "", describe.function(item))
        case "generator" if not quoted:
            for kind, generator in GENERATORS.items():
                given = "".join(
                    f", {name} = ${{{index}:{'' if item.default is None else item.default}}}"
                    for index, (name, item) in enumerate(generator.parameters.items(), 1)
                )
                yield Item(kind, "snippet", f'{{ kind = "{kind}"{given} }}', "", generator.help)
        case "init" | "inputs" if not quoted and len(path) == 3:
            yield Item("{ kwargs = … }", "snippet", fact.snippet or "{}", "arguments by name")
            yield Item("{ args = […] }", "snippet", "{ args = [$1] }", "arguments by position")
            yield Item("{ factory = … }", "snippet", _FACTORY, "a function that makes them")
        case _:
            if fact.snippet is not None and not fact.values and not quoted:
                yield Item(_label(fact.snippet), "snippet", fact.snippet)


def _of_class(around: Around, path: Key, workspace: Workspace) -> Sequence[str]:
    """What the class of an object or a member can be, or the members that its enumeration has."""
    found = parameter_at(around, path[:-1], workspace)
    target = target_of(around, path, workspace)
    types: Types = target.types if target is not None else {}
    wanted = Enumeration if around.string((*path[:-1], "kind")) == "enum" else Record
    named = hint_of(found[0], types).classes if found is not None else ()
    if path[-1] == "class":
        return [name for name in named or types if isinstance(types.get(name), wanted)]
    of = types.get(around.string((*path[:-1], "class")) or "")
    return of.members if isinstance(of, Enumeration) else ()


def _values_of(parameter: ParameterLike, arguments: Arguments) -> Sequence[str]:
    """Snippets for the value of a parameter, the likeliest first: its default, choices of its type, an array."""
    found: list[str] = []
    hint = hint_of(parameter, arguments.types)
    if hint.type == "object":
        found += [f'{{ kind = "object", class = "{_escaped(name)}", fields = {{ $1 }} }}' for name in hint.classes]
    found += [_escaped(inline(option)) for option in hint.options if isinstance(option, dict)]
    if parameter.default is not None:
        try:
            default = ast.literal_eval(parameter.default)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            default = None
        if (text := _toml(default)) is not None:
            found.append(_escaped(text))
    annotation = parameter.annotation or ""
    if re.fullmatch(r"(typing\.)?(Optional\[bool\]|bool( \| None)?)", annotation):
        found += ["true", "false"]
    if literal := re.search(r"\bLiteral\[(.*?)\]", annotation):
        try:
            options = ast.literal_eval(f"({literal[1]},)")
        except (SyntaxError, ValueError):
            options = ()
        found += [_escaped(text) for option in options if (text := _toml(option)) is not None]
    if annotation in {"str", "Optional[str]", "str | None"}:
        found.append('"$1"')
    if arguments.tensors and value_kind(parameter) == "tensor":
        found.append(TENSOR_SNIPPET)
    return list(dict.fromkeys(found))


def _toml(value: Any) -> str | None:
    """A plain Python value in TOML; None for what needs more than a word."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        parts = [_toml(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        return None if None in parts else f"[{', '.join(part for part in parts if part)}]"
    if isinstance(value, tuple):
        parts = [_toml(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        items = ", ".join(part for part in parts if part)
        return None if None in parts else f'{{ kind = "tuple", items = [{items}] }}'
    return None


def _escaped(text: str) -> str:
    return re.sub(r"([$}\\])", r"\\\1", text)


def _label(snippet: str) -> str:
    return re.sub(r"\\([$}\\])", r"\1", _PLACE.sub(lambda found: found[2] or "…", snippet))
