"""What stands where a graph would, in a real browser. The form is the real daemon's; other answers are played."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.canvas.daemon import Daemon, small_model

OPEN = {"target": {"uri": "file:///home/ada/net/model.py", "name": "MLP"}}
RANGE = {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 9}}
PREVIEW = {
    "evidence": "source",
    "name": "MLP",
    "kind": "flax.linen",
    "range": RANGE,
    "fields": [{"name": "width", "annotation": "int", "default": "8", "range": RANGE}],
    "methods": [
        {
            "name": "__call__",
            "signature": "__call__(self, x)",
            "calls": [{"callee": "nn.Dense", "text": "nn.Dense(self.width)(x)", "range": RANGE}],
            "range": RANGE,
        }
    ],
}
Answers = dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]]


def play(page: Page, daemon: Daemon, answers: Answers) -> list[dict[str, Any]]:
    """Opens the daemon's page with a server that gives these answers: a result, an error with a code, or none."""
    received: list[dict[str, Any]] = []

    def connected(socket: WebSocketRoute) -> None:
        def receive(text: str | bytes) -> None:
            message = json.loads(text)
            received.append(message)
            answer = answers.get(message["method"], lambda _: None)(message.get("params", {}))
            if answer is not None and "id" in message:
                kind = "error" if "code" in answer else "result"
                socket.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], kind: answer}))

        socket.on_message(receive)

    page.route_web_socket("**/rpc", connected)
    name, _, value = daemon.cookie.partition("=")
    page.context.add_cookies([{"name": name, "value": value, "url": f"http://{daemon.host}"}])
    page.goto(f"http://{daemon.host}{daemon.path}")
    return received


def failing(kind: str, code: int, message: str, **data: Any) -> Answers:
    error = {"code": code, "message": message, "data": {"kind": kind, "nextStep": "Do this next.", **data}}
    return {
        "tvls/canvas/attach": lambda _: {"open": OPEN, "error": error, "editor": "Neovim"},
        "tvls/target/preview": lambda _: PREVIEW,
    }


@pytest.mark.parametrize(
    ("kind", "code", "title"),
    [
        ("notTrusted", -33001, "This folder is not trusted yet"),
        ("unsavedSource", -33002, "Some files are not saved"),
        ("environmentInvalid", -33005, "The Python environment is not ready"),
    ],
)
def test_before_a_trace_the_source_is_shown(
    page: Page, daemon: Daemon, kind: str, code: int, title: str
) -> None:  # R40
    play(page, daemon, failing(kind, code, "It did not start.", files=["model.py"]))
    state = page.get_by_role("region", name=title)
    expect(state).to_contain_text("It did not start.")
    expect(state).to_contain_text("Do this next.")
    preview = page.get_by_role("region", name="Source-only preview")
    expect(preview).to_contain_text("nothing ran")
    expect(preview).to_contain_text("width: int = 8")
    expect(preview.get_by_role("heading", name="__call__(self, x)", exact=True)).to_be_visible()
    expect(preview).to_contain_text("nn.Dense(self.width)(x)")
    expect(page.get_by_role("tree")).to_be_hidden()


def test_a_failed_trace_says_where(page: Page, daemon: Daemon) -> None:  # R22
    place = {"uri": "file:///home/ada/net/model.py", "range": RANGE}
    frames = [{"path": "model.py", "workspace": True, "function": "MLP.__call__", "line": 4, "location": place}]
    answers = failing(
        "traceFailed", -33007, "MLP failed", exception="TypeError: (8,) and (9,)", frames=frames, stderr="last words"
    )
    answers["tvls/canvas/showSource"] = lambda _: {"shown": True, "place": "model.py:4"}
    play(page, daemon, answers)
    state = page.get_by_role("region", name="The trace failed")
    expect(state).to_contain_text("TypeError: (8,) and (9,)")
    state.get_by_role("button", name="model.py:4").click()
    expect(page.locator(".said")).to_have_text("Neovim shows model.py:4.")
    state.get_by_text("What the process printed last").click()
    expect(state).to_contain_text("last words")
    expect(page.get_by_role("region", name="Source-only preview")).to_have_count(0)


def test_a_trace_that_runs_tells_its_phase_and_is_cancelled(page: Page, daemon: Daemon) -> None:
    received = play(page, daemon, {"tvls/canvas/attach": lambda _: {"open": OPEN}})
    state = page.get_by_role("region", name="Loading")
    expect(state).to_contain_text("Tracing MLP")
    expect(state.locator(".elapsed")).to_have_text(re.compile(r"^\d+\.\d s$"))
    state.get_by_role("button", name="Cancel").click()
    expect(state).to_have_count(0)
    opened = next(message for message in received if message["method"] == "tvls/graph/open")
    expect(page.locator(".said")).to_have_text("Cancelled.")
    assert {"id": opened["id"]} in [m["params"] for m in received if m["method"] == "$/cancelRequest"]


