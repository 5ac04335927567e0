"""`tvls show GRAPH.json`"""

from __future__ import annotations

import sys
from pathlib import Path

from tvls import graph
from tvls.canvas.file import graph_page
from tvls.commands.exits import DONE, FAILED
from tvls.commands.terminal import refuse, report
from tvls.printable import printable_text
from tvls.protocol.errors import TvlsError


def show_command(file: Path, as_json: bool, page: Path | None, max_lines: int | None, depth: int | None) -> int:
    try:
        data = file.read_bytes()
    except OSError as error:
        return refuse(f"{file} cannot be read: {error.strerror}", as_json)
    try:
        document = graph.load(data)
    except TvlsError as error:
        return report(error, as_json)
    if as_json:
        sys.stdout.write(data.decode())
    elif page is not None and "failure" not in document:
        index = graph.GraphIndex(document)
        try:
            page.write_text(graph_page(index, graph.capture_info(index), file.name), encoding="utf-8")
        except TvlsError as error:
            return report(error)
        except OSError as error:
            return refuse(f"{page} cannot be written: {error.strerror}")
        print(page)
    elif "failure" in document:
        print(printable_text(graph.failure_text(document)), end="")
    else:
        print(printable_text(graph.outline(document, max_lines=max_lines, depth=depth)), end="")
    return FAILED if "failure" in document else DONE
