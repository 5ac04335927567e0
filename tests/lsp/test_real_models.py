"""The requests of a client, on the models of `examples/`: GPT-2 of the transformers package, and the plain function."""

from __future__ import annotations

import asyncio
import json
import shutil
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.lsp.client import LspClient
from tvls import graph

COUNT = """
import jax, json, gpt2
model, ids = gpt2.make(2), jax.ShapeDtypeStruct((1, 64), "int32")
variables = jax.eval_shape(lambda *a: model.init(jax.random.key(0), *a), ids, ids, ids)

CALLS = "jit pjit closed_call remat2 checkpoint custom_jvp_call custom_vjp_call".split()

def primitives(jaxpr):
    for eqn in jaxpr.eqns:
        inner = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
        if eqn.primitive.name in CALLS:
            yield from primitives(getattr(inner, "jaxpr", inner))
        else:
            yield eqn.primitive.name

print(json.dumps(list(primitives(jax.make_jaxpr(model.apply)(variables, ids, ids, ids).jaxpr))))
"""


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    for name in ("model.py", "mlp.py", "gpt2.py", "tensorviz.toml"):
        shutil.copy(REPOSITORY / "examples" / name, folder)
    setup = folder / "tensorviz.toml"
    setup.write_text(setup.read_text().replace("layers = 12", "layers = 2"))
    return folder


@pytest.fixture
async def client(examples: Path, models_python: str) -> AsyncIterator[LspClient]:
    async with LspClient.start() as connected:
        options = {"interpreter": models_python, "trustedFolders": [examples.as_uri()]}
        await connected.initialize({}, [examples], options)
        yield connected
        await connected.shut_down()


