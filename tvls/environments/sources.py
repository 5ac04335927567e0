"""Source files of installed libraries, which captures name relative to where they are installed."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from tvls.environments.probe import Environment


def find_source(environment: Environment, path: str) -> Path | None:
    """The file of a library frame, such as `flax/linen/linear.py`; None where the environment has no such file."""
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts:
        return None
    return next((file for folder in environment.paths if (file := Path(folder) / relative).is_file()), None)
