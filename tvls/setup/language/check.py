"""What a profile names that the workspace does not have, and what its model still needs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from tvls.setup.findings import Finding, did_you_mean
from tvls.setup.keys import Key
from tvls.setup.language.python_file import Definition, PythonFile
from tvls.setup.profile import Call, Factory, Profile


class Module(msgspec.Struct, frozen=True):
    """What is known of the module that a profile names."""

    state: Literal["workspace", "installed", "missing", "unknown"]
    """`unknown`: not in the workspace, and what the environment has cannot be told without running it."""
    file: PythonFile | None = None
    """Its names, where it is in the workspace and valid Python."""
    targets: Sequence[str] = ()
    """Qualified names of its models."""


FileState = Literal["file", "missing", "outside"]


def check_model(profile: Profile, module: Module, known: Callable[[], Sequence[str]]) -> Iterator[Finding]:
    """Whether the model is there. `known` names the models of the workspace as `module:qualname`."""
    at = (*profile.key, "model")
    if module.state in ("missing", "unknown"):
        models = known()
        modules = list(dict.fromkeys(model.partition(":")[0] for model in models))
        close = difflib.get_close_matches(profile.model, models, n=1, cutoff=0.75) or [
            f"{name}:{profile.qualname}" for name in difflib.get_close_matches(profile.module, modules, n=1)
        ]
        if module.state == "missing" or close:
            hint = f"; did you mean {close[0]!r}?" if close else ""
            where = "neither the workspace nor its environment" if module.state == "missing" else "the workspace"
            has = "has a module" if module.state == "missing" else "has no module"
            yield Finding(at, f"{where} {has} {profile.module!r}{hint}", "warning")
    elif module.file is not None and profile.qualname not in module.targets:
        names = [item.name for item in module.file.definitions]
        if module.file.lacks(profile.qualname.partition(".")[0]):
            hint = did_you_mean(profile.qualname, [*module.targets, *names])
            listed = f" (its models are {', '.join(module.targets[:8])})" if module.targets else ""
            yield Finding(at, f"{profile.module} has no {profile.qualname!r}{hint or listed}")


def check_factories(
    profile: Profile,
    state: Callable[[str], FileState],
    read: Callable[[str], PythonFile | None],
    files: Callable[[], Sequence[str]],
) -> Iterator[Finding]:
    """Whether the factories are there, and take the arguments that they are given."""
    parts: tuple[tuple[str, Call], ...] = (("init", profile.init), ("inputs", profile.inputs))
    for part, call in parts:
        if call.factory is not None:
            yield from _factory((*profile.key, part, "factory"), call.factory, state, read, files)


def _factory(
    at: Key,
    factory: Factory,
    state: Callable[[str], FileState],
    read: Callable[[str], PythonFile | None],
    files: Callable[[], Sequence[str]],
) -> Iterator[Finding]:
    match state(factory.file):
        case "missing":
            known = files()
            name = factory.file.rpartition("/")[2]
            same = [file for file in known if file.rpartition("/")[2] == name]
            hint = f"; did you mean {same[0]!r}?" if same else did_you_mean(factory.file, known)
            yield Finding((*at, "file"), f"the workspace folder has no file {factory.file!r}{hint}")
        case "outside":
            yield Finding((*at, "file"), f"{factory.file!r} is a link that leads out of the workspace folder")
        case "file":
            file = read(factory.file)
            if file is None:
                yield Finding((*at, "file"), f"{factory.file} is not valid Python now", "warning")
                return
            found = file.find(factory.callable)
            if found is not None:
                yield from _arguments(at, factory, found)
            elif file.lacks(factory.callable):
                names = [item.name for item in file.definitions]
                hint = did_you_mean(factory.callable, names)
                yield Finding((*at, "callable"), f"{factory.file} has no {factory.callable!r}{hint}")


def _arguments(at: Key, factory: Factory, function: Definition) -> Iterator[Finding]:
    if function.parameters is None:
        return
    named = {p.name: p for p in function.parameters if p.kind in {"positional_or_keyword", "keyword_only"}}
    if not any(p.kind == "var_keyword" for p in function.parameters):
        for name in factory.kwargs:
            if name not in named:
                hint = did_you_mean(name, named) or f" (it takes {', '.join(named) or 'no arguments'})"
                message = f"{factory.callable} has no parameter {name!r}{hint}"
                yield Finding((*at, "kwargs", name), message, on="key")
    missing = [name for name, p in named.items() if p.default is None and name not in factory.kwargs]
    missing += [p.name for p in function.parameters if p.kind == "positional_only" and p.default is None]
    if missing:
        yield Finding((*at, "callable"), f"{factory.callable} needs {', '.join(missing)}, which kwargs do not give")
