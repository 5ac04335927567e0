"""What JAX keeps in private places, read softly: a version without it loses the detail, not the capture."""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Mapping, Optional, Tuple, cast

Segment = Tuple[str, Optional[str]]
"""One level of a name stack: its label, such as `transpose(jvp(MLP))`, and the plain name in it (`MLP`), if any."""


def key_implementations() -> Dict[str, str]:
    """Registered PRNG implementations: tag, as in `key<fry>`, to name (`threefry2x32`)."""
    known = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
    for module in ("jax._src.prng", "jax._src.random.prng"):
        try:
            registry: Any = importlib.import_module(module).prngs
        except (ImportError, AttributeError):
            continue
        known.update({str(impl.tag): str(impl.name) for impl in registry.values()})
    return known


def name_stack_segments(name_stack: Any) -> List[Segment]:
    """The levels of an equation's name stack, outermost first. A transformation wraps the name that follows it."""
    entries: Any = getattr(name_stack, "stack", None)
    if entries is None:
        return [(part, part) for part in str(name_stack).split("/") if part]
    segments: List[Segment] = []
    pending: List[str] = []
    for entry in entries:
        name = str(entry.name)
        if type(entry).__name__ == "Transform":
            pending.append(name)
        else:
            segments.append((_wrapped(pending, name), name))
            pending = []
    if pending:
        segments.append((_wrapped(pending, ""), None))
    return segments


def _wrapped(transforms: List[str], name: str) -> str:
    for transform in reversed(transforms):
        name = f"{transform}({name})"
    return name


def traced_name(jaxpr: Any) -> Optional[str]:
    """Name of the function that a jaxpr was traced from, where JAX kept it."""
    info: Any = getattr(jaxpr, "debug_info", None)
    name: Any = getattr(info, "func_name", None)
    return name if isinstance(name, str) and name else None


def argument_names(jaxpr: Any) -> List[Optional[str]]:
    """Argument names of the function that a jaxpr was traced from, one for each input; empty where they do not fit."""
    names: Any = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None)
    if not isinstance(names, (tuple, list)) or len(names) != len(jaxpr.invars):  # pyright: ignore[reportUnknownArgumentType]
        return []
    return [name if isinstance(name, str) and name else None for name in names]  # pyright: ignore[reportUnknownVariableType]


def linen_parameters(scope: Any) -> List[Any]:
    """Arrays of the parameters that a Linen scope and those inside it have so far. Creates nothing in the scope."""
    root: Any = getattr(scope, "root", None)
    variables: Any = getattr(root, "_variables", None)
    found: Any = variables.get("params") if variables else None
    for name in tuple(scope.path)[len(tuple(getattr(root, "path", ()))) :]:
        found = cast("Any", found).get(name) if isinstance(found, Mapping) else None
    return [] if found is None else importlib.import_module("jax").tree_util.tree_leaves(found)
