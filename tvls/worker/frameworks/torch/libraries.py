"""PyTorch of the capture Python, imported by `load`; untyped, as it is absent where this code is checked."""

from __future__ import annotations

import importlib
import platform
import sys
from typing import Any, Callable, Dict

torch: Any = None
signatures: Dict[Any, Callable[..., Any]] = {}
"""From each function that PyTorch lets others override to a lambda with the names of its parameters."""


def load() -> None:
    """Import PyTorch. Raises ImportError where it is missing; starts no thread and touches no accelerator."""
    global torch
    if torch is not None:
        return
    loaded = importlib.import_module("torch")
    for name in ("torch.nn", "torch.overrides", "torch.utils._python_dispatch"):
        importlib.import_module(name)
    try:
        importlib.import_module("torch._dynamo")  # takes seconds, and the first initialiser of a parameter imports it
    except Exception:  # noqa: BLE001  (an internal of PyTorch: without it, whoever needs it says so)
        sys.modules.pop("torch._dynamo", None)
    try:
        signatures.update(loaded.overrides.get_testing_overrides())
        loaded.overrides.resolve_name(loaded.relu)  # makes a table of all names, which it keeps
    except Exception:  # noqa: BLE001  (a table for PyTorch's own tests; without it parameters are numbered)
        signatures.clear()
    torch = loaded


def versions() -> Dict[str, str]:
    """Versions of Python and PyTorch, and of torchvision where the program has imported it."""
    found = {"python": platform.python_version(), "torch": str(torch.__version__)}
    for name in ("torchvision", "timm", "transformers"):
        version: Any = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found
