"""A running `tvls open`, and a raw HTTP client that sends what no browser would."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

MODEL = """\
import jax
import jax.numpy as jnp


@jax.jit
def net(x):
    y = jax.nn.relu(x @ jnp.ones((3, 4)))
    return y * 2.0
"""
INPUT = ("--input", "float32[2,3]")


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: str

    @property
    def cookie(self) -> str | None:
        """What a browser would send back."""
        value = self.headers.get("Set-Cookie")
        return value.split(";")[0] if value else None


@dataclass
class Daemon:
    process: subprocess.Popen[str]
    address: str
    """As printed: it opens one browser, once."""
    model: Path
    _cookie: str | None = field(default=None, repr=False)

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def path(self) -> str:
        """Of the page, without its secret."""
        return urlsplit(self.address).path

    @property
    def cookie(self) -> str:
        """That of a browser which came by the address."""
        if self._cookie is None:
            self._cookie = self.get(self.address.removeprefix(f"http://{self.host}")).cookie
        assert self._cookie is not None
        return self._cookie

    def get(self, path: str, headers: dict[str, str | None] | None = None, method: str = "GET") -> Answer:
        """`headers` replace those of a plain request; None leaves one out. The path is sent as it is."""
        wanted: dict[str, str | None] = {"Host": self.host, **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in wanted.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders()
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read().decode())


@contextlib.contextmanager
def tvls_open(
    folder: Path, target: str, python: str, arguments: Sequence[str] = (), env: dict[str, str] | None = None
) -> Iterator[Daemon]:
    """`tvls open` of a model, until the block ends. It prints the address when the trace is done."""
    command = [sys.executable, "-m", "tvls", "open", str(folder / target), "--folder", str(folder), "--trust"]
    process = subprocess.Popen(
        [*command, "--python", python, "--no-browser", "--until-stdin-ends", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder / ".state"), **(env or {})},
    )
    assert process.stdin and process.stdout and process.stderr
    try:
        address = _first_line(process, 60)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/graph/\w+\?token=[\w-]{40,}", address), address
        yield Daemon(process, address, folder / target.rpartition(":")[0])
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()


def _first_line(process: subprocess.Popen[str], seconds: float) -> str:
    assert process.stdout and process.stderr
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([process.stdout], [], [], 0.2)[0]:
            line = process.stdout.readline().strip()
            if line:
                return line
            raise AssertionError(f"tvls open ended: {process.stderr.read()}")
    raise AssertionError("tvls open printed no address in time")


def small_model(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.py").write_text(MODEL)
    return folder
