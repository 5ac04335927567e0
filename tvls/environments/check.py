"""What an interpreter's libraries are good for: versions with a verdict in words, devices and dtypes that can be had.

Imports the libraries in processes of their own, one for each framework, so that a crash has a name. No code of the
workspace takes part. Runs the interpreter, so only for a trusted folder.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from tvls.environments.ask import ask
from tvls.environments.probe import NEEDED, OLDEST, Environment, fingerprint, release, requirement
from tvls.protocol import types_environment as te
from tvls.protocol.errors import TvlsError

SECONDS: Final = 120.0
"""For one framework: importing a large one from a network drive takes a minute."""
SHOWN: Final = ("jax", "jaxlib", "flax", "torch", "numpy")


class _Said(msgspec.Struct):
    """One line of the worker."""

    importing: str | None = None
    broken: str | None = None
    message: str | None = None
    offer: _Offer | None = None


class _Offer(msgspec.Struct):
    devices: list[te.Choice] = []
    dtypes: list[te.Choice] = []
    wide: bool = False


class _Checked(msgspec.Struct, frozen=True):
    fingerprint: str
    broken: dict[str, str]
    """Module → what its import said."""
    offers: dict[str, _Offer]


_known: dict[tuple[tuple[str, ...], str], _Checked] = {}


async def check(environment: Environment) -> te.EnvironmentInfo:
    """The verdict on `environment`; asks anew only when something was installed since.

    TvlsError `environmentInvalid` where the interpreter cannot be run any more or takes too long.
    """
    key = environment.command, environment.folder
    known = _known.get(key)
    if known is None or known.fingerprint != environment.fingerprint:
        broken: dict[str, str] = {}
        offers: dict[str, _Offer] = {}
        for framework in ("jax", "torch"):
            if framework in environment.libraries:
                await _check_one(environment, framework, broken, offers)
        now = await asyncio.to_thread(fingerprint, environment)
        known = _Checked(now, broken, offers)
        if now == environment.fingerprint:
            _known[key] = known
    return _verdict(environment, known)


async def _check_one(
    environment: Environment, framework: str, broken: dict[str, str], offers: dict[str, _Offer]
) -> None:
    output = await ask(environment.command, ["check", framework], environment.folder, SECONDS)
    at = framework
    for line in output.out.splitlines():
        try:
            said = msgspec.json.decode(line, type=_Said)
        except msgspec.DecodeError:  # a wrapper's own words
            continue
        if said.importing is not None:
            at = said.importing
        if said.broken is not None:
            broken[said.broken] = said.message or "it cannot be imported"
        if said.offer is not None:
            offers[framework] = said.offer
    if output.code != 0 and framework not in offers and at not in broken:
        how = f"signal {-output.code}" if output.code is not None and output.code < 0 else f"exit code {output.code}"
        last = output.last.splitlines()[-1] if output.last else ""
        broken[at] = f"importing it ends Python ({how})" + (f": {last}" if last else "")


def _verdict(environment: Environment, checked: _Checked) -> te.EnvironmentInfo:
    libraries = [_library(environment, checked, name) for name in SHOWN]
    by_name = {library.name: library for library in libraries}
    unusable: dict[str, str] = {}
    requirements: dict[str, None] = {}
    for kind, needed in NEEDED.items():
        faults = [by_name[name] for name in needed if by_name[name].state != "ok"]
        # What a library stands on breaks it, too.
        faults += [by_name[name] for name in ("jaxlib",) if "jax" in needed and by_name[name].state == "broken"]
        if faults:
            unusable[kind] = " ".join(fault.message or "" for fault in faults)
        if kind != "torch.module":  # one framework is enough; which one is for the model to say
            mend = (fault.name for fault in faults if fault.state in ("missing", "tooOld"))
            requirements.update((requirement(name), None) for name in mend)
    return te.EnvironmentInfo(
        command=list(environment.command),
        executable=environment.executable,
        prefix=environment.prefix,
        python=environment.python,
        verdict=_sentence(environment, unusable),
        libraries=libraries,
        frameworks=[
            _framework(checked, "jax", unusable.get("jax.function")),
            _framework(checked, "torch", unusable.get("torch.module")),
        ],
        unusable=unusable,
        requirements=list(requirements),
    )


def _library(environment: Environment, checked: _Checked, name: str) -> te.LibraryInfo:
    version = environment.libraries.get(name)
    if version is None:
        return te.LibraryInfo(name=name, state="missing", message=f"{name} is not installed.")
    if name in checked.broken:
        message = f"{name} {version} is installed, but cannot be imported: {checked.broken[name]}"
        return te.LibraryInfo(name=name, version=version, state="broken", message=message)
    if name in OLDEST and release(version) < release(OLDEST[name]):
        message = f"{name} {version} is too old; the oldest that can be captured is {OLDEST[name]}."
        return te.LibraryInfo(name=name, version=version, state="tooOld", message=message)
    return te.LibraryInfo(name=name, version=version, state="ok")


def _framework(checked: _Checked, name: str, reason: str | None) -> te.FrameworkOffer:
    offer = checked.offers.get(name, _Offer())
    return te.FrameworkOffer(
        framework=name, reason=reason, devices=offer.devices, dtypes=offer.dtypes, wide=offer.wide and reason is None
    )


_WORDS: Final = {
    "jax.function": "JAX functions",
    "flax.linen": "Flax Linen modules",
    "flax.nnx": "Flax NNX modules",
    "torch.module": "PyTorch modules",
}


def _sentence(environment: Environment, unusable: dict[str, str]) -> str:
    usable = [words for kind, words in _WORDS.items() if kind not in unusable]
    if not usable:
        return f"Python {environment.python} runs, but has no library that a model can be captured with."
    return f"Python {environment.python} has what {', '.join(usable)} need."


def offer_for(info: te.EnvironmentInfo, framework: str) -> te.FrameworkOffer:
    """What a setup for `framework` (`jax` or `torch`) can choose from. TvlsError `environmentInvalid` where nothing."""
    offer = next((offer for offer in info.frameworks if offer.framework == framework), None)
    if offer is None or offer.reason is not None:
        reason = offer.reason if offer is not None else f"There is no framework {framework!r}."
        raise TvlsError("environmentInvalid", f"{info.executable}: {reason}", "Install it, or select another one.")
    return offer
