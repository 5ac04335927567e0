# ruff: noqa: RUF001 - the multiplication sign is meant
"""Shapes on hover, from what was traced and what was seen."""

from __future__ import annotations

import json

import pytest

from tvls.graph import GraphIndex, hover, load

from .captures import Json, as_capture, document, frame, mlp, operation, seen, value

RAN = "×: seen {:,} times in the traced program"
LINES = """\
import jax
from flax import linen as nn
# h and x
def outer(x): pass
def net(x, *, train=False):  # x here
    h = nn.Dense(8)(x)
    h = relu(h + 1) if train else h.T
    y = jax.nn.relu(é @ h, axis=h)
    return nn.Dense(4)(y)
""".splitlines()


def traced() -> Json:
    """The lines above, with the positions that CPython gives for them."""
    library = {"path": "flax/linen/linear.py", "workspace": False, "function": "Dense.__call__"}
    frames = [
        frame(6, 8, 22),  # nn.Dense(8)(x)
        frame(7, 8, 19),  # relu(h + 1)
        frame(7, 13, 18),  # h + 1
        frame(8, 8, 35),  # jax.nn.relu(é @ h, axis=h), in bytes
        frame(8, 20, 26),  # é @ h
        frame(40, 1, 2, **library),
        frame(41, 1, 2, **library),
        frame(7, 34, 37),  # h.T
    ]
    shapes = [(2, 8), (2, 8), (2, 9), (2, 9), (5, 9), (5, 1), (2, 8), (2, 8), (8, 2)]
    where = [[5, 0], [6, 0], [2], [1], [4], [3], [5, 0], [6, 0], [7]]
    names = ["dot_general", "add", "add", "max", "dot_general", "max", "dot_general", "add", "transpose"]
    return document(
        values=[value(shape=shape) for shape in shapes],
        operations=[
            operation(f"{name}.{at}", [], [at], frames=stack)
            for at, (name, stack) in enumerate(zip(names, where, strict=True))
        ],
        frames=frames,
        observations=[
            {"path": "model.py", "line": 5, "name": "x", "function": "net", "seen": [seen((2, 3), 2)]},
            {"path": "model.py", "line": 6, "name": "h", "function": "net", "seen": [seen((2, 8))]},
            {
                "path": "model.py",
                "line": 7,
                "name": "h",
                "function": "net",
                "seen": [seen((8, 2), 1), seen((2, 9), 12)],
            },
            {"path": "model.py", "line": 8, "name": "y", "function": "net", "seen": [seen((n,)) for n in range(6)]},
            {"path": "model.py", "line": 9, "name": "return", "function": "net", "seen": [seen((5, 4))]},
        ],
        reads=[
            {"path": "model.py", "line": 6, "name": "x", "function": "net", "seen": [seen((2, 3))]},
            {"path": "model.py", "line": 7, "name": "h", "function": "net", "seen": [seen((2, 8))]},
            {
                "path": "model.py",
                "line": 8,
                "name": "h",
                "function": "net",
                "seen": [seen((8, 2), 1), seen((2, 9), 12)],
            },
        ],
    )


def ask(line: int, column: int, freshness: str = "fresh") -> str | None:
    index = GraphIndex(as_capture(traced()))
    found = hover(index, "model.py", line, column, LINES[line - 1], freshness, LINES)  # type: ignore[arg-type]
    return found.markdown if found else None


@pytest.mark.parametrize(
    ("line", "column", "text"),
    [
        (5, 8, "`float32[2, 3] · ×2 · inferred · fresh`\n\n" + RAN.format(2)),  # a parameter where it is declared
        (6, 20, "`float32[2, 3] · ×1 · inferred · fresh`"),  # and read
        (6, 4, "`float32[2, 8] · ×1 · inferred · fresh`"),  # assigned here
        (
            7,
            4,
            "`float32[2, 9] · ×12 · inferred · fresh`\n\nalso `float32[8, 2] ×1`\n\n" + RAN.format(13),
        ),  # several, most frequent first
        (7, 13, "`float32[2, 8] · ×1 · inferred · fresh`"),  # read before the same line assigns it
        (8, 25, "`float32[2, 9] · ×12 · inferred · fresh`\n\nalso `float32[8, 2] ×1`\n\n" + RAN.format(13)),
        (
            8,
            33,
            "`float32[2, 9] · ×12 · inferred · fresh`\n\nalso `float32[8, 2] ×1`\n\n" + RAN.format(13),
        ),  # value of a keyword argument
        (9, 5, "`float32[5, 4] · ×1 · inferred · fresh`"),  # return
    ],
)
def test_variables(line: int, column: int, text: str) -> None:  # R25
    assert ask(line, column) == text


