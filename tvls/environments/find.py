"""Interpreters that a folder may be captured with, found by looking at files.

Nothing is run, not even for a version.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

Origin = Literal["configured", "folder", "VIRTUAL_ENV", "CONDA_PREFIX", "path"]

FOLDER_NAMES: Final = (".venv", "venv", "env", ".env")


class Interpreter(msgspec.Struct, frozen=True):
    """A command that should start a Python."""

    command: tuple[str, ...]
    origin: Origin
    python: str | None = None
    """Version as `pyvenv.cfg` or Conda's records tell it; None where no file tells."""
    inside: bool = False
    """It lies in the workspace folder itself."""
    prefix: str | None = None
    """Folder of the virtual or Conda environment that it is of; None where it is of none, or a wrapper chooses."""


def find(
    folder: Path, configured: Sequence[str] | None = None, environ: Mapping[str, str] | None = None
) -> list[Interpreter]:
    """Candidates for `folder`, the best first, each interpreter once.

    A configured command comes first, as it is given, whether it exists or not: a mistake in it is to be told, not
    passed over. Then virtual environments of the folder, the active environment, and what PATH has.
    """
    environ = os.environ if environ is None else environ
    found = list(_candidates(folder, configured, environ))
    seen: set[tuple[str, ...]] = set()
    result: list[Interpreter] = []
    for interpreter in found:
        if interpreter.command not in seen:
            seen.add(interpreter.command)
            result.append(interpreter)
    return result


def _candidates(folder: Path, configured: Sequence[str] | None, environ: Mapping[str, str]) -> Iterator[Interpreter]:
    if configured:
        yield _interpreter(list(configured), "configured", folder)
    for name in FOLDER_NAMES:
        yield from _environment(folder / name, "folder", folder)
    if environ.get("VIRTUAL_ENV"):
        yield from _environment(Path(environ["VIRTUAL_ENV"]), "VIRTUAL_ENV", folder)
    # Conda's base is active by default in many shells and then says nothing about this folder; PATH still has it.
    if environ.get("CONDA_PREFIX") and environ.get("CONDA_DEFAULT_ENV") != "base":
        yield from _environment(Path(environ["CONDA_PREFIX"]), "CONDA_PREFIX", folder)
    absolute = os.pathsep.join(p for p in environ.get("PATH", "").split(os.pathsep) if Path(p).is_absolute())
    programs = (shutil.which(name, path=absolute) if absolute else None for name in ("python3", "python"))
    # `python3` and `python` of one folder are one interpreter.
    for program in {os.path.dirname(program): program for program in programs if program}.values():  # noqa: PTH120
        yield _interpreter([program], "path", folder)


def _environment(prefix: Path, origin: Origin, folder: Path) -> Iterator[Interpreter]:
    """The interpreter of a virtual or Conda environment, if that is what `prefix` is."""
    if not prefix.is_absolute() or not _is_environment(prefix):
        return
    for name in ("Scripts/python.exe", "python.exe") if sys.platform == "win32" else ("bin/python", "bin/python3"):
        program = prefix / name
        if program.is_file():  # follows links: a dangling one, as after an upgrade of the base Python, is none
            yield _interpreter([str(program)], origin, folder)
            return


def _interpreter(command: list[str], origin: Origin, folder: Path) -> Interpreter:
    program = command[0]
    if os.sep in program:
        # Relative to the folder; never resolved: the link in a virtual environment is what makes it one.
        program = os.path.normpath(folder / Path(program).expanduser())
    path = Path(program)
    inside = path.is_absolute() and path.is_relative_to(os.path.normpath(folder))
    prefix = path.parent.parent if path.parent.name in ("bin", "Scripts") else path.parent
    if not path.is_absolute() or len(command) > 1 or not _is_environment(prefix):
        return Interpreter((program, *command[1:]), origin, inside=inside)
    return Interpreter((program,), origin, _recorded_version(prefix), inside, str(prefix))


def _is_environment(prefix: Path) -> bool:
    return (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir()


def _recorded_version(prefix: Path) -> str | None:
    try:
        text = (prefix / "pyvenv.cfg").read_text("utf-8", "replace")
    except OSError:  # not a virtual environment
        text = ""
    match = re.search(r"^\s*version(?:_info)?\s*=\s*(\d+(?:\.\d+)+)", text, re.MULTILINE | re.IGNORECASE)
    if match:
        return match.group(1)
    for record in (prefix / "conda-meta").glob("python-[0-9]*.json"):
        match = re.match(r"python-(\d+(?:\.\d+)+)", record.name)
        if match:
            return match.group(1)
    return None
