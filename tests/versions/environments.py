"""The environments that the versions are tested in: which there are, where their Python is found, how they are made.

`python tests/versions/environments.py` makes those that are missing or whose requirements have changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Row:
    name: str
    pythons: tuple[str, ...]
    """Versions of Python that will do, the best first."""

    @property
    def requirements(self) -> Path:
        return REPOSITORY / "requirements" / f"versions-{self.name}.txt"

    @property
    def folder(self) -> Path:
        return REPOSITORY / f".venv-{self.name}"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def stamp(self) -> Path:
        """A copy of the requirements that were installed."""
        return self.folder / "installed.txt"

    def pinned(self, library: str) -> str:
        """The version of a library that the requirements name."""
        pins = dict(line.split("==") for line in self.requirements.read_text().split() if "==" in line)
        return pins[library]

    def made(self) -> bool:
        return self.stamp.is_file() and self.stamp.read_bytes() == self.requirements.read_bytes()


ROWS = (Row("oldest", ("3.10",)), Row("newest", ("3.13", "3.12")))


@cache
def find_python(row: Row) -> Path | None:
    """An interpreter for the environment that really starts; None where this machine has none."""
    return next((path for version in row.pythons for path in _candidates(version) if _starts(path, version)), None)


def _candidates(version: str) -> list[Path]:
    folders = os.environ.get("PATH", "").split(os.pathsep)
    on_path = [shutil.which(f"python{version}", path=folder) for folder in folders if folder]
    installed = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}")
    newest_first = sorted(installed, key=lambda path: [int(n) for n in path.parts[-3].split(".") if n.isdigit()])[::-1]
    return [*(Path(found) for found in on_path if found), *newest_first]


def _starts(python: Path, version: str) -> bool:
    """Whether it runs (a shim on PATH may not), is what its name says, and can make virtual environments."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        ran = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    except OSError:  # not a program, or not one for this machine
        return False
    return ran.returncode == 0 and ran.stdout.strip() == version


def make(row: Row, base: Path) -> None:
    pip = [str(row.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([base, "-m", "venv", "--clear", row.folder], check=True)
    subprocess.run([*pip, "-r", row.requirements], check=True)
    shutil.copyfile(row.requirements, row.stamp)


def main() -> None:
    for row in ROWS:
        base = find_python(row)
        if base is None:
            sys.stdout.write(f"{row.name}: no Python {' or '.join(row.pythons)} on this machine, left out\n")
        elif not row.made():
            sys.stdout.write(f"{row.name}: Python of {base}, {row.requirements.relative_to(REPOSITORY)}\n")
            sys.stdout.flush()
            make(row, base)


if __name__ == "__main__":
    main()
