"""A profile as a form: fields in the order in which they are read, each with its value, its error and its help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, Final, cast

import msgspec

from tvls.protocol.types import SetupProblem
from tvls.protocol.types_environment import Choice, FrameworkOffer
from tvls.protocol.types_setup import FieldType, SetupChange, SetupField, SetupGroup, SetupOption, SetupSuggestion
from tvls.setup.annotations import Hint, hint_of, literal
from tvls.setup.changes import remove_value, set_value
from tvls.setup.draft import (
    Drafting,
    Slot,
    all_slots,
    draft_profile,
    drafted_object,
    slots,
    sound_call,
    takes_no_init,
    value_at,
)
from tvls.setup.findings import Finding
from tvls.setup.keys import Key, parse_key, show_key
from tvls.setup.kinds import ParameterLike
from tvls.setup.objects import Types, default_fields, fields_of, make_object, object_in
from tvls.setup.placeholders import (
    UNKNOWN,
    ask,
    is_ask,
    is_open,
    names_in,
    resolve_dimension,
    resolve_shapes,
    shapes_in,
)
from tvls.setup.profile import Framework, Profile, check_call, check_profile
from tvls.setup.required import TargetLike, framework_of, missing
from tvls.setup.shorthand import TextError, parse_value
from tvls.setup.texts import read_text, show_shape, show_value
from tvls.setup.written import as_annotated, option_of

_COMMON_DTYPES: Final = (
    "float32", "bfloat16", "float16", "float64", "int32", "int64", "int16", "int8", "uint8", "uint32", "bool",
    "complex64", "key<fry>",
)  # fmt: skip
_MOST_FIELDS: Final = 1000
"""Items of containers that become fields of their own."""
_SCALARS = (bool, int, float, str)


class State(msgspec.Struct, kw_only=True):
    """What a form is made of: a profile's table, what its named dimensions stand for, and what was typed wrongly."""

    target: TargetLike | None
    name: str
    table: dict[str, Any]
    dimensions: dict[str, int] = {}
    assumed: set[str] = set()
    """Keys whose values nothing states."""
    offer: FrameworkOffer | None = None
    """What the capture Python can do, where that is known."""
    faults: dict[str, tuple[str, str]] = {}
    """Key → what was typed there, and why it is no value."""


class Form(msgspec.Struct, kw_only=True, frozen=True):
    fields: list[SetupField]
    groups: list[SetupGroup]
    problems: list[SetupProblem]
    complete: bool
    setup: dict[str, Any]
    """The profile's table with the known dimensions in it."""


def make_form(state: State, suggestions: Mapping[str, list[SetupSuggestion]] | None = None) -> Form:
    """The whole form of a profile as it is now."""
    builder = _Builder(state, suggestions or {})
    builder.build()
    setup: dict[str, Any] = resolve_shapes(state.table, state.dimensions)
    errors, profile = _check(state, setup)
    for key, (_, message) in state.faults.items():
        errors[key] = message
    fields, problems = _place_errors(builder.fields, errors)
    open_fields = [field for field in fields if is_question(field)]
    return Form(
        fields=fields,
        groups=[group for group in builder.groups if any(field.group == group.id for field in fields) or group.more],
        problems=problems,
        complete=profile is not None and not errors and not open_fields,
        setup=setup,
    )


def is_question(field: SetupField) -> bool:
    """Whether the form lacks this value."""
    return field.required and not field.parts and field.value is msgspec.UNSET


_FACTORY: Final = re.compile(r"(.+\.py):([^\W\d][\w.]*)")
"""A function as commands name it: FILE:NAME."""
_FACTORIES: Final = [(part, "factory", *rest) for part in ("init", "inputs") for rest in ((), ("file",))]


def apply_changes(state: State, changes: Iterable[SetupChange]) -> None:
    """Makes the changes in their order. What cannot be is kept as a fault of its field."""
    for change in changes:
        state.faults.pop(change.key, None)
        state.assumed.discard(change.key)
        try:
            _apply(state, change, parse_key(change.key))
        except TextError as error:
            state.faults[change.key] = (change.text or "", error.message)
        except ValueError as error:
            state.faults[change.key] = (change.text or "", str(error))


