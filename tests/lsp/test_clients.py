"""Clients that lack things, and clients that are careless. R28"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp import profiles
from tests.lsp.client import LspClient, error

MODEL = """\
import jax
import jax.numpy as jnp


@jax.jit
def net(x):
    return jnp.sin(x)
"""
SETUP = """\
version = 1

[profiles.small]
framework = "jax"
model = "model:net"
inputs = { args = [{ kind = "tensor", shape = [3], dtype = "float32" }] }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / "tensorviz.toml").write_text(SETUP)
    return folder


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[LspClient]:
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "SSH_CONNECTION": ""}
    async with LspClient.start(env=env) as connected:
        yield connected
        assert await connected.shut_down() == 0


async def names(client: LspClient, uri: str) -> list[str]:
    listed = await client.request("tvls/targets/list", {"textDocument": {"uri": uri}})
    return [target["name"] for target in listed["targets"]]


@pytest.mark.parametrize("name", profiles.WITHOUT_BROWSER)
async def test_without_a_browser(client: LspClient, folder: Path, models_python: str, name: str) -> None:
    """Lens, question of trust or the command for it, the address in a message, hover, a failure at its line."""
    capabilities = profiles.WITHOUT_BROWSER[name]
    client.answers["window/showMessageRequest"] = {"title": "Trust folder"}
    client.answers["window/showDocument"] = {
        "success": False
    }  # lsp-mode 9 says that it shows documents, and means files
    await client.initialize(capabilities, [folder], {"interpreter": models_python})
    uri = client.open(folder / "model.py")
    (lens,) = await client.lenses(uri)
    command = lens["command"]
    if name == "minimal":  # it cannot be asked
        refused = await client.ask("workspace/executeCommand", command).error()
        assert refused.data["kind"] == "notTrusted"
        message = (await client.wait_for("window/showMessage"))["params"]["message"]
        assert f"tvls.server.trustFolder with the argument {folder.as_uri()}" in message
        await client.execute("tvls.server.trustFolder", folder.as_uri())
    seen = len(client.received)
    await client.execute(command["command"], *command["arguments"])
    shown = await client.wait_for("window/showMessage", lambda params: "http://" in params["message"], seen)
    assert re.search(r"http://127\.0\.0\.1:\d+/graph/\w+\?token=[\w-]{40,}", shown["params"]["message"])
    assert bool(client.of("window/showDocument")) == (name == "lsp-mode-9")
    assert bool(client.of("window/showMessageRequest")) == (name != "minimal")

    hover = await client.hover(uri, 6, 15)
    assert hover is not None
    assert "float32[3]" in hover["contents"]["value"]
    broken = MODEL.replace("jnp.sin(x)", "x @ jnp.ones((5, 4))")
    client.change(uri, broken)
    (folder / "model.py").write_text(broken)
    client.save(uri)
    refused = await client.ask("workspace/executeCommand", command).error()
    assert refused.data["kind"] == "traceFailed"
    failed = await client.wait_for("textDocument/publishDiagnostics", lambda params: params["diagnostics"])
    assert [found["range"]["start"]["line"] for found in failed["params"]["diagnostics"]] == [6]


async def test_a_client_that_refuses_what_it_announced(client: LspClient, folder: Path, models_python: str) -> None:
    """Every request of the server is answered with an error."""
    client.answers = dict.fromkeys(
        (
            "client/registerCapability",
            "workspace/configuration",
            "window/workDoneProgress/create",
            "window/showDocument",
            "workspace/codeLens/refresh",
        ),
        error(-32601),
    )
    client.answers["window/showMessageRequest"] = {"title": "Trust folder"}
    await client.initialize(profiles.VSCODE, [folder], {"interpreter": models_python})
    uri = client.open(folder / "model.py")
    (lens,) = await client.lenses(uri)
    opened = await client.execute(lens["command"]["command"], *lens["command"]["arguments"])
    assert opened["capture"]["freshness"] == "fresh"
    shown = await client.wait_for("window/showMessage", lambda params: "http://" in params["message"])
    assert "model" in shown["params"]["message"] or "net" in shown["params"]["message"]


async def test_buffers_of_careless_clients(client: LspClient, folder: Path) -> None:
    """Opened twice, closed twice, changed unopened; versions that go back, repeat or are missing."""
    await client.initialize({}, [folder])
    uri = (folder / "model.py").as_uri()

    def opened(text: str, **fields: Any) -> None:
        client.notify(
            "textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "text": text, **fields}}
        )

    def changed(text: str, **fields: Any) -> None:
        document = {"uri": uri, **fields}
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    changed("x = 1\n", version=1)  # not open
    assert await names(client, uri) == ["net"]
    opened(MODEL.replace("net", "first"), version=5)
    opened(MODEL.replace("net", "second"), version=1)
    assert await names(client, uri) == ["second"]
    for text, fields in (("third", {"version": 1}), ("fourth", {"version": -3}), ("fifth", {"version": 0})):
        changed(MODEL.replace("net", text), **fields)
        assert await names(client, uri) == [text]
    changed(MODEL.replace("net", "broken"), version="six")  # no version of LSP
    assert await names(client, uri) == ["fifth"]
    for _ in range(2):
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert await names(client, uri) == ["net"]


@pytest.mark.parametrize(
    "spell", [lambda uri: uri.replace("model", "%6Dodel"), lambda uri: uri.replace("file:///", "FILE:/")]
)
async def test_one_file_has_one_buffer_however_it_is_spelt(client: LspClient, folder: Path, spell: Any) -> None:
    await client.initialize({}, [folder])
    uri = (folder / "model.py").as_uri()
    client.open(spell(uri), MODEL.replace("net", "unsaved"))
    assert await names(client, uri) == ["unsaved"]
    client.close(spell(uri))
    assert await names(client, uri) == ["net"]


async def test_a_file_of_another_system_is_nobody_here(client: LspClient, folder: Path) -> None:
    await client.initialize({}, [folder])
    uri = client.open("file:///c%3A/net/model.py", MODEL)
    assert await names(client, uri) == ["net"]
    refused = await client.ask("tvls/graph/open", {"target": {"uri": uri, "name": "net"}}).error()
    assert refused.data["kind"] in ("noWorkspace", "unsavedSource")


async def test_edits_race_with_requests(client: LspClient, folder: Path) -> None:
    """Each answer is of a text that the buffer had; the last one is of the last text."""
    await client.initialize({}, [folder])
    uri = client.open(folder / "model.py")
    calls = []
    for number in range(40):
        client.change(uri, MODEL.replace("net", f"net{number}"))
        calls.append(client.ask("tvls/targets/list", {"textDocument": {"uri": uri}}))
        calls.append(client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}}))
        if number % 3 == 0:
            calls[-1].cancel()
    answers = await asyncio.gather(*(call.result() for call in calls), return_exceptions=True)
    found = [answer["targets"][0]["name"] for answer in answers if isinstance(answer, dict)]
    assert len(found) == 40
    assert [int(name.removeprefix("net")) for name in found] == sorted(int(name.removeprefix("net")) for name in found)
    assert await names(client, uri) == ["net39"]
    assert all(len(client.replies_to(call.id)) == 1 for call in calls)
