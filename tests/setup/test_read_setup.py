"""`tensorviz.toml` as people write it: what is read, what is refused, and where a problem points."""

from __future__ import annotations

import time

import pytest

from tvls.setup.positions import Span
from tvls.setup.read import Problem, SetupFile, names_for, profiles_for, read_setup, read_setup_bytes

PLAIN = """\
version = 1

[profiles.plain]
kind = "model"
framework = "jax"
model = "model:net"
mode = "eval"
device = "cpu"
grad_enabled = false
seed = 0
init = { args = [], kwargs = {} }
inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32", requires_grad = false, \
generator = { kind = "full", value = 1 } }], kwargs = {} }
"""


def profile_text(body: str, name: str = "p") -> str:
    return f'version = 1\n[profiles.{name}]\nframework = "jax"\nmodel = "model:net"\n{body}\n'


def argument(value: str) -> str:
    return profile_text(f"inputs = {{ args = [{value}] }}")


def errors(setup: SetupFile) -> list[Problem]:
    return [problem for problem in setup.problems if problem.severity == "error"]


def pointed_at(text: str, span: Span | None) -> str:
    """The text under a span, whose columns are UTF-8 bytes."""
    assert span is not None
    data = text.encode().split(b"\n")
    if span.line == span.end_line:
        return data[span.line][span.column : span.end_column].decode()
    first, *middle = data[span.line : span.end_line]
    return b"\n".join([first[span.column :], *middle, data[span.end_line][: span.end_column]]).decode()


def test_documented_recipe_reads_unchanged() -> None:  # R9
    setup = read_setup(PLAIN)
    assert setup.problems == []
    profile = setup.profiles["plain"]
    assert (profile.module, profile.qualname, profile.framework) == ("model", "net", "jax")
    sent = profile.to_worker()
    assert sent == {
        "profile": "plain",
        "digest": profile.digest,
        "framework": "jax",
        "mode": "eval",
        "device": "cpu",
        "seed": 0,
        "init": {"args": [], "kwargs": {}},
        "inputs": {
            "args": [
                {
                    "kind": "tensor",
                    "shape": [2, 3],
                    "dtype": "float32",
                    "requires_grad": False,
                    "generator": {"kind": "full", "value": 1},
                }
            ],
            "kwargs": {},
        },
    }


def test_profile_without_framework_means_torch() -> None:  # R1
    setup = read_setup('version = 1\n[profiles.p]\nmodel = "m:Net"\n')
    assert setup.profiles["p"].framework == "torch"


def test_factories_for_model_and_inputs() -> None:  # R12
    setup = read_setup(
        profile_text(
            'init.factory = { file = "./make/model.py", callable = "build" }\n'
            'inputs = { factory = { file = "make/inputs.py", callable = "Maker.batch", kwargs = { size = 4 } } }'
        )
    )
    assert setup.problems == []
    sent = setup.profiles["p"].to_worker()
    assert sent["init"] == {"factory": {"file": "make/model.py", "callable": "build", "kwargs": {}}}
    assert sent["inputs"] == {
        "factory": {"file": "make/inputs.py", "callable": "Maker.batch", "kwargs": {"size": 4}},
    }


@pytest.mark.parametrize("file", ["../x.py", "/etc/x.py", "a/../../x.py", "~/x.py", "C:/x.py", "a\\x.py", "x.txt", 3])
def test_factory_files_stay_in_the_workspace(file: object) -> None:
    value = f"'{file}'" if isinstance(file, str) else file
    setup = read_setup(profile_text(f'init.factory = {{ file = {value}, callable = "f" }}'))
    assert [problem.key for problem in errors(setup)] == ["profiles.p.init.factory.file"]


def test_every_spelling_of_toml_gives_the_same_profile() -> None:
    dotted = """\
version=1
profiles.plain.framework = 'jax'
profiles.plain.model = "model:\\u006eet"
profiles.plain.inputs.args = [
  { kind = "tensor", shape = [0x2, 3,], dtype = \"\"\"f32\"\"\", generator = { kind = "full", value = 1 } }, # comment
]
"""
    tables = """\
version = 1
[profiles.plain.inputs]
[[profiles.plain.inputs.args]]
kind = "tensor"
shape = [2, 3]
dtype = "f32"
[profiles.plain.inputs.args.generator]
kind = "full"
value = 1
[profiles.plain]
model = "model:net"
framework = "jax"
"""
    wanted = read_setup(PLAIN).profiles["plain"]
    for text in (dotted, tables, PLAIN.replace("\n", "\r\n"), "\ufeff" + PLAIN):
        setup = read_setup(text)
        assert setup.problems == []
        assert setup.profiles["plain"] == wanted


