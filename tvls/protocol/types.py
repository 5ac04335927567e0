"""Parameters and results of the `tvls/*` requests.

Ids are strings. An absent field means its default, and a default is never sent. Lines and characters are 0-based and in
the negotiated position encoding, as everywhere in LSP. Clients must tolerate unknown fields and enum values.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tvls.capture.document import Coverage, Evidence, TargetKind


class Wire(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, gc=False):
    """Base of everything that travels: camelCase on the wire, defaults left out.

    Trees without cycles, so the cyclic garbage collector has nothing to look for in them.
    """


# --- positions -------------------------------------------------------------------------------------------------------


class Position(Wire, frozen=True, kw_only=True):
    line: int
    character: int


class Range(Wire, frozen=True, kw_only=True):
    start: Position
    end: Position


class Location(Wire, frozen=True, kw_only=True):
    uri: str
    range: Range


class TextDocument(Wire, frozen=True, kw_only=True):
    uri: str


# --- targets ---------------------------------------------------------------------------------------------------------

TargetState = Literal["noSetup", "ready", "fresh", "stale", "failed"]
Freshness = Literal["fresh", "stale"]


class TargetInfo(Wire, frozen=True, kw_only=True):
    """A model found in source."""

    uri: str
    name: str
    """Qualified name in its module, such as `Encoder` or `Outer.Inner`."""
    kind: TargetKind
    module: str
    range: Range
    """The `def` or `class` line."""
    body: Range | None = None
    """From that line to the end of the definition."""
    profiles: list[str] = []
    """Profiles of `tensorviz.toml` that name this target."""
    state: TargetState = "noSetup"
    """A word of the table *state*."""
    approximate: bool = False
    """The text does not parse now; this is the last good answer, moved with the edits."""


class TargetsListParams(Wire, frozen=True, kw_only=True):
    text_document: TextDocument | None = None
    """Absent: every target of the workspace."""


class TargetsListResult(Wire, frozen=True, kw_only=True):
    targets: list[TargetInfo]


# --- opening ---------------------------------------------------------------------------------------------------------


class TargetRef(Wire, frozen=True, kw_only=True):
    uri: str
    name: str


class CallSetup(Wire, frozen=True, kw_only=True):
    """Values as in `tensorviz.toml`: scalars, lists, tables, `{"kind": "tensor", ...}`; or a factory."""

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    factory: dict[str, Any] | None = None


class InlineSetup(Wire, frozen=True, kw_only=True):
    """A setup that comes with the request instead of a saved profile."""

    framework: str | None = None
    """Default: by the kind of the target."""
    device: str = "cpu"
    seed: int = 0
    init: CallSetup = CallSetup()
    inputs: CallSetup = CallSetup()


class OpenParams(Wire, frozen=True, kw_only=True):
    target: TargetRef | None = None
    profile: str | None = None
    """Name of a profile; with no `target`, the profile's own `model` is opened (the folder is `folder`)."""
    folder: str | None = None
    """URI of the workspace folder whose `tensorviz.toml` is meant; default: the folder of the target."""
    setup: InlineSetup | None = None
    refresh: bool = False
    """Trace again although a fresh capture exists."""
    work_done_token: str | int | None = None


class Stale(Wire, frozen=True, kw_only=True):
    """Why a capture is stale: each entry is one difference to the state that was traced."""

    files: list[str] = []
    """Changed, unsaved or missing workspace files."""
    profile: bool = False
    interpreter: bool = False
    libraries: list[str] = []


class CaptureInfo(Wire, frozen=True, kw_only=True):
    capture_id: str
    uri: str | None = None
    name: str
    kind: TargetKind
    framework: str
    backend: str
    versions: dict[str, str]
    evidence: Evidence
    coverage: Coverage
    profile: str | None = None
    notes: list[str] = []
    """What is to be known of how it was traced; words of the table *notes*."""
    operations: int
    freshness: Freshness
    stale: Stale | None = None
    unavailable: dict[str, str] = {}


