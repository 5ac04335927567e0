"""From a target to its capture: the one pipeline behind the lens, the request and the command line.

The gates come in the order in which a person can act on them, and nothing of the workspace runs before the first:
trust, saved source, setup, interpreter; then the worker with its deadline.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

import msgspec

from tvls.analysis.client import Analysis
from tvls.analysis.types import FoundTarget
from tvls.capture.document import Capture, Failure, TargetKind
from tvls.capture.encoding import digest
from tvls.captures import CaptureStore, FailedTrace, OpenCapture, Origin, Traced
from tvls.environments.choices import Choices
from tvls.environments.find import Interpreter, Selected, eligible, find
from tvls.environments.probe import Environment, fingerprint, probe, require
from tvls.failures import failure_error
from tvls.freshness import FileDigests, Snapshot, check, unsaved
from tvls.graph.index import GraphIndex
from tvls.host import Host
from tvls.protocol.errors import TvlsError
from tvls.protocol.types import Stale
from tvls.settings import Settings
from tvls.setup.profile import Profile, walk_call
from tvls.setup.read import SETUP_FILE, SetupFile
from tvls.setup.required import missing
from tvls.tracing.pool import WorkerPool
from tvls.trust import TrustStore
from tvls.uris import to_uri


@dataclass
class Tools:
    """The long-lived parts that opening works with."""

    host: Host
    settings: Settings
    analysis: Analysis
    trust: TrustStore
    choices: Choices
    pool: WorkerPool
    digests: FileDigests
    captures: CaptureStore
    buffers: dict[Path, str]
    """Text of the open buffers."""
    folders: list[Path]
    """Workspace folders."""


@dataclass(frozen=True)
class Request:
    """What to open, with everything that names have been resolved to."""

    folder: Path
    target: FoundTarget | None
    """None for a profile whose model is not a discovered target of the workspace."""
    profile: Profile
    setup: SetupFile | None = None
    """The file that the profile comes from."""
    measure: frozenset[str] = frozenset()
    """What is measured while the model runs."""


_ANY_OF: Final[dict[str, TargetKind]] = {"jax": "jax.function", "torch": "torch.module"}
"""For a model that was not discovered: what its framework needs at least."""


async def open_request(
    tools: Tools, request: Request, refresh: bool, progress: Callable[[str], None], may_ask: bool = True
) -> tuple[OpenCapture, bool]:
    """Passes the gates and traces. Returns the capture and whether a fresh one was reused. Raises TvlsError."""
    candidates = eligible(find(request.folder, selected(tools, request.folder)))
    if may_ask:
        await pass_trust(
            tools, request.folder, shlex.join(candidates[0].command) if candidates else "no interpreter found"
        )
    path = Path(request.target.path) if request.target else None
    _require_trust(tools, request.folder, path)
    name = request.target.name if request.target else request.profile.qualname
    previous = tools.captures.newest(path, name)
    known = [request.folder / source["path"] for source in previous.capture["sources"]] if previous else []
    setup_file = [request.folder / SETUP_FILE] if request.profile.name is not None else []
    _refuse_unsaved(tools, [p for p in (path, *known) if p] + setup_file)
    _refuse_measuring(request)
    try:
        _refuse_incomplete(request)
    except TvlsError as error:
        if error.kind == "setupRequired":
            progress("environment")
            await _add_environment_fault(tools, request, candidates, error)
        raise
    _refuse_large_inputs(tools.settings, request)
    progress("environment")
    environment = await _environment(tools, request, candidates)
    origin = Origin(request.folder, path, name, request.profile, environment, request.measure)
    reusable = None if refresh else tools.captures.same_setup(origin)
    if reusable is not None and staleness(tools, reusable, request.profile.digest) is None:
        tools.captures.add(reusable)
        return reusable, True
    before = environment.fingerprint  # just asked for, and equal
    try:
        document = await tools.pool.trace(
            environment,
            _trace_request(request, tools.settings),
            on_progress=progress,
            on_output=lambda text: tools.host.log("info", f"{name} printed while it was traced:\n{text}"),
        )
    finally:
        _require_trust(tools, request.folder, path)  # it may have been withdrawn meanwhile
    opened = _outcome(tools, origin, document, before)
    await asyncio.to_thread(
        opened.index.prepare
    )  # for a large graph it takes seconds; views and hovers are instant then
    tools.captures.add(opened)
    return opened, False


def staleness(tools: Tools, outcome: OpenCapture | FailedTrace, profile_digest: str | None) -> Stale | None:
    """How what was traced differs from what is there now; None where nothing does.

    `profile_digest` is that of the setup as it is now, None where it is gone.
    """
    origin = outcome.origin
    return check(
        outcome.snapshot,
        origin.folder,
        tools.buffers,
        profile_digest,
        fingerprint(origin.environment) if _still_selected(tools, origin) else None,
        None,  # versions cannot change without the environment's fingerprint
        tools.digests,
    )


def saved_state(tools: Tools, outcome: OpenCapture | FailedTrace, profile_digest: str | None) -> str | None:
    """A word for what a trace would find now, which changes with it; None while a traced file has unsaved changes."""
    folder, sources = outcome.origin.folder, outcome.snapshot.sources
    if unsaved(tools.buffers, [folder / source for source in sources], tools.digests):
        return None
    parts = [profile_digest or "", *(tools.digests.digest(folder / source) or "" for source in sources)]
    return digest("\n".join(parts).encode())


def _still_selected(tools: Tools, origin: Origin) -> bool:
    """Whether the capture Python of a trace is the one that a new trace would take, as far as somebody chose it."""
    chosen = selected(tools, origin.folder)
    command = origin.environment.command
    if not chosen or chosen[0].command == command:
        return True
    return find(origin.folder, chosen[:1], {})[0].command == command  # as found: a chosen path may be relative


def selected(tools: Tools, folder: Path) -> list[Selected]:
    """What somebody said about the capture Python of a folder, the most decisive first."""
    configured = tools.settings.interpreter_command()
    by_setting = [Selected(tuple(configured), "configured")] if configured else []
    return by_setting + tools.choices.of(folder)


async def pass_trust(tools: Tools, folder: Path, interpreter: str) -> None:
    if tools.trust.is_trusted(folder):
        return
    if await tools.host.ask_trust(folder, interpreter):
        grant = tools.trust.grant(folder)
        if grant.note:
            tools.host.log("warning", grant.note)
        return
    _require_trust(tools, folder, None)


def _require_trust(tools: Tools, folder: Path, path: Path | None) -> None:
    """The folder, and the file where it leads to by links."""
    untrusted = next((p for p in (folder, path) if p is not None and not tools.trust.is_trusted(p)), None)
    if untrusted is None:
        return
    real = Path(os.path.realpath(untrusted))
    if untrusted is folder:
        message = f"{folder} is not trusted, so nothing of it is run."
    else:
        message = f"{untrusted} is a link out of the trusted folder, to {real}, so nothing of it is run."
        folder = real.parent
    raise TvlsError(
        "notTrusted",
        message,
        "Trust the folder if you trust the people who wrote what is in it; opening a graph runs its code.",
        folder=folder.as_uri(),
    )


def refuse_untrusted_home(tools: Tools, folder: Path, command: Sequence[str]) -> None:
    """TvlsError `notTrusted` where the folder, or the workspace folder that the interpreter lies in, is not trusted."""
    _require_trust(tools, folder, None)
    home = _untrusted_home(tools, command)
    if home is not None:
        _require_trust(tools, home, None)


def _untrusted_home(tools: Tools, command: Sequence[str]) -> Path | None:
    """The workspace folder that an interpreter lies in, where it is not trusted: starting it would run its code."""
    for word in command:
        program = Path(word)
        if not program.is_absolute():
            continue
        places = (program, Path(os.path.realpath(program.parent)) / program.name)
        for folder in tools.folders:
            real = Path(os.path.realpath(folder))
            inside = any(place.is_relative_to(home) for place in places for home in (folder, real))
            if inside and not tools.trust.is_trusted(folder):
                return folder
    return None


def _refuse_unsaved(tools: Tools, paths: list[Path]) -> None:
    changed = unsaved(tools.buffers, paths, tools.digests)
    if changed:
        names = ", ".join(path.name for path in changed)
        raise TvlsError(
            "unsavedSource",
            f"There are unsaved changes in {names}. A graph is traced from saved files.",
            "Save and open the graph again.",
            files=[path.as_uri() for path in changed],
        )


def _refuse_measuring(request: Request) -> None:
    if request.measure and request.profile.framework != "torch":
        raise TvlsError(
            "setupInvalid",
            "A JAX program is traced by shapes and never run, so there is nothing to measure.",
            "Open it without measurements.",
        )


def _refuse_incomplete(request: Request) -> None:
    profile = request.profile
    name = request.target.name if request.target else profile.qualname
    wanted, problems = missing(request.target, request.profile, request.setup)
    if problems:
        raise TvlsError(
            "setupInvalid",
            f"The setup does not fit {name}: {problems[0].message}",
            f"Correct {problems[0].key}.",
            problems=problems,
        )
    required = [value for value in wanted if value.required]
    if required:
        names = ", ".join(value.parameter for value in required)
        raise TvlsError(
            "setupRequired",
            f"{name} needs values that no setup gives: {names}.",
            f"Complete profile {profile.name!r} in {SETUP_FILE}."
            if profile.name
            else f"State them in the form, or in a profile for {profile.model} in {SETUP_FILE}.",
            missing=wanted,
            uri=to_uri(request.folder / SETUP_FILE) if profile.name else None,
        )


def _refuse_large_inputs(settings: Settings, request: Request) -> None:
    """The worker checks too; here nobody has to wait for it."""
    tensors = [tensor for _, tensor in walk_call(request.profile.inputs, ()) if "shape" in tensor]
    limits = settings.limits
    for limit, found, allowed in (
        ("inputArrays", len(tensors), limits.input_arrays),
        ("inputElements", sum(prod(tensor["shape"]) for tensor in tensors), limits.input_elements),
    ):
        if found > allowed:
            raise TvlsError(
                "limitExceeded",
                f"The inputs of {request.profile.qualname} are too large: {found:,} {_LIMITED[limit]}; "
                f"the limit is {allowed:,}.",
                f"Make them smaller, or raise the setting `tvls.limits.{limit}` (on the command line: "
                f"--limit {limit}={found}). An inputs factory has no such limit.",
                limit=limit,
            )


_LIMITED: Final = {"inputArrays": "arrays", "inputElements": "elements in all"}


async def _environment(tools: Tools, request: Request, candidates: Sequence[Interpreter]) -> Environment:
    """The first interpreter that can capture the target. A configured one is the only one that counts."""
    if not candidates:
        raise TvlsError(
            "environmentInvalid",
            f"No Python interpreter was found for {request.folder}.",
            "Create a virtual environment `.venv` in the folder, or set `tvls.interpreter`.",
            folder=request.folder.as_uri(),
        )
    kind = request.target.kind if request.target else _ANY_OF[request.profile.framework]
    first: TvlsError | None = None
    for candidate in candidates:
        try:
            refuse_untrusted_home(tools, request.folder, candidate.command)
            environment = await probe(candidate.command, str(request.folder))
            _require_trust(tools, request.folder, None)
            require(environment, kind)
        except TvlsError as error:
            first = first or error
            continue
        return environment
    assert first is not None  # noqa: S101  (there was a candidate)
    raise first


async def _add_environment_fault(
    tools: Tools, request: Request, candidates: Sequence[Interpreter], error: TvlsError
) -> None:
    """Tells with a setup that lacks values that no Python could trace it yet: nobody fills in a form for nothing."""
    try:
        await _environment(tools, request, candidates)
    except TvlsError as fault:
        if fault.kind != "environmentInvalid":
            return
        error.message = f"{error.message} {fault.message}"
        error.data = msgspec.structs.replace(
            error.data,
            next_step=f"{error.data.next_step} {fault.data.next_step}",
            folder=fault.data.folder,
            interpreter=fault.data.interpreter,
            requirements=fault.data.requirements,
        )


def _trace_request(request: Request, settings: Settings) -> dict[str, Any]:
    target: dict[str, Any]
    roots = [request.folder]
    if request.target is None:
        target = {
            "kind": _ANY_OF[request.profile.framework],  # without a path the worker looks at the object itself
            "module": request.profile.module,
            "qualname": request.profile.qualname,
        }
    else:
        found = request.target
        path = Path(found.path)
        target = {
            "kind": found.kind,
            "module": found.module,
            "qualname": found.name,
            "path": path.relative_to(request.folder).as_posix(),
            "line": found.line,
        }
        roots.insert(0, Path(found.root))
    if (request.folder / "src").is_dir():
        roots.append(request.folder / "src")
    return {
        "workspace": str(request.folder),
        "sysPath": list(dict.fromkeys(str(root) for root in roots)),
        "target": target,
        "setup": request.profile.to_worker() | ({"measure": sorted(request.measure)} if request.measure else {}),
        "limits": asdict(settings.capture_limits()),
    }


def _outcome(tools: Tools, origin: Origin, document: Capture | Failure, environment: str) -> OpenCapture:
    """The outcome of a trace with what it depended on. Raises the error of a failure, which is put into the store."""
    snapshot = Snapshot(
        sources={source["path"]: source["digest"] for source in document["sources"]},
        profile=origin.profile.digest,
        environment=environment,
        libraries=document["versions"],
    )
    traced = Traced(origin.folder, _texts(origin.folder, snapshot.sources, tools.digests))
    if "failure" in document:
        failure = document
        error = failure_error(failure)
        tools.captures.add_failure(FailedTrace(failure, origin, snapshot, traced, error))
        raise error
    _refuse_unsaved(tools, [origin.folder / source for source in snapshot.sources])
    return OpenCapture(document, origin, snapshot, traced, GraphIndex(document))


def _texts(folder: Path, sources: Mapping[str, str], digests: FileDigests) -> dict[str, list[str]]:
    """Lines of those Python sources that are still on disk as they were traced."""
    texts: dict[str, list[str]] = {}
    for relative, wanted in sources.items():
        path = folder / relative
        if path.suffix == ".py" and digests.digest(path) == wanted:
            texts[relative] = digests.text(path).split("\n")
    return texts
