"""Parameters and results of `tvls/setup/*`: a setup as a form that every client can show.

A form is a flat list of fields in the order in which they are read. A field that has `parts` is a heading; its parts
follow it, and name it as their `parent`. The server keeps nothing of a form: a client sends the changes that the person
made since the draft, and gets the whole form back.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tvls.protocol.types import Range, SetupProblem, TargetRef, Wire

FieldType = Literal[
    "integer",
    "number",
    "boolean",
    "string",
    "choice",
    "dtype",
    "shape",
    "dimension",
    "value",
    "tensor",
    "list",
    "tuple",
    "table",
]


class SetupOption(Wire, frozen=True, kw_only=True):
    value: Any
    text: str
    """What `SetupChange.text` takes for it; good to show."""
    help: str = ""


class SetupSuggestion(Wire, frozen=True, kw_only=True):
    """A value that something else states. Nothing is filled in from it unless the person chooses it."""

    value: Any
    text: str
    source: str
    """Where it comes from, in words: `profile small`, `comment in model.py:12`."""


class SetupField(Wire, frozen=True, kw_only=True):
    key: str
    """Place in the profile, such as `inputs.args[0].shape` or `init.kwargs.width`. Beside those: `dimensions.batch` for
    a dimension that annotations name and shapes use, `inputs.source` for where arguments come from, `name`."""
    group: str
    """Id of a group."""
    parent: str = ""
    """Key of the field that this one is a part of."""
    label: str
    type: FieldType
    """A word of the table *field types*. Treat one that you do not know as `value`."""
    text: str = ""
    """The value as a person writes it; empty where there is none yet."""
    value: Any = msgspec.UNSET
    """The value as `tensorviz.toml` has it; in a shape, `"?"` and `"?batch"` stand for dimensions that are still open.
    Absent: not stated, which is a question where the field is required."""
    default: str | None = None
    """Source text of what the program takes where nothing is stated."""
    required: bool = False
    assumed: bool = False
    """The value is the usual one for such a parameter, and nothing states it: worth a look."""
    parts: bool = False
    """A heading: its parts follow as fields of their own."""
    advanced: bool = False
    """Rarely changed; may be folded away."""
    annotation: str | None = None
    """Source text."""
    help: str = ""
    """For people. The first line is enough to go on; further lines are details that may be folded away."""
    error: str | None = None
    """What is wrong with the value, and what would be right."""
    options: list[SetupOption] = []
    """`choice`: all that there are; other types: the usual ones, or those that the capture Python has."""
    suggestions: list[SetupSuggestion] = []


class SetupGroup(Wire, frozen=True, kw_only=True):
    id: str
    """`inputs`, `init`, `dimensions`, `run`."""
    title: str
    help: str = ""
    more: bool = False
    """More keyword arguments can be added by a change of `init.kwargs.NAME` (`inputs.kwargs.NAME`)."""


class SetupDraftParams(Wire, frozen=True, kw_only=True):
    target: TargetRef | None = None
    profile: str | None = None
    """Name of the profile to edit, or of the one to make. Absent: the first profile of the target, else a new one."""
    folder: str | None = None
    """URI of the workspace folder, where no target is named."""
    new: bool = False
    """Draft a further profile although the target has one."""


class SetupChange(Wire, frozen=True, kw_only=True):
    """One thing that the person changed. With neither `text` nor `value`, the value is taken back."""

    key: str
    """Of a field, or of any place in the profile."""
    text: str | None = None
    """As typed: `2, 3` for a shape, `float32[2, 3]`, `3`, `true`, `{ a = 1 }` for any value."""
    value: Any = msgspec.UNSET
    """As `tensorviz.toml` would have it."""


class SetupFormParams(Wire, frozen=True, kw_only=True):
    """As for the draft, with what was changed since. `toml` or `setup` take the place of what is saved or drafted; the
    changes are laid over that."""

    target: TargetRef | None = None
    profile: str | None = None
    folder: str | None = None
    new: bool = False
    changes: list[SetupChange] = []
    """In the order in which they were made; a later change of the same place wins."""
    toml: str | None = None
    """The keys of the profile as TOML text, without the header of its table."""
    setup: dict[str, Any] | None = None
    """The profile's table."""


class SetupForm(Wire, frozen=True, kw_only=True):
    folder: str
    uri: str
    """Of the `tensorviz.toml` that the profile is in, or will be."""
    version: str
    """What the file is now. `tvls/setup/save` with it refuses to write over a later change."""
    model: str
    """`module:qualname`."""
    target: TargetRef | None = None
    profile: str
    """Name that it is saved under: the value of the field `name`."""
    exists: bool
    """A profile of this name is in the file."""
    profiles: list[str] = []
    """Those of this target that the file has."""
    groups: list[SetupGroup]
    fields: list[SetupField]
    problems: list[SetupProblem] = []
    """What is wrong and belongs to no field."""
    complete: bool
    """Nothing is wrong, and nothing that is required lacks."""
    setup: dict[str, Any]
    """The profile's table as it would be saved."""
    toml: str
    """The same as text, as `SetupFormParams.toml` takes it."""


class SetupSaveParams(Wire, frozen=True, kw_only=True):
    """As for the check, and how to save."""

    target: TargetRef | None = None
    profile: str | None = None
    folder: str | None = None
    new: bool = False
    changes: list[SetupChange] = []
    toml: str | None = None
    setup: dict[str, Any] | None = None
    version: str | None = None
    """The form's. Absent: whatever the file is now is edited."""
    incomplete: bool = False
    """Save although required values lack; they stand in the file as placeholders for the person to replace."""


class SetupSaved(Wire, frozen=True, kw_only=True):
    profile: str
    folder: str
    uri: str
    version: str
    range: Range
    """The profile's header in the file."""
    unsaved: bool = False
    """The file is open in the editor and was changed there: it has to be saved before the profile can be opened."""
    missing: list[str] = []
    """Keys of the placeholders that were written."""
