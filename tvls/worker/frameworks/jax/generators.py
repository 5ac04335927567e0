"""Elements of described arrays, for constructors, which may look at them. Everything else is traced by shape alone."""

from __future__ import annotations

import math
import zlib
from typing import Any, Dict

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.arrays import described
from tvls.worker.frameworks.jax.internals import key_implementations
from tvls.worker.job import SetupFault
from tvls.worker.values import MakeTensor, TensorSpec


def generator(seed: int) -> MakeTensor:
    """Makes concrete arrays. Equal seeds give equal arrays; each place in the setup draws numbers of its own."""
    return lambda spec: _generate(spec, seed)


def _generate(spec: TensorSpec, seed: int) -> Any:
    struct = described(spec)
    place = zlib.crc32(spec.key.encode("utf-8", "surrogatepass"))
    if not isinstance(struct.dtype, lib.np.dtype):
        return _keys(spec, seed, place)
    return _cast(_elements(spec, struct.dtype, lib.np.random.default_rng([seed, place])), struct)


def _keys(spec: TensorSpec, seed: int, place: int) -> Any:
    random = lib.jax.random
    implementation = key_implementations()[spec.dtype[len("key<") : -1]]
    key = random.fold_in(random.key(seed, impl=implementation), place)
    return random.split(key, spec.shape) if spec.shape else key


def _elements(spec: TensorSpec, dtype: Any, draws: Any) -> Any:
    """The elements in a type that holds them all: 64-bit integers, floats, complex numbers or booleans."""
    np, shape, place = lib.np, spec.shape, f"{spec.key}.generator"
    kind: Any = spec.generator.get("kind", "ones")
    given: Dict[str, Any] = {name: value for name, value in spec.generator.items() if name != "kind"}
    try:
        if kind in ("zeros", "ones", "full"):
            return np.broadcast_to(np.asarray({"zeros": 0, "ones": 1}.get(kind, given.get("value"))), shape)
        if kind == "arange":
            start, step = given["start"], given["step"]
            whole = isinstance(start, int) and isinstance(step, int)
            count = np.arange(math.prod(shape), dtype=np.int64 if whole else np.float64)
            return (start + step * count).reshape(shape)
        if kind == "bernoulli":
            return draws.random(shape) < given["p"]
        if kind == "randint":
            low, high = int(given["low"]), int(given["high"])
            return draws.integers(low, high, shape, dtype=np.uint64 if high > 2**63 else np.int64)
        if kind in ("normal", "uniform"):
            parts = [_reals(kind, given, shape, draws) for _ in range(2 if dtype.kind == "c" else 1)]
            return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    except (KeyError, TypeError, ValueError) as fault:
        message = f"the generator {kind!r} cannot make this array: {type(fault).__name__}: {fault}"
        raise SetupFault("setup", message, place) from fault
    raise SetupFault("setup", f"there is no generator {kind!r}", f"{place}.kind")


def _reals(kind: str, given: Dict[str, Any], shape: Any, draws: Any) -> Any:
    """Draws in double precision; of a complex array, each of its parts."""
    if kind == "normal":
        return draws.normal(given["mean"], given["std"], shape)
    return draws.uniform(given["low"], given["high"], shape)


def _cast(elements: Any, struct: Any) -> Any:
    """Elements in the dtype of the array; what a narrow float cannot reach becomes its nearest finite number."""
    np, dtype = lib.np, struct.dtype
    if elements.dtype.kind == "f" and lib.jax.numpy.issubdtype(dtype, lib.jax.numpy.floating):
        info = lib.jax.numpy.finfo(dtype)
        elements = np.clip(elements, float(info.min), float(info.max))
    return np.ascontiguousarray(elements.astype(dtype)).reshape(struct.shape)
