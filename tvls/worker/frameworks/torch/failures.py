"""Exceptions of PyTorch in one line: what was called, with which shapes, in which module, and what to try."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Optional

from tvls.worker.failures import Explanation
from tvls.worker.frameworks.torch.recorder import WHERE, Where
from tvls.worker.frameworks.torch.weight import TooLarge

MACHINERY = ("torch", "torchgen", "numpy")
"""Packages whose frames are left out of a failure: what the program called, and not how that works."""

_HINTS = (
    (re.compile(r"mat1 and mat2 shapes cannot be multiplied"), "the last dimension of the input is not `in_features`"),
    (re.compile(r"expected input\[.*\] to have (\d+) channels"), "channels come second: [batch, channels, …]"),
    (re.compile(r"Expected (?:3D|4D|5D).*got (\d)D"), "add the batch dimension to the input shape"),
    (
        re.compile(r"expected .*scalar type|same dtype|must match.*dtype|Input type .* and .* type"),
        "give the input the dtype of the parameters; where the forward makes tensors itself, have a factory call "
        "torch.set_default_dtype",
    ),
    (re.compile(r"Expected tensor for argument (?:#\d+ )?.indices. .*Long"), "token ids are integers: dtype int64"),
    (re.compile(r"index out of range in self"), "an id is not smaller than `num_embeddings`: give smaller values"),
    (re.compile(r"on the same device|Expected all tensors to be on"), "move every tensor to the device of the model"),
)
_SHAPES_ALONE = "_tvls_shapes_alone"
"""Attribute of exceptions that a model raised on the meta device."""


def mark_shapes_alone(fault: BaseException) -> None:
    """Have `explain` know that the model ran on the meta device."""
    with suppress(AttributeError):  # an exception with slots
        setattr(fault, _SHAPES_ALONE, True)


def explain(fault: BaseException, full: str) -> Optional[Explanation]:
    """What can be said of an exception beyond its own message, or None."""
    if isinstance(fault, TooLarge):
        return Explanation(kind="limit", limit="memory_bytes")
    if isinstance(fault, RuntimeError) and "can't allocate memory" in full:
        return Explanation(kind="limit", limit="memory_bytes")
    where: Optional[Where] = getattr(fault, WHERE, None)
    hint = next((text for pattern, text in _HINTS if pattern.search(full)), None)
    if hasattr(fault, _SHAPES_ALONE):
        hint = (
            "the model is too large to be held, so it ran by shapes, without values; what reads values cannot run so, "
            "nor can some operators: open a smaller one"
        )
    if where is None:
        return None if hint is None else Explanation(hint=hint)
    return Explanation(message=_message(full, where), hint=hint)


def _message(full: str, where: Where) -> Optional[str]:
    first = full.strip().partition("\n")[0].rstrip(".")
    at = where.module
    if where.function is not None:
        name = where.function.rpartition(".")[2]
        given = f" given {', '.join(where.operands[:4])}" if where.operands else ""
        return f"{name}{given}{'' if at is None else f' in {at}'}: {first}"
    return None if at is None else f"in {at}: {first}"
