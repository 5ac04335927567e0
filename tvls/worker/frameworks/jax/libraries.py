"""The libraries of the capture Python, imported by `load`; untyped, as they are absent where this code is checked."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any, Dict

jax: Any = None
np: Any = None
core: Any = None
"""`jax.extend.core`."""
flax: Any = None
linen: Any = None
"""`flax.linen`, or None where Flax is not installed."""
nnx: Any = None
"""`flax.nnx`, or None where Flax is not installed or has none."""


def load() -> None:
    """Import JAX and, where installed, Flax. Raises ImportError where JAX is missing; initialises no backend."""
    global jax, np, core, flax, linen, nnx
    if jax is not None:
        return
    np = importlib.import_module("numpy")
    loaded = importlib.import_module("jax")
    for name in ("jax.numpy", "jax.extend.core", "jax.tree_util", "jax.sharding", "jax.dtypes"):
        importlib.import_module(name)
    core = sys.modules["jax.extend.core"]
    if importlib.util.find_spec("flax") is not None:
        flax = importlib.import_module("flax")
        linen = importlib.import_module("flax.linen")
        importlib.import_module("flax.errors")
        if importlib.util.find_spec("flax.nnx") is not None:
            nnx = importlib.import_module("flax.nnx")
    # Whole tracebacks: which frames are worth showing is for failures to say, in the same way in every version.
    loaded.config.update("jax_traceback_filtering", "off")
    jax = loaded


def versions() -> Dict[str, str]:
    """Versions of Python and of what is installed of jax, jaxlib and flax."""
    found = {"python": ".".join(map(str, sys.version_info[:3])), "jax": str(jax.__version__)}
    found["jaxlib"] = str(importlib.import_module("jaxlib").__version__)
    if linen is not None:
        found["flax"] = str(flax.__version__)
    return found
