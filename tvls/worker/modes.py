"""What a worker is asked to be, by its command line."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import site
import sys
import sysconfig
from typing import Dict, List, Tuple

from tvls.worker import inspection, serve, zygote

LIBRARIES = ("jax", "jaxlib", "flax", "torch", "numpy", "optax")


def run(arguments: List[str], streams: Tuple[int, int]) -> int:
    """`streams` are private copies of standard input and output. Returns the exit code; 2 for a wrong command line."""
    read_fd, write_fd = streams
    if arguments == ["probe"]:
        os.write(write_fd, json.dumps(describe_interpreter()).encode("utf-8") + b"\n")
        return 0
    if arguments == ["installation"]:
        _write(write_fd, json.dumps(inspection.describe_installation()).encode("utf-8") + b"\n")
        return 0
    if len(arguments) == 2 and arguments[0] == "check" and arguments[1] in inspection.IMPORTED:
        inspection.check(arguments[1], lambda said: _write(write_fd, json.dumps(said).encode("utf-8") + b"\n"))
        os._exit(0)  # what libraries do at exit is no part of the answer
    if arguments == ["trace"]:
        serve.serve_alone(read_fd, write_fd)
    if arguments == ["trace", "--supervised"]:
        if hasattr(os, "fork"):
            return serve.supervise(read_fd, write_fd)
        serve.serve_alone(read_fd, write_fd)
    if len(arguments) == 2 and arguments[0] == "warm":
        os.close(write_fd)
        return zygote.run(arguments[1], read_fd)
    modes = "trace [--supervised] | warm FRAMEWORK | probe | installation | check FRAMEWORK"
    sys.stderr.write(f"usage: tvls/worker/__main__.py {modes}\n")
    return 2


def _write(descriptor: int, data: bytes) -> None:
    """All of it: a pipe may take a part at a time."""
    while data:
        data = data[os.write(descriptor, data) :]


def describe_interpreter() -> Dict[str, object]:
    """What the daemon wants to know of an interpreter. Reads metadata and imports no library."""
    versions: Dict[str, str] = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    standard = {os.path.normpath(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib")}
    folders = [os.path.normpath(path) for path in sys.path if os.path.isdir(path)]
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "basePrefix": sys.base_prefix,
        "libraries": versions,
        # Where distributions are installed: what changes there changes what a trace would load.
        "paths": [path for path in folders if path not in standard and os.path.basename(path) != "lib-dynload"],
        "userSite": site.ENABLE_USER_SITE is True,
    }
