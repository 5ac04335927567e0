"""A setup that comes with a request or a command line instead of from a file."""

from __future__ import annotations

from typing import Any

import msgspec

from tvls.protocol.errors import TvlsError
from tvls.protocol.types import CallSetup, InlineSetup, SetupProblem
from tvls.setup.findings import Finding
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
        init=check_call(_table(setup.init), ("init",), found),
        inputs=check_call(_table(setup.inputs), ("inputs",), found),
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


def _table(call: CallSetup) -> dict[str, Any]:
    return msgspec.structs.asdict(call)
