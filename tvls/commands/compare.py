"""`tvls compare BEFORE.json AFTER.json`"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tvls import graph
from tvls.commands.exits import DIFFERENT, DONE, USAGE
from tvls.commands.graph_file import read_graph
from tvls.commands.terminal import refuse, report
from tvls.printable import printable_text
from tvls.protocol.errors import TvlsError
from tvls.protocol.types_canvas import CompareResult, NodeChange


def compare_command(before: Path, after: Path, as_json: bool) -> int:
    """Exit codes are those of `diff`: 1 where the graphs differ, 2 where they could not be compared."""
    try:
        found = graph.compare(_index(before), _index(after))
    except ValueError as error:
        return refuse(str(error), as_json)
    except TvlsError as error:
        report(error, as_json)
        return USAGE
    if as_json:
        print(msgspec.json.encode(found).decode())
    else:
        print(printable_text("\n".join(_lines(found))))
    return DONE if found.same else DIFFERENT


def _index(file: Path) -> graph.GraphIndex:
    _, document = read_graph(file)
    if "failure" in document:
        raise ValueError(f"{file} is of a trace that failed, which has no graph: see `tvls show {file}`")
    return graph.GraphIndex(document)


def _lines(found: CompareResult) -> Iterator[str]:
    yield found.summary
    listed = (("-", found.removed, found.removed_total), ("+", found.added, found.added_total))
    for sign, changes, total in (*listed, ("~", found.changed, found.changed_total)):
        for change in changes:
            yield f"{sign} {_name(change)}"
            yield from (f"    {line}" for line in change.text)
        if total > len(changes):
            yield f"{sign} … {total - len(changes):,} more"


def _name(change: NodeChange) -> str:
    """`Net/Dense_0/add.0` of an operation, `input x` of an input."""
    kind, _, name = change.node.partition(":")
    return name if kind == "op" else f"{_PORTS[kind]} {change.label}"


_PORTS = {"in": "input", "out": "output"}
