"""Tensors that modules hold without having registered them: what they are called."""

from __future__ import annotations

from typing import Any, Dict, Tuple

from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.frameworks.torch.tensors import is_tensor
from tvls.worker.job import type_of

_REGISTERED = frozenset(("_parameters", "_buffers", "_modules"))
_DEEPEST = 3
_LONGEST = 1_000
"""Containers with more entries are tables of something else."""


def held_tensors(root: Any) -> Dict[int, Tuple[Any, str]]:
    """From the id of a tensor to it and its name, such as `blocks.0.mask` or `rotary.tables.cos`."""
    found: Dict[int, Tuple[Any, str]] = {}
    for path, module in lib.torch.nn.Module.named_modules(root):
        held: Dict[str, Any] = getattr(module, "__dict__", {})
        for name, value in held.items():
            if name not in _REGISTERED:
                _collect(value, f"{path}.{name}" if path else name, found, 0)
    return found


def _collect(value: Any, name: str, found: Dict[int, Tuple[Any, str]], depth: int) -> None:
    kind = type_of(value)
    if is_tensor(value):
        found.setdefault(id(value), (value, name))
    elif depth < _DEEPEST and kind in (list, tuple, dict) and len(value) <= _LONGEST:
        for key, item in value.items() if kind is dict else enumerate(value):
            _collect(item, f"{name}.{key}", found, depth + 1)
