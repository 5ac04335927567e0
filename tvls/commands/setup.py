"""`tvls setup FILE:NAME`"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from tvls.commands.exits import DONE, MISSING, USAGE
from tvls.commands.form_keys import error_at, find_key, short_name
from tvls.commands.request import target_file
from tvls.commands.terminal import Terminal, absolute, complain, read_answer, report, workspace_folder
from tvls.printable import printable_text
from tvls.protocol import types as t
from tvls.protocol import types_setup as ts
from tvls.protocol.errors import TvlsError
from tvls.session import Session
from tvls.settings import Settings
from tvls.setup.form import is_question
from tvls.setup.placeholders import UNKNOWN
from tvls.setup.read import SETUP_FILE
from tvls.uris import to_path, to_uri

_INTRODUCTION: Final = (
    "Enter takes what stands in brackets; without brackets, and as ?, a value stays open, to be filled in in the file.",
    "A shape is 2, 3, or batch, 3 with a name for a dimension, or [] for a scalar; float32[2, 3] states the type, too.",
    "What cannot be typed, such as parameters or the state of an optimizer, a function of yours can make: factory.",
    "Ctrl-C ends it, and nothing is saved.",
)
_FACTORY_KEYS: Final = [f"{part}.factory.{name}" for part in ("init", "inputs") for name in ("file", "callable")]
_MOST_NAMES: Final = 12
_ARRAY: Final = re.compile(r"[A-Za-z_][\w.<> ]*\[.*\]")


async def setup_command(arguments: argparse.Namespace) -> int:
    try:
        ref, folder = await _target(arguments)
        given = [_pair(text) for text in arguments.set]
    except ValueError as error:
        complain(str(error))
        return USAGE
    session = Session(Terminal(trust=False), Settings())
    session.set_folders([folder])
    try:
        return await _Dialogue(session, ref, arguments).run(given)
    except TvlsError as error:
        return report(error, arguments.json)
    except EOFError:
        complain("the input ended; nothing was saved")
        return MISSING
    finally:
        await session.aclose()


class _Dialogue:
    """One form, until it is complete."""

    def __init__(self, session: Session, target: t.TargetRef, arguments: argparse.Namespace) -> None:
        self.session = session
        self.target = target
        self.profile: str | None = arguments.profile
        self.new: bool = arguments.new
        self.as_json: bool = arguments.json
        self.changes: list[ts.SetupChange] = []

    async def run(self, given: Sequence[tuple[str, str]]) -> int:
        form = await self.form()
        for name, text in given:
            try:
                key = find_key(form, name)
            except ValueError as error:
                complain(f"--set {name}={text}: {error}")
                return USAGE
            form = await self.change(key, text)
            error = error_at(form, key)
            if error is not None:
                complain(f"--set {name}={text}: {error}")
                return USAGE
        if self.as_json:
            print(msgspec.json.encode(form).decode())
            return DONE
        if sys.stdin.isatty() and sys.stderr.isatty():
            _say(f"{'Profile' if form.exists else 'New profile'} {form.profile!r} of {form.model}")
            form = await self.ask(form, everything=form.complete and not given)
            return await self.save(form, incomplete=True)
        try:
            return await self.save(form, incomplete=False)
        except TvlsError as error:
            if error.kind == "setupRequired":
                keys = {value.key for value in error.data.missing or []}
                names = [short_name(form, field) for field in form.fields if field.key in keys]
                step = f"State them: {' '.join(f'--set {name}=VALUE' for name in dict.fromkeys(names))}"
                error.data = msgspec.structs.replace(error.data, next_step=step)
            raise

    async def form(self) -> ts.SetupForm:
        return await self.session.setup_form(
            ts.SetupFormParams(target=self.target, profile=self.profile, new=self.new, changes=self.changes)
        )

    async def change(self, key: str, text: str) -> ts.SetupForm:
        self.changes.append(ts.SetupChange(key=key, text=text))
        return await self.form()

    async def save(self, form: ts.SetupForm, *, incomplete: bool) -> int:
        saved = await self.session.setup_save(
            ts.SetupSaveParams(
                target=self.target,
                profile=self.profile,
                new=self.new,
                changes=self.changes,
                version=form.version,
                incomplete=incomplete,
            )
        )
        path = to_path(self.target.uri)
        print(printable_text(f"saved profile {saved.profile!r} in {to_path(saved.uri)}"))
        if saved.missing:
            print(printable_text(f"still open, to be filled in there: {', '.join(saved.missing)}"))
        then = "then open it" if saved.missing else "open it"
        print(printable_text(f"{then}: tvls open {_shown(path)}:{self.target.name} --profile {saved.profile}"))
        return DONE

    async def ask(self, form: ts.SetupForm, *, everything: bool) -> ts.SetupForm:
        """Asks for what lacks, or for all that is not advanced; an empty answer keeps what is there."""
        for line in _INTRODUCTION:
            _say(line)
        asked: set[str] = set()
        while True:
            field = next((f for f in form.fields if f.key not in asked and _is_asked(form, f, everything)), None)
            if field is None:
                _tell_unasked(form, asked)
                return form
            answer = _prompt(form, field)
            asked |= {field.key, *(part.key for part in form.fields if part.parent == field.key)}
            if field.key in _FACTORY_KEYS and not field.text and answer in ("", UNKNOWN):
                part = field.group
                _say("  Without a function there is no factory; the arguments are asked for.")
                form = await self.change(f"{part}.source", "arguments")
                asked = {key for key in asked if not key.startswith(f"{part}.")}
                continue
            if answer == UNKNOWN or (not answer and any(is_question(f) for f in (field, *_parts(form, field)))):
                form = await self.leave_open(form, field)
                continue
            if not answer:
                continue
            part = _call_of(field)
            if answer == "factory" and part is not None and field.type not in ("string", "choice"):
                form = await self.use_factory(form, part)
                continue
            before = len(self.changes)
            shape = next((part for part in _parts(form, field) if part.type == "shape"), None)
            key = shape.key if shape is not None and not _ARRAY.fullmatch(answer) else field.key
            known = {other.key for other in form.fields}
            form = await self.change(key, answer)
            error = error_at(form, key)
            if error is not None:
                _say(f"  {error}")
            elif await self.name_lengths(form, known, asked):
                form = await self.form()
                continue
            del self.changes[before:]
            form = await self.form()
            asked.discard(field.key)

    async def leave_open(self, form: ts.SetupForm, field: ts.SetupField) -> ts.SetupForm:
        """The field as a placeholder of the file."""
        if any(is_question(f) for f in (field, *_parts(form, field))):
            return form
        return await self.change(field.key, "")  # without a value: a placeholder, or the program's own default

    async def use_factory(self, form: ts.SetupForm, part: str) -> ts.SetupForm:
        what, made = "the model", f"{form.model.rpartition(':')[2]}(…)"
        if part == "inputs":
            arguments = [f for f in form.fields if f.group == part and not f.parent and f.key != "inputs.source"]
            pairs = ", ".join(f'"{argument.label}": …' for argument in arguments)
            what, made = "the arguments by name", f"{{{pairs}}}"
        _say(f"  A factory is a function in a Python file of this folder. It returns {what}, such as:")
        _say("      def example():")
        _say(f"          return {made}")
        return await self.change(f"{part}.source", "factory")

    async def name_lengths(self, form: ts.SetupForm, known: set[str], asked: set[str]) -> bool:
        """Asks for the dimensions that an answer has introduced. False where the person takes them back."""
        for field in [f for f in form.fields if f.type == "dimension" and f.key not in known]:
            while True:
                answer = read_answer(
                    f"  {field.label} is a named dimension; its length (Enter: state the shape anew): "
                )
                if not answer:
                    raise EOFError
                if not answer.strip():
                    return False
                error = error_at(await self.change(field.key, answer.strip()), field.key)
                if error is None:
                    asked.add(field.key)
                    break
                _say(f"  {error}")
                self.changes.pop()
        return True


def _call_of(field: ts.SetupField) -> str | None:
    """The call that a field gives an argument of, `init` or `inputs`, unless a factory makes it."""
    part = field.key.partition(".")[0]
    return part if part in ("init", "inputs") and not field.key.startswith(f"{part}.factory") else None


def _is_asked(form: ts.SetupForm, field: ts.SetupField, everything: bool) -> bool:
    parent = next((other for other in form.fields if other.key == field.parent), None)
    if parent is not None and parent.type == "tensor":
        return False  # an array is asked for in one line
    if field.advanced or (field.parts and field.type != "tensor"):
        return False
    parts = _parts(form, field)
    needed = any(is_question(f) or f.assumed or f.error for f in (field, *parts))
    return needed or (everything and field.key != "name")


def _parts(form: ts.SetupForm, field: ts.SetupField) -> list[ts.SetupField]:
    return [other for other in form.fields if other.parent == field.key]


def _prompt(form: ts.SetupForm, field: ts.SetupField) -> str:
    about = f": {field.annotation}" if field.annotation else f" ({field.type})" if field.type != "value" else ""
    if field.options:
        about += f", one of {', '.join(option.text for option in field.options)}"
    parts = _parts(form, field)
    suggestions = [*field.suggestions, *(s for part in parts for s in part.suggestions)]
    for suggestion in suggestions:
        _say(f"  {suggestion.source}: {suggestion.text}")
    if field.help and not field.value:
        _say(f"  {field.help}")
    default = field.text if not any(is_question(part) for part in parts) else ""
    if field.type == "tensor" and parts and not default:
        dtype = next((part.text for part in parts if part.type == "dtype"), "")
        about += f", shape of {dtype} such as 2, 3" if dtype else ", such as float32[2, 3]"
    shown = f" [{default or field.default}]" if default or field.default is not None else ""
    line = read_answer(f"{field.label}{about}{shown}: ")
    if not line:
        raise EOFError
    return line.strip()


def _tell_unasked(form: ts.SetupForm, asked: set[str]) -> None:
    """What the program has a default for, and nobody was asked."""
    fields = [f for f in form.fields if f.group in ("init", "inputs") and not (f.required or f.parts or f.advanced)]
    left = [short_name(form, f) for f in fields if f.value is msgspec.UNSET and f.key not in asked and f.default]
    if left:
        names = ", ".join(left[:_MOST_NAMES]) + (f" and {len(left) - _MOST_NAMES} more" if left[_MOST_NAMES:] else "")
        _say(f"Not asked for, as the program has a default: {names}. --set NAME=VALUE states one.")


def _say(text: str) -> None:
    print(printable_text(text), file=sys.stderr)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--set {text!r} is not NAME=VALUE, such as x=float32[2,3] or seed=1")
    return name.strip(), value


async def _target(arguments: argparse.Namespace) -> tuple[t.TargetRef, Path]:
    file, path, name = await target_file(arguments.target)
    folder = workspace_folder(arguments.folder, path)
    if not path.is_relative_to(folder):
        raise ValueError(f"{file} is not in the folder {folder}, where {SETUP_FILE} is")
    return t.TargetRef(uri=to_uri(path), name=name), folder


def _shown(path: Path) -> str:
    here = absolute(Path())
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