def test_values_of_every_kind() -> None:  # R9
    text = argument(
        'true, 3, -1.5, "é", [1, [2]], { a = 1 }, { kind = "tuple", items = [1, { kind = "none" }] }, '
        '{ kind = "dict", items = { kind = "adam", lr = 0.1 } }, { kind = "dict", items = { a = 1 } }'
    )
    setup = read_setup(text)
    assert setup.problems == []
    assert setup.profiles["p"].inputs.args == [
        True,
        3,
        -1.5,
        "é",
        [1, [2]],
        {"a": 1},
        {"kind": "tuple", "items": [1, {"kind": "none"}]},
        {"kind": "dict", "items": {"kind": "adam", "lr": 0.1}},
        {"a": 1},  # the same dictionary as two before, so the same digest
    ]


def test_a_parameter_may_be_called_kind() -> None:
    setup = read_setup(profile_text('inputs.kwargs = { kind = "causal" }'))
    assert setup.problems == []
    assert setup.profiles["p"].inputs.kwargs == {"kind": "causal"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("f32", "float32"),
        ("bf16", "bfloat16"),
        ("jnp.int32", "int32"),
        ("u4", "uint4"),
        ("int4", "int4"),
        ("bool", "bool"),
        ("c64", "complex64"),
        ("float8_e4m3fn", "float8_e4m3fn"),
        ("f8_e5m2", "float8_e5m2"),
        ("key<fry>", "key<fry>"),
        ("key<threefry2x32>", "key<fry>"),
        ("key<mine>", "key<mine>"),
    ],
)
def test_dtype_names(written: str, meant: str) -> None:
    setup = read_setup(argument(f'{{ kind = "tensor", shape = [], dtype = "{written}" }}'))
    assert setup.problems == []
    assert setup.profiles["p"].inputs.args[0]["dtype"] == meant


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("flaot32", "'float32'"),
        ("Float32", "'float32'"),
        ("BF16", "'bfloat16'"),
        ("float", "float16"),
        ("key", "key<fry>"),
        ("int31", "'int32'"),
        ("nonsense", "'float32'"),
    ],
)
def test_dtype_typos_say_what_is_right(written: str, hint: str) -> None:
    (problem,) = read_setup(argument(f'{{ kind = "tensor", shape = [], dtype = "{written}" }}')).problems
    assert problem.key == "profiles.p.inputs.args[0].dtype"
    assert hint in problem.message


# Each: the value of one argument, the key at fault below it, and the text that the problem points at.
FAULTS = [
    ('{ kind = "tensor", shape = [2, "n"], dtype = "f32" }', ".shape[1]", '"n"'),
    ('{ kind = "tensor", shape = [2, -1], dtype = "f32" }', ".shape[1]", "-1"),
    ('{ kind = "tensor", shape = [true], dtype = "f32" }', ".shape[0]", "true"),
    ('{ kind = "tensor", shape = [2.0], dtype = "f32" }', ".shape[0]", "2.0"),
    ('{ kind = "tensor", shape = 2, dtype = "f32" }', ".shape", "2"),
    ('{ kind = "tensor", shape = [2], dtype = 32 }', ".dtype", "32"),
    ('{ kind = "tensor", shape = [2], dtype = "f32", requires_grad = 0 }', ".requires_grad", "0"),
    ('{ kind = "tensor", shape = [2], dtype = "f32", requires_grad = true }', ".requires_grad", "true"),
    ('{ kind = "tensor", shape = [2], dtype = "f32", generator = "ones" }', ".generator", '"ones"'),
    ('{ kind = "tensor", shape = [2], dtype = "f32", generator.kind = "noraml" }', ".generator.kind", '"noraml"'),
    ('{ kind = "tensor", shape = [2], dtype = "i8", generator = { kind = "full" } }', ".generator", "generator"),
    (
        '{ kind = "tensor", shape = [2], dtype = "i8", generator = { kind = "full", value = 1.5 } }',
        ".generator.value",
        "1.5",
    ),
    (
        '{ kind = "tensor", shape = [2], dtype = "u8", generator = { kind = "full", value = 256 } }',
        ".generator.value",
        "256",
    ),
    ('{ kind = "tensor", shape = [2], dtype = "i8", generator.kind = "normal" }', ".generator.kind", '"normal"'),
    (
        '{ kind = "tensor", shape = [300], dtype = "u8", generator = { kind = "arange" } }',
        ".generator",
        '{ kind = "arange" }',
    ),
    (
        '{ kind = "tensor", shape = [2], dtype = "i8", generator = { kind = "randint", low = 3, high = 3 } }',
        ".generator.high",
        "3",
    ),
    ('{ kind = "tensor", shape = [2], dtype = "key<fry>", generator.kind = "ones" }', ".generator", "generator"),
    ('{ kind = "tensr", shape = [2], dtype = "f32" }', ".kind", '"tensr"'),
    ('{ kind = "tuple", items = { a = 1 } }', ".items", "{ a = 1 }"),
    ('{ kind = "dict", items = [1] }', ".items", "[1]"),
    ("[1, { a = inf }]", "[1].a", "inf"),
    ("nan", "", "nan"),
    ("1979-05-27", "", "1979-05-27"),
    ("[07:32:00]", "[0]", "07:32:00"),
    ("9223372036854775808", "", "9223372036854775808"),
    ("{ ü.ö = 1 }", "", None),
    ('{ "ü x" = 1979-05-27 }', '."ü x"', "1979-05-27"),
]


