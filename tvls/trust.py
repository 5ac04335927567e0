"""Which folders the user trusts to run code. Kept in the user's state directory, never in a workspace.

A grant covers the real folder that was named and everything really inside it; symbolic links neither widen nor carry
it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from tvls import userstate
from tvls.protocol.errors import TvlsError

_log = logging.getLogger(__name__)

_VERSION: Final = 1


class Grant(msgspec.Struct, frozen=True):
    folder: Path
    """Real path."""
    remembered: bool
    """False: until the daemon ends."""
    note: str | None = None
    """Why it is not remembered although that was asked for."""


class Withdrawal(msgspec.Struct, frozen=True):
    folders: list[Path]
    """What is no longer trusted from now on."""
    note: str | None = None
    """Why that holds only until the daemon ends, if so."""


class _File(msgspec.Struct, frozen=True):
    version: int
    folders: dict[str, dict[str, str]]
    """Real path → `granted`: when, in UTC."""


class TrustStore:
    """Grants of trust. Safe to use from several threads, and beside other daemons with the same state directory.

    `problems` tells in words what was wrong with the store itself. A store that cannot be read trusts nothing.
    """

    def __init__(self, state_dir: Path | None = None) -> None:
        self._dir: Final = (state_dir or platformdirs.user_state_path("tvls", appauthor=False)).absolute()
        self._path: Final = self._dir / "trust.json"
        self._session: set[str] = set()
        self._withdrawn: set[str] = set()
        """Stored grants that count no more although they could not be deleted."""
        self._read: tuple[tuple[int, ...] | None, frozenset[str]] | None = None
        self._mutex: Final = threading.RLock()
        self._session_only = False
        self.problems: list[str] = []

    def leave_to_client(self) -> None:
        """From now on only grants of this session count, and none is stored: the editor remembers by itself."""
        self._session_only = True

    def is_trusted(self, path: Path) -> bool:
        """Whether code of `path` (a folder or a file, existing or not) may run. Never raises."""
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return False
        with self._mutex:
            remembered = frozenset[str]() if self._session_only else self._remembered()
            return any(_covers(folder, real) for folder in (*self._session, *remembered))

    def grant(self, folder: Path, persist: bool = True) -> Grant:
        """Trusts `folder` and everything in it; with `persist=False` until the daemon ends.

        A grant that cannot be stored (the state directory is read-only, or lies in the folder itself, where the
        folder's own files could add to it) still holds until the daemon ends, and its `note` says so.

        Raises TvlsError (`notTrusted`) where there is no such folder, and for a lasting grant of a folder so wide that
        whatever is downloaded later would fall under it: the root, the home folder and what holds it, and the folder
        for temporary files.
        """
        real = os.path.realpath(folder)
        if not Path(real).is_dir():
            raise TvlsError(
                "notTrusted", f"{folder} is no folder, so it cannot be trusted.", "Open a folder that exists."
            )
        with self._mutex:
            if not persist or self._session_only:
                self._session.add(real)
                return Grant(Path(real), remembered=False)
            if real in _too_wide():
                raise TvlsError(
                    "notTrusted",
                    f"{real} is not trusted as a whole: everything that is ever put into it would be trusted, too.",
                    "Open the folder of the project itself and trust that.",
                    folder=Path(real).as_uri(),
                )
            note = self._cannot_hold(real)
            if note is None:
                try:
                    self._change(lambda folders: folders | {real: {"granted": _now()}})
                except OSError as error:
                    note = f"{self._dir} cannot be written ({error.strerror})"
            if note is None:
                self._withdrawn.discard(real)
                return Grant(Path(real), remembered=True)
            self._session.add(real)
            note += "; the folder is trusted until the server ends"
            _log.warning("trust of %s is not remembered: %s", real, note)
            return Grant(Path(real), remembered=False, note=note)

    def revoke(self, folder: Path) -> Withdrawal:
        """Withdraws every grant that covers `folder` or lies in it, at once."""
        real = os.path.realpath(folder)

        def concerns(other: str) -> bool:
            return _covers(other, real) or _covers(real, other)

        with self._mutex:
            session = {other for other in self._session if concerns(other)}
            stored = {other for other in self._remembered() if concerns(other) and not self._session_only}
            self._session -= session
            note = None
            if stored:
                self._withdrawn |= stored
                try:
                    self._change(lambda folders: {other: at for other, at in folders.items() if not concerns(other)})
                    self._withdrawn -= stored
                except OSError as error:
                    note = f"{self._path} cannot be changed ({error.strerror}); the next server would trust again"
                    _log.warning("%s", note)
            return Withdrawal(sorted(Path(other) for other in session | stored), note)

    def list(self) -> list[Grant]:
        """Every grant in force, by folder."""
        with self._mutex:
            remembered = self._remembered()
            every = sorted(self._session | remembered)
            return [Grant(Path(folder), remembered=folder in remembered) for folder in every]

    def _cannot_hold(self, real: str) -> str | None:
        """Why grants for `real` cannot be kept in the state directory, if so."""
        if _covers(real, os.path.realpath(self._dir)):
            return f"the state directory {self._dir} lies in the folder itself"
        try:
            real.encode()
        except UnicodeEncodeError:
            return "the name of the folder is not UTF-8"
        return None

    # --- the file ----------------------------------------------------------------------------------------------------

    def _remembered(self) -> frozenset[str]:
        """Stored grants that may be believed; read again only when the file is another one than last time."""
        try:
            status = self._path.stat()
            identity = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode)
        except OSError:
            identity = None
        if self._read is None or self._read[0] != identity:
            wide = _too_wide()
            folders = self._load(locked=False)
            believed = (folder for folder in folders if folder not in wide and self._cannot_hold(folder) is None)
            self._read = (identity, frozenset(believed))
        return self._read[1] - self._withdrawn

    def _load(self, *, locked: bool) -> dict[str, dict[str, str]]:
        """What the file says; nothing where it is missing, unsafe or damaged. A damaged one is put aside."""
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                data = file.read()
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._report(f"{self._path} cannot be read ({error.strerror}), so nothing in it is trusted")
            return {}
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            self._report(f"{self._path} can be changed by others (chmod 600 it), so nothing in it is trusted")
            return {}
        try:
            stored = msgspec.json.decode(data, type=_File)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            fault = str(error)
        else:
            if stored.version == _VERSION:
                return {folder: at for folder, at in stored.folders.items() if folder.startswith(os.sep)}
            fault = f"its version is {stored.version}"
        if locked:
            self._set_aside(fault)
            return {}
        try:
            with userstate.locked(self._dir, "trust.lock"):  # it may be another file by now
                return self._load(locked=True)
        except OSError as error:
            self._report(f"{self._path} is damaged ({fault}) and stays ({error.strerror}); nothing in it is trusted")
            return {}

    def _set_aside(self, fault: str) -> None:
        """Keeps a file that is not understood under another name, so that nothing is lost. Raises OSError."""
        kept = self._path.with_name(f"{self._path.name}.damaged-{time.time_ns()}")
        self._path.rename(kept)
        self._report(f"{self._path} is damaged ({fault}): it is kept as {kept.name}, and nothing in it is trusted")

    def _report(self, message: str) -> None:
        if message not in self.problems:
            self.problems.append(message)
            _log.warning("%s", message)

    def _change(self, change: Callable[[dict[str, dict[str, str]]], dict[str, dict[str, str]]]) -> None:
        """Reads, changes and replaces the file while no other daemon does. Raises OSError."""
        with userstate.locked(self._dir, "trust.lock"):
            old = self._load(locked=True)
            new = change(old)
            if new == old:
                return
            data = msgspec.json.format(msgspec.json.encode(_File(_VERSION, dict(sorted(new.items())))))
            userstate.replace_file(self._path, data)
            self._read = None


def _covers(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def _too_wide() -> frozenset[str]:
    folders = {os.sep, os.path.realpath(tempfile.gettempdir())}
    with contextlib.suppress(RuntimeError):  # a user without a home folder
        home = Path(os.path.realpath(Path.home()))
        folders |= {str(home), *map(str, home.parents)}
    return frozenset(folders)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