async def whole(client: LspClient, method: str, params: dict[str, Any], key: str = "nodes") -> list[dict[str, Any]]:
    """All pages of a request."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await client.request(method, params | cursor)
        found += page[key]
        if "nextCursor" not in page:
            assert len(found) == page["total"]
            return found
        cursor = {"cursor": page["nextCursor"]}


async def test_a_graph_of_a_real_model_is_read_by_requests(
    client: LspClient, examples: Path, models_python: str
) -> None:  # R1, R12, R14, R15, R16, R20, R26, R32
    opened = await client.request("tvls/graph/open", {"profile": "gpt2", "folder": examples.as_uri()})
    capture = opened["capture"]
    assert (capture["kind"], capture["backend"], capture["evidence"]) == ("flax.linen", "jaxpr", "inferred")
    assert "freshly_initialised" in capture["notes"]
    this = {"captureId": capture["captureId"]}

    exported = (await client.request("tvls/graph/export", this))["text"]
    document = graph.load(exported.encode())  # which also checks that the identity is that of the content
    assert "failure" not in document
    counted = await asyncio.create_subprocess_exec(models_python, "-c", COUNT, cwd=examples, stdout=PIPE)
    output, _ = await counted.communicate()
    assert [operation["primitive"] for operation in document["operations"]] == json.loads(output)

    held = {
        scope["parameters"]["count"]
        for scope in document["scopes"]
        if scope.get("path", "").endswith("/attn") and "parameters" in scope
    }
    assert held == {4 * 768 * 768 + 3 * 768 + 768}  # query, key, value and output, with their biases

    top = await whole(client, "tvls/graph/view", this)
    assert [node["label"] for node in top if node["kind"] == "input"] == ["input_ids", "attention_mask", "position_ids"]
    # Open whatever is closed until everything is visible.
    expanded: list[str] = []
    while True:
        nodes = await whole(client, "tvls/graph/view", this | {"expanded": expanded, "limit": 97})
        closed = [node["id"] for node in nodes if node["kind"] == "scope" and not node.get("expanded")]
        if not closed:
            break
        expanded += closed
    operations = [node for node in nodes if node["kind"] == "operation"]
    assert len(operations) == len(document["operations"])
    attention = [node for node in nodes if node.get("className", "").endswith(".FlaxGPT2Attention")]
    assert {node["scopeKind"] for node in attention} == {"module"}

    hits = await whole(client, "tvls/graph/search", this | {"query": "dot_general attn"})
    details = await client.request("tvls/graph/node", this | {"node": hits[0]["node"]})
    assert details["params"]["dimension_numbers"]
    assert len(details["operands"]) == 2
    assert all(scope in expanded for scope in hits[0]["scopes"])
    sources = await client.request("tvls/graph/sources", this | {"node": hits[0]["node"]})
    library = next(frame for frame in sources["frames"] if frame["path"].endswith("modeling_flax_gpt2.py"))
    assert library["location"]["uri"].endswith("/transformers/models/gpt2/modeling_flax_gpt2.py")

    assert (await client.request("tvls/graph/close", this)) == {"closed": True}
    gone = await client.ask("tvls/graph/view", this).error()
    assert gone.data["kind"] == "captureGone"


async def test_places_lead_to_nodes_and_back(client: LspClient, examples: Path) -> None:  # R25, R26
    uri = (examples / "mlp.py").as_uri()
    text = (examples / "mlp.py").read_text()
    client.open(uri, text)
    opened = await client.request("tvls/graph/open", {"target": {"uri": uri, "name": "MLP"}})
    this = {"captureId": opened["capture"]["captureId"]}
    line = next(number for number, line in enumerate(text.split("\n")) if "nn.Dense(4)" in line)
    character = text.split("\n")[line].index("Dense(4)")
    at = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
    hits = (await client.request("tvls/graph/nodesAt", this | at))["nodes"]
    assert hits
    for hit in hits:
        sources = await client.request("tvls/graph/sources", this | {"node": hit["node"]})
        assert sources["frames"][0]["location"]["uri"] == uri
        assert sources["frames"][0]["location"]["range"]["start"]["line"] == line

    # Three lines more above: the same node now leads to the moved line, and the moved line to the same nodes.
    client.change(uri, "# one\n# two\n# three\n" + text)
    moved = at | {"position": {"line": line + 3, "character": character}}
    assert (await client.request("tvls/graph/nodesAt", this | moved))["nodes"] == hits
    sources = await client.request("tvls/graph/sources", this | {"node": hits[0]["node"]})
    assert sources["frames"][0]["location"]["range"]["start"]["line"] == line + 3
    assert sources["freshness"] == "stale"
    client.change(uri, text)
    assert (await client.request("tvls/graph/sources", this | {"node": hits[0]["node"]}))["freshness"] == "fresh"


async def test_equal_setups_share_a_capture_and_others_do_not(client: LspClient, examples: Path) -> None:  # R11, R27
    target = {"uri": (examples / "mlp.py").as_uri(), "name": "MLP"}

    def setup(width: int) -> dict[str, Any]:
        tensor = {"kind": "tensor", "shape": [2, 3], "dtype": "float32"}
        return {"init": {"kwargs": {"width": width}}, "inputs": {"args": [tensor]}}

    first = await client.request("tvls/graph/open", {"target": target, "setup": setup(5)})
    again = await client.request("tvls/graph/open", {"target": target, "setup": setup(5)})
    assert again.get("reused") is True
    assert again["capture"]["captureId"] == first["capture"]["captureId"]
    refreshed = await client.request("tvls/graph/open", {"target": target, "setup": setup(5), "refresh": True})
    assert "reused" not in refreshed
    assert refreshed["capture"]["captureId"] == first["capture"]["captureId"]  # the same program is the same capture
    other = await client.request("tvls/graph/open", {"target": target, "setup": setup(6)})
    assert other["capture"]["captureId"] != first["capture"]["captureId"]


async def test_what_is_missing_comes_as_a_list(client: LspClient, examples: Path) -> None:  # R10
    target = {"uri": (examples / "mlp.py").as_uri(), "name": "NnxMLP"}
    refused = await client.ask("tvls/graph/open", {"target": target, "setup": {}}).error()
    data = refused.data
    assert data["kind"] == "setupRequired"
    keys = {value["key"]: value.get("required", True) for value in data["missing"]}
    assert keys == {"init.kwargs.features": True, "init.kwargs.width": False, "inputs.args[0]": True}
    assert data["nextStep"]
