"""Objects of the workspace's classes in a setup: drafted, filled in as a form, checked against their classes."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec
import pytest

from tests.setup.targets import found_target
from tvls.analysis.types import Enumeration, FoundTarget, NamedType, Parameter, Record
from tvls.protocol.types import CallSetup, InlineSetup
from tvls.protocol.types_setup import SetupChange, SetupField
from tvls.setup.draft import draft_profile
from tvls.setup.edit import edit_profile
from tvls.setup.form import Form, State, apply_changes, make_form
from tvls.setup.inline import inline_profile
from tvls.setup.objects import make_object
from tvls.setup.read import read_setup
from tvls.setup.required import missing
from tvls.setup.texts import inline


def parameter(name: str, annotation: str | None = None, default: str | None = None, **names: str) -> Parameter:
    return Parameter(name, "positional_or_keyword", annotation, default, names)


TYPES: dict[str, NamedType] = {
    "c:Config": Record(
        [
            parameter("width", "int"),
            parameter("shape", "tuple[int, ...]", "(1, 2)"),
            parameter("act", "Act", "Act.GELU", Act="c:Act"),
            parameter("part", "Part", "Part(3, bias=True)", Part="c:Part"),
            parameter("other", "Part | None", "None", Part="c:Part"),
            parameter("parts", "list[Part]", "list()", Part="c:Part"),
        ]
    ),
    "c:Act": Enumeration(["GELU", "RELU"], {"GELU": "gelu", "RELU": 1}),
    "c:Part": Record([parameter("size", "int", "2"), parameter("bias", "bool", "False")]),
    "c:Node": Record([parameter("value", "int"), parameter("next", "Node", None, Node="c:Node")]),
    "c:Batch": Record([parameter("x", 'Float[Array, "b 3"]'), parameter("y", 'Float[Array, "b"]')]),
}
CONFIG = parameter("config", "Config", None, Config="c:Config")
FIELDS = "init.kwargs.config.fields"


def target(*init: Parameter, call: list[Parameter] | None = None) -> FoundTarget:
    return found_target("Net", "flax.nnx", init_parameters=list(init), parameters=call or [], types=TYPES)


def drafted(found: FoundTarget) -> State:
    table, assumed = draft_profile(found)
    return State(target=found, name="net", table=table, assumed=assumed)


def changed(state: State, *changes: tuple[str, str]) -> Form:
    apply_changes(state, [SetupChange(key=key, text=text) for key, text in changes])
    return make_form(state)


def by_key(form: Form) -> dict[str, SetupField]:
    return {field.key: field for field in form.fields}


def test_fields_are_parts_and_only_what_lacks_is_asked() -> None:  # R10
    form = make_form(drafted(target(CONFIG)))
    fields = by_key(form)
    heading = fields["init.kwargs.config"]
    assert heading.parts
    assert (heading.annotation, heading.error) == ("Config", None)
    width = fields[f"{FIELDS}.width"]
    assert (width.required, width.type, width.parent, width.annotation) == (True, "integer", heading.key, "int")
    assert fields[f"{FIELDS}.act"].default == "Act.GELU"
    assert [option.text for option in fields[f"{FIELDS}.act"].options] == ["GELU", "RELU"]
    assert (fields[f"{FIELDS}.part.fields.size"].default, fields[f"{FIELDS}.part.fields.bias"].default) == ("3", "True")
    assert not form.complete
    assert form.setup["init"]["kwargs"]["config"] == {
        "kind": "object",
        "class": "c:Config",
        "fields": {"width": {"kind": "ask"}},
    }


def test_what_is_changed_is_saved_and_nothing_else() -> None:  # R9, R10
    form = changed(drafted(target(CONFIG)), (f"{FIELDS}.width", "8"), (f"{FIELDS}.act", "RELU"))
    assert form.complete
    text = edit_profile("", "net", form.setup)
    profile = read_setup(text).profiles["net"]
    wanted = {"width": 8, "act": {"kind": "enum", "class": "c:Act", "member": "RELU"}}
    assert profile.init.kwargs == {"config": {"kind": "object", "class": "c:Config", "fields": wanted}}
    again = State(target=target(CONFIG), name="net", table=tomllib.loads(text)["profiles"]["net"])
    assert by_key(make_form(again))[f"{FIELDS}.act"].text == "RELU"
    back = changed(again, (f"{FIELDS}.act", ""), (f"{FIELDS}.width", ""))
    assert back.setup["init"]["kwargs"]["config"]["fields"] == {"width": {"kind": "ask"}}


def test_a_field_of_what_a_default_makes_keeps_the_rest_of_it() -> None:  # R10
    state = drafted(target(CONFIG))
    form = changed(state, (f"{FIELDS}.width", "8"), (f"{FIELDS}.part.fields.bias", "false"))
    part = form.setup["init"]["kwargs"]["config"]["fields"]["part"]
    assert part == {"kind": "object", "class": "c:Part", "fields": {"size": 3, "bias": False}}
    made = target(parameter("config", None, "Config(width=4, part=Part())", Config="c:Config", Part="c:Part"))
    assert not by_key(make_form(drafted(made)))["init.kwargs.config"].parts  # what it is made of is no plain value
    made = target(parameter("config", None, "Config(width=4)", Config="c:Config"))
    form = changed(drafted(made), (f"{FIELDS}.act", "RELU"))
    assert form.complete
    assert form.setup["init"]["kwargs"]["config"]["fields"]["width"] == 4


def test_an_optional_object_is_made_by_the_name_of_its_class() -> None:  # R10
    state = drafted(target(CONFIG))
    other = by_key(make_form(state))[f"{FIELDS}.other"]
    assert (other.type, [option.text for option in other.options]) == ("choice", ["Part", "None"])
    form = changed(state, (f"{FIELDS}.width", "8"), (f"{FIELDS}.other", "Part"), (f"{FIELDS}.other.fields.size", "5"))
    assert form.setup["init"]["kwargs"]["config"]["fields"]["other"]["fields"] == {"size": 5}
    form = changed(state, (f"{FIELDS}.other", "None"))
    assert form.setup["init"]["kwargs"]["config"]["fields"]["other"] == {"kind": "none"}


def test_a_class_that_needs_itself_is_asked_for_once() -> None:  # R10
    form = make_form(drafted(target(parameter("node", "Node", None, Node="c:Node"))))
    assert [field.key for field in form.fields if field.required and field.value is not ...][:3] == [
        "init.kwargs.node",
        "init.kwargs.node.fields.value",
        "init.kwargs.node.fields.next",
    ]


def test_dimensions_are_named_through_objects() -> None:  # R10
    state = drafted(target(call=[parameter("batch", "Batch", None, Batch="c:Batch")]))
    form = changed(state, ("dimensions.b", "5"))
    assert form.complete
    fields = form.setup["inputs"]["args"][0]["fields"]
    assert [fields[name]["shape"] for name in "xy"] == [[5, 3], [5]]


@pytest.mark.parametrize(
    ("value", "key", "says"),
    [
        (
            {"fields": {"width": 1, "shapes": 2}},
            ".fields.shapes",
            "Config has no field 'shapes'; did you mean 'shape'?",
        ),
        ({"class": "c:Part"}, ".class", "config takes Config, not 'Part'"),
        ({"class": "Config"}, ".class", "a class is 'module:name', not the string 'Config'"),
        ({"class": None}, "", "a class is 'module:name'"),
        ({"fields": 3}, ".fields", "fields of an object are a table"),
        (
            {"fields": {"width": 1, "act": {"kind": "enum", "class": "c:Act", "member": "SILU"}}},
            ".fields.act.member",
            "Act has no member 'SILU' (it has GELU, RELU)",
        ),
        (
            {"fields": {"width": 1, "parts": [{"kind": "object", "class": "c:Part", "fields": {"sice": 1}}]}},
            ".fields.parts[0].fields.sice",
            "Part has no field 'sice'; did you mean 'size'?",
        ),
    ],
)
def test_what_does_not_fit_the_class_is_told_at_its_place(value: dict[str, Any], key: str, says: str) -> None:  # R9
    given = {"kind": "object", "class": "c:Config", "fields": {"width": 1}} | value
    given = {name: item for name, item in given.items() if item is not None}
    errors = problems(given)
    assert [(at, says in message) for at, message in errors.items()] == [
        (f"profiles.net.init.kwargs.config{key}", True)
    ]


def problems(config: Any) -> dict[str, str]:
    table = {"framework": "jax", "model": "m:Net", "init": {"kwargs": {"config": config}}}
    setup = read_setup("version = 1\n" + edit_profile("", "net", table).partition("\n")[2])
    found = [problem.to_wire() for problem in setup.problems]
    if setup.profiles:
        found += missing(target(CONFIG), setup.profiles["net"], setup)[1]
    return {problem.key: problem.message for problem in found}


def test_a_dictionary_in_the_place_of_an_object_is_told_with_what_to_write() -> None:  # R9
    (message,) = problems({"width": 3}).values()
    assert message.endswith('write { kind = "object", class = "c:Config", fields = { width = 3 } }')


def test_a_required_field_that_lacks_is_missing() -> None:  # R9
    text = 'version = 1\n[profiles.net]\nframework = "jax"\nmodel = "m:Net"\n[profiles.net.init.kwargs.config]\n'
    profile = read_setup(text + 'kind = "object"\nclass = "c:Config"\n').profiles["net"]
    wanted, found = missing(target(CONFIG), profile)
    assert found == []
    assert [(item.key, item.required) for item in wanted] == [(f"{FIELDS}.width", True)]


def test_a_field_may_have_any_name() -> None:  # R9, R10
    """`kind`, `items` and `shape` of a class of the workspace say nothing of the setup's own tables."""
    layer = parameter("layer", "Layer", None, Layer="c:Layer")
    record = Record([parameter("kind", "str"), parameter("items", "int"), parameter("shape", "str", '"?"')])
    found = msgspec.structs.replace(target(layer), types={**TYPES, "c:Layer": record})
    at = "init.kwargs.layer.fields"
    for kind in ("tensor", "dict", "tuple", "ask", "none", "object"):
        form = changed(drafted(found), (f"{at}.kind", kind), (f"{at}.items", "3"), (f"{at}.shape", "?n"))
        assert form.complete, (form.problems, [field for field in form.fields if field.error])
        profile = read_setup(edit_profile("", "net", form.setup)).profiles["net"]
        assert profile.init.kwargs["layer"]["fields"] == {"kind": kind, "items": 3, "shape": "?n"}
        assert missing(found, profile) == ([], [])
    named = changed(drafted(target(parameter("kind", "str"))), ("init.kwargs.kind", "tensor"))
    assert named.complete


