"""What other profiles and comments say about the fields of a form: offered, with where it comes from."""

from __future__ import annotations

from tests.setup.targets import found_target
from tvls.analysis.types import Parameter
from tvls.setup.draft import draft_profile
from tvls.setup.suggestions import SourceText, shapes_in_comments, suggestions_for

TEXT = '''\
def attend(
    query: jax.Array,  # [batch, heads, time, 64]
    memory: jax.Array,
    mask,
    scale=1.0,  # [not, a, shape, of, memory]
):
    """Attention.

    Args:
      mask: boolean array of shape (batch, time).
      memory (jax.Array): the other side
    """
    weights = softmax(query @ memory.T)  # [batch, heads, time, source]
    b, s, d = memory.shape
    assert memory.ndim == 3  # [a, b]
    # memory: [batch, source, dim]
    return weights
'''
TARGET = found_target(
    "attend",
    header_end_line=6,
    end_line=16,
    parameters=[
        Parameter("query", "positional_or_keyword", "jax.Array"),
        Parameter("memory", "positional_or_keyword", "jax.Array"),
        Parameter("mask", "positional_or_keyword"),
        Parameter("scale", "positional_or_keyword", None, "1.0"),
    ],
)


def test_shapes_that_comments_state() -> None:  # R10
    source = SourceText("m.py", TEXT.splitlines(), 1)
    assert list(shapes_in_comments(source, ["query", "memory", "mask", "scale"])) == [
        ("query", ["?batch", "?heads", "?time", 64], 2),
        ("scale", ["?not", "?a", "?shape", "?of", "?memory"], 5),
        ("mask", ["?batch", "?time"], 10),
        ("memory", ["?b", "?s", "?d"], 14),
        ("memory", ["?batch", "?source", "?dim"], 16),
    ]


def test_suggestions_name_their_source() -> None:  # R10
    other = {
        "model": "m:attend",
        "inputs": {
            "args": [
                {"kind": "tensor", "shape": [2, 4, 8, 64], "dtype": "bfloat16"},
                {"kind": "tensor", "shape": "?", "dtype": "float32"},
            ],
            "kwargs": {"scale": 0.5},
        },
    }
    elsewhere = {
        "model": "m:other",
        "inputs": {"kwargs": {"mask": {"kind": "tensor", "shape": [2, 8], "dtype": "bool"}, "scale": 3.0}},
    }
    profiles = {"small": other, "elsewhere": elsewhere, "attend": {"inputs": {"kwargs": {"scale": 9.0}}}}
    source = SourceText("m.py", TEXT.splitlines(), 1)
    found = suggestions_for(TARGET, draft_profile(TARGET)[0], "attend", profiles, source)
    shown = {key: [(item.text, item.source) for item in items] for key, items in found.items()}
    assert shown == {
        "inputs.args[0].shape": [("2, 4, 8, 64", "profile small"), ("batch, heads, time, 64", "m.py:2")],
        "inputs.args[0].dtype": [("bfloat16", "profile small")],
        "inputs.args[1].dtype": [("float32", "profile small")],
        "inputs.args[1].shape": [("b, s, d", "m.py:14"), ("batch, source, dim", "m.py:16")],
        "inputs.args[2].shape": [("2, 8", "profile elsewhere"), ("batch, time", "m.py:10")],
        "inputs.args[2].dtype": [("bool", "profile elsewhere")],
        "inputs.kwargs.scale": [("0.5", "profile small")],
    }
