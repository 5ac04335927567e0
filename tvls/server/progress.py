"""`$/progress` of one piece of work: under the client's token, or under one that the client agreed to."""

from __future__ import annotations

import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from lsprotocol import types as lsp

from tvls.server.state import Server


@dataclass
class Progress:
    server: Server
    title: str
    token: int | str | None
    message: str | None = None
    begun: bool = False
    ended: bool = False

    def report(self, message: str) -> None:
        self.message = message
        if self.begun and not self.ended:
            self._send(lsp.WorkDoneProgressReport(message=message, cancellable=True))

    def begin(self) -> None:
        if not self.ended:
            self.begun = True
            self._send(lsp.WorkDoneProgressBegin(title=self.title, message=self.message, cancellable=True))

    def end(self) -> None:
        self.ended = True
        if self.begun:
            self._send(lsp.WorkDoneProgressEnd())

    def _send(self, value: lsp.WorkDoneProgressBegin | lsp.WorkDoneProgressReport | lsp.WorkDoneProgressEnd) -> None:
        if self.token is not None:
            self.server.client.protocol.notify(lsp.PROGRESS, lsp.ProgressParams(token=self.token, value=value))


@contextmanager
def progress(server: Server, title: str, token: int | str | None) -> Generator[Progress]:
    """Progress that ends with the block, however it ends. The work never waits for the client to agree."""
    shown = Progress(server, title, token)
    if token is not None:
        shown.begin()
    elif server.features.progress:
        call = server.protocol.current_call()
        shown.token = f"tvls-{uuid.uuid4().hex}"
        if call is not None:
            call.progress_token = shown.token  # so that the editor's button cancels the request
        else:
            server.protocol.let_cancel(shown.token)

        async def create() -> None:
            assert shown.token is not None  # noqa: S101 (set above)
            await server.client.window_work_done_progress_create_async(
                lsp.WorkDoneProgressCreateParams(token=shown.token)
            )
            shown.begin()

        server.protocol.run_in_background(create(), "creating a progress bar")
    try:
        yield shown
    finally:
        shown.end()
