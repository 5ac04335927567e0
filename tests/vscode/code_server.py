"""A running VS Code with the extension in it, for a browser to look at."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

REPOSITORY = Path(__file__).resolve().parents[2]
INSTALLED = Path(os.environ.get("TVLS_TEST_CODE_SERVER", str(REPOSITORY / ".vscode-test")))
EXTENSION = REPOSITORY / "clients" / "vscode"
START_SECONDS = 90

SETTINGS: dict[str, Any] = {
    "workbench.startupEditor": "none",
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "extensions.ignoreRecommendations": True,
    "chat.disableAIFeatures": True,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.enableExperiments": False,
    "workbench.tips.enabled": False,
    "security.workspace.trust.startupPrompt": "never",
    "security.workspace.trust.untrustedFiles": "open",
    "files.autoSave": "off",
    "editor.minimap.enabled": False,
    "editor.hover.delay": 100,
}


@dataclass
class VSCode:
    process: subprocess.Popen[bytes]
    address: str
    """Without a folder."""
    state: Path

    def url(self, folder: Path, opened: Path | None = None, **payload: str) -> str:
        """Of a folder, with a file of it opened. `payload`: options of VS Code whose values are paths."""
        if opened is not None:
            payload["openFile"] = str(opened)
        host = self.address.removeprefix("http://")
        options = json.dumps([[name, f"vscode-remote://{host}{path}"] for name, path in payload.items()])
        return f"{self.address}/?{urllib.parse.urlencode({'folder': str(folder), 'payload': options})}"

    def daemons(self) -> list[psutil.Process]:
        """The servers that the extension has started, and nothing below them."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [child for child in children if child.is_running() and child.cmdline()[-2:] == ["tvls", "serve"]]

    def logs(self) -> str:
        """What the extension and its server wrote."""
        found = sorted(self.state.rglob("*TensorViz*.log"))
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')}" for path in found)


@contextlib.contextmanager
def vscode(
    state: Path,
    settings: dict[str, Any],
    *,
    host_tests: bool = False,
    source: bool = True,
    proxy: bool = False,
    others: Sequence[Path] = (),
) -> Iterator[VSCode]:
    """VS Code with the packaged extension, or, for tests in the extension host, ready to load it from its folder.

    With `source`, servers run the code of this checkout; with `proxy`, ports of the machine are reached through the
    editor's address, as from elsewhere. `others` are more packaged extensions.
    """
    entry = INSTALLED / "node_modules" / "code-server" / "out" / "node" / "entry.js"
    node = INSTALLED / "node" / "node"
    # Settings that name programs belong to the machine: those of the person do not count in a remote window.
    for scope in ("User", "Machine"):
        folder = state / "user" / scope
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text(json.dumps({**SETTINGS, **settings}))
    command = [str(node), str(entry), "--user-data-dir", str(state / "user"), "--extensions-dir", str(state / "ext")]
    env = {
        **{
            name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "CONDA", "VSCODE"))
        },
        "XDG_CONFIG_HOME": str(state / "config"),
        "XDG_DATA_HOME": str(state / "data"),
        "XDG_STATE_HOME": str(state / "state"),
        "XDG_CACHE_HOME": str(state / "cache"),
        "EXTENSIONS_GALLERY": '{"serviceUrl": "", "itemUrl": ""}',
        **({"PYTHONPATH": str(REPOSITORY)} if source else {}),
    }
    if not source:
        env.pop("PYTHONPATH", None)
    if not host_tests:
        packages = [EXTENSION / "tvls.vsix", *others]
        install = [option for package in packages for option in ("--install-extension", str(package))]
        subprocess.run([*command, *install], env=env, check=True, timeout=120)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    options += ["--disable-getting-started-override", "--ignore-last-opened"]
    if not proxy:
        options += ["--disable-proxy"]
    if host_tests:
        options += ["--vscode-option", "enable-smoke-test-driver", "--disable-workspace-trust"]
    log = state / "code-server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *options], env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(f"{address}/healthz", process, log)
            yield VSCode(process, address, state)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(address, timeout=2):  # noqa: S310 (the address above)
                return
        except (OSError, urllib.error.URLError):
            assert process.poll() is None, log.read_text()
            time.sleep(0.2)
    raise AssertionError(f"code-server did not start: {log.read_text()}")


TRUSTED: dict[str, Any] = {"security.workspace.trust.enabled": False}


def server_settings(python: str) -> dict[str, Any]:
    """The server of this checkout, tracing with `python`."""
    return {"tvls.server": [sys.executable, "-m", "tvls", "serve"], "tvls.interpreter": [python]}


def stand_in(name: str, into: Path) -> Path:
    """Packages one of the extensions that stand in for others', which no registry has."""
    package = into / f"{name}.vsix"
    vsce = EXTENSION / "node_modules" / ".bin" / "vsce"
    options = ["--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", str(package)]
    folder = EXTENSION / "build" / "standins" / name
    subprocess.run([str(vsce), "package", *options], cwd=folder, check=True, timeout=60, capture_output=True)
    return package
