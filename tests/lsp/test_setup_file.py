"""`tensorviz.toml` in an editor: what is wrong, what can be written, what it means, and where it leads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp import profiles
from tests.lsp.client import LspClient

MODEL = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


@jax.jit
def net(x, scale=1.0):
    return jnp.sin(x) * scale


class MLP(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x, train: bool = False):
        return nn.Dense(self.width)(x)
"""
BATCH = '''\
import jax.numpy as jnp


def example(rows, columns=3):
    """Arrays of ones."""
    return {"x": jnp.ones((rows, columns))}


def nothing(rows):
    return None
'''
SETUP = """\
version = 1

[profiles.small]
framework = "jax"
model = "model:net"
inputs = { kwargs = { x = { kind = "tensor", shape = [2, 3], dtype = "float32" } } }

[profiles.made]
framework = "jax"
model = "model:net"
inputs = { factory = { file = "tools/batch.py", callable = "example", kwargs = { rows = 2 } } }
"""


class Editor:
    def __init__(self, client: LspClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.uri = (folder / "tensorviz.toml").as_uri()
        self.text = SETUP

    def write(self, text: str) -> None:
        self.text = text
        self.client.change(self.uri, text)

    def place(self, before: str) -> dict[str, Any]:
        """The position right behind a text, for a client that counts in UTF-16."""
        start = self.text[: self.text.index(before) + len(before)]
        line = start.rpartition("\n")[2]
        position = {"line": start.count("\n"), "character": len(line.encode("utf-16-le")) // 2}
        return {"textDocument": {"uri": self.uri}, "position": position}

    async def ask(self, feature: str, before: str) -> Any:
        return await self.client.request(f"textDocument/{feature}", self.place(before))

    async def problems(self, text: str) -> list[tuple[str, int, str]]:
        """Marked text, severity and message of what is wrong with a text, once the server has said so."""
        seen = len(self.client.received)
        self.write(text)
        params = (await self.client.wait_for("textDocument/publishDiagnostics", self._is_ours, since=seen))["params"]
        return [(self.marked(item["range"]), item["severity"], item["message"]) for item in params["diagnostics"]]

    def _is_ours(self, params: dict[str, Any]) -> bool:
        return params["uri"] == self.uri

    def marked(self, span: dict[str, Any]) -> str:
        lines = self.text.split("\n")
        assert span["start"]["line"] == span["end"]["line"]
        line = lines[span["start"]["line"]].encode("utf-16-le")
        return line[2 * span["start"]["character"] : 2 * span["end"]["character"]].decode("utf-16-le")


@pytest.fixture
async def editor(tmp_path: Path, models_python: str) -> AsyncIterator[Editor]:
    folder = tmp_path / "work"
    (folder / "tools").mkdir(parents=True)
    (folder / "model.py").write_text(MODEL)
    (folder / "tools" / "batch.py").write_text(BATCH)
    (folder / "tensorviz.toml").write_text(SETUP)
    (tmp_path / "outside.py").write_text("def make():\n    return {}\n")
    (folder / "link.py").symlink_to(tmp_path / "outside.py")
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    async with LspClient.start(env=state) as client:
        client.answers["window/showMessageRequest"] = {"title": "Trust folder"}
        await client.initialize(CAPABILITIES, [folder], {"interpreter": models_python})
        client.open(folder / "tensorviz.toml", language="toml")
        yield Editor(client, folder)
        assert await client.shut_down() == 0


CAPABILITIES: dict[str, Any] = {
    **profiles.VSCODE,
    "textDocument": {
        **profiles.VSCODE["textDocument"],
        "completion": {
            "dynamicRegistration": True,
            "completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]},
        },
        "definition": {"dynamicRegistration": True},
        "documentSymbol": {"dynamicRegistration": True, "hierarchicalDocumentSymbolSupport": True},
    },
}


def changed(old: str, new: str) -> str:
    assert SETUP.count(old) >= 1
    return SETUP.replace(old, new, 1)


WRONG = [
    # What is written, what is marked, how badly, and what is said.
    (changed("[profiles.small]\n", "[profiles.small]\nsede = 1\n"), "sede", 2, "did you mean 'seed'?"),
    (changed('"float32"', '"flaot32"'), '"flaot32"', 1, "did you mean 'float32'?"),
    (changed("[2, 3]", "3"), "3", 1, "a shape is a list"),
    (changed("[profiles.small]\n", '[profiles.small]\ndevice = "gpu"\n'), '"gpu"', 1, "did you mean 'cuda:0'?"),
    (changed("model:net", "model:nett"), '"model:nett"', 1, "did you mean 'net'?"),
    (changed("model:net", "modle:net"), '"modle:net"', 2, "did you mean 'model:net'?"),
    (changed("tools/batch.py", "batch.py"), '"batch.py"', 1, "did you mean 'tools/batch.py'?"),
    (changed("tools/batch.py", "link.py"), '"link.py"', 1, "leads out of the workspace"),
    (changed("tools/batch.py", "../outside.py"), '"../outside.py"', 1, "inside the workspace folder"),
    (changed('"example"', '"exampel"'), '"exampel"', 1, "did you mean 'example'?"),
    (changed("rows = 2", "row = 2"), "row", 1, "did you mean 'rows'?"),
    (changed("kwargs = { x", "kwargs = { 'x 😀' = 1, y"), "y", 1, "net has no parameter 'y'"),
    (changed("shape = [2, 3], ", ""), "x", 2, "x still needs its shape"),
    (changed("{ kwargs = { x = ", "{ kwargs = { scale = "), "inputs", 2, "x still needs a value"),
    (changed("[profiles.made]", "[profiles.small]"), "small", 1, "given twice; first on line 3"),
    (changed("version = 1", "version = "), "", 1, "not valid TOML"),
]


@pytest.mark.timeout(300)
async def test_what_is_wrong_is_marked_while_it_is_written(editor: Editor) -> None:  # R9, R10, R12
    for text, marked, severity, says in WRONG:
        found = await editor.problems(text)
        assert any(mark == marked and how == severity and says in message for mark, how, message in found), (
            f"{says!r} at {marked!r} is not among {found}"
        )
        assert await editor.problems(SETUP) == []


async def test_an_unsaved_factory_counts(editor: Editor) -> None:  # R12
    batch = editor.client.open(editor.folder / "tools" / "batch.py")
    seen = len(editor.client.received)
    editor.client.change(batch, BATCH.replace("example", "examples"))
    published = await editor.client.wait_for("textDocument/publishDiagnostics", since=seen)
    assert "did you mean 'examples'?" in published["params"]["diagnostics"][0]["message"]


async def test_completion(editor: Editor) -> None:  # R10
    assert "completionProvider" not in editor.client.capabilities
    registered = await editor.client.wait_for("client/registerCapability")
    methods = {item["method"]: item["registerOptions"] for item in registered["params"]["registrations"]}
    for method in ("completion", "definition", "documentSymbol"):
        assert methods[f"textDocument/{method}"]["documentSelector"] == [{"pattern": "**/tensorviz.toml"}]

    editor.write(SETUP + '\n[profiles.new] # 😀\nmodel = "model:M')
    found = await editor.ask("completion", '"model:M')
    edits = {item["label"]: item["textEdit"] for item in found["items"]}
    assert set(edits) == {"model:MLP", "model:net", "batch:example"}
    assert editor.marked(edits["model:MLP"]["range"]) == "model:M"
    assert "class MLP(width: int = 8)" in found["items"][0]["documentation"]["value"] or "def net" in str(found)

    editor.write(SETUP + '\n[profiles.new]\nmodel = "model:MLP"\ninputs = { kwargs = { ')
    found = await editor.ask("completion", 'model:MLP"\ninputs = { kwargs = { ')
    assert [item["label"] for item in found["items"]] == ["x", "train"]
    assert found["items"][0]["insertTextFormat"] == 2
    assert found["items"][0]["textEdit"]["newText"].startswith('x = { kind = "tensor", shape = [$1]')
    other = editor.client.open(editor.folder / "model.py")
    place = {"textDocument": {"uri": other}, "position": {"line": 0, "character": 3}}
    assert await editor.client.request("textDocument/completion", place) is None


async def test_hover_and_definitions(editor: Editor) -> None:  # R9, R10, R26
    assert "trace worker only" in (await editor.ask("hover", "inputs = { fact"))["contents"]["value"]
    assert "def net(x, scale=1.0)" in (await editor.ask("hover", '"model:n'))["contents"]["value"]
    target = await editor.ask("definition", '"model:n')
    assert target["uri"] == (editor.folder / "model.py").as_uri()
    assert target["range"] == {"start": {"line": 6, "character": 4}, "end": {"line": 6, "character": 7}}
    file = await editor.ask("definition", "tools/ba")
    function = await editor.ask("definition", '"exam')
    assert file["uri"] == function["uri"] == (editor.folder / "tools" / "batch.py").as_uri()
    assert function["range"]["start"] == {"line": 3, "character": 4}
    assert await editor.ask("definition", "frame") is None


async def test_definition_of_a_class_that_an_object_is_of(editor: Editor) -> None:  # R10
    (editor.folder / "config.py").write_text(
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass Config:\n    width: int = 8\n"
    )
    model = "import jax\n\nimport config\n\n\n@jax.jit\ndef net(x, of: config.Config):\n    return x\n"
    (editor.folder / "sized.py").write_text(model)
    entry = 'of = { kind = "object", class = "config:Config", fields = {} }'
    editor.write(f'[profiles.sized]\nframework = "jax"\nmodel = "sized:net"\ninputs = {{ kwargs = {{ {entry} }} }}\n')
    found = await editor.ask("definition", '"config:Con')
    assert found["uri"] == (editor.folder / "config.py").as_uri()
    assert found["range"] == {"start": {"line": 4, "character": 6}, "end": {"line": 4, "character": 12}}


async def test_symbols(editor: Editor) -> None:
    found = await editor.client.request("textDocument/documentSymbol", {"textDocument": {"uri": editor.uri}})
    assert [item["name"] for item in found] == ["version", "profiles"]
    assert [(item["name"], item["detail"]) for item in found[1]["children"]] == [
        ("small", "model:net"),
        ("made", "model:net"),
    ]


async def test_the_lens_of_a_profile_opens_it(editor: Editor) -> None:  # R1, R12, R28
    lenses = await editor.client.lenses(editor.uri)
    assert [(editor.marked(lens["range"]), lens["command"]["title"]) for lens in lenses] == [
        ("small", "Open as Graph"),
        ("made", "Open as Graph"),
    ]
    command = lenses[1]["command"]
    result = await editor.client.execute(command["command"], *command["arguments"])
    assert (result["capture"]["name"], result["capture"]["profile"]) == ("net", "made")
    await editor.client.wait_for("workspace/codeLens/refresh")
    lenses = await editor.client.lenses(editor.uri)
    assert [lens["command"]["title"] for lens in lenses] == ["Open as Graph", "Open as Graph · fresh"]


async def test_the_action_in_a_profile_opens_it(editor: Editor) -> None:  # R28
    """For editors without lenses."""

    async def at(line: str, *only: str) -> list[dict[str, Any]]:
        place = {"line": editor.text.split("\n").index(line), "character": 0}
        context = {"diagnostics": [], **({"only": only} if only else {})}
        span = {"start": place, "end": place}
        params = {"textDocument": {"uri": editor.uri}, "range": span, "context": context}
        return await editor.client.request("textDocument/codeAction", params)

    assert await at("version = 1") == []
    (action,) = await at("[profiles.small]")
    assert (action["title"], action["kind"]) == ("Open small as Graph", "source.tvls.openGraph")
    (action,) = await at(editor.text.split("\n")[-2])
    lenses = await editor.client.lenses(editor.uri)
    assert action["command"]["arguments"] == lenses[1]["command"]["arguments"]
    opened = await editor.client.execute(action["command"]["command"], *action["command"]["arguments"])
    assert opened["capture"]["profile"] == "made"
    (again,) = await at("[profiles.made]", "source.tvls.refresh")
    assert again["title"] == "Trace made again"
    traced = await editor.client.execute(again["command"]["command"], *again["command"]["arguments"])
    assert (traced["capture"]["profile"], traced.get("reused")) == ("made", None)
    assert await at("[profiles.made]", "quickfix") == []


async def test_a_factory_at_fault_is_marked_in_both_files(editor: Editor) -> None:  # R12, R22
    text = changed('"example"', '"nothing"')
    (editor.folder / "tensorviz.toml").write_text(text)
    editor.write(text)
    (lens,) = [lens for lens in await editor.client.lenses(editor.uri) if editor.marked(lens["range"]) == "made"]
    call = editor.client.ask(
        "workspace/executeCommand", {"command": lens["command"]["command"], "arguments": lens["command"]["arguments"]}
    )
    refused = await call.error()
    assert refused.data["kind"] == "setupInvalid"
    assert "tools/batch.py:9" in refused.message
    batch = (editor.folder / "tools" / "batch.py").as_uri()
    code = await editor.client.wait_for("textDocument/publishDiagnostics", lambda params: params["uri"] == batch)
    (diagnostic,) = code["params"]["diagnostics"]
    assert diagnostic["range"]["start"]["line"] == 9 - 1
    assert "not NoneType" in diagnostic["message"]
    setup = await editor.client.wait_for(
        "textDocument/publishDiagnostics", lambda params: params["uri"] == editor.uri and params["diagnostics"]
    )
    (diagnostic,) = setup["params"]["diagnostics"]
    assert "not NoneType" in diagnostic["message"]
    assert diagnostic["range"]["start"]["line"] == text.split("\n").index(
        next(line for line in text.split("\n") if "nothing" in line)
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_columns_in_every_encoding(tmp_path: Path, encoding: str) -> None:  # R28
    (tmp_path / "tensorviz.toml").write_text('[profiles."é😀"]\nmodel = "é😀:f"\ninit = { kwargs = { "é😀" = 1 } }\n')
    width = {"utf-8": 6, "utf-16": 3, "utf-32": 2}[encoding]
    async with LspClient.start() as client:
        await client.initialize({"general": {"positionEncodings": [encoding]}}, [tmp_path])
        assert client.capabilities["completionProvider"]["triggerCharacters"]
        uri = client.open(tmp_path / "tensorviz.toml", language="toml")
        (lens,) = await client.lenses(uri)
        start = len("[profiles.")
        assert lens["range"]["start"] == {"line": 0, "character": start}
        assert lens["range"]["end"] == {"line": 0, "character": start + width + 2}
        found = await client.hover(uri, 2, len('init = { kwargs = { "') + width + len('" =') - 1)
        assert found is None
        key = await client.hover(uri, 1, 2)
        assert key is not None
        assert key["range"]["end"] == {"line": 1, "character": 5}
        place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": len('model = "') + width + 2}}
        assert (await client.request("textDocument/completion", place))["items"] == []
        symbols = await client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        assert [item["name"] for item in symbols][:2] == ["profiles", "é😀"]  # flat: nesting was not announced
