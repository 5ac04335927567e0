"""One trace: from a request to the bytes of a capture or of a failure."""

from __future__ import annotations

import bisect
import dataclasses
import importlib
import importlib.machinery
import os
import platform
import random
import sys
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Callable, Dict, Generator, List, Mapping, NamedTuple, Optional, Tuple, cast

from tvls.capture.document import FORMAT_VERSION, Failure, Target
from tvls.capture.encoding import canonical_json, digest
from tvls.capture.limits import LimitExceeded, Limits
from tvls.worker import containment, factories, failures, frameworks
from tvls.worker.frames import FrameTable, make_frame
from tvls.worker.job import Job, SetupFault
from tvls.worker.modules import file_of
from tvls.worker.places import Places
from tvls.worker.probe import Probe, Seeing
from tvls.worker.sources import SourceLog


@dataclasses.dataclass
class Preloaded:
    """What a warm process has imported: names by file, and files of top-level names that are not standard."""

    files: Dict[str, str]
    tops: Dict[str, Optional[str]]
    sorted_files: List[str] = dataclasses.field(default_factory=lambda: [])  # noqa: PIE807
    """Names of `files` in order: a workspace's own stand beside each other."""


def run(request: Mapping[str, Any], progress: Callable[[str], None], preloaded: Optional[Preloaded] = None) -> bytes:
    """Trace what `request` names (see "Between daemon and worker" in docs/architecture.md); never raises for what the
    user's code does. `progress` hears of each phase as it begins. `preloaded` has nothing of the workspace."""
    workspace: str = request["workspace"]
    setup: Dict[str, Any] = request["setup"]
    limits = make_limits(request.get("limits", {}))
    places = Places(workspace)
    sources = SourceLog(places, loaded=preloaded is None)
    frames = FrameTable(workspace, places)
    state = _State()

    @contextmanager
    def phase(name: str) -> Generator[None]:
        outer = state.phase
        state.enter(name)
        progress(name)
        yield
        state.enter(outer)  # not after an exception: a failure names the phase that it began in

    def load_factory(spec: Mapping[str, Any]) -> object:
        # a factory is called in the phase that is named like its part of the setup
        key = f"{state.phase}.factory"
        return factories.call_factory(workspace, request["sysPath"], spec, key, state.made_by, find_class)

    def find_class(name: str, key: str) -> "type[Any]":
        return factories.find_class(places, request["sysPath"], name, key)

    sources.install()
    try:
        # before the framework is loaded: what that imports may be the workspace, where its own libraries are developed
        probe = state.probe = Probe(places, lambda value: state.adapter.describe(value), sources.text)
        sources.on_code = probe.add_code
        sources.on_text = probe.instrument
        progress("start")
        adapter, versions = load_framework(setup["framework"])
        state.adapter = adapter
        progress("import")
        state.versions.update(versions)
        random.seed(setup["seed"])  # equal setup, equal capture: also for code that draws numbers while it is traced
        with adapter.device_scope(setup["device"]):
            target, owner = import_target(request["target"], workspace)
            # the source says what a target seems to be, the object what it is
            request = {**request, "target": {**request["target"], "kind": adapter.kind_of(target, owner)}}
            job = Job(
                target=target,
                kind=request["target"]["kind"],
                name=request["target"]["qualname"],
                setup=setup,
                limits=limits,
                frames=frames,
                load_factory=load_factory,
                find_class=find_class,
                phase=phase,
                owner=owner,
            )
            probe.start()
            try:
                captured = adapter.capture(job)
            finally:
                probe.stop()
        state.enter("encode")
        document = _capture(request, captured, state.versions)
        document["sources"] = sources.table()
        document["frames"] = frames.table()
        document.update(probe.seeing()._asdict())
        data = _encode(document)
        _check_size(data, limits)
        return data
    except BaseException as fault:  # noqa: BLE001 - also SystemExit and KeyboardInterrupt of user code
        sys.settrace(None)  # what user code hooked in would run, and raise, in the report as well
        sys.setprofile(None)
        containment.lift_memory_limit()
        return canonical_json(cast("Dict[str, Any]", _failure(request, fault, state, sources, limits)))


class _State:
    """How far the trace has come."""

    def __init__(self) -> None:
        self.phase = "import"
        self.versions = {"python": platform.python_version()}
        self.probe: Optional[Probe] = None
        self.adapter: Any = None
        self.made_by: Dict[str, factories.Place] = {}
        """Factories that were called, by their key in the setup."""

    def enter(self, phase: str) -> None:
        self.phase = phase
        if self.probe is not None:
            self.probe.phase = phase