class OpenResult(Wire, frozen=True, kw_only=True):
    capture: CaptureInfo
    reused: bool = False
    """True where a fresh capture was already there and nothing was traced."""


class CaptureParams(Wire, frozen=True, kw_only=True):
    capture_id: str


class CloseResult(Wire, frozen=True, kw_only=True):
    closed: bool


# --- graph -----------------------------------------------------------------------------------------------------------

NodeKind = Literal["operation", "scope", "input", "output", "constant"]


class ValueInfo(Wire, frozen=True, kw_only=True):
    shape: list[int]
    dtype: str
    name: str | None = None
    role: str | None = None
    """A word of the table *role*; absent for what an operation makes."""
    weak_type: bool = False
    sharding: str | None = None
    count: int | None = None


class BodyInfo(Wire, frozen=True, kw_only=True):
    id: str
    """What `GraphViewParams.body` takes."""
    role: str
    label: str
    operations: int


class Node(Wire, frozen=True, kw_only=True):
    """A visible node. A scope node stands for everything inside it unless it is expanded."""

    id: str
    kind: NodeKind
    label: str
    parent: str = ""
    """Id of the scope node around it, which is expanded if this node came in a view; absent at the top level."""
    scope_kind: str | None = None
    """Scope nodes: what the scope comes from; a word of the table *scopeKind*."""
    scope_evidence: str | None = None
    """Scope nodes of modules: how the module was recognised; a word of the table *scopeEvidence*."""
    class_name: str | None = None
    """Scope nodes of modules: the full name of the class."""
    expanded: bool = False
    operations: int | None = None
    """Scope nodes: number of operations inside."""
    opaque: str | None = None
    """Why what the operation does inside is not part of the graph; a word of the table *opaque*."""
    outputs: list[ValueInfo] = []
    state: list[ValueInfo] = []
    """Parameters and other state read directly by this node (a collapsed scope: by anything inside)."""
    constants: list[ValueInfo] = []
    outputs_total: int | None = None
    """Set where `outputs` was cut, as the other totals for their lists. `tvls/graph/node` has them all."""
    state_total: int | None = None
    constants_total: int | None = None
    bodies: list[BodyInfo] = []
    source: str | None = None
    """`path:line` of the innermost workspace frame."""


class Edge(Wire, frozen=True, kw_only=True):
    """Data that flows between two visible nodes.

    An operation has one edge for each operand position, a repeated use included. A collapsed scope has one edge for
    each node that it reads from, whatever the number of values.
    """

    source: str
    target: str
    value: ValueInfo
    count: int = 1
    """How many different values flow between the two (the first is shown)."""
    argument: int | None = None
    """Operand position, where the target is one operation."""


class GraphViewParams(Wire, frozen=True, kw_only=True):
    capture_id: str
    expanded: list[str] = []
    """Ids of scope nodes to show opened."""
    body: str | None = None
    """Show this body instead of the program itself."""
    cursor: str | None = None
    limit: int = 200


class GraphViewResult(Wire, frozen=True, kw_only=True):
    nodes: list[Node]
    edges: list[Edge]
    """Edges whose target is on this page."""
    total: int
    """Visible nodes over all pages."""
    next_cursor: str | None = None
    freshness: Freshness
    coverage: Coverage
    evidence: Evidence


class NodeParams(Wire, frozen=True, kw_only=True):
    capture_id: str
    node: str
    body: str | None = None


class OperandInfo(Wire, frozen=True, kw_only=True):
    """One operand by position: a value with the node that made it, or a literal of the program."""

    value: ValueInfo | None = None
    producer: str | None = None
    literal: Any = msgspec.UNSET


class UseInfo(Wire, frozen=True, kw_only=True):
    node: str
    argument: int


class ResultInfo(Wire, frozen=True, kw_only=True):
    value: ValueInfo
    uses: list[UseInfo] = []
    """In program order, outputs of the program last."""
    uses_total: int | None = None
    """Set where `uses` was cut."""


class FrameInfo(Wire, frozen=True, kw_only=True):
    path: str
    workspace: bool
    function: str
    line: int
    """1-based, as people read it."""
    location: Location | None = None
    """Where an editor can go: workspace frames, and library frames whose file is found."""


