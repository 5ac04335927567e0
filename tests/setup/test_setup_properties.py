"""What holds for every setup, whatever is in it and however it is written."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from tvls.setup.keys import Key
from tvls.setup.positions import find_places
from tvls.setup.profile import Profile
from tvls.setup.read import SetupFile, read_setup, read_setup_bytes

NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6
) | st.sampled_from(["a", "b-c", "1", "x.y", "k[0]", '"', "'", "größe", "\U0001d518"])
SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)
    | st.sampled_from(["line\nbreak", 'quote"', "\\", "# no comment", "[x]"])
)
TENSORS = st.fixed_dictionaries(
    {
        "kind": st.just("tensor"),
        "shape": st.lists(st.integers(0, 2**40), max_size=4),
        "dtype": st.sampled_from(["float32", "bfloat16", "int8", "bool", "complex64"]),
        "requires_grad": st.just(False),
        "generator": st.sampled_from([{"kind": "ones"}, {"kind": "zeros"}, {"kind": "full", "value": 1}]),
    }
)
PLAIN_TABLES = st.dictionaries(NAMES.filter(lambda name: name != "kind"), SCALARS, max_size=3)
VALUES = st.recursive(
    SCALARS | TENSORS | st.just({"kind": "none"}) | PLAIN_TABLES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES.filter(lambda name: name not in ("kind", "shape")), inner, max_size=3)
        | st.fixed_dictionaries({"kind": st.just("tuple"), "items": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries(
            {"kind": st.just("dict"), "items": st.fixed_dictionaries({"kind": inner}, optional={"x": inner})}
        )
    ),
    max_leaves=12,
)
CALLS = st.fixed_dictionaries(
    {"args": st.lists(VALUES, max_size=3), "kwargs": st.dictionaries(NAMES, VALUES, max_size=3)}
)


def document(name: str, init: Any, inputs: Any, **fields: Any) -> dict[str, Any]:
    profile = {"framework": "torch", "model": "pkg.model:Net", "seed": 3, "init": init, "inputs": inputs} | fields
    return {"version": 1, "profiles": {name: profile}}


def shuffled(value: Any) -> Any:
    """The same value with the keys of every table in the opposite order."""
    match value:
        case dict():
            return {key: shuffled(item) for key, item in reversed(list(value.items()))}
        case list():
            return [shuffled(item) for item in value]
        case _:
            return value


def only(setup: SetupFile) -> Profile:
    assert setup.problems == []
    (profile,) = setup.profiles.values()
    return profile


@settings(deadline=None, max_examples=60)
@given(NAMES, CALLS, CALLS)
def test_values_reach_the_worker_as_they_were_written(name: str, init: Any, inputs: Any) -> None:  # R9
    sent = only(read_setup(tomlkit.dumps(document(name, init, inputs)))).to_worker()
    assert sent["profile"] == name
    # `==` alone would not tell true from 1, nor 1 from 1.0.
    assert json.dumps([sent["init"], sent["inputs"]], sort_keys=True) == json.dumps([init, inputs], sort_keys=True)


@settings(deadline=None, max_examples=40)
@given(NAMES, NAMES, CALLS, CALLS)
def test_the_digest_is_of_the_content_alone(name: str, other: str, init: Any, inputs: Any) -> None:  # R27
    text = tomlkit.dumps(document(name, init, inputs))
    digest = only(read_setup(text)).digest
    assert only(read_setup(f"# note\n\n{text}\n# end\n")).digest == digest
    assert only(read_setup(tomlkit.dumps(shuffled(document(other, init, inputs))))).digest == digest
    spelled_out = document(name, init, inputs, kind="model", mode="eval", device="cpu", grad_enabled=False)
    assert only(read_setup(tomlkit.dumps(spelled_out))).digest == digest


def changes(value: Any) -> list[Any]:
    """Values that differ from `value` in one place."""
    match value:
        case bool():
            return [not value, int(value)]
        case int():
            return [value - 1 if value > 0 else value + 1, float(value) + 0.5, str(value)]
        case float():
            return [0.25 if value != 0.25 else 0.5, str(value)]
        case str():
            return [value + "x"]
        case list():
            changed = [[*value[:i], other, *value[i + 1 :]] for i, item in enumerate(value) for other in changes(item)]
            return [*changed, [*value, 0]]
        case {"kind": "none"}:
            return [0]
        case {"kind": "tensor"}:
            return [value | {"shape": [*value["shape"], 1]}, value | {"dtype": "float16"}, value | {"kind": "tuple"}]
        case {"kind": "tuple" | "dict", "items": items}:
            return [value | {"items": other} for other in changes(items)] + [items]
        case dict():
            changed = [value | {key: other} for key, item in value.items() for other in changes(item)]
            return [*changed, value | {"another": 0}]
        case _:
            raise AssertionError(value)


@settings(deadline=None, max_examples=25)
@given(CALLS)
def test_every_change_of_a_value_changes_the_digest(inputs: Any) -> None:  # R11, R27
    def digest_of(call: Any) -> str | None:
        setup = read_setup(tomlkit.dumps(document("p", {}, call)))
        return setup.profiles["p"].digest if setup.profiles else None

    digest = digest_of(inputs)
    assert digest is not None
    for args in changes(inputs["args"])[:30]:
        assert digest_of(inputs | {"args": args}) != digest
    for kwargs in changes(inputs["kwargs"])[:30]:
        assert digest_of(inputs | {"kwargs": kwargs}) != digest


def test_every_field_counts() -> None:  # R27
    base = document("p", {}, {})
    digests = {only(read_setup(tomlkit.dumps(base))).digest}
    factory = {"factory": {"file": "f.py", "callable": "make", "kwargs": {}}}
    variants = [
        {"framework": "jax"},
        {"model": "pkg.model:Other"},
        {"model": "other:Net"},
        {"seed": 4},
        {"device": "cuda:0"},
        {"init": factory},
        {"inputs": factory},
        {"init": {"args": [0]}},
        {"inputs": {"factory": factory["factory"] | {"kwargs": {"n": 1}}}},
        {"inputs": {"factory": factory["factory"] | {"callable": "other"}}},
        {"inputs": {"factory": factory["factory"] | {"file": "g.py"}}},
    ]
    for variant in variants:
        digests.add(only(read_setup(tomlkit.dumps(document("p", **({"init": {}, "inputs": {}} | variant))))).digest)
    assert len(digests) == len(variants) + 1


def all_keys(value: Any, at: Key = ()) -> set[Key]:
    found = {at} if at else set[Key]()
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, item in pairs:
        found |= all_keys(item, (*at, part))
    return found


ANY_VALUE = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=15
)


@settings(deadline=None)
@given(st.dictionaries(NAMES, ANY_VALUE, max_size=4))
def test_every_key_has_its_place(data: dict[str, Any]) -> None:  # R9
    for text in (tomlkit.dumps(data), inline(data)):
        parsed = tomllib.loads(text)
        places = find_places(text)
        assert set(places) == all_keys(parsed)
        lines = text.encode().split(b"\n")
        for key, place in places.items():
            value = parsed
            for part in key:
                value = value[part]
            if isinstance(value, (dict, list)) or place.value.line != place.value.end_line:
                continue
            written = lines[place.value.line][place.value.column : place.value.end_column].decode()
            assert tomllib.loads(f"v = {written}")["v"] == value


def inline(data: dict[str, Any]) -> str:
    """TOML with every table written in one line."""

    def write(value: Any) -> str:
        match value:
            case dict():
                return "{ " + ", ".join(f"{quoted(key)} = {write(item)}" for key, item in value.items()) + " }"
            case list():
                return "[" + ", ".join(map(write, value)) + "]"
            case bool():
                return "true" if value else "false"
            case str():
                return quoted(value)
            case _:
                return repr(value)

    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")

    return "".join(f"{quoted(key)} = {write(value)}\n" for key, value in data.items())


@settings(deadline=None)
@given(st.text(max_size=60) | st.text(st.sampled_from('[]{}=.,"\n# aé1'), max_size=60))
def test_no_text_makes_reading_fail(text: str) -> None:
    setup = read_setup(text)
    for problem in setup.problems:
        assert problem.span is not None
        assert 0 <= problem.span.line <= text.count("\n")
    find_places(text)


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    read_setup_bytes(data)