def test_many_shapes_are_cut_with_their_number() -> None:
    assert ask(8, 4) == (
        "`float32[0] · ×1 · inferred · fresh`\n\nalso `float32[1] ×1`, `float32[2] ×1`, `float32[3] ×1` and 2 more\n\n"
        + RAN.format(6)
    )


@pytest.mark.parametrize(
    ("line", "column", "text"),
    [
        (
            6,
            19,
            "`float32[2, 8] · ×1 · inferred · fresh`\n\n`dot_general`, `add`; the shape is that of `add`",
        ),
        (7, 9, "`float32[2, 9] · ×1 · inferred · fresh`\n\nresult of `relu(…)`: `max`"),
        (7, 15, "`float32[2, 9] · ×1 · inferred · fresh`\n\n`add`"),  # the operator `+`
        (7, 36, "`float32[8, 2] · ×1 · inferred · fresh`\n\n`transpose`"),  # the attribute `T`
        *(
            (8, column, "`float32[5, 1] · ×1 · inferred · fresh`\n\nresult of `jax.nn.relu(…)`: `max`")
            for column in (9, 12, 16)
        ),
        *(
            (
                6,
                column,
                "`float32[2, 8] · ×1 · inferred · fresh`\n\nresult of `nn.Dense(…)(…)`: `dot_general`, `add`; "
                "the shape is that of `add`",
            )
            for column in (8, 12)
        ),
        (5, 4, "`float32[5, 4] · ×1 · inferred · fresh`\n\nreturned by `net`"),  # the name of a function
        (8, 23, "`float32[5, 9] · ×1 · inferred · fresh`\n\n`dot_general`"),  # `@`, after a letter of two bytes
    ],
)
def test_expressions(line: int, column: int, text: str) -> None:  # R25
    assert ask(line, column) == text


@pytest.mark.parametrize(
    ("line", "column"),
    [
        (1, 8),  # import jax
        (2, 6),  # from flax
        (3, 2),  # a comment
        (4, 10),  # another function's x
        (4, 5),  # the name of a function that was not traced
        (5, 0),  # def
        (5, 14),  # a parameter that is no array
        (5, 31),  # x in a comment
        (6, 6),  # =
        (6, 17),  # 8
        (7, 20),  # if
        (7, 23),  # train
        (8, 30),  # the name of a keyword argument
        (9, 22),  # Dense(4) was traced nowhere
        (6, 0),
        (6, 99),
    ],
)
def test_nothing_where_there_is_nothing_to_say(line: int, column: int) -> None:
    assert ask(line, column) is None


def test_what_is_stale_says_so() -> None:  # R27
    assert ask(6, 4, "stale") == "`float32[2, 8] · ×1 · inferred · stale`"


def test_the_range_is_in_bytes() -> None:
    index = GraphIndex(as_capture(traced()))
    found = hover(index, "model.py", 8, 23, LINES[7], "fresh")
    assert found is not None
    assert (found.start, found.end) == (20, 26)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ('    """x and h', 8),  # an open string
        ("    'x' + f'{x}'", 5),
        ("\tx)", 99),
        ("", 0),
        ("    $ ? x", 4),
        ("    h.x", 6),
        ("    foo(ab(+c))", 11),  # `+` in a call that has no operation of its own
        ("    foo(x=1)", 8),
        ("        x=h,", 8),
        ("    lambda", 6),
    ],
)
def test_odd_lines(text: str, column: int) -> None:
    assert hover(GraphIndex(as_capture(traced())), "model.py", 7, column, text, "fresh") is None


