"""What JAX keeps in private places, read softly: a version without it loses the detail, not the capture."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from contextlib import contextmanager
from typing import Any, Dict, Generator, List, Mapping, Optional, Set, Tuple, cast

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


@contextmanager
def drawn_by_shape() -> Generator[None]:
    """Within, what JAX's initialisers draw has its shape and dtype, and the program that would draw it is not traced:
    the larger part of an abstract initialisation, whose program nobody sees."""
    try:
        module: Any = importlib.import_module("jax._src.nn.initializers")
        plain: Any = module.random
    except (ImportError, AttributeError):
        yield
        return
    module.random = _Shapes(plain)
    try:
        yield
    finally:
        module.random = plain


@contextmanager
def checked_by_shape() -> Generator[None]:
    """Within, Linen compares a parameter that is there with what its initialiser would make without tracing draws."""
    try:
        scope: Any = importlib.import_module("flax.core.scope").Scope
        plain: Any = scope.param
    except (ImportError, AttributeError):
        yield
        return

    def param(self: Any, name: str, init_fn: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.has_variable("params", name):
            return plain(self, name, init_fn, *args, **kwargs)
        with drawn_by_shape():
            return plain(self, name, init_fn, *args, **kwargs)

    scope.param = param
    try:
        yield
    finally:
        scope.param = plain


class _Shapes:
    """`jax.random` with draws that are not drawn."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain
        for name in ("normal", "uniform", "truncated_normal"):
            setattr(self, name, functools.partial(self._draw, getattr(plain, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def _draw(self, draw: Any, *args: Any, **kwargs: Any) -> Any:
        given = _signature(draw).bind(*args, **kwargs).arguments
        shape, dtype = given.get("shape"), given.get("dtype")
        numpy: Any = sys.modules["jax.numpy"]
        floating = dtype is not None and numpy.issubdtype(dtype, numpy.floating)
        if shape is None or not floating or given.get("out_sharding") is not None:
            return draw(*args, **kwargs)
        return numpy.zeros(shape, dtype)


@functools.lru_cache(maxsize=None)
def _signature(function: Any) -> inspect.Signature:
    return inspect.signature(function)


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


def unbound_axis(error: NameError) -> Optional[str]:
    """The named axis that a program uses and nothing around it binds, by JAX's error."""
    found = re.search(r"unbound axis name:?\s*['\"]?([^\s'\".,]+)", str(error))
    return None if found is None else found.group(1)


def lacks_mesh(error: ValueError) -> bool:
    """Whether Flax refuses a variable because its sharding is annotated and there is no mesh."""
    return "mesh" in str(error) and "annotation" in str(error)


@contextmanager
def recorded_streams(names: Set[str]) -> Generator[None, None, None]:
    """Note the random streams that Linen modules ask for without being given them. Where that cannot be watched,
    nothing is noted, and a trace finds them one by one."""
    scope: Any = getattr(sys.modules.get("flax.core.scope"), "Scope", None)
    plain: Any = getattr(scope, "make_rng", None)
    if not callable(plain) or not hasattr(scope, "has_rng"):
        yield
        return

    @functools.wraps(plain)
    def make_rng(self: Any, *args: Any, **kwargs: Any) -> Any:
        name: Any = args[0] if args else kwargs.get("name", "params")
        if isinstance(name, str) and not self.has_rng(name):
            names.add(name)
        return plain(self, *args, **kwargs)

    scope.make_rng = make_rng
    try:
        yield
    finally:
        scope.make_rng = plain


def haiku_function(program: Any) -> Any:
    """The function that a Haiku program was made of, which knows the names of its parameters; where Haiku did not keep
    it, something that takes any arguments."""
    function: Any = getattr(program.init, "_original_fn", None)
    if callable(function):
        return function

    def unnamed(*args: Any, **kwargs: Any) -> None: ...

    return unnamed


def object_primitive(value: object) -> Optional[Tuple[str, Dict[str, Any]]]:
    """Name and parameters of a primitive that is an object of its own (`call_hi_primitive`, in newer versions), or None
    for any other value. The parameters are those that a printed jaxpr shows."""
    shown: Any = getattr(value, "pp_params", None)
    if not callable(shown) or not type(value).__module__.startswith("jax"):
        return None
    found: Any = shown()
    return (type(value).__name__, cast("Dict[str, Any]", found)) if isinstance(found, dict) else None
