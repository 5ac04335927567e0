"""Open captures: what was traced, what it depended on, and where its lines are now."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tvls.capture.document import Capture, Failure
from tvls.environments.probe import Environment
from tvls.freshness import Snapshot
from tvls.graph.index import GraphIndex
from tvls.linemap import LineMap
from tvls.protocol.errors import TvlsError
from tvls.setup.profile import Profile

MAX_OPEN = 32
"""Captures kept at once; the one unused for longest goes first."""

_Place = tuple[Path, Path | None, str, str | None]


@dataclass(frozen=True)
class Origin:
    """What was asked to be traced: a model, by one setup."""

    folder: Path
    path: Path | None
    """File of the target; None for a model outside the workspace."""
    name: str
    profile: Profile
    environment: Environment
    """The capture Python."""
    measured: frozenset[str] = frozenset()
    """What was measured while the model ran."""

    @property
    def place(self) -> _Place:
        """Folder, file, model and profile: equal for traces of which one takes the place of the other."""
        return (self.folder, self.path, self.name, self.profile.name)

    @property
    def key(self) -> object:
        """Equal for origins whose captures are the same, but for measurements; two equal profiles have two."""
        profile = self.profile
        return (
            self.folder,
            self.path,
            profile.model,
            self.name,
            profile.name,
            profile.digest,
            self.environment.executable,
        )


@dataclass
class Traced:
    """Sources as they were when they were traced, and the way from their lines to the lines of now."""

    folder: Path
    texts: dict[str, list[str]]
    """Workspace-relative path → lines."""
    _maps: dict[str, tuple[str, LineMap]] = field(default_factory=dict[str, tuple[str, LineMap]])

    def map(self, path: str, text: str | None) -> LineMap | None:
        """From the traced lines of `path` to those of `text`; None where either is not known."""
        old = self.texts.get(path)
        if old is None or text is None:
            return None
        known = self._maps.get(path)
        if known is None or known[0] != text:
            known = (text, LineMap(old, _lines(text)))
            self._maps[path] = known
        return known[1]


@dataclass
class OpenCapture:
    capture: Capture
    origin: Origin
    snapshot: Snapshot
    traced: Traced
    index: GraphIndex
    previous: str | None = None
    """Id of the capture of the same target and profile before this one."""


@dataclass
class FailedTrace:
    failure: Failure
    origin: Origin
    snapshot: Snapshot
    traced: Traced
    error: TvlsError


class CaptureStore:
    """Captures by id, and the failures that no later trace of the same model and profile took the place of."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, OpenCapture] = OrderedDict()
        self._failed: dict[_Place, FailedTrace] = {}
        self._failed_last: dict[tuple[Path | None, str], FailedTrace] = {}
        """Of the models whose newest outcome is a failure, by whatever profile."""

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[OpenCapture]:
        """Most recently used first."""
        return reversed(list(self._open.values()))

    def get(self, capture_id: str) -> OpenCapture:
        found = self._open.get(capture_id)
        if found is None:
            raise TvlsError("captureGone", "This capture is no longer open.", "Open the graph again.")
        self._open.move_to_end(capture_id)
        return found

    def add(self, opened: OpenCapture) -> None:
        """Keeps `opened` as the newest outcome of its target. An older capture stays open: a view may still show it."""
        folder, path, name, profile = opened.origin.place
        for overtaken in (profile, None):  # values that no file has can be mended nowhere
            self._failed.pop((folder, path, name, overtaken), None)
        self._failed_last.pop((path, name), None)
        before = next((c for c in self if c.origin.place == opened.origin.place), None)
        if before is not None:
            known = before.capture["captureId"]
            # The same program, with other measurements or none: nothing to compare.
            same = known == opened.capture["captureId"] or _same_program(before, opened)
            opened.previous = before.previous if same else known
        self._open[opened.capture["captureId"]] = opened
        self._open.move_to_end(opened.capture["captureId"])
        while len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)

    def add_failure(self, failed: FailedTrace) -> None:
        self._failed[failed.origin.place] = failed
        self._failed_last[failed.origin.path, failed.origin.name] = failed

    def previous(self, opened: OpenCapture) -> str | None:
        """Id of the capture before this one, while it is open."""
        return opened.previous if opened.previous in self._open else None

    def close(self, capture_id: str) -> bool:
        return self._open.pop(capture_id, None) is not None

    def newest(self, path: Path | None, name: str) -> OpenCapture | None:
        return next((c for c in self if (c.origin.path, c.origin.name) == (path, name)), None)

    def newest_of(self, folder: Path, path: Path | None, name: str, profile: str | None) -> OpenCapture | None:
        return next((c for c in self if c.origin.place == (folder, path, name, profile)), None)

    def same_setup(self, origin: Origin) -> OpenCapture | None:
        """One that has all that is to be measured, and maybe more."""
        same = (c for c in self if c.origin.key == origin.key)
        return next((c for c in same if c.origin.measured >= origin.measured), None)

    def failure(self, path: Path | None, name: str) -> FailedTrace | None:
        """Of a model whose newest outcome it is."""
        return self._failed_last.get((path, name))

    def failures(self) -> Iterable[FailedTrace]:
        return list(self._failed.values())


def _lines(text: str) -> list[str]:
    """Lines as Python counts them, without their ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _same_program(a: OpenCapture, b: OpenCapture) -> bool:
    return a.origin.measured != b.origin.measured and a.origin.key == b.origin.key and a.snapshot == b.snapshot
