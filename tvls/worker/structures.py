"""What lists, tuples, dictionaries, named tuples and dataclasses hold: arrays by path, without running code of theirs.

Containers of these very types are looked into, and named tuples and dataclasses of any class; objects that can be
called are modules and functions, and stay what they are. Both the arrays and the steps are limited.
"""

from __future__ import annotations

import collections
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union, cast

Describe = Callable[[object], Optional[Tuple[List[int], str]]]
"""Answers shape and dtype of an array, and None for anything else."""
Path = Tuple[Union[str, int], ...]
Array = Tuple[Path, Tuple[int, ...], str]
"""Path, shape and dtype."""

ARRAYS = 100
"""Arrays that are told of one object."""
_STEPS = 400
"""Objects that are looked at for it."""
_DEPTH = 12
_STRANGE = "…"
"""Stands for a key that is neither text nor a whole number: its own code would have to write it."""
_LISTS = frozenset([list, tuple])
_DICTS = frozenset([dict, collections.OrderedDict, collections.defaultdict])
_elements = cast("Callable[[object], Iterator[object]]", getattr(tuple, "__iter__"))  # noqa: B009  (typed here)
"""Of a tuple, whatever its class makes of iteration."""


class What(NamedTuple):
    """An array, or an object that holds arrays."""

    type: str
    """Empty for an array."""
    arrays: Tuple[Array, ...]
    cut: bool = False
    """Whether it may hold more than is told."""


class Structures:
    def __init__(self, describe: Describe, plain: "frozenset[type]") -> None:
        self._describe = describe
        self._plain = plain
        self._attributes: Dict[type, Optional[Callable[[Any], Iterable[Tuple[str, object]]]]] = {}

    def of(self, value: object) -> Optional[What]:
        """None for what holds no array."""
        kind: "type[Any]" = type(value)
        if kind in self._plain:
            return None
        if kind not in _LISTS and kind not in _DICTS:
            described = self._describe(value)
            if described is not None:
                return What("", (((), tuple(described[0]), described[1]),))
            if self._parts_of(kind) is None:
                return None
        look = _Look(self)
        look.into(value, (), 0)
        if not look.arrays:
            return None
        return What(cast("str", type.__getattribute__(kind, "__name__")), tuple(look.arrays), look.cut)

    def array(self, value: object, path: Path) -> Optional[Array]:
        described = None if type(value) in self._plain else self._describe(value)
        return None if described is None else (path, tuple(described[0]), described[1])

    def parts(self, value: object) -> Optional[Iterable[Tuple[Union[str, int], object]]]:
        """Keys and objects directly inside; None for what is not looked into."""
        if type(value) in self._plain:
            return None
        kind: type = type(value)
        if kind in _LISTS:
            return enumerate(cast("Iterable[object]", value))
        if kind in _DICTS:
            return ((_key(key), item) for key, item in cast("Dict[object, object]", value).items())
        of = self._parts_of(kind)
        return None if of is None else of(value)

    def _parts_of(self, kind: type) -> Optional[Callable[[Any], Iterable[Tuple[str, object]]]]:
        if kind not in self._attributes:
            self._attributes[kind] = _attributes(kind)
        return self._attributes[kind]


class _Look:
    def __init__(self, structures: Structures) -> None:
        self.structures = structures
        self.arrays: List[Array] = []
        self.steps = _STEPS
        self.cut = False

    def into(self, value: object, path: Path, depth: int) -> None:
        array = self.structures.array(value, path) if depth else None
        if array is not None:
            self.arrays.append(array)
            return
        parts = self.structures.parts(value)
        if parts is None:
            return
        try:
            for key, item in parts:
                if self.steps <= 0 or len(self.arrays) >= ARRAYS or depth >= _DEPTH:
                    self.cut = True
                    return
                self.steps -= 1
                self.into(item, (*path, key), depth + 1)
        except RuntimeError:  # another thread changed it meanwhile
            self.cut = True


def _key(key: object) -> Union[str, int]:
    return cast("Union[str, int]", key) if type(key) in (str, int) else _STRANGE


def _attributes(kind: type) -> Optional[Callable[[Any], Iterable[Tuple[str, object]]]]:
    """How to read the fields of a named tuple or dataclass, past whatever its class makes of attributes."""
    classes = [cast("Dict[str, Any]", type.__getattribute__(of, "__dict__")) for of in _mro(kind)]
    found = {name: attribute for names in reversed(classes) for name, attribute in names.items()}
    fields = found.get("_fields")
    if tuple in _mro(kind):
        if type(fields) is not tuple:
            return None
        names = [str(_key(name)) for name in cast("Tuple[object, ...]", fields)]
        return lambda value: zip(names, _elements(value), strict=False)
    described: Any = found.get("__dataclass_fields__")
    if type(described) is not dict or "__call__" in found:
        return None
    names = [name for name in cast("Dict[object, object]", described) if type(name) is str]
    slots = {name: found[name] for name in names if type(found.get(name)) is MemberDescriptorType}
    instance: Any = found.get("__dict__")
    has_instance = type(instance) is GetSetDescriptorType

    def read(value: Any) -> Iterable[Tuple[str, object]]:
        own: Dict[str, object] = instance.__get__(value) if has_instance else {}
        for name in names:
            if name in slots:
                try:
                    yield name, slots[name].__get__(value)
                except AttributeError:  # not set
                    continue
            elif name in own:
                yield name, own[name]

    return read


def _mro(kind: type) -> Tuple[type, ...]:
    return cast("Tuple[type, ...]", type.__getattribute__(kind, "__mro__"))
