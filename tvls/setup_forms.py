"""`tvls/setup/*` behind the application: the file's text, the form of a profile in it, and saving it."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tvls.analysis.types import FoundTarget
from tvls.host import Host
from tvls.protocol import types as t
from tvls.protocol import types_setup as ts
from tvls.protocol.errors import TvlsError
from tvls.protocol.types_environment import FrameworkOffer
from tvls.setup.changes import set_value
from tvls.setup.disk import BOM, NO_FILE, read_text, version_of, write_text
from tvls.setup.draft import all_slots, draft_profile, name_dimensions, value_at
from tvls.setup.edit import EditError, edit_profile, render_profile, section_of
from tvls.setup.form import Form, State, apply_changes, is_question, make_form
from tvls.setup.keys import show_key
from tvls.setup.parse import BoundsError, TomlError, check_bounds, parse_toml
from tvls.setup.positions import find_places
from tvls.setup.read import SETUP_FILE, SetupFile, names_for, read_setup
from tvls.setup.suggestions import SourceText, suggestions_for
from tvls.uris import to_uri


@dataclass(frozen=True)
class Place:
    """What a form is about: a model, and the setup file of its folder."""

    folder: Path
    target: FoundTarget | None
    """None for a model of an installed library."""
    text: str | None
    """Of the file; None where there is none."""
    source: str | None = None
    """Text of the target's own file."""
    offer: FrameworkOffer | None = None
    """What the capture Python can do, where that is known."""


@dataclass(frozen=True)
class Saving:
    """A profile as it is to be saved."""

    profile: str
    text: str
    """The whole file with it."""
    setup: SetupFile
    """What that text says."""
    range: t.Range
    """Of the profile's header in it."""
    missing: list[str]


def place_of(folder: Path, target: FoundTarget | None, buffers: Mapping[Path, str], source: str | None) -> Place:
    """The place with the text of the open buffer, else of the file. Raises TvlsError."""
    path = folder / SETUP_FILE
    if path in buffers:
        return Place(folder, target, buffers[path], source)
    return Place(folder, target, _text_on_disk(path), source)


def _text_on_disk(path: Path) -> str | None:
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise TvlsError(
            "setupInvalid", f"{path} cannot be read: {reason}.", "Correct the file.", uri=to_uri(path)
        ) from error


async def save(place: Place, saving: Saving, buffers: Mapping[Path, str], host: Host) -> ts.SetupSaved:
    """Writes the file, or has the editor change the buffer that it is open in. Raises TvlsError; nothing is lost."""
    path = place.folder / SETUP_FILE
    if path in buffers and buffers[path] != place.text:  # typed in meanwhile
        raise _changed(path, was_there=place.text is not None)
    in_editor = path in buffers and await host.edit(path, saving.text)
    if not in_editor:
        on_disk = _text_on_disk(path)
        if path in buffers and not _same_file(on_disk, buffers[path]):
            raise TvlsError(
                "unsavedSource",
                f"There are unsaved changes in {SETUP_FILE}, which would be lost.",
                "Save the file, then save the setup again.",
                files=[to_uri(path)],
            )
        if path not in buffers and on_disk != place.text:
            raise _changed(path, was_there=place.text is not None)
        _write(path, _with_mark(on_disk, saving.text))
    return ts.SetupSaved(
        profile=saving.profile,
        folder=to_uri(place.folder),
        uri=to_uri(path),
        version=version_of(saving.text),
        range=saving.range,
        unsaved=in_editor,
        missing=saving.missing,
    )


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise TvlsError(
            "setupInvalid",
            f"{path} cannot be written: {error.strerror}.",
            "Put a file in the place of the link, then save again."
            if error.errno == errno.EPERM
            else "Make the file and its folder writable, then save again.",
            uri=to_uri(path),
        ) from error


def _same_file(on_disk: str | None, buffer: str) -> bool:
    """Whether the buffer has no changes: editors leave out the byte-order mark."""
    return on_disk is not None and on_disk.removeprefix(BOM) == buffer.removeprefix(BOM)


def _with_mark(on_disk: str | None, text: str) -> str:
    return BOM + text if on_disk is not None and on_disk.startswith(BOM) and not text.startswith(BOM) else text


