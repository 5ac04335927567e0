"""The editor as the application's surroundings."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from tvls.host import LogLevel
from tvls.protocol import types as t
from tvls.server import edits, updates
from tvls.server.questions import NOT_NOW, NobodyAsked, ask
from tvls.server.state import Server

logger = logging.getLogger(__name__)

TRUST: Final = "Trust folder"

_LEVELS: Final = {
    "error": (logging.ERROR, lsp.MessageType.Error),
    "warning": (logging.WARNING, lsp.MessageType.Warning),
    "info": (logging.INFO, lsp.MessageType.Info),
    "debug": (logging.DEBUG, lsp.MessageType.Log),
}


@dataclass
class _Question:
    task: asyncio.Task[bool]
    waiting: int = 0


@dataclass
class EditorHost:
    """Implements `tvls.host.Host` over LSP."""

    server: Server
    _questions: dict[Path, _Question] = field(default_factory=dict[Path, _Question])

    async def ask_trust(self, folder: Path, interpreter: str) -> bool:
        """One question a folder, however many requests wait for it. The last one to be cancelled withdraws it."""
        question = self._questions.get(folder)
        if question is None:
            question = self._questions[folder] = _Question(asyncio.ensure_future(self._ask(folder, interpreter)))
            question.task.add_done_callback(lambda _: self._questions.pop(folder, None))
        question.waiting += 1
        try:
            return await asyncio.shield(question.task)
        finally:
            question.waiting -= 1
            if not question.waiting:
                question.task.cancel()

    async def _ask(self, folder: Path, interpreter: str) -> bool:
        message = f"Opening a graph runs Python code of {folder} with {interpreter}. Do you trust this folder?"
        with contextlib.suppress(NobodyAsked):
            return await ask(self.server, message, [TRUST, NOT_NOW], lsp.MessageType.Warning) == TRUST
        self.server.show(
            lsp.MessageType.Warning,
            f"TensorViz runs no code of {folder} before you trust it. To trust it, run the command "
            f"tvls.server.trustFolder with the argument {self.server.documents.uri(folder)}.",
        )
        return False

    def log(self, level: LogLevel, message: str) -> None:
        number, kind = _LEVELS[level]
        logger.log(number, "%s", message)
        if level != "debug":
            self.server.log(kind, message)

    def changed(self) -> None:
        updates.schedule(self.server)

    def location(
        self, path: Path, line: int, column: int | None, end_line: int | None, end_column: int | None
    ) -> t.Location:
        return self.server.documents.location(path, line, column, end_line, end_column)

    def position_to_bytes(self, path: Path, position: t.Position) -> tuple[int, int]:
        return self.server.documents.position_to_bytes(path, position)

    async def edit(self, path: Path, text: str) -> bool:
        return await edits.replace_text(self.server, path, text)
