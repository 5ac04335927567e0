"""Factories of a setup: a callable in a workspace file that makes the model or its inputs."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import importlib
import importlib.util
import inspect
import os
import sys
from types import CodeType, ModuleType
from typing import Any, Dict, List, Mapping, Optional, Tuple, cast

from tvls.capture.limits import Limits
from tvls.worker.job import SetupFault
from tvls.worker.modules import file_of
from tvls.worker.places import Places
from tvls.worker.values import Budget, FindClass, Making, TensorSpec, build_call

Place = Tuple[str, str, int]
"""File, name and first line of a function."""


def call_factory(
    workspace: str, roots: List[str], spec: Mapping[str, Any], key: str, made_by: Dict[str, Place], find: FindClass
) -> object:
    """Load `spec["file"]` (workspace-relative), call `spec["callable"]` with `spec["kwargs"]`, return what it returns.

    `roots` are the import roots of the workspace; `key` is the factory's place in the setup, under which `made_by` gets
    to know the function; `find` finds classes of its arguments. SetupFault where the factory is not to be found, is not
    the workspace's own, or cannot take the arguments; what the factory raises passes through.
    """
    for name in ("file", "callable"):
        if not isinstance(spec.get(name), str) or not spec[name]:
            raise SetupFault("setup", f"a factory needs {name!r}, a string", f"{key}.{name}")
    filename = _inside(workspace, spec["file"], f"{key}.file")
    value = _named(load_file(filename, roots), spec, f"{key}.callable")
    if not callable(value):
        raise SetupFault("setup", f"{spec['callable']!r} in {spec['file']} is not callable", f"{key}.callable")
    place = _place_of(value, spec["callable"])
    if place is not None:
        made_by[key] = place
    call = build_call({"kwargs": spec.get("kwargs", {})}, key, Making(Budget(Limits()), _no_tensor, find))
    try:
        return value(**call.kwargs)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise  # from inside the factory
        message = f"the factory cannot be called with its kwargs: {error}"
        raise SetupFault("setup", message, f"{key}.kwargs") from error


def _named(module: ModuleType, spec: Mapping[str, Any], key: str) -> Any:
    value: Any = module
    for part in str(spec["callable"]).split("."):
        if not hasattr(value, part):
            close = difflib.get_close_matches(part, _callables(value), n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise SetupFault("setup", f"{spec['file']} has no {spec['callable']!r}{hint}", key)
        value = getattr(value, part)
    return value


def _callables(value: object) -> List[str]:
    return [name for name in dir(value) if not name.startswith("__") and callable(getattr(value, name, None))]


def _place_of(value: Any, name: str) -> Optional[Place]:
    """Where a factory is defined; None for what has no code of its own, such as an instance of a library's class."""
    while isinstance(value, functools.partial):
        value = cast("functools.partial[Any]", value).func
    if isinstance(value, type):
        value = value.__dict__.get("__init__")
    try:
        code = getattr(inspect.unwrap(value), "__code__", None)
    except ValueError:  # it is its own `__wrapped__`
        return None
    return (code.co_filename, name, code.co_firstlineno) if isinstance(code, CodeType) else None


def _no_tensor(tensor: TensorSpec) -> object:
    raise SetupFault("setup", "a factory takes plain values; let it make its arrays itself", tensor.key)


def _inside(workspace: str, file: str, key: str) -> str:
    """Absolute path of a workspace file, which must not lie elsewhere by `..`, by being absolute or by a link."""
    parts = file.replace("\\", "/").split("/")
    if os.path.isabs(file) or ".." in parts:
        raise SetupFault("setup", f"{file!r} is not a path inside the workspace", key)
    filename = os.path.normpath(os.path.join(workspace, file))
    real = os.path.realpath(filename)
    root = os.path.realpath(workspace)
    if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
        raise SetupFault("setup", f"{file!r} leads out of the workspace", key)
    if not os.path.isfile(filename):
        raise SetupFault("setup", f"there is no file {file!r} in the workspace", key)
    return filename


def find_class(places: Places, roots: List[str], name: str, key: str) -> "type[Any]":
    """The dataclass, named tuple or enumeration that `module:qualname` names. SetupFault where it is none of the
    workspace's own."""
    module, _, qualname = name.partition(":")
    origin = _own_module(places, module)
    if origin is None:
        raise SetupFault("setup", f"the workspace has no module {module!r}", key)
    value = _attribute(load_file(origin, roots), qualname)
    if not isinstance(value, type):
        raise SetupFault("setup", f"{module} has no class {qualname!r}", key)
    named = issubclass(cast("type[Any]", value), tuple) and hasattr(cast("Any", value), "_fields")
    found: Any = value
    if not (named or issubclass(found, enum.Enum) or dataclasses.is_dataclass(found)):
        message = f"{qualname} is no dataclass, named tuple or enumeration; a factory can make an object of it"
        raise SetupFault("setup", message, key)
    own = cast("type[Any]", found)
    home = sys.modules.get(own.__module__)
    if _attribute(home, own.__qualname__) is own and not _is_own(places, file_of(home)):
        message = f"{qualname} is a class of {own.__module__}, not of the workspace; a factory can make an object of it"
        raise SetupFault("setup", message, key)
    return own


def _attribute(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _own_module(places: Places, name: str) -> Optional[str]:
    """The file of a module of the workspace. Nothing else is imported, the packages around it included."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        try:
            spec = importlib.util.find_spec(".".join(parts[:length]))  # imports what is around it
        except (ImportError, ValueError):  # no such package, or a module without a spec
            return None
        if spec is None or not (spec.origin is None or _is_own(places, spec.origin)):
            return None
        if length == len(parts):
            return spec.origin
    return None


def _is_own(places: Places, filename: Optional[str]) -> bool:
    return filename is not None and places.workspace_path(filename) is not None


def load_file(filename: str, roots: List[str]) -> ModuleType:
    """The module of a file: the one already imported from it, else by its import name, else on its own."""
    for module in list(sys.modules.values()):
        if same_file(file_of(module), filename):
            return module
    for root in roots:
        if filename.startswith(root.rstrip(os.sep) + os.sep) and filename.endswith(".py"):
            parts = os.path.relpath(filename, root)[: -len(".py")].split(os.sep)
            if parts[-1] == "__init__":
                del parts[-1]
            if parts and all(part.isidentifier() for part in parts) and _finds(parts, filename):
                return importlib.import_module(".".join(parts))
    stem = os.path.splitext(os.path.basename(filename))[0]
    return load_as(f"_tvls_factory_{stem}", filename)


def load_as(name: str, filename: str) -> ModuleType:
    """Execute a file as the module `name`."""
    spec = importlib.util.spec_from_file_location(name, filename)
    if spec is None or spec.loader is None:
        raise SetupFault("setup", f"{os.path.basename(filename)!r} is not a Python file", "")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def same_file(one: Optional[str], other: str) -> bool:
    """Whether a module's `__file__` is the file `other`, with links resolved."""
    if one is None or os.path.basename(one) != os.path.basename(other):
        return False
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _finds(parts: List[str], filename: str) -> bool:
    """Whether importing the dotted name would load `filename` and not a namesake. Imports the parent packages."""
    if parts[0] in sys.modules and len(parts) == 1:
        return False  # another module of that name is loaded already
    try:
        spec = importlib.util.find_spec(".".join(parts))
    except (ModuleNotFoundError, ValueError):  # a parent is no package, or a namesake without a spec
        return False
    return spec is not None and same_file(spec.origin, filename)
