"""`tensorviz.toml` on disk: its exact text, and writing it so that it is whole at any time."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

from tvls.reading import read_source

BOM: Final = "\ufeff"
NO_FILE: Final = "none"
"""The version of a file that is not there."""


def read_text(path: Path) -> str | None:
    """The text with its line ends and byte-order mark; None where there is no file.

    Raises OSError, UnicodeDecodeError.
    """
    try:
        return read_source(str(path)).decode()
    except FileNotFoundError:
        return None


def version_of(text: str | None) -> str:
    """What tells one state of the file from another."""
    return NO_FILE if text is None else f"sha256:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def write_text(path: Path, text: str) -> None:
    """Replaces the file in one step: a reader sees the old text or the new one.

    A link stays a link, and its file is written; permissions stay. Raises OSError, also for a link that leads out of
    the folder: a workspace from elsewhere must not choose which file of the person's is written.
    """
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(path.parent)):
        raise OSError(errno.EPERM, f"it is a link to {real}, outside of the folder")
    try:
        mode = stat.S_IMODE(real.stat().st_mode)
        if not os.access(real, os.W_OK):  # a rename would get around it
            raise PermissionError(13, "the file is write-protected", str(real))
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    descriptor, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(real)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
