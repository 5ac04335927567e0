"""The application without a protocol: folders, buffers, targets, captures and what can be asked about them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import platform
import re
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Final

import msgspec

import tvls
from tvls import graph, setup_forms, setup_workspace
from tvls.analysis.client import Analysis
from tvls.analysis.faults import analysis_faults
from tvls.analysis.types import FileTargets, FoundTarget
from tvls.canvas.file import graph_page
from tvls.capture.document import Failure, Frame
from tvls.capture.encoding import canonical_json
from tvls.captures import CaptureStore, FailedTrace, OpenCapture, Origin, Traced
from tvls.definitions import named_definition, unreachable
from tvls.environments.choices import Choices
from tvls.environments.find import explain, find
from tvls.environments.sources import find_source
from tvls.failures import FailureReport, moved, report_message
from tvls.freshness import FileDigests, unsaved
from tvls.host import Host
from tvls.installing import Plans, install_plan, plan_installation
from tvls.offers import Offers
from tvls.opening import Request, Tools, open_request, saved_state, selected, staleness
from tvls.preview import preview_result
from tvls.protocol import types as t
from tvls.protocol import types_canvas as canvas
from tvls.protocol import types_environment as te
from tvls.protocol import types_setup as ts
from tvls.protocol.errors import TvlsError
from tvls.selecting import environment_info, list_interpreters, probe_interpreter, select_interpreter
from tvls.settings import Settings
from tvls.setup.inline import inline_profile
from tvls.setup.keys import show_key
from tvls.setup.language.tables import Workspace
from tvls.setup.profile import Profile
from tvls.setup.read import SETUP_FILE, Problem, SetupFile, names_for, profiles_for, read_setup
from tvls.setup.required import framework_of
from tvls.tracing.pool import WorkerPool
from tvls.trust import TrustStore
from tvls.uris import is_file_uri, to_path, to_uri


class Session:
    """One running tvls. Paths are absolute; methods named after a request take its params and give its result."""

    def __init__(self, host: Host, settings: Settings, state_dir: Path | None = None) -> None:
        self.host: Final = host
        self.settings = settings
        self.folders: list[Path] = []
        self.tools: Final = Tools(
            host=host,
            settings=settings,
            analysis=Analysis(),
            trust=TrustStore(state_dir),
            choices=Choices(state_dir),
            pool=WorkerPool(idle_seconds=settings.idle_seconds),
            digests=FileDigests(),
            captures=CaptureStore(),
            buffers={},
            folders=[],
        )
        self.plans: Final = Plans()
        self._setups: dict[Path, tuple[str, SetupFile]] = {}
        self._offers = Offers(lambda folder: environment_info(self.tools, folder))
        self._opening: dict[object, _Shared] = {}
        for folder in settings.trusted_folders:
            self._trust_for_now(folder)

    def leave_trust_to_client(self) -> None:
        """The client has a trust decision of its own: nothing that is remembered elsewhere counts beside it."""
        self.tools.trust.leave_to_client()

    def _trust_for_now(self, folder: str) -> None:
        try:
            self.tools.trust.grant(to_path(folder) if folder.startswith("file:") else Path(folder), persist=False)
        except TvlsError as error:  # a folder that is gone must not keep the others from being served
            self.host.log("warning", f"The setting trustedFolders names {folder}: {error.message}")

    async def aclose(self) -> None:
        for shared in list(self._opening.values()):
            shared.task.cancel()
        self._offers.close()
        await self.tools.pool.aclose()
        await self.tools.analysis.aclose()

    # --- what the surroundings tell ----------------------------------------------------------------------------------

    def set_settings(self, settings: Settings) -> None:
        self.settings = settings
        self.tools.settings = settings
        self.tools.pool.idle_seconds = settings.idle_seconds

    def set_folders(self, folders: list[Path]) -> None:
        self.folders = folders
        self.tools.folders = folders

    def document_changed(self, path: Path, text: str | None) -> None:
        """Text of an open buffer; None when it is closed."""
        if text is None:
            self.tools.buffers.pop(path, None)
            self.tools.analysis.forget(path)
        else:
            self.tools.buffers[path] = text
        self.host.changed()

    def files_changed(self, paths: list[Path]) -> None:
        """Files were saved, or changed outside the editor."""
        self.host.changed()

    # --- targets -----------------------------------------------------------------------------------------------------

    async def targets(self, path: Path) -> list[t.TargetInfo]:
        found = await self._targets(path)
        return [self._target_info(target, not found.parsed) for target in found.targets]

    async def list_targets(self, params: t.TargetsListParams) -> t.TargetsListResult:
        if params.text_document is not None:
            return t.TargetsListResult(targets=await self.targets(to_path(params.text_document.uri)))
        return t.TargetsListResult(targets=[self._target_info(found, False) for found in await self.found_targets()])

    async def found_targets(self) -> list[FoundTarget]:
        """Of the whole workspace, with what is not saved yet."""
        for path in unsaved(self.tools.buffers, list(self.tools.buffers), self.tools.digests):
            if path.suffix == ".py" and self.folder_of(path) is not None:
                await self._targets(path)  # its text stands for the file from now on
        with analysis_faults():
            return await self.tools.analysis.index(self.folders)

    async def _targets(self, path: Path) -> FileTargets:
        with analysis_faults():
            return await self.tools.analysis.targets(path, self.tools.buffers.get(path), self._roots(path))

    def _target_info(self, target: FoundTarget, approximate: bool) -> t.TargetInfo:
        path = Path(target.path)
        folder = self.folder_of(path)
        profiles = profiles_for(self.setup(folder), target.module, target.name) if folder else []
        return t.TargetInfo(
            uri=to_uri(path),
            name=target.name,
            kind=target.kind,
            module=target.module,
            range=self.host.location(path, target.line, None, None, None).range,
            body=self.host.location(path, target.line, 0, target.end_line, None).range,
            profiles=[profile.name for profile in profiles if profile.name],
            state=self._state(path, target.name, bool(profiles)),
            approximate=approximate,
        )

    def _state(self, path: Path, name: str, has_profile: bool) -> t.TargetState:
        failed = self.tools.captures.failure(path, name)
        if failed is not None and not self._stale(failed):  # a failure too is one of the code that was traced
            return "failed"
        newest = self.tools.captures.newest(path, name)
        if newest is not None:
            return self._freshness(newest)
        return "ready" if has_profile else "noSetup"

    async def preview(self, params: canvas.PreviewParams) -> canvas.PreviewResult:
        path, name = to_path(params.target.uri), params.target.name
        self._home(path, params.target.uri)
        target = next((item for item in await self.targets(path) if item.name == name), None)
        with analysis_faults():
            text = self.tools.buffers.get(path)
            found = target and await self.tools.analysis.declared(path, name, text, self._roots(path))
        if target is None or found is None:
            raise TvlsError(
                "targetNotFound",
                f"There is no {name!r} in {path.name}.",
                "Choose one of the models that tvls/targets/list names.",
                uri=params.target.uri,
            )
        return preview_result(self.host, path, target, found)

    # --- setup -------------------------------------------------------------------------------------------------------

    def setup(self, folder: Path) -> SetupFile:
        """Profiles of the folder: those of the open buffer, else of the file on disk."""
        text = self._setup_text(folder)
        known = self._setups.get(folder)
        if known is None or known[0] != text:
            known = (text, read_setup(text))
            self._setups[folder] = known
        return known[1]

    def _setup_text(self, folder: Path) -> str:
        path = folder / SETUP_FILE
        text = self.tools.buffers.get(path)
        return (self.tools.digests.text_or_none(path) or "") if text is None else text

    async def _setup_beside(self, folder: Path) -> SetupFile:
        """As `setup`, while others are answered: a file of thousands of profiles takes long to read."""
        text = self._setup_text(folder)
        known = self._setups.get(folder)
        if known is None or known[0] != text:
            self._setups[folder] = (text, await asyncio.to_thread(read_setup, text))
        return self.setup(folder)

    async def setup_problems(self, folder: Path) -> list[Problem]:
        """Mistakes of the setup file, and what in it does not fit the workspace."""
        setup = await self._setup_beside(folder)
        with analysis_faults():
            problems = [*setup.problems, *await setup_workspace.problems_of(self.tools, folder, setup)]
        known = {problem.key for problem in problems}
        return problems + [problem for problem in self._failed_setups(folder) if problem.key not in known]

    def _failed_setups(self, folder: Path) -> list[Problem]:
        """Traces that failed over a value of the setup file, and over no line of code."""
        setup = self.setup(folder)
        problems: list[Problem] = []
        for failed in self.tools.captures.failures():
            detail, profile = failed.failure["failure"], failed.origin.profile
            key = detail.get("key")
            if failed.origin.folder != folder or profile.name is None or key is None or self._stale(failed):
                continue
            full = f"{show_key(profile.key)}.{key}"
            problems.append(
                Problem(key=full, message=report_message(failed.failure), profile=profile.name, span=setup.locate(full))
            )
        return problems

    async def workspace_of_setup(self, folder: Path) -> Workspace:
        """What the setup file of a workspace folder can name."""
        with analysis_faults():
            return await setup_workspace.workspace_of(self.tools, folder)

    def profiles_of(self, target: t.TargetInfo) -> list[str]:
        """All profiles that are meant for a model, also those that have a mistake; it opens with the first."""
        folder = self.folder_of(to_path(target.uri))
        return names_for(self.setup(folder), target.module, target.name) if folder else []

    def profile_state(self, folder: Path, name: str) -> t.TargetState:
        """Of the newest trace of a profile."""
        for failed in self.tools.captures.failures():
            origin = failed.origin
            if (origin.folder, origin.profile.name) == (folder, name) and not self._stale(failed):
                return "failed"
        for opened in self.tools.captures:
            if opened.origin.folder == folder and opened.origin.profile.name == name:
                return self._freshness(opened)
        return "ready" if name in self.setup(folder).profiles else "noSetup"

    async def setup_draft(self, params: ts.SetupDraftParams) -> ts.SetupForm:
        """A draft is the form without changes. Meanwhile it is found out what devices there are to offer."""
        form = ts.SetupFormParams(target=params.target, profile=params.profile, folder=params.folder, new=params.new)
        drafted = await self.setup_form(form)
        self._offers.refresh(to_path(drafted.folder))
        return drafted

    async def setup_form(self, params: ts.SetupFormParams) -> ts.SetupForm:
        place = await self._setup_place(params.target, params.profile, params.folder)
        framework = framework_of(place.target.kind) if place.target else "jax"
        offer = self._offers.known(place.folder, framework)
        # A file of thousands of profiles takes seconds, in which others are answered.
        return await asyncio.to_thread(setup_forms.form_of, dataclasses.replace(place, offer=offer), params)

    async def setup_save(self, params: ts.SetupSaveParams) -> ts.SetupSaved:
        place = await self._setup_place(params.target, params.profile, params.folder)
        saving = await asyncio.to_thread(setup_forms.saving_of, place, params)
        saved = await setup_forms.save(place, saving, self.tools.buffers, self.host)
        self._setups[place.folder] = (saving.text, saving.setup)
        self.files_changed([place.folder / SETUP_FILE])
        return saved

    async def _setup_place(
        self, target: t.TargetRef | None, profile: str | None, folder: str | None
    ) -> setup_forms.Place:
        if target is not None:
            home, found = await self._named(target)
            return setup_forms.place_of(home, found, self.tools.buffers, self._text(Path(found.path)))
        homes = [to_path(folder)] if folder else self.folders
        for home in homes:
            setup = self.setup(home)
            known = setup.profiles.get(profile or "")
            model = known.model if known else setup.broken.get(profile or "")
            if profile is not None and (known or profile in setup.broken):
                module, _, qualname = (model or "").partition(":")
                found = await self._target_of(home, module, qualname)
                text = self._text(Path(found.path)) if found else None
                return setup_forms.place_of(home, found, self.tools.buffers, text)
        if profile is None:
            raise TvlsError("targetNotFound", "Neither a target nor a profile was named.", "Name one of them.")
        raise self._no_profile(profile, homes)

    # --- opening -----------------------------------------------------------------------------------------------------

    async def open(self, params: t.OpenParams, progress: Callable[[str], None], may_ask: bool = True) -> t.OpenResult:
        """Traces, or answers what is missing. Two requests for the same graph at the same time share one trace.

        `may_ask`: whether the person may be asked for trust.
        """
        request = await self._resolve(params)
        key = (self._shared_key(request, params), may_ask)
        shared = None if params.refresh else self._opening.get(key)
        if shared is None:
            task = asyncio.ensure_future(open_request(self.tools, request, params.refresh, progress, may_ask))
            shared = _Shared(task)
            # A refresh is a trace of its own: one that runs already may have read the code as it was before.
            self._opening[object() if params.refresh else key] = shared
            task.add_done_callback(lambda _: self._forget(shared))
        try:
            opened, reused = await shared.wait()
        finally:
            self.host.changed()
        return t.OpenResult(capture=self._info(opened), reused=reused)

    def _shared_key(self, request: Request, params: t.OpenParams) -> object:
        """Equal for requests that one trace answers."""
        path = to_path(params.target.uri) if params.target else None
        source = self.tools.digests.digest(path) if path else None
        chosen = selected(self.tools, request.folder)
        interpreter = chosen[0].command if chosen else ()
        name = params.target.name if params.target else ""
        profile = request.profile
        return (request.folder, path, name, profile.name, profile.digest, request.measure, source, interpreter)

    def _forget(self, shared: _Shared) -> None:
        self._opening = {key: other for key, other in self._opening.items() if other is not shared}

    async def _resolve(self, params: t.OpenParams) -> Request:
        if params.target is None:
            return await self._resolve_profile(params)
        folder, target = await self._named(params.target)
        profile = self._profile(folder, target, params)
        known = target if target.discovered else None
        setup = self.setup(folder) if profile.name else None
        return Request(folder, known, profile, setup, frozenset(params.measure))

    async def definition(self, ref: t.TargetRef) -> FoundTarget | None:
        """What a reference names; None where it names nothing, which is told where that is opened."""
        try:
            return (await self._named(ref))[1]
        except TvlsError:
            return None

    async def _named(self, ref: t.TargetRef) -> tuple[Path, FoundTarget]:
        """The folder and the definition that a reference names, be it a discovered target or not."""
        path = to_path(ref.uri)
        if not is_file_uri(ref.uri):
            raise TvlsError(
                "unsavedSource",
                f"{ref.uri} is not a file, and only files can be traced.",
                "Save it in a workspace folder, then open the graph.",
                uri=ref.uri,
            )
        folder = self._home(path, ref.uri)
        found = await self._targets(path)
        target = next((item for item in found.targets if item.name == ref.name), None)
        target = target or await self._other_definition(folder, path, ref.name, found.targets)
        if target is None:
            names = ", ".join(item.name for item in found.targets)
            where, instead = unreachable(ref.name, self._text(path) or "")
            models = f"Its models are: {names}." if names else "No model was found in it either."
            raise TvlsError(
                "targetNotFound", where or f"There is no {ref.name!r} in {path.name}.", instead or models, uri=ref.uri
            )
        return folder, target

    async def profile_names(self, params: t.OpenParams) -> list[str]:
        """The profile that a request names, else those of its target, the one that it opens with first."""
        if params.profile is not None or params.target is None:
            return [params.profile] if params.profile is not None else []
        folder, target = await self._named(params.target)
        return names_for(self.setup(folder), target.module, target.name)

    async def _other_definition(
        self, folder: Path, path: Path, name: str, found: Sequence[FoundTarget]
    ) -> FoundTarget | None:
        """A definition that is no target. TvlsError `targetNotFound` for one that cannot be a model at all."""
        plain = named_definition(path, name, self._text(path) or "", folder, found)
        if plain is None:
            return None
        with analysis_faults():
            named = await self.tools.analysis.named(path, name, self.tools.buffers.get(path), self._roots(path))
        if named.no_model:
            raise TvlsError(
                "targetNotFound",
                f"{name} is a class, and no module of Flax, Equinox or PyTorch, so there is nothing to trace.",
                "Name a module, a function, or a function that calls it.",
                uri=to_uri(path),
            )
        if named.target is None:
            return plain
        profiles = profiles_for(self.setup(folder), named.target.module, name)
        # A function whose profile is PyTorch's makes a module, and its parameters are not those of the call.
        as_torch = any(profile.framework == "torch" for profile in profiles) or plain.kind == "torch.module"
        return plain if as_torch and named.target.kind == "jax.function" else named.target

    async def _resolve_profile(self, params: t.OpenParams) -> Request:
        if params.profile is None:
            raise TvlsError("targetNotFound", "Neither a target nor a profile was named.", "Name one of them.")
        folders = [to_path(params.folder)] if params.folder else self.folders
        for folder in folders:
            profile = self.setup(folder).profiles.get(params.profile)
            if profile is not None:
                target = await self._target_of(folder, profile.module, profile.qualname)
                return Request(folder, target, profile, self.setup(folder), frozenset(params.measure))
        raise self._no_profile(params.profile, folders)

    async def _target_of(self, folder: Path, module: str, qualname: str) -> FoundTarget | None:
        """The discovered target that a profile means; None for a model of an installed library."""
        with analysis_faults():
            return await setup_workspace.target_of(self.tools, folder, module, qualname)

    def _profile(self, folder: Path, target: FoundTarget, params: t.OpenParams) -> Profile:
        """The setup that the request means: its own, the named profile, else the first of the target.

        No other takes the place of a profile that has a mistake, or of one in a file that cannot be read.
        """
        if params.setup is not None:
            return inline_profile(target, params.setup)
        setup = self.setup(folder)
        if params.profile is not None:
            profile = setup.profiles.get(params.profile)
            if profile is None:
                raise self._no_profile(params.profile, [folder])
            if profile.model != f"{target.module}:{target.name}":
                raise TvlsError(
                    "setupInvalid",
                    f"The profile {params.profile!r} is for {profile.model}, not for {target.module}:{target.name}.",
                    "Choose a profile of this target.",
                    profiles=[item.name for item in profiles_for(setup, target.module, target.name) if item.name],
                )
            return profile
        names = names_for(setup, target.module, target.name)
        if names and names[0] in setup.profiles:
            return setup.profiles[names[0]]
        if names:
            raise self._no_profile(names[0], [folder], [name for name in names if name in setup.profiles])
        if not setup.names and any(problem.severity == "error" for problem in setup.problems):
            raise _mistake(folder, SETUP_FILE, setup.problems)
        return inline_profile(target, t.InlineSetup())

    def _no_profile(self, name: str, folders: list[Path], others: Sequence[str] = ()) -> TvlsError:
        """`others`: profiles that would do instead, where the person names one."""
        for folder in folders:
            setup = self.setup(folder)
            problems = [problem for problem in setup.problems_of(name) if problem.severity == "error"]
            if problems and (name in setup.broken or not setup.profiles):
                return _mistake(folder, f"The profile {name!r}", problems, others)
        known = [profile for folder in folders for profile in self.setup(folder).profiles]
        return TvlsError(
            "setupRequired",
            f"{SETUP_FILE} has no profile {name!r}.",
            f"Its profiles are: {', '.join(known)}." if known else f"Add the profile to {SETUP_FILE}.",
            profiles=known,
        )

    # --- captures ----------------------------------------------------------------------------------------------------

    def info(self, params: t.CaptureParams) -> t.CaptureInfo:
        return self._info(self.tools.captures.get(params.capture_id))

    def info_if_open(self, capture_id: str) -> t.CaptureInfo | None:
        """None for a capture that was let go of."""
        try:
            return self.info(t.CaptureParams(capture_id=capture_id))
        except TvlsError as error:
            if error.kind != "captureGone":
                raise
            return None

    def close(self, params: t.CaptureParams) -> t.CloseResult:
        return t.CloseResult(closed=self.tools.captures.close(params.capture_id))

    def view(self, params: t.GraphViewParams) -> t.GraphViewResult:
        opened = self.tools.captures.get(params.capture_id)
        page = graph.view(
            opened.index,
            params.expanded,
            params.body,
            params.cursor,
            params.limit,
            fold=params.fold,
            instances=params.instances,
            hide=params.hide,
            structures=params.structures,
        )
        return t.GraphViewResult(
            nodes=page.nodes,
            edges=page.edges,
            total=page.total,
            next_cursor=page.next_cursor,
            noise=page.noise,
            hidden=page.hidden,
            freshness=self._freshness(opened),
            coverage=opened.capture["coverage"],
            evidence=opened.capture["evidence"],
        )

    def node(self, params: t.NodeParams) -> t.NodeDetails:
        opened = self.tools.captures.get(params.capture_id)
        found = graph.details(opened.index, params.node, params.body, freshness=self._freshness(opened))
        frames = [self._frame_info(opened, frame) for frame in found.frames]
        return msgspec.structs.replace(found.node, frames=frames, defined=self._defined(opened, params))

    def sources(self, params: t.NodeParams) -> t.SourcesResult:
        opened = self.tools.captures.get(params.capture_id)
        frames = graph.sources(opened.index, params.node, params.body)
        located = [self._frame_info(opened, frame) for frame in frames]
        return t.SourcesResult(frames=located, defined=self._defined(opened, params), freshness=self._freshness(opened))

    def nodes_at(self, params: t.NodesAtParams) -> t.NodesAtResult:
        path = to_path(params.text_document.uri)
        line, column = self.host.position_to_bytes(path, params.position)
        asked = [self.tools.captures.get(params.capture_id)] if params.capture_id else list(self.tools.captures)
        nodes: list[t.NodeHit] = []
        total = 0
        for opened in asked:
            relative = self._relative(opened.traced, path)
            traced_line = self._traced_line(opened.traced, relative, path, line) if relative else None
            if relative and traced_line:
                hits = graph.nodes_at(opened.index, relative, traced_line, column)
                nodes += hits.nodes
                total += hits.total
        return t.NodesAtResult(nodes=nodes, total=total)

    def opened(self, capture_id: str) -> OpenCapture:
        return self.tools.captures.get(capture_id)

    def newest(self, folder: Path, path: Path | None, name: str, profile: str | None) -> OpenCapture | None:
        """The newest capture of a model by one profile."""
        return self.tools.captures.newest_of(folder, path, name, profile)

    def is_source(self, capture_id: str, path: Path) -> bool:
        """Whether an open capture was traced from this file."""
        opened = next((opened for opened in self.tools.captures if opened.capture["captureId"] == capture_id), None)
        return opened is not None and self._relative(opened.traced, path) is not None

    def fold(self, params: canvas.FoldParams) -> canvas.FoldResult:
        opened = self.tools.captures.get(params.capture_id)
        return graph.fold_details(opened.index, params.node, params.body)

    async def compare(self, params: canvas.CompareParams) -> canvas.CompareResult:
        before = self.tools.captures.get(params.before).index
        after = self.tools.captures.get(params.after).index
        return await asyncio.to_thread(graph.compare, before, after, params.limit)

    def search(self, params: t.SearchParams) -> t.SearchResult:
        opened = self.tools.captures.get(params.capture_id)
        found = graph.search(opened.index, params.query, params.cursor, params.limit)
        return t.SearchResult(nodes=found.nodes, total=found.total, next_cursor=found.next_cursor)

    async def export(self, params: t.ExportParams) -> t.ExportResult:
        opened = self.tools.captures.get(params.capture_id)
        stem = opened.origin.name.replace(".", "_")
        if params.format == "outline":
            return t.ExportResult(
                text=graph.outline(opened.capture, freshness=self._freshness(opened)), suggested_name=f"{stem}.txt"
            )
        if params.format == "html":
            text = await asyncio.to_thread(graph_page, opened.index, self._info(opened), f"{stem}.json")
            return t.ExportResult(text=text, suggested_name=f"{stem}.html")
        return t.ExportResult(text=canonical_json(opened.capture).decode(), suggested_name=f"{stem}.json")

    def hover(self, path: Path, line: int, byte_column: int, line_text: str) -> graph.HoverText | None:
        """What was seen at this place: by a trace that failed with the code as it is, else by the newest capture."""
        for outcome, asked in self._outcomes():
            relative = self._relative(outcome.traced, path)
            traced_line = self._traced_line(outcome.traced, relative, path, line) if relative else None
            if relative and traced_line:
                lines = outcome.traced.texts[relative]
                freshness = self._freshness(outcome)
                text = graph.hover(asked, relative, traced_line, byte_column, line_text, freshness, lines)
                if text is not None:
                    return text
        return None

    def hints(self, path: Path, first: int, last: int) -> list[graph.Hint]:
        """Shapes after the names that 1-based lines assign; of each line, what the first trace saw that has it."""
        found: dict[int, list[graph.Hint]] = {}
        for outcome, asked in self._outcomes():
            relative = self._relative(outcome.traced, path)
            lines = outcome.traced.map(relative, self._text(path)) if relative else None
            if relative is None or lines is None:
                continue
            here: dict[int, list[graph.Hint]] = {}
            for hint in graph.hints(asked, relative, outcome.traced.texts[relative], self._freshness(outcome)):
                line = lines.to_new(hint.line)
                if line is not None and first <= line <= last:
                    here.setdefault(line, []).append(dataclasses.replace(hint, line=line))
            for line, of_line in here.items():
                found.setdefault(line, of_line)
        return [hint for line in sorted(found) for hint in found[line]]

    def hints_depend_on(self) -> object:
        """Equal while hints are, apart from edits of the line itself."""
        return [(id(outcome), self._freshness(outcome)) for outcome, _ in self._outcomes()]

    def _outcomes(self) -> list[tuple[OpenCapture | FailedTrace, graph.GraphIndex | Failure]]:
        """Traces in the order in which they speak of a line: what failed last with the code as it is, then captures."""
        captures = self.tools.captures
        first: list[tuple[FailedTrace, Failure]] = []
        others: list[tuple[FailedTrace, Failure]] = []
        for failed in captures.failures():
            origin = failed.origin
            last = captures.failure(origin.path, origin.name) is failed and not self._stale(failed)
            (first if last else others).append((failed, failed.failure))
        return [*first, *((opened, opened.index) for opened in captures), *others]

    # --- freshness and places ----------------------------------------------------------------------------------------

    def _stale(self, outcome: OpenCapture | FailedTrace) -> t.Stale | None:
        return staleness(self.tools, outcome, self._profile_digest(outcome.origin))

    def _profile_digest(self, origin: Origin) -> str | None:
        """Of the setup as it is now."""
        if origin.profile.name is None:
            return origin.profile.digest
        current = self.setup(origin.folder).profiles.get(origin.profile.name)
        return current.digest if current else None

    def _freshness(self, outcome: OpenCapture | FailedTrace) -> t.Freshness:
        return "stale" if self._stale(outcome) else "fresh"

    def _info(self, opened: OpenCapture) -> t.CaptureInfo:
        stale = self._stale(opened)
        return msgspec.structs.replace(
            graph.capture_info(opened.index),
            uri=to_uri(opened.origin.path) if opened.origin.path else None,
            name=opened.origin.name,
            profile=opened.origin.profile.name,
            freshness="stale" if stale else "fresh",
            stale=stale,
            retraceable=saved_state(self.tools, opened, self._profile_digest(opened.origin)) if stale else None,
            previous=self.tools.captures.previous(opened),
        )

    def _relative(self, traced: Traced, path: Path) -> str | None:
        """Path of a traced source relative to the folder, where `path` is one."""
        if not path.is_relative_to(traced.folder):
            return None
        relative = path.relative_to(traced.folder).as_posix()
        return relative if relative in traced.texts else None

    def _text(self, path: Path) -> str | None:
        return self.tools.buffers.get(path) or self.tools.digests.text_or_none(path)

    def _traced_line(self, traced: Traced, relative: str, path: Path, line: int) -> int | None:
        """The traced line that the current 1-based `line` was; None for a line that was written since."""
        lines = traced.map(relative, self._text(path))
        return lines.to_old(line) if lines else None

    def _frame_info(self, opened: OpenCapture, frame: Frame) -> t.FrameInfo:
        return t.FrameInfo(
            path=frame["path"],
            workspace=frame["workspace"],
            function=frame["function"],
            line=frame["line"],
            location=self._location(opened, frame),
        )

    def _defined(self, opened: OpenCapture, params: t.NodeParams) -> t.FrameInfo | None:
        """The line of the class of a module, in the file of the frames of its methods."""
        frame = graph.method_frame(opened.index, params.node, params.body)
        if frame is None:
            return None
        if frame["workspace"]:
            lines = opened.traced.texts.get(frame["path"], [])
        else:
            file = find_source(opened.origin.environment, frame["path"])
            lines = ((file and self.tools.digests.text_or_none(file)) or "").splitlines()
        name = frame["function"].split(".")[-2]
        above = enumerate(lines[: frame["line"]], 1)
        found = [at for at, line in above if re.match(rf"\s*class\s+{name}\b", line)]
        if not found:
            return None
        place: Frame = {"path": frame["path"], "workspace": frame["workspace"], "function": name, "line": found[-1]}
        return self._frame_info(opened, place)

    def _location(self, opened: OpenCapture, frame: Frame) -> t.Location | None:
        if not frame["workspace"]:
            path = find_source(opened.origin.environment, frame["path"])
            return path and self.host.location(path, frame["line"], None, None, None)
        path = opened.origin.folder / frame["path"]
        lines = opened.traced.map(frame["path"], self._text(path))
        line = lines.to_new(frame["line"]) if lines else frame["line"]
        if line is None:  # the line itself was edited: its column says nothing any more
            return self.host.location(path, frame["line"], None, None, None)
        moved = line - frame["line"]
        end = frame.get("endLine")
        return self.host.location(
            path, line, frame.get("column"), None if end is None else end + moved, frame.get("endColumn")
        )

    def failures(self, path: Path) -> list[FailureReport]:
        """Failed traces whose stack goes through `path`, at the innermost line of it that still stands."""
        reports: list[FailureReport] = []
        for failed in self.tools.captures.failures():
            frames = [frame for frame in failed.failure["failure"]["frames"] if frame["workspace"]]
            if not frames or failed.origin.folder / frames[0]["path"] != path or self._is_overcome(failed):
                continue
            lines = failed.traced.map(frames[0]["path"], self._text(path))
            line = lines.to_new(frames[0]["line"]) if lines else None
            if line is None:
                continue
            callers = [(failed.origin.folder / frame["path"], frame) for frame in frames[1:]]
            reports.append(
                FailureReport(
                    path=path,
                    frame=moved(frames[0], line),
                    message=report_message(failed.failure),
                    kind=failed.error.kind,
                    target=failed.origin.name,
                    profile=self._profile_among_others(failed.origin),
                    callers=callers,
                    current=self._stale(failed) is None,
                )
            )
        return reports

    def _is_overcome(self, failed: FailedTrace) -> bool:
        """What failed is no more, and there is a graph of the target as it is: after undoing the edit, for one."""
        newest = self.tools.captures.newest(failed.origin.path, failed.origin.name)
        return newest is not None and self._stale(failed) is not None and self._stale(newest) is None

    def _profile_among_others(self, origin: Origin) -> str | None:
        """Name of the profile, where the model has several."""
        profile = origin.profile
        several = len(names_for(self.setup(origin.folder), profile.module, profile.qualname)) > 1
        return profile.name if several else None

    # --- trust -------------------------------------------------------------------------------------------------------

    def trust_get(self, params: t.TrustParams) -> t.TrustResult:
        with _folder_faults(params.folder) as folder:
            return t.TrustResult(folder=params.folder, trusted=self.tools.trust.is_trusted(folder))

    async def trust_grant(self, params: t.TrustParams) -> t.TrustResult:
        with _folder_faults(params.folder) as folder:
            grant = self.tools.trust.grant(folder)
        if grant.note:
            self.host.log("warning", grant.note)
        self.host.changed()
        return self.trust_get(params)

    async def trust_revoke(self, params: t.TrustParams) -> t.TrustResult:
        """Traces under way end with their workers; the pipeline asks again at each of its steps."""
        with _folder_faults(params.folder) as folder:
            self.tools.trust.revoke(folder)
        await self.tools.pool.restart(folder)
        self.host.changed()
        return self.trust_get(params)

    async def restart_workers(self) -> None:
        await self.tools.pool.restart()

    # --- environments ------------------------------------------------------------------------------------------------

    def environment_list(self, params: te.EnvironmentListParams) -> te.EnvironmentListResult:
        return list_interpreters(self.tools, params)

    async def environment_select(self, params: te.EnvironmentSelectParams) -> te.EnvironmentListResult:
        return await select_interpreter(self.tools, params)

    async def environment_probe(
        self, params: te.EnvironmentProbeParams, progress: Callable[[str], None]
    ) -> te.EnvironmentInfo:
        return await probe_interpreter(self.tools, params, progress)

    async def environment_plan(
        self, params: te.EnvironmentPlanParams, progress: Callable[[str], None]
    ) -> te.EnvironmentPlan:
        return await plan_installation(self.tools, self.plans, params, progress)

    async def environment_install(
        self, params: te.EnvironmentInstallParams, progress: Callable[[str], None], on_stopped: Callable[[str], None]
    ) -> te.EnvironmentInstallResult:
        return await install_plan(self.tools, self.plans, params, progress, on_stopped)

    # --- server ------------------------------------------------------------------------------------------------------

    def status(self, params: t.StatusParams) -> t.StatusResult:
        workers = self.tools.pool.status()
        broken = [worker for worker in workers if worker.state == "broken"]
        return t.StatusResult(
            health="warning" if broken else "ok",
            quiescent=not self._opening,
            message=broken[0].message if broken else None,
            version=tvls.__version__,
            workers=workers,
            captures=len(self.tools.captures),
            traces_running=len(self._opening),
        )

    def debug_info(self, params: t.StatusParams) -> t.DebugInfoResult:
        lines = [
            f"tvls {tvls.__version__} on Python {platform.python_version()} ({sys.platform})",
            f"interpreter setting: {self.settings.interpreter or 'none'}",
        ]
        for folder in self.folders:
            found = find(folder, selected(self.tools, folder))
            problems = len(self.setup(folder).problems)
            lines += [
                f"folder {folder}: trusted: {'yes' if self.tools.trust.is_trusted(folder) else 'no'}, "
                f"profiles: {len(self.setup(folder).profiles)}, setup problems: {problems}",
                *(
                    f"  interpreter {' '.join(c.command)} ({explain(c, folder)}; Python {c.python or 'unknown'})"
                    for c in found
                ),
            ]
        for worker in self.tools.pool.status():
            lines.append(
                f"worker {worker.framework} of {worker.interpreter}: {worker.state} {worker.message or ''}".rstrip()
            )
        for opened in self.tools.captures:
            versions = ", ".join(f"{name} {version}" for name, version in opened.capture["versions"].items())
            lines.append(f"capture {opened.origin.name}: {len(opened.capture['operations'])} operations; {versions}")
        return t.DebugInfoResult(text="\n".join(lines) + "\n")

    # --- folders -----------------------------------------------------------------------------------------------------

    def folder_of(self, path: Path) -> Path | None:
        """The innermost workspace folder that holds `path`."""
        holding = [folder for folder in self.folders if path.is_relative_to(folder)]
        return max(holding, key=lambda folder: len(folder.parts), default=None)

    def _home(self, path: Path, uri: str) -> Path:
        """The folder that holds a document. TvlsError `noWorkspace` where none does."""
        folder = self.folder_of(path)
        if folder is None:
            raise TvlsError(
                "noWorkspace",
                f"{path.name} is not in a workspace folder.",
                "Open the folder that the file belongs to.",
                uri=uri,
            )
        return folder

    def _roots(self, path: Path) -> list[Path]:
        folder = self.folder_of(path)
        return [folder] if folder else [path.parent]


def _mistake(folder: Path, what: str, problems: Sequence[Problem], others: Sequence[str] = ()) -> TvlsError:
    first = next(problem for problem in problems if problem.severity == "error")
    where = f"{SETUP_FILE}:{first.span.line + 1}" if first.span else SETUP_FILE
    instead = f", or name another profile: {', '.join(others)}" if others else ""
    return TvlsError(
        "setupInvalid",
        f"{what} has a mistake: {first.key}: {first.message}".replace(": : ", ": "),
        f"Correct it in {where}{instead}.",
        uri=to_uri(folder / SETUP_FILE),
        problems=[problem.to_wire() for problem in problems],
    )


@contextlib.contextmanager
def _folder_faults(uri: str) -> Generator[Path]:
    try:
        yield to_path(uri)
    except (OSError, ValueError) as error:
        raise TvlsError(
            "noWorkspace", f"{uri[:200]!r} is no folder: {error}"[:400], "Name a folder that exists."
        ) from error


class _Shared:
    """One running task with several waiters; it is cancelled when the last of them is."""

    def __init__(self, task: asyncio.Task[tuple[OpenCapture, bool]]) -> None:
        self.task = task
        self._waiting = 0

    async def wait(self) -> tuple[OpenCapture, bool]:
        self._waiting += 1
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            if self._waiting == 1:
                self.task.cancel()
            raise
        finally:
            self._waiting -= 1
