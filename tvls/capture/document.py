"""The capture document: the portable graph file, and what a worker hands to the daemon.

Plain dictionaries typed by the classes below, so that the worker can build them with the standard library and the
daemon can validate them while decoding. Keys are those of the JSON file. `Capture` is a traced program, `Failure` a
trace that did not finish; both are one JSON object in UTF-8. A missing optional key means its default.

Positions: `line` is 1-based and `column` a 0-based offset in UTF-8 bytes of the line, as in Python's code objects.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Union

if sys.version_info >= (3, 11):
    from typing import Literal, NotRequired, TypedDict
else:  # Python 3.10, in a worker: nothing decodes by type there, so NotRequired only has to be subscriptable
    from typing import Literal, TypedDict
    from typing import Optional as NotRequired

FORMAT_VERSION = 1

Evidence = Literal["inferred", "measured"]
TargetKind = Literal["jax.function", "flax.linen", "flax.nnx", "torch.module"]
Phase = Literal["import", "init", "inputs", "trace", "encode"]
ValueRole = Literal["input", "state", "constant", "intermediate"]
ScopeKind = Literal["root", "jit", "remat", "custom_jvp", "custom_vjp", "call", "module", "named"]


class Coverage(TypedDict):
    scope: Literal["traced_program", "eager_forward"]
    status: Literal["complete", "partial"]
    reasons: List[str]
    """Sorted, without repeats: `opaque_kernel`, `effects_incomplete`, ..."""
    counts: NotRequired[Dict[str, int]]
    """How many operations stand behind each reason."""


class Target(TypedDict):
    kind: TargetKind
    module: str
    qualname: str
    path: NotRequired[str]
    """Workspace-relative with forward slashes; absent for a target outside the workspace."""
    line: NotRequired[int]


class SetupRecord(TypedDict):
    """What the trace was given, as far as it identifies the capture."""

    digest: str
    profile: NotRequired[str]
    device: str
    mode: str
    seed: int
    static: Dict[str, Any]
    """Static (not traced) Python values by the place they were passed at, such as `args[1]` or `kwargs.train`."""
    notes: List[str]
    """`freshly_initialised`, ..."""


class Source(TypedDict):
    path: str
    digest: str
    """`sha256:` and the hex digest of the file's bytes as they were loaded."""


class Statistics(TypedDict):
    """Of the elements of a value, as one pass over them found it; of complex numbers, of their absolute values."""

    elements: int
    zeros: int
    nan: int
    infinite: int
    min: NotRequired[float]
    """As `max`, `mean` and `std` (of the whole population) of the finite elements; absent where there are none."""
    max: NotRequired[float]
    mean: NotRequired[float]
    std: NotRequired[float]


class Value(TypedDict):
    role: ValueRole
    shape: List[int]
    dtype: str
    name: NotRequired[str]
    """Of an input: the parameter and the path into it. Of state: its path, which starts with the path of its module
    (after the collection, in Linen's case), so that state belongs to modules by prefix."""
    collection: NotRequired[str]
    """Of state: the collection (Linen: `params`, `batch_stats`) or type of variable (NNX: `Param`, `BatchStat`)."""
    alsoNamed: NotRequired[List[str]]
    """Of state: the other names of the same parameter, as of a tied weight."""
    device: NotRequired[str]
    """Where it is not that of the setup."""
    weakType: NotRequired[bool]
    sharding: NotRequired[str]
    bytes: NotRequired[int]
    """Measured on request, as the two below: what its elements take."""
    storage: NotRequired[int]
    """Number of the memory that it lies in; values with one number are aliases."""
    statistics: NotRequired[Statistics]


class Operand(TypedDict, total=False):
    """Either a reference, `{"value": index}`, or a literal of the program, `{"literal": ..., "dtype": ...}`."""

    value: int
    literal: Any
    """Number, boolean or string; `nan`, `inf` and `-inf` are strings; a complex number is `[real, imaginary]`."""
    dtype: str
    shape: List[int]


class BodyRef(TypedDict):
    role: str
    body: int


class Operation(TypedDict):
    """Operations stand in program order: what one reads was an input, state, a constant, or made by an earlier one."""

    id: str
    """Unique in its graph."""
    primitive: str
    scope: int
    inputs: List[Operand]
    outputs: List[int]
    params: Dict[str, Any]
    frames: List[int]
    opaque: NotRequired[str]
    bodies: NotRequired[List[BodyRef]]


class ParameterSize(TypedDict):
    """All parameters of a module and of the modules inside it, each counted once, from shapes and dtypes alone."""

    count: int
    bytes: int