def test_a_line_of_a_call_over_several_lines() -> None:
    found = document(
        values=[value(shape=(7,))],
        operations=[operation("dot_general.0", [], [0], frames=[0])],
        frames=[frame(6, 8, 5, endLine=9)],
    )
    index = GraphIndex(as_capture(found))
    shown = hover(index, "model.py", 6, 12, "    y = jnp.dot(", "fresh")
    assert shown is not None
    assert shown.markdown.startswith("`float32[7]")
    assert (shown.start, shown.end) == (12, 15)  # the range goes on below: the name alone
    assert hover(index, "model.py", 7, 8, "        x,", "fresh") is None


def test_without_columns_only_a_line_with_one_operation_speaks() -> None:  # R30: Python 3.10
    bare = [{"path": "model.py", "workspace": True, "function": "f", "line": line} for line in (3, 4)]
    inner = [{**bare[0], "path": "lib.py", "workspace": False, "line": line} for line in (1, 2)]
    found = document(
        values=[value(shape=(at,)) for at in range(4)],
        operations=[
            operation("neg.0", [], [0], frames=[0]),
            operation("neg.1", [], [1], frames=[0]),
            operation("sin.0", [], [2], frames=[2, 1]),
            operation("cos.0", [], [3], frames=[3, 1]),
        ],
        frames=[*bare, *inner],
    )
    index = GraphIndex(as_capture(found))
    shown = hover(index, "model.py", 3, 8, "    y = -x", "fresh")
    assert shown is not None
    assert "×1" in shown.markdown
    assert "also" in shown.markdown
    assert hover(index, "model.py", 4, 8, "    y = f(x)", "fresh") is None


def test_operations_with_several_results_and_bodies() -> None:  # R34
    body = {
        "label": "scan body",
        "inputs": [],
        "outputs": [],
        "values": [value(shape=(99,))],
        "operations": [operation("sin.0", [], [0], frames=[1, 0])],
        "scopes": [{"id": "", "parent": None, "kind": "root"}],
        "bodies": [],
    }
    found = document(
        values=[value(shape=(at,)) for at in range(2)],
        operations=[operation("scan.0", [], [0, 1], frames=[0], bodies=[{"role": "jaxpr", "body": 0}])],
        frames=[frame(3, 8, 20), frame(2, 4, 9)],
        bodies=[body],
    )
    shown = hover(
        GraphIndex(as_capture(found)), "model.py", 3, 12, "    y = lax.scan(f)  ".replace("(f)", "(f, z)"), "fresh"
    )
    assert shown is None or "99" not in shown.markdown
    shown = hover(GraphIndex(as_capture(found)), "model.py", 3, 12, "    y = lax.scan(fg)", "fresh")
    assert shown is not None
    assert shown.markdown.startswith("`(float32[0], float32[1]) · ×1")


def observed(line: int, name: str, function: str, *of: Json) -> Json:
    return {"path": "model.py", "line": line, "name": name, "function": function, "seen": list(of)}


SAME_NAME = """\
def net(x):
    y = f(lambda x: x * 2, x)
    def inner(z):
        return z + y
    return [x for x in y]
"""


