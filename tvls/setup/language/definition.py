"""Where what a setup file names is defined."""

from __future__ import annotations

import msgspec

from tvls.setup.language.cursor import Around
from tvls.setup.language.python_file import Definition
from tvls.setup.language.tables import Workspace, fact_at, factory_function, target_of
from tvls.setup.required import TargetLike


class Target(msgspec.Struct, frozen=True):
    """A model of the workspace, by its place in `Workspace.targets`."""

    target: TargetLike


class File(msgspec.Struct, frozen=True):
    """A file of the workspace and, where a name of it is meant, its definition."""

    file: str
    definition: Definition | None = None


class Class(msgspec.Struct, frozen=True):
    """A class of the workspace that a setup makes an object of, or names a member of."""

    path: str
    qualname: str


def definition(around: Around, offset: int, workspace: Workspace) -> Target | File | Class | None:
    cursor = around.at(offset)
    if cursor is None or cursor.place != "value" or fact_at(around, cursor.path) is None:
        return None
    match cursor.path[-1]:
        case "model":
            target = target_of(around, cursor.path, workspace)
            return Target(target) if target is not None else None
        case "file" | "callable" as key:
            file = around.string((*cursor.path[:-1], "file"))
            if file is None or workspace.read(file) is None:
                return None
            found = factory_function(around, cursor.path, workspace) if key == "callable" else None
            return File(file, found) if key == "file" or found is not None else None
        case "class":
            target = target_of(around, cursor.path, workspace)
            name = around.string(cursor.path) or ""
            found = target.types.get(name) if target is not None else None
            return Class(found.path, name.partition(":")[2]) if found is not None else None
        case _:
            return None
