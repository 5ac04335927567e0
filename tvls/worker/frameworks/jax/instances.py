"""Marks on the name stack for NNX and Equinox modules, which have a place in an object rather than a name.

While a program is traced, the methods of their classes run inside a named scope that tells the instance. Copies are the
rule there: `nnx.jit` and its like take a module apart and build another one. So each NNX module that the trace is given
carries its place with it, as a static attribute that equals every other; Equinox modules, whose fields are fixed, are
found in the one around them.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
from contextlib import contextmanager
from typing import Any, Callable, Dict, Generator, List, NamedTuple, Optional, Tuple, cast

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import content, is_array
from tvls.worker.frameworks.jax.modules import Mark, Modules, Parameters, Path, total
from tvls.worker.job import type_name, type_of

PLACE = "_tvls_place"
"""Attribute of the NNX modules in a trace; a message of the library that names it is about the mark."""
PREFIX = "tvls#"
"""Start of a mark on the name stack; the number of its entry in `Modules.marks` follows."""
_DEEPEST = 64
_FRAMES = 40
_MOST = 20_000


class Place:
    """Where an instance stands. Places equal each other: what compares structure must not see them."""

    __slots__ = ("path", "root")

    def __init__(self, root: Optional[str], path: Path) -> None:
        self.root = root  # None where the instance does not belong to what the trace was given
        self.path = path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place)

    def __hash__(self) -> int:
        return 0

    def __deepcopy__(self, memo: Any) -> "Place":
        return self

    def __repr__(self) -> str:
        return "/".join(self.path)


class _Running(NamedTuple):
    instance: Any
    method: str
    place: Optional[Place]


def is_nnx(value: object) -> bool:
    """Whether a value is an NNX module."""
    return lib.nnx is not None and isinstance(value, lib.nnx.Module)


def has_equinox() -> bool:
    """Whether the user's code has imported Equinox."""
    return hasattr(sys.modules.get("equinox"), "Module")


def is_equinox(value: object) -> bool:
    """Whether a value is an Equinox module, which a bound method of one is, too."""
    return has_equinox() and isinstance(value, sys.modules["equinox"].Module)


def is_about_places(error: BaseException) -> bool:
    """Whether a program failed because its modules carry their places: it compares them with others that do not."""
    seen: "set[int]" = set()
    at: Optional[BaseException] = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        if any(PLACE in argument for argument in at.args if isinstance(argument, str)):
            return True
        at = at.__cause__ or at.__context__
    return False


def place_modules(modules: Modules, root: Any, name: str) -> None:
    """Let every NNX module of an object know its place. For objects that belong to the trace alone."""
    modules.roots.append((root, name))
    if modules.placing:
        for path, module in _nnx_modules(root):
            held: Dict[str, Any] = module.__dict__
            held.setdefault(PLACE, Place(name, path))


def _nnx_modules(root: Any) -> List[Tuple[Path, Any]]:
    found: List[Tuple[Path, Any]] = []
    for path, node in lib.nnx.iter_graph(root):
        if isinstance(node, lib.nnx.Module) and not getattr(node, "_pytree__has_int_keys", False):
            found.append((tuple(str(key) for key in path), node))
    # the shortest path to a shared module, as that of its state
    return sorted(found, key=lambda item: len(item[0]))


@contextmanager
def marked_instances(modules: Modules) -> Generator[None, None, None]:
    """In this context, calls of NNX and Equinox modules leave marks, which `modules` lists."""
    changed: List[Tuple[type, str, Any]] = []
    tracker = _Tracker(modules)
    try:
        for cls in _classes():
            for name, value in list(vars(cls).items()):
                marked = _marked(name, value, tracker)
                if marked is not None:
                    type.__setattr__(cls, name, marked)
                    changed.append((cls, name, value))
        yield
    finally:
        for cls, name, value in reversed(changed):
            type.__setattr__(cls, name, value)


def _classes() -> List[type]:
    bases: List[Any] = [] if lib.nnx is None else [lib.nnx.Module]
    if has_equinox():
        bases.append(sys.modules["equinox"].Module)
    found: Dict[type, None] = {}
    pending = [sub for base in bases for sub in type.__subclasses__(base)]
    while pending:
        cls = pending.pop()
        if cls not in found:
            found[cls] = None
            pending += type.__subclasses__(cls)
    return [cls for cls in found if not cls.__module__.startswith("equinox._")]


def _marked(name: str, value: Any, tracker: "_Tracker") -> Any:
    """A class's entry with marks, or None for what is no method."""
    if name.startswith("__") and name != "__call__":
        return None
    if isinstance(value, types.FunctionType):
        return tracker.wrap(name, value)
    inner: Any = getattr(value, "method", None)
    if type_of(value).__name__ == "_wrap_method" and isinstance(inner, types.FunctionType):  # Equinox's methods
        return type_of(value)(tracker.wrap(name, inner))
    if name == "__call__" and hasattr(value, "__get__") and callable(value):  # a transformed method, as of `nnx.jit`
        return tracker.wrap(name, value)
    return None