Scope = TypedDict(  # functional form: `class` is a key
    "Scope",
    {
        # Stable under unrelated edits and unique in its graph, such as `MLP/Dense_0` or `net/relu`; the root's is "".
        "id": str,
        "parent": Optional[int],  # the first scope is the root and has none; a parent stands before its children
        "kind": ScopeKind,
        "name": NotRequired[str],
        "path": NotRequired[str],
        "class": NotRequired[str],
        "evidence": NotRequired[Literal["name_stack", "instance_path", "hook"]],
        # Of a module whose parameters are known. Scopes of one path (forward and backward) repeat the same parameters,
        # and inside a `scan` over layers they are those of one layer.
        "parameters": NotRequired[ParameterSize],
    },
)


class Frame(TypedDict):
    path: str
    """Workspace-relative, or relative to its distribution (`flax/linen/linear.py`)."""
    workspace: bool
    function: str
    line: int
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]


class ArrayIn(TypedDict):
    """An array in a list, tuple, dictionary, named tuple or dataclass."""

    path: List[Union[str, int]]
    shape: List[int]
    dtype: str


class Structure(TypedDict):
    """An object that holds arrays; objects with the same arrays at the same places are one."""

    type: str
    """Name of its class, without a module."""
    arrays: List[ArrayIn]
    cut: NotRequired[bool]
    """Whether it may hold more arrays than these."""


class Seen(TypedDict):
    """An array, with shape and dtype; an object that holds arrays; or, with neither, something else."""

    shape: NotRequired[List[int]]
    dtype: NotRequired[str]
    structure: NotRequired[int]
    """Index into `structures`."""
    count: int


class Observation(TypedDict):
    """What a local variable held in a line of workspace code under the trace."""

    path: str
    line: int
    name: str
    seen: List[Seen]
    function: NotRequired[str]
    """Qualified name of the function whose local it is."""


Tree = Dict[str, Any]
"""Nested structure of a call: `{"value": index}`, `{"literal": ..., "dtype": ...}` for an output that the program
states, `{"static": ...}`, `{"opaque": "module.Type"}`, `{"list": [Tree, ...]}`, `{"tuple": [Tree, ...]}` or
`{"dict": {key: Tree}}`."""


class Inputs(TypedDict):
    args: List[Tree]
    kwargs: Dict[str, Tree]


class Body(TypedDict):
    """A subprogram of a boundary operation: a graph of its own, with indices of its own, except `frames`."""

    label: str
    inputs: List[int]
    outputs: List[Operand]
    values: List[Value]
    operations: List[Operation]
    scopes: List[Scope]
    bodies: List["Body"]


class Capture(TypedDict):
    formatVersion: int
    captureId: str
    framework: Literal["jax", "torch"]
    backend: str
    versions: Dict[str, str]
    evidence: Evidence
    coverage: Coverage
    target: Target
    setup: SetupRecord
    sources: List[Source]
    inputs: Inputs
    outputs: Tree
    values: List[Value]
    operations: List[Operation]
    scopes: List[Scope]
    frames: List[Frame]
    observations: List[Observation]
    """What lines bound names to, and what functions returned: the name `return`."""
    reads: NotRequired[List[Observation]]
    """What names held when a line that reads them began."""
    structures: NotRequired[List[Structure]]
    bodies: List[Body]
    unavailable: Dict[str, str]


class FailureDetail(TypedDict):
    kind: str
    """`exception`, `limit`, `device`, `dtype`, `setup`, ...: what the daemon chooses its error by."""
    type: str
    """Qualified exception type, such as `TypeError` or `flax.errors.ScopeParamShapeError`."""
    message: str
    """One line: what went wrong, reduced to the leaf, operand or argument at fault."""
    detail: NotRequired[str]
    """The exception's own message in full, where `message` is not all of it."""
    hint: NotRequired[str]
    """One line: what to try."""
    frames: List[Frame]
    """Innermost first. Frames of the framework's own machinery are left out where the program has frames of its own."""
    phase: Phase
    limit: NotRequired[str]
    """Name of the exceeded limit, where `kind` is `limit`."""
    key: NotRequired[str]
    """Place in the setup that is at fault, such as `inputs.args[0].dtype`."""


class Failure(TypedDict):
    formatVersion: int
    framework: Literal["jax", "torch"]
    versions: Dict[str, str]
    target: Target
    failure: FailureDetail
    sources: List[Source]
    observations: List[Observation]
    """What lines bound names to, and what functions returned: the name `return`."""
    reads: NotRequired[List[Observation]]
    """What names held when a line that reads them began."""
    structures: NotRequired[List[Structure]]


Document = Union[Capture, Failure]
