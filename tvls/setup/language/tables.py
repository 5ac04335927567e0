"""Which table of the format is at a path of a setup file, and what an argument there belongs to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tvls.setup.keys import Key
from tvls.setup.kinds import ParameterLike
from tvls.setup.language.cursor import Around
from tvls.setup.language.python_file import Definition, PythonFile
from tvls.setup.objects import Types, fields_of
from tvls.setup.required import TargetLike, is_supplied
from tvls.setup.schema import CALL, FACTORY, KIND, PROFILE, SETUP, VALUE_TABLES, KeyFact, TableFact, generator_table


@dataclass(frozen=True)
class Workspace:
    """What the workspace has, as far as a setup can name it."""

    targets: Sequence[TargetLike]
    files: Callable[[], Sequence[str]]
    """Python files, relative to the folder, with forward slashes."""
    read: Callable[[str], PythonFile | None]
    """A Python file by its relative path; None where there is none, or no valid Python in it."""


PROFILES: Final = "profiles"
Call = Literal["init", "inputs"]


@dataclass(frozen=True)
class Arguments:
    """A table or list whose entries are arguments of a call: of the model, its constructor, or a factory."""

    what: str
    """Of whom, for people."""
    parameters: Sequence[ParameterLike]
    types: Types
    """Those of the workspace that the parameters may name."""
    tensors: bool = True


def table_at(around: Around, path: Key) -> TableFact | None:
    """The table of the format at `path`; None where its keys are names of the person's own."""
    match path:
        case ():
            return SETUP
        case ("profiles", str()):
            return PROFILE
        case ("profiles", str(), "init" | "inputs"):
            return CALL
        case ("profiles", str(), "init" | "inputs", "factory"):
            return FACTORY
        case ("profiles", str(), "init" | "inputs", "args" | "kwargs" | "factory", *rest) if rest:
            return _value_table(around, path)
        case _:
            return None


def _value_table(around: Around, path: Key) -> TableFact | None:
    if path[-1] == "kwargs" and path[-2] == "factory":
        return None
    if path[-1] == "fields" and object_class(around, path[:-1]) is not None:
        return None
    if path[-1] == "generator" and around.string((*path[:-1], "kind")) == "tensor":
        return generator_table(around.string((*path, "kind")))
    return VALUE_TABLES.get(around.string((*path, "kind")) or "")


def object_class(around: Around, path: Key) -> str | None:
    """The class of the object at `path`; empty where that is not stated yet, None where no object is there."""
    return around.string((*path, "class")) or "" if around.string((*path, "kind")) == "object" else None


def is_value(path: Key) -> bool:
    """Whether an argument, or something inside one, stands at `path`."""
    match path:
        case ("profiles", _, "init" | "inputs", "args" | "kwargs", *rest) if rest:
            return True
        case ("profiles", _, "init" | "inputs", "factory", "kwargs", *rest) if rest:
            return True
        case _:
            return False


def fact_at(around: Around, path: Key) -> KeyFact | None:
    """What the key at `path` means, where it is one of the format."""
    if not path or not isinstance(path[-1], str):
        return None
    table = table_at(around, path[:-1])
    if table is None and path[-1] == "kind" and is_value(path[:-1]):
        return KIND  # one that is being written
    return table.keys.get(path[-1]) if table is not None else None


def target_of(around: Around, path: Key, workspace: Workspace) -> TargetLike | None:
    """The target that the profile around `path` names."""
    if len(path) < 2:
        return None
    model = around.string((PROFILES, path[1], "model"))
    return next((target for target in workspace.targets if f"{target.module}:{target.name}" == model), None)


def factory_file(around: Around, path: Key, workspace: Workspace) -> PythonFile | None:
    """The file of the factory around `path`."""
    name = around.string((*path[:3], "factory", "file"))
    return None if name is None else workspace.read(name)


def factory_function(around: Around, path: Key, workspace: Workspace) -> Definition | None:
    """The callable of the factory around `path`."""
    file, name = factory_file(around, path, workspace), around.string((*path[:3], "factory", "callable"))
    return None if file is None or name is None else file.find(name)


def arguments_at(around: Around, path: Key, workspace: Workspace) -> Arguments | None:
    """The parameters that the entries of the table or list at `path` go to."""
    match path:
        case ("profiles", str(), "init" | "inputs" as part, "args" | "kwargs"):
            target = target_of(around, path, workspace)
            if target is None:
                return None
            if part == "init":
                given = [p for p in target.init_parameters if not is_supplied(p, ("init",), target)]
                return Arguments(f"building {target.name}", given, target.types)
            return Arguments(f"calling {target.name}", target.parameters, target.types)
        case ("profiles", str(), "init" | "inputs", "args" | "kwargs", *_, "fields"):
            name = object_class(around, path[:-1])
            target = target_of(around, path, workspace) if name else None
            if name is None or target is None:
                return None
            return Arguments(f"making a {name.partition(':')[2]}", fields_of(target.types, name), target.types)
        case ("profiles", str(), "init" | "inputs", "factory", "kwargs"):
            function = factory_function(around, path, workspace)
            if function is None or function.parameters is None:
                return None
            return Arguments(function.name, function.parameters, {}, tensors=False)
        case _:
            return None


def parameter_at(around: Around, path: Key, workspace: Workspace) -> tuple[ParameterLike, Arguments] | None:
    """The parameter that the argument at `path` goes to."""
    arguments = arguments_at(around, path[:-1], workspace) if path else None
    if arguments is None:
        return None
    name = path[-1]
    if isinstance(name, int):
        positional = [p for p in arguments.parameters if p.kind in {"positional_only", "positional_or_keyword"}]
        return (positional[name], arguments) if name < len(positional) else None
    found = next((p for p in arguments.parameters if p.name == name), None)
    return None if found is None else (found, arguments)
