"""What is measured of the tensors that a forward makes, on request: each costs a pass over its elements."""

from __future__ import annotations

import math
from typing import Any, Dict, FrozenSet, List

from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.frameworks.torch.graph import innermost, storage_of

KINDS = ("storage_aliases", "activation_statistics", "output_bytes")


class Measurements:
    def __init__(self, wanted: FrozenSet[str]) -> None:
        self._wanted = wanted
        self._storages: Dict[int, int] = {}
        self._alive: List[Any] = []  # storages whose identity is a key
        self.bytes = 0
        """Of all tensors that were made, as far as they have a size: what a further measurement would read."""

    def take(self, tensor: Any, value: Dict[str, Any]) -> None:
        """Note what is wanted of a tensor in the entry of its value."""
        tensor = innermost(tensor)
        with lib.torch._C.DisableTorchFunction():
            size = _bytes(tensor)
            self.bytes += size
            if "output_bytes" in self._wanted:
                value["bytes"] = size
            if "storage_aliases" in self._wanted:
                value["storage"] = self._storage(tensor)
            if "activation_statistics" in self._wanted and tensor.device.type != "meta":
                value["statistics"] = _statistics(tensor)

    def _storage(self, tensor: Any) -> int:
        """Number of the memory that a tensor lies in; equal numbers are aliases."""
        identity = storage_of(tensor)
        if identity not in self._storages:
            self._storages[identity] = len(self._storages)
            self._alive.append(tensor.untyped_storage() if identity != id(tensor) else tensor)
        return self._storages[identity]


def _bytes(tensor: Any) -> int:
    try:
        return int(tensor.numel() * tensor.element_size())
    except (RuntimeError, NotImplementedError):  # nested tensors
        return 0


def _statistics(tensor: Any) -> Dict[str, Any]:
    """Least, greatest, mean and standard deviation of the finite elements; counts of the others and of zeros."""
    torch = lib.torch
    if tensor.is_nested:
        tensor = torch.cat([part.detach().reshape(-1) for part in tensor.unbind()])
    if tensor.layout != torch.strided or tensor.is_quantized:
        tensor = tensor.dequantize() if tensor.is_quantized else tensor.to_dense()
    flat = tensor.detach().reshape(-1)
    count = int(flat.numel())
    found: Dict[str, Any] = {"elements": count, "zeros": int((flat == 0).sum())}
    if flat.is_complex():
        flat = flat.abs()
    wide = flat.to(torch.float64)
    found["nan"] = int(torch.isnan(wide).sum())
    found["infinite"] = int(torch.isinf(wide).sum())
    finite = wide[torch.isfinite(wide)]
    if finite.numel():
        found["min"] = float(finite.min())
        found["max"] = float(finite.max())
        found["mean"] = float(finite.mean())
        found["std"] = float(finite.std(correction=0))
    return {name: number for name, number in found.items() if math.isfinite(number)}  # a sum may go over all bounds