def _header(text: str, profile: str) -> t.Range:
    """The lines of the profile's header."""
    text = text.removeprefix(BOM)
    section = section_of(text, profile)
    if section is not None:
        line = text.count("\n", 0, section[0])
        return _lines(line, line + 1)
    place = find_places(text).get(("profiles", profile))
    return _lines(place.key.line, place.key.end_line + 1) if place else _lines(0, 0)


def _lines(line: int, end: int) -> t.Range:
    return t.Range(start=t.Position(line=line, character=0), end=t.Position(line=end, character=0))


def form_of(place: Place, params: ts.SetupFormParams) -> ts.SetupForm:
    """The form that the parameters describe. Raises TvlsError."""
    state, form, exists = _form(place, params)
    setup_file = read_setup(place.text or "")
    return ts.SetupForm(
        folder=to_uri(place.folder),
        uri=to_uri(place.folder / SETUP_FILE),
        version=version_of(place.text),
        model=str(form.setup.get("model", "")),
        target=None
        if place.target is None
        else t.TargetRef(uri=to_uri(Path(place.target.path)), name=place.target.name),
        profile=state.name,
        exists=exists,
        profiles=profiles_of(setup_file, place.target),
        groups=form.groups,
        fields=form.fields,
        problems=form.problems,
        complete=form.complete,
        setup=form.setup,
        toml=render_profile(form.setup),
    )


def saving_of(place: Place, params: ts.SetupSaveParams) -> Saving:
    """The file with the profile in it. Raises TvlsError: `setupChanged`, `setupInvalid`, `setupRequired`."""
    now = version_of(place.text)
    if params.version is not None and params.version != now:
        raise _changed(place.folder / SETUP_FILE, was_there=params.version != NO_FILE)
    fields: dict[str, Any] = {name: getattr(params, name) for name in ts.SetupFormParams.__struct_fields__}
    state, form, _ = _form(place, ts.SetupFormParams(**fields))
    problems = [t.SetupProblem(key=field.key, message=field.error) for field in form.fields if field.error]
    problems += form.problems
    if problems:
        raise TvlsError(
            "setupInvalid",
            f"The setup has a mistake: {problems[0].key or 'the profile'}: {problems[0].message}",
            f"Correct {problems[0].key or 'it'}.",
            problems=problems,
        )
    questions = [field for field in form.fields if is_question(field)]
    if questions and not params.incomplete:
        names = ", ".join(dict.fromkeys(field.key for field in questions))
        raise TvlsError(
            "setupRequired",
            f"The setup lacks values: {names}.",
            "State them (on the command line: --set NAME=VALUE).",
            missing=[_missing(field, form) for field in questions],
        )
    try:
        text = edit_profile(place.text or "", state.name, form.setup)
    except EditError as error:
        raise TvlsError(
            "setupInvalid",
            f"{SETUP_FILE} cannot be edited: {error}.",
            "Correct the file, or write the profile into it by hand.",
            uri=to_uri(place.folder / SETUP_FILE),
        ) from error
    return Saving(state.name, text, read_setup(text), _header(text, state.name), [field.key for field in questions])


def _changed(path: Path, *, was_there: bool) -> TvlsError:
    return TvlsError(
        "setupChanged",
        f"{path.name} was {'changed' if was_there else 'written'} since the form was opened.",
        "Ask for the form again with the same changes, look at it, and save that.",
        uri=to_uri(path),
    )


def profiles_of(setup_file: SetupFile, target: FoundTarget | None) -> list[str]:
    """Names of the profiles of a target, usable or not, in the order of the file."""
    return [] if target is None else names_for(setup_file, target.module, target.name)


def _missing(field: ts.SetupField, form: Form) -> t.MissingValue:
    parent = next((other for other in form.fields if other.key == field.parent), field)
    return t.MissingValue(
        key=field.key,
        parameter=parent.label,
        kind="tensor" if parent.type == "tensor" else "unknown" if field.type == "value" else "value",
        annotation=parent.annotation,
    )


# --- the state of a form ---------------------------------------------------------------------------------------------


