"""`workspace/textDocumentContent`: the outline of a graph as a read-only document, against the real daemon."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.lsp import profiles
from tests.lsp.client import LspClient

MODEL = """\
import jax
import jax.numpy as jnp


@jax.jit
def net(x):
    return jax.nn.relu(x @ jnp.ones((3, 4)))
"""
SETUP = """\
version = 1

[profiles.small]
kind = "model"
framework = "jax"
model = "model:net"
inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }] }
"""
REFRESH = "workspace/textDocumentContent/refresh"


async def text_of(client: LspClient, uri: str) -> str:
    return (await client.request("workspace/textDocumentContent", {"uri": uri}))["text"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work #1?"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / "tensorviz.toml").write_text(SETUP)
    return folder


async def test_an_outline_is_a_document_that_follows_its_model(
    folder: Path, tmp_path: Path, models_python: str
) -> None:  # R27, R28
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    options = {"interpreter": models_python, "show": "outline", "trustedFolders": [folder.as_uri()]}
    async with LspClient.start(env=env) as client:
        await client.initialize(profiles.SUBLIME, [folder], options)
        assert client.capabilities["workspace"]["textDocumentContent"] == {"schemes": ["tvls-outline"]}
        uri = client.open(folder / "model.py")
        await client.execute("tvls.server.openGraph", {"uri": uri, "name": "net"})
        shown = (await client.wait_for("window/showDocument"))["params"]["uri"]
        parts = urlsplit(shown)
        assert (parts.scheme, parts.path.rpartition("/")[2]) == ("tvls-outline", "net.txt")

        text = await text_of(client, shown)
        assert "dot_general" in text
        assert "f32[2,4]" in text
        assert "fresh · " in text

        client.change(uri, "# an edit\n" + MODEL)  # a line above moves what is below, and is a change all the same
        told = await client.wait_for(REFRESH)
        assert told["params"] == {"uri": shown}
        assert "stale · " in await text_of(client, shown)

        seen = len(client.received)
        client.change(uri, MODEL)
        await client.wait_for(REFRESH, since=seen)
        assert "fresh · " in await text_of(client, shown)

        seen = len(client.received)
        longer = MODEL.replace("(3, 4)", "(3, 8)")
        client.change(uri, longer)
        (folder / "model.py").write_text(longer)
        client.save(uri)
        await client.execute("tvls.server.refreshGraph", {"uri": uri, "name": "net"})
        await client.wait_for(REFRESH, since=seen)
        assert "f32[2,8]" in await text_of(client, shown)

        nowhere = "tvls-outline:///nowhere/net.txt?name=net"
        for bad in (nowhere, "other:///net.txt", shown.replace("name=net", "name=x")):
            refused = await client.ask("workspace/textDocumentContent", {"uri": bad}).error()
            assert refused.data["kind"] == "captureGone"
        assert await client.shut_down() == 0


async def test_a_client_without_it_gets_a_file(folder: Path, tmp_path: Path, models_python: str) -> None:  # R28
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    options = {"interpreter": models_python, "show": "outline", "trustedFolders": [folder.as_uri()]}
    async with LspClient.start(env=env) as client:
        await client.initialize(profiles.VSCODE, [folder], options)
        assert "textDocumentContent" not in client.capabilities["workspace"]
        uri = client.open(folder / "model.py")
        await client.execute("tvls.server.openGraph", {"uri": uri, "name": "net"})
        shown = (await client.wait_for("window/showDocument"))["params"]["uri"]
        assert shown.startswith("file://")
        assert await client.shut_down() == 0
