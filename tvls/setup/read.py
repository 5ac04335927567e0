"""`tensorviz.toml`: text in, profiles and problems out."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Literal, cast

import msgspec

from tvls.protocol.types import SetupProblem
from tvls.setup.findings import Finding, Severity, describe, is_error, unknown_keys
from tvls.setup.keys import Key, show_key
from tvls.setup.parse import TomlError, parse_toml
from tvls.setup.positions import Place, Places, Span, find_places
from tvls.setup.profile import Profile, check_profile
from tvls.setup.schema import SETUP

SETUP_FILE: Final = "tensorviz.toml"
VERSION: Final = 1


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake in the file. An `error` takes its profile out of use, a `warning` does not."""

    key: str
    """Such as `profiles.net.inputs.args[0].shape[1]`; empty where it is about the whole file."""
    message: str
    severity: Severity = "error"
    profile: str | None = None
    span: Span | None = None
    """Where to look; None only for a setup that is in no file."""

    def to_wire(self) -> SetupProblem:
        return SetupProblem(key=self.key, message=self.message, line=self.span.line if self.span else None)


class SetupFile(msgspec.Struct, frozen=True, kw_only=True):
    profiles: dict[str, Profile] = {}
    """The usable ones, in the order of the file."""
    problems: list[Problem] = []
    broken: dict[str, str | None] = {}
    """Profiles with errors, and the `model` that each names (None where that cannot be read either)."""
    names: list[str] = []
    """Of all profiles, in the order of the file."""
    text: str = ""

    def problems_of(self, profile: str) -> list[Problem]:
        """What concerns one profile: its own mistakes, and those of the whole file."""
        return [problem for problem in self.problems if problem.profile in (profile, None)]

    def locate(self, key: str, on: Literal["key", "value"] = "value") -> Span | None:
        """Where the value at `key` stands, or its name; of what is not there, the nearest around it."""
        place = _nearest(_places_by_name(self.text), key)
        return place and (place.value if on == "value" else place.key)


def read_setup(text: str) -> SetupFile:
    """Read a whole `tensorviz.toml`. Never raises: what is wrong is in `problems`, ordered by position.

    A mistake in one profile leaves the others usable; a mistake in the TOML itself leaves none.
    """
    text = text.removeprefix("\ufeff")
    try:
        data = parse_toml(text)
    except TomlError as error:
        return SetupFile(problems=[Problem(key="", message=error.message, span=error.span)], text=text)
    found: list[Finding] = unknown_keys(data, SETUP.keys, (), SETUP.what)
    version_found = _check_version(data)
    tables = data.get("profiles", {})
    if not isinstance(tables, dict):
        found.append(Finding(("profiles",), f"profiles are tables such as [profiles.NAME], not {describe(tables)}"))
        tables = {}
    profiles: dict[str, Profile] = {}
    broken: dict[str, str | None] = {}
    for name, table in cast("dict[str, Any]", tables).items():
        profile = None
        model: Any = None
        if not isinstance(table, dict):
            found.append(Finding(("profiles", name), f"a profile is a table, not {describe(table)}"))
        else:
            fields = cast("dict[str, Any]", table)
            model = fields.get("model")
            profile = check_profile(fields, name, found)
        if profile is None or is_error(version_found):
            broken[name] = model if isinstance(model, str) else None
        else:
            profiles[name] = profile
    found += version_found
    problems = _locate_all(found, text) if found else []
    names = list(cast("dict[str, Any]", tables))
    return SetupFile(profiles=profiles, problems=problems, broken=broken, names=names, text=text)


def read_setup_bytes(data: bytes) -> SetupFile:
    """As `read_setup`, for a file from disk: TOML is UTF-8."""
    try:
        return read_setup(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start)
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1)
        message = f"not UTF-8: byte 0x{data[error.start]:02x} does not belong here"
        problem = Problem(key="", message=message, span=Span(line, column, line, column + 1))
        return SetupFile(problems=[problem], text=data.decode("utf-8", "replace"))


def profiles_for(setup_file: SetupFile, module: str, qualname: str) -> list[Profile]:
    """The usable profiles of one target, in the order of the file."""
    return [p for p in setup_file.profiles.values() if (p.module, p.qualname) == (module, qualname)]


def names_for(setup_file: SetupFile, module: str, qualname: str) -> list[str]:
    """Names of the profiles that are meant for this target, usable or not, in the order of the file."""
    model = f"{module}:{qualname}"
    models = setup_file.broken | {name: profile.model for name, profile in setup_file.profiles.items()}
    return [name for name in setup_file.names if models[name] == model]


def to_problems(found: list[Finding], setup_file: SetupFile | None, profile: str | None) -> list[Problem]:
    """Findings about a profile that was read earlier, as problems of its file (or of no file)."""
    places = None if setup_file is None or not found else _places(setup_file.text)
    return [_problem(finding, places, profile) for finding in found]


def _check_version(data: dict[str, Any]) -> list[Finding]:
    if not data:
        return []
    if "version" not in data:
        return [Finding(("version",), f"the file does not say its format; add version = {VERSION}", "warning")]
    version: Any = data["version"]
    if isinstance(version, int) and not isinstance(version, bool) and version == VERSION:
        return []
    return [Finding(("version",), f"this program reads version = {VERSION}, not {describe(version)}")]


@lru_cache(maxsize=8)
def _places(text: str) -> Places:
    return find_places(text)


@lru_cache(maxsize=8)
def _places_by_name(text: str) -> dict[str, Place]:
    return {show_key(key): place for key, place in _places(text).items()}


def _nearest(places: dict[str, Place], key: str) -> Place | None:
    while key and key not in places:
        # From the right: a quoted name may hold dots and brackets, but then its shortened forms are no keys either.
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return places.get(key)


def _locate_all(found: list[Finding], text: str) -> list[Problem]:
    places = _places(text)
    problems = [_problem(finding, places, _profile_of(finding.key)) for finding in found]
    return sorted(problems, key=lambda problem: (problem.span.line, problem.span.column) if problem.span else (0, 0))


def _profile_of(key: Key) -> str | None:
    return key[1] if len(key) > 1 and key[0] == "profiles" and isinstance(key[1], str) else None


def _problem(finding: Finding, places: Places | None, profile: str | None) -> Problem:
    span = None if places is None else Span(0, 0, 0, 0)
    for length in range(len(finding.key), 0, -1):
        if places and (place := places.get(finding.key[:length])) is not None:
            # What is not there is shown at the key of the table that lacks it.
            exact = length == len(finding.key) and finding.on == "value"
            span = place.value if exact else place.key
            break
    return Problem(
        key=show_key(finding.key),
        message=finding.message,
        severity=finding.severity,
        profile=profile,
        span=span,
    )
