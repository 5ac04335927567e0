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
from typing import Final

import msgspec

from tvls.environments import managers
from tvls.protocol.types_environment import InterpreterOrigin as Origin
from tvls.reading import read_source

FOLDER_NAMES: Final = (".venv", "venv", "env", ".env", ".conda", ".pixi/envs/default")

SELECTED: Final[tuple[Origin, ...]] = ("configured", "chosen", "editor")
"""Somebody said so, the most decisive first: such an interpreter is the only one that counts."""


class Selected(msgspec.Struct, frozen=True):
    """What somebody said about the capture Python of a folder."""

    command: tuple[str, ...]
    origin: Origin


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
    automatic: bool = True
    """False: nothing connects it with the folder, so that it is taken only by choice."""


def find(
    folder: Path, selected: Sequence[Selected] = (), environ: Mapping[str, str] | None = None
) -> list[Interpreter]:
    """Candidates for `folder`, the best first, each interpreter once.

    A selected command comes first, as it is given, whether it exists or not: a mistake in it is to be told, not passed
    over. Then virtual environments of the folder, those that environment managers keep for it elsewhere, the active
    environment, the version that pyenv has for the folder, and what PATH has.
    """
    environ = os.environ if environ is None else environ
    result: dict[tuple[str, ...], Interpreter] = {}
    for interpreter in _candidates(folder, selected, environ):
        result.setdefault(interpreter.command, interpreter)
    return list(result.values())


def eligible(candidates: Sequence[Interpreter]) -> list[Interpreter]:
    """Those that a graph may be traced with: the selected one alone, else all that have to do with the folder."""
    if candidates and candidates[0].origin in SELECTED:
        return [candidates[0]]
    return [candidate for candidate in candidates if candidate.automatic]


def program_fault(command: Sequence[str]) -> str | None:
    """Why a command of `find` cannot be started, as far as its program's file tells; None where it may well be."""
    program = command[0]
    path = Path(program)
    if not path.is_absolute():
        return None if shutil.which(program) else f"There is no program {program} on PATH."
    if path.is_dir():
        return f"{program} is a folder, and no environment: it has no bin/python."
    if not path.exists():
        return f"{program} does not exist."
    if not path.is_file() or not os.access(path, os.X_OK):
        return f"{program} is no program."
    return None


_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?")


def names_a_python(command: Sequence[str], version: str | None) -> bool:
    """Whether a command says by a name that it is a Python, or a file does so by its version; none is started."""
    return version is not None or any(_PYTHON.fullmatch(Path(word).name) for word in command)


def explain(interpreter: Interpreter, folder: Path) -> str:
    """Why an interpreter is offered, in words."""
    prefix = interpreter.prefix
    match interpreter.origin:
        case "configured":
            return "the setting `tvls.interpreter`"
        case "chosen":
            return "your choice for this folder"
        case "editor":
            return "selected in the editor"
        case "folder":
            inside = prefix is not None and Path(prefix).is_relative_to(folder)
            return f"`{Path(prefix).relative_to(folder)}` in the folder" if prefix and inside else "in the folder"
        case "uv":
            return "uv's environment of the project"
        case "poetry" | "pipenv" | "hatch":
            return f"{interpreter.origin.capitalize()}'s environment of the project"
        case "pyenv":
            return "pyenv's version for the folder"
        case "VIRTUAL_ENV" | "CONDA_PREFIX":
            return f"the active environment ({interpreter.origin})"
        case "conda":
            return f"the Conda environment {Path(prefix).name!r}" if prefix else "a Conda environment"
        case "path":
            return "on PATH"


def _candidates(folder: Path, selected: Sequence[Selected], environ: Mapping[str, str]) -> Iterator[Interpreter]:
    for choice in selected:
        yield _interpreter(list(choice.command), choice.origin, folder)
    for name in FOLDER_NAMES:
        yield from _environment(folder / name, "folder", folder)
    for child in _children(folder):
        yield from _environment(child, "folder", folder)
    home = Path(environ["HOME"]) if environ.get("HOME") else None
    for prefix in managers.uv_environments(folder, environ):
        yield from _environment(prefix, "uv", folder)
    if home is not None:
        for prefix in managers.poetry_environments(folder, environ, home):
            yield from _environment(prefix, "poetry", folder)
        for prefix in managers.pipenv_environments(folder, environ, home):
            yield from _environment(prefix, "pipenv", folder)
        for prefix in managers.hatch_environments(folder, environ, home):
            yield from _environment(prefix, "hatch", folder)
    if environ.get("VIRTUAL_ENV"):
        yield from _environment(Path(environ["VIRTUAL_ENV"]), "VIRTUAL_ENV", folder)
    # Conda's base is active by default in many shells and then says nothing about this folder; PATH still has it.
    if environ.get("CONDA_PREFIX") and environ.get("CONDA_DEFAULT_ENV") != "base":
        yield from _environment(Path(environ["CONDA_PREFIX"]), "CONDA_PREFIX", folder)
    known = managers.conda_environments(home) if home is not None else []
    name = managers.conda_name(folder)
    for prefix in known:
        if prefix.name == name:
            yield from _environment(prefix, "conda", folder)
    if home is not None:
        for prefix in managers.pyenv_versions(folder, environ, home):
            yield from _environment(prefix, "pyenv", folder, base=True)
    absolute = os.pathsep.join(p for p in environ.get("PATH", "").split(os.pathsep) if Path(p).is_absolute())
    programs = (shutil.which(name, path=absolute) if absolute else None for name in ("python3", "python"))
    # `python3` and `python` of one folder are one interpreter.
    for program in {os.path.dirname(program): program for program in programs if program}.values():  # noqa: PTH120
        yield _interpreter([program], "path", folder)
    for prefix in known:
        for interpreter in _environment(prefix, "conda", folder):
            yield msgspec.structs.replace(interpreter, automatic=False)


def _children(folder: Path) -> list[Path]:
    """Folders in `folder` itself: an environment there may have any name."""
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir())
    except OSError:  # a folder that is gone, or not ours to read, has none
        return []


def _environment(prefix: Path, origin: Origin, folder: Path, *, base: bool = False) -> Iterator[Interpreter]:
    """The interpreter of a virtual or Conda environment, if that is what `prefix` is; with `base`, of any Python."""
    if not prefix.is_absolute() or not (base or _is_environment(prefix)):
        return
    for name in ("Scripts/python.exe", "python.exe") if sys.platform == "win32" else ("bin/python", "bin/python3"):
        program = prefix / name
        if program.is_file():  # follows links: a dangling one, as after an upgrade of the base Python, is none
            interpreter = _interpreter([str(program)], origin, folder)
            if base and interpreter.python is None and re.fullmatch(r"\d+(\.\d+)+", prefix.name):
                interpreter = msgspec.structs.replace(interpreter, python=prefix.name)  # as pyenv names them
            yield interpreter
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
        text = read_source(str(prefix / "pyvenv.cfg")).decode("utf-8", "replace")
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
