"""What the application asks of its surroundings: an editor over LSP, or a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

from tvls.protocol import types as t

LogLevel = Literal["error", "warning", "info", "debug"]


class Host(Protocol):
    async def ask_trust(self, folder: Path, interpreter: str) -> bool:
        """Asks the person whether code of `folder` may run with `interpreter`. False where nobody can be asked."""
        ...

    def log(self, level: LogLevel, message: str) -> None: ...

    def changed(self) -> None:
        """Something that lenses, hovers or diagnostics show may differ now."""
        ...

    def location(
        self, path: Path, line: int, column: int | None, end_line: int | None, end_column: int | None
    ) -> t.Location:
        """Editor location of a 1-based line and 0-based UTF-8 byte columns. No column means the whole line."""
        ...

    def position_to_bytes(self, path: Path, position: t.Position) -> tuple[int, int]:
        """1-based line and 0-based UTF-8 byte column of an editor position."""
        ...

    async def edit(self, path: Path, text: str) -> bool:
        """Gives an open buffer this text. False where the editor cannot. Raises TvlsError where it refuses."""
        ...