def _apply(state: State, change: SetupChange, key: Key) -> None:
    if not key:
        raise ValueError("the key of a change is empty")
    if key in _FACTORIES and (named := _FACTORY.fullmatch((change.text or "").strip())) is not None:
        kwargs = value_at(state.table, (key[0], "factory", "kwargs"))
        kept = {} if kwargs is ... else {"kwargs": kwargs}
        state.table[str(key[0])] = {"factory": {"file": named[1], "callable": named[2], **kept}}
        return
    if change.text is not None:
        value = _typed(state, change.key, key, change.text)
    else:
        value = ... if change.value is msgspec.UNSET else change.value
    match key:
        case ("name",):
            if value is not ... and not isinstance(value, str):
                raise ValueError("a name is text")
            state.name = value if value is not ... else state.name
        case ("dimensions", str() as name):
            if value is ...:
                state.dimensions.pop(name, None)
            elif isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                state.dimensions[name] = value
            else:
                raise ValueError(f"a dimension is a whole number of 0 or more, not {value!r}")
        case ("init" | "inputs" as part, "source"):
            _change_source(state, part, value)
        case _:
            _change_value(state, key, value)


def _change_value(state: State, key: Key, value: Any) -> None:
    if value is not ...:
        _open_objects(state, key)
        if state.target is not None:
            value = as_annotated(value, _hint_at(state, key), state.target.types)
    if value is ... and _is_required(state, key):
        set_value(state.table, key, ask())
    elif value is ...:
        remove_value(state.table, key)
    else:
        set_value(state.table, key, deepcopy(value))


def _is_required(state: State, key: Key) -> bool:
    slot = _slot_at(state, key)
    return slot is not None and slot.parameter.default is None


def _slot_at(state: State, key: Key) -> Slot | None:
    found = all_slots(state.target, state.table) if state.target is not None else ()
    return next((slot for slot in found if slot.key == key), None)


def _hint_at(state: State, key: Key) -> Hint:
    """What the annotation of the nearest parameter or field says of the value at a place."""
    around = (key[:length] for length in range(len(key), 2, -1))
    slot = next((slot for at in around if (slot := _slot_at(state, at)) is not None), None)
    if slot is None:
        return Hint()
    hint, value = slot.hint, value_at(state.table, slot.key)
    for part in key[len(slot.key) :]:
        if not (part == "items" and isinstance(value, dict) and "kind" in value):  # of a tuple or a dictionary
            hint = hint.of_item(part)
        value = value_at(value, (part,))
    return hint


def _open_objects(state: State, key: Key) -> None:
    """Where `key` leads into an object that a default makes, states that object, so that a field of it can change."""
    if state.target is None:
        return
    types = state.target.types
    for length, part in enumerate(key):
        if part != "fields" or length < 3:
            continue
        at = key[:length]
        if (value := value_at(state.table, at)) is not ...:
            if object_in(value) is not None:
                value.setdefault("fields", {})
            continue
        slot = _slot_at(state, at)
        if slot is not None and (given := default_fields(slot.parameter, slot.hint, types)) is not None:
            fields = {name: literal(text) for name, text in given.items()}
            set_value(state.table, at, make_object(slot.hint.classes[0], fields))


def _change_source(state: State, part: str, value: Any) -> None:
    if value == "factory":
        state.table[part] = {"factory": {}}
    elif value == "arguments":
        drafted = draft_profile(state.target)[0] if state.target else {}
        state.table[part] = drafted.get(part, {"args": [], "kwargs": {}})
    else:
        raise ValueError(f"the source is 'arguments' or 'factory', not {value!r}")


