# ruff: noqa: RUF001 - the multiplication sign is meant
"""What a variable held at the very place that is asked about, against the real daemon with real JAX and PyTorch."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.lsp.client import LspClient

pytestmark = pytest.mark.timeout(600)

Shown = Callable[..., Awaitable["str | None"]]

TENSOR = '{{ kind = "tensor", shape = {0}, dtype = "float32" }}'
PLAIN = """\
import jax
import jax.numpy as jnp


@jax.jit
def net(params, x):
    for layer in params:
        x = jnp.tile(x @ layer["w"], 2)
    if x.ndim == 1:
        y = x
    else:
        y = x.T
    return {"out": y, "all": (x, y)}
"""
LINEN = """\
import jax
from flax import linen as nn


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(8)(x)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(3):
            x = Block()(x)
        return nn.Dense(5)(x)
"""
TORCH = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(n, n + 1) for n in (3, 4, 5))

    def forward(self, x):
        skips = []
        for layer in self.layers:
            x = layer(x)
            skips.append(x)
        return x
"""


@contextlib.asynccontextmanager
async def opened(root: Path, python: str, source: str, name: str, *inputs: str) -> AsyncIterator[Shown]:
    """A server in which the model was traced, to ask for the hover on a word of a line."""
    folder = root / "net"
    folder.mkdir()
    model = folder / "model.py"
    model.write_text(source)
    framework = "" if source is TORCH else 'framework = "jax"\n'
    (folder / "tensorviz.toml").write_text(
        f'version = 1\n[profiles.net]\nkind = "model"\n{framework}model = "model:{name}"\n'
        f"inputs = {{ args = [{', '.join(inputs)}] }}\n"
    )
    env = {"XDG_STATE_HOME": str(root / "state"), "XDG_CACHE_HOME": str(root / "cache")}
    options = {"interpreter": python, "trustedFolders": [folder.as_uri()], "limits": {"seconds": 300.0}}
    async with LspClient.start(env=env) as client:
        await client.initialize({}, [folder], options)
        uri = client.open(model)
        await client.request("tvls/graph/open", {"target": {"uri": uri, "name": name}}, seconds=300.0)
        lines = source.splitlines()

        async def shown(line: str, word: str, occurrence: int = 0, after: int = 0) -> str | None:
            at = lines.index(line, after)
            column = -1
            for _ in range(occurrence + 1):
                column = lines[at].index(word, column + 1)
            found = await client.hover(uri, at, column)
            return None if found is None else found["contents"]["value"].replace("`", "")

        yield shown
        assert await client.shut_down() == 0


async def test_loops_branches_and_objects(tmp_path: Path, models_python: str) -> None:  # R25
    weights = [f"{{ w = {TENSOR.format(shape)} }}" for shape in ("[3, 2]", "[4, 3]")]
    async with opened(
        tmp_path, models_python, PLAIN, "net", f"[{', '.join(weights)}]", TENSOR.format("[2, 3]")
    ) as shown:
        loop = '        x = jnp.tile(x @ layer["w"], 2)'
        assert await shown(loop, "x") == (
            "float32[2, 4] · ×1 · inferred · fresh\n\nalso float32[2, 6] ×1\n\n×: seen 2 times in the traced program"
        )
        assert await shown(loop, "x ", 1) == (
            "float32[2, 3] · ×1 · inferred · fresh\n\nalso float32[2, 4] ×1\n\n×: seen 2 times in the traced program"
        )
        assert await shown(loop, "layer") == (
            "dict{w: float32[3, 2]} · ×1 · inferred · fresh\n\nalso dict{w: float32[4, 3]} ×1\n\n"
            "×: seen 2 times in the traced program"
        )
        assert await shown(loop, '"w"') == (
            "float32[3, 2] · ×1 · inferred · fresh\n\nalso float32[4, 3] ×1\n\n×: seen 2 times in the traced program"
        )
        assert await shown("    if x.ndim == 1:", "x") == "float32[2, 6] · ×1 · inferred · fresh"
        assert await shown("        y = x", "x") is None  # a branch that did not run
        assert await shown("        y = x", "y") is None
        assert await shown("def net(params, x):", "params") == (
            "list{[0].w: float32[3, 2], [1].w: float32[4, 3]} · ×1 · inferred · fresh"
        )
        result = "dict{out: float32[6, 2], all[0]: float32[2, 6], all[1]: float32[6, 2]} · ×1 · inferred · fresh"
        assert await shown("def net(params, x):", "net") == f"{result}\n\nreturned by net"
        assert await shown('    return {"out": y, "all": (x, y)}', "return") == result


async def test_functions_of_one_name(tmp_path: Path, models_python: str) -> None:  # R25
    async with opened(tmp_path, models_python, LINEN, "Net", TENSOR.format("[2, 4]")) as shown:
        call = "    def __call__(self, x):"
        inner = await shown(call, "__call__")
        assert inner == (
            "float32[2, 8] · ×3 · inferred · fresh\n\nreturned by __call__\n\n×: seen 3 times in the traced program"
        )
        outer = await shown(call, "__call__", after=LINEN.splitlines().index("class Net(nn.Module):"))
        assert outer == "float32[2, 5] · ×1 · inferred · fresh\n\nreturned by __call__"
        assert (
            await shown("class Block(nn.Module):", "Block")
            == "Block · inferred · fresh\n\n3 modules, 40 to 72 parameters each"
        )
        assert await shown("class Net(nn.Module):", "Net") == "Net · inferred · fresh\n\n1 module, 229 parameters"
        loop = await shown("            x = Block()(x)", "x", 1)
        assert loop == (
            "float32[2, 8] · ×2 · inferred · fresh\n\nalso float32[2, 4] ×1\n\n×: seen 3 times in the traced program"
        )
        assert await shown("        return nn.Dense(5)(x)", "return") == "float32[2, 5] · ×1 · inferred · fresh"


async def test_a_measured_run(tmp_path: Path, torch_python: str) -> None:  # R25
    async with opened(tmp_path, torch_python, TORCH, "Net", TENSOR.format("[2, 3]")) as shown:
        assert await shown("            x = layer(x)", "x", 1) == (
            "float32[2, 3] · ×1 · measured · fresh\n\nalso float32[2, 4] ×1, float32[2, 5] ×1\n\n"
            "×: seen 3 times in the measured run"
        )
        layers = "Linear · measured · fresh\n\n3 modules, 16 to 36 parameters each"
        assert await shown("        for layer in self.layers:", "layers") == layers
        made = "        self.layers = nn.ModuleList(nn.Linear(n, n + 1) for n in (3, 4, 5))"
        assert await shown(made, "layers") == layers
        assert await shown("        return x", "x") == "float32[2, 6] · ×1 · measured · fresh"
        assert await shown("            skips.append(x)", "skips") == (
            "[float32[2, 4]] · ×1 · measured · fresh\n\nalso [float32[2, 4], float32[2, 5]] ×1, no array ×1\n\n"
            "×: seen 3 times in the measured run"
        )
