"""Parameters, signatures, dtypes and keys in words: Markdown for hover and for the documentation of completions."""

from __future__ import annotations

from collections.abc import Sequence

from tvls.setup.dtypes import DTYPES, DType, resolve_dtype
from tvls.setup.kinds import ParameterLike
from tvls.setup.language.python_file import Definition
from tvls.setup.required import TargetLike
from tvls.setup.schema import KeyFact

KINDS = {
    "jax.function": "JAX function",
    "flax.linen": "Flax Linen module",
    "flax.nnx": "Flax NNX module",
    "torch.module": "PyTorch module",
}
_SHOWN = 12
_STARS = {"var_positional": "*", "var_keyword": "**"}


def parameter(item: ParameterLike) -> str:
    text = _STARS.get(item.kind, "") + item.name
    if item.annotation is not None:
        text += f": {item.annotation}"
    if item.default is not None:
        text += f" = {item.default}" if item.annotation is not None else f"={item.default}"
    return text


def parameters(items: Sequence[ParameterLike]) -> str:
    """As a signature writes them."""
    words: list[str] = []
    starred = False
    for index, item in enumerate(items):
        if item.kind == "keyword_only" and not starred:
            words.append("*")
            starred = True
        starred = starred or item.kind == "var_positional"
        words.append(parameter(item))
        following = items[index + 1].kind if index + 1 < len(items) else ""
        if item.kind == "positional_only" and following != "positional_only":
            words.append("/")
    return ", ".join(words)


def target(item: TargetLike) -> str:
    """Signature and kind of a model."""
    called = parameters(item.parameters)
    if item.kind == "jax.function" and not item.init_parameters:
        lines = [f"def {item.name}({called})"]
    else:
        lines = [f"class {item.name}({parameters(item.init_parameters)})", f"    def __call__({called})"]
        if item.kind == "torch.module":
            lines[1] = f"    def forward({called})"
    return "\n".join(["```python", *lines, "```", f"{KINDS[item.kind]} in `{item.module}`"])


def function(item: Definition) -> str:
    signature = f"({parameters(item.parameters)})" if item.parameters is not None else ""
    doc = item.doc.strip().partition("\n\n")[0]
    return f"```python\n{item.name}{signature}\n```" + (f"\n{doc}" if doc else "")


def key(name: str, fact: KeyFact) -> str:
    """A key of the format."""
    facts = [fact.type]
    if fact.required:
        facts.append("required")
    if fact.default is not None:
        facts.append(f"default `{fact.default}`")
    lines = [f"**`{name}`** ({', '.join(facts)})", "", fact.help]
    if fact.values:
        lines += ["", *(f"- `{value}`: {text}" for value, text in list(fact.values.items())[:_SHOWN])]
    return "\n".join(lines)


def dtype(name: str) -> str | None:
    """An element type; None for a name that is none."""
    try:
        known = resolve_dtype(name)
    except ValueError:
        return None
    text = f"**`{known.name}`**: {_meaning(known)}"
    return text if name == known.name else f"`{name}` is {text}"


def _meaning(known: DType) -> str:
    if known.family == "key":
        return "a typed PRNG key, made from the profile's seed"
    names = {"bool": "true or false", "int": "signed integer", "uint": "unsigned integer", "float": "floating point"}
    what = names.get(known.family, "complex, each part a float of half the bits")
    bits = "" if known.family == "bool" else f"{known.bits} bits, {what}"
    limits = ""
    if known.family in ("int", "uint"):
        limits = f", {known.low} to {known.high}"
    elif known.family == "float" and isinstance(known.high, float):
        limits = f", up to {known.high:.5g}"
    wide = (known.bits == 64 and known.family != "complex") or known.name == "complex128"
    return (bits or what) + limits + (". Needs `JAX_ENABLE_X64=1` in the environment of the capture" if wide else "")


def dtype_names() -> list[str]:
    """Names to offer, the usual ones first."""
    usual = ["float32", "int32", "bfloat16", "float16", "bool", "key<fry>"]
    return [*usual, *(name for name in DTYPES if name not in usual and DTYPES[name].bits >= 2), "key<rbg>", "key<urbg>"]
