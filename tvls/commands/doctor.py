"""`tvls doctor`: what is found, what is missing, what to do."""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import tvls
from tvls.analysis.client import AnalysisError
from tvls.analysis.discover import discover
from tvls.capture.document import TargetKind
from tvls.commands.exits import DONE, MISSING
from tvls.commands.terminal import refuse, settings, workspace_folder
from tvls.environments.check import check
from tvls.environments.choices import Choices
from tvls.environments.find import Selected, eligible, explain, find, names_a_python, program_fault
from tvls.environments.probe import NEEDED, probe
from tvls.freshness import FileDigests
from tvls.printable import printable_text
from tvls.protocol import types_environment as te
from tvls.protocol.errors import TvlsError
from tvls.setup.read import SETUP_FILE, read_setup
from tvls.setup.required import framework_of
from tvls.trust import TrustStore

_ANOTHER = "Choose another with `tvls env use PYTHON`, or name one with --python; `tvls env list` has what was found."
_MARKS = {"ok": "ok     ", "note": "note   ", "missing": "MISSING"}


@dataclass(frozen=True)
class Finding:
    state: Literal["ok", "note", "missing"]
    what: str
    next_step: str | None = None


async def doctor_command(arguments: argparse.Namespace) -> int:
    try:
        folder = workspace_folder(arguments.folder, Path.cwd())
        configured = settings(arguments.python).interpreter_command()
    except ValueError as error:
        return refuse(str(error), arguments.json)
    findings = [
        Finding("ok", f"tvls {tvls.__version__} on Python {platform.python_version()} ({sys.platform})"),
        Finding("ok", f"workspace folder {folder}"),
        *_setup(folder),
        *await _interpreter(folder, configured, arguments.trust),
    ]
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        for finding in findings:
            print(printable_text(f"{_MARKS[finding.state]} {finding.what}"))
            if finding.next_step:
                print(printable_text(f"        {finding.next_step}"))
    return MISSING if any(finding.state == "missing" for finding in findings) else DONE


def _setup(folder: Path) -> list[Finding]:
    path = folder / SETUP_FILE
    text = FileDigests().text_or_none(path)
    if text is None and path.exists():
        return [Finding("missing", f"{path} is no readable file", "Make it one.")]
    if text is None:
        return [Finding("note", f"no {SETUP_FILE}", "Not needed for a model whose inputs are given when it is opened.")]
    setup = read_setup(text)
    findings = [Finding("ok", f"{SETUP_FILE}: {len(setup.profiles)} profiles ({', '.join(setup.profiles) or 'none'})")]
    for problem in setup.problems:
        line = f"line {problem.span.line + 1}: " if problem.span else ""
        key = f"{problem.key}: " if problem.key else ""
        state = "missing" if problem.severity == "error" else "note"
        findings.append(Finding(state, f"{SETUP_FILE} {line}{key}{problem.message}", f"Correct it in {SETUP_FILE}."))
    return findings


async def _interpreter(folder: Path, configured: list[str] | None, trust_now: bool) -> list[Finding]:
    by_option = [Selected(tuple(configured), "configured")] if configured else []
    candidates = find(folder, by_option + Choices().of(folder))
    usable = eligible(candidates)
    if not usable:
        return [
            Finding(
                "missing", "no Python interpreter found", "Create `.venv` in the folder, or name one with --python."
            )
        ]
    chosen = usable[0]
    others = [candidate for candidate in candidates if candidate != chosen]
    named = f"capture Python: {shlex.join(chosen.command)} ({explain(chosen, folder)})"
    findings = [
        Finding("note", f"also found: {shlex.join(other.command)} ({explain(other, folder)})") for other in others
    ]
    fault = program_fault(chosen.command)
    if fault is not None:
        return [Finding("missing", f"{named}: {fault}", _ANOTHER), *findings]
    known = names_a_python(chosen.command, chosen.python)
    works = Finding("ok", named)
    trusted = trust_now or TrustStore().is_trusted(folder)
    if not trusted:
        return [
            works if known else Finding("note", f"{named}: neither its name nor a file says that it is a Python"),
            *findings,
            Finding(
                "note",
                "the folder is not trusted, so its Python was not asked for its libraries",
                "Run `tvls doctor --trust` if you trust it; the first graph asks too.",
            ),
        ]
    try:
        info = await check(await probe(chosen.command, str(folder)))
    except TvlsError as error:
        return [Finding("missing", f"{named}: {error.message}", error.data.next_step), *findings]
    kinds, unread = await _kinds(folder)
    findings = [works, *findings, *unread]
    versions = ", ".join(f"{library.name} {library.version}" for library in info.libraries if library.version)
    findings.append(Finding("ok", f"Python {info.python}: {versions or 'none of jax, flax, torch'}"))
    if not kinds:
        findings.append(Finding("note", f"no model was found in the folder. {info.verdict}"))
    return [*findings, *_lacking(info, kinds)]


def _lacking(info: te.EnvironmentInfo, kinds: Sequence[TargetKind]) -> list[Finding]:
    """A finding for each library that models of these kinds need; a note where those of another framework open."""
    opens = {framework_of(kind) for kind in kinds if kind not in info.unusable}
    findings: dict[str, Finding] = {}
    for kind in kinds:
        needed = {*NEEDED[kind], *(["jaxlib"] if "jax" in NEEDED[kind] else [])}
        framework = framework_of(kind)
        state = "note" if opens - {framework} and framework not in opens else "missing"
        for library in info.libraries if kind in info.unusable else ():
            absent = library.state in ("missing", "tooOld")
            if library.name not in needed or library.state == "ok" or (absent and library.name == "jaxlib"):
                continue
            what = f"{info.executable}: {library.message or library.name}"
            if state == "note":
                what += f" The folder's {'PyTorch' if framework == 'torch' else 'JAX'} models cannot be opened with it."
            step = (
                "`tvls env install` shows what installing it would change; `tvls env use` chooses another Python."
                if absent
                else "Install it anew."
            )
            findings.setdefault(library.name, Finding(state, what, step))
    return list(findings.values())


async def _kinds(folder: Path) -> tuple[list[TargetKind], list[Finding]]:
    """Kinds of the models that the folder has, or its profiles have from elsewhere: they decide what Python needs."""
    profiles = read_setup(FileDigests().text_or_none(folder / SETUP_FILE) or "").profiles.values()
    try:
        targets = (await discover([folder])).targets
    except AnalysisError as error:
        return list(NEEDED), [Finding("note", f"the models of the folder could not be looked for: {error}")]
    here = {f"{target.module}:{target.name}" for target in targets}
    elsewhere = {profile.framework for profile in profiles if profile.model not in here}
    named: list[TargetKind] = ["torch.module" if framework == "torch" else "jax.function" for framework in elsewhere]
    return sorted({*named, *(target.kind for target in targets)}), []
