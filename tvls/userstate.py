"""Files in the user's state directory, which several daemons may read and change at the same time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Final

import platformdirs

_WAIT_SECONDS: Final = 5.0


def state_directory() -> Path:
    return platformdirs.user_state_path("tvls", appauthor=False)


@contextlib.contextmanager
def locked(directory: Path, name: str) -> Generator[None]:
    """No other daemon is in a block with the same lock. Makes the directory. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(directory / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
        yield
    finally:
        os.close(handle)


def replace_file(path: Path, data: bytes) -> None:
    """Whoever reads `path` finds the old or the new content, never a part of it; only the user can. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
