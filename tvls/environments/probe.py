"""Ask an interpreter what it is. Runs it, so only for a trusted folder.

What is learnt is kept as long as the interpreter, its `pyvenv.cfg` and its installed distributions stay as they were.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tvls.capture.document import TargetKind
from tvls.environments.ask import SELECT_ANOTHER, answer_in, ask
from tvls.protocol.errors import TvlsError

OLDEST_PYTHON: Final = "3.10"
OLDEST: Final = {"jax": "0.6.1", "flax": "0.10.6", "torch": "2.3"}
NEEDED: Final[dict[TargetKind, tuple[str, ...]]] = {
    "jax.function": ("jax",),
    "flax.linen": ("jax", "flax"),
    "flax.nnx": ("jax", "flax"),
    "torch.module": ("torch",),
}
"""Libraries that a target of each kind needs in the capture Python."""


class Environment(msgspec.Struct, frozen=True):
    """A capture Python, as it described itself."""

    command: tuple[str, ...]
    """How it is started: an interpreter, or a wrapper such as `("uv", "run", "python")`."""
    folder: str
    """Folder that it is started in; a wrapper may choose by it."""
    executable: str
    prefix: str
    python: str
    """Version, such as `3.11.7`."""
    libraries: dict[str, str]
    """Versions of the libraries that captures care about, by distribution name."""
    paths: tuple[str, ...]
    """Folders that distributions are installed in."""
    fingerprint: str
    """What `fingerprint` answered when this was learnt."""


class _Answer(msgspec.Struct, rename="camel"):
    python: str = ""
    executable: str = ""
    prefix: str = ""
    libraries: dict[str, str] = {}
    paths: list[str] = []
    too_old: str | None = None


_known: dict[tuple[tuple[str, ...], str], Environment] = {}


async def probe(command: Sequence[str], folder: str, *, seconds: float = 30.0) -> Environment:
    """Run `command` in `folder` and have it describe itself, or answer what is known and still true.

    TvlsError `environmentInvalid` where it does not exist, cannot run, is no Python or one older than 3.10, or takes
    longer than `seconds`. Whether it has the libraries that a target needs is `require`'s question.
    """
    key = tuple(command), folder
    known = _known.get(key)
    if known is not None and await asyncio.to_thread(fingerprint, known) == known.fingerprint:
        return known
    answer = await _ask(key[0], folder, seconds)
    fields: dict[str, Any] = {
        "command": key[0],
        "folder": folder,
        "executable": answer.executable,
        "prefix": answer.prefix,
        "python": answer.python,
        "libraries": answer.libraries,
        "paths": tuple(answer.paths),
    }
    print_of = await asyncio.to_thread(fingerprint, Environment(**fields, fingerprint=""))
    environment = _known[key] = Environment(**fields, fingerprint=print_of)
    return environment


def requirement(library: str) -> str:
    """As an installer takes it: `jax>=0.6.1`."""
    return f"{library}>={OLDEST[library]}"


def require(environment: Environment, kind: TargetKind) -> None:
    """TvlsError `environmentInvalid` where the environment lacks what a target of `kind` needs, or has it too old."""
    where = environment.executable
    faults: dict[str, str] = {}
    for library in NEEDED[kind]:
        installed = environment.libraries.get(library)
        if installed is None:
            faults[library] = f"{where} (Python {environment.python}) has no {library}."
        elif release(installed) < release(OLDEST[library]):
            faults[library] = (
                f"{where} has {library} {installed}; the oldest that can be captured is {OLDEST[library]}."
            )
    if faults:
        needed = [requirement(library) for library in faults]
        choice = "(`tvls env use PYTHON`, or the setting `tvls.interpreter`)"
        install = (
            f"look at what installing {' and '.join(needed)} there would change (`tvls env install`, or in an editor "
            "the command `tvls.server.installLibraries`)"
        )
        step = f"{install[0].upper()}{install[1:]}, or select another interpreter {choice}."
        if _is_own(environment.prefix):
            step = f"That is tvls's own environment: select the Python of your models {choice}, or {install}."
        raise TvlsError(
            "environmentInvalid",
            next(iter(faults.values())),
            step,
            folder=Path(environment.folder).as_uri(),
            interpreter=list(environment.command),
            requirements=needed,
        )


def _is_own(prefix: str) -> bool:
    """Whether an environment is the one that this process runs in."""
    return sys.prefix != sys.base_prefix and Path(prefix).resolve() == Path(sys.prefix).resolve()


def fingerprint(environment: Environment) -> str:
    """Digest over the interpreter's file (and the wrapper's), `pyvenv.cfg`, and names and times of what is installed.

    Differs as soon as a distribution is installed, removed, upgraded or made editable. A few stat calls for each
    distribution and no file is read: cheap enough for every check of freshness.
    """
    entries: list[str] = []
    for path in {environment.executable, environment.command[0], str(Path(environment.prefix) / "pyvenv.cfg")}:
        entries.append(_stamp(path))
    for folder in environment.paths:
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    if entry.name.endswith((".dist-info", ".egg-info", ".egg-link", ".pth")):
                        entries.append(f"{entry.name}:{entry.stat().st_mtime_ns}")
        except OSError as fault:
            entries.append(f"{folder}:{fault.errno}")
        entries.append(folder)
    return hashlib.sha256("\n".join(sorted(entries)).encode("utf-8", "surrogateescape")).hexdigest()


def _stamp(path: str) -> str:
    try:
        status = Path(path).stat()
    except OSError as fault:
        return f"{path}:{fault.errno}"
    return f"{path}:{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"


async def _ask(command: tuple[str, ...], folder: str, seconds: float) -> _Answer:
    output = await ask(command, ["probe"], folder, seconds)
    shown = " ".join(command)
    answer = answer_in(output, _Answer)
    if answer is None or not (answer.too_old or _is_whole(answer)):
        message = f"{shown} does not behave like Python: it ended with exit code {output.code} and no answer."
        raise TvlsError("environmentInvalid", message, SELECT_ANOTHER, stderr=output.last)
    if answer.too_old is not None:
        message = f"{shown} is Python {answer.too_old}; the oldest that can be captured with is {OLDEST_PYTHON}."
        raise TvlsError("environmentInvalid", message, f"Choose a Python from {OLDEST_PYTHON} on.")
    return answer


def _is_whole(answer: _Answer) -> bool:
    places = [answer.executable, answer.prefix, *answer.paths]
    return bool(answer.python) and all(place and "\0" not in place for place in places)


def release(text: str) -> tuple[int, ...]:
    """Release numbers of a version, without what follows them (`0.6.1.dev3` is `0.6.1`)."""
    match = re.match(r"\d{1,18}(\.\d{1,18})*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()
