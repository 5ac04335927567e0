"""How a process of the capture Python is started: its command line, environment and standard streams."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

WORKER_SCRIPT: Final = Path(__file__).resolve().parent.parent / "worker" / "__main__.py"

MARK: Final = "TVLS_WORKER"
"""Environment variable that every process of a worker inherits, so that stray descendants can be found."""

_OWN_FOLDER: Final = f"{WORKER_SCRIPT.parent.parent}{os.sep}"

# One thread for linear algebra: a pool of threads would make the warm worker unfit to fork.
_SINGLE_THREADED = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def worker_environment(environ: Mapping[str, str], mark: str) -> dict[str, str]:
    """The user's environment with few, named changes.

    Everything passes (PYTHONPATH, JAX_*, LD_LIBRARY_PATH, proxies), because the model may need it. Set on top: threads
    of linear algebra to one, and the mark. Set unless the user did: PYTHONHASHSEED, so that a set of strings has the
    same order in every trace, and XLA's memory preallocation off, so that a trace takes no GPU from a training run.
    Removed: macOS's launcher variable, which would make a virtual environment believe it is the daemon's Python.
    """
    result = {name: value for name, value in environ.items() if name != "__PYVENV_LAUNCHER__"}
    result.setdefault("PYTHONHASHSEED", "0")
    result.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    result.update(dict.fromkeys(_SINGLE_THREADED, "1"))
    result[MARK] = mark
    return result


def without_own_folder(text: str) -> str:
    """What a worker printed, with the worker's own files named from `tvls/` on: where it is installed helps nobody."""
    return text.replace(_OWN_FOLDER, "tvls/")


def new_mark() -> str:
    return secrets.token_hex(8)


def start(
    command: Sequence[str],
    arguments: Sequence[str],
    *,
    folder: str,
    mark: str,
    script: Path = WORKER_SCRIPT,
    stdin: int,
    stdout: int,
    stderr: int,
) -> subprocess.Popen[bytes]:
    """Start `command` (an interpreter, or a wrapper such as `uv run python`) on the worker script in its own session.

    Raises OSError where the program cannot be started.
    """
    program = command[0]
    if os.sep in program:  # never resolve links: a virtual environment is found through the link
        program = os.path.normpath(Path(folder) / program)
    return subprocess.Popen(
        [program, *command[1:], "-B", "-u", str(script), *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=folder,
        env=worker_environment(os.environ, mark),
        start_new_session=True,
    )
