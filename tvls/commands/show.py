"""`tvls show GRAPH.json`"""

from __future__ import annotations

import sys
from pathlib import Path

from tvls import graph
from tvls.commands.exits import DONE, FAILED
from tvls.commands.graph_file import read_graph, write_page
from tvls.commands.terminal import refuse, report
from tvls.printable import printable_text
from tvls.protocol.errors import TvlsError


def show_command(file: Path, as_json: bool, page: Path | None, max_lines: int | None, depth: int | None) -> int:
    try:
        data, document = read_graph(file)
        if as_json:
            sys.stdout.write(data.decode())
        elif "failure" in document:
            print(printable_text(graph.failure_text(document)), end="")
        elif page is not None:
            write_page(document, file.name, page)
            print(page)
        else:
            print(printable_text(graph.outline(document, max_lines=max_lines, depth=depth)), end="")
    except ValueError as error:
        return refuse(str(error), as_json)
    except TvlsError as error:
        return report(error, as_json)
    return FAILED if "failure" in document else DONE
