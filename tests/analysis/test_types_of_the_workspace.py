"""Types of the workspace that annotations name: aliases, enumerations, dataclasses and named tuples."""

from __future__ import annotations

from pathlib import Path

from tvls.analysis.client import Analysis
from tvls.analysis.types import Enumeration, FoundTarget, Record

from .workspace_files import write

FILES = """=== kinds.py
import enum
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import ClassVar, Literal, NamedTuple, TypeAlias
from flax import struct
from jaxtyping import Array, Float

Image = Float[Array, "h w 3"]
Maybe: TypeAlias = Image | None
Loop = Loop | None
Word = Literal["relu", "gelu"]

class Act(enum.Enum):
    GELU = enum.auto()
    RELU = 2
    _hidden = 3
    def plain(self): return 1
class Mode(str, enum.Enum):
    FAST = "fast"

class NotOne:
    width: int = 3

@dataclass(frozen=True)
class Base:
    kind: ClassVar[str] = "x"
    name: str = "net"
    made: int = field(init=False, default=3)
@dataclass
class Config(Base):
    width: int = 4
    act: Act = Act.GELU
    part: "Part" = field(default_factory=lambda: Part(2))
    seed: InitVar[int] = 0
    _: KW_ONLY
    depth: int
@dataclass
class Part:
    size: int
    inside: "Part | None" = None
class Own(Config):
    pass
class Given(Base):
    def __init__(self, other: Part, *rest): ...

class State(NamedTuple):
    h: Image
    c: float = 1.0
@struct.dataclass
class Batch:
    x: Image
class Tree(struct.PyTreeNode):
    x: Image
=== pkg/__init__.py
from kinds import Config as Settings
=== model.py
import jax
import kinds as k
import pkg
from typing import TYPE_CHECKING, Optional
from flax import linen as nn, nnx
from kinds import Act, Given, Loop, Maybe, Mode, NotOne, Own, State, Word
if TYPE_CHECKING:
    from kinds import Batch, Tree

class Net(nn.Module):
    config: "pkg.Settings"
    act: Act = Act.RELU
    word: Word | None = None
    block: "Block | None" = None
    def __call__(self, x: k.Image, y: Maybe, z: Loop = None): ...

class Block(nnx.Module):
    class Options(State): pass
    def __init__(self, own: Own, options: Options, given: Optional["Given"] = None, made=Own(depth=3)): ...
    def __call__(self, batch: "Batch", tree: "list[Tree]", state: k.State): ...

@jax.jit
def step(mode: Mode, not_one: NotOne, shape: "k.Missing"): ...
"""


async def targets(analysis: Analysis, folder: Path) -> dict[str, FoundTarget]:
    write(FILES, folder)
    return {t.name: t for t in (await analysis.targets(folder / "model.py", roots=[folder])).targets}


async def test_aliases_of_other_files_are_written_out(analysis: Analysis, tmp_path: Path) -> None:  # R10
    found = await targets(analysis, tmp_path)
    assert [p.annotation for p in found["Net"].parameters] == [
        "Float[Array, 'h w 3']",
        "Float[Array, 'h w 3'] | None",
        "Loop | None",
    ]
    assert found["Net"].init_parameters[2].annotation == "Literal['relu', 'gelu'] | None"
    assert found["step"].parameters[2].annotation == '"k.Missing"'


async def test_classes_that_hold_values_come_with_what_they_are_made_of(analysis: Analysis, tmp_path: Path) -> None:
    # R10
    found = await targets(analysis, tmp_path)
    assert [(p.name, p.names) for p in found["Net"].init_parameters] == [
        ("config", {"pkg.Settings": "kinds:Config"}),
        ("act", {"Act": "kinds:Act"}),
        ("word", {}),
        ("block", {}),  # a module
    ]
    types = found["Net"].types
    assert set(types) == {"kinds:Config", "kinds:Act", "kinds:Part"}
    assert types["kinds:Act"] == Enumeration(["GELU", "RELU"], {"RELU": 2}, str(tmp_path / "kinds.py"))
    config = types["kinds:Config"]
    assert isinstance(config, Record)
    assert [(p.name, p.kind.partition("_")[0], p.default) for p in config.parameters] == [
        ("name", "positional", '"net"'),
        ("width", "positional", "4"),
        ("act", "positional", "Act.GELU"),
        ("part", "positional", "Part(2)"),
        ("seed", "positional", "0"),
        ("depth", "keyword", None),
    ]
    assert config.parameters[3].names == {"Part": "kinds:Part"}


