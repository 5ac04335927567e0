"""What is said of a target: where it stands, what it takes, what it is called when imported."""

from __future__ import annotations

from pathlib import Path

from tvls.analysis.client import Analysis
from tvls.analysis.types import FoundTarget, Parameter

from .workspace_files import write


async def one(
    analysis: Analysis, path: Path, name: str, root: Path | None = None, text: str | None = None
) -> FoundTarget:
    answer = await analysis.targets(path, text, roots=[root or path.parent])
    return next(t for t in answer.targets if t.name == name)


def brief(parameters: list[Parameter]) -> list[tuple[str, str, str | None, str | None]]:
    kinds = {
        "positional_only": "/",
        "positional_or_keyword": "",
        "var_positional": "*",
        "keyword_only": "kw",
        "var_keyword": "**",
    }
    return [(p.name, kinds[p.kind], p.annotation, p.default) for p in parameters]


async def test_parameters_of_a_function(analysis: Analysis, tmp_path: Path) -> None:  # R10
    source = (
        "import jax, jax.numpy as jnp\n@jax.jit\n"
        "def f(a, b: 'jax.Array' = None, /, c: dict[str,\n        int] = {}, "
        "*rest: int, d, e: float = -1.0, **more): return a\n"
    )
    target = await one(analysis, tmp_path / "m.py", "f", text=source)
    assert brief(target.parameters) == [
        ("a", "/", None, None),
        ("b", "/", "'jax.Array'", "None"),
        ("c", "", "dict[str, int]", "{}"),
        ("rest", "*", "int", None),
        ("d", "kw", None, None),
        ("e", "kw", "float", "-1.0"),
        ("more", "**", None, None),
    ]
    assert target.init_parameters == []


async def test_linen_fields_are_inherited_over_files(analysis: Analysis, tmp_path: Path) -> None:  # R10
    write(
        """=== base.py
from typing import Any, ClassVar
import dataclasses
from flax import linen as nn
class Mixin:
    not_a_field: int = 3
class Base(nn.Module):
    width: int
    dtype: Any = None
    kinds: ClassVar[list[str]] = []
    def __call__(self, x, *, train: bool = False): return x
=== model.py
import dataclasses
import typing as tp
from flax import linen as nn
from base import Base, Mixin
class Net(Mixin, Base):
    depth: int = 2
    width: int = 8
    parent: tp.Any = None
    hidden: int = dataclasses.field(default=1, init=False)
    scales: tp.Sequence[float] = dataclasses.field(default_factory=list)
    _: dataclasses.KW_ONLY
    late: 'tp.Optional[int]' = None
    counter: tp.ClassVar = 0
    if depth:
        extra: int = 1
class Strict(Base, kw_only=True):
    only: int = 0
""",
        tmp_path,
    )
    net = await one(analysis, tmp_path / "model.py", "Net")
    assert brief(net.init_parameters) == [
        ("width", "", "int", "8"),
        ("dtype", "", "Any", "None"),
        ("depth", "", "int", "2"),
        ("scales", "", "tp.Sequence[float]", "list()"),
        ("late", "kw", "'tp.Optional[int]'", "None"),
        ("extra", "kw", "int", "1"),
    ]
    assert brief(net.parameters) == [("x", "", None, None), ("train", "kw", "bool", "False")]
    strict = await one(analysis, tmp_path / "model.py", "Strict")
    assert brief(strict.init_parameters)[-1] == ("only", "kw", "int", "0")


async def test_constructors_of_nnx_and_torch(analysis: Analysis, tmp_path: Path) -> None:  # R10
    source = """import dataclasses
from flax import nnx
import torch
class A(nnx.Module):
    def __init__(self, din: int, *, rngs: nnx.Rngs): ...
    def __call__(self, x): return x
class B(A): ...
@dataclasses.dataclass
class C(nnx.Module):
    size: int = 3
class D(torch.nn.Module):
    def __init__(self, n, bias=True): ...
    def _forward(self, x, mask=None): return x
    forward = _forward
class E(D):
    def __init__(self): ...
"""
    path = tmp_path / "m.py"
    found = {t.name: t for t in (await analysis.targets(path, source, roots=[tmp_path])).targets}
    assert brief(found["A"].init_parameters) == [("din", "", "int", None), ("rngs", "kw", "nnx.Rngs", None)]
    assert found["B"].init_parameters == found["A"].init_parameters
    assert brief(found["B"].parameters) == [("x", "", None, None)]
    assert brief(found["C"].init_parameters) == [("size", "", "int", "3")]
    assert brief(found["D"].init_parameters) == [("n", "", None, None), ("bias", "", None, "True")]
    assert brief(found["D"].parameters) == [("x", "", None, None), ("mask", "", None, "None")]
    assert found["E"].init_parameters == []
    assert found["E"].parameters == found["D"].parameters


