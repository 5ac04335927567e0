"""What a capture says of itself."""

from __future__ import annotations

from tvls.graph.costs import capture_costs
from tvls.graph.index import GraphIndex
from tvls.protocol import types as t


def capture_info(index: GraphIndex) -> t.CaptureInfo:
    """From the document alone, which says nothing of where it is open, nor of what its sources are now: `fresh`."""
    capture = index.capture
    return t.CaptureInfo(
        capture_id=capture["captureId"],
        name=capture["target"]["qualname"],
        kind=capture["target"]["kind"],
        framework=capture["framework"],
        backend=capture["backend"],
        versions=capture["versions"],
        evidence=capture["evidence"],
        coverage=capture["coverage"],
        notes=capture["setup"]["notes"],
        operations=len(capture["operations"]),
        freshness="fresh",
        unavailable=capture["unavailable"],
        costs=capture_costs(index),
    )