@pytest.mark.parametrize(("value", "key", "text"), FAULTS)
def test_problems_point_at_the_value(value: str, key: str, text: str | None) -> None:  # R9
    source = f"# é\n{argument(value)}"
    setup = read_setup(source)
    if text is None:  # not TOML at all: bare keys are ASCII
        assert setup.problems[0].message.startswith("not valid TOML")
        return
    (problem,) = setup.problems
    assert problem.key == f"profiles.p.inputs.args[0]{key}"
    assert problem.severity == "error"
    assert problem.profile == "p"
    assert pointed_at(source, problem.span) == text
    assert setup.profiles == {}
    assert setup.broken == {"p": "model:net"}


@pytest.mark.parametrize(
    ("line", "key", "hint"),
    [
        ("seed = -1", "seed", "0 or more"),
        ("seed = true", "seed", "true"),
        ('seed = "1"', "seed", "whole number"),
        ('device = "cuda"', "device", "'cuda:0'"),
        ('device = "cuda:-1"', "device", "cuda:N"),
        ('device = "cuda:01"', "device", "cuda:N"),
        ('mode = "train"', "mode", "'eval'"),
        ("grad_enabled = true", "grad_enabled", "grad"),
        ('kind = "modle"', "kind", "'model'"),
        ('init = "x"', "init", "table"),
        ("inputs.args = {}", "inputs.args", "list"),
        ("inputs.kwargs = []", "inputs.kwargs", "table"),
        ('init = { args = [1], factory = { file = "f.py", callable = "f" } }', "init.factory", "leave args"),
        ('init.factory = { file = "f.py" }', "init.factory", "'callable'"),
        ('init.factory = { file = "f.py", callable = "a-b" }', "init.factory.callable", "name of a function"),
        ("init.factory = true", "init.factory", "table"),
    ],
)
def test_fields_of_a_profile(line: str, key: str, hint: str) -> None:  # R9, R21
    (problem,) = read_setup(profile_text(line)).problems
    assert problem.key == f"profiles.p.{key}"
    assert hint in problem.message
    assert problem.span is not None
    assert problem.span.line == 4


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("model.net", "'model:net'"),
        ("src/model.py:net", "'src.model:net'"),
        ("./model.py:Outer.Inner", "'model:Outer.Inner'"),
        ("net", None),
        ("model:", None),
        ("model:f.<locals>.g", None),
    ],
)
def test_model_hints(model: str, hint: str | None) -> None:
    (problem,) = read_setup(f'version = 1\n[profiles.p]\nmodel = "{model}"').problems
    assert problem.key == "profiles.p.model"
    assert ("did you mean" in problem.message) is (hint is not None)
    assert hint is None or hint in problem.message


def test_flax_is_traced_by_jax() -> None:
    (problem,) = read_setup('version = 1\n[profiles.p]\nframework = "flax"\nmodel = "m:N"').problems
    assert problem.key == "profiles.p.framework"
    assert "'jax'" in problem.message


def test_unknown_keys_warn_and_change_nothing() -> None:
    text = profile_text("sed = 3\ninputs = { args = [{ kind = 'tensor', shape = [], dtype = 'f32', name = 'x' }] }")
    setup = read_setup("editor = 1\n" + text)
    assert {problem.severity for problem in setup.problems} == {"warning"}
    assert [(problem.key, pointed_at(setup.text, problem.span)) for problem in setup.problems] == [
        ("editor", "editor"),
        ("profiles.p.sed", "sed"),
        ("profiles.p.inputs.args[0].name", "name"),
    ]
    assert "'seed'" in setup.problems[1].message
    clean = text.replace("sed = 3\n", "").replace(", name = 'x'", "")
    assert setup.profiles == read_setup(clean).profiles


