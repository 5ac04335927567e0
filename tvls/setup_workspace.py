"""A setup file beside the workspace that it is in: what its names stand for, and what is wrong with them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

from tvls.analysis.types import FileTargets, FoundTarget
from tvls.environments.find import eligible, find
from tvls.opening import Tools, selected
from tvls.setup.keys import show_key
from tvls.setup.language.check import FileState, Module, check_factories, check_model
from tvls.setup.language.python_file import PythonFile, read_python
from tvls.setup.language.tables import Workspace
from tvls.setup.profile import Profile
from tvls.setup.read import Problem, SetupFile, to_problems
from tvls.setup.required import fit

_MOST_FILES: Final = 5_000
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "env"})


async def workspace_of(tools: Tools, folder: Path) -> Workspace:
    """What completion, hover and definition look up. Raises AnalysisError."""
    targets = await tools.analysis.index([folder])
    return Workspace(
        targets=targets, files=lambda: python_files(folder), read=lambda relative: _read(tools, folder, relative)
    )


async def problems_of(tools: Tools, folder: Path, setup: SetupFile) -> list[Problem]:
    """What is wrong with the usable profiles of a setup file beside the workspace. Raises AnalysisError."""
    problems: list[Problem] = []
    modules: dict[tuple[str, str], tuple[FoundTarget | None, Module]] = {}
    told: dict[str | None, list[str]] = {}
    for problem in setup.problems:
        told.setdefault(problem.profile, []).append(problem.key)
    for name, profile in setup.profiles.items():
        key = profile.module, profile.qualname
        if key not in modules:
            modules[key] = await _module(tools, folder, *key)
        target, module = modules[key]
        await asyncio.sleep(0)  # with thousands of profiles this takes seconds, in which others are answered
        models: Sequence[str] = ()
        if module.state in ("missing", "unknown"):
            models = [f"{item.module}:{item.name}" for item in await tools.analysis.index([folder])]
        found = list(check_model(profile, module, lambda models=models: models))
        found += check_factories(
            profile,
            lambda file: file_state(folder, file),
            lambda file: _read(tools, folder, file),
            lambda: python_files(folder),
        )
        problems += to_problems(found, setup, name)
        if target is not None or module.state == "installed":
            problems += _needs(target, profile, setup, told.get(name, []))
    return problems


def _needs(target: FoundTarget | None, profile: Profile, setup: SetupFile, told: Sequence[str]) -> list[Problem]:
    """Arguments that do not fit the signature, and places that are still to be filled in.

    `told`: keys of the profile's other problems, such as a placeholder that is to be replaced.
    """
    wanted, unfit = fit(target, profile)
    at, name = show_key(profile.key), profile.name
    problems = to_problems(unfit, setup, name)
    for item in wanted:
        if item.required:
            field = item.key.rpartition(".")[2]
            what = f"its {field}" if field in ("shape", "dtype") else "a value"
            key, message = f"{at}.{item.key}", f"{item.parameter} still needs {what}"
            if any(other == key or other.startswith((f"{key}[", f"{key}.")) for other in told):
                continue
            place = setup.locate(key, on="key")
            problems.append(Problem(key=key, message=message, severity="warning", profile=name, span=place))
    return problems


async def target_of(tools: Tools, folder: Path, module: str, qualname: str) -> FoundTarget | None:
    """The discovered target of that name; None for a model of an installed library. Raises AnalysisError."""
    return (await _module(tools, folder, module, qualname))[0]


async def _module(tools: Tools, folder: Path, name: str, qualname: str) -> tuple[FoundTarget | None, Module]:
    path = _module_file(folder, name)
    if path is None:  # below an import root of its own, as in a repository of several packages
        same = [item for item in await tools.analysis.index([folder]) if item.module == name]
        path = Path(same[0].path) if same else None
    if path is None:
        return None, Module(_elsewhere(tools, folder, name))
    found: FileTargets = await tools.analysis.targets(path, tools.buffers.get(path), [folder])
    text = tools.buffers.get(path)
    if text is None:
        text = tools.digests.text_or_none(path) or ""
    module = Module("workspace", read_python(text), [item.name for item in found.targets])
    return next((item for item in found.targets if item.name == qualname), None), module


def _module_file(folder: Path, module: str) -> Path | None:
    relative = Path(*module.split("."))
    for root in (folder, folder / "src"):
        for path in (root / relative.with_suffix(".py"), root / relative / "__init__.py"):
            if path.is_file():
                return path
    return None


def _elsewhere(tools: Tools, folder: Path, module: str) -> Literal["installed", "missing", "unknown"]:
    """Whether the environment has a module that the workspace has not, as far as its folders tell."""
    top = module.partition(".")[0]
    if any((root / top).is_dir() for root in (folder, folder / "src")):
        return "missing"  # the package is the workspace's, and has no such module
    found = eligible(find(folder, selected(tools, folder)))
    prefix = found[0].prefix if found else None
    sites = list(Path(prefix).glob("lib/python*/site-packages")) if prefix is not None else []
    if any((site / top).is_dir() or any(site.glob(f"{top}.*")) for site in sites):
        return "installed"
    # Paths of editable installations lead to anywhere.
    return "unknown" if not sites or any(any(site.glob("*.pth")) for site in sites) else "missing"


def file_state(folder: Path, relative: str) -> FileState:
    """Whether a factory's file is there, and the workspace's own."""
    path = folder / relative
    if not path.is_file():
        return "missing"
    return "file" if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)) else "outside"


def _read(tools: Tools, folder: Path, relative: str) -> PythonFile | None:
    if not _is_inside(relative) or file_state(folder, relative) != "file":
        return None
    path = folder / relative
    text = tools.buffers.get(path)
    if text is None:
        text = tools.digests.text_or_none(path)
    return None if text is None else read_python(text)


def _is_inside(relative: str) -> bool:
    return not Path(relative).is_absolute() and ".." not in relative.split("/") and "\0" not in relative


def python_files(folder: Path) -> list[str]:
    """Python files of a folder by their relative paths, the nearest first; no hidden folders and no environments."""
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED and not Path(place, name, "pyvenv.cfg").exists()
        )
        found += [Path(place, name).relative_to(folder).as_posix() for name in _python(files)]
        if len(found) >= _MOST_FILES:
            break
    return sorted(found[:_MOST_FILES], key=lambda name: (name.count("/"), name))


def _python(files: Iterable[str]) -> list[str]:
    return [name for name in files if name.endswith(".py")]
