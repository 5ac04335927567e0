"""A program in a terminal of 30 lines that nobody sees: keys in, what is on the screen out. By tmux."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

SECONDS = 120.0


class Terminal:
    def __init__(self, command: Sequence[str], environment: dict[str, str], folder: Path) -> None:
        self._name = f"tvls-{uuid.uuid4().hex[:8]}"
        self._command = command
        self._environment = environment
        self._folder = folder

    def __enter__(self) -> Terminal:
        command = shlex.join(self._command)
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "main", "-x", "120", "-y", "30", command)
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["tmux", "-L", self._name, "kill-server"], check=False, capture_output=True)

    def keys(self, *keys: str) -> None:
        """Each is the name of a key of tmux, or text to type."""
        for key in keys:
            self._tmux("send-keys", "-t", "main", "\\;" if key == ";" else key)  # which ends a command of tmux
            time.sleep(0.1)  # two keys in one read may be taken for a sequence

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "main")

    async def shows(self, text: str) -> None:
        end = time.monotonic() + SECONDS
        while text not in (screen := self.screen):
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain for {text!r}:\n{screen}")
            await asyncio.sleep(0.1)

    async def until(self, keys: Sequence[str], text: str) -> None:
        """Presses the keys again and again; for what a program refuses until it is ready, and does not tell when."""
        end = time.monotonic() + SECONDS
        while text not in (screen := self.screen):
            if time.monotonic() > end:
                raise AssertionError(f"pressed {keys} in vain for {text!r}:\n{screen}")
            self.keys("Escape", *keys)
            await asyncio.sleep(1)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self._name, *arguments]
        return subprocess.run(
            command, env=self._environment, cwd=self._folder, capture_output=True, text=True, check=True
        ).stdout
