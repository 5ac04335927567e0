"""Objects that a function has by name and not as an argument: globals, and variables of the functions around it."""

from __future__ import annotations

import functools
import inspect
import types
from contextlib import contextmanager
from typing import Any, Callable, Dict, Generator, Iterator, List, NamedTuple, Optional, Set, Union

_MOST = 500
"""Functions that are looked through, at most."""


class Reference(NamedTuple):
    """One name that leads to an object, and what holds it."""

    holder: Union[Dict[str, Any], types.CellType]
    name: str
    value: Any
    module: str

    def point_to(self, value: Any) -> None:
        if isinstance(self.holder, types.CellType):
            self.holder.cell_contents = value
        else:
            self.holder[self.name] = value


def references(target: object, wanted: Callable[[object], bool], is_library: Callable[[str], bool]) -> List[Reference]:
    """Names through which the code of `target`, and of the functions that it has by name, reaches wanted objects.

    Functions whose file `is_library` are not looked through. Runs no user code.
    """
    found: Dict[Any, Reference] = {}
    seen: Set[int] = set()
    pending: List[types.FunctionType] = list(_functions(target))
    while pending and len(seen) < _MOST:
        function = pending.pop()
        if id(function) in seen or is_library(function.__code__.co_filename):
            continue
        seen.add(id(function))
        for reference in _names(function):
            if wanted(reference.value):
                found.setdefault((id(reference.holder), reference.name), reference)
            else:
                pending += _functions(reference.value)
    return sorted(found.values(), key=lambda reference: (reference.module, reference.name))


def _functions(value: object) -> Iterator[types.FunctionType]:
    """The functions in a callable: itself, what a transformation or partial wraps, that of a bound method."""
    for _ in range(20):
        if isinstance(value, functools.partial):
            value = value.func  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        elif inspect.ismethod(value):
            value = value.__func__
        elif isinstance(value, types.FunctionType):
            yield value
            value = value.__dict__.get("__wrapped__")
        elif type(value).__module__.partition(".")[0] in ("jax", "jaxlib", "flax"):
            value = getattr(value, "__wrapped__", None)
        else:  # an object of the user's may answer a question about its attributes with code of its own
            return


def _names(function: types.FunctionType) -> Iterator[Reference]:
    module = str(function.__globals__.get("__name__", ""))
    for name in sorted(_global_names(function.__code__)):
        if name in function.__globals__:
            yield Reference(function.__globals__, name, function.__globals__[name], module)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        value = _contents(cell)
        if value is not None:
            yield Reference(cell, name, value, module)


def _global_names(code: types.CodeType) -> Set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def _contents(cell: types.CellType) -> Optional[Any]:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is assigned to it yet
        return None


@contextmanager
def pointing_to(found: List[Reference], replace: Callable[[Any], Any]) -> Generator[None, None, None]:
    """In this context, the names lead to what `replace` makes of their objects; what the code assigns to one stays."""
    placed = [(reference, replace(reference.value)) for reference in found]
    for reference, value in placed:
        reference.point_to(value)
    try:
        yield
    finally:
        for reference, value in placed:
            if _current(reference) is value:
                reference.point_to(reference.value)


def _current(reference: Reference) -> Any:
    if isinstance(reference.holder, types.CellType):
        return _contents(reference.holder)
    return reference.holder.get(reference.name)
