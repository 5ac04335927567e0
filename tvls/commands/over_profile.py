"""Options of the command line, laid over a saved profile."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tvls.commands.form_keys import error_at, find_key
from tvls.protocol import types as t
from tvls.protocol import types_setup as ts
from tvls.protocol.errors import TvlsError
from tvls.session import Session
from tvls.setup.arguments import NAMED
from tvls.setup.read import SETUP_FILE

_PARTS: Final = (("init", "init"), ("inputs", "input"))
"""Parts of a profile, and the options that state their values."""


async def over_profile(
    session: Session, target: t.TargetRef, profile: str, arguments: argparse.Namespace
) -> t.InlineSetup:
    """The profile with --init, --input, --seed and --device in the place of what it has. Raises TvlsError."""
    changes: list[ts.SetupChange] = []

    async def changed() -> ts.SetupForm:
        return await session.setup_form(ts.SetupFormParams(target=target, profile=profile, changes=changes))

    form = await changed()
    if profile not in form.profiles:
        known = f"Name one of them: {', '.join(form.profiles)}." if form.profiles else "Leave --profile out."
        raise TvlsError("targetNotFound", f"{SETUP_FILE} has no profile {profile!r} of {target.name}.", known)
    for part, option in _PARTS:
        texts: list[str] = getattr(arguments, option)
        for text, name, value in _named(texts, [f for f in form.fields if f.group == part and not f.parent]):
            try:
                key = find_key(_only(form, part), name)
            except ValueError as error:
                raise TvlsError("setupInvalid", f"--{option} {text!r}: {error}.", "Correct it.") from error
            changes.append(ts.SetupChange(key=key, text=value))
            form = await changed()
            if (fault := error_at(form, key)) is not None:
                raise TvlsError("setupInvalid", f"--{option} {text!r}: {fault}.", "Correct it.")
    table: dict[str, Any] = form.setup
    return t.InlineSetup(
        framework=table.get("framework", "torch"),
        device=arguments.device or table.get("device", "cpu"),
        seed=table.get("seed", 0) if arguments.seed is None else arguments.seed,
        init=msgspec.convert(table.get("init", {}), t.CallSetup),
        inputs=msgspec.convert(table.get("inputs", {}), t.CallSetup),
    )


def _named(texts: Sequence[str], fields: Sequence[ts.SetupField]) -> list[tuple[str, str, str]]:
    """Each text with the name and the value in it; those without a name are the arguments in their order."""
    labels = iter([field.label for field in fields if not field.key.endswith(".source")])
    found: list[tuple[str, str, str]] = []
    for text in texts:
        match = NAMED.fullmatch(text)
        found.append((text, match[1], match[2].strip()) if match else (text, next(labels, text), text.strip()))
    return found


def _only(form: ts.SetupForm, part: str) -> ts.SetupForm:
    """The form with the fields of one part: a constructor may have parameters of the same names as the call."""
    return msgspec.structs.replace(
        form,
        fields=[field for field in form.fields if field.group == part],
        groups=[group for group in form.groups if group.id == part],
    )