def _form(place: Place, params: ts.SetupFormParams) -> tuple[State, Form, bool]:
    tables = _tables(place)
    name, table = _base(place, params, tables)
    state = _state(
        place.target, name, table, saved=name in tables or params.toml is not None or params.setup is not None
    )
    _refuse_endless(params.setup, *(change.value for change in params.changes))
    if (given := _given(params)) is not None:
        state = _state(place.target, name, given, saved=True)
    state.offer = place.offer
    apply_changes(state, params.changes)
    _refuse_endless(state.table)
    suggestions = {}
    if place.target is not None:
        source = _source(place.target, place.source)
        suggestions = suggestions_for(place.target, state.table, state.name, tables, source)
    return state, make_form(state, suggestions), state.name in tables


def _source(target: FoundTarget, text: str | None) -> SourceText | None:
    """The lines that the target is written in."""
    if text is None:
        return None
    lines = text.split("\n")[target.line - 1 : target.end_line]
    return SourceText(Path(target.path).name, [line.rstrip("\r") for line in lines], target.line)


def _tables(place: Place) -> dict[str, Any]:
    """The profiles of the file as tables, whether they can be used or not."""
    if not place.text:
        return {}
    try:
        data = parse_toml(place.text.removeprefix(BOM))
    except TomlError as error:
        raise TvlsError(
            "setupInvalid",
            f"{SETUP_FILE} is not valid TOML: {error}",
            "Correct the file; a profile is saved into it.",
            uri=to_uri(place.folder / SETUP_FILE),
            problems=[problem.to_wire() for problem in read_setup(place.text).problems],
        ) from error
    found: Any = data.get("profiles", {})
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _base(place: Place, params: ts.SetupFormParams, tables: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    target = place.target
    name = params.profile
    if name is None and not params.new:
        name = next(iter(profiles_of(read_setup(place.text or ""), target)), None)
    if name is not None and name in tables:
        table = tables[name]
        if not isinstance(table, dict):
            raise TvlsError("setupInvalid", f"profiles.{name} is no table.", f"Correct it in {SETUP_FILE}.")
        return name, cast("dict[str, Any]", table)
    if target is None:
        raise TvlsError(
            "targetNotFound",
            f"There is no profile {name!r} and no target to draft one for.",
            "Name a target.",
        )
    return name or _free_name(target, tables), draft_profile(target)[0]


def _free_name(target: FoundTarget, tables: dict[str, Any]) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", target.name)
    name = re.sub(r"[^0-9A-Za-z]+", "_", words).strip("_").lower() or "model"
    if name not in tables:
        return name
    return next(f"{name}_{number}" for number in range(2, len(tables) + 3) if f"{name}_{number}" not in tables)


def _state(target: FoundTarget | None, name: str, table: dict[str, Any], *, saved: bool) -> State:
    if target is None:
        return State(target=None, name=name, table=deepcopy(table))
    drafted, assumed = draft_profile(target)
    if not saved:
        return State(target=target, name=name, table=drafted, assumed=assumed)
    named, dimensions = name_dimensions(target, table)
    state = State(target=target, name=name, table=deepcopy(named), dimensions=dimensions)
    for slot in list(all_slots(target, state.table)):  # what a profile lacks is drafted, as in a new one
        value = value_at(drafted, slot.key)
        if not slot.given and slot.parameter.default is None and value is not ...:
            try:
                set_value(state.table, slot.key, value)
            except ValueError:  # no place for it in what was written: that is told as a mistake of its own
                continue
            state.assumed |= {key for key in assumed if key.startswith(f"{show_key(slot.key)}.")}
    return state


def _refuse_endless(*values: Any) -> None:
    try:
        for value in values:
            check_bounds(value)
    except BoundsError as error:
        raise TvlsError(
            "setupInvalid", f"The setup cannot be used: {error}.", "Send values that a file can have."
        ) from error


def _given(params: ts.SetupFormParams) -> dict[str, Any] | None:
    """The table that takes the place of the saved or drafted one."""
    if params.toml is None:
        return params.setup
    try:
        return parse_toml(params.toml)
    except TomlError as error:
        raise TvlsError(
            "setupInvalid",
            f"The text is not valid TOML: {error}",
            "Correct it.",
            problems=[problem.to_wire() for problem in read_setup(params.toml).problems],
        ) from error
