"""A setup that comes with a request or a command line instead of from a file."""

from __future__ import annotations

from typing import Any

import msgspec

from tvls.protocol.errors import TvlsError
from tvls.protocol.types import CallSetup, InlineSetup, SetupProblem
from tvls.setup.draft import Drafting, Slot, drafted, slots, takes_no_init
from tvls.setup.findings import Finding
from tvls.setup.inside import walk
from tvls.setup.keys import show_key
from tvls.setup.profile import Profile, check_call, check_framework, check_parts
from tvls.setup.required import TargetLike, framework_of


def inline_profile(target: TargetLike, setup: InlineSetup) -> Profile:
    """The profile that `setup` describes for `target`, checked as a saved one is. Raises TvlsError, `setupInvalid`."""
    found: list[Finding] = []
    framework = (
        framework_of(target.kind)
        if setup.framework is None
        else check_framework(setup.framework, ("framework",), found)
    )
    profile = check_parts(
        name=None,
        framework=framework,
        model=(target.module, target.name),
        device=setup.device,
        seed=setup.seed,
        init=check_call(_table(setup.init, target, "init"), ("init",), found),
        inputs=check_call(_table(setup.inputs, target, "inputs"), ("inputs",), found),
        at=(),
        found=found,
    )
    if profile is None:
        problems = [
            SetupProblem(key=show_key(finding.key), message=finding.message)
            for finding in found
            if finding.severity == "error"
        ]
        raise TvlsError(
            "setupInvalid",
            f"The setup of {target.name} has a mistake: {problems[0].message}",
            f"Correct {problems[0].key}.",
            problems=problems,
        )
    return profile


def _table(call: CallSetup, target: TargetLike, part: str) -> dict[str, Any]:
    """The call, with the objects that need nothing stated: those of classes whose fields all have defaults."""
    table = msgspec.structs.asdict(call)
    if call.factory is not None or (part == "init" and takes_no_init(target)):
        return table
    made = {slot.parameter.name: _whole(slot, target) for slot in slots(target, part, table) if not slot.given}
    return {**table, "kwargs": {**table["kwargs"], **{name: value for name, value in made.items() if value}}}


def _whole(slot: Slot, target: TargetLike) -> Any:
    """The object that a parameter needs, where nothing of it has to be stated."""
    if slot.hint.type != "object" or slot.parameter.default is not None or slot.parameter.kind == "positional_only":
        return None
    value = drafted(slot.hint, slot.parameter.name, slot.key, Drafting.of(target))
    return value if all(_is_stated(item) for _, item in walk(value, slot.key)) else None


def _is_stated(value: Any) -> bool:
    match value:
        case {"kind": "ask" | "tensor"}:
            return False
        case _:
            return True
