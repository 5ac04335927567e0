"""What a canvas asks for beside a plain view, against the real daemon with real Flax."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.lsp.client import LspClient

MODEL = """\
import flax.linen as nn


class Block(nn.Module):
    width: int = 16

    @nn.compact
    def __call__(self, x):
        return x + nn.Dense(x.shape[-1])(nn.tanh(nn.Dense(self.width)(x)))


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for at in range(4):
            x = Block(name=f"layers_{at}")(x)
        return nn.Dense(3)(x)
"""
SETUP: dict[str, Any] = {"inputs": {"args": [{"kind": "tensor", "shape": [2, 8], "dtype": "float32"}]}}


async def test_preview_then_folds_costs_and_what_an_edit_changed(  # R36, R38, R40, R41
    tmp_path: Path, models_python: str
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    model = folder / "model.py"
    model.write_text(MODEL)
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    async with LspClient.start(env=env) as client:
        await client.initialize({}, [folder], {"interpreter": models_python})
        uri = client.open(model)
        target = {"uri": uri, "name": "Net"}

        # The source alone, before anybody was asked for trust.
        preview = await client.request("tvls/target/preview", {"target": target})
        (call,) = preview["methods"]
        assert (preview["evidence"], preview["kind"]) == ("source", "flax.linen")
        assert [(c["callee"], c.get("within", [])) for c in call["calls"]] == [
            ("Block", ["for at in range(4)"]),
            ("nn.Dense", []),
        ]
        assert call["calls"][1]["range"] == {
            "start": {"line": 16, "character": 15},
            "end": {"line": 16, "character": 29},
        }
        gone = await client.ask("tvls/target/preview", {"target": {"uri": uri, "name": "gone"}}).error()
        assert gone.data["kind"] == "targetNotFound"
        outside = tmp_path / "other.py"
        outside.write_text(MODEL)
        refused = {"target": {"uri": outside.as_uri(), "name": "Net"}}
        assert (await client.ask("tvls/target/preview", refused).error()).data["kind"] == "noWorkspace"
        assert client.of("window/showMessageRequest") == []

        await client.request("tvls/trust/grant", {"folder": folder.as_uri()})
        opened = await client.request("tvls/graph/open", {"target": target, "setup": SETUP})
        first = opened["capture"]["captureId"]
        # Four blocks of 8·16+16 and 16·8+8 parameters, and a head; two contractions in each block for two rows.
        block = 8 * 16 + 16 + 16 * 8 + 8
        assert opened["capture"]["costs"]["parameters"] == 4 * block + 8 * 3 + 3
        contractions = 4 * 2 * (2 * 8 * 16 + 2 * 16 * 8) + 2 * 2 * 8 * 3
        assert opened["capture"]["costs"]["contractionFlops"] == contractions
        assert "previous" not in opened["capture"]

        shown = await client.request("tvls/graph/view", {"captureId": first, "fold": True})
        (folded,) = [node for node in shown["nodes"] if "fold" in node]
        assert (folded["fold"]["count"], folded["fold"]["first"], folded["fold"]["last"]) == (4, "layers_0", "layers_3")
        assert folded["fold"]["costs"]["parameters"] == 4 * block
        members = await client.request("tvls/graph/fold", {"captureId": first, "node": folded["id"]})
        assert [member["path"] for member in members["instances"]] == [f"layers_{at}" for at in range(4)]
        found = await client.request("tvls/graph/search", {"captureId": first, "query": "layers_2 tanh"})
        hit = found["nodes"][0]
        assert hit["instances"] == {folded["id"]: 2}
        params = {"captureId": first, "fold": True, "expanded": hit["scopes"], "instances": hit["instances"]}
        inside = await client.request("tvls/graph/view", params)
        assert hit["node"] in [node["id"] for node in inside["nodes"]]

        # An edit: another width, and one operation more.
        edited = MODEL.replace("width: int = 16", "width: int = 32").replace(
            "return nn.Dense(3)(x)", "return nn.relu(nn.Dense(3)(x))"
        )
        model.write_text(edited)
        client.change(uri, edited)
        client.save(uri)
        again = await client.request("tvls/graph/open", {"target": target, "setup": SETUP})
        second = again["capture"]["captureId"]
        assert again["capture"]["previous"] == first
        compared = await client.request("tvls/graph/compare", {"before": first, "after": second})
        assert not compared.get("removed")
        assert [change["label"] for change in compared["added"]] == ["max"]
        shapes = [change for change in compared["changed"] if "shape" in change["what"]]
        assert {change["text"][0] for change in shapes} >= {"f32[2,16] → f32[2,32]"}
        assert compared["scopes"]["scope:Net/layers_1"] > 0
        assert (await client.request("tvls/graph/compare", {"before": second, "after": second}))["same"]
        await client.request("tvls/graph/close", {"captureId": first})
        gone = await client.ask("tvls/graph/compare", {"before": first, "after": second}).error()
        assert gone.data["kind"] == "captureGone"
        assert "previous" not in await client.request("tvls/graph/info", {"captureId": second})
        assert await client.shut_down() == 0
