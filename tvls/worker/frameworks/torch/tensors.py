"""Tensors: what they are, and how those that a setup describes are made."""

from __future__ import annotations

import zlib
from typing import Any, Callable, Dict, List, Optional, Tuple

from tvls.worker.frameworks.torch import libraries as lib
from tvls.worker.job import SetupFault, type_of
from tvls.worker.values import MakeTensor, TensorSpec

_kinds: Dict[type, bool] = {}


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor. Asks its type alone, as `__class__` may be anything."""
    return is_tensor_class(type(value))


def is_tensor_class(kind: type) -> bool:
    known = _kinds.get(kind)
    if known is None:
        known = _kinds[kind] = lib.torch.Tensor in kind.__mro__
    return known


def parts(tensor: Any) -> List[Any]:
    """Tensors that one of an own class is made of, as far as the class tells."""
    flatten: Any = getattr(type_of(tensor), "__tensor_flatten__", None)
    if flatten is None:
        return []
    try:
        return [part for part in (getattr(tensor, name) for name in flatten(tensor)[0]) if is_tensor(part)]
    except Exception:  # noqa: BLE001  (code of the class)
        return []


def describe(value: object) -> Optional[Tuple[List[int], str]]:
    """Shape and dtype of a tensor, else None. Runs no user code."""
    if not is_tensor(value):
        return None
    try:
        with lib.torch._C.DisableTorchFunction():
            return shape_of(value), dtype_name(value)
    except Exception:  # noqa: BLE001  (an uninitialised parameter or a wrapper of functorch has no shape to tell)
        return None


def shape_of(tensor: Any) -> List[int]:
    """Sizes as plain integers; of a nested tensor, where they differ inside, -1."""
    if tensor.is_nested:
        return [int(tensor.size(0)), *(-1 for _ in range(tensor.dim() - 1))]
    return [int(size) for size in tensor.shape]


def dtype_name(tensor: Any) -> str:
    return plain_dtype(tensor.dtype)


def plain_dtype(dtype: Any) -> str:
    """`torch.float32` as `float32`."""
    return str(dtype).rpartition(".")[2]


def generator(seed: int) -> MakeTensor:
    """Makes described tensors. Equal seeds give equal tensors; each place in the setup draws numbers of its own."""
    return lambda spec: _generate(spec, seed)


def _generate(spec: TensorSpec, seed: int) -> Any:
    dtype: Any = getattr(lib.torch, spec.dtype, None)
    if not isinstance(dtype, lib.torch.dtype):
        raise SetupFault("dtype", f"PyTorch has no dtype {spec.dtype!r}", f"{spec.key}.dtype")
    if spec.requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise SetupFault("setup", f"a tensor of {spec.dtype} cannot require gradients", f"{spec.key}.requires_grad")
    kind: Any = spec.generator.get("kind", "ones")
    make = _MAKERS.get(kind)
    if make is None:
        raise SetupFault("setup", f"there is no generator {kind!r}", f"{spec.key}.generator.kind")
    # On the CPU, so that the numbers do not depend on the device; the default device is where it goes.
    with lib.torch.device("cpu"):
        draws = lib.torch.Generator()
        draws.manual_seed((seed ^ zlib.crc32(spec.key.encode("utf-8", "surrogatepass"))) & (2**63 - 1))
        try:
            made = make(spec, dtype, draws)
        except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as fault:
            message = f"the generator {kind!r} cannot make a tensor of {spec.dtype}: {fault}"
            raise SetupFault("setup", message, f"{spec.key}.generator") from fault
    made = made.to(lib.torch.get_default_device()) if hasattr(lib.torch, "get_default_device") else made
    return made.requires_grad_() if spec.requires_grad else made


def _filled(value: Any) -> "Callable[[TensorSpec, Any, Any], Any]":
    def make(spec: TensorSpec, dtype: Any, draws: Any) -> Any:
        return lib.torch.full(spec.shape, spec.generator["value"] if value is None else value).to(dtype)

    return make


def _arange(spec: TensorSpec, dtype: Any, draws: Any) -> Any:
    start, step = spec.generator["start"], spec.generator["step"]
    count = 1
    for size in spec.shape:
        count *= size
    wide = lib.torch.int64 if isinstance(start, int) and isinstance(step, int) else lib.torch.float64
    return (start + step * lib.torch.arange(count, dtype=wide)).reshape(spec.shape).to(dtype)


def _bernoulli(spec: TensorSpec, dtype: Any, draws: Any) -> Any:
    return (lib.torch.rand(spec.shape, generator=draws) < spec.generator["p"]).to(dtype)


def _randint(spec: TensorSpec, dtype: Any, draws: Any) -> Any:
    low, high = int(spec.generator["low"]), int(spec.generator["high"])
    return lib.torch.randint(low, high, spec.shape, generator=draws).to(dtype)


def _normal(spec: TensorSpec, dtype: Any, draws: Any) -> Any:
    drawn = lib.torch.randn(spec.shape, generator=draws, dtype=_wide(dtype))
    return (drawn * spec.generator["std"] + spec.generator["mean"]).to(dtype)


def _uniform(spec: TensorSpec, dtype: Any, draws: Any) -> Any:
    low, high = spec.generator["low"], spec.generator["high"]
    return (lib.torch.rand(spec.shape, generator=draws, dtype=_wide(dtype)) * (high - low) + low).to(dtype)


def _wide(dtype: Any) -> Any:
    return lib.torch.complex128 if dtype.is_complex else lib.torch.float64


_MAKERS: "Dict[Any, Callable[[TensorSpec, Any, Any], Any]]" = {
    "zeros": _filled(0),
    "ones": _filled(1),
    "full": _filled(None),
    "arange": _arange,
    "bernoulli": _bernoulli,
    "randint": _randint,
    "normal": _normal,
    "uniform": _uniform,
}
