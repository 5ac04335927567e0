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


Measurement = Literal["storage_aliases", "activation_statistics", "output_bytes"]


class OpenParams(Wire, frozen=True, kw_only=True):
    target: TargetRef | None = None
    profile: str | None = None
    """Name of a profile; with no `target`, the profile's own `model` is opened (the folder is `folder`)."""
    folder: str | None = None
    """URI of the workspace folder whose `tensorviz.toml` is meant; default: the folder of the target."""
    setup: InlineSetup | None = None
    refresh: bool = False
    """Trace again although a fresh capture exists."""
    measure: list[Measurement] = []
    """What to measure while the model runs: words of the table *measure*. PyTorch alone."""
    work_done_token: str | int | None = None


class Stale(Wire, frozen=True, kw_only=True):
    """Why a capture is stale: each entry is one difference to the state that was traced."""

    files: list[str] = []
    """Changed, unsaved or missing workspace files."""
    profile: bool = False
    interpreter: bool = False
    libraries: list[str] = []


class Costs(Wire, frozen=True, kw_only=True):
    """Derived from shapes and dtypes alone: nothing here was measured. What is unknown is absent."""

    flops: int | None = None
    """Contractions and convolutions exactly, two for each multiplication with its addition; of other arithmetic one for
    each element of the result, of reductions one for each element read; moving data counts none. A `scan` counts its
    body times its length."""
    contraction_flops: int = 0
    """The part of `flops` that is contractions and convolutions."""
    uncounted: int = 0
    """Operations whose work shapes do not tell and that `flops` leaves out, such as `while` and `cond`."""
    output_bytes: int | None = None
    """Of all results of the operation, or of all values that leave the scope."""
    parameters: int | None = None
    """Elements of the parameters read here, each parameter once however often it is used."""
    parameter_bytes: int | None = None
    state_bytes: int = 0
    """Of other state read here, such as `batch_stats`."""
    iterations: int | None = None
    """Of a `scan`: how often its body counts."""


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
    retraceable: str | None = None
    """Set while the capture is stale and no traced file has unsaved changes: a trace can be made now. The word changes
    with what it would find, so a canvas that follows edits opens again when it changes."""
    unavailable: dict[str, str] = {}
    costs: Costs | None = None
    """Of the whole program."""
    previous: str | None = None
    """The capture of the same target and profile before this one, while it is open; for `tvls/graph/compare`."""


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


class ValueStatistics(Wire, frozen=True, kw_only=True):
    """Of the elements of a value; of complex numbers, of their absolute values."""

    elements: int
    zeros: int
    nan: int
    infinite: int
    min: float | None = None
    """As `max`, `mean` and `std` (of the whole population) of the finite elements; absent where there are none."""
    max: float | None = None
    mean: float | None = None
    std: float | None = None


class ValueInfo(Wire, frozen=True, kw_only=True):
    shape: list[int]
    dtype: str
    name: str | None = None
    role: str | None = None
    """A word of the table *role*; absent for what an operation makes."""
    also_named: list[str] = []
    """State: the other names of the same parameter, as of a tied weight."""
    device: str | None = None
    """Where it is not that of the setup."""
    weak_type: bool = False
    sharding: str | None = None
    bytes: int | None = None
    """Measured on request, as the two below: what its elements take."""
    storage: int | None = None
    """Number of the memory that it lies in; values of a capture with one number are aliases."""
    statistics: ValueStatistics | None = None
    count: int | None = None


class BodyInfo(Wire, frozen=True, kw_only=True):
    id: str
    """What `GraphViewParams.body` takes."""
    role: str
    label: str
    operations: int


class FoldInfo(Wire, frozen=True, kw_only=True):
    """A scope node that stands for `count` neighbours of equal structure, of which it shows one.

    The id of the node is that of the first of them, whichever is shown; all else in the node is of the one shown.
    """

    count: int
    first: str
    """Label of the first of them."""
    last: str
    instance: int = 0
    """Which one is shown, from 0; `GraphViewParams.instances` chooses it."""
    shown: str
    """Id of the scope that is shown, for `tvls/graph/node`."""
    operations: int
    """In all of them."""
    costs: Costs
    """Of all of them; a parameter that they share counts once."""
    chained: bool = False
    """Whether each reads what the one before it made."""
    differences: int = 0
    """Parameters and literals in which they differ; `tvls/graph/fold` lists them."""


