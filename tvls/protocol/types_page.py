"""What a canvas and its host tell each other beside the graph: what to show, the cursor, the source to go to."""

from __future__ import annotations

from tvls.protocol.types import CaptureInfo, ErrorData, Location, NodeHit, OpenParams, Position, TextDocument, Wire


class AttachParams(Wire, frozen=True, kw_only=True):
    page: str
    """The last part of the page's address."""


class OpenError(Wire, frozen=True, kw_only=True):
    """Why the last request to open gave no capture."""

    code: int
    message: str
    data: ErrorData | None = None


class CanvasState(Wire, frozen=True, kw_only=True):
    """What a canvas is there to show."""

    open: OpenParams
    """What to send as `tvls/graph/open` to trace it again."""
    capture: CaptureInfo | None = None
    """The newest capture. A canvas that shows an older one goes on to this one and keeps what is expanded."""
    error: OpenError | None = None
    """Set where the last trace failed, or was not begun. `capture` may be there as well, from before."""
    phase: str | None = None
    """How far a trace has come that the editor asked for; absent where none runs. Another state follows its end."""
    editor: str | None = None
    """Name of the editor that goes to source lines; absent where there is none, as with `tvls open`."""


class ShowSourceParams(Wire, frozen=True, kw_only=True):
    location: Location


class ShowSourceResult(Wire, frozen=True, kw_only=True):
    shown: bool
    """Whether an editor went there. Where none could, show `place`."""
    place: str
    """`path:line`, relative to the workspace folder where it is in one."""


class MarkParams(Wire, frozen=True, kw_only=True):
    text_document: TextDocument
    position: Position


class MarkResult(Wire, frozen=True, kw_only=True):
    pages: int
    """Pages that mark something now."""
    nodes: int
    """Nodes that come from the position, over all of them."""


class MarkedNodes(Wire, frozen=True, kw_only=True):
    """Nodes of one capture that come from the editor's cursor. None: the cursor is where none come from."""

    capture_id: str
    nodes: list[NodeHit]
    total: int
