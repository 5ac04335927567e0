"""What a framework is asked to capture, and the fault it raises when the setup is wrong."""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional, Protocol

from tvls.capture.document import Frame
from tvls.capture.limits import Limits
from tvls.worker.classes import class_of


class SetupFault(Exception):  # noqa: N818  (a fault of the setup, not of the program)
    """A mistake of the saved setup, shown to the person without a traceback.

    `kind` is `setup`, `inputs`, `init`, `device`, `dtype` or `limit`; `key` the place in the setup at fault, such as
    `inputs.args[0].dtype`; `limit` the field of `Limits` where `kind` is `limit`; `hint` what to try.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        key: Optional[str] = None,
        limit: Optional[str] = None,
        *,
        hint: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.key = key
        self.limit = limit
        self.hint = hint


def type_of(value: object) -> Any:
    """The type of a value, untyped."""
    return type(value)


def type_name(value: object) -> str:
    """`module.Type` of a value: how an opaque value is named."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


class FrameRegistry(Protocol):
    """The part of the frame table that a framework writes to."""

    def add(
        self,
        filename: str,
        function: str,
        line: int,
        column: Optional[int],
        end_line: Optional[int],
        end_column: Optional[int],
    ) -> int:
        """Interned index of a source frame; `line` is 1-based, columns are UTF-8 byte offsets."""
        ...

    def at(self, index: int) -> Frame:
        """The frame of an index."""
        ...


@dataclass
class Job:
    """One capture. `target` is the object that `kind` and `name` (its qualified name) refer to."""

    target: object
    kind: str
    name: str
    setup: Dict[str, Any]
    """The `setup` of the trace request."""
    limits: Limits
    frames: FrameRegistry
    load_factory: Callable[[Mapping[str, Any]], object]
    """Runs `{"file", "callable", "kwargs"}` and returns the callable's result."""
    find_class: Callable[[str, str], "type[Any]"]
    """The class of the workspace that `module:qualname` names, for the value at a key of the setup."""
    phase: Callable[[str], AbstractContextManager[Any]]
    """Marks a phase, `init`, `inputs`, `trace` or `encode`, for progress and failure reports."""
    owner: Optional[object] = None
    """What holds the target under its name: a class for a method of one, else a module."""

    @property
    def method(self) -> Optional[str]:
        """Name of the target in its class, where the target is a method that an instance of one has."""
        name = self.name.rpartition(".")[2]
        if not isinstance(self.owner, type) or class_of(self.target) is not None:
            return None
        of_class = isinstance(inspect.getattr_static(self.owner, name, None), (classmethod, staticmethod))
        return None if of_class else name

    @property
    def maker(self) -> Any:
        """What makes the instance to trace: a class or a partial of one; for a method the class that has it."""
        return self.target if self.method is None else self.owner