class _Loaded(NamedTuple):
    adapter: Any
    versions: Dict[str, str]


_loaded: Dict[str, _Loaded] = {}


def load_framework(name: str) -> _Loaded:
    """The adapter of a framework, with the framework imported once. Raises SetupFault for an unknown name."""
    if name in _loaded:
        return _loaded[name]
    module = frameworks.FRAMEWORKS.get(name)
    if module is None:
        known = ", ".join(sorted(frameworks.FRAMEWORKS))
        raise SetupFault("setup", f"no framework {name!r}; there is {known}", "framework")
    try:
        adapter = importlib.import_module(module)
        adapter.preload()
        _loaded[name] = _Loaded(adapter, adapter.versions())
    except ImportError as fault:
        raise failures.FrameworkMissing(f"{name} cannot be imported: {fault}") from fault
    return _loaded[name]


def _check_size(data: bytes, limits: Limits) -> None:
    if len(data) > limits.encoded_bytes:
        raise LimitExceeded("encoded_bytes", limits.encoded_bytes, len(data))


def make_limits(fields: Mapping[str, Any]) -> Limits:
    known = {field.name for field in dataclasses.fields(Limits)}
    return Limits(**{name: value for name, value in fields.items() if name in known})


# --- the target ------------------------------------------------------------------------------------------------------


def prepare_imports(workspace: str, roots: List[str], path: Optional[str] = None) -> None:
    """Let the process stand in the workspace as a script of it would: folder, then import roots in front.

    The folder of the target's file, at `path`, comes last: `core/raft.py` may import `core/update.py` as `update`, as
    where it is run by its path, and no file beside it hides what is found without it.
    """
    os.chdir(workspace)
    # Entries of PYTHONPATH that are relative mean relative to the folder that Python is started in.
    relative = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and not os.path.isabs(path)]
    front = [*roots, *(os.path.normpath(os.path.join(workspace, path)) for path in relative)]
    last = [] if path is None else [os.path.dirname(os.path.join(workspace, *path.split("/")))]
    sys.path[:] = list(dict.fromkeys([*front, *sys.path, *last]))
    importlib.invalidate_caches()


def preloaded_modules() -> Preloaded:
    result = Preloaded({}, {})
    for name, module in list(sys.modules.items()):
        filename = file_of(module)
        # Our own packages stand in the workspace when it is our own repository; they are the worker, not the model.
        if name.partition(".")[0] in ("tvls", "__main__"):
            continue
        if filename is not None:
            filename = os.path.normpath(filename)
            result.files[filename] = name
        if "." not in name and name not in sys.stdlib_module_names:
            result.tops[name] = filename
    result.sorted_files = sorted(result.files)
    return result


def preloaded_from(preloaded: Preloaded, workspace: str, roots: List[str]) -> Optional[str]:
    """Name of a preloaded module that the workspace itself provides, or None.

    A warm process holds such a module as it was then, and not as the workspace has it now.
    """
    places = Places(workspace)
    tops = preloaded.tops
    for root in places.roots:
        for at in range(bisect.bisect_left(preloaded.sorted_files, root), len(preloaded.sorted_files)):
            filename = preloaded.sorted_files[at]
            if not filename.startswith(root):
                break
            if places.workspace_path(filename) is not None:
                return preloaded.files[filename]
    for root in roots:
        try:
            entries = os.listdir(root)
        except OSError:  # a root that is not there provides nothing
            continue
        for name in {entry.partition(".")[0] for entry in entries} & tops.keys():
            spec = importlib.machinery.PathFinder.find_spec(name, [root])
            # A folder without `__init__.py` gives way to a regular package that stands later on the path.
            if spec is not None and spec.origin is not None and not factories.same_file(tops[name], spec.origin):
                return name
    return None


def import_target(target: Mapping[str, Any], workspace: str) -> Tuple[object, object]:
    """The object that `target` names, and what holds it under that name: its module, or a class.

    SetupFault where the module is another file's, or has no such name.
    """
    name: str = target["module"]
    module = _import_module(name, target.get("path"), workspace)
    value: object = module
    owner: object = module
    for part in target["qualname"].split("."):
        try:
            owner, value = value, getattr(value, part)
        except AttributeError:
            where = target.get("path", name)
            raise SetupFault("setup", f"{where} has no {target['qualname']!r} once it is imported", "model") from None
    return value, owner


