"""Contractions and moves among PyTorch's operators, for `costs`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

MOVES: Final = frozenset(
    [
        "__getitem__",
        "_reshape_alias",
        "_to_copy",
        "_unsafe_view",
        "alias",
        "arange",
        "as_strided",
        "cat",
        "chunk",
        "clone",
        "concat",
        "constant_pad_nd",
        "contiguous",
        "copy_",
        "detach",
        "embedding",
        "empty",
        "empty_like",
        "expand",
        "expand_as",
        "fill_",
        "flatten",
        "flip",
        "full",
        "full_like",
        "gather",
        "index",
        "index_select",
        "lift_fresh",
        "movedim",
        "narrow",
        "ones",
        "ones_like",
        "pad",
        "permute",
        "repeat",
        "repeat_interleave",
        "reshape",
        "roll",
        "select",
        "size",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "stack",
        "swapaxes",
        "t",
        "to",
        "transpose",
        "type",
        "unbind",
        "unflatten",
        "unfold",
        "unsafe_split",
        "unsqueeze",
        "view",
        "view_as",
        "zero_",
        "zeros",
        "zeros_like",
    ]
)
"""Last parts of names of functions and operators that move elements and compute nothing."""

_PRODUCTS: Final = {"aten.mm": 0, "aten.bmm": 0, "aten.mv": 0, "aten.dot": 0, "aten.addmm": 1, "aten.baddbmm": 1}
"""Operator → position of its left matrix."""

CONTRACTIONS: Final = frozenset((*_PRODUCTS, "aten.convolution"))


def is_move(primitive: str) -> bool:
    return primitive.startswith(("torch.", "aten.")) and primitive.rpartition(".")[2] in MOVES


def flops(
    primitive: str, operands: Sequence[Sequence[int]], result: Sequence[int], params: dict[str, Any], places: Any
) -> int:
    """Two for each multiplication with its addition. `places` counts along one axis, as `costs.valid_positions`.

    Raises KeyError, IndexError or TypeError where the parameters do not say it.
    """
    if primitive in _PRODUCTS:
        return 2 * prod(result) * operands[_PRODUCTS[primitive]][-1]
    data, weight = operands[0], operands[1]
    axes = len(weight) - 2
    per_axis = {
        name: [*params[name]] * (axes if len(params[name]) == 1 else 1)
        for name in ("stride", "padding", "dilation", "output_padding")
    }
    total = 1
    for axis in range(axes):
        size, window = data[axis - axes], weight[axis - axes]
        stride, padding, dilation, more = (
            per_axis[name][axis] for name in ("stride", "padding", "dilation", "output_padding")
        )
        if params["transposed"]:  # a convolution of the operand with holes between its elements
            reach = dilation * (window - 1) - padding
            total *= places(size, window, 1, reach, reach + more, stride, dilation)
        else:
            total *= places(size, window, stride, padding, padding, 1, dilation)
    batch = data[0] if len(data) == axes + 2 else 1
    return 2 * batch * weight[0] * weight[1] * total
