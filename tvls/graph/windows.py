"""Windows that slide along an axis."""

from __future__ import annotations

from functools import lru_cache
from math import gcd


@lru_cache(maxsize=1024)
def valid_positions(
    size: int, window: int, stride: int, low: int, high: int, base_dilation: int, window_dilation: int
) -> int:
    """Along one axis, how often a position of the window meets an element of the operand, over all results."""
    dilated = 0 if size == 0 else (size - 1) * base_dilation + 1
    reach = 0 if window == 0 else (window - 1) * window_dilation + 1
    results = max(0, (dilated + low + high - reach) // stride + 1)
    step = base_dilation // gcd(stride, base_dilation)
    total = 0
    for position in range(window):
        offset = position * window_dilation - low  # result r reads the element at r * stride + offset
        first = max(0, -(offset // stride))
        last = min(results - 1, (dilated - 1 - offset) // stride)
        hits = (r for r in range(first, min(last + 1, first + step)) if (r * stride + offset) % base_dilation == 0)
        begin = next(hits, None)  # and every `step` results from there on
        if begin is not None:
            total += (last - begin) // step + 1
    return total
