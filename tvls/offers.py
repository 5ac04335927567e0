"""What a form offers of devices and dtypes: what the folder's Python was found to have, without waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tvls.environments.check import offer_for
from tvls.protocol import types_environment as te
from tvls.protocol.errors import TvlsError


class Offers:
    """Answers with what the last look found, and looks again in the background: the first one takes seconds."""

    def __init__(self, look: Callable[[Path], Awaitable[te.EnvironmentInfo]]) -> None:
        self._look = look
        self._found: dict[Path, te.EnvironmentInfo | None] = {}
        self._looking: dict[Path, asyncio.Task[None]] = {}

    def refresh(self, folder: Path) -> None:
        """`look` refuses where the folder is not trusted; nothing is offered then."""
        if folder not in self._looking:
            task = self._looking[folder] = asyncio.ensure_future(self._refresh(folder))
            task.add_done_callback(lambda _: self._looking.pop(folder, None))

    async def _refresh(self, folder: Path) -> None:
        try:
            self._found[folder] = await self._look(folder)
        except TvlsError:  # whoever opens a graph is told; a form has only less to offer
            self._found[folder] = None

    def known(self, folder: Path, framework: str) -> te.FrameworkOffer | None:
        info = self._found.get(folder)
        try:
            return None if info is None else offer_for(info, framework)
        except TvlsError:
            return None

    def close(self) -> None:
        for task in self._looking.values():
            task.cancel()
