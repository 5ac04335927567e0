"""What the source of a model declares, read by the real analysis process."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tvls.analysis.client import Analysis
from tvls.analysis.types import Declared

LINEN = """
from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp


class Block(nn.Module):
    features: int
    rate: float = 0.1
    kinds: ClassVar[int] = 3

    def setup(self):
        self.norm = nn.LayerNorm(name="é")
        self.layers = [nn.Dense(self.features) for _ in range(3)]
        self.act = nn.relu

    def mix(self, x):
        return jnp.einsum("ij,jk", x, x)

    def unused(self):
        return jnp.zeros(3)

    def __call__(self, x, train: bool = False):
        h = self.norm(x)
        for layer in self.layers:
            h = nn.relu(layer(h))
        if train:
            h = nn.Dropout(self.rate,
                           deterministic=False)(h)
        else:
            print(len(x))
        return self.mix(h) if train else jnp.stack([jnp.sin(y) for y in h])
"""


async def read(analysis: Analysis, folder: Path, text: str, name: str) -> Declared | None:
    path = folder / "model.py"
    path.write_text(textwrap.dedent(text))
    return await analysis.declared(path, name, roots=[folder])


async def test_a_module_declares_fields_submodules_and_calls(analysis: Analysis, tmp_path: Path) -> None:  # R40
    found = await read(analysis, tmp_path, LINEN, "Block")
    assert found is not None
    assert [(f.name, f.annotation, f.default) for f in found.fields] == [
        ("features", "int", None),
        ("rate", "float", "0.1"),
    ]
    assert [(m.name, m.constructor) for m in found.submodules] == [("norm", "nn.LayerNorm"), ("layers", "nn.Dense")]
    assert [m.name for m in found.methods] == ["setup", "__call__", "mix"]
    assert [m.signature for m in found.methods][1] == "__call__(self, x, train: bool=False)"
    calls = [(c.callee, c.within, c.submodule) for c in found.methods[1].calls]
    assert calls == [
        ("self.norm", [], "norm"),
        ("nn.relu", ["for layer in self.layers"], None),
        ("layer", ["for layer in self.layers"], None),
        ("nn.Dropout", ["if train"], None),
        ("self.mix", ["if train"], None),
        ("jnp.stack", ["if not (train)"], None),
        ("jnp.sin", ["if not (train)", "for y in h"], None),
    ]
    dropout = found.methods[1].calls[3]
    assert dropout.text == "nn.Dropout(self.rate, deterministic=False)(h)"
    assert found.total_calls == sum(len(method.calls) for method in found.methods)
    norm = found.submodules[0].span  # columns are bytes, and é is two of them
    line = textwrap.dedent(LINEN).split("\n")[norm.line - 1].encode()
    assert line[norm.column : norm.end_column].decode() == 'self.norm = nn.LayerNorm(name="é")'


async def test_constructors_inner_classes_functions_and_wrapped_ones(analysis: Analysis, tmp_path: Path) -> None:  # R40
    text = """
        import jax
        from flax import nnx

        class Outer:
            class Net(nnx.Module):
                def __init__(self, width: int, *, rngs: nnx.Rngs):
                    self.first = nnx.Linear(3, width, rngs=rngs)
                    self.rest: list = nnx.List([nnx.Linear(3, 3, rngs=rngs)])
                    self.width = max(width, 3)

                def __call__(self, x):
                    return self.rest[0](self.first(x))

        def step(carry, x):
            return jax.lax.scan(lambda c, y: (jax.numpy.add(c, y), None), carry, x)

        if True:
            fast = jax.jit(step)
    """
    net = await read(analysis, tmp_path, text, "Outer.Net")
    assert net is not None
    assert [(f.name, f.annotation) for f in net.fields] == [("width", "int"), ("rngs", "nnx.Rngs")]
    assert [(m.name, m.constructor) for m in net.submodules] == [("first", "nnx.Linear"), ("rest", "nnx.List")]
    assert [(c.callee, c.submodule) for c in net.methods[1].calls] == [
        ("self.rest[0]", "rest"),
        ("self.first", "first"),
    ]
    function = await read(analysis, tmp_path, text, "step")
    assert function is not None
    assert [f.name for f in function.fields] == ["carry", "x"]
    assert [(c.callee, c.within) for c in function.methods[0].calls] == [
        ("jax.lax.scan", []),
        ("jax.numpy.add", ["lambda"]),
    ]
    assert (await read(analysis, tmp_path, text, "fast")) == function
    assert await read(analysis, tmp_path, text, "gone") is None
    assert await read(analysis, tmp_path, text, "Outer.gone") is None


async def test_what_bases_in_the_same_file_declare(analysis: Analysis, tmp_path: Path) -> None:  # R40
    text = """
        import flax.linen as nn

        class Base(nn.Module):
            width: int = 3

            def __call__(self, x):
                return self.inner(nn.Dense(self.width)(x))

            def inner(self, x):
                return x

        class Net(Base):
            depth: int = 1

            def inner(self, x):
                return nn.relu(x)

        class Loop(Loop):
            pass
    """
    net = await read(analysis, tmp_path, text, "Net")
    assert net is not None
    assert [field.name for field in net.fields] == ["width", "depth"]
    assert [(m.name, [c.callee for c in m.calls]) for m in net.methods] == [
        ("__call__", ["self.inner", "nn.Dense"]),
        ("inner", ["nn.relu"]),
    ]
    assert await read(analysis, tmp_path, text, "Loop") == Declared()


async def test_nothing_runs_and_a_broken_text_keeps_what_was_read(
    analysis: Analysis, tmp_path: Path
) -> None:  # R3, R40
    canary = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    good = canary + "import jax\n\ndef net(x):\n    return jax.numpy.sin(x)\n"
    before = await read(analysis, tmp_path, good, "net")
    assert before is not None
    assert before.parsed
    path = tmp_path / "model.py"
    broken = await analysis.declared(path, "net", "# a line above\n" + good + "def (\n", roots=[tmp_path])
    assert broken is not None
    assert not broken.parsed
    assert [c.callee for c in broken.methods[0].calls] == ["jax.numpy.sin"]
    assert broken.methods[0].calls[0].span.line == before.methods[0].calls[0].span.line + 1
    assert not (tmp_path / "ran").exists()
    assert await analysis.declared(tmp_path / "gone.py", "net", roots=[tmp_path]) is None


async def test_only_the_first_calls_are_listed(analysis: Analysis, tmp_path: Path) -> None:
    text = "import jax\ndef net(x):\n" + "    x = jax.numpy.sin(x)\n" * 700 + "    return x\n"
    found = await read(analysis, tmp_path, text, "net")
    assert found is not None
    assert (len(found.methods[0].calls), found.total_calls) == (500, 700)
