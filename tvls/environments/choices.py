"""Which Python somebody chose for a folder. Kept in the user's state directory, never in a workspace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from tvls.environments.find import Selected
from tvls.userstate import locked, replace_file, state_directory

_LOCK: Final = "interpreters.lock"


class _File(msgspec.Struct, frozen=True):
    version: int
    folders: dict[str, list[str]]
    """Real path → command."""


class Choices:
    """Choices by folder. Beside other daemons with the same state directory: the last one to choose wins."""

    def __init__(self, state_dir: Path | None = None) -> None:
        self._dir: Final = (state_dir or state_directory()).absolute()
        self._path: Final = self._dir / "interpreters.json"
        self._editor: Final[dict[str, tuple[str, ...]]] = {}
        self._read: tuple[tuple[int, ...] | None, dict[str, list[str]]] = (None, {})

    def of(self, folder: Path) -> list[Selected]:
        """A person's choice, then what the editor's own selection says. Never raises."""
        real = os.path.realpath(folder)
        remembered = self._remembered().get(real)
        found = [Selected(tuple(remembered), "chosen")] if remembered else []
        if real in self._editor:
            found.append(Selected(self._editor[real], "editor"))
        return found

    def choose(self, folder: Path, command: Sequence[str]) -> None:
        """Remember a command, or with an empty one forget the choice. Raises OSError where it cannot be stored."""
        real = os.path.realpath(folder)
        with locked(self._dir, _LOCK):
            folders = {other: kept for other, kept in self._load().items() if other != real}
            if command:
                folders[real] = list(command)
            data = msgspec.json.encode(_File(1, dict(sorted(folders.items()))))
            replace_file(self._path, msgspec.json.format(data))

    def follow_editor(self, folder: Path, command: Sequence[str]) -> None:
        """Until the daemon ends, or the editor says otherwise."""
        real = os.path.realpath(folder)
        if command:
            self._editor[real] = tuple(command)
        else:
            self._editor.pop(real, None)

    def _remembered(self) -> dict[str, list[str]]:
        try:
            status = self._path.stat()
        except OSError:
            return {}
        identity = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        if self._read[0] != identity:
            self._read = (identity, self._load())
        return self._read[1]

    def _load(self) -> dict[str, list[str]]:
        """Nothing where the file is missing or damaged: the choice is then asked for again, as for a new folder."""
        try:
            stored = msgspec.json.decode(self._path.read_bytes(), type=_File)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}
        return stored.folders if stored.version == 1 else {}
