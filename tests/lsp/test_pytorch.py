"""What a person meets in an editor with a PyTorch model, and Pythons that have one framework alone."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp import profiles
from tests.lsp.client import LspClient
from tvls.uris import to_path

pytestmark = pytest.mark.timeout(600)
SLOW = 300.0
"""Seconds for a trace: PyTorch takes its time to be imported where much else runs."""

MODEL = """\
import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Linear(3, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.tied = nn.Linear(3, width)
        self.tied.weight = self.embedding.weight

    def forward(self, x):
        h = self.embedding(x) + self.tied(x)
        for layer in self.layers:
            h = torch.relu(layer(h))
        return h
"""
SETUP = """\
version = 1

[profiles.mlp]
kind = "model"
model = "model:MLP"
inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }] }

[profiles.net]
kind = "model"
framework = "jax"
model = "net:net"
inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }] }
"""
NET = """\
import jax


@jax.jit
def net(x):
    return jax.nn.relu(x)
"""
CALL = 15
"""0-based line of the call in the loop."""


class Place:
    def __init__(self, root: Path) -> None:
        self.folder = root / "work"
        self.folder.mkdir()
        self.model = self.folder / "model.py"
        self.model.write_text(MODEL)
        (self.folder / "net.py").write_text(NET)
        (self.folder / "tensorviz.toml").write_text(SETUP)
        self.env = {"XDG_STATE_HOME": str(root / "state"), "XDG_CACHE_HOME": str(root / "cache"), "SSH_CONNECTION": ""}

    @contextlib.asynccontextmanager
    async def editor(self, python: str) -> AsyncIterator[LspClient]:
        async with LspClient.start(env=self.env) as client:
            client.answers["window/showMessageRequest"] = {"title": "Trust folder"}
            options = {"interpreter": python, "limits": {"seconds": SLOW}}
            await client.initialize(profiles.OURS, [self.folder], options)
            yield client
            assert await client.shut_down() == 0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def ask(client: LspClient, method: str, **params: Any) -> Any:
    return client.request(method, params, seconds=SLOW)


async def test_from_the_lens_to_the_graph_and_back(
    place: Place, torch_python: str
) -> None:  # R1, R9, R13, R16, R17, R18, R24, R29
    async with place.editor(torch_python) as client:
        uri = client.open(place.model)
        (lens,) = await client.lenses(uri)
        assert lens["range"]["start"]["line"] == 4
        target = {"uri": uri, "name": "MLP"}
        capture = (await ask(client, "tvls/graph/open", target=target))["capture"]
        assert len(client.of("window/showMessageRequest")) == 1, "trust is asked for, once"
        assert (capture["kind"], capture["framework"], capture["evidence"]) == ("torch.module", "torch", "measured")
        assert capture["coverage"]["scope"] == "eager_forward"
        assert capture["costs"]["parameters"] == 3 * 16 + 16 + 16 + 2 * (16 * 16 + 16), "tied weights count once"
        assert capture["costs"]["contractionFlops"] == 2 * 2 * (3 * 16 * 2 + 16 * 16 * 2)
        this = {"captureId": capture["captureId"]}

        view = await ask(client, "tvls/graph/view", **this, expanded=["scope:MLP", "scope:MLP/layers.0"])
        labels = {node["label"] for node in view["nodes"]}
        assert {"embedding", "layers.0", "linear", "relu"} <= labels
        (linear,) = [node for node in view["nodes"] if node["label"] == "linear"]
        details = await ask(client, "tvls/graph/node", **this, node=linear["id"])
        assert details["primitive"] == "torch.nn.functional.linear"
        (body,) = details["node"]["bodies"]
        inside = await ask(client, "tvls/graph/view", **this, body=body["id"])
        assert "addmm" in {node["label"] for node in inside["nodes"]}
        state = (await ask(client, "tvls/graph/node", **this, node="scope:MLP"))["node"]["state"]
        assert {value["name"]: value.get("alsoNamed") for value in state}["embedding.weight"] == ["tied.weight"]

        hover = await client.hover(uri, CALL, MODEL.splitlines()[CALL].index("layer("))
        assert hover is not None
        assert "float32[2, 16] · \u00d72 · measured · fresh" in hover["contents"]["value"]
        frames = (await ask(client, "tvls/graph/sources", **this, node=linear["id"]))["frames"]
        assert (frames[0]["path"], frames[0]["line"]) == ("model.py", CALL + 1)

        # A module leads to the line that calls it, and to its class: of the workspace, and of a library.
        for node, path, line in (
            ("scope:MLP", "model.py", "class MLP(nn.Module):"),
            ("scope:MLP/layers.0", "torch/nn/modules/linear.py", "class Linear(Module):"),
        ):
            defined = (await ask(client, "tvls/graph/node", **this, node=node))["defined"]
            assert (await ask(client, "tvls/graph/sources", **this, node=node))["defined"] == defined
            assert defined["path"] == path
            text = to_path(defined["location"]["uri"]).read_text().splitlines()
            assert text[defined["location"]["range"]["start"]["line"]] == line
        assert "defined" not in await ask(client, "tvls/graph/node", **this, node=linear["id"])

        client.change(uri, MODEL.replace("torch.relu", "torch.tanh"))
        assert (await ask(client, "tvls/graph/info", **this))["freshness"] == "stale"
        client.change(uri, MODEL)
        assert (await ask(client, "tvls/graph/info", **this))["freshness"] == "fresh"

        broken = MODEL.replace("torch.relu(layer(h))", "torch.relu(layer(h[:, :3]))")
        seen = len(client.received)
        client.change(uri, broken)
        place.model.write_text(broken)
        client.save(uri)
        failed = await client.ask("tvls/graph/open", {"target": target}).error(SLOW)
        assert failed.data["kind"] == "traceFailed"
        assert "in layers.0 (Linear)" in failed.message
        published = await client.wait_for(
            "textDocument/publishDiagnostics", lambda params: params["diagnostics"], since=seen
        )
        (diagnostic,) = published["params"]["diagnostics"]
        assert diagnostic["range"]["start"]["line"] == CALL
        assert "float32[2, 3]" in diagnostic["message"]


async def test_what_is_measured_on_request_is_in_the_details(place: Place, torch_python: str) -> None:  # R24
    async with place.editor(torch_python) as client:
        target = {"uri": client.open(place.model), "name": "MLP"}
        plain = await ask(client, "tvls/graph/open", target=target)
        costs = plain["capture"]["unavailable"]
        assert set(costs) == {*JAX_HAS_NOT} - {"source_edit_recipes"}
        assert "no gradient" in costs["training_step"]
        assert all("on request" in costs[word] for word in ("storage_aliases", "activation_statistics", "output_bytes"))

        asked = ["activation_statistics", "storage_aliases", "output_bytes"]
        measured = await ask(client, "tvls/graph/open", target=target, measure=asked)
        assert not measured.get("reused")
        assert not set(asked) & set(measured["capture"]["unavailable"])
        this = {"captureId": measured["capture"]["captureId"]}
        view = await ask(client, "tvls/graph/view", **this, expanded=["scope:MLP", "scope:MLP/layers.0"])
        (relu, *_) = [node for node in view["nodes"] if node["label"] == "relu"]
        (result,) = (await ask(client, "tvls/graph/node", **this, node=relu["id"]))["results"]
        assert result["value"]["bytes"] == 2 * 16 * 4
        assert isinstance(result["value"]["storage"], int)
        assert result["value"]["statistics"]["elements"] == 32
        assert result["value"]["statistics"]["min"] >= 0

        again = await ask(client, "tvls/graph/open", target=target)
        assert again["reused"], "what has more is as good"
        assert again["capture"]["captureId"] == this["captureId"]
        assert "previous" not in measured["capture"], "it is the same program"

        wrong = await client.ask("tvls/graph/open", {"target": target, "measure": ["timings"]}).error()
        assert wrong.code == -32602


@pytest.mark.parametrize("has", ["torch", "jax"])
async def test_one_framework_works_where_the_other_is_absent(
    place: Place, torch_python: str, models_python: str, has: str
) -> None:  # R2, R24
    python, works, lacks = {
        "torch": (torch_python, ("model.py", "MLP"), ("net.py", "net")),
        "jax": (models_python, ("net.py", "net"), ("model.py", "MLP")),
    }[has]
    absent = "jax" if has == "torch" else "torch"
    async with place.editor(python) as client:
        uris = {name: client.open(place.folder / name) for name in ("model.py", "net.py")}
        opened = await ask(client, "tvls/graph/open", target={"uri": uris[works[0]], "name": works[1]})
        assert opened["capture"]["framework"] == has
        target = {"uri": uris[lacks[0]], "name": lacks[1]}
        refused = await client.ask("tvls/graph/open", {"target": target}).error(SLOW)
        assert refused.data["kind"] == "environmentInvalid"
        assert f"has no {absent}" in refused.message
        assert refused.data["requirements"][0].startswith(f"{absent}>=")
        assert "installLibraries" in refused.data["nextStep"]


JAX_HAS_NOT = {
    "source_edit_recipes": "eager PyTorch captures",
    "training_step": "trace a function that takes the gradient",
    "storage_aliases": "no storage",
    "activation_statistics": "no array is computed",
    "output_bytes": "no output is computed",
    "timings": "no kernel runs",
}


async def test_a_jax_program_has_nothing_to_measure(place: Place, models_python: str) -> None:  # R23
    async with place.editor(models_python) as client:
        target = {"uri": client.open(place.folder / "net.py"), "name": "net"}
        capture = (await ask(client, "tvls/graph/open", target=target))["capture"]
        assert capture["unavailable"].keys() == JAX_HAS_NOT.keys()
        for what, why in JAX_HAS_NOT.items():
            assert why in capture["unavailable"][what]
        exported = await ask(client, "tvls/graph/export", captureId=capture["captureId"], format="json")
        assert json.loads(exported["text"])["unavailable"] == capture["unavailable"]
        outline = await ask(client, "tvls/graph/export", captureId=capture["captureId"], format="outline")
        (line,) = [line for line in outline["text"].splitlines() if line.startswith("unavailable: ")]
        assert "activation statistics" in line
        refused = await client.ask("tvls/graph/open", {"target": target, "measure": ["output_bytes"]}).error(SLOW)
        assert refused.data["kind"] == "setupInvalid"
        assert "never run" in refused.message