def test_names_are_those_of_the_function_whose_code_it_is() -> None:
    found = document(
        observations=[
            observed(1, "x", "net", seen((1,))),
            observed(2, "x", "net.<locals>.<lambda>", seen((2,))),
            observed(2, "y", "net", seen((3,))),
            observed(3, "z", "net.<locals>.inner", seen((4,))),
        ],
        reads=[
            observed(2, "x", "net", seen((1,))),
            observed(2, "x", "net.<locals>.<lambda>", seen((2,))),
            observed(4, "y", "net.<locals>.inner", seen((3,))),
            observed(4, "z", "net.<locals>.inner", seen((4,))),
            observed(5, "x", "net.<locals>.<genexpr>", seen((5,))),
        ],
    )
    index = GraphIndex(as_capture(found))
    lines = SAME_NAME.splitlines()

    def at(line: int, column: int, text: list[str] = lines) -> str | None:
        shown = hover(index, "model.py", line, column, lines[line - 1], "fresh", text)
        return shown and shown.markdown.split(" ·")[0]

    assert at(1, lines[0].index("x")) == "`float32[1]"
    assert at(2, lines[1].index("x:")) == "`float32[2]"
    assert at(2, lines[1].index("x *")) == "`float32[2]"
    assert at(2, lines[1].index("x)")) == "`float32[1]"
    assert at(4, lines[3].index("y")) == "`float32[3]"
    assert at(4, lines[3].index("z")) == "`float32[4]"
    assert at(5, lines[4].index("x for")) == "`float32[5]"
    assert at(5, lines[4].index("y")) is None  # what was not seen there is told of no other line
    # Of a text that is newer than the daemon's Python, all that the name was on the line.
    broken = ["def def", *lines[1:]]
    assert at(2, lines[1].index("x)"), broken) in ("`float32[1]", "`float32[2]")
    assert at(4, lines[3].index("z"), broken) == "`float32[4]"


STRUCTURES = """\
def net(params, state):
    a = params["w"] + params["layers"][1]
    b = state.params["w"] if state.missing else state["w"]
    c = params[a]
    params["w"] = c
    return a, b
"""


def test_what_an_object_holds() -> None:
    """The arrays of lists, dictionaries and dataclasses, and what subscripts and attributes ask of them."""
    layers = [{"path": ["layers", at], "shape": [at], "dtype": "float32"} for at in range(20)]
    found = document(
        observations=[
            observed(1, "params", "net", {"structure": 0, "count": 1}),
            observed(1, "state", "net", {"structure": 1, "count": 1}),
            observed(6, "return", "net", {"structure": 2, "count": 1}),
        ],
        reads=[
            observed(2, "params", "net", {"structure": 0, "count": 1}, {"structure": 3, "count": 2}, {"count": 4}),
            *(observed(line, "params", "net", {"structure": 0, "count": 1}) for line in (4, 5)),
            observed(3, "state", "net", {"structure": 1, "count": 1}),
        ],
        structures=[
            {"type": "dict", "arrays": [{"path": ["w"], "shape": [7], "dtype": "float32"}, *layers]},
            {"type": "State", "arrays": [{"path": ["params", "w"], "shape": [8], "dtype": "float32"}]},
            {
                "type": "tuple",
                "arrays": [{"path": [at], "shape": [at], "dtype": "float32"} for at in range(2)],
            },
            {"type": "list", "arrays": [{"path": [0], "shape": [5], "dtype": "float32"}], "cut": True},
        ],
    )
    index = GraphIndex(as_capture(found))
    lines = STRUCTURES.splitlines()

    def at(line: int, text: str) -> str | None:
        shown = hover(index, "model.py", line, lines[line - 1].index(text), lines[line - 1], "fresh", lines)
        return shown and shown.markdown.removesuffix(RAN.format(7)).strip()

    table = "`dict of 21 arrays · ×1 · inferred · fresh`\n\n```text\nlayers[0]   float32[0]\nlayers[1]   float32[1]\n"
    shown = at(1, "params")
    assert shown is not None
    assert shown.startswith(table)
    assert shown.endswith("layers[11]  float32[11]\n… 9 more\n```")
    shown = at(2, "params")  # the most frequent first; what is no array last
    assert shown is not None
    assert shown.startswith(
        "`list of 1 array and more · ×2 · inferred · fresh`\n\n```text\n[0]  float32[5]\n… and more"
    )
    assert shown.endswith("also `dict of 21 arrays ×1`, `no array ×4`")
    assert at(1, "state") == "`State{params.w: float32[8]} · ×1 · inferred · fresh`"
    assert at(1, "net") == "`(float32[0], float32[1]) · ×1 · inferred · fresh`\n\nreturned by `net`"
    assert at(6, "return") == "`(float32[0], float32[1]) · ×1 · inferred · fresh`"
    assert at(2, '"w"') == "`float32[7] · ×1 · inferred · fresh`"
    assert at(2, "1]") == "`float32[1] · ×1 · inferred · fresh`"
    assert at(3, "params") == "`{w: float32[8]} · ×1 · inferred · fresh`"
    assert at(3, '"w"') == "`float32[8] · ×1 · inferred · fresh`"
    assert at(3, "missing") is None
    assert at(3, '["w"]\n'.strip()) == "`float32[8] · ×1 · inferred · fresh`"
    assert at(4, "[") is None  # which one, nobody knows
    assert at(5, '"w"') is None  # what it is before it is assigned


