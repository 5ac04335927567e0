"""Editors that have nothing of ours, as their users drive them. They are real; what is missing is named. R28"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.canvas.page import Page
from tests.editors.terminal import Terminal

HERE = Path(__file__).parent
PACKAGED = sorted(Path("/usr/share/emacs/site-lisp/elpa-src").glob("*/"))
"""Libraries of Emacs that Debian installed."""
SERVE = f"{sys.executable} -m tvls serve"
MODEL = """\
import jax
import jax.numpy as jnp


@jax.jit
def net(x):
    y = jax.nn.relu(x @ jnp.ones((3, 4)))
    return y * 2.0
"""
SETUP = """\
version = 1

[profiles.small]
framework = "jax"
model = "model:net"
inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }] }
"""
SECONDS = 120.0
pytestmark = pytest.mark.timeout(400)


def editor(name: str, variable: str, how: str) -> str:
    found = os.environ.get(variable) or shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not on the PATH: {how}, or set {variable}")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / "tensorviz.toml").write_text(SETUP)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own, and no connection of a shell: the page is for this screen."""
    home = tmp_path / "home"
    home.mkdir()
    names = {"XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config"}
    paths = {variable: str(home / name) for variable, name in names.items()}
    repository = str(HERE.parents[1])
    fixed = {"HOME": str(home), "PYTHONPATH": repository, "SSH_CONNECTION": "", "TERM": "xterm-256color"}
    return {**os.environ, **paths, **fixed}


async def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        await asyncio.sleep(0.1)


async def click(address: str) -> bool:
    """In the page: the multiplication of line 8. Whether the editor says that it went there."""
    async with Page.visit(address) as page:
        state = await page.attach()
        capture = {"captureId": state["capture"]["captureId"]}
        found = await page.request("tvls/graph/search", {**capture, "query": "mul"})
        sources = await page.request("tvls/graph/sources", {**capture, "node": found["nodes"][0]["node"]})
        shown = await page.request("tvls/canvas/showSource", {"location": sources["frames"][0]["location"]})
        assert shown["place"] == "model.py:8"
        return shown["shown"]


async def run_emacs(script: str, libraries: list[Path], folder: Path, tmp_path: Path, models: str) -> list[str]:
    """What the flow of a script says, line by line. The page clicks once it has the address."""
    emacs = editor("emacs", "TVLS_TEST_EMACS", "install Emacs 30 (Debian: emacs-nox)")
    url = tmp_path / "url"
    variables = {"MODEL": str(folder / "model.py"), "PYTHON": models, "TVLS": SERVE, "URL": str(url)}
    paths = [word for library in libraries for word in ("-L", str(library))]
    process = await asyncio.create_subprocess_exec(
        emacs, "-Q", "--batch", *paths, "-l", str(HERE / "flow.el"), "-l", str(HERE / script),
        env={**environment(tmp_path), **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    output = asyncio.create_task(process.communicate())
    await until(lambda: url.exists() or output.done(), "the address of the page")
    if url.exists():
        await until(lambda: url.read_text(), "the address of the page")
        shown = await click(url.read_text())
        url.with_name("clicked").write_text("shown" if shown else "told")
    _, errors = await output
    said = [line.removeprefix("tvls: ") for line in errors.decode().splitlines() if line.startswith("tvls: ")]
    print("\n".join(said))
    assert process.returncode == 0, errors.decode()[-3000:]
    assert said[-1].startswith("passed with Emacs ")
    return said


async def test_emacs_with_eglot(folder: Path, tmp_path: Path, models_python: str) -> None:
    said = await run_emacs("eglot.el", [], folder, tmp_path, models_python)
    assert "go to source: line 8" in said


async def test_emacs_with_lsp_mode(folder: Path, tmp_path: Path, models_python: str) -> None:
    """Of Debian, or the folders that `TVLS_TEST_LSP_MODE` lists: lsp-mode and what it needs."""
    named = os.environ.get("TVLS_TEST_LSP_MODE")
    libraries = [Path(path) for path in named.split(os.pathsep)] if named else PACKAGED
    if not any((library / "lsp-mode.el").is_file() for library in libraries):
        pytest.skip("lsp-mode is not there: install it (Debian: elpa-lsp-mode), or set TVLS_TEST_LSP_MODE")
    said = await run_emacs("lsp-mode.el", libraries, folder, tmp_path, models_python)
    assert "lenses: Open as Graph" in said
    assert "go to source: line 8" in said or "connected: lsp-mode 8.0.0" in said  # that one shows no documents


HELIX = """\
[language-server.tvls]
command = "{python}"
args = ["-m", "tvls", "serve"]
config = {{ interpreter = "{models}" }}

[[language]]
name = "python"
language-servers = ["tvls"]
"""


@contextlib.contextmanager
def helix(folder: Path, tmp_path: Path, models: str) -> Iterator[tuple[Terminal, Path]]:
    program = editor("hx", "TVLS_TEST_HELIX", "install Helix 25 (Debian forky: hx)")
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not on the PATH, and Helix needs a terminal: install tmux")
    variables = environment(tmp_path)
    config = Path(variables["XDG_CONFIG_HOME"]) / "helix"
    config.mkdir(parents=True)
    (config / "languages.toml").write_text(HELIX.format(python=sys.executable, models=models))
    # Helix hands addresses to the first of these programs that it finds.
    programs, url = tmp_path / "programs", tmp_path / "url"
    programs.mkdir()
    for name in ("xdg-open", "gio", "gnome-open", "kde-open", "wslview"):
        (programs / name).write_text(f"#!/bin/sh\nfor last; do :; done\nprintf '%s' \"$last\" > '{url}'\n")
        (programs / name).chmod(0o755)
    variables["PATH"] = f"{programs}:{variables['PATH']}"
    with Terminal([*program.split(), str(folder / "model.py")], variables, folder) as terminal:
        yield terminal, url


async def test_helix(folder: Path, tmp_path: Path, models_python: str) -> None:
    with helix(folder, tmp_path, models_python) as (terminal, url):
        await terminal.shows("def net")
        terminal.keys("5", "j")
        await terminal.until(["Space", "a"], "Open net as Graph")
        terminal.keys("Enter")
        await terminal.shows("Trust folder")
        terminal.keys("Enter")
        await until(lambda: url.exists() and url.read_text(), "the address of the page")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/graph/\w+\?token=[\w-]{40,}", url.read_text())
        print("question of trust, then the page")

        terminal.keys("j", "g", "h", "f", "y")
        await terminal.until(["Space", "k"], "float32[2, 4]")
        print("hover: float32[2, 4]")
        terminal.keys("Escape")

        assert await click(url.read_text())
        await terminal.shows("8:12")
        print("go to source: 8:12")

        terminal.keys("Escape", "k", "g", "h", "f", "3", ";", "r", "5", ":", "w", "Enter")
        await until(lambda: "(5, 4)" in (folder / "model.py").read_text(), "the edited file")
        await terminal.until(["Space", "a"], "Open net as Graph")
        terminal.keys("Enter")
        await terminal.shows("while tracing it at model.py:7")
        print("refused: net failed while tracing it at model.py:7")
        await terminal.until(["Space", "d"], "traceFailed")
        print("diagnostic: ERROR tvls traceFailed")
        terminal.keys("Escape", ":", "q!", "Enter")
