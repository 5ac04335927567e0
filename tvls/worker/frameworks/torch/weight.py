"""Whether a model can be held: constructors are stopped before they fill more memory than a capture may take."""

from __future__ import annotations

import os
import sys
import weakref
from contextlib import contextmanager
from typing import Any, Dict, Generator

from tvls.capture.limits import Limits
from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.frameworks.torch.tensors import is_tensor

_FACTORIES = ("aten.empty", "aten.zeros", "aten.ones", "aten.full", "aten.rand", "aten.arange", "aten.eye", "aten.new_")


class TooLarge(Exception):  # noqa: N818  (an outcome, not a mistake)
    """The tensors that a constructor makes need more memory than there is for them."""

    def __init__(self, budget: int) -> None:
        super().__init__(f"the model needs more than {budget:,} bytes of memory")
        self.budget = budget


def budget(limits: Limits) -> int:
    """Bytes that the tensors of a model may take: half of what the trace and the machine have, for the forward needs
    memory, too. Depends on no other process, so that equal setups give equal captures."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        machine = limits.memory_bytes
    return min(limits.memory_bytes, machine) // 2


@contextmanager
def weighed(allowed: int) -> Generator[None, None, None]:
    """Raises TooLarge from the call that makes the live tensors made here larger than `allowed` bytes in all. A tensor
    that was only made takes no memory yet; filling it does."""
    base: Any = sys.modules["torch.utils._python_dispatch"].TorchDispatchMode
    alive: Dict[int, Any] = {}
    sizes: Dict[int, int] = {}
    total = 0

    class Weighing(base):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal total
            try:
                made = func(*args, **(kwargs or {}))
            except RuntimeError as fault:
                if "can't allocate memory" in str(fault):
                    raise TooLarge(allowed) from fault
                raise
            if str(func).startswith(_FACTORIES) and is_tensor(made) and made.device.type != "meta":
                storage = made.untyped_storage()  # which outlives the tensor that a parameter is made of
                key, size = int(storage._cdata), int(made.numel() * made.element_size())
                total -= sizes.get(key, 0)
                alive[key], sizes[key] = weakref.ref(storage, lambda _: gone(key)), size
                total += size
                if total > allowed:
                    raise TooLarge(allowed)
            return made

    def gone(key: int) -> None:
        nonlocal total
        alive.pop(key, None)
        total -= sizes.pop(key, 0)

    with lib.torch.no_grad(), Weighing():
        yield
