"""What a `tensorviz.toml` can say: every key with its type, meaning, values and default, once.

Reading checks against these tables; completion and hover show them.
"""

from __future__ import annotations

from typing import Final

import msgspec


class KeyFact(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    """In words, such as `string`."""
    help: str
    """Markdown, one or two sentences."""
    default: str | None = None
    """As it is written in TOML; None where leaving the key out means nothing in particular."""
    required: bool = False
    values: dict[str, str] = {}
    """Values to choose from, as written in TOML, with what each means. Others may be valid, too, unless `closed`."""
    closed: bool = False
    snippet: str | None = None
    """What to insert after `key = `, with `$1`, `$2`, … where the person goes on; None for what `type` suggests."""


class TableFact(msgspec.Struct, frozen=True, kw_only=True):
    what: str
    """With its article, for messages: `a profile`."""
    keys: dict[str, KeyFact]
    help: str = ""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A number that a generator takes."""

    help: str
    default: int | float | None = None
    """None for one that has to be given."""


class Generator(msgspec.Struct, frozen=True, kw_only=True):
    help: str
    parameters: dict[str, Parameter] = {}
    families: frozenset[str]
    """Families of element types that it can make values of (see `dtypes.Family`)."""


def choices(fact: KeyFact) -> tuple[str, ...]:
    """The strings that a closed key can have."""
    return tuple(value.strip('"') for value in fact.values)


_NUMBERS: Final = frozenset({"int", "uint", "float", "complex"})
_ALL: Final = _NUMBERS | {"bool"}
_REAL: Final = frozenset({"float", "complex"})

GENERATORS: Final[dict[str, Generator]] = {
    "full": Generator(
        help="Every element is `value`.",
        parameters={"value": Parameter(help="A number, or `true` or `false`.")},
        families=_ALL,
    ),
    "zeros": Generator(help="Every element is 0, or `false`.", families=_ALL),
    "ones": Generator(help="Every element is 1, or `true`.", families=_ALL),
    "arange": Generator(
        help="`start`, `start + step`, `start + 2·step`, … in row-major order.",
        parameters={
            "start": Parameter(help="The first element.", default=0),
            "step": Parameter(help="The difference between neighbours.", default=1),
        },
        families=_NUMBERS,
    ),
    "normal": Generator(
        help="Draws from a normal distribution, by the profile's seed.",
        parameters={
            "mean": Parameter(help="The mean.", default=0),
            "std": Parameter(help="The standard deviation, 0 or more.", default=1),
        },
        families=_REAL,
    ),
    "uniform": Generator(
        help="Draws evenly from `low` (inclusive) to `high` (exclusive), by the profile's seed.",
        parameters={
            "low": Parameter(help="The lower bound.", default=0),
            "high": Parameter(help="The upper bound, which is not drawn.", default=1),
        },
        families=_REAL,
    ),
    "randint": Generator(
        help="Draws whole numbers from `low` (inclusive) to `high` (exclusive), by the profile's seed.",
        parameters={
            "low": Parameter(help="The lower bound.", default=0),
            "high": Parameter(help="The upper bound, which is not drawn: a vocabulary's size, for token ids."),
        },
        families=frozenset({"int", "uint"}),
    ),
    "bernoulli": Generator(
        help="Draws `true` with probability `p`, by the profile's seed.",
        parameters={"p": Parameter(help="A probability, from 0 to 1.", default=0.5)},
        families=frozenset({"bool"}),
    ),
}
DEFAULT_GENERATOR: Final = {"kind": "ones"}

_LIST: Final = "[$1]"
_TABLE: Final = "{ $1 }"
TENSOR_SNIPPET: Final = '{ kind = "tensor", shape = [$1], dtype = "${2:float32}" }'

SETUP: Final = TableFact(
    what="a setup file",
    keys={
        "version": KeyFact(
            type="integer",
            help="Version of the file's format.",
            required=True,
            values={"1": "The format that this program reads."},
            closed=True,
            snippet="1",
        ),
        "profiles": KeyFact(
            type="tables",
            help="The profiles: each is a table `[profiles.NAME]`, and one saved way to open a model.",
            snippet=_TABLE,
        ),
    },
)

_CALL_TYPE: Final = "table: `args` and `kwargs`, or a `factory`"

PROFILE: Final = TableFact(
    what="a profile",
    help="One saved way to open a model: what it is built with, and what it is called with.",
    keys={
        "kind": KeyFact(
            type="string",
            help="What the profile describes.",
            default='"model"',
            values={'"model"': "A model: a function or a module, opened as a graph."},
            closed=True,
        ),
        "framework": KeyFact(
            type="string",
            help="The library that traces the model.",
            default='"torch"',
            values={'"jax"': "JAX functions, Flax Linen and Flax NNX modules.", '"torch"': "PyTorch modules."},
            closed=True,
        ),
        "model": KeyFact(
            type='string `"module:qualname"`',
            help="The function or class to open: the module as it is imported (not its file name), a colon, "
            "and the name in the module.",
            required=True,
        ),
        "mode": KeyFact(
            type="string",
            help="How the model is called. A `train` argument of a model belongs in `inputs`.",
            default='"eval"',
            values={'"eval"': "As for inference: no dropout, running averages are used."},
            closed=True,
        ),
        "device": KeyFact(
            type="string",
            help="Where the program is traced for: `cpu`, or a CUDA device by its index. Nothing takes the place of "
            "a device that is not there.",
            default='"cpu"',
            values={'"cpu"': "The processor.", '"cuda:0"': "The first CUDA device.", '"cuda:1"': "The second one."},
        ),
        "grad_enabled": KeyFact(
            type="boolean",
            help="Gradients are not recorded. To see a backward pass, open a function that takes `jax.grad`.",
            default="false",
            values={"false": "The forward program."},
            closed=True,
        ),
        "seed": KeyFact(
            type="integer",
            help="Seed of fresh parameters, random streams, typed PRNG keys and generators; 0 or more.",
            default="0",
        ),
        "init": KeyFact(
            type=_CALL_TYPE,
            help="What the model is built with: fields of a Linen module, constructor parameters of an NNX or PyTorch "
            "module. Empty for a function, or a `factory` that returns what is to be called.",
            default="{}",
            snippet="{ kwargs = { $1 } }",
        ),
        "inputs": KeyFact(
            type=_CALL_TYPE,
            help="What the model is called with. Arrays are traced by shape and dtype; numbers, strings and booleans "
            "are static. A `factory` can return them instead.",
            default="{}",
            snippet="{ kwargs = { $1 } }",
        ),
    },
)

CALL: Final = TableFact(
    what="a call",
    keys={
        "args": KeyFact(type="array", help="Positional arguments, in order.", default="[]", snippet=_LIST),
        "kwargs": KeyFact(type="table", help="Arguments by name.", default="{}", snippet=_TABLE),
        "factory": KeyFact(
            type="table: `file`, `callable` and `kwargs`",
            help="A function of the workspace that makes the model (in `init`) or the arguments (in `inputs`), for "
            "what TOML cannot say. It takes the place of `args` and `kwargs`, and runs in the trace worker only.",
            snippet='{ file = "$1", callable = "$2" }',
        ),
    },
)

FACTORY: Final = TableFact(
    what="a factory",
    keys={
        "file": KeyFact(
            type="string",
            help="A Python file, relative to the workspace folder, with forward slashes. It cannot lie outside.",
            required=True,
        ),
        "callable": KeyFact(
            type="string",
            help="Name of a function of that file, or of a static method such as `Batch.example`.",
            required=True,
        ),
        "kwargs": KeyFact(
            type="table", help="Named arguments of the factory: plain values, no tensors.", default="{}", snippet=_TABLE
        ),
    },
)

VALUE_KINDS: Final[dict[str, str]] = {
    "tensor": "An array, by its shape and dtype.",
    "tuple": "A tuple of `items`.",
    "dict": "A dictionary of `items`: only one that has a key `kind` needs to be written so.",
    "object": "An object of a dataclass or named tuple of the workspace, by the `fields` that it is made with.",
    "enum": "A `member` of an enumeration of the workspace.",
    "none": "Python's `None`, which TOML has no word for.",
}


KIND: Final = KeyFact(
    type="string",
    help="What this table stands for. Without it, a table is a dictionary.",
    required=True,
    values={f'"{kind}"': text for kind, text in VALUE_KINDS.items()},
    closed=True,
)

TENSOR: Final = TableFact(
    what="a tensor",
    help=VALUE_KINDS["tensor"],
    keys={
        "kind": KIND,
        "shape": KeyFact(
            type="array of integers",
            help="Every dimension, outermost first; `[]` is a scalar. None of them is guessed.",
            required=True,
            snippet=_LIST,
        ),
        "dtype": KeyFact(
            type="string",
            help="The element type, such as `float32`, `int32` or `bfloat16`. 64-bit types need `JAX_ENABLE_X64=1` in "
            "the environment of the capture.",
            required=True,
        ),
        "requires_grad": KeyFact(
            type="boolean",
            help="Whether PyTorch records gradients for it. JAX arrays have no such flag.",
            default="false",
            values={"false": "No gradients.", "true": "PyTorch only."},
            closed=True,
        ),
        "generator": KeyFact(
            type="table",
            help="What the elements would be. Tracing needs shape and dtype alone, so that no element is made, except "
            "for arrays that a constructor looks into.",
            default='{ kind = "ones" }',
            snippet='{ kind = "$1" }',
        ),
    },
)

TUPLE: Final = TableFact(
    what="a tuple",
    help=VALUE_KINDS["tuple"],
    keys={
        "kind": KIND,
        "items": KeyFact(type="array", help="The elements, in order.", default="[]", snippet=_LIST),
    },
)

DICT: Final = TableFact(
    what="a table of kind 'dict'",
    help=VALUE_KINDS["dict"],
    keys={
        "kind": KIND,
        "items": KeyFact(type="table", help="The entries of the dictionary.", default="{}", snippet=_TABLE),
    },
)


def _class_key(what: str) -> KeyFact:
    return KeyFact(
        type='string `"module:qualname"`',
        help=f"{what}: the module as it is imported, a colon, and the name in the module.",
        required=True,
    )


OBJECT: Final = TableFact(
    what="an object",
    help=VALUE_KINDS["object"],
    keys={
        "kind": KIND,
        "class": _class_key("The dataclass or named tuple"),
        "fields": KeyFact(
            type="table",
            help="Its fields by name. What is left out has the default of the class.",
            default="{}",
            snippet=_TABLE,
        ),
    },
)

ENUM: Final = TableFact(
    what="a member of an enumeration",
    help=VALUE_KINDS["enum"],
    keys={
        "kind": KIND,
        "class": _class_key("The enumeration"),
        "member": KeyFact(type="string", help="The name of the member, not its value.", required=True),
    },
)

NONE: Final = TableFact(what="a table of kind 'none'", help=VALUE_KINDS["none"], keys={"kind": KIND})

ASK: Final = TableFact(
    what="a table of kind 'ask'",
    help="A gap that is still to be filled in: put a value in its place.",
    keys={"kind": KIND},
)

VALUE_TABLES: Final[dict[str, TableFact]] = {
    "tensor": TENSOR,
    "tuple": TUPLE,
    "dict": DICT,
    "object": OBJECT,
    "enum": ENUM,
    "none": NONE,
    "ask": ASK,
}


def generator_table(kind: str | None) -> TableFact:
    """The table of a generator; of one whose kind is not known yet, the kind alone."""
    values = {f'"{name}"': generator.help for name, generator in GENERATORS.items()}
    known = GENERATORS.get(kind or "")
    keys = {
        "kind": KeyFact(type="string", help="How the elements are made.", required=True, values=values, closed=True)
    }
    if known is None:
        return TableFact(what="a generator", keys=keys)
    for name, parameter in known.parameters.items():
        default = None if parameter.default is None else str(parameter.default)
        keys[name] = KeyFact(type="number", help=parameter.help, default=default, required=default is None)
    return TableFact(what=f"a generator of kind {kind!r}", help=known.help, keys=keys)
