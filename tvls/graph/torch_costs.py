"""What functions and ATen operators of PyTorch cost by their shapes, in the manner of `costs`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, cast

from tvls.graph.text import operation_label
from tvls.graph.windows import valid_positions

Shapes = Sequence[Sequence[int]]

SHAPE: Final = frozenset(
    """
    _conj _reshape_alias _to_copy _unsafe_view adjoint alias as_strided bfloat16 broadcast_to clone contiguous copy_
    cpu cuda data detach dim double expand expand_as flatten float half imag int lift_fresh long movedim mH mT
    narrow permute ravel real reshape reshape_as select slice squeeze squeeze_ swapaxes swapdims t to transpose
    transpose_ type type_as unflatten unsqueeze unsqueeze_ view view_as view_as_complex view_as_real H T
    """.split()  # noqa: SIM905
)
"""Operators that give one value another shape, dtype or place."""

DROPOUT: Final = frozenset(
    "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout feature_dropout".split()  # noqa: SIM905
)

_MOVES: Final = (
    SHAPE
    | DROPOUT
    | frozenset(
        """
    __deepcopy__ __getitem__ __setitem__ _local_scalar_dense _pack_padded_sequence _pad_packed_sequence arange
    atleast_1d atleast_2d atleast_3d block_diag bool bucketize cat chunk concat concatenate constant_pad_nd diag
    diag_embed diagonal dstack embedding empty empty_like empty_strided eye fill fill_ flip fold from_numpy full
    full_like gather hstack im2col index index_copy index_put index_put_ index_select is_nonzero item lift linspace
    masked_fill masked_fill_ masked_scatter masked_select meshgrid nested_to_padded_tensor new_empty new_full new_ones
    new_zeros nonzero numpy one_hot ones ones_like pad pad_packed_sequence pixel_shuffle pixel_unshuffle
    reflection_pad1d reflection_pad2d repeat repeat_interleave replication_pad1d replication_pad2d resize_ roll rot90
    scatter scatter_ select_scatter set_ slice_scatter split split_with_sizes stack take take_along_dim tensor
    tensor_split tile to_dense to_padded_tensor to_sparse tolist tril tril_ triu triu_ unbind unfold unsafe_split vsplit
    vstack where zero_ zeros zeros_like
    """.split()  # noqa: SIM905
    )
)
"""Operators that compute nothing: they move, repeat, select or make elements."""

_READS: Final = frozenset(
    """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d all amax amin aminmax any argmax
    argmin argsort bincount cummax cummin cumprod cumsum kthvalue linalg_vector_norm logcumsumexp logsumexp max mean
    median min nansum nll_loss_forward nll_loss_nd norm prod searchsorted sort std std_mean sum topk unique var var_mean
    vector_norm
    """.split()  # noqa: SIM905
)
"""Operators that count one for each element of their first operand."""

_WINDOWS: Final = ("max_pool", "avg_pool", "lp_pool")
_UNKNOWN: Final = (
    "linalg_", "_linalg_", "fft_", "_fft_", "cholesky", "lu_", "svd", "qr", "eig", "inverse", "pinverse", "lstm",
    "gru", "rnn", "_cdist", "cdist", "grid_sampler", "histc", "multinomial", "roi_align", "nms", "autograd",
)  # fmt: skip
"""Beginnings of names of what shapes do not tell the work of."""


def torch_contraction_flops(primitive: str, operands: Shapes, results: Shapes, params: dict[str, Any]) -> int | None:
    """Of products of matrices, convolutions and attention, two for each multiplication with its addition; None for
    anything else, and where the shapes are not what the operator takes."""
    if not _is_known(primitive) or not results or _is_ragged(operands) or _is_ragged(results):
        return None
    name = operation_label(primitive).strip("_")
    try:
        if name in ("mm", "bmm", "matmul", "mv", "dot", "vdot", "linear", "int_mm"):
            return 2 * prod(results[0]) * operands[0][-1]
        if name in ("addmm", "addbmm", "baddbmm", "addmv", "scaled_mm"):
            left = operands[0] if name == "scaled_mm" else operands[1]
            extra = left[0] if name == "addbmm" else 1
            return 2 * prod(results[0]) * left[-1] * extra
        if name in ("convolution", "convolution_overrideable", "conv1d", "conv2d", "conv3d", "mkldnn_convolution"):
            return _convolution(operands[0], operands[1], results[0], params)
        if name.startswith("scaled_dot_product"):
            query, key, value = operands[:3]
            return 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
    except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return None


def torch_flops(primitive: str, operands: Shapes, results: Shapes, params: dict[str, Any]) -> int | None:
    """Of everything else; None where shapes do not tell."""
    name = operation_label(primitive)
    if name in _MOVES or not results:
        return 0
    if not _is_known(primitive) or _is_ragged(operands) or _is_ragged(results):
        return None
    plain = name.lstrip("_")
    if name.startswith(_UNKNOWN) or plain.startswith(("scaled_dot_product", "convolution", "conv")):
        return None
    if plain.startswith(_WINDOWS):
        window = _ints(params.get("kernel_size"))
        spatial = int(name.partition("pool")[2][:1] or 2)
        return None if window is None else prod(results[0]) * prod(_each(window, spatial))
    if name in _READS or plain in _READS:
        return prod(operands[0]) if operands else 0
    return prod(results[0])


def _is_known(primitive: str) -> bool:
    """Of PyTorch itself; what another namespace means is not known."""
    return primitive.startswith(("aten.", "torch."))


def _is_ragged(shapes: Shapes) -> bool:
    return any(dim < 0 for shape in shapes for dim in shape)


def _convolution(given: Sequence[int], weight: Sequence[int], result: Sequence[int], params: dict[str, Any]) -> int:
    """Multiplications with padding are none."""
    spatial = len(weight) - 2
    batch = prod(given[: len(given) - spatial - 1])
    strides = _each(_ints(params.get("stride", 1)), spatial)
    dilations = _each(_ints(params.get("dilation", 1)), spatial)
    padding = params.get("padding", 0)
    transposed = params.get("transposed", False) is True
    # The strides of a transposed convolution go over its result, to which it adds.
    sizes = (result if transposed else given)[-spatial:]
    places = 1
    for at in range(spatial):
        window = weight[2 + at]
        low, high = _padding(padding, at, spatial, window, dilations[at])
        places *= valid_positions(sizes[at], window, strides[at], low, high, 1, dilations[at])
    # A weight is [out, in / groups, …], transposed [in, out / groups, …].
    return 2 * batch * weight[0] * weight[1] * places


def _padding(padding: Any, at: int, spatial: int, window: int, dilation: int) -> tuple[int, int]:
    if padding == "valid":
        return 0, 0
    if padding == "same":
        total = dilation * (window - 1)
        return total // 2, total - total // 2
    each = _each(_ints(padding), spatial)
    return each[at], each[at]


def _ints(value: Any) -> list[int] | None:
    if isinstance(value, int):
        return [value]
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [int(item) for item in items] if items and all(isinstance(item, int) for item in items) else None


def _each(values: list[int] | None, count: int) -> list[int]:
    """One value for each axis. Raises ValueError where there are none."""
    if not values:
        raise ValueError(values)
    return values * count if len(values) == 1 else values