def test_a_failed_trace_still_has_the_shapes_up_to_it() -> None:  # R35
    failure = {
        "formatVersion": 1,
        "framework": "torch",
        "versions": {},
        "target": {"kind": "torch.module", "module": "model", "qualname": "Net"},
        "failure": {"kind": "exception", "type": "E", "message": "", "frames": [frame(3, 8, 13)], "phase": "trace"},
        "sources": [],
        "observations": [{"path": "model.py", "line": 2, "name": "x", "function": "net", "seen": [seen((2, 3))]}],
        "reads": [{"path": "model.py", "line": 3, "name": "x", "function": "net", "seen": [seen((2, 3), 2)]}],
    }
    loaded = load(json.dumps(failure).encode())
    assert "failure" in loaded
    shown = hover(loaded, "model.py", 3, 8, "    y = x @ w", "stale")
    assert shown is not None
    assert shown.markdown == "`float32[2, 3] · ×2 · measured · stale`\n\n×: seen 2 times in the measured run"
    assert hover(loaded, "model.py", 3, 10, "    y = x @ w", "stale") is None


def test_the_worker_example_keeps_its_own_positions() -> None:
    index = GraphIndex(as_capture(mlp()))
    shown = hover(index, "model.py", 8, 10, "        h * h", "fresh")
    assert shown is not None
    assert shown.markdown.endswith("`mul`")


# --- what is called --------------------------------------------------------------------------------------------------


def calls(text: str, *traced_parts: str, names: bool = False) -> GraphIndex:
    """A capture of one line, in which each of the parts gave a result; the part at position n has the shape [n]."""
    found = document(
        values=[value(shape=(at,)) for at in range(len(traced_parts))],
        operations=[operation(f"op.{at}", [], [at], frames=[at]) for at in range(len(traced_parts))],
        frames=[frame(3, text.index(part), text.index(part) + len(part)) for part in traced_parts],
        observations=[
            {"path": "model.py", "line": line, "name": name, "function": "net", "seen": [seen((99,))]}
            for line, name in ((2, "h"), (4, "later"))
            if names
        ],
        reads=[{"path": "model.py", "line": 3, "name": "h", "function": "net", "seen": [seen((99,))]}] if names else [],
    )
    return GraphIndex(as_capture(found))


def said(index: GraphIndex, text: str, at: str) -> str | None:
    """First line of the hover on the first place of `at`, and what it says of the call."""
    shown = hover(index, "model.py", 3, text.index(at), text, "fresh")
    if shown is None:
        return None
    first, *more = shown.markdown.split("\n\n")
    called = next((line.split(":")[0] for line in more if line.startswith("result of")), "")
    return f"{first.split(' ·')[0][1:]} {called}".strip()


