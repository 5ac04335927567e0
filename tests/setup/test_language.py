"""Language support for `tensorviz.toml` on texts that are being written: `|` marks the cursor."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.setup.targets import found_target
from tvls.analysis.types import Enumeration, FoundTarget, NamedType, Parameter, Record
from tvls.setup.language.completion import complete
from tvls.setup.language.cursor import Around
from tvls.setup.language.definition import Class, definition
from tvls.setup.language.hover import hover
from tvls.setup.language.outline import outline, profiles
from tvls.setup.language.python_file import PythonFile, read_python
from tvls.setup.language.tables import Workspace
from tvls.setup.read import read_setup
from tvls.setup.schema import CALL, FACTORY, GENERATORS, PROFILE, SETUP, TENSOR
from tvls.setup.values import check_value

FACTORY_FILE = '''
from elsewhere import helper

def make(rows, /, n, m=3, *, dtype: str = "f"):
    """Makes a batch.

    More of it.
    """

class Batch:
    @staticmethod
    def small(): pass
    @classmethod
    def of(cls, rows): pass
    def method(self): pass

if helper:
    def late(): pass
'''


def target(
    name: str, kind: Any, call: list[Parameter], init: list[Parameter], types: dict[str, NamedType] | None = None
) -> FoundTarget:
    return found_target(name, kind, end_line=3, parameters=call, init_parameters=init, types=types or {})


X = Parameter("x", "positional_or_keyword")
TARGETS = [
    target(
        "MLP",
        "flax.linen",
        [X, Parameter("train", "positional_or_keyword", "bool", "False")],
        [
            Parameter("width", "positional_or_keyword", "int", "8"),
            Parameter("act", "keyword_only", "Literal['relu', 'gelu']", "'relu'"),
        ],
    ),
    target("Net", "flax.nnx", [X], [Parameter("size", "keyword_only", "int"), Parameter("rngs", "keyword_only")]),
    target("net", "jax.function", [X, Parameter("key", "keyword_only")], []),
]
GPT = target(
    "GPT",
    "torch.module",
    [X],
    [Parameter("config", "positional_or_keyword", "Config", None, {"Config": "c:Config"})],
    {
        "c:Config": Record(
            [
                Parameter("width", "keyword_only", "int"),
                Parameter("act", "keyword_only", "Act", "Act.GELU", {"Act": "c:Act"}),
                Parameter("part", "keyword_only", "Part", "Part()", {"Part": "c:Part"}),
            ],
            "/w/c.py",
        ),
        "c:Act": Enumeration(["GELU", "RELU"]),
        "c:Part": Record([Parameter("size", "keyword_only", "int", "2")]),
    },
)
OF_GPT = '[profiles.a]\nmodel = "m:GPT"\n'
CONFIG = OF_GPT + '[profiles.a.init.kwargs.config]\nkind = "object"\nclass = "c:Config"\n'
FILES = {"make.py": read_python(FACTORY_FILE), "tools/other.py": read_python("x = 1\n")}
WORKSPACE = Workspace([*TARGETS, GPT], lambda: list(FILES), FILES.get)
MLP = '[profiles.a]\nmodel = "m:MLP"\n'


def at(text: str) -> tuple[Around, int]:
    offset = text.index("|")
    return Around(text.replace("|", "", 1)), offset


def written(text: str, label: str) -> str:
    """The text after one item was taken, without snippets."""
    around, offset = at(text)
    found = complete(around, offset, WORKSPACE)
    assert found is not None
    item = next(item for item in found.items if item.label == label)
    return around.text[: found.start] + item.plain + around.text[found.end :]


def labels(text: str) -> list[str]:
    found = complete(*at(text), WORKSPACE)
    return [] if found is None else [item.label for item in found.items]


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("|", [*SETUP.keys, "[profiles.…]"]),
        ("version = 1\n\n|\n[profiles.a]\n", ["[profiles.…]"]),
        ("[profiles.a]\n|", list(PROFILE.keys)),
        ("[profiles.a]\nmo|", list(PROFILE.keys)),
        ('[profiles.a]\nmodel = "m:MLP"\nse|\nmode = "eval"', [k for k in PROFILE.keys if k not in ("model", "mode")]),
        ("[profiles.a]\ninputs.|", list(CALL.keys)),
        ("[profiles.a.inputs]\n|", list(CALL.keys)),
        ("[profiles.a]\ninputs = { | }", list(CALL.keys)),
        ("[profiles.a]\ninputs = { args = [], | }", ["kwargs", "factory"]),
        ("profiles.a.init.factory.|", list(FACTORY.keys)),
        ("[profiles.a]\ninputs = { args = [{ kind = 'tensor', |", [k for k in TENSOR.keys if k != "kind"]),
        ("[profiles.a]\ninputs = { args = [\n  { kind = 'tensor', shape = [2, 3], | },\n] }",
         ["dtype", "requires_grad", "generator"]),
        ("[profiles.a]\ninputs.kwargs.x.|", list(TENSOR.keys)),
        ("[profiles.a]\ninputs.args = [{ kind = 'tensor', generator = { kind = 'normal', |", ["mean", "std"]),
        (MLP + "init = { kwargs = { |", ["width", "act"]),
        (MLP + "init.kwargs = { width = 3, | }", ["act"]),
        (MLP + "inputs.kwargs.|", ["x", "train"]),
        (MLP + "inputs = { args = [1], kwargs = { |", ["train"]),
        ('[profiles.a]\nmodel = "m:Net"\n[profiles.a.init.kwargs]\n|', ["size"]),
        ('[profiles.a]\ninit.factory = { file = "make.py", callable = "make", kwargs = { |', ["n", "m", "dtype"]),
        ("[|", ["profiles"]),
        ("[profiles.|", ["mlp", "net", "net", "gpt"]),
        ("[profiles.a.|]", ["init", "inputs"]),
        (CONFIG + "|", ["fields"]),
        (CONFIG + "fields = { width = 3, | }", ["act", "part"]),
        (CONFIG + "[profiles.a.init.kwargs.config.fields]\n|", ["width", "act", "part"]),
        (CONFIG + 'fields.part = { kind = "object", class = "c:Part", fields = { | } }', ["size"]),
        (CONFIG + "fields.act = { kind = 'enum', |", ["class", "member"]),
    ],
)  # fmt: skip
def test_keys_that_a_table_can_have(text: str, offered: list[str]) -> None:  # R9, R10
    assert labels(text) == offered


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("version = |", ["1"]),
        ("[profiles.a]\nmodel = |", ["m:MLP", "m:Net", "m:net", "m:GPT"]),
        ('[profiles.a]\nmodel = "m|', ["m:MLP", "m:Net", "m:net", "m:GPT"]),
        (OF_GPT + 'init.kwargs.config = { kind = "object", class = "|"', ["c:Config"]),
        (CONFIG + 'fields.act = { kind = "enum", class = "|" }', ["c:Act"]),
        (CONFIG + 'fields.act = { kind = "enum", class = "c:Act", member = "|" }', ["GELU", "RELU"]),
        ("[profiles.a]\nframework = '|'", ["jax", "torch"]),
        ("[profiles.a]\nmode = |", ["eval"]),
        ("[profiles.a]\ndevice = |\nseed = 1", ["cpu", "cuda:0", "cuda:1"]),
        ("[profiles.a]\ngrad_enabled = |", ["false"]),
        ("[profiles.a]\ninputs = |", ["{ kwargs = … }", "{ args = […] }", "{ factory = … }"]),
        ("[profiles.a]\ninputs.args = [{ kind = '|", ["tensor", "tuple", "dict", "object", "enum", "none"]),
        ("[profiles.a]\ninputs.args = [{ kind = 'tensor', requires_grad = |", ["false", "true"]),
        ("[profiles.a]\ninputs.args = [{ kind = 'tensor', generator = |", list(GENERATORS)),
        ("[profiles.a]\ninputs.args = [{ kind = 'tensor', generator.kind = '|' }]", list(GENERATORS)),
        (MLP + "inputs.kwargs.train = |", ["false", "true"]),
        (MLP + "init.kwargs.act = |", ['"relu"', '"gelu"']),
        (MLP + 'init.kwargs.act = "|"', ["relu", "gelu"]),
        ('[profiles.a]\ninit.factory.file = "|"', ["make.py", "tools/other.py"]),
        ('[profiles.a]\ninit.factory = { file = "make.py", callable = "|" }',
         ["helper", "make", "Batch", "Batch.small", "Batch.of", "late"]),
    ],
)  # fmt: skip
def test_values_that_a_key_can_have(text: str, offered: list[str]) -> None:  # R9, R10
    assert labels(text) == offered


@pytest.mark.parametrize(
    "text", ["# |", "[profiles.a] # |", "[profiles.a]|", 'model = "x" |', "x = 1 # [pro|", "[a] |"]
)
def test_nothing_where_nothing_belongs(text: str) -> None:
    assert labels(text) == []


def test_dtypes_start_with_the_usual_ones() -> None:
    found = labels('[profiles.a]\ninputs.args = [{ kind = "tensor", dtype = "|')
    assert found[:3] == ["float32", "int32", "bfloat16"]
    assert {"float8_e4m3fn", "uint4", "complex64", "key<fry>", "bool"} <= set(found)


@pytest.mark.parametrize(
    ("text", "label", "result"),
    [
        ("[profiles.a]\nmo|", "model", '[profiles.a]\nmodel = ""'),
        ('[profiles.a]\nmo| = "x"', "model", '[profiles.a]\nmodel = "x"'),
        ('[profiles.a]\nmodel = "m:|x"', "m:MLP", '[profiles.a]\nmodel = "m:MLP"'),
        ('[profiles.a]\nmodel = "m:|', "m:MLP", '[profiles.a]\nmodel = "m:MLP'),
        ("[profiles.a]\nmodel = |", "m:MLP", '[profiles.a]\nmodel = "m:MLP"'),
        ("[profiles.a]\nmodel = m|", "m:MLP", '[profiles.a]\nmodel = "m:MLP"'),
        (MLP + "init.kwargs.|", "width", MLP + "init.kwargs.width = 8"),
        ("[pro|", "profiles", "[profiles"),
    ],
)
def test_what_is_written_takes_the_place_of_what_was(text: str, label: str, result: str) -> None:  # R10
    assert written(text, label) == result


def test_a_new_profile_is_valid_once_it_has_a_model() -> None:
    # R9
    text = written("version = 1\n|", "[profiles.…]").replace('model = ""', 'model = "m:net"')
    assert [profile.model for profile in read_setup(text).profiles.values()] == ["m:net"]


@pytest.mark.parametrize("kind", GENERATORS)
def test_offered_generators_are_valid_once_their_gaps_are_filled(kind: str) -> None:
    text = written("[profiles.a]\ninputs.args = [{ kind = 'tensor', generator = | }]", kind)
    table = tomllib.loads(text.replace("value = ", "value = 1").replace("high =  }", "high = 2 }"))
    generator = table["profiles"]["a"]["inputs"]["args"][0]["generator"]
    found: list[Any] = []
    dtype = next(d for d in ("float32", "int32", "bool") if d.rstrip("0123456789") in GENERATORS[kind].families)
    check_value({"kind": "tensor", "shape": [2], "dtype": dtype, "generator": generator}, (), found)
    assert found == []


@pytest.mark.parametrize(
    ("text", "about", "says"),
    [
        ("ver|sion = 1", "version", "Version of the file's format"),
        ("[profiles.a|]\nmodel = 'm:MLP'", "a", "class MLP(width: int = 8, *, act: Literal"),
        ("[profiles.a]\nse|ed = 1", "seed", "default `0`"),
        ("[profiles.a]\nmodel = 'm:ne|t'", "'m:net'", "def net(x, *, key)"),
        ("[profiles.a]\nframework = \"jax|\"", '"jax"', "Flax Linen"),
        ("[profiles.a]\ninputs.args = [{ kind = 'tensor', dtype = 'f3|2' }]", "'f32'", "**`float32`**: 32 bits"),
        ("[profiles.a]\ninputs.args = [{ kind = 'tensor', dtype = 'int4|' }]", "'int4'", "-8 to 7"),
        ("[profiles.a]\ninputs.args = [{ kind = 'ten|sor' }]", "'tensor'", "An array"),
        ("[profiles.a]\ninputs.args = [{ kind='tensor', generator = { kind = 'normal', st|d = 1 } }]", "std",
         "standard deviation"),
        ("[profiles.a]\ninputs.args = [{ kind='tensor', generator = { kind = 'arang|e' } }]", "'arange'", "row-major"),
        (MLP + "init.kwargs = { wid|th = 3 }", "width", "width: int = 8"),
        (MLP + "inputs.args = [3|]", "3", "For calling MLP; required"),
        ('[profiles.a]\ninit.factory = { file = "ma|ke.py" }', '"make.py"', "`Batch.of`"),
        ('[profiles.a]\ninit.factory = { file = "make.py", callable = "mak|e" }', '"make"', "Makes a batch."),
        ("[profiles.a\nsee|d =", "seed", "default `0`"),
        (CONFIG + "fields = { wid|th = 3 }", "width", "width: int\n```\nFor making a Config; required"),
        (CONFIG.replace("c:Config", "c:Con|fig"), '"c:Config"', "class Config(*, width: int, act: Act = Act.GELU"),
        (CONFIG + "fields.act = { kind = 'enum', class = 'c:A|ct' }", "'c:Act'", "class Act(Enum): GELU, RELU"),
        (CONFIG.replace("object", "obj|ect"), '"object"', "An object of a dataclass"),
    ],
)  # fmt: skip
def test_hover(text: str, about: str, says: str) -> None:  # R9, R10
    around, offset = at(text)
    found = hover(around, offset, WORKSPACE)
    assert found is not None
    assert around.text[found.start : found.end] == about
    assert says in found.markdown


def test_an_object_is_written_with_its_class() -> None:  # R10
    label = '{ kind = "object", class = "c:Config", fields = { … } }'
    assert written(OF_GPT + "init.kwargs.config = |", label).endswith(label.replace("…", ""))
    assert written(CONFIG + "fields.act = |", '{ kind = "enum", class = "c:Act", member = "RELU" }')
    assert written(OF_GPT + "init.kwargs = { | }", "config").endswith(
        'init.kwargs = { config = { kind = "object", class = "c:Config", fields = {  } } }'
    )


def test_every_key_of_the_format_explains_itself() -> None:
    for table, head in ((SETUP, ""), (PROFILE, "[profiles.a]\n"), (CALL, "[profiles.a.inputs]\n")):
        for name, fact in table.keys.items():
            found = hover(Around(f"{head}{name} = 1"), len(head) + 1, WORKSPACE)
            assert found is not None
            assert fact.help in found.markdown


def test_definitions() -> None:
    def of(text: str) -> Any:
        return definition(*at(text), WORKSPACE)

    assert of('[profiles.a]\nmodel = "m:N|et"').target is TARGETS[1]
    assert of('[profiles.a]\nmodel = "m:Nothing|"') is None
    assert of('[profiles.a]\nmodel| = "m:Net"') is None
    factory = '[profiles.a]\ninputs.factory = { file = "make.py", callable = "Batch.of" }'
    assert of(factory.replace("make.py", "ma|ke.py")).definition is None
    found = of(factory.replace("Batch.of", "Batch.o|f"))
    assert (found.file, found.definition.line) == ("make.py", 14)
    assert of(factory.replace("make.py", "missing|.py")) is None
    assert of(CONFIG.replace("c:Con", "c:Co|n")) == Class("/w/c.py", "Config")
    assert of(CONFIG.replace("c:Config", "c:Other|")) is None


def test_profiles_stand_wherever_they_are_written() -> None:
    text = (
        "profiles.a.model = 'm:f'\n[profiles.b]\nmodel = 'm:g'\n[profiles.'c d'.inputs]\nargs = []\n"
        "[profiles.b.init]\n[other]\nx = 1\n"
    )
    found = profiles(Around(text))
    assert [(item.name, item.detail) for item in found] == [("a", "m:f"), ("b", "m:g"), ("c d", "")]
    assert text[found[2].part.start : found[2].part.end] == "'c d'"
    assert [item.name for item in outline(Around(text))] == ["profiles", "other"]


@pytest.mark.parametrize(
    ("text", "key", "line", "first"),
    [
        ("version = 1\nversion = 2\n", "version", 1, 1),
        ("[profiles.a]\nmodel = 'm:f'\n[profiles.a]\n", "profiles.a", 2, 1),
        ("[profiles.a]\ninit = { args = [], args = [] }\n", "profiles.a.init.args", 1, 2),
    ],
)
def test_a_key_that_is_given_twice(text: str, key: str, line: int, first: int) -> None:  # R9
    (problem,) = read_setup(text).problems
    assert problem.message == f"not valid TOML: {key} is given twice; first on line {first}"
    assert problem.span is not None
    assert problem.span.line == line


FULL = """\
version = 1 # é
[profiles."a 😀"]
model = "m:MLP"
init = { kwargs = { width = 3, act = 'gelu' } }
inputs = { args = [
  { kind = "tensor", shape = [2, 3], dtype = "f32", generator = { kind = "normal", std = 2 } }, # one
  { kind = "tuple", items = [1, '''two'''] },
] }
[[profiles.b.c]]
inputs.factory = { file = "make.py", callable = "make", kwargs = { n = 1979-05-27 } }
"""


def answer_all(text: str, offset: int) -> None:
    around = Around(text)
    for found in (complete(around, offset, WORKSPACE), hover(around, offset, WORKSPACE)):
        assert found is None or 0 <= found.start <= offset <= found.end <= len(text)
    definition(around, offset, WORKSPACE)
    outline(around)


def test_every_place_of_every_beginning_has_an_answer() -> None:
    for end in range(len(FULL) + 1):
        answer_all(FULL[:end], end)
        answer_all(FULL, end)
        answer_all(FULL[:end] + FULL[end + 1 :], end)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="ab.=[]{},\"'# \n\\x1", max_size=60), st.integers(0, 60))
@example('"\\', 2)
@example("'''", 3)
@example("[[\n=", 2)
def test_no_text_is_too_odd(text: str, offset: int) -> None:
    answer_all(text, min(offset, len(text)))


def test_what_a_python_file_surely_lacks() -> None:
    def lacks(text: str, name: str) -> bool:
        file = read_python(text)
        assert isinstance(file, PythonFile)
        return file.lacks(name)

    assert lacks("def f(): pass", "g")
    assert not lacks("from m import *", "g")
    assert not lacks("def __getattr__(name): ...", "g")
    assert lacks("class A: pass", "A.g")
    assert not lacks("class A(B): pass", "A.g")
    assert not lacks("f, (g, *h) = 1, (2, 3)", "h")
    assert not lacks("try:\n    import a.b\nexcept ImportError:\n    c = None", "c")
    assert read_python("def f(:") is None
