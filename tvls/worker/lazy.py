"""Results that nothing has computed yet: what Python's own iterators yield is part of the call, what awaits is not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, List, Tuple, cast

from tvls.capture.limits import LimitExceeded, Limits
from tvls.worker.job import SetupFault, type_of

_OWN = ("builtins", "itertools")
"""Modules of the iterators that are run to their end. One of the program's own may wait for somebody else."""
_HINT = "open a function without `async`; it may run this one with asyncio.run(…)"


def computed(result: Any, limits: Limits) -> Any:
    """The result of a call, with a list of what it yields in place of each generator, `map`, `zip` or the like, also
    inside of lists, tuples and dictionaries.

    Raises SetupFault where there is a coroutine or an asynchronous generator, LimitExceeded where one does not end.
    """
    return _computed(result, limits, ())


def _computed(value: Any, limits: Limits, around: Tuple[int, ...]) -> Any:
    kind = type_of(value)
    if issubclass(kind, (Coroutine, AsyncGenerator)):
        raise _unawaited(value)
    if issubclass(kind, Iterator) and kind.__module__ in _OWN:
        return _computed(_taken(value, limits), limits, around)
    if kind not in (list, tuple, dict) or id(value) in around:
        return value
    container: Any = value
    inside = (*around, id(value))
    if kind is dict:
        table = cast("dict[Any, Any]", container)
        entries = {key: _computed(item, limits, inside) for key, item in table.items()}
        return entries if any(entries[key] is not table[key] for key in table) else table
    items: List[Any] = [_computed(item, limits, inside) for item in container]
    if all(new is old for new, old in zip(items, container, strict=True)):
        return container
    return tuple(items) if kind is tuple else items


def _taken(iterator: Iterator[Any], limits: Limits) -> List[Any]:
    taken: List[Any] = []
    for item in iterator:
        taken.append(item)
        if len(taken) > limits.values:
            raise LimitExceeded("values", limits.values, len(taken))
    return taken


def _unawaited(value: Any) -> SetupFault:
    if isinstance(value, Coroutine):
        cast("Coroutine[Any, Any, Any]", value).close()  # or Python warns that nobody awaited it
        return SetupFault("setup", "the call returns a coroutine: nothing of it runs before it is awaited", hint=_HINT)
    message = "the call returns an asynchronous generator: nothing of it runs before it is asked for what it yields"
    return SetupFault("setup", message, hint=_HINT)