@pytest.mark.parametrize(
    ("text", "parts", "at", "expected"),
    [
        ("    y = self.attn(x)", ["self.attn(x)"], "self", "float32[0] result of `self.attn(…)`"),
        ("    y = self.attn(x)", ["self.attn(x)"], "attn", "float32[0] result of `self.attn(…)`"),
        ("    c, y = lax.scan(f, c, xs)", ["lax.scan(f, c, xs)"], "lax", "float32[0] result of `lax.scan(…)`"),
        ("    y = nn.Conv(8, (3, 3))(x)", ["nn.Conv(8, (3, 3))(x)"], "Conv", "float32[0] result of `nn.Conv(…)(…)`"),
        ("    y = f(n)(x)", ["f(n)(x)", "f(n)"], "f(", "float32[1] result of `f(…)`"),  # the call itself, if traced
        ("    y = h.sum()", ["h.sum()"], "h", "float32[99]"),  # an array is told of before its method
        ("    y = h.sum()", ["h.sum()"], "sum", "float32[0] result of `h.sum(…)`"),
        ("    y = (h + 1).sum()", ["(h + 1).sum()", "h + 1"], "sum", "float32[0] result of `(h+1).sum(…)`"),
        ("    y = h.at[0].set(1)", ["h.at[0].set(1)"], "set", "float32[0] result of `h.at[0].set(…)`"),
        ("    y = h.at[0].set(1)", ["h.at[0].set(1)"], "at[", None),
        ("        .reshape(3)", [".reshape(3)"], "reshape", None),  # a part of something that began above
        ("    y = x + float(n)", ["x + float(n)"], "float", None),  # the sum is no result of the call
        ("    y = x + n.size", ["x + n.size"], "size", None),
        ("    y = x + n[0]", ["x + n[0]"], "[", None),
        ("    y = a @ (b * 2)", ["a @ (b * 2)"], "*", None),  # the product was not traced
        ("    y = x + 2 * n", ["x + 2 * n"], "*", None),
        ("    y = x + 2 * n", ["x + 2 * n"], "+", "float32[0]"),
        ("    y = a < b < c", ["a < b < c"], "<", "float32[0]"),
        ("    y += n * 2", ["y += n * 2"], "*", None),
        ("    y += n * 2", ["y += n * 2"], "+=", "float32[0]"),
        ("    y = -x", ["-x"], "-", "float32[0]"),
        ("    y = g(-x)", ["g(-x)"], "-", None),
        ("class Net(nn.Module):", ["Net(nn.Module)"], "Net", None),
        ("    y: h.T = f(x)", ["f(x)", "h.T"], "T", None),  # an annotation
        ("    y: h = f(x)", ["f(x)"], "h", None),
        ("    y: h = f(x)", ["f(x)"], "f", "float32[0] result of `f(…)`"),
        ("    def net(a: h, b=2) -> h:", [], "h,", None),
        ("    def net(a: h, b=2) -> h:", [], "h:", None),
        ("    def net(a, h=2):", [], "h", "float32[99]"),  # a parameter with a default
        ("    the h of this layer", [], "h of", None),  # a line of a docstring
        ("    return {a: h}", [], "h", "float32[99]"),
        ("        a: h,", [], "h", "float32[99]"),  # an entry of a dictionary over several lines
    ],
)
def test_callees_operators_and_annotations(text: str, parts: list[str], at: str, expected: str | None) -> None:  # R25
    assert said(calls(text, *parts, names=True), text, at) == expected


def test_a_method_call_over_several_lines_begins_at_its_name() -> None:
    """Python 3.12 gives the range of such a call from the name of the method on."""
    text = "        .reshape(3)"
    index = calls(text, "reshape(3)")
    assert said(index, text, "reshape") == "float32[0] result of `….reshape(…)`"


def test_the_name_of_a_function_tells_what_it_returned() -> None:
    """Of the function of that line, and of no other one of its name."""
    found = document(
        observations=[
            {"path": "model.py", "line": 20, "name": "x", "function": "B.__call__", "seen": [seen((1,))]},
            {"path": "model.py", "line": 22, "name": "return", "function": "B.__call__", "seen": [seen((2,))]},
            {"path": "model.py", "line": 24, "name": "return", "function": "B.__call__", "seen": [seen((2,), 2)]},
        ]
    )
    index = GraphIndex(as_capture(found))
    lines = [""] * 25
    for start, name in ((9, "A"), (19, "B")):
        lines[start - 1] = f"class {name}:"
        lines[start] = "    def __call__(self, x):"
        lines[start + 1] = "        if x:"
        lines[start + 2] = "            return x"
        lines[start + 4] = "        return x"

    def at(line: int) -> str | None:
        shown = hover(index, "model.py", line, 9, "    def __call__(self, x):", "fresh", lines)
        return shown and shown.markdown

    assert at(20) == "`float32[2] · ×3 · inferred · fresh`\n\nreturned by `__call__`\n\n" + RAN.format(3)
    assert at(10) is None


