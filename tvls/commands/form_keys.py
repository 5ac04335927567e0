"""Which field of a setup form a name on the command line means."""

from __future__ import annotations

import re
from typing import Any, Final, cast

import msgspec

from tvls.protocol import types_setup as ts
from tvls.protocol.errors import TvlsError
from tvls.setup.findings import did_you_mean
from tvls.setup.keys import show_key


def error_at(form: ts.SetupForm, key: str) -> str | None:
    """The error of the value at a key: of its field, or of a part of it."""
    errors = [(field.key, field.error) for field in form.fields] + [(p.key, p.message) for p in form.problems]
    return next((error for at, error in errors if error and (at == key or at.startswith((f"{key}.", f"{key}[")))), None)


def find_key(form: ts.SetupForm, name: str) -> str:
    """The key that a name on the command line means: a key, the name of a parameter or dimension, `x.shape`, or
    `config.width`. Raises ValueError where it means none."""
    if any(field.key == name for field in form.fields):
        return name
    own, dot, rest = name.partition(".")
    label, bracket, items = own.partition("[")
    named = [field.key for field in form.fields if not field.parent and field.label == label]
    if len(named) == 1:
        return _inside(form, _item(form, named[0], bracket + items), rest)
    if len(named) > 1:
        raise TvlsError(
            "setupInvalid", f"{own!r} may mean {' or '.join(named)}.", f"Write --set {named[0]}{dot}{rest}=VALUE."
        )
    more = [group.id for group in form.groups if group.more]
    if re.match(r"(init|inputs)\.", name):
        return name
    if len(more) == 1 and own.isidentifier():
        return _inside(form, f"{more[0]}.kwargs.{_quoted(own)}", rest)
    if more and own.isidentifier():
        places = " or ".join(f"{part}.kwargs.{own}" for part in more)
        raise ValueError(f"source does not say what {form.model} takes, so write {places}, not {own}")
    deeper = [short_name(form, field) for field in form.fields if field.parent and field.label == name]
    close = f"; did you mean {' or '.join(deeper)}?" if deeper else did_you_mean(name, _names(form))
    raise ValueError(f"there is no {name!r}; there are {', '.join(_names(form))}{close}")


def _inside(form: ts.SetupForm, key: str, rest: str) -> str:
    """The key of what `rest` leads to below a field. Raises ValueError for what is not there."""
    for part in rest.split(".") if rest else ():
        name, bracket, items = part.replace('"', "").partition("[")
        field = next((field for field in form.fields if field.key == key), None)
        fields = [other for other in form.fields if other.parent == key and other.key.startswith(f"{key}.fields.")]
        if fields:
            known = {other.label: other.key for other in fields}
            if name not in known:
                close = did_you_mean(name, known) or f" (it has {', '.join(known)})"
                raise ValueError(f"there is no field {name!r} in {_class_of(form, key)}{close}")
            key = known[name]
        elif field is not None and field.type not in ("tensor", "table", "value"):
            options = [option.text for option in field.options if option.text != "None"]
            first = f": first --set {short_name(form, field)}={options[0]}" if options else ""
            raise ValueError(f"{field.label} is {_A[field.type]}, which has nothing named {name!r}{first}")
        else:
            key = f"{key}.{_quoted(name)}"
        key = _item(form, key, bracket + items)
    return key


_A: Final[dict[str, str]] = {
    "integer": "a whole number",
    "boolean": "true or false",
    "string": "text",
    **{kind: f"a {kind}" for kind in ("choice", "number", "list", "tuple", "shape", "dtype", "dimension")},
}
"""Types of fields, in words."""


def _item(form: ts.SetupForm, key: str, place: str) -> str:
    """The key of an item, `[0]`, of the value at a key. Raises ValueError where it has no items."""
    field = next((field for field in form.fields if field.key == key), None)
    if not place or field is None:
        return f"{key}{place}"
    if field.type == "tuple" and isinstance(field.value, dict):
        return f"{key}.items{place}"
    if field.type == "list" or (field.type == "value" and isinstance(field.value, list | msgspec.UnsetType)):
        return f"{key}{place}"
    short = short_name(form, field)
    raise ValueError(f"{field.label} has no items to change; state it as a whole: --set {short}=[…]")


def _class_of(form: ts.SetupForm, key: str) -> str:
    field = next(field for field in form.fields if field.key == key)
    given: Any = field.value
    value = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return str(value.get("class", field.annotation or field.label)).rpartition(":")[2]


def short_name(form: ts.SetupForm, field: ts.SetupField) -> str:
    """What --set calls a field: `config.width`."""
    by_key = {other.key: other for other in form.fields}
    labels = [field.label]
    while (around := by_key.get(field.parent or "")) is not None:
        field = around
        labels.insert(0, field.label)
    return ".".join(labels)


def _quoted(part: str) -> str:
    """As a part of a key: `größe` → `"größe"`."""
    return part if part.startswith('"') else show_key((part,))


def _names(form: ts.SetupForm) -> list[str]:
    shown = [field for field in form.fields if not field.parent and not field.key.endswith(".source")]
    return [field.label if field.group != "run" else field.key for field in shown]
