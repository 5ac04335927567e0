"""Only what an edit touched is read again, and the answer is the same as for a text never seen before."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tvls.analysis.source import SourceError, parse
from tvls.analysis.workspace import Workspace

LINES = [
    "from flax import linen as nn",
    "import jax",
    "import jax.numpy as jnp",
    "class A(nn.Module):",
    "class B(A): ...",
    "    width: int = 1",
    "    def __call__(self, x):",
    "        return jnp.sin(x)",
    "@jax.jit",
    "def f(x):",
    "    return jnp.cos(x)",
    "def g(x): return jnp.tan(x)",
    "if True:",
    "else:",
    "try:",
    "except ImportError:",
    "    pass",
    "    class C(nn.Module): ...",
    "x = (",
    ")",
    "x = '''",
    "'''",
    "x = 1; y = 2",
    "x = 1; \\",
    "type X = nn.Module",
    "class D[T](nn.Module): ...",
    "# comment",
    "",
    "    ",
    "\f",
    "nn = None",
    "del f",
]
texts = st.lists(st.sampled_from(LINES), max_size=14)
edits = st.lists(
    st.tuples(st.integers(0, 14), st.integers(0, 3), st.lists(st.sampled_from(LINES), max_size=3)), max_size=6
)
VALID = [
    "from flax import linen as nn",
    "import jax",
    "class A(nn.Module):",
    "    width: int = 1",
    "@jax.jit",
    "def f(x):",
    "    return x",
    "class B(A): ...",
    "",
]


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.just(VALID), texts), edits)
def test_incremental_is_fresh(lines: list[str], changes: list[tuple[int, int, list[str]]]) -> None:
    workspace = Workspace()
    workspace.put("/nowhere/m.py", "\n".join(lines))
    workspace.targets("/nowhere/m.py", ["/nowhere"])
    for start, removed, added in changes:
        lines = [*lines[:start], *added, *lines[start + removed :]]
        text = "\n".join(lines)
        workspace.put("/nowhere/m.py", text)
        answer = workspace.targets("/nowhere/m.py", ["/nowhere"])
        fresh = Workspace()
        fresh.put("/nowhere/m.py", text)
        wanted = fresh.targets("/nowhere/m.py", ["/nowhere"])
        if not any(word in text for word in ("jax", "flax")):
            continue  # a text that cannot reach a framework is not parsed at all unless it could before
        assert answer.parsed == wanted.parsed
        if wanted.parsed:
            assert answer.targets == wanted.targets
        for target in answer.targets:  # where it does not parse: at least inside the text and on a line with the name
            row = lines[target.name_line - 1].encode()
            assert row[target.column : target.end_column].decode() == target.name.rpartition(".")[2]
            assert target.line <= target.name_line <= target.header_end_line <= target.end_line <= len(lines)


def test_unchanged_statements_are_not_read_again() -> None:
    lines = [f"class C{i}(object):\n    x: int = {i}" for i in range(50)]
    before = parse("\n".join(lines))
    lines[20] = lines[20].replace("int", "float")
    after = parse("\n".join(lines), before)
    kept = {id(chunk.ops) for chunk in before.chunks} & {id(chunk.ops) for chunk in after.chunks}
    assert len(kept) >= 46
    assert after == parse("\n".join(lines))


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read_or_refused(first: str, second: str) -> None:
    previous = None
    for text in (first, second):
        try:
            previous = parse(text, previous)
        except SourceError as error:
            assert error.error.message
