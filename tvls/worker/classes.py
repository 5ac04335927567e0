"""Targets that are classes: a class itself, or a `functools.partial` of one."""

from __future__ import annotations

import functools
from typing import Any, Dict, Optional, Tuple, cast


def class_of(target: object) -> Optional["type[Any]"]:
    """The class that calling a target makes an instance of: the target itself, or what it is a partial of."""
    while isinstance(target, functools.partial):
        target = cast("functools.partial[Any]", target).func
    return target if isinstance(target, type) else None


def bound_arguments(target: object) -> Tuple[int, Dict[str, Any]]:
    """How many positional arguments a partial holds, and its named ones. A class holds none."""
    if not isinstance(target, functools.partial):
        return 0, {}
    partial = cast("functools.partial[Any]", target)
    return len(partial.args), dict(partial.keywords)
