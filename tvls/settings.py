"""Settings of the daemon: `initializationOptions`, or the section `tvls` of the client's configuration."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tvls.capture.limits import Limits

Positive = Annotated[int, msgspec.Meta(gt=0)]
_DEFAULT = Limits()


class LimitSettings(msgspec.Struct, rename="camel", frozen=True):
    """Bounds of one trace; each excess is a failure of its own that names the setting."""

    operations: Positive = _DEFAULT.operations
    scopes: Positive = _DEFAULT.scopes
    values: Positive = _DEFAULT.values
    encoded_bytes: Positive = _DEFAULT.encoded_bytes
    seconds: Annotated[float, msgspec.Meta(gt=0)] = _DEFAULT.seconds
    memory_bytes: Positive = _DEFAULT.memory_bytes
    input_arrays: Positive = _DEFAULT.input_arrays
    input_elements: Positive = _DEFAULT.input_elements


class Settings(msgspec.Struct, rename="camel", frozen=True):
    interpreter: str | list[str] | None = None
    """The capture Python: a path, or a command such as `["uv", "run", "python"]`. Absent: found in the folder."""
    trusted_folders: list[str] = []
    """Folders (paths or `file:` URIs) that the client vouches for, as long as the server runs; for editors with a trust
    decision of their own."""
    idle_seconds: Annotated[float, msgspec.Meta(gt=0)] = 900.0
    """A warm worker that was not used for so long ends."""
    show: Literal["canvas", "outline"] = "canvas"
    """What `tvls.server.openGraph` shows: the graph in a browser, or its outline as a text document."""
    inlay_hints: bool = False
    """Whether `textDocument/inlayHint` is answered with shapes."""
    limits: LimitSettings = LimitSettings()

    def capture_limits(self) -> Limits:
        return Limits(**msgspec.structs.asdict(self.limits))

    def interpreter_command(self) -> list[str] | None:
        if isinstance(self.interpreter, str):
            return [self.interpreter] if self.interpreter else None
        return self.interpreter or None