RELU = {"kind": "enum", "class": "c:Act", "member": "RELU"}


def pair(*items: Any) -> dict[str, Any]:
    return {"kind": "tuple", "items": list(items)}


@pytest.mark.parametrize("text", ["RELU", "Act.RELU", "c.Act.RELU", '"RELU"', "1"])
def test_a_member_is_typed_by_name_or_value(text: str) -> None:  # R10
    form = changed(drafted(target(CONFIG)), (f"{FIELDS}.width", "8"), (f"{FIELDS}.act", text))
    assert form.complete
    assert form.setup["init"]["kwargs"]["config"]["fields"]["act"] == RELU


@pytest.mark.parametrize("text", ["SILU", "gelo", "2", "true", "1.0", "[1]"])
def test_what_is_no_member_is_refused_with_the_members(text: str) -> None:  # R10
    state = drafted(target(parameter("act", "Act", None, Act="c:Act")))
    for _ in range(2):  # also where a member stands already
        field = by_key(changed(state, ("init.kwargs.act", text)))["init.kwargs.act"]
        assert field.error == f"this is one of GELU, RELU, not {text!r}"
        assert by_key(changed(state, ("init.kwargs.act", "RELU")))["init.kwargs.act"].error is None


def test_a_value_of_two_members_names_none() -> None:  # R10
    types = TYPES | {"c:Act": Enumeration(["A", "B"], {"A": 1, "B": 1})}
    found = msgspec.structs.replace(target(parameter("act", "Act", None, Act="c:Act")), types=types)
    assert by_key(changed(drafted(found), ("init.kwargs.act", "1")))["init.kwargs.act"].error is not None


