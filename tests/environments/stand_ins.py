"""Small wheels that are named like the real libraries, and virtual environments to install them into."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str, requires: Iterable[str] = (), body: str = "") -> Path:
    """A pure wheel with one module. Returns its path."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    files = {
        f"{name}/__init__.py": body or f"__version__ = {version!r}\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


def make_index(folder: Path) -> Path:
    """The stand-ins: a JAX that needs NumPy 2, its jaxlib, Flax, PyTorch, and what the tests upgrade."""
    make_wheel(folder, "numpy", "1.26.4")
    make_wheel(folder, "numpy", "2.1.0")
    make_wheel(folder, "numpy", "2.2.0")
    make_wheel(folder, "torch", "2.13.0+cpu", ["filelock"])
    make_wheel(folder, "filelock", "3.0")
    make_wheel(folder, "jaxlib", "0.10.2", ["numpy>=2.0"])
    make_wheel(folder, "jaxlib", "0.4.38", ["numpy>=1.26"])
    make_wheel(folder, "jax", "0.10.2", ["jaxlib==0.10.2", "numpy>=2.0"])
    make_wheel(folder, "jax", "0.4.38", ["jaxlib==0.4.38", "numpy>=1.26"])
    make_wheel(folder, "flax", "0.12.8", ["jax>=0.6.1", "msgpack>=1.0"])
    make_wheel(folder, "msgpack", "0.9")
    make_wheel(folder, "msgpack", "1.1")
    return folder


def environ_of(index: Path) -> dict[str, str]:
    """Variables by which pip knows these wheels and no index, whatever this machine is set up for."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}


def make_environment(template: Path, prefix: Path, index: Path, installed: Sequence[str]) -> Path:
    """A copy of `template` with `installed` in it. Returns its interpreter."""
    shutil.copytree(template, prefix, symlinks=True)
    python = prefix / "bin" / "python"
    if installed:
        command = [str(python), "-m", "pip", "install", "--quiet", *installed]
        subprocess.run(command, check=True, env={**os.environ, **environ_of(index)}, stdin=subprocess.DEVNULL)
    return python


def make_template(prefix: Path) -> Path:
    """A virtual environment with pip, which takes seconds to make and nothing to copy."""
    subprocess.run([sys.executable, "-m", "venv", str(prefix)], check=True)
    return prefix


def installed_in(prefix: Path) -> set[str]:
    """`name-version` of the distributions in an environment, pip and setuptools left out."""
    found = {path.name.removesuffix(".dist-info") for path in prefix.glob("lib/python*/site-packages/*.dist-info")}
    return {name for name in found if not name.startswith(("pip-", "setuptools-"))}
