"""Parameters and results of `tvls/environment/*`: which Python a folder is captured with, and what it has."""

from __future__ import annotations

from typing import Literal

from tvls.capture.document import TargetKind
from tvls.protocol.types import Wire

InterpreterOrigin = Literal[
    "configured",
    "chosen",
    "editor",
    "folder",
    "uv",
    "poetry",
    "pipenv",
    "hatch",
    "pyenv",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "conda",
    "path",
]
LibraryState = Literal["ok", "missing", "tooOld", "broken"]
ChangeKind = Literal["install", "upgrade", "downgrade", "replace"]


# --- which Python ----------------------------------------------------------------------------------------------------


class EnvironmentListParams(Wire, frozen=True, kw_only=True):
    folder: str | None = None
    """URI of a workspace folder. Absent: the only one."""


class InterpreterInfo(Wire, frozen=True, kw_only=True):
    """A Python that the folder can be captured with. It was not run: that it works is for the probe to say."""

    command: list[str]
    """The interpreter's path, or a command that starts one, such as `["uv", "run", "python"]`."""
    origin: InterpreterOrigin
    """A word of the table *origin*."""
    why: str
    """Where it comes from, in words."""
    python: str | None = None
    """Version as files beside it tell it; absent where none does."""
    prefix: str | None = None
    """Folder of its virtual or Conda environment."""
    selected: bool = False
    """Graphs are traced with it. Without a choice the first whose libraries fit the target is taken, in this order."""
    automatic: bool = True
    """False: it is taken only when it is chosen."""


class EnvironmentListResult(Wire, frozen=True, kw_only=True):
    folder: str
    interpreters: list[InterpreterInfo]
    """In order of preference."""
    trusted: bool
    """Whether they may be run to see what they have."""


class EnvironmentSelectParams(Wire, frozen=True, kw_only=True):
    folder: str | None = None
    command: list[str] = []
    """A path (absolute, or relative to the folder) or a command. Empty: forget the choice."""
    by: Literal["person", "editor"] = "person"
    """`person`: remembered beyond the server, outside the workspace. `editor`: what the editor's own selection says,
    such as that of VS Code's Python extension; it holds until the server ends, after a person's choice."""


# --- what it has -----------------------------------------------------------------------------------------------------


class EnvironmentProbeParams(Wire, frozen=True, kw_only=True):
    folder: str | None = None
    command: list[str] = []
    """Empty: the selected one."""
    work_done_token: str | int | None = None


class LibraryInfo(Wire, frozen=True, kw_only=True):
    """A library that captures need, as it was found by importing it; no code of the workspace was."""

    name: str
    version: str | None = None
    """Absent: not installed."""
    state: LibraryState
    message: str | None = None
    """The state in words, with what the import said where it is broken."""


class Choice(Wire, frozen=True, kw_only=True):
    """A value that a setup can have here, or why it cannot."""

    value: str
    reason: str | None = None
    """Set: not offered, because."""


class FrameworkOffer(Wire, frozen=True, kw_only=True):
    """What a setup for one framework can choose from with this Python."""

    framework: str
    reason: str | None = None
    """Set: the framework cannot be used here, because."""
    devices: list[Choice] = []
    dtypes: list[Choice] = []
    wide: bool = False
    """64-bit values are kept (JAX: `JAX_ENABLE_X64=1`)."""


class EnvironmentInfo(Wire, frozen=True, kw_only=True):
    command: list[str]
    executable: str
    prefix: str
    python: str
    verdict: str
    """In one sentence."""
    libraries: list[LibraryInfo]
    frameworks: list[FrameworkOffer]
    unusable: dict[str, str] = {}
    """Kind of target → why it cannot be captured with this Python."""
    requirements: list[str] = []
    """What `tvls/environment/plan` takes to mend that."""


# --- installing ------------------------------------------------------------------------------------------------------


class EnvironmentPlanParams(Wire, frozen=True, kw_only=True):
    folder: str | None = None
    command: list[str] = []
    """Empty: the selected one."""
    kind: TargetKind | None = None
    """Plan what a target of this kind needs."""
    requirements: list[str] = []
    """Or these: names with extras and versions, such as `jax[cuda13]>=0.6.1`. With neither: what the models that
    were found in the folder need."""
    work_done_token: str | int | None = None


class PackageChange(Wire, frozen=True, kw_only=True):
    name: str
    version: str
    """To be installed."""
    previous: str | None = None
    """Installed now."""
    change: ChangeKind
    requested: bool = False
    """It was asked for; others come along because those need them."""
    source: str | None = None
    """Where the file comes from, without credentials."""


class EnvironmentPlan(Wire, frozen=True, kw_only=True):
    """What the environment's own installer would do, by its own word. Nothing has been changed, built or run."""

    plan_id: str
    folder: str
    interpreter: str
    requirements: list[str]
    installer: str
    """Such as `pip 26.0`."""
    command: list[str]
    """What `tvls/environment/install` runs; the file of requirements that it names has `changes`, pinned."""
    changes: list[PackageChange]
    """Empty: everything that was asked for is installed."""
    held: dict[str, str] = {}
    """Installed distributions that the installer had to leave as they are."""
    notes: list[str] = []
    """What to know before approving, in words."""
    text: str
    """All of it as a document for people."""


class EnvironmentInstallParams(Wire, frozen=True, kw_only=True):
    plan_id: str
    """The plan that a person has approved."""
    work_done_token: str | int | None = None


class EnvironmentInstallResult(Wire, frozen=True, kw_only=True):
    message: str
    """What was done, in one sentence."""
    changes: list[PackageChange]