class SegmentInfo(Wire, frozen=True, kw_only=True):
    """A scope whose operations cannot stand in one box, because what they read is made outside from what they make."""

    number: int
    """From 1, in reading order."""
    count: int


class Node(Wire, frozen=True, kw_only=True):
    """A visible node. A scope node stands for everything inside it unless it is expanded."""

    id: str
    kind: NodeKind
    label: str
    parent: str = ""
    """Id of the scope node, or of the structure of outputs, around it, which is expanded if this node came in a view;
    absent at the top level."""
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
    costs: Costs | None = None
    """Operations and scopes, expanded ones included."""
    noise: str | None = None
    """What a reader may want out of the way: a word of the table *noise*."""
    leaves: int | None = None
    """Output nodes that stand for a part of the result's structure: how many outputs are in it. It can be expanded."""
    fold: FoldInfo | None = None
    """Set where the node stands for several."""
    segment: SegmentInfo | None = None
    """Set on each node of a scope that has several."""


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
    through: int = 0
    """Hidden operations that the data passes on its way; `value` is what arrives."""
    folded: bool = False
    """The value is made, or read, by one of the folded neighbours that are not shown; the one shown stands for it."""


class GraphViewParams(Wire, frozen=True, kw_only=True):
    capture_id: str
    expanded: list[str] = []
    """Ids of scope nodes to show opened."""
    body: str | None = None
    """Show this body instead of the program itself."""
    fold: bool = False
    """Show neighbours of equal structure as one node; `Node.fold` tells."""
    instances: dict[str, int] = {}
    """Folded node → which of the neighbours it shows, from 0. An id in `expanded` that belongs to another of them
    counts for the one shown."""
    hide: list[str] = []
    """Words of the table *noise*: nodes of these kinds are left out, and edges lead past them."""
    structures: bool = False
    """Show more than a few outputs as the nested structure that they are in; `Node.leaves` tells. Its nodes are opened
    by their ids in `expanded`, as scopes are."""
    cursor: str | None = None
    limit: int = 200


class GraphViewResult(Wire, frozen=True, kw_only=True):
    nodes: list[Node]
    edges: list[Edge]
    """Edges whose target is on this page."""
    total: int
    """Visible nodes over all pages."""
    next_cursor: str | None = None
    noise: dict[str, int] = {}
    """Word of the table *noise* → nodes of that kind over all pages, hidden or not."""
    hidden: int = 0
    """Nodes that `hide` leaves out, over all pages."""
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
    primitive: str | None = None
    """Operations: the full name of what the label names in short."""
    operands: list[OperandInfo] = []
    results: list[ResultInfo] = []
    params: dict[str, Any] = {}
    scope_path: list[str] = []
    frames: list[FrameInfo] = []
    defined: FrameInfo | None = None
    """Of a module: where its class is written, if the file that its code ran from has it. `function` is the class."""
    freshness: Freshness


class SourcesResult(Wire, frozen=True, kw_only=True):
    frames: list[FrameInfo]
    """Innermost workspace frame first, then the rest of the stack, innermost first."""
    defined: FrameInfo | None = None
    """As in `NodeDetails`."""
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
    """Node ids from the outside in that must be expanded to see the node: scopes, or structures of outputs."""
    body: str | None = None
    instances: dict[str, int] = {}
    """What `GraphViewParams.instances` must have, where `fold` is on, to see the node."""


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


ExportFormat = Literal["html", "json", "outline"]


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
    interpreter: list[str] | None = None
    """The Python that lacks something."""
    requirements: list[str] | None = None
    """What `tvls/environment/plan` takes to see what an installation would change."""
    reason: str | None = None
    """`planRefused`: a word of the table *refusal*."""
    stderr: str | None = None
    """Last lines that the worker printed."""
