"""What a terminal is to the application, and how errors look in it."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tvls.commands.exits import FAILED, MISSING, MISSING_KINDS, USAGE
from tvls.host import LogLevel
from tvls.printable import printable_text
from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError
from tvls.settings import LimitSettings, Settings
from tvls.uris import to_uri

PROJECT_FILES = ("tensorviz.toml", "pyproject.toml", "setup.py", "setup.cfg", ".git")


class Terminal:
    """A `Host` that asks on the terminal, if there is one, and reports on standard error."""

    def __init__(self, trust: bool) -> None:
        self._trust = trust
        self._shown = False

    async def ask_trust(self, folder: Path, interpreter: str) -> bool:
        if self._trust:
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        self.done()
        print(f"Opening a graph runs code of {folder} with {interpreter}.", file=sys.stderr)
        return read_answer("Trust this folder? [y/N] ").strip().lower() in ("y", "yes")

    def log(self, level: LogLevel, message: str) -> None:
        if level != "debug":
            self.done()
            complain(message if level == "info" else f"{level}: {message}")

    def changed(self) -> None:
        """Nothing on a terminal follows a change."""

    def progress(self, phase: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{phase} …", end="", file=sys.stderr, flush=True)
            self._shown = True

    def done(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False

    def location(
        self, path: Path, line: int, column: int | None, end_line: int | None, end_column: int | None
    ) -> t.Location:
        start = t.Position(line=line - 1, character=column or 0)
        end = t.Position(line=(end_line or line) - 1, character=end_column or column or 0)
        return t.Location(uri=to_uri(path), range=t.Range(start=start, end=end))

    def position_to_bytes(self, path: Path, position: t.Position) -> tuple[int, int]:
        return position.line + 1, position.character

    async def edit(self, path: Path, text: str) -> bool:
        return False  # a terminal has no buffers


def read_answer(question: str) -> str:
    """The line that the person answers with its end, empty where the input has ended.

    Ctrl-C raises KeyboardInterrupt at once: what asyncio does with it, cancelling a task, waits for the line.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print(printable_text(question), end="", file=sys.stderr, flush=True)
        return sys.stdin.readline()
    except KeyboardInterrupt:
        print(file=sys.stderr)  # what comes next starts on a line of its own
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def absolute(path: Path) -> Path:
    """Without `.` and `..`, links kept, as editors name files."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def workspace_folder(given: Path | None, near: Path) -> Path:
    """The folder that a command works in: the one given, the nearest above `near` that looks like a project, or the
    one around the package that it is in.

    Raises ValueError where the given one is no folder.
    """
    if given is not None:
        if not given.is_dir():
            raise ValueError(f"there is no folder {given}")
        return absolute(given)
    start = near if near.is_dir() else near.parent
    for folder in (start, *start.parents):
        if any((folder / name).exists() for name in PROJECT_FILES):
            return folder
    while (start / "__init__.py").is_file() and start != start.parent:  # a module is imported by its package's name
        start = start.parent
    return start


def settings(python: str | None, limits: Sequence[str] = ()) -> Settings:
    """`python` is a path, relative to where the command runs, or a command line; `limits` are `NAME=NUMBER`.

    Raises ValueError for a limit that is none.
    """
    interpreter: str | list[str] | None = None
    if python is not None:
        is_file = Path(python).is_file()
        try:
            interpreter = str(absolute(Path(python))) if is_file else shlex.split(python)
        except ValueError as error:
            raise ValueError(f"--python {python}: {error}") from None
    return Settings(interpreter=interpreter, limits=_limits(limits))


def _limits(texts: Sequence[str]) -> LimitSettings:
    known = msgspec.json.encode(LimitSettings())
    table: dict[str, Any] = msgspec.json.decode(known)
    for text in texts:
        name, _, number = text.partition("=")
        if name not in table:
            raise ValueError(f"there is no limit {name!r}; there are {', '.join(table)}")
        try:
            table[name] = float(number) if name == "seconds" else int(number)
        except ValueError:
            raise ValueError(f"{text!r} is not a limit: write {name}=NUMBER") from None
    try:
        return msgspec.convert(table, LimitSettings)
    except msgspec.ValidationError as error:
        raise ValueError(f"a limit is more than 0: {error}") from None


def complain(message: str) -> None:
    print(printable_text(f"tvls: {message}"), file=sys.stderr)


def refuse(message: str, as_json: bool = False) -> int:
    """Tells of wrong usage. Returns the exit code."""
    if as_json:
        error = {"message": message, "data": {"kind": "usage"}}
        print(msgspec.json.encode({"error": error}).decode())
    else:
        complain(message)
    return USAGE


def _indented(text: str) -> None:
    print(printable_text(f"  {text}"), file=sys.stderr)


_IN_A_TERMINAL = {
    "notTrusted": "If you trust the people who wrote it, add --trust for this once, or run `tvls trust FOLDER`.",
}
"""Next steps that differ from those in an editor."""


def report(error: TvlsError, as_json: bool = False) -> int:
    """Prints what went wrong and what to do. Returns the exit code."""
    code = MISSING if error.kind in MISSING_KINDS else USAGE if error.kind == "targetNotFound" else FAILED
    if as_json:
        print(msgspec.json.encode({"error": {"message": error.message, "data": error.data}}).decode())
        return code
    complain(error.message)
    for problem in error.data.problems or []:
        if problem.message not in error.message:
            _indented(f"{problem.key}: {problem.message}")
    for value in error.data.missing or []:
        about = f": {value.annotation}" if value.annotation else ""
        default = f" = {value.default}" if value.default is not None else ""
        need = "needed" if value.required else "optional"
        _indented(f"{value.key}  {value.parameter}{about}{default}  ({need})")
    for frame in error.data.frames or []:
        if frame.workspace:
            _indented(f"{frame.path}:{frame.line} in {frame.function}")
    if error.data.stderr:
        _indented("Last output of the worker:")
        for line in error.data.stderr.splitlines()[-10:]:
            _indented(f"| {line}")
    _indented(f"{_IN_A_TERMINAL.get(error.kind, error.data.next_step)}")
    return code