# --- how often -------------------------------------------------------------------------------------------------------


def differentiated(*, scopes: bool = True) -> GraphIndex:
    """`jnp.max(x)` under a gradient: its result, a residual of its gradient, and the gradient itself."""
    found = document(
        values=[value("input", (4,)), value(shape=()), value(shape=(4,)), value(shape=()), value(shape=(9,))],
        operations=[
            operation("reduce_max.0", [0], [1], 1, frames=[0]),
            operation("eq.0", [0, 1], [2], 1, frames=[0]),
            operation("sin.0", [1], [3], 1),
            operation("mul.0", [2, 3], [4], 2, frames=[0]),
        ],
        outputs={"tuple": [{"value": 3}, {"value": 4}]},
        scopes=[
            {"id": "", "parent": None, "kind": "root"},
            {"id": "a", "parent": 0, "kind": "named", "name": "jvp()"},
            {"id": "b", "parent": 0, "kind": "named", "name": "transpose(jvp())" if scopes else "b"},
        ],
        frames=[frame(3, 8, 18)],
    )
    return GraphIndex(as_capture(found))


def test_a_gradient_is_not_the_result_of_the_line_that_it_is_of() -> None:
    text = "    y = jnp.max(x)"
    shown = hover(differentiated(), "model.py", 3, 12, text, "fresh")
    assert shown is not None
    assert shown.markdown == (
        "`float32[] · ×1 · inferred · fresh`\n\n"
        "result of `jnp.max(…)`: `reduce_max`, `eq`; the shape is that of `reduce_max`"
    )
    shown = hover(differentiated(scopes=False), "model.py", 3, 12, text, "fresh")
    assert shown is not None
    assert "float32[9]" in shown.markdown  # the same without a gradient


def test_an_expression_that_takes_a_gradient_is_not_guessed_at() -> None:
    api = {"path": "jax/_src/api.py", "workspace": False, "function": "value_and_grad.<locals>.value_and_grad_f"}
    found = document(
        values=[value(shape=()), value(shape=(9,))],
        operations=[
            operation("tanh.0", [], [0], frames=[0, 1, 2]),
            operation("mul.0", [], [1], frames=[0, 1, 2]),
        ],
        frames=[frame(3, 11, 15), frame(539, 4, 9, **api), frame(7, 8, 22)],
    )
    index = GraphIndex(as_capture(found))
    assert hover(index, "model.py", 7, 12, "    g = jax.grad(f)(x)", "fresh") is None
    shown = hover(index, "model.py", 3, 11, "    return g(x)", "fresh")  # inside of what is differentiated
    assert shown is not None


def runs_of(scopes: list[int], observed: int | None) -> str:
    """Count and sentence of an expression whose one primitive occurs once in each of the scopes given."""
    found = document(
        values=[value(shape=(2,)) for _ in scopes],
        operations=[operation(f"sin.{at}", [], [at], scope, frames=[0]) for at, scope in enumerate(scopes)],
        scopes=[
            {"id": "", "parent": None, "kind": "root"},
            *({"id": f"s{at}", "parent": 0, "kind": "jit"} for at in range(3)),
        ],
        frames=[frame(3, 8, 12)],
        observations=[]
        if observed is None
        else [{"path": "model.py", "line": 3, "name": "y", "function": "net", "seen": [seen((2,), observed)]}],
    )
    shown = hover(GraphIndex(as_capture(found)), "model.py", 3, 8, "    y = f(x)", "fresh")
    assert shown is not None
    first, *more = shown.markdown.split("\n\n")
    return first.split(" · ")[1] + (" explained" if more[-1].startswith("×") else "")


def test_a_count_is_how_often_the_line_ran() -> None:  # R25
    assert runs_of([0], 1) == "×1"
    assert runs_of([0, 0, 0], 3) == "×3 explained"
    assert runs_of([0, 0, 0], 1) == "×1"  # a loop inside of what the line calls
    assert runs_of([1, 2, 3], 1) == "×3 explained"  # a function that was traced once and called three times
    assert runs_of([0, 0], None) == "×2 explained"