class _Tracker:
    """The instances whose methods are running, innermost last, and the marks made so far."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.running: List[_Running] = []
        self.numbers: Dict[Mark, int] = {mark: number for number, mark in enumerate(modules.marks)}
        self.sizes: Dict[int, Tuple[Any, Optional[Parameters]]] = {}
        self.known: Dict[int, Tuple[Any, Place]] = {}
        self.roots = 0  # how many of the roots are known
        self.inside: Dict[int, Tuple[Any, List[Tuple[Path, Any]]]] = {}

    def wrap(self, name: str, method: Any) -> Callable[..., Any]:
        plain = isinstance(method, types.FunctionType)

        @functools.wraps(method)
        def call(self_: Any, /, *args: Any, **kwargs: Any) -> Any:
            run = method if plain else method.__get__(self_, type(self_))
            own = (self_,) if plain else ()
            running = self.running
            if running and running[-1].instance is self_ and running[-1].method == name:
                return run(*own, *args, **kwargs)  # `super().__call__` is the same call
            place = self.place(self_)
            number = self.number(self_, name, place)
            running.append(_Running(self_, name, place))
            try:
                with lib.jax.named_scope(f"{PREFIX}{number}"):
                    return run(*own, *args, **kwargs)
            finally:
                running.pop()

        return call

    def number(self, instance: Any, method: str, place: Optional[Place]) -> int:
        around = self.running[-1].place if self.running else None
        path: Optional[Path] = None
        relative = False
        if place is not None:
            path = place.path if not place.root else (place.root, *place.path)
            if around is not None and around.root == place.root and place.path[: len(around.path)] == around.path:
                relative, path = True, place.path[len(around.path) :]
            elif place.root is None:
                path = None
        kind = type_name(instance)
        mark = Mark(path, relative, kind, method, self.size(instance))
        found = self.numbers.get(mark)
        if found is None:
            found = self.numbers[mark] = len(self.modules.marks)
            self.modules.marks.append(mark)
        return found

    def size(self, instance: Any) -> Optional[Parameters]:
        held = self.sizes.get(id(instance))
        if held is None:
            arrays = _parameters(instance)
            held = self.sizes[id(instance)] = (instance, total(arrays) if arrays else None)
        return held[1]

    def place(self, instance: Any) -> Optional[Place]:
        if is_nnx(instance):
            held: Dict[str, Any] = instance.__dict__
            if PLACE in held:
                return held[PLACE]
            self._know_roots()
            if id(instance) not in self.known:
                # a module that was made in the trace, or lives outside it: the root of a place of its own
                root = None if self.running else ""
                for path, module in _nnx_modules(instance):
                    self.known.setdefault(id(module), (module, Place(root, path)))
            known = self.known.get(id(instance))
            return None if known is None else known[1]
        return self._equinox_place(instance)

    def _know_roots(self) -> None:
        for root, name in self.modules.roots[self.roots :]:
            if is_nnx(root):
                for path, module in _nnx_modules(root):
                    self.known.setdefault(id(module), (module, Place(name, path)))
        self.roots = len(self.modules.roots)

    def _equinox_place(self, instance: Any) -> Optional[Place]:
        for running in reversed(self.running):
            if running.place is not None and running.instance is not instance:
                path = self._path_in(running.instance, instance)
                if path is not None:
                    return Place(running.place.root, (*running.place.path, *path))
            elif running.instance is instance:
                return running.place
        place = self._place_by_frame(instance)
        if place is not None:
            return place
        for root, name in self.modules.roots:
            path = self._path_in(root, instance)
            if path is not None:
                return Place(name, path)
        return None if self.running else Place("", ())

    def _place_by_frame(self, instance: Any) -> Optional[Place]:
        """Place of an instance by the method that calls it on a copy of a running one, as inside `filter_jit`."""
        frame: Optional[types.FrameType] = inspect.currentframe()
        for _ in range(_FRAMES):
            if frame is None:
                break
            code = frame.f_code
            owner: Any = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
            if is_equinox(owner) and owner is not instance:
                path = self._path_in(owner, instance)
                for running in reversed(self.running) if path is not None else ():
                    if running.place is not None and type(running.instance) is type(owner):
                        return Place(running.place.root, (*running.place.path, *(path or ())))
            frame = frame.f_back
        return None

    def _path_in(self, owner: Any, instance: Any) -> Optional[Path]:
        """Path of an instance inside another, or of the only one of its class where it is a copy of that one."""
        held = self.inside.get(id(owner))
        if held is None:
            held = self.inside[id(owner)] = (owner, _equinox_modules(owner))
        same = [path for path, module in held[1] if module is instance]
        if not same:
            alike = [path for path, module in held[1] if type(module) is type(instance)]
            same = alike if len(alike) == 1 else []
        return same[0] if same else None


def _equinox_modules(owner: Any) -> List[Tuple[Path, Any]]:
    """Equinox modules in the fields and containers of an object, itself included, with their paths."""
    found: List[Tuple[Path, Any]] = []
    seen: "set[int]" = set()

    def walk(value: Any, path: Path) -> None:
        if len(path) > _DEEPEST or len(seen) > _MOST or id(value) in seen:
            return
        if is_equinox(value):
            seen.add(id(value))
            found.append((path, value))
            held: Dict[str, Any] = value.__dict__
            for field in dataclasses.fields(type_of(value)):
                walk(held.get(field.name), (*path, field.name))
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(cast("List[Any]", value)):
                walk(item, (*path, str(index)))
        elif isinstance(value, dict):
            for key, item in cast("Dict[Any, Any]", value).items():
                walk(item, (*path, str(key)))

    walk(owner, ())
    return found


def _parameters(instance: Any) -> List[Any]:
    """Arrays of the parameters of an instance, each once."""
    if is_nnx(instance):
        variables: Dict[int, Any] = {}
        for _, node in lib.nnx.iter_graph(instance):
            if isinstance(node, lib.nnx.Param):
                variables[id(node)] = content(node)
        return [array for array in variables.values() if is_array(array)]
    leaves: List[Any] = lib.jax.tree_util.tree_leaves(instance)
    return [leaf for leaf in leaves if is_array(leaf) and lib.jax.numpy.issubdtype(leaf.dtype, lib.np.inexact)]
