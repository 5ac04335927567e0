"""What can be opened at a place of a document, and how it stands there: for lenses and for code actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tvls.protocol import types as t
from tvls.server.setup_file import SetupDocument
from tvls.server.state import Server
from tvls.setup.language.outline import Symbol
from tvls.uris import to_path, to_uri

_TRACED: Final = ("fresh", "stale", "failed")


@dataclass(frozen=True)
class Opening:
    name: str
    """Of the model, or of the profile in a setup file."""
    profile: str
    """Where the model has several."""
    state: t.TargetState
    argument: dict[str, Any]
    """Of the commands that open and trace it."""

    @property
    def which(self) -> str:
        return f": {self.profile}" if self.profile else ""

    @property
    def traced(self) -> bool:
        """There is a graph or a failure to speak of."""
        return self.state in _TRACED


def of_target(server: Server, uri: str, target: t.TargetInfo, most: int | None = None) -> list[Opening]:
    """One, or one for each profile of the model, in the order of the file and `most` at most. `uri` in the client's
    spelling."""
    argument = {"uri": uri, "name": target.name}
    folder = server.session.folder_of(to_path(uri))
    profiles = server.session.profiles_of(target)
    if folder is None or len(profiles) < 2:
        return [Opening(target.name, "", target.state, argument)]
    return [
        Opening(target.name, name, server.session.profile_state(folder, name), argument | {"profile": name})
        for name in profiles[:most]
    ]


def of_profile(server: Server, document: SetupDocument, symbol: Symbol) -> Opening:
    """Usable or not: opening it says what is missing."""
    state = server.session.profile_state(document.folder, symbol.name)
    return Opening(symbol.name, "", state, {"profile": symbol.name, "folder": to_uri(document.folder)})
