"""From a capture to what people see: views, details, search, source positions, hover and readable text.

Pure functions over a `GraphIndex`: no files, no LSP.
"""

from tvls.graph.compare import compare
from tvls.graph.details import Details, details, method_frame, sources
from tvls.graph.folds import fold_details
from tvls.graph.hints import Hint, hints
from tvls.graph.hover import HoverText, hover
from tvls.graph.index import GraphIndex
from tvls.graph.info import capture_info
from tvls.graph.load import load
from tvls.graph.outline import coverage_lines, failure_text, outline
from tvls.graph.positions import Hits, nodes_at
from tvls.graph.search import search
from tvls.graph.view import View, view

__all__ = [
    "Details",
    "GraphIndex",
    "Hint",
    "Hits",
    "HoverText",
    "View",
    "capture_info",
    "compare",
    "coverage_lines",
    "details",
    "failure_text",
    "fold_details",
    "hints",
    "hover",
    "load",
    "method_frame",
    "nodes_at",
    "outline",
    "search",
    "sources",
    "view",
]