def _import_module(name: str, path: Optional[str], workspace: str) -> ModuleType:
    if path is None:
        return importlib.import_module(name)
    filename = os.path.join(workspace, *path.split("/"))
    if "." not in name and name in sys.modules and not _is_from(sys.modules[name], filename):
        # The workspace has a `types.py` or a `random.py` and the standard library's is loaded already. As for a script
        # in that folder the workspace's comes first.
        return factories.load_as(name, filename)
    module = importlib.import_module(name)
    if not _is_from(module, filename):
        raise _finds_instead(name, file_of(module), path, workspace)
    return module


def _is_from(module: object, filename: str) -> bool:
    return factories.same_file(file_of(module, ask=True), filename)  # it may have put something else in its own place


def _finds_instead(name: str, other: Optional[str], path: str, workspace: str) -> SetupFault:
    """An import found another file than the workspace's own, which may well have the same name in its package."""
    hint = None
    if other is None:
        instead = f"a package without a file, not the workspace's {path}"
    else:
        found, own = Places(workspace).portable(other)
        instead = f"the workspace's {found}, not its {path}" if own else f"{found} of an installed package"
        if not own:
            instead += f", not the workspace's {path}"
            hint = (
                "a folder without __init__.py gives way to an installed package of its name: add one, or install the "
                "workspace's package in its place"
            )
    return SetupFault("setup", f"importing {name!r} finds {instead}", "model", hint=hint)


# --- documents -------------------------------------------------------------------------------------------------------


def _capture(request: Mapping[str, Any], captured: Dict[str, Any], versions: Dict[str, str]) -> Dict[str, Any]:
    setup = request["setup"]
    record = {name: setup[name] for name in ("digest", "device", "mode", "seed")}
    if setup.get("profile") is not None:
        record["profile"] = setup["profile"]
    document = dict(captured)
    record["static"] = document.pop("static")
    record["notes"] = document.pop("notes")
    document.update(
        formatVersion=FORMAT_VERSION,
        framework=setup["framework"],
        versions=versions,
        target=_target(request),
        setup=record,
    )
    return document


def _target(request: Mapping[str, Any]) -> Target:
    names = ("kind", "module", "qualname", "path", "line")
    return cast("Target", {name: request["target"][name] for name in names if request["target"].get(name) is not None})


def _encode(document: Dict[str, Any]) -> bytes:
    """Canonical bytes with the capture's identity in them, at the price of one encoding instead of two."""
    before = canonical_json({key: value for key, value in document.items() if key < "captureId"})
    after = canonical_json({key: value for key, value in document.items() if key > "captureId"})
    identity = digest(before[:-1] + b"," + after[1:])
    return before[:-1] + b',"captureId":"' + identity.encode("ascii") + b'",' + after[1:]


def _failure(
    request: Mapping[str, Any], fault: BaseException, state: _State, sources: SourceLog, limits: Limits
) -> Failure:
    detail = failures.describe(fault, state.phase, sources.places, limits, state.adapter, state.made_by)
    hint = failures.hint_of_tables(detail, request["setup"])
    if hint is not None:
        detail["hint"] = hint
    target = _target(request)
    is_own = not detail["frames"]
    calls_it = detail["kind"] == "exception" and detail["phase"] in ("init", "trace")
    if calls_it and "path" in target and "line" in target and not any(frame["workspace"] for frame in detail["frames"]):
        # a call that does not fit, which a library refuses before any line of the target runs
        detail["frames"].insert(0, make_frame((target["path"], True), target["qualname"], target["line"]))
    if calls_it and is_own and failures.lacks_argument(detail):
        part, option = ("init", "--init") if detail["phase"] == "init" else ("inputs", "--input")
        detail.setdefault("hint", f"state it in `{part}` of the setup ({option} NAME=VALUE), or let a factory make it")
    seen = Seeing([], [], []) if state.probe is None else state.probe.seeing()
    return {
        "formatVersion": FORMAT_VERSION,
        "framework": request["setup"]["framework"],
        "versions": state.versions,
        "target": target,
        "failure": detail,
        "sources": sources.table(),
        "observations": seen.observations,
        "reads": seen.reads,
        "structures": seen.structures,
    }
