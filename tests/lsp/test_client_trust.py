"""An editor that decides whom to trust: what it says counts, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from tests.lsp.client import LspClient

MODEL = """\
import jax

open("ran", "w").close()


@jax.jit
def net(x):
    return x + 1
"""
SETUP = """\
version = 1

[profiles.net]
framework = "jax"
kind = "model"
model = "model:net"
inputs = { args = [{ kind = "tensor", shape = [2], dtype = "float32" }] }
"""
CAPABILITIES = {
    "window": {"showMessage": {"messageActionItem": {}}},
    "experimental": {"tvls": {"trust": "client"}, "commands": ["tvls.openGraph"]},
}


async def test_the_trust_of_the_editor_alone_counts(tmp_path: Path, models_python: str) -> None:  # R4
    folder = tmp_path / "net"
    folder.mkdir()
    model = folder / "model.py"
    model.write_text(MODEL.replace('"ran"', repr(str(tmp_path / "ran"))))
    (folder / "tensorviz.toml").write_text(SETUP)
    state = tmp_path / "state"
    env = {"XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    uri = folder.as_uri()
    async with LspClient.start(env=env) as client:  # trusted with an editor that has no decision of its own
        await client.initialize({}, [folder], {"interpreter": models_python})
        await client.request("tvls/trust/grant", {"folder": uri})
        assert await client.shut_down() == 0
    stored = (state / "tvls" / "trust.json").read_text()
    assert str(folder) in json.loads(stored)["folders"]

    async with LspClient.start(env=env) as client:
        client.answers["window/showMessageRequest"] = {"title": "Not now"}
        await client.initialize(CAPABILITIES, [folder], {"interpreter": models_python})
        opened = {"target": {"uri": client.open(model), "name": "net"}}
        assert (await client.ask("tvls/graph/open", opened).error()).data["kind"] == "notTrusted"
        assert not (tmp_path / "ran").exists()

        assert (await client.request("tvls/trust/grant", {"folder": uri}))["trusted"] is True
        assert (await client.request("tvls/graph/open", opened))["capture"]["name"] == "net"
        assert (tmp_path / "ran").exists()

        assert (await client.request("tvls/trust/revoke", {"folder": uri}))["trusted"] is False
        assert await client.shut_down() == 0
    assert (state / "tvls" / "trust.json").read_text() == stored  # neither added to nor taken from
