"""What an array is and how it becomes abstract: shape, dtype, weak type and explicit placement, never its values."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from tvls.worker.frameworks.jax import libraries as lib
from tvls.worker.frameworks.jax.dtypes import dtype_name, parse_dtype, require_wide
from tvls.worker.job import SetupFault, type_of
from tvls.worker.values import TensorSpec

_TRACER, _ARRAY, _VARIABLE, _OTHER = range(4)
_kinds: Dict[type, int] = {}


def is_array(value: object) -> bool:
    """Whether a value is an array that JAX can trace: concrete, traced or abstract; Python scalars are not."""
    if isinstance(value, (lib.jax.Array, lib.jax.ShapeDtypeStruct)):
        return True
    return isinstance(value, (lib.np.ndarray, lib.np.generic)) and _traceable(value)


def _traceable(value: Any) -> bool:
    # object, string and date arrays are not JAX's; its extra types (bfloat16, float8) are void ("V") to NumPy
    kind = str(value.dtype.kind)
    return kind in "biufc" or (kind == "V" and value.dtype.fields is None and not value.dtype.name.startswith("void"))


def abstract(value: Any, key: str) -> Any:
    """The `jax.ShapeDtypeStruct` of an array; explicit placement stays. SetupFault where JAX would narrow it."""
    jax = lib.jax
    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    require_wide(dtype_name(value.dtype), key)
    sharding: Any = getattr(value, "sharding", None) if placement(value) is not None else None
    weak = bool(getattr(value, "weak_type", False))
    return jax.ShapeDtypeStruct(tuple(value.shape), value.dtype, sharding=sharding, weak_type=weak)


def placement(value: Any) -> Optional[str]:
    """The explicit sharding or device of an array as text, or None for an array that is placed by default."""
    sharding: Any = getattr(value, "sharding", None)
    if sharding is None:
        return None
    if isinstance(value, lib.jax.Array) and not getattr(value, "committed", True):
        return None
    mesh: Any = getattr(sharding, "mesh", None)
    if mesh is not None and getattr(mesh, "empty", False):
        return None
    return str(sharding)


def nbytes(value: Any) -> int:
    """Bytes of an array, from shape and dtype alone; sub-byte dtypes are packed. A typed key counts as its words."""
    elements = 1
    for dim in value.shape:
        elements *= int(dim)
    if not isinstance(value.dtype, lib.np.dtype):
        key_shape: Any = getattr(getattr(value.dtype, "_impl", None), "key_shape", (2,))
        return elements * 4 * int(lib.np.prod(key_shape))
    name = str(value.dtype.name)
    if name.endswith(("int2", "int4")) or name.startswith("float4"):
        return -(-elements * (2 if name.endswith("int2") else 4) // 8)
    return elements * int(value.dtype.itemsize)


def described(spec: TensorSpec) -> Any:
    """The abstract array of a described tensor; its generator is not run. Raises SetupFault for dtype and gradient."""
    if spec.requires_grad:
        message = (
            "JAX arrays have no requires_grad: set it to false, and express jax.grad in the function that is traced"
        )
        raise SetupFault("setup", message, f"{spec.key}.requires_grad")
    return lib.jax.ShapeDtypeStruct(spec.shape, parse_dtype(spec.dtype, f"{spec.key}.dtype"))


def describe(value: object) -> Optional[Tuple[List[int], str]]:
    """Shape and dtype of an array, tracer, abstract array or NNX variable, else None. Runs no user code."""
    kind = _kind(type(value))
    if kind == _OTHER:
        return None
    array: Any = value
    if kind == _VARIABLE:
        array = content(value)
        kind = _kind(type_of(array))
        if kind not in (_TRACER, _ARRAY):
            return None
    if kind == _TRACER:
        array = array.aval
    try:
        return list(array.shape), dtype_name(array.dtype)
    except AttributeError:  # a traced token or other value that has no shape
        return None


def _kind(cls: "type[Any]") -> int:
    kind = _kinds.get(cls)
    if kind is None:
        kind = _kinds[cls] = _classify(cls)
    return kind


def _classify(kind: "type[Any]") -> int:
    ancestors = kind.__mro__
    if lib.jax.core.Tracer in ancestors:
        return _TRACER
    if kind in (lib.np.ndarray, lib.jax.ShapeDtypeStruct):
        return _ARRAY
    if kind.__module__.startswith(("jaxlib", "jax._src")) and issubclass(kind, lib.jax.Array):
        return _ARRAY
    if lib.nnx is not None and lib.nnx.Variable in ancestors:
        return _VARIABLE
    return _OTHER


def content(variable: object) -> Any:
    for name in ("_raw_value", "raw_value"):  # read past the variable's own attribute hooks
        try:
            return object.__getattribute__(variable, name)
        except AttributeError:
            continue
    return None
