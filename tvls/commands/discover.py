"""`tvls discover PATH…`"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TextIO

from tvls.analysis.client import AnalysisError
from tvls.analysis.discover import discover
from tvls.analysis.types import FileError
from tvls.commands.exits import DONE, FAILED
from tvls.commands.terminal import refuse
from tvls.printable import printable


async def discover_command(paths: list[Path], as_json: bool) -> int:
    """Prints targets on standard output and files that are no valid Python on standard error.

    The exit code is 1 where one of `paths` itself is such a file.
    """
    gone = [path for path in paths if not path.exists()]
    if gone:
        return refuse(f"there is no {', '.join(str(path) for path in gone)}", as_json)
    try:
        found = await discover(paths)
    except AnalysisError as error:
        _print("\n".join(printable(line) for line in f"tvls: {error}".split("\n")), sys.stderr)
        return FAILED
    if as_json:
        rows = [
            {"path": _shown(item.path), "kind": item.kind, "name": item.name, "line": item.line}
            for item in found.targets
        ]
        _print_json(rows)
    for item in () if as_json else found.targets:
        place = f"{printable(_shown(item.path))}:{item.line}"
        _print(f"{place}  {item.kind:<13} {printable(item.name)}", sys.stdout)
    for item in found.errors:
        _print(_message(item), sys.stderr)
    if not (found.targets or found.errors or as_json):
        _print("No JAX function, Flax module or PyTorch module found.", sys.stderr)
    named = {os.path.abspath(path) for path in paths}  # noqa: ASYNC240, PTH100 - as the analysis does
    return FAILED if any(item.path in named for item in found.errors) else DONE


def _message(item: FileError) -> str:
    place = printable(_shown(item.path))
    if item.error.line:
        place += f":{item.error.line}"
    return f"{place}: {'not valid Python: ' if item.error.syntax else ''}{printable(item.error.message)}"


def _print(text: str, stream: TextIO) -> None:
    """Prints text in whatever encoding the terminal has."""
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def _print_json(value: object) -> None:
    """Prints JSON; what the encoding of standard output has no bytes for is escaped as JSON does it."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=1)
    print(text)


def _shown(path: str) -> str:
    """Relative to where the command runs, if it lies inside."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
