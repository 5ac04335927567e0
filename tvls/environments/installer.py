"""The installer of an environment: which one it has, whether it may be used, and how it is run.

An installer works for a person who waits: what it prints is handed on line by line, and it can be interrupted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tvls.environments import launch
from tvls.environments.ask import answer_in, ask
from tvls.environments.probe import Environment, release
from tvls.environments.processes import ended, guard, kill_group
from tvls.protocol.errors import TvlsError

_OLDEST_PIP: Final = "22.2"  # the first with --dry-run and --report
_GRACE_SECONDS: Final = 10.0
_DESCRIBE_SECONDS: Final = 60.0
_MISLEADING: Final = (
    *("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_DRY_RUN", "PIP_REPORT", "PIP_QUIET", "PIP_VERBOSE"),
    *("PIP_BREAK_SYSTEM_PACKAGES", "PIP_PYTHON", "PIP_LOG", "UV_TARGET", "UV_PREFIX", "UV_BREAK_SYSTEM_PACKAGES"),
    *("UV_SYSTEM_PYTHON", "UV_PYTHON"),
)
"""Variables by which an installer would work on another place, or say less than is needed."""


class Installation(msgspec.Struct, frozen=True):
    """What is installed in an environment, and whether more may be."""

    distributions: dict[str, str]
    """Name → version."""
    purelib: str
    writable: bool
    managed: str | None = None
    """Set where another installer manages it (PEP 668): what that says."""


class Installer(msgspec.Struct, frozen=True):
    name: str
    version: str
    command: tuple[str, ...]
    """Up to the subcommand `install`."""
    folder: str | None
    """Where to start it; None: in an empty folder, since `python -m` imports from where it is started."""


async def installation(environment: Environment) -> Installation:
    """TvlsError `environmentInvalid` where the interpreter gives no answer."""
    output = await ask(environment.command, ["installation"], environment.folder, _DESCRIBE_SECONDS)
    found = answer_in(output, Installation)
    if found is None:
        message = f"{environment.executable} did not say what is installed (exit code {output.code})."
        raise TvlsError("environmentInvalid", message, "Try it in a terminal.", stderr=output.last)
    return msgspec.structs.replace(
        found, distributions={canonical(name): version for name, version in found.distributions.items()}
    )


def choose_installer(environment: Environment, installed: Installation) -> Installer:
    """pip of the environment itself, else a uv on PATH. TvlsError `planRefused` where neither may or can install."""
    where = environment.executable
    if installed.managed is not None:
        raise TvlsError(
            "planRefused",
            f"{where} belongs to the operating system or another installer, which allows no other to install into it."
            + (f" It says: {_first_paragraph(installed.managed)}" if installed.managed else ""),
            "Make a virtual environment in the folder (`python3 -m venv .venv`) and select it.",
            reason="externallyManaged",
        )
    if not installed.writable:
        raise TvlsError(
            "planRefused",
            f"{installed.purelib} cannot be written, so nothing can be installed into {environment.prefix}.",
            "Make a virtual environment in the folder (`python3 -m venv .venv`) and select it, or ask whoever owns "
            "this one.",
            reason="readOnly",
        )
    pip = installed.distributions.get("pip")
    if pip is not None and release(pip) >= release(_OLDEST_PIP):
        return Installer("pip", pip, (where, "-m", "pip"), None)
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(environment.prefix) / "bin"))
    if uv is not None:
        return Installer("uv", _uv_version(uv), (uv, "pip"), environment.folder)
    if pip is not None:
        message = f"{environment.prefix} has pip {pip}, which cannot say beforehand what it would do."
        step = f"Upgrade it (`{where} -m pip install --upgrade pip`)."
    else:
        message = f"{environment.prefix} has no pip, and there is no uv on PATH."
        step = f"Give it pip (`{where} -m ensurepip --upgrade`), or install uv."
    raise TvlsError("planRefused", message, step, reason="noInstaller")


def canonical(name: str) -> str:
    """As package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Ended(msgspec.Struct, frozen=True):
    code: int
    lines: list[str]


async def run_installer(
    command: Sequence[str], folder: Path, on_line: Callable[[str], None], *, careful: bool
) -> Ended:
    """Runs it to its end. Its output, errors included, is told line by line.

    When this is cancelled it is interrupted; with `careful` it has some seconds to put right what it was at.
    Raises OSError where it cannot be started.
    """
    process = _start(command, folder)
    unguard = guard(process)
    lines: list[str] = []
    reading = asyncio.ensure_future(_read_lines(process, lines, on_line))
    try:
        await asyncio.shield(reading)
        return Ended(await ended(process), lines)
    except asyncio.CancelledError:
        if careful and process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            with contextlib.suppress(TimeoutError):  # killed below
                async with asyncio.timeout(_GRACE_SECONDS):
                    await reading  # it writes what it is doing, and must not fail at that
                    await ended(process)
        raise
    finally:
        reading.cancel()
        kill_group(process)
        process.wait()
        unguard()


def _start(command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    environ = {
        name: value
        for name, value in os.environ.items()
        if name not in _MISLEADING and name not in ("__PYVENV_LAUNCHER__", "VIRTUAL_ENV", "CONDA_PREFIX")
    }
    environ |= {
        "PIP_NO_INPUT": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_USER": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "NO_COLOR": "1",
        "UV_NO_PROGRESS": "1",
        launch.MARK: launch.new_mark(),
    }
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environ,
        start_new_session=True,
    )


async def _read_lines(process: subprocess.Popen[bytes], lines: list[str], on_line: Callable[[str], None]) -> None:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), process.stdout
    )
    try:
        rest = b""
        while data := await reader.read(65536):
            *whole, rest = re.split(rb"[\r\n]", rest + data)
            for line in whole:
                _tell(line, lines, on_line)
        _tell(rest, lines, on_line)
    finally:
        transport.close()


def _tell(data: bytes, lines: list[str], on_line: Callable[[str], None]) -> None:
    text = data.decode("utf-8", "replace").rstrip()
    if text:
        lines.append(text)
        on_line(text)


def _uv_version(uv: str) -> str:
    try:
        said = subprocess.run([uv, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    words = said.split()
    return words[1] if len(words) > 1 else "?"


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n")[0].split())
