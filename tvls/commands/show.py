"""`tvls show GRAPH.json`"""

from __future__ import annotations

import sys
from pathlib import Path

from tvls import graph
from tvls.commands.exits import DONE, FAILED, USAGE
from tvls.commands.terminal import complain, report
from tvls.printable import printable_text
from tvls.protocol.errors import TvlsError


def show_command(file: Path, as_json: bool, max_lines: int | None, depth: int | None) -> int:
    try:
        data = file.read_bytes()
    except OSError as error:
        complain(f"{file} cannot be read: {error.strerror}")
        return USAGE
    try:
        document = graph.load(data)
    except TvlsError as error:
        return report(error)
    if as_json:
        sys.stdout.write(data.decode())
    elif "failure" in document:
        print(printable_text(graph.failure_text(document)), end="")
    else:
        print(printable_text(graph.outline(document, max_lines=max_lines, depth=depth)), end="")
    return FAILED if "failure" in document else DONE
