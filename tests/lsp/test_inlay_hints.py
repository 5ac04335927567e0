"""Shapes after assignments, and dimensions by the names of annotations, against the real daemon with real JAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.lsp.client import LspClient

MODEL = """\
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@jax.jit
def net(x: Float[Array, "batch width"], scale):
    é, y = "é", x @ jnp.ones((3, 4))
    for size in (1, 2):
        y = jnp.concatenate([y, y]) * scale
    z: Float[Array, "*batch out"] = y[0]
    total = jnp.sum(z)
    return z @ weights if False else z + total


def never(x):
    y = x + 1
    return y
"""
SETUP = """\
version = 1

[profiles.net]
framework = "jax"
kind = "model"
model = "model:net"
inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }, 2.0] }
"""
CAPABILITIES = {"workspace": {"inlayHint": {"refreshSupport": True}, "configuration": True}}


async def _hints(client: LspClient, uri: str, first: int = 0, last: int = 40) -> list[tuple[int, int, str]]:
    span = {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}
    found: list[Any] = await client.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": span})
    assert all(hint["kind"] == 1 for hint in found)
    return [(hint["position"]["line"], hint["position"]["character"], hint["label"]) for hint in found]


async def test_shapes_after_assignments(tmp_path: Path, models_python: str) -> None:  # R35, R39
    folder = tmp_path / "net"
    folder.mkdir()
    model = folder / "model.py"
    model.write_text(MODEL)
    (folder / "tensorviz.toml").write_text(SETUP)
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    options = {"interpreter": models_python, "trustedFolders": [folder.as_uri()]}
    async with LspClient.start(env=env) as client:
        client.answers["workspace/configuration"] = [{}]
        await client.initialize(CAPABILITIES, [folder], options)
        uri = client.open(model)
        opened = {"target": {"uri": uri, "name": "net"}}
        await client.request("tvls/graph/open", opened)
        assert await _hints(client, uri) == []  # off by default

        client.answers["workspace/configuration"] = [{"inlayHints": True}]
        seen = len(client.received)
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        await client.wait_for(lambda message: message.get("method") == "workspace/inlayHint/refresh", since=seen)

        line = MODEL.splitlines().index
        assign = '    é, y = "é", x @ jnp.ones((3, 4))'
        shown = [
            (6, len('def net(x: Float[Array, "batch width"]'), ": float32[batch=2, width=3]"),
            (6, len('def net(x: Float[Array, "batch width"], scale'), ": float32[]"),  # a scalar, traced by jit
            (line(assign), len("    é, y"), ": float32[2, 4]"),
            (9, 9, ": float32[4, 4] +1"),
            (10, len('    z: Float[Array, "*batch out"]'), ": float32[4]"),
            (11, 9, ": float32[]"),
        ]
        assert await _hints(client, uri) == shown
        assert await _hints(client, uri, 10, 11) == shown[-2:]

        # Lines move with the edits above them; a line that was rewritten has none.
        client.change(uri, f"# above\n{MODEL.replace('jnp.sum(z)', 'jnp.mean(z)')}")
        assert await _hints(client, uri) == [(at + 1, column, label) for at, column, label in shown[:-1]]

        # A trace that fails still tells the shapes up to its line.
        broken = MODEL.replace("jnp.sum(z)", "z @ jnp.ones((5,))").replace("y[0]", "y[:1]")
        model.write_text(broken)
        client.change(uri, broken)
        client.save(uri)
        assert (await client.ask("tvls/graph/open", opened).error()).data["kind"] == "traceFailed"
        assert await _hints(client, uri, 10, 12) == [(10, shown[4][1], ": float32[1, 4]")]
        assert await client.shut_down() == 0


NAMED = """\
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def inner(h: Float[Array, "#batch 4"] | None) -> Float[Array, "batch out"]:
    return h @ jnp.ones((4, 5))


@jax.jit
def net(
    x: Float[Array, "batch width"],
) -> Float[Array, " out"]:
    y: Float[Array, "*batch width"] = x * 2.0
    x = x @ jnp.ones((3, 4))
    return inner(x)[0]
"""


async def test_hover_names_dimensions(tmp_path: Path, models_python: str) -> None:  # R25, R39
    folder = tmp_path / "net"
    folder.mkdir()
    model = folder / "model.py"
    model.write_text(NAMED)
    (folder / "tensorviz.toml").write_text(SETUP.replace(", 2.0] }", "] }"))
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    options = {"interpreter": models_python, "trustedFolders": [folder.as_uri()]}
    async with LspClient.start(env=env) as client:
        await client.initialize(CAPABILITIES, [folder], options)
        uri = client.open(model)
        await client.request("tvls/graph/open", {"target": {"uri": uri, "name": "net"}})
        lines = NAMED.splitlines()

        async def shown(line: str, word: str, occurrence: int = 0) -> str:
            at = next(number for number, text in enumerate(lines) if line in text)
            column = -1
            for _ in range(occurrence + 1):
                column = lines[at].index(word, column + 1)
            found = await client.hover(uri, at, column)
            return "" if found is None else found["contents"]["value"]

        assert "float32[batch=2, width=3]" in await shown("y: Float", "x *")  # the parameter, where it is read
        assert "float32[2, 3]" in await shown("y: Float", "y")  # places are not known
        assert "float32[2, 4]" in await shown("x = x @", "x")  # assigned anew, without an annotation
        assert "float32[batch=2, width=3]" in await shown("x = x @", "x", 1)
        assert "float32[batch=2, 4]" in await shown("def inner", "h:")
        assert "float32[batch=2, out=5]" in await shown("def inner", "inner")
        assert "float32[batch=2, out=5]" in await shown("return h @", "return")
        assert "float32[out=5]" in await shown("return inner", "return")
        # An edit above moves the names along.
        client.change(uri, f"# above\n{NAMED}")
        found = await client.hover(uri, lines.index("    x = x @ jnp.ones((3, 4))") + 1, 8)
        assert found is not None
        assert "float32[batch=2, width=3]" in found["contents"]["value"]
        assert await client.shut_down() == 0
