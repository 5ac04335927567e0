"""The modules that run during a trace: their paths, classes and parameters, by what marks them on name stacks.

Linen and Haiku put a module's name on the name stack themselves, and tell who is called; NNX and Equinox do neither, so
instances.py puts a mark of its own there.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Generator, List, NamedTuple, Optional, Sequence, Tuple

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import is_array, nbytes
from tvls.worker.frameworks.jax.internals import linen_parameters
from tvls.worker.job import type_name, type_of

Path = Tuple[str, ...]
CALL = "__call__"


@dataclass(frozen=True)
class Parameters:
    """Number of scalars in the parameters of a module and of all inside it, and their bytes."""

    count: int
    bytes: int


@dataclass
class Module:
    """A module that ran."""

    kind: str
    evidence: str
    sizes: Dict[Tuple[str, int], "Size"] = field(default_factory=lambda: {})  # noqa: PIE807
    """By method, and by how many transformations of Linen are around: inside a scan over layers are those of one."""

    def parameters(self, method: str, within: bool) -> Optional[Parameters]:
        """What a call of a method has, where it is called by the module itself or from outside; None if not known."""
        known = {level for name, level in self.sizes if name == method}
        if not known:
            return None
        return self.sizes[method, max(known) if within else min(known)].parameters


@dataclass(frozen=True)
class Size:
    """The parameters that a module has, and how many arrays they are."""

    parameters: Parameters
    arrays: int


@dataclass(frozen=True)
class Mark:
    """What a mark on the name stack stands for: the call of a method of an instance.

    `path` continues that of the module around it where `relative`. Otherwise it starts at the target, or is None for
    an instance whose place is not known.
    """

    path: Optional[Path]
    relative: bool
    kind: str
    method: str
    parameters: Optional[Parameters]

    def label(self) -> str:
        """The name of the scope: the path, or the class at the root, with the method unless it is the call itself."""
        name = "/".join(self.path or ()) or self.kind.rpartition(".")[2]
        return name if self.method == CALL else f"{name}.{self.method}"


@dataclass
class Modules:
    """The modules that ran during a trace."""

    placing: bool = True
    """Whether NNX modules carry their places; a program that notices is traced without."""
    by_name: Dict[str, Dict[Path, Module]] = field(default_factory=lambda: {})  # noqa: PIE807
    """Linen and Haiku: the name each has on name stacks, to its path."""
    marks: List[Mark] = field(default_factory=lambda: [])  # noqa: PIE807
    """NNX and Equinox: by the number on the name stack."""
    roots: List[Tuple[Any, str]] = field(default_factory=lambda: [])  # noqa: PIE807
    """What the trace is given from outside and may hold instances, each with its place; empty for the target itself."""

    def find(self, label: str, parent: Optional[Path]) -> "Optional[Found]":
        """The module that `label` (a name, or a name and a method) means inside the module at `parent`."""
        for name in (label, label.rpartition(".")[0], label.rpartition("/")[0]):
            paths = self.by_name.get(name)
            if paths:
                # a lifted module is noted at the path of the transformation's own scope, too
                paths = {path: module for path, module in paths.items() if path[-1:] == (name,)} or paths
                path = min(paths, key=lambda path: (-_nearness(path, name, parent), len(path), path))
                method = label[len(name) + 1 :] or CALL
                return Found(path, paths[path], paths[path].parameters(method, path == parent))
        return None

    def note(self, name: str, path: Path, module: Any, evidence: str) -> Module:
        """Note that a module runs under a name."""
        paths = self.by_name.setdefault(name, {})
        found = paths.get(path)
        if found is None:
            found = paths[path] = Module(type_name(module), evidence)
        return found


class Found(NamedTuple):
    path: Path
    module: Module
    parameters: Optional[Parameters]


def _nearness(path: Path, name: str, parent: Optional[Path]) -> int:
    if parent is None:
        return 0
    if path == (*parent, name):
        return len(parent) + 2
    if path == parent:
        return len(parent) + 1
    shared = 0
    while shared < min(len(path), len(parent)) and path[shared] == parent[shared]:
        shared += 1
    return shared


def total(arrays: Sequence[Any]) -> Parameters:
    """Size of some arrays together, abstract ones too."""
    count = size = 0
    for array in arrays:
        if is_array(array):
            elements = 1
            for dim in array.shape:
                elements *= int(dim)
            count += elements
            size += nbytes(array)
    return Parameters(count, size)


@contextmanager
def recorded_modules(modules: Modules) -> Generator[None, None, None]:
    """Note every Linen and Haiku module whose methods run in this context, and mark those of NNX and Equinox."""
    from tvls.worker.frameworks.jax.instances import marked_instances  # it needs the types above

    with ExitStack() as stack:
        if lib.linen is not None:
            stack.enter_context(lib.linen.intercept_methods(_linen(modules)))
        haiku: Any = sys.modules.get("haiku")  # there only where the user's code has imported it
        if hasattr(haiku, "intercept_methods"):
            stack.enter_context(haiku.intercept_methods(_haiku(modules)))
        stack.enter_context(marked_instances(modules))
        yield


def _linen(modules: Modules) -> Callable[..., Any]:
    around: List[Any] = []
    """Roots of the scopes of the modules that run: a transformation makes one of its own."""

    def note(call: Callable[..., Any], args: Any, kwargs: Any, context: Any) -> Any:
        module: Any = context.module
        if module.scope is None:
            return call(*args, **kwargs)
        path: Path = tuple(module.scope.path)
        found = modules.note(module.name or type_of(module).__name__, path, module, "name_stack")
        around.append(module.scope.root)
        try:
            result = call(*args, **kwargs)
            key = (str(context.method_name), len(set(map(id, around))))
        finally:
            around.pop()
        arrays, known = linen_parameters(module.scope), found.sizes.get(key)
        # During the initialisation the parameters come one by one, those of a submodule with its first call.
        if arrays and (known is None or len(arrays) > known.arrays):
            found.sizes[key] = Size(total(arrays), len(arrays))
        return result

    return note


def _haiku(modules: Modules) -> Callable[..., Any]:
    def note(call: Callable[..., Any], args: Any, kwargs: Any, context: Any) -> Any:
        module: Any = context.module
        result = call(*args, **kwargs)
        path: Any = getattr(module, "module_name", None)  # the constructor is a method, too
        if path is None or context.method_name in ("params_dict", "state_dict"):  # which is called below
            return result
        found = modules.note(str(module.name), tuple(str(path).split("/")), module, "name_stack")
        key = (str(context.method_name), 0)
        if key not in found.sizes:
            held: Any = lib.jax.tree_util.tree_leaves(module.params_dict())
            if held:
                found.sizes[key] = Size(total(held), len(held))
        return result

    return note