async def test_a_constructor_of_a_library_may_take_more_than_source_says(analysis: Analysis, tmp_path: Path) -> None:
    source = """from torch import nn
from transformers import LlamaForCausalLM
class A(LlamaForCausalLM): ...
class B(nn.Linear): ...
class C(nn.Linear):
    def __init__(self, width): ...
class D(nn.Module): ...
"""
    found = (await analysis.targets(tmp_path / "m.py", source, roots=[tmp_path])).targets
    assert {t.name: t.more_init_parameters for t in found} == {"A": True, "B": True, "C": False, "D": False}


async def test_wrapped_functions_take_what_the_function_takes(analysis: Analysis, tmp_path: Path) -> None:
    source = (
        "import jax\ndef f(x, y=1): return x\ng = jax.jit(jax.vmap(f))\nh = jax.grad(lambda z: z)\nk = jax.jit(print)\n"
    )
    found = {t.name: t for t in (await analysis.targets(tmp_path / "m.py", source)).targets}
    assert [p.name for p in found["g"].parameters] == ["x", "y"]
    assert [p.name for p in found["h"].parameters] == ["z"]
    assert found["k"].parameters == []


async def test_places(analysis: Analysis, tmp_path: Path) -> None:
    source = (
        "from flax import linen as nn\n\f\nimport jax\r\n"
        "é = 1; Z = 2\n"
        "@nn.nowrap  # 5\n"
        "class  Größe(  # a : in a comment\n"
        "    nn.Module,\n"
        "):\n"
        "    class Inner(nn.Module): x: int\n"
        "\n"
        "@jax.jit\n"
        "def f(\n    x: 'a:b' = {1: 2}\n) -> dict[str, int]: return x\n"
        "class \\\n  Split(nn.Module): ...\n"
    )
    found = {t.name: t for t in (await analysis.targets(tmp_path / "m.py", source)).targets}

    def place(name: str) -> tuple[int, int, int, int, int, int]:
        t = found[name]
        return t.line, t.name_line, t.column, t.end_column, t.header_end_line, t.end_line

    assert place("Größe") == (6, 6, 7, 14, 8, 9)
    assert place("Größe.Inner") == (9, 9, 10, 15, 9, 9)
    assert place("f") == (12, 12, 4, 5, 14, 14)
    assert place("Split") == (15, 16, 2, 7, 16, 16)


async def test_module_and_root(analysis: Analysis, tmp_path: Path) -> None:
    body = "import jax\n{}\n@jax.jit\ndef f(x): return x\n"
    files = {
        "plain/script.py": ("", "plain", "script"),
        "pkg/__init__.py": ("", "", "pkg"),
        "pkg/sub/__init__.py": ("", "", "pkg.sub"),
        "pkg/sub/m.py": ("", "", "pkg.sub.m"),
        "src/lib/__init__.py": ("", "src", "lib"),
        "src/lib/m.py": ("", "src", "lib.m"),
        # folders without __init__.py that their files show to be packages
        "space/inner/m.py": ("import space.other", "", "space.inner.m"),
        "dots/inner/m.py": ("from .. import other", "", "dots.inner.m"),
        "dots/inner/n.py": ("from . import other", "dots", "inner.n"),
        # a package named like a library
        "lab/jax/__init__.py": ("", "", "lab.jax"),
        "lab/jax/m.py": ("", "", "lab.jax.m"),
    }
    write("".join(f"=== {name}\n{body.format(extra)}" for name, (extra, _, _) in files.items()), tmp_path)
    for name, (_, root, module) in files.items():
        target = await one(analysis, tmp_path / name, "f", tmp_path)
        assert (target.root, target.module) == (str(tmp_path / root) if root else str(tmp_path), module), name


async def test_cycles_end(analysis: Analysis, tmp_path: Path) -> None:
    write(
        """=== a.py
from flax import linen as nn
import jax
import b
from b import *
X = nn.remat(b.X)
deco = b.deco(1)
class Y(b.Y): ...
class Z(X): ...
g = jax.jit(b.g)
@deco
def f(x): return x
@jax.jit
def real(x): return x
=== b.py
from flax import linen as nn
import jax
import a
from a import *
X = nn.remat(a.X)
deco = a.deco(1)
class Y(a.Y): ...
g = jax.jit(a.g)
""",
        tmp_path,
    )
    found = {t.name for t in await analysis.index([tmp_path])}
    assert "real" in found
    assert not {"X", "Y", "Z", "f", "deco"} & found


async def test_fields_of_a_library_base_are_known_to_be_unknown(analysis: Analysis, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        "from typing import Generic, TypeVar\n"
        "from flax import linen as nn\n"
        "T = TypeVar('T')\n"
        "class Plain(nn.Module, Generic[T]):\n    width: int\n"
        "class Wide(nn.Dense):\n    scale: float = 1.0\n"
        "class Wider(Wide):\n    pass\n"
    )
    assert not (await one(analysis, path, "Plain")).more_init_parameters
    assert (await one(analysis, path, "Wide")).more_init_parameters
    assert (await one(analysis, path, "Wider")).more_init_parameters
