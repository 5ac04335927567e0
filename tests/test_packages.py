"""What is handed out: a wheel with the whole program, and a source distribution that needs no Node.js."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

PACKAGE = REPOSITORY / "tvls"


def build(kind: str, folder: Path, into: Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """As a front end such as pip has it built. `path`: where programs such as npm are looked for."""
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **({} if path is None else {"PATH": path})},
    )


def names(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("tvls/")}


def expected() -> set[str]:
    files = [*PACKAGE.rglob("*.py"), *(PACKAGE / "canvas" / "static").iterdir()]
    return {f"tvls/{file.relative_to(PACKAGE).as_posix()}" for file in files} | {"tvls/py.typed"}


@pytest.mark.timeout(400)  # the canvas may have to be built
def test_a_wheel_holds_the_whole_program(tmp_path: Path) -> None:
    built = build("wheel", REPOSITORY, tmp_path)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("tvls-*.whl")
    assert {"tvls/canvas/static/index.html", "tvls/canvas/static/canvas.js"} <= names(wheel)
    assert names(wheel) == expected()


@pytest.mark.timeout(400)
def test_a_source_distribution_needs_no_node(tmp_path: Path) -> None:
    built = build("sdist", REPOSITORY, tmp_path)
    assert built.returncode == 0, built.stderr
    (archive,) = tmp_path.glob("tvls-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert not (source / "clients").exists()
    again = build("wheel", source, tmp_path / "wheels", path="")
    assert again.returncode == 0, again.stderr
    (wheel,) = (tmp_path / "wheels").glob("tvls-*.whl")
    assert names(wheel) == expected()


def test_without_node_a_checkout_says_what_to_install(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    unbuilt = shutil.ignore_patterns("static", "__pycache__", "node_modules")
    shutil.copytree(PACKAGE, tmp_path / "tvls", ignore=unbuilt)
    shutil.copytree(REPOSITORY / "clients" / "canvas", tmp_path / "clients" / "canvas", ignore=unbuilt)
    refused = build("wheel", tmp_path, tmp_path / "wheels", path="")
    assert refused.returncode != 0
    assert "Node.js 20 or newer and npm" in refused.stderr
    assert "apt install nodejs npm" in refused.stderr
    shutil.rmtree(tmp_path / "clients")
    refused = build("wheel", tmp_path, tmp_path / "wheels", path="")
    assert refused.returncode != 0
    assert "neither built" in refused.stderr
