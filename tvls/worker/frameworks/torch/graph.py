"""A graph that grows while a program runs: which tensor holds which value, and what wrote to it last.

A value belongs to one tensor object at one time. An operation that writes in place gives a new value to the tensor that
it writes to, and to every other tensor that shares its storage as soon as that is read again: views and their bases
never lead to what was there before.
"""

from __future__ import annotations

import weakref
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from tvls.capture.limits import LimitExceeded, Limits
from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.frameworks.torch.tensors import dtype_name, is_tensor, shape_of


class _Known(NamedTuple):
    tensor: Any
    """A weak reference."""
    value: int
    written: int
    """What had been written to its memory last."""


class _Memory(NamedTuple):
    storage: Any
    """A weak reference."""
    values: Dict[Tuple[Any, ...], Tuple[int, int]]
    """By dtype, shape, strides and offset: the value, and what had been written last."""


class _Write(NamedTuple):
    memory: Any
    """A weak reference to the storage: another may get its address."""
    number: int
    operation: int


class Count:
    """Values and operations of the whole capture, bodies included, against their limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._operations = 0
        self._values = 0

    def operation(self) -> None:
        self._operations += 1
        if self._operations > self._limits.operations:
            raise LimitExceeded("operations", self._limits.operations, self._operations)

    def value(self) -> None:
        self._values += 1
        if self._values > self._limits.values:
            raise LimitExceeded("values", self._limits.values, self._values)


class Graph:
    """Values and operations of the program, or of one body.

    `device`: the one that needs no mention. `attributes`: tensors that modules hold, by id, with their names.
    """

    def __init__(self, count: Count, device: str, attributes: Optional[Dict[int, Tuple[Any, str]]] = None) -> None:
        self.values: List[Dict[str, Any]] = []
        self.operations: List[Dict[str, Any]] = []
        self._count = count
        self._device = device
        self._known: Dict[int, _Known] = {}
        self._attributes = {} if attributes is None else attributes
        self._follows = attributes is not None
        self._memory: Dict[int, _Memory] = {}
        """By storage: outlives the tensors, as the parameter does that is made of a tensor."""
        self._inside: Dict[int, Tuple[Any, int, int]] = {}
        """By tensor that operators below an operation made: a weak reference, the operation, and what was written by
        then."""
        self._last: Dict[int, _Write] = {}
        """By what identifies a memory: what was written to it last."""
        self._writes = 0
        self._used: Set[str] = set()
        self._ordinals: Dict[str, int] = {}

    def add_value(self, tensor: Any, role: str, **more: Any) -> int:
        """A new value, which `tensor` holds from now on. Raises LimitExceeded."""
        self._count.value()
        inner = innermost(tensor)  # of a batch by `vmap` the whole of it
        value: Dict[str, Any] = {"role": role, "shape": shape_of(inner), "dtype": dtype_name(tensor), **more}
        device = str(tensor.device)
        if device != self._device:
            value["device"] = device
        self.values.append(value)
        self.hold(tensor, len(self.values) - 1)
        return len(self.values) - 1

    def hold(self, tensor: Any, value: int) -> None:
        self._known[id(tensor)] = _Known(weakref.ref(tensor), value, self._written(tensor))
        inner = unwrapped(tensor)
        if inner is not None:
            self.hold(inner, value)
        elif self._follows:
            self._remember(tensor, value)

    def known(self, tensor: Any) -> Optional[int]:
        """The value that a tensor holds; None for one that nothing in this graph made."""
        found = self._known.get(id(tensor))
        if found is not None and found.tensor() is not tensor:  # another one had this address before
            found = None
        if found is None:
            inner = unwrapped(tensor)
            if inner is not None:
                return self.known(inner)
        written = self._last_write(tensor)
        if found is None and written is None:
            return None
        if found is not None and found.written == (0 if written is None else written.number):
            return found.value
        if written is None:  # it was given other memory since (`x.data = …`), which nothing in this graph wrote
            return None
        value = self.add_value(tensor, "intermediate")
        self.operations[written.operation]["outputs"].append(value)
        return value

    def holds(self, tensor: Any) -> Optional[int]:
        """The value that this very tensor was given, by an operation or below one; None where something was written to
        its memory since.
        """
        found = self._known.get(id(tensor))
        if found is None or found.tensor() is not tensor:
            return self._result_of_inside(tensor)
        return found.value if found.written == self._written(tensor) else None

    def read(self, tensor: Any) -> int:
        """The value that a tensor holds; one from elsewhere becomes a constant."""
        value = self.known(tensor)
        if value is None:
            value = self._same_memory(tensor)
        if value is None:
            value = self._result_of_inside(tensor)
        if value is None:
            held = self._attributes.get(id(tensor))
            named = {} if held is None else {"name": held[1]}
            return self.add_value(tensor, "constant", **named)
        return value

    def made_inside(self, tensors: List[Any], operation: int) -> None:
        """Operators below an operation made tensors, which an object that it returned may hold."""
        for tensor in tensors:
            self._inside[id(tensor)] = (weakref.ref(tensor), operation, self._written(tensor))

    def _result_of_inside(self, tensor: Any) -> Optional[int]:
        reference, operation, written = self._inside.get(id(tensor), (None, 0, 0))
        if reference is None or reference() is not tensor or written != self._written(tensor):
            return None
        value = self.add_value(tensor, "intermediate")
        self.operations[operation]["outputs"].append(value)
        return value

    def _remember(self, tensor: Any, value: int) -> None:
        storage = None if tensor.is_nested else _storage(tensor)
        if storage is None:
            return
        key = int(storage._cdata)
        memory = self._memory.get(key)
        if memory is None or memory.storage() is not storage:  # another had this address before
            memory = self._memory[key] = _Memory(weakref.ref(storage), {})
        memory.values[_layout(tensor)] = (value, self._written(tensor))

    def _same_memory(self, tensor: Any) -> Optional[int]:
        """The value of another tensor that is this one but for its class or its flags, as `Parameter(tensor)` is."""
        storage = _storage(tensor) if self._follows and not tensor.is_nested else None
        memory = None if storage is None else self._memory.get(int(storage._cdata))
        if storage is None or memory is None or memory.storage() is not storage:
            return None
        found = memory.values.get(_layout(innermost(tensor)))
        if found is None or found[1] != self._written(tensor):
            return None
        self.hold(tensor, found[0])
        return found[0]

    def wrote(self, tensor: Any, operation: int) -> None:
        self._writes += 1
        memory = _memory(tensor)
        self._last[_identity(memory)] = _Write(weakref.ref(memory), self._writes, operation)

    def _last_write(self, tensor: Any) -> Optional[_Write]:
        if not self._last:
            return None
        memory = _memory(tensor)
        found = self._last.get(_identity(memory))
        return found if found is not None and found.memory() is memory else None

    def _written(self, tensor: Any) -> int:
        """Number of what was written to the memory of a tensor last; 0 where nothing was."""
        found = self._last_write(tensor)
        return 0 if found is None else found.number

    def add_operation(self, stem: str, operation: Dict[str, Any]) -> int:
        """Append an operation, with an id that is unique and begins with `stem`. Raises LimitExceeded."""
        self._count.operation()
        ordinal = self._ordinals.get(stem, 0)
        while f"{stem}.{ordinal}" in self._used:
            ordinal += 1
        self._ordinals[stem] = ordinal + 1
        self._used.add(f"{stem}.{ordinal}")
        self.operations.append({"id": f"{stem}.{ordinal}", **operation})
        return len(self.operations) - 1


def unwrapped(tensor: Any) -> Any:
    """The tensor inside one that `vmap` or another transform of `torch.func` made, which no call tells of; or None."""
    functorch: Any = getattr(lib.torch._C, "_functorch", None)
    try:
        if functorch is not None and functorch.is_functorch_wrapped_tensor(tensor):
            return functorch.get_unwrapped(tensor)
    except (AttributeError, RuntimeError):  # an internal of PyTorch, which may go
        return None
    return None


def innermost(tensor: Any) -> Any:
    """The tensor that holds the elements: under `vmap` those of the whole batch."""
    inner = unwrapped(tensor)
    return tensor if inner is None else innermost(inner)


def _storage(tensor: Any) -> Any:
    """The storage of a tensor, one object as long as it lives; None where it has none of its own."""
    try:
        with lib.torch._C.DisableTorchFunction():
            return tensor.untyped_storage()
    except (RuntimeError, NotImplementedError, AttributeError):  # sparse, nested and wrapped tensors
        inner = unwrapped(tensor)
        return None if inner is None else _storage(inner)


def _layout(tensor: Any) -> Tuple[Any, ...]:
    with lib.torch._C.DisableTorchFunction():
        return tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset()


def storage_of(tensor: Any) -> int:
    """What identifies the memory of a tensor, that of its views included, as long as one of them lives."""
    return _identity(_memory(tensor))


def _memory(tensor: Any) -> Any:
    """The storage of a tensor; of one without a storage, itself."""
    storage = _storage(tensor)
    return tensor if storage is None else storage


def _identity(memory: Any) -> int:
    return id(memory) if is_tensor(memory) else int(memory._cdata)