class NodeDetails(Wire, frozen=True, kw_only=True):
    node: Node
    operands: list[OperandInfo] = []
    results: list[ResultInfo] = []
    params: dict[str, Any] = {}
    scope_path: list[str] = []
    frames: list[FrameInfo] = []
    freshness: Freshness


class SourcesResult(Wire, frozen=True, kw_only=True):
    frames: list[FrameInfo]
    """Innermost workspace frame first, then the rest of the stack, innermost first."""
    freshness: Freshness


class NodesAtParams(Wire, frozen=True, kw_only=True):
    text_document: TextDocument
    position: Position
    capture_id: str | None = None
    """Absent: every open capture that this document is a source of."""


class NodeHit(Wire, frozen=True, kw_only=True):
    capture_id: str
    node: str
    label: str
    scopes: list[str] = []
    """Scope node ids from the outside in that must be expanded to see the node."""
    body: str | None = None


class NodesAtResult(Wire, frozen=True, kw_only=True):
    nodes: list[NodeHit]
    total: int


class SearchParams(Wire, frozen=True, kw_only=True):
    capture_id: str
    query: str
    """Words, all of which must match: primitive, part of a scope path or parameter name, `[*, 64]`, `file.py:12`."""
    cursor: str | None = None
    limit: int = 100


class SearchResult(Wire, frozen=True, kw_only=True):
    nodes: list[NodeHit]
    total: int
    next_cursor: str | None = None


ExportFormat = Literal["json", "outline"]


class ExportParams(Wire, frozen=True, kw_only=True):
    capture_id: str
    format: ExportFormat = "json"


class ExportResult(Wire, frozen=True, kw_only=True):
    text: str
    suggested_name: str


# --- trust -----------------------------------------------------------------------------------------------------------


class TrustParams(Wire, frozen=True, kw_only=True):
    folder: str
    """URI of a workspace folder."""


class TrustResult(Wire, frozen=True, kw_only=True):
    folder: str
    trusted: bool


# --- server ----------------------------------------------------------------------------------------------------------


class StatusParams(Wire, frozen=True, kw_only=True):
    pass


class WorkerStatus(Wire, frozen=True, kw_only=True):
    interpreter: str
    framework: str
    state: Literal["starting", "warm", "cold", "broken"]
    pid: int | None = None
    message: str | None = None


class StatusResult(Wire, frozen=True, kw_only=True):
    """As rust-analyzer's server status: a lasting state, not an event."""

    health: Literal["ok", "warning", "error"]
    quiescent: bool
    message: str | None = None
    version: str
    workers: list[WorkerStatus] = []
    captures: int = 0
    traces_running: int = 0


class DebugInfoResult(Wire, frozen=True, kw_only=True):
    text: str


# --- error data ------------------------------------------------------------------------------------------------------


class MissingValue(Wire, frozen=True, kw_only=True):
    """A value that a setup lacks."""

    key: str
    """Place in the profile: `inputs.args[0]`, `init.kwargs.features`, `inputs.args[0].shape`."""
    parameter: str
    kind: Literal["tensor", "value", "unknown"]
    annotation: str | None = None
    default: str | None = None
    """Source text of the default."""
    required: bool = True


class SetupProblem(Wire, frozen=True, kw_only=True):
    key: str
    message: str
    line: int | None = None
    """0-based line in `tensorviz.toml`, where known."""


class ErrorData(Wire, frozen=True, kw_only=True):
    """`error.data` of every error of ours. `kind` is stable; which other fields are set depends on it."""

    kind: str
    next_step: str
    """What the person can do now, in words."""
    uri: str | None = None
    folder: str | None = None
    files: list[str] | None = None
    missing: list[MissingValue] | None = None
    profiles: list[str] | None = None
    problems: list[SetupProblem] | None = None
    phase: str | None = None
    exception: str | None = None
    frames: list[FrameInfo] | None = None
    limit: str | None = None
    stderr: str | None = None
    """Last lines that the worker printed."""