@pytest.mark.parametrize(
    ("annotation", "text", "wanted"),
    [
        ("tuple[int, ...]", "[5, 6]", pair(5, 6)),
        ("tuple[int, ...]", "(5, 6)", pair(5, 6)),
        ("tuple[int, ...]", "(5,)", pair(5)),
        ("tuple[int, int] | None", "[5, 6]", pair(5, 6)),
        ("int | tuple[int, int]", "[5, 6]", pair(5, 6)),
        ("int | tuple[int, int]", "5", 5),
        ("int | list[int] | tuple[int, int]", "[5, 6]", [5, 6]),
        ("tuple[tuple[int, int], ...]", "[[1, 2], [3, 4]]", pair(pair(1, 2), pair(3, 4))),
        ("list[tuple[int, int]]", "[[1, 2]]", [pair(1, 2)]),
        ("dict[str, tuple[int, int]]", "{ a = [1, 2] }", {"a": pair(1, 2)}),
        ("list[int]", "[5, 6]", [5, 6]),
        ("list[Act]", '["RELU", 1]', [RELU, RELU]),
        ("tuple[Act, ...]", '["RELU"]', pair(RELU)),
    ],
)
def test_what_is_typed_becomes_what_the_annotation_takes(annotation: str, text: str, wanted: Any) -> None:  # R10
    state = drafted(target(parameter("value", annotation, None, Act="c:Act")))
    form = changed(state, ("init.kwargs.value", text))
    assert form.complete
    assert form.setup["init"]["kwargs"]["value"] == wanted


