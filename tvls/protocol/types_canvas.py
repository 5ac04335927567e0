"""Parameters and results of what a canvas asks beside views: previews, comparisons and folds."""

from __future__ import annotations

from typing import Literal

from tvls.capture.document import TargetKind
from tvls.protocol.types import Range, TargetRef, Wire

# --- preview ---------------------------------------------------------------------------------------------------------


class PreviewParams(Wire, frozen=True, kw_only=True):
    target: TargetRef


class DeclaredField(Wire, frozen=True, kw_only=True):
    """A field of a dataclass-like module, or a parameter of the constructor or function."""

    name: str
    annotation: str | None = None
    """Source text."""
    default: str | None = None
    """Source text."""
    range: Range


class DeclaredSubmodule(Wire, frozen=True, kw_only=True):
    """An attribute that the source sets to something it calls: `self.dense = nn.Dense(64)`."""

    name: str
    constructor: str
    """What is called, as it is written: `nn.Dense`."""
    text: str
    """The whole expression, on one line."""
    range: Range


class DeclaredCall(Wire, frozen=True, kw_only=True):
    """A call in the body, in the order written; nothing says that it is executed, or how often."""

    callee: str
    """As it is written: `self.dense`, `nn.Dense`, `jnp.mean`."""
    text: str
    """The whole expression, on one line."""
    within: list[str] = []
    """Statements around it that may repeat or skip it, from the outside in: `for layer in self.layers`, `if train`."""
    submodule: str | None = None
    """Name of the declared submodule that is called."""
    range: Range


class DeclaredMethod(Wire, frozen=True, kw_only=True):
    name: str
    signature: str
    calls: list[DeclaredCall] = []
    range: Range


class PreviewResult(Wire, frozen=True, kw_only=True):
    """What the source of a target declares. Nothing ran: evidence is the text alone."""

    evidence: Literal["source"]
    name: str
    kind: TargetKind
    range: Range
    fields: list[DeclaredField] = []
    submodules: list[DeclaredSubmodule] = []
    methods: list[DeclaredMethod] = []
    """Of a class, those that a call runs first: `setup`, `__init__`, `__call__`; of a function itself alone."""
    total_calls: int = 0
    """Calls in the source, where only the first of them are listed."""
    approximate: bool = False
    """The text does not parse as it is now; this is made from the part that does."""


# --- compare ---------------------------------------------------------------------------------------------------------


class CompareParams(Wire, frozen=True, kw_only=True):
    before: str
    """A capture id, as `CaptureInfo.previous` gives it."""
    after: str
    limit: int = 1000
    """Nodes that are listed of each kind at most."""


class NodeChange(Wire, frozen=True, kw_only=True):
    """A node of the capture after; of one that was removed, of the capture before."""

    node: str
    label: str
    scopes: list[str] = []
    """Scope node ids from the outside in that must be expanded to see the node."""
    body: str | None = None
    before: str | None = None
    """What is changed: id of its counterpart."""
    what: list[str] = []
    """What is changed: words of the table *change*."""
    text: list[str] = []
    """The same, one line each: `f32[2,16] → f32[2,32]`."""


class CompareResult(Wire, frozen=True, kw_only=True):
    same: bool = False
    """The two graphs are equal in everything but where their lines are."""
    added: list[NodeChange] = []
    removed: list[NodeChange] = []
    changed: list[NodeChange] = []
    added_total: int = 0
    removed_total: int = 0
    changed_total: int = 0
    unchanged_total: int = 0
    """Operations; inputs and outputs are not counted."""
    scopes: dict[str, int] = {}
    """Scope node of the capture after → added and changed operations inside, and removed ones of its counterpart."""
    summary: str
    """One line: `3 added, 1 removed, 12 changed (shape)`."""


# --- folds -----------------------------------------------------------------------------------------------------------


class FoldParams(Wire, frozen=True, kw_only=True):
    capture_id: str
    node: str
    """Id of a folded node."""
    body: str | None = None


class FoldInstance(Wire, frozen=True, kw_only=True):
    node: str
    label: str
    path: str
    """Of the module, else the names of the scopes around and its own."""
    parameters: list[str] = []
    """Names of parameters and other state that it reads."""


class FoldDifference(Wire, frozen=True, kw_only=True):
    """One thing in which the neighbours differ, with its value in each of them as text."""

    node: str
    """The operation in the first of them."""
    name: str
    """Name of the parameter of the operation, or `operand 1` for a literal."""
    values: list[str]


class FoldResult(Wire, frozen=True, kw_only=True):
    instances: list[FoldInstance]
    differences: list[FoldDifference] = []
