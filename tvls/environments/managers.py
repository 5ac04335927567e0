"""Where environment managers keep the environments of a project. Looks at files alone; runs no manager.

Poetry, Pipenv and Hatch keep them in folders of the user's own, named after a digest of the project's path.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tvls.reading import read_source

_PYENV_NAME = re.compile(r"[\w+-][\w.+-]*(/envs/[\w+-][\w.+-]*)?")


def uv_environments(folder: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """The one that `UV_PROJECT_ENVIRONMENT` names, and the shared one of a uv workspace that the folder is part of."""
    named = environ.get("UV_PROJECT_ENVIRONMENT")
    project = next((place for place in (folder, *folder.parents) if (place / "uv.lock").is_file()), None)
    if named:
        yield Path(os.path.normpath((project or folder) / named))
    if project is not None and project != folder:
        yield project / ".venv"


def poetry_environments(folder: Path, environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Poetry's for the project, the activated one first. With `virtualenvs.in-project` it is `.venv` of the folder."""
    if not (folder / "pyproject.toml").is_file():
        return
    if environ.get("POETRY_VIRTUALENVS_PATH"):
        root = Path(environ["POETRY_VIRTUALENVS_PATH"]).expanduser()
    else:
        root = Path(environ.get("POETRY_CACHE_DIR") or _cache(home, environ) / "pypoetry") / "virtualenvs"
    digest = _digest(os.path.normcase(os.path.realpath(folder)))
    found = sorted(root.glob(f"*-{digest}-py*"), reverse=True)
    active = _active_versions(root / "envs.toml")

    def is_active(path: Path) -> bool:
        name, _, version = path.name.rpartition("-py")
        return active.get(name, {}).get("minor") == version

    yield from sorted(found, key=lambda path: not is_active(path))


def pipenv_environments(folder: Path, environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    pipfile = folder / "Pipfile"
    if not pipfile.is_file():
        return
    root = Path(environ.get("WORKON_HOME") or _xdg_data(home, environ) / "virtualenvs").expanduser()
    digest = urlsafe_b64encode(hashlib.sha256(os.fsencode(pipfile)).digest()[:6]).decode()[:8]
    yield from sorted(root.glob(f"*-{digest}*"))


def hatch_environments(folder: Path, environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Hatch's for the project, the default one first: that has the name of the project."""
    if not any((folder / name).is_file() for name in ("pyproject.toml", "hatch.toml")):
        return
    data = Path(environ.get("HATCH_DATA_DIR") or _data(home, environ) / "hatch")
    places = sorted((data / "env" / "virtual").glob(f"*/{_digest(str(folder))}/*"))
    yield from sorted(places, key=lambda path: path.name != path.parent.parent.name)


def pyenv_versions(folder: Path, environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    """The versions that `PYENV_VERSION`, or the nearest `.python-version` at or above the folder, names."""
    root = Path(environ.get("PYENV_ROOT") or home / ".pyenv") / "versions"
    names = environ.get("PYENV_VERSION", "").split(":")
    if names == [""]:
        file = next((f for place in (folder, *folder.parents) if (f := place / ".python-version").is_file()), None)
        names = _lines(file) if file else []
    for name in names:
        if not _PYENV_NAME.fullmatch(name):  # a comment, `system`'s neighbours, or a way out of the folder
            continue
        if (root / name).is_dir():
            yield root / name
        elif re.fullmatch(r"\d+(\.\d+)?", name):  # `3.11` means the newest of its releases
            yield from sorted(root.glob(f"{name}.*"), key=_release, reverse=True)[:1]


def conda_environments(home: Path) -> list[Path]:
    """Every environment that Conda, Mamba or Micromamba has made for this user."""
    return [Path(line) for line in _lines(home / ".conda" / "environments.txt") if Path(line).is_absolute()]


def conda_name(folder: Path) -> str | None:
    """Name of the environment that the folder's `environment.yml` describes."""
    for name in ("environment.yml", "environment.yaml"):
        for line in _lines(folder / name):
            if line.startswith("name:"):
                return line.removeprefix("name:").partition("#")[0].strip().strip("'\"") or None
    return None


def _release(path: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", path.name))


def _digest(text: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(os.fsencode(text)).digest()).decode()[:8]


def _lines(file: Path) -> list[str]:
    try:
        text = read_source(str(file)).decode("utf-8", "replace")
    except OSError:  # not there, or not for us to read
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]


def _active_versions(file: Path) -> dict[str, dict[str, Any]]:
    """Poetry's record of which Python of an environment is in use, by the environment's name."""
    try:
        return msgspec.toml.decode(read_source(str(file)), type=dict[str, dict[str, Any]])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # without it all environments count the same
        return {}


def _data(home: Path, environ: Mapping[str, str]) -> Path:
    return home / "Library/Application Support" if sys.platform == "darwin" else _xdg_data(home, environ)


def _xdg_data(home: Path, environ: Mapping[str, str]) -> Path:
    """Pipenv keeps to it on macOS, too."""
    return Path(environ.get("XDG_DATA_HOME") or home / ".local/share")


def _cache(home: Path, environ: Mapping[str, str]) -> Path:
    return (
        home / "Library/Caches" if sys.platform == "darwin" else Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    )
