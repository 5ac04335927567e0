"""Graph files, and the pages made of them."""

from __future__ import annotations

from pathlib import Path

from tvls import graph
from tvls.canvas.file import graph_page
from tvls.capture.document import Capture, Failure
from tvls.protocol.errors import TvlsError

SUFFIX = ".json"


def read_graph(file: Path) -> tuple[bytes, Capture | Failure]:
    """A file as it is, and the document in it. Raises ValueError if it cannot be read, TvlsError if it is none."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    try:
        return data, graph.load(data)
    except TvlsError as error:
        error.message = f"{file}: {error.message}"
        raise


def write_page(capture: Capture, name: str, page: Path) -> None:
    """Writes the page of a graph file of that name. Raises ValueError where it cannot be written, and what `graph_page`
    raises."""
    index = graph.GraphIndex(capture)
    text = graph_page(index, graph.capture_info(index), name)
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{page} cannot be written: {error.strerror}") from None