async def test_constructors_named_tuples_and_flax_structures(analysis: Analysis, tmp_path: Path) -> None:  # R10
    found = await targets(analysis, tmp_path)
    types = found["Block"].types
    fields = {name: [p.name for p in t.parameters] for name, t in types.items() if isinstance(t, Record)}
    assert fields == {
        "kinds:Own": ["name", "width", "act", "part", "seed", "depth"],
        "model:Block.Options": ["h", "c"],
        "kinds:Given": ["other", "rest"],
        "kinds:Batch": ["x"],
        "kinds:Tree": ["x"],
        "kinds:State": ["h", "c"],
        "kinds:Part": ["size", "inside"],
    }
    assert found["Block"].init_parameters[3].names == {"Own": "kinds:Own"}
    assert found["step"].parameters[0].names == {"Mode": "kinds:Mode"}
    assert found["step"].parameters[1].names == {}


async def test_what_another_file_says_now_counts(analysis: Analysis, tmp_path: Path) -> None:  # R10
    await targets(analysis, tmp_path)
    (tmp_path / "kinds.py").write_text((tmp_path / "kinds.py").read_text().replace("RELU = 2", "RELU = SILU = 2"))
    again = {t.name: t for t in (await analysis.targets(tmp_path / "model.py", roots=[tmp_path])).targets}
    act = Enumeration(["GELU", "RELU", "SILU"], {"RELU": 2, "SILU": 2}, str(tmp_path / "kinds.py"))
    assert again["Net"].types["kinds:Act"] == act


async def test_aliases_that_multiply_end(analysis: Analysis, tmp_path: Path) -> None:
    lines = [f"A{n} = tuple[{', '.join([f'A{n + 1}'] * 20)}]" for n in range(20)]
    text = "import jax\n" + "\n".join(lines) + "\nA20 = int\n@jax.jit\ndef f(x: A0, y: A19): ...\n"
    (found,) = (await analysis.targets(tmp_path / "m.py", text, roots=[tmp_path])).targets
    assert found.parameters[0].annotation == "A0"
    assert found.parameters[1].annotation == f"tuple[{', '.join(['int'] * 20)}]"


async def test_type_statements_are_aliases(analysis: Analysis, tmp_path: Path) -> None:  # R10
    text = "import jax\ntype Shape = tuple[int, ...]\n@jax.jit\ndef f(x: Shape): ...\n"
    (found,) = (await analysis.targets(tmp_path / "m.py", text, roots=[tmp_path])).targets
    assert found.parameters[0].annotation == "tuple[int, ...]"


GPT = """=== model.py
from dataclasses import dataclass
from torch import nn

@dataclass
class GPTConfig:
    width: int = 8

class Block(nn.Module):
    def __init__(self, config, other, width):
        super().__init__()
    def forward(self, x, args=None):
        return x
=== two.py
from dataclasses import dataclass
from torch import nn
from model import GPTConfig

@dataclass
class TrainConfig:
    rate: float = 0.1

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
    def forward(self, x):
        return x
"""


async def test_a_configuration_without_annotation_is_the_one_that_the_file_has(
    analysis: Analysis, tmp_path: Path
) -> None:  # R10
    write(GPT, tmp_path)
    (block,) = (await analysis.targets(tmp_path / "model.py", roots=[tmp_path])).targets
    assert [p.names for p in block.init_parameters] == [{"GPTConfig": "model:GPTConfig"}, {}, {}]
    assert [p.names for p in block.parameters] == [{}, {}], "it has a default"
    assert set(block.types) == {"model:GPTConfig"}
    (block,) = (await analysis.targets(tmp_path / "two.py", roots=[tmp_path])).targets
    assert [p.names for p in block.init_parameters] == [{}], "it may be either"