def test_an_item_of_a_tuple_becomes_what_its_annotation_takes() -> None:  # R10
    state = drafted(target(parameter("value", "tuple[tuple[int, int], Act]", None, Act="c:Act")))
    form = changed(
        state,
        ("init.kwargs.value", '[[1, 2], "GELU"]'),
        ("init.kwargs.value.items[0]", "[3, 4]"),
        ("init.kwargs.value.items[1]", "RELU"),
    )
    assert form.setup["init"]["kwargs"]["value"] == pair(pair(3, 4), RELU)


@pytest.mark.parametrize(
    ("annotation", "value", "says"),
    [
        ("Act", "RELU", f"member of Act (GELU, RELU), not the string 'RELU': write {inline(RELU)}"),
        ("Act | None", 1, "member of Act (GELU, RELU), not the number 1"),
        ('Literal["pre", "post"]', "foo", 'value is one of "pre", "post", not the string \'foo\''),
        ("Literal[1, -1]", True, "value is one of 1, -1, not true"),
        ("tuple[int, ...]", [1], 'value takes a tuple, and this is a list: write { kind = "tuple", items = [1] }'),
        ("list[tuple[int, int]]", [[1, 2]], "value[0] takes a tuple"),
    ],
)
def test_a_saved_value_of_another_type_is_told_and_not_traced(annotation: str, value: Any, says: str) -> None:  # R9
    given = {"framework": "jax", "model": "m:Net", "init": {"kwargs": {"value": value}}}
    profile = read_setup("version = 1\n" + edit_profile("", "net", given).partition("\n")[2]).profiles["net"]
    (problem,) = missing(target(parameter("value", annotation, None, Act="c:Act")), profile)[1]
    assert says in problem.message
    assert problem.key.startswith("profiles.net.init.kwargs.value")


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("Act | str", "RELU"),
        ("Literal[-1]", -1),
        ("Literal[Other.X]", "X"),
        ("Act | None", {"kind": "none"}),
        ("tuple[int, ...] | list[int]", [1]),
        ("Sequence[int]", [1]),
        ("Act", RELU),
    ],
)
def test_a_saved_value_that_the_annotation_allows_is_not_told(annotation: str, value: Any) -> None:  # R9
    given = {"framework": "jax", "model": "m:Net", "init": {"kwargs": {"value": value}}}
    profile = read_setup("version = 1\n" + edit_profile("", "net", given).partition("\n")[2]).profiles["net"]
    assert missing(target(parameter("value", annotation, None, Act="c:Act")), profile) == ([], [])


def test_a_list_for_a_parameter_without_annotation_is_not_told() -> None:  # R9
    given = {"framework": "jax", "model": "m:Net", "init": {"kwargs": {"value": [1]}}}
    profile = read_setup("version = 1\n" + edit_profile("", "net", given).partition("\n")[2]).profiles["net"]
    assert missing(target(parameter("value", None, "(2, 3)")), profile)[1] == []


def test_an_object_that_needs_nothing_is_made_unasked() -> None:  # R10
    part = parameter("part", "Part", None, Part="c:Part")
    found = target(part, CONFIG, call=[parameter("part", "Part", None, Part="c:Part")])
    profile = inline_profile(found, InlineSetup())
    made = {"kind": "object", "class": "c:Part", "fields": {}}
    assert (profile.init.kwargs, profile.inputs.kwargs) == ({"part": made}, {"part": made})
    assert [value.parameter for value in missing(found, profile)[0]] == ["config"]


def test_text_without_quotes_is_told_with_them() -> None:  # R10
    form = changed(drafted(target(parameter("dtype", "Any"))), ("init.kwargs.dtype", "bf"))
    assert by_key(form)["init.kwargs.dtype"].error == "'bf' is not a value; text is written in quotes, \"bf\""


def test_an_assumed_class_is_offered_and_not_demanded() -> None:  # R10
    assumed = parameter("config", None, None, Part="c:Part")
    table, keys = draft_profile(target(assumed))
    assert table["init"]["kwargs"]["config"] == {"kind": "object", "class": "c:Part", "fields": {}}
    assert "init.kwargs.config" in keys
    profile = inline_profile(target(assumed), InlineSetup(init=CallSetup(kwargs={"config": {"size": 3}})))
    assert missing(target(assumed), profile)[1] == []
    wrong = make_object("c:Part", {"sise": 3})
    profile = inline_profile(target(assumed), InlineSetup(init=CallSetup(kwargs={"config": wrong})))
    assert any("sise" in problem.message for problem in missing(target(assumed), profile)[1])