def test_a_tensor_that_lost_its_kind_is_pointed_out() -> None:
    (problem,) = read_setup(argument('{ shape = [2], dtype = "f32" }')).problems
    assert problem.severity == "warning"
    assert "tensor" in problem.message


def test_a_broken_profile_leaves_the_others() -> None:
    text = (
        PLAIN + '[profiles.broken]\nmodel = "m:f"\nseed = "x"\n[profiles]\nscalar = 3\n[profiles.last]\nmodel = "m:f"\n'
    )
    setup = read_setup(text)
    assert list(setup.profiles) == ["plain", "last"]
    assert setup.broken == {"broken": "m:f", "scalar": None}
    assert [problem.key for problem in setup.problems_of("broken")] == ["profiles.broken.seed"]
    assert setup.problems_of("last") == []
    assert names_for(setup, "m", "f") == ["broken", "last"]
    assert [profile.name for profile in profiles_for(setup, "m", "f")] == ["last"]


def test_quoted_and_unicode_profile_names() -> None:
    setup = read_setup('version = 1\n[profiles."größe . [1]"]\nmodel = "m:f"\nseed = []\n')
    (problem,) = setup.problems
    assert problem.key == 'profiles."größe . [1]".seed'
    assert problem.profile == "größe . [1]"
    assert pointed_at(setup.text, problem.span) == "[]"
    assert pointed_at(setup.text, setup.locate(problem.key)) == "[]"


def test_locate_falls_back_to_what_is_around() -> None:
    setup = read_setup(PLAIN)
    assert pointed_at(PLAIN, setup.locate("profiles.plain.inputs.args[0].shape[1]")) == "3"
    assert pointed_at(PLAIN, setup.locate("profiles.plain.inputs.args[4].shape")).startswith("[{")
    assert setup.locate("nothing.here") is None


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("version = ", 0, 10),
        ("a = 1\r\na = 2\r\n", 1, 0),
        ('# é\n[profiles.x]\nmodel = "é" é', 2, 13),
        ('[profiles.x]\nmodel = """', 1, 11),
        ("\n\n[profiles", 2, 9),
    ],
)
def test_syntax_errors_have_their_place(text: str, line: int, column: int) -> None:
    setup = read_setup(text)
    (problem,) = setup.problems
    assert problem.message.startswith("not valid TOML")
    assert problem.span is not None
    assert (problem.span.line, problem.span.column) == (line, column)
    assert setup.profiles == {}


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 20_000,
        "a." * 20_000 + "b = 1",
        "[" + "a." * 20_000 + "b]",
        "x = " + "{a=" * 5_000 + "1" + "}" * 5_000,
    ],
)
def test_hostile_nesting_is_a_problem_and_costs_nothing(text: str) -> None:
    start = time.process_time()
    assert [problem.severity for problem in read_setup(text).problems] == ["error"]
    assert time.process_time() - start < 2


def test_many_dots_are_no_deep_key() -> None:
    numbers = ", ".join(["0.5"] * 500)
    assert read_setup(argument(f'[{numbers}], "{"a." * 500}"')).problems == []


def test_deep_values_are_refused() -> None:
    (problem,) = read_setup(argument("[" * 80 + "]" * 80)).problems
    assert "levels deep" in problem.message


def test_versions() -> None:
    assert read_setup("").problems == []
    assert [p.severity for p in read_setup('[profiles.p]\nmodel = "m:f"').problems] == ["warning"]
    for version in ("2", '"1"', "true", "1.0"):
        setup = read_setup(f'version = {version}\n[profiles.p]\nmodel = "m:f"')
        assert [p.key for p in errors(setup)] == ["version"]
        assert setup.profiles == {}
        assert setup.problems_of("p") == setup.problems


def test_bytes_that_are_not_utf8() -> None:
    setup = read_setup_bytes(b"version = 1\n# \xc3\xa9 caf\xe9\n")
    (problem,) = setup.problems
    assert problem.span == Span(1, 8, 1, 9)
    assert read_setup_bytes(PLAIN.encode()).profiles == read_setup(PLAIN).profiles


def test_lone_surrogates_are_a_problem() -> None:
    (problem,) = read_setup('version = 1\nx = "é\ud800"').problems
    assert problem.span is not None
    assert (problem.span.line, problem.span.column) == (1, 7)


def test_a_module_that_no_import_statement_can_name() -> None:
    for module in ("06_net", "my-repo.pkg.model"):
        setup = read_setup(f'version = 1\n[profiles.p]\nframework = "jax"\nmodel = "{module}:net"\n')
        assert setup.problems == []
        assert setup.profiles["p"].module == module
