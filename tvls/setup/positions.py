"""Where each key and value of a TOML document stands.

The values themselves are read by the standard library; this walks a concrete syntax tree beside it, because neither
`tomllib` nor an editing library tells positions. The tree also exists for a document with mistakes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tvls.setup.keys import Key

if TYPE_CHECKING:
    import tree_sitter


class Span(msgspec.Struct, frozen=True):
    """A stretch of text: 0-based lines, columns in UTF-8 bytes of the line, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Place(msgspec.Struct, frozen=True):
    """Where a key is written first, and its value. For a table with a header both are the header's key."""

    key: Span
    value: Span


Places = dict[Key, Place]

_DEPTH: Final = 200
"""Deeper keys have no place of their own, so that a file cannot cost more than its size: paths grow with depth."""


@cache
def _parser() -> tree_sitter.Parser:
    import tree_sitter  # only a file with a problem needs it: not at the start of the server
    import tree_sitter_toml

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))


def _span(node: tree_sitter.Node) -> Span:
    start, end = node.start_point, node.end_point
    return Span(start.row, start.column, end.row, end.column)


def find_places(text: str) -> Places:
    """Every key and list element of `text`, by its full path.

    `text` should be valid TOML; of invalid text, what can be told apart is found. Elements of arrays of tables count
    as in the parsed value: `[[a.b]]` for the second time is `("a", "b", 1)`, and a later `[a.b.c]` belongs to it.
    """
    data = text.encode("utf-8", "replace")
    places: Places = {}
    counts: dict[Key, int] = {}
    # A stack instead of recursion: nesting is the user's choice.
    work: list[tuple[tree_sitter.Node, Key, Span | None]] = [(_parser().parse(data).root_node, (), None)]
    while work:
        node, at, key_span = work.pop()
        if len(at) > _DEPTH:
            continue
        match node.type:
            case "document":
                work.extend((child, (), None) for child in reversed(node.named_children))
            case "table" | "table_array_element":
                names = _key_parts(node.named_children[:1])
                if len(names) > _DEPTH:
                    continue
                path = _header_path(names, at, counts, places, array=node.type == "table_array_element")
                work.extend((child, path, None) for child in reversed(node.named_children[1:]))
            case "pair":
                names = _key_parts(node.named_children[:1])
                if not names or len(names) > _DEPTH:
                    continue
                path = at
                for part, part_node in names:
                    path = (*path, part)
                    if part_node is not names[-1][1]:
                        span = _span(part_node)
                        places.setdefault(path, Place(span, span))
                value = _value_node(node)
                span = _span(names[-1][1])
                if value is None:
                    places.setdefault(path, Place(span, span))
                else:
                    work.append((value, path, span))
            case "comment":
                pass
            case _:
                if not at:
                    continue
                value_span = _span(node)
                places.setdefault(at, Place(key_span or value_span, value_span))
                children = [child for child in node.named_children if child.type not in {"comment", "ERROR"}]
                if node.type == "inline_table":
                    work.extend((child, at, None) for child in reversed(children))
                elif node.type == "array":
                    work.extend((child, (*at, index), None) for index, child in reversed(list(enumerate(children))))
    return places


def find_endless_key(text: str) -> Span | None:
    """The first dotted key with more parts than anyone writes: reading it costs the square of its length."""
    if all(line.count(".") <= _DEPTH for line in text.split("\n")):
        return None
    work = [_parser().parse(text.encode("utf-8", "replace")).root_node]
    while work:
        node = work.pop()
        if node.type == "dotted_key":
            if len(_key_parts([node])) > _DEPTH:
                return _span(node)
        else:
            work.extend(reversed(node.named_children))
    return None


def _header_path(
    names: list[tuple[str, tree_sitter.Node]],
    at: Key,
    counts: dict[Key, int],
    places: Places,
    *,
    array: bool,
) -> Key:
    """The full path of a `[header]` or `[[header]]`: names of arrays of tables are followed by their last position."""
    path = at
    for index, (name, node) in enumerate(names):
        path = (*path, name)
        span = _span(node)
        last = index == len(names) - 1
        places.setdefault(path, Place(span, span))
        if last and array:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
            places.setdefault(path, Place(span, span))
    return path


def _key_parts(nodes: Iterable[tree_sitter.Node]) -> list[tuple[str, tree_sitter.Node]]:
    parts: list[tuple[str, tree_sitter.Node]] = []
    work = list(nodes)
    while work:  # `a.b.c` is ((a b) c), as deep as it is long
        node = work.pop()
        if node.type == "dotted_key":
            work += node.named_children
        elif node.type in {"bare_key", "quoted_key"}:
            parts.append((_key_name(node), node))
    return parts[::-1]


def _key_name(node: tree_sitter.Node) -> str:
    text = (node.text or b"").decode("utf-8", "replace")
    if node.type == "bare_key":
        return text
    try:
        value: Any = tomllib.loads(f"key = {text}")["key"]
    except tomllib.TOMLDecodeError:  # the document has a mistake here; it is reported where the document is read
        return text
    return str(value)


def _value_node(pair: tree_sitter.Node) -> tree_sitter.Node | None:
    for child in pair.named_children[1:]:
        if child.type not in {"comment", "ERROR"}:
            return child
    return None