def _typed(state: State, name: str, key: Key, text: str) -> Any:
    """The value that a person typed at a place; `...` where the text is empty. Raises TextError."""
    builder = _Builder(state, {})
    builder.build()
    field = next((field for field in builder.fields if field.key == name), None)
    kind: FieldType = _usual_type(key) if field is None else field.type
    if not text.strip() and kind != "string":
        return ...
    options = {} if field is None else {option.text: option.value for option in field.options}
    if kind not in {"string", "dtype"} and text.strip() in options:
        return deepcopy(options[text.strip()])
    hint = builder.hints.get(name, Hint())
    if field is not None and "choice" in (kind, hint.type) and field.group in {"init", "inputs"} and len(key) > 2:
        if not text.lstrip().startswith("{"):  # a table may say the same
            return _chosen(text.strip(), hint, builder.types, options)
        kind = "value"
    if hint.type == "tuple" and text.strip()[:1] + text.strip()[-1:] == "()":  # as Python writes it
        text = f"[{text.strip()[1:-1]}]"
    return read_text(text, kind, optional=hint.optional)


def _chosen(text: str, hint: Hint, types: Types, options: Iterable[str]) -> Any:
    """The option that a person typed. Raises TextError."""
    option = option_of(text, hint, types)
    if option is ...:
        with suppress(TextError):
            option = option_of(parse_value(text), hint, types)  # in quotes, or the number that a member has
    if option is ...:
        raise TextError(f"this is one of {', '.join(options)}, not {text!r}", "Choose one of them.")
    return deepcopy(option)


def _usual_type(key: Key) -> FieldType:
    """The type of a place that has no field."""
    match key:
        case ("dimensions", *_):
            return "dimension"
        case (_, "factory", "file" | "callable"):
            return "string"
        case (_, _, _, *_, "shape"):
            return "shape"
        case (_, _, _, *_, "dtype"):
            return "dtype"
        case _:
            return "value"


# --- errors ----------------------------------------------------------------------------------------------------------


def _check(state: State, setup: dict[str, Any]) -> tuple[dict[str, str], Profile | None]:
    """What is wrong with a profile, by keys relative to it, and the profile where it can be used."""
    found: list[Finding] = []
    profile = check_profile(setup, state.name, found)
    errors: dict[str, str] = {}
    for finding in found:
        if finding.severity == "error":
            errors.setdefault(show_key(finding.key[2:]), finding.message)
    if not state.name:
        errors["name"] = "a profile has a name"
    for name in dict.fromkeys(name for shape in shapes_in(state.table) for dim in shape for name in names_in(dim)):
        if name in state.dimensions and any(
            is_open(resolve_dimension(dim, state.dimensions))
            for shape in shapes_in(state.table)
            for dim in shape
            if name in names_in(dim) and all(other in state.dimensions for other in names_in(dim))
        ):
            errors.setdefault(show_key(("dimensions", name)), "a dimension that depends on it would be negative")
    _, problems = missing(state.target, _unnamed(profile, state, setup))
    for problem in problems:
        errors.setdefault(problem.key, problem.message)
    return errors, profile


def _unnamed(profile: Profile | None, state: State, setup: dict[str, Any]) -> Profile | None:
    """What the signature is checked against: also a profile that has mistakes elsewhere."""
    if profile is not None:
        return msgspec.structs.replace(profile, name=None)
    calls = {part: check_call(setup.get(part, {}), (part,), []) for part in ("init", "inputs")}
    init, inputs = calls["init"], calls["inputs"]
    if state.target is None or init is None or inputs is None:
        return None
    return Profile(
        framework=framework_of(state.target.kind),
        module=state.target.module,
        qualname=state.target.name,
        init=init,
        inputs=inputs,
    )


def _place_errors(fields: list[SetupField], errors: dict[str, str]) -> tuple[list[SetupField], list[SetupProblem]]:
    """Each error at the field of its key, or the nearest one around it; the rest as problems of the profile."""
    by_key = {field.key: index for index, field in enumerate(fields)}
    placed = list(fields)
    problems: list[SetupProblem] = []
    for key, message in errors.items():
        near = _known_place(key)
        while near and show_key(near) not in by_key:
            near = near[:-1]
        if not near:
            problems.append(SetupProblem(key=key, message=message))
            continue
        index = by_key[show_key(near)]
        if placed[index].error is None:
            placed[index] = msgspec.structs.replace(placed[index], error=message)
    return placed, problems


