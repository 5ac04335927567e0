"""The setup file under a request: its text, and what it can name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lsprotocol import types as lsp

from tvls.server.documents import Text
from tvls.server.state import Server
from tvls.setup.language.cursor import Around
from tvls.setup.language.tables import Workspace
from tvls.setup.read import SETUP_FILE
from tvls.uris import to_path


@dataclass(frozen=True)
class SetupDocument:
    server: Server
    folder: Path
    text: Text
    around: Around
    """Of the text as it was when the request came."""

    def offset(self, position: lsp.Position) -> int:
        return self.text.offset(position, self.server.documents.encoding)

    def range(self, start: int, end: int) -> lsp.Range:
        return self.text.range(start, end, self.server.documents.encoding)

    async def workspace(self) -> Workspace:
        """What can be named. Raises TvlsError where models cannot be looked for."""
        return await self.server.session.workspace_of_setup(self.folder)


def setup_document(server: Server, uri: str) -> SetupDocument | None:
    """None for any other document, and for a `tensorviz.toml` that is not at the top of a workspace folder."""
    path = to_path(uri)
    if path.name != SETUP_FILE or path.parent not in server.session.folders:
        return None
    found = server.documents.text_at(path)
    if found is None:
        return None
    text = Text(text=found.text)  # an open buffer changes while the answer is made
    return SetupDocument(server, path.parent, text, _around(text.text))


@lru_cache(maxsize=4)
def _around(text: str) -> Around:
    """An editor asks for lenses, symbols and hovers of the same text."""
    return Around(text)
