"""What discovery finds, and what travels between the daemon and the analysis process."""

from __future__ import annotations

from typing import Literal

import msgspec

from tvls.capture.document import TargetKind

ParameterKind = Literal["positional_only", "positional_or_keyword", "var_positional", "keyword_only", "var_keyword"]


class Parameter(msgspec.Struct, frozen=True, omit_defaults=True):
    """One parameter as written; `annotation` and `default` are source text.

    Type aliases of the workspace are written out in annotations.
    """

    name: str
    kind: ParameterKind
    annotation: str | None = None
    default: str | None = None
    names: dict[str, str] = {}
    """Names in the annotation or default that are types of the workspace, by what `FoundTarget.types` calls those; of
    a `config` that has neither, the one such type that its file has for it."""


ANY_ARGUMENTS = [Parameter("args", "var_positional"), Parameter("kwargs", "var_keyword")]
"""Parameters of what only the object itself could tell them."""


class Enumeration(msgspec.Struct, frozen=True, tag="enumeration"):
    """A class of the workspace that is an `enum.Enum`."""

    members: list[str]
    values: dict[str, str | int | float] = {}
    """Of the members whose values are written out."""
    path: str = ""


class Record(msgspec.Struct, frozen=True, tag="record"):
    """A class of the workspace that holds values: a dataclass or a named tuple."""

    parameters: list[Parameter]
    """Of its constructor."""
    path: str = ""


NamedType = Enumeration | Record


class FoundTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A function or class that can be opened as a graph. Lines are 1-based, columns are 0-based UTF-8 bytes."""

    path: str
    name: str
    """Qualified name in its module, such as `Encoder` or `Outer.Inner`."""
    kind: TargetKind
    module: str
    """Dotted name to import with `root` on `sys.path`. Bytes that are no text in the name of a file stand escaped."""
    root: str
    line: int
    """Line of `class` or `def` (of the assignment for `name = jax.jit(f)`), below any decorator."""
    column: int
    """Start of the name on the line `name_line`."""
    end_column: int
    name_line: int
    header_end_line: int
    """Line of the colon that ends the header."""
    end_line: int
    """Last line of the body."""
    parameters: list[Parameter] = []
    """Of the call: the function itself, `__call__` of a Flax module, `forward` of a Torch module; without `self`."""
    init_parameters: list[Parameter] = []
    """Of the construction: dataclass fields (Linen), `__init__` without `self` (NNX, Torch). Empty for functions."""
    more_init_parameters: bool = False
    """A base that is not in the workspace, such as `nn.Conv`, may add fields, or take values, that are not listed."""
    types: dict[str, NamedType] = {}
    """Types of the workspace that its parameters, or the parameters of one of these, may take: by `module:qualname`."""
    discovered: bool = True
    """False for a definition that discovery takes for no model, and somebody named all the same."""


class ParseError(msgspec.Struct, frozen=True):
    """Why a file has no targets now."""

    line: int
    """1-based; 0 where the error has no place."""
    message: str
    syntax: bool = True
    """The text is not valid Python; false: the file cannot be read, or reading it was given up."""


class FileError(msgspec.Struct, frozen=True):
    path: str
    error: ParseError


class Found(msgspec.Struct, frozen=True):
    """What an index found: targets by path and line, and the files that could not be read as Python."""

    targets: list[FoundTarget]
    errors: list[FileError]


class FileTargets(msgspec.Struct, frozen=True):
    """`parsed` is false where the text is no valid Python now: `targets` are those of the last valid text, moved.

    A text that cannot reach a framework is not parsed, and counts as parsed.
    """

    targets: list[FoundTarget] = []
    parsed: bool = True
    error: ParseError | None = None


class Named(msgspec.Struct, frozen=True):
    """A definition that discovery takes for no model, for someone who names it all the same.

    `target` is None where it is not there, or where only the object itself could say what it takes.
    """

    target: FoundTarget | None = None
    no_model: bool = False
    """It is a class without a module class among its bases: nothing that can be traced."""
    of_torch: bool = False
    """Its file, with those of the workspace that it imports, imports PyTorch or what is built on it, and not JAX."""


# --- what a definition declares ---------------------------------------------------------------------------------------


class Span(msgspec.Struct, frozen=True):
    """Lines from 1, columns in UTF-8 bytes from 0; no end column means the end of the line."""

    line: int
    column: int
    end_line: int
    end_column: int | None


class DeclaredField(msgspec.Struct, frozen=True):
    name: str
    annotation: str | None
    default: str | None
    span: Span


class Submodule(msgspec.Struct, frozen=True):
    name: str
    constructor: str
    text: str
    span: Span


class Call(msgspec.Struct, frozen=True):
    callee: str
    text: str
    within: list[str]
    submodule: str | None
    span: Span


class Method(msgspec.Struct, frozen=True):
    name: str
    signature: str
    calls: list[Call]
    span: Span


class Declared(msgspec.Struct, frozen=True):
    """Texts are those of the source, each on one line."""

    fields: list[DeclaredField] = []
    submodules: list[Submodule] = []
    methods: list[Method] = []
    total_calls: int = 0
    """Calls in the source; only the first of them are listed."""
    parsed: bool = True
    """False where the text does not parse now, and the last one that did was read."""


# --- messages; their paths are as `names.to_wire` gives them ----------------------------------------------------------


class TargetsRequest(msgspec.Struct, tag="targets", frozen=True):
    id: int
    path: str
    roots: list[str]
    text: bytes | None = None
    """The unsaved buffer, in UTF-8 that may have surrogates; absent: the file on disk."""


class IndexRequest(msgspec.Struct, tag="index", frozen=True):
    id: int
    roots: list[str]
    only: list[str] | None = None
    """Files and folders to report on; absent: all of `roots`."""


class Cancel(msgspec.Struct, tag="cancel", frozen=True):
    id: int


class Buffer(msgspec.Struct, tag="buffer", frozen=True):
    """The unsaved text of an open file, or its end."""

    path: str
    text: bytes | None
    """In UTF-8 that may have surrogates."""


class Avoid(msgspec.Struct, tag="avoid", frozen=True):
    """Marks of files (`board.mark_of`) that earlier processes hung or ended over: they are not read."""

    marks: list[bytes]


class DeclaredRequest(msgspec.Struct, tag="declared", frozen=True):
    id: int
    path: str
    roots: list[str]
    name: str
    text: bytes | None = None


class NamedRequest(msgspec.Struct, tag="named", frozen=True):
    id: int
    path: str
    roots: list[str]
    name: str
    text: bytes | None = None


Message = TargetsRequest | DeclaredRequest | NamedRequest | IndexRequest | Cancel | Buffer | Avoid


class TargetsAnswer(msgspec.Struct, tag="targets", frozen=True):
    id: int
    result: FileTargets


class IndexAnswer(msgspec.Struct, tag="index", frozen=True):
    id: int
    found: Found


class DeclaredAnswer(msgspec.Struct, tag="declared", frozen=True):
    id: int
    declared: Declared | None


class NamedAnswer(msgspec.Struct, tag="named", frozen=True):
    id: int
    named: Named


class Failure(msgspec.Struct, tag="failure", frozen=True):
    id: int
    message: str


Answer = TargetsAnswer | DeclaredAnswer | NamedAnswer | IndexAnswer | Failure
