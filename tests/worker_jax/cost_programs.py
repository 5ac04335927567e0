"""Programs that are contractions and nothing else that XLA counts, with what XLA counts of them.

`cost_programs.py OUT` writes `{name: {"document", "flops"}}`, in the interpreter that has JAX.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def programs() -> dict[str, tuple[Any, list[tuple[int, ...]]]]:
    """Name → function, and shapes of its arguments (float32)."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def conv(dimensions: str = "NHWC,HWIO,NHWC", **options: Any) -> Any:
        spec = tuple(dimensions.split(","))
        options = {"window_strides": (1,) * (len(spec[0]) - 2), "padding": "SAME", **options}
        return lambda x, w: lax.conv_general_dilated(x, w, dimension_numbers=spec, **options)

    def transposed(convolved: Any) -> Any:
        return lambda x, w, y: jax.linear_transpose(lambda w: convolved(x, w), w)(y)

    image, kernel = (2, 9, 8, 6), (3, 3, 6, 4)
    return {
        "matmul": (lambda a, b: a @ b, [(5, 7), (7, 3)]),
        "vector": (lambda a, b: a @ b, [(7,), (7,)]),
        "batched": (lambda a, b: jnp.einsum("bhqd,bhkd->bhqk", a, b), [(2, 3, 5, 4), (2, 3, 6, 4)]),
        "several axes": (lambda a, b: lax.dot_general(a, b, (((1, 2), (0, 1)), ((), ()))), [(5, 2, 3), (2, 3, 7)]),
        "empty": (lambda a, b: a @ b, [(0, 7), (7, 3)]),
        "convolution": (conv(), [image, kernel]),
        "valid padding": (conv(padding="VALID"), [image, kernel]),
        "strides": (conv(window_strides=(2, 3)), [image, kernel]),
        "uneven padding": (conv(padding=((0, 4), (2, 1))), [image, kernel]),
        "negative padding": (conv(padding=((-1, 2), (0, -2))), [image, kernel]),
        "dilated window": (conv(rhs_dilation=(2, 3)), [image, kernel]),
        "dilated operand": (conv(lhs_dilation=(2, 3), padding=((2, 2), (2, 2))), [image, kernel]),
        "all at once": (
            conv(lhs_dilation=(3, 2), rhs_dilation=(2, 3), window_strides=(2, 4), padding=((4, 3), (1, 5))),
            [image, kernel],
        ),
        "groups": (conv(feature_group_count=3), [image, (3, 3, 2, 6)]),
        "depthwise": (conv(feature_group_count=6), [image, (3, 3, 1, 12)]),
        "groups of the batch": (conv(batch_group_count=2), [image, kernel]),
        "one axis": (conv("NWC,WIO,NWC", padding="VALID"), [(2, 30, 3), (5, 3, 8)]),
        "three axes": (conv("NDHWC,DHWIO,NDHWC"), [(1, 4, 5, 6, 2), (2, 3, 3, 2, 3)]),
        "channels first": (conv("NCHW,OIHW,NCHW", window_strides=(2, 2)), [(2, 6, 9, 8), (4, 6, 3, 3)]),
        "transposed": (
            lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
            [image, kernel],
        ),
        "gradient of a convolution": (transposed(conv(window_strides=(2, 2))), [image, kernel, (2, 5, 4, 4)]),
    }


def main(out: str) -> None:
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    import jax
    import jax.numpy as jnp
    from program_runner import captured

    found: dict[str, Any] = {}
    for name, (call, shapes) in programs().items():
        args = [jnp.zeros(shape) for shape in shapes]
        analysis = jax.jit(call).lower(*args).cost_analysis()
        analysis = analysis[0] if isinstance(analysis, list) else analysis
        found[name] = {"document": captured(call, args), "flops": analysis.get("flops", 0.0)}
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