@contextmanager
def tvls_open_on_a_terminal(folder: Path, target: str, python: str) -> Iterator[str]:
    """`tvls open` as a person starts it. Gives the address."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tvls", "open", str(folder / target), "--folder", str(folder), "--trust"]
    process = subprocess.Popen(
        [*command, "--python", python, "--no-browser"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "XDG_STATE_HOME": str(folder.parent / "state"), "SSH_CONNECTION": ""},
    )
    os.close(theirs)
    try:
        printed = ""
        end = time.monotonic() + 60
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/graph/\w+\?token=[\w-]+(?=\s)", printed)):
            assert time.monotonic() < end, printed
            printed += os.read(ours, 4096).decode()
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        os.close(ours)


def test_missing_values_are_filled_in_and_the_graph_opens(
    page: Page, tmp_path: Path, models_python: str
) -> None:  # R10
    folder = tmp_path / "net"
    folder.mkdir()
    shutil.copy(Path(__file__).parent / "workspace" / "tower.py", folder)
    with tvls_open_on_a_terminal(folder, "tower.py:Tower", models_python) as address:
        page.goto(address)
        expect(page.get_by_role("region", name="Some values are still missing")).to_be_visible()
        form = page.locator("form.setup-form")
        expect(form).to_be_visible()
        expect(page.get_by_role("region", name="Source-only preview")).to_contain_text("Block")
        save = form.get_by_role("button", name="Save and open")
        expect(save).to_be_disabled()
        shape = form.get_by_label(re.compile("shape", re.IGNORECASE)).first
        shape.fill("2, -5")
        expect(form.locator(".error").first).to_be_visible()
        shape.fill("2, 5")
        expect(save).to_be_enabled()
        expect(page.get_by_role("region", name="All values are given")).to_be_visible()
        save.click()
        expect(page.get_by_role("tree", name="Graph of Tower")).to_be_visible(timeout=30_000)
        expect(page.get_by_role("treeitem").first).to_be_visible()
    assert "tower:Tower" in (folder / "tensorviz.toml").read_text()


PAIR = """\
import jax


def double(x):
    return x * 2.0


@jax.jit
def pair(first, second):
    return double(first) * double(second)
"""


def test_an_array_is_typed_in_one_go(page: Page, tmp_path: Path, models_python: str) -> None:  # R10
    """The field becomes a dtype and a shape when the person is done, and not under the caret."""
    folder = small_model(tmp_path / "net")
    (folder / "model.py").write_text(PAIR.replace(", second", ", second=3"))
    with tvls_open_on_a_terminal(folder, "model.py:pair", models_python) as address:
        page.goto(address)
        form = page.locator("form.setup-form")
        field = form.get_by_label(re.compile("^first"))
        field.click()
        page.keyboard.type("float32[2,8]")
        # The server took it, and the field is still the one that is typed in.
        expect(form).to_contain_text("Saves the profile")
        expect(page.get_by_role("heading", name="All values are given")).to_be_visible()
        expect(field).to_be_focused()
        page.keyboard.press("Tab")
        expect(form.get_by_label(re.compile("^shape"))).to_have_value("2, 8")
        shape = form.get_by_label(re.compile("^shape"))
        shape.fill("")
        expect(form).to_contain_text("1 still to fill in.")
        expect(page.get_by_role("heading", name="Some values are still missing")).to_be_visible()
        page.keyboard.type("2, 3")
        page.keyboard.press("Enter")
        expect(page.get_by_role("tree", name="Graph of pair")).to_be_visible(timeout=30_000)


def test_enter_goes_to_what_is_missing(page: Page, tmp_path: Path, models_python: str) -> None:  # R10
    folder = small_model(tmp_path / "net")
    (folder / "model.py").write_text(PAIR)
    with tvls_open_on_a_terminal(folder, "model.py:pair", models_python) as address:
        page.goto(address)
        form = page.locator("form.setup-form")
        form.get_by_label(re.compile("^first")).click()
        page.keyboard.type("float32[2,3]")
        page.keyboard.press("Enter")
        expect(form.get_by_label(re.compile("^second"))).to_be_focused()
        page.keyboard.type("2.5")
        page.keyboard.press("Enter")
        expect(page.get_by_role("tree", name="Graph of pair")).to_be_visible(timeout=30_000)
