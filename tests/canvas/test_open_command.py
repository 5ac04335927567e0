"""`tvls open` from a terminal, and from a script."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.canvas.daemon import INPUT, small_model
from tests.canvas.page import redeem

OPEN = (sys.executable, "-m", "tvls", "open")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_model(tmp_path / "net")


def run(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*OPEN, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "XDG_STATE_HOME": str(folder / ".state"), "SSH_CONNECTION": "", **(env or {})},
    )


def test_what_is_missing(folder: Path, models_python: str) -> None:  # R4, R10
    untrusted = run(folder, "model.py:net", "--python", models_python, *INPUT)
    assert untrusted.returncode == 3
    assert "--trust" in untrusted.stderr
    unset = run(folder, "model.py:net", "--python", models_python, "--trust")
    assert unset.returncode == 3
    assert "inputs.args[0]" in unset.stderr
    assert unset.stdout == untrusted.stdout == ""
    for wrong in (["model"], ["nothing.py"], ["nothing.py:net"], [], ["model.py:net", "--limit", "x=1"]):
        assert run(folder, *wrong).returncode == 2


def test_without_a_terminal(folder: Path, models_python: str) -> None:
    """What was printed is an address that answers until a signal, as with any server that cron or nohup starts."""
    process = subprocess.Popen(
        [*OPEN, "model.py:net", "--python", models_python, "--trust", "--no-browser", *INPUT],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder / ".state"), "SSH_CONNECTION": ""},
    )
    with process:
        assert process.stdout
        address = process.stdout.readline().strip()
        time.sleep(1)  # it would have ended by then
        assert redeem(address).startswith("tvls-")
        process.terminate()
        assert process.wait(20) == 0


def test_for_another_program(folder: Path, models_python: str) -> None:
    """Told so, it ends with its input, here at once; over SSH it tells of the tunnel."""
    ssh = {"SSH_CONNECTION": "10.0.0.9 50000 10.0.0.7 2222", "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
    done = run(folder, "model.py:net", "--python", models_python, "--trust", "--until-stdin-ends", *INPUT, env=ssh)
    assert done.returncode == 0, done.stderr
    port = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/graph/\w+\?token=\S+\n", done.stdout)
    assert port is not None, done.stdout
    assert f"ssh -N -L {port[1]}:127.0.0.1:{port[1]} -p 2222 " in done.stderr


def test_on_a_terminal(folder: Path, models_python: str, tmp_path: Path) -> None:  # R1
    """The browser is opened with the address; Ctrl-C ends it, without an error."""
    opened = tmp_path / "opened.json"
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport json, sys\nopen({str(opened)!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
        "import time; time.sleep(3)\n"  # as a browser that runs in the terminal
    )
    browser.chmod(0o755)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*OPEN, "model.py:net", "--python", models_python, "--trust", *INPUT],
        cwd=folder,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder / ".state"), "SSH_CONNECTION": "", "BROWSER": str(browser)},
    )
    assert process.stdout
    assert process.stderr
    try:
        address = process.stdout.readline().strip()
        assert redeem(address).startswith("tvls-")
        end = time.monotonic() + 30
        while not (opened.exists() and opened.read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        assert json.loads(opened.read_text()) == [address]
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        os.close(ours)
        os.close(theirs)