def _known_place(text: str) -> Key:
    """No place at all for what a client made up: the mistake is that it is none."""
    try:
        return parse_key(text)
    except ValueError:
        return ()


# --- fields ----------------------------------------------------------------------------------------------------------


class _Builder:
    def __init__(self, state: State, suggestions: Mapping[str, list[SetupSuggestion]]) -> None:
        self.state = state
        self.table = state.table
        self.suggestions = suggestions
        self.fields: list[SetupField] = []
        self.groups: list[SetupGroup] = []
        self.types: Types = state.target.types if state.target is not None else {}
        framework: Framework = "jax" if self.table.get("framework", "torch") == "jax" else "torch"
        self.drafting = Drafting(framework, self.types, set())
        self.hints: dict[str, Hint] = {}
        """Of the fields, by their keys."""

    def build(self) -> None:
        target = self.state.target
        name = target.name if target is not None else str(self.table.get("model", "")).partition(":")[2]
        empty: tuple[Any, ...] = ({}, {"args": [], "kwargs": {}})
        if target is None or not takes_no_init(target) or self.table.get("init", {}) not in empty:
            self.call("init", f"Construction of {name}")
        self.call("inputs", f"Inputs of {name}")
        self.named_dimensions()
        self.run()

    def add(self, key: Key, kind: FieldType, label: str, **details: Any) -> None:
        text_key = show_key(key)
        fault = self.state.faults.get(text_key)
        if fault is not None:
            details["text"], details["value"] = fault[0], msgspec.UNSET
        self.fields.append(
            SetupField(
                key=text_key,
                type=kind,
                label=label,
                suggestions=self.suggestions.get(text_key, []),
                assumed=text_key in self.state.assumed,
                **details,
            )
        )

    # --- arguments ---

    def call(self, part: str, title: str) -> None:
        found: Any = self.table.get(part, {})
        call = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        target = self.state.target
        more = target is None or (part == "init" and target.more_init_parameters)
        if target is not None:
            parameters = target.parameters if part == "inputs" else target.init_parameters
            elsewhere = part == "inputs" and not parameters and target.kind != "jax.function"  # in a library's class
            more = more or elsewhere or any(p.kind == "var_keyword" for p in parameters)
        from_factory = "factory" in call
        self.groups.append(SetupGroup(id=part, title=title, more=more and not from_factory))
        if from_factory:
            self.factory(part, call["factory"])
        else:
            self.arguments(part, sound_call(call))
        options = [
            SetupOption(value="arguments", text="arguments", help="Values that the form has."),
            SetupOption(value="factory", text="factory", help="A function of a workspace file makes them."),
        ]
        source = "factory" if from_factory else "arguments"
        self.add(
            (part, "source"), "choice", "source",
            group=part, value=source, text=source, options=options, advanced=True,
            help="Where the arguments come from: this form, or a Python function.",
        )  # fmt: skip

    def arguments(self, part: str, call: dict[str, Any]) -> None:
        shown: set[Key] = set()
        if self.state.target is not None:
            for slot in slots(self.state.target, part, call):
                shown.add(slot.key)
                self.slot(part, slot)
        for index, value in enumerate(call["args"]):
            if (part, "args", index) not in shown:
                self.value((part, "args", index), value, Hint(), f"args[{index}]", group=part)
        for name, value in call["kwargs"].items():
            if (part, "kwargs", name) not in shown:
                self.value((part, "kwargs", name), value, Hint(), name, group=part)

    def slot(self, part: str, slot: Slot) -> None:
        parameter = slot.parameter
        value = value_at(self.table, slot.key)
        self.parameter(slot.key, value, parameter, slot.hint, group=part, default=parameter.default)

    def parameter(
        self, key: Key, value: Any, parameter: ParameterLike, hint: Hint, *, default: str | None, **details: Any
    ) -> None:
        reason = hint.only_factory
        text = f"It takes {reason}, which a factory has to make: choose factory as the source." if reason else ""
        details |= {"annotation": parameter.annotation, "default": default, "required": default is None, "help": text}
        if value is ... and (given := default_fields(parameter, hint, self.types)) is not None:
            self.object(key, hint.classes[0], {}, parameter.name, msgspec.UNSET, given, details)
        else:
            self.value(key, value, hint, parameter.name, **details)

    def object(
        self,
        key: Key,
        name: str,
        fields: dict[str, Any],
        label: str,
        value: Any,
        given: Mapping[str, str],
        details: dict[str, Any],
    ) -> None:
        """A heading, and a field for each field of the class; `given` are those that differ from its defaults."""
        known = fields_of(self.types, name)
        text = "" if value is msgspec.UNSET else show_value(value)
        others = [other for other in fields if all(field.name != other for field in known)]
        parts = bool(known or others) and len(self.fields) < _MOST_FIELDS
        self.add(key, "table", label, text=text, value=value, parts=parts, **details)
        if not parts:
            return
        part: dict[str, Any] = {"group": details["group"], "parent": show_key(key)}
        for field in known:
            self.parameter(
                (*key, "fields", field.name), fields.get(field.name, ...), field, hint_of(field, self.types),
                default=given.get(field.name, field.default), **part,
            )  # fmt: skip
        for other in others:
            self.value((*key, "fields", other), fields[other], Hint(), other, required=True, **part)

    def value(self, key: Key, value: Any, hint: Hint, label: str, **details: Any) -> None:
        self.hints[show_key(key)] = hint
        if value is ... or is_ask(value):
            kind = _field_type(hint)
            details["help"] = details.get("help") or _HELPS.get(hint.type, "")
            self.add(key, kind, label, options=self.options(hint), **details)
            return
        if (found := object_in(value)) is not None:
            self.object(key, *found, label, value, {}, details)
            return
        match value:
            case {"kind": "tensor"}:
                self.tensor(key, cast("dict[str, Any]", value), label, **details)
            case {"kind": "tuple", "items": list()}:
                items = cast("list[Any]", value["items"])
                self.container(key, "tuple", value, list(enumerate(items)), hint, label, details)
            case {"kind": "none"}:
                kind = _field_type(hint) if hint.type not in {"tensor", "list", "tuple", "table"} else "value"
                self.add(key, kind, label, text="None", value=value, options=self.options(hint), **details)
            case {"kind": "enum"} if value in hint.options:
                self.scalar(key, value, hint, label, details)
            case {"kind": "dict", "items": dict()}:
                pairs = list(cast("dict[str, Any]", value["items"]).items())
                self.container(key, "table", value, pairs, hint, label, details)
            case dict():
                pairs = list(cast("dict[str, Any]", value).items())
                self.container(key, "table", value, pairs, hint, label, details)
            case list():
                self.container(key, "list", value, list(enumerate(cast("list[Any]", value))), hint, label, details)
            case _:
                self.scalar(key, value, hint, label, details)

    def scalar(self, key: Key, value: Any, hint: Hint, label: str, details: dict[str, Any]) -> None:
        match value, hint.type:
            case _, "choice":
                kind: FieldType = "choice" if value in hint.options else "value"
            case bool(), _:
                kind = "boolean"
            case int(), "number":
                kind = "number"
            case int(), _:
                kind = "integer"
            case float(), _:
                kind = "number"
            case str(), "string":
                kind = "string"
            case _:
                kind = "value"
        if kind in {"boolean", "integer", "number"} and hint.type in {"value", "string", "tensor"}:
            kind = "value"  # it may as well become something else
        self.add(key, kind, label, text=_text(value, kind), value=value, options=self.options(hint), **details)

    def tensor(self, key: Key, tensor: dict[str, Any], label: str, **details: Any) -> None:
        group = details["group"]
        inner = show_key(key)
        self.add(key, "tensor", label, text=show_value(tensor), value=tensor, parts=True, **details)
        part: dict[str, Any] = {"group": group, "parent": inner, "required": True}
        dtype = tensor.get("dtype", UNKNOWN)
        stated = not is_open(dtype)
        offered = self.state.offer.dtypes if self.state.offer else []
        refused = {choice.value: choice.reason for choice in offered if choice.reason is not None}
        keys = self.drafting.framework == "jax"
        known = [name for name in _COMMON_DTYPES if name not in refused and (keys or not name.startswith("key<"))]
        dtypes = [SetupOption(value=name, text=name) for name in known]
        self.add(
            (*key, "dtype"), "dtype", "dtype",
            text=str(dtype) if stated else "", value=dtype if stated else msgspec.UNSET, options=dtypes,
            help=_with_reasons("The type of its elements.", offered, (*_COMMON_DTYPES, str(dtype))), **part,
        )  # fmt: skip
        shape: Any = tensor.get("shape", UNKNOWN)
        unknown = shape == UNKNOWN or (isinstance(shape, list) and UNKNOWN in shape)
        self.add(
            (*key, "shape"), "shape", "shape",
            text=show_shape(shape), value=msgspec.UNSET if unknown else shape,
            help="Dimensions, such as 2, 3; [] for a scalar. A name stands for one number wherever it is.", **part,
        )  # fmt: skip
        extra: dict[str, Any] = {"group": group, "parent": inner, "advanced": True}
        if "requires_grad" in tensor:
            grad = tensor["requires_grad"]
            self.add((*key, "requires_grad"), "boolean", "requires_grad", text=show_value(grad), value=grad, **extra)
        generator: Any = tensor.get("generator", msgspec.UNSET)
        if not str(dtype).startswith("key<"):
            self.add(
                (*key, "generator"), "value", "generator",
                text="" if generator is msgspec.UNSET else show_value(generator), value=generator,
                default='{ kind = "ones" }',
                help='Its elements, where they matter: { kind = "normal" }, { kind = "randint", high = 100 }.', **extra,
            )  # fmt: skip

    def container(
        self,
        key: Key,
        kind: FieldType,
        value: Any,
        pairs: Sequence[tuple[str | int, Any]],
        hint: Hint,
        label: str,
        details: dict[str, Any],
    ) -> None:
        plain = all(isinstance(item, _SCALARS) for _, item in pairs)
        split = bool(pairs) and not plain and len(self.fields) + len(pairs) <= _MOST_FIELDS
        self.add(key, kind, label, text=show_value(value), value=value, parts=split, **details)
        if not split:
            return
        inside = (*key, "items") if isinstance(value, dict) and "items" in value and "kind" in value else key
        for part, item in pairs:
            name = f"{label}[{part}]" if isinstance(part, int) else part
            item_hint = hint.of_item(part)
            self.value(
                (*inside, part), item, item_hint, name, group=details["group"], parent=show_key(key), required=True
            )

    def factory(self, part: str, factory: Any) -> None:
        table = cast("dict[str, Any]", factory) if isinstance(factory, dict) else {}
        made = "the model" if part == "init" else "the inputs"
        texts = {
            "file": "A Python file of the workspace folder, such as setups/batch.py; or with the function, FILE:NAME.",
            "callable": f"The function in it that makes {made}.",
        }
        for name, text in texts.items():
            value = table.get(name, msgspec.UNSET)
            self.add(
                (part, "factory", name), "string", name,
                group=part, text=str(value) if value is not msgspec.UNSET else "", value=value,
                required=True, help=text,
            )  # fmt: skip
        self.value((part, "factory", "kwargs"), table.get("kwargs", ...), Hint(type="table"), "kwargs", group=part)

    def options(self, hint: Hint) -> list[SetupOption]:
        if hint.type == "boolean":
            options = [SetupOption(value=value, text=show_value(value)) for value in (True, False)]
        elif hint.type == "object":
            objects = {name: drafted_object(name, (), self.drafting) for name in hint.classes}
            texts = [(name.partition(":")[2], value) for name, value in objects.items()]
            options = [
                SetupOption(value=value, text=text, help=f"Makes a {text} of its fields.") for text, value in texts
            ]
        else:
            options = [SetupOption(value=value, text=_text(value, "choice")) for value in hint.options]
        if hint.optional and options:
            options.append(SetupOption(value={"kind": "none"}, text="None"))
        return options

    # --- the rest ---

    def named_dimensions(self) -> None:
        names = [name for shape in shapes_in(self.table) for dim in shape for name in names_in(dim)]
        if not names:
            return
        self.groups.append(
            SetupGroup(id="dimensions", title="Named dimensions", help="Each name is one number wherever it stands.")
        )
        for name in dict.fromkeys(names):
            number = self.state.dimensions.get(name)
            self.add(
                ("dimensions", name), "dimension", name,
                group="dimensions", required=True,
                text="" if number is None else str(number), value=msgspec.UNSET if number is None else number,
            )  # fmt: skip

    def run(self) -> None:
        self.groups.append(SetupGroup(id="run", title="Trace"))
        framework = self.table.get("framework", "torch")
        options = [
            SetupOption(value="jax", text="jax", help="JAX, Flax Linen and NNX."),
            SetupOption(value="torch", text="torch", help="PyTorch; what a profile means that does not say."),
        ]
        self.add(
            ("framework",), "choice", "framework", group="run", text=str(framework), value=framework, default='"torch"',
            options=options, advanced=True, help="The library that traces the model.",
        )  # fmt: skip
        device = self.table.get("device", "cpu")
        offered = self.state.offer.devices if self.state.offer else [Choice(value="cpu")]
        text = _with_reasons("cpu or cuda:N.", offered, (choice.value for choice in offered))
        names = dict.fromkeys([*(choice.value for choice in offered if choice.reason is None), str(device)])
        options = [SetupOption(value=name, text=name) for name in names]
        self.add(
            ("device",), "string", "device", group="run", text=str(device), value=device, default='"cpu"',
            options=options, advanced=True, help=text,
        )  # fmt: skip
        seed = self.table.get("seed", 0)
        self.add(
            ("seed",), "integer", "seed", group="run", text=show_value(seed), value=seed, default="0", advanced=True,
            help="For fresh parameters and random streams.",
        )  # fmt: skip
        name = self.state.name
        self.add(
            ("name",), "string", "profile", group="run", text=name, value=name or msgspec.UNSET, required=True,
            help="The name in tensorviz.toml.",
        )  # fmt: skip


def _field_type(hint: Hint) -> FieldType:
    """Of a value that is not stated. An object is chosen by its class."""
    return "choice" if hint.type == "object" else hint.type


def _text(value: Any, kind: FieldType) -> str:
    """What a person types for a value, where it is one of the options of its field, too."""
    match value:
        case str() if kind in {"string", "choice"}:
            return value
        case {"kind": "enum", "member": str() as member}:
            return member
        case _:
            return show_value(value)


_HELPS: Final[dict[str, str]] = {
    "tensor": "An array, such as float32[2, 3].",
    "value": 'A number, true, "text", an array such as float32[2, 3], or any TOML value.',
    "list": "A list, such as [1, 2]. Items are added by their place: a first array as the item [0].",
    "tuple": 'A tuple, such as { kind = "tuple", items = [1, 2] }.',
    "table": "A table, such as { a = 1 }.",
}


def _with_reasons(help: str, offered: Sequence[Choice], names: Iterable[str]) -> str:
    """The help, and on further lines why some of the names are not offered."""
    asked = set(names)
    reasons = [
        f"{choice.value} is not offered: {choice.reason}"
        for choice in offered
        if choice.reason and choice.value in asked
    ]
    return "\n".join([help, *reasons])
