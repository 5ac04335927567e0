"""The setup form over LSP: draft, check, save into the file or the buffer, and editors that have no form."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import LspClient, ResponseError
from tests.lsp.profiles import MINIMAL, NEOVIM, VSCODE

MODEL = """\
from typing import Literal, Optional

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx
from jaxtyping import Array, Float, Int


class MLP(nn.Module):
    width: int
    act: Literal["relu", "gelu"]
    rate: Optional[float] = None

    @nn.compact
    def __call__(self, x: Float[Array, "batch 784"], y: Int[Array, "batch"], train: bool):
        return nn.Dense(self.width)(x)


class Block(nnx.Module):
    def __init__(self, din: int, *, rngs: nnx.Rngs):
        self.linear = nnx.Linear(din, din, rngs=rngs)

    def __call__(self, x: jax.Array, pair: tuple[jax.Array, jax.Array]):
        return self.linear(x)


@jax.jit
def net(x, y=None):
    return jax.nn.relu(x @ jnp.ones((3, 4)))


@jax.jit
def plain(thing, *, flag: bool):
    return jnp.sin(thing)
"""
EDITS = {
    **NEOVIM,
    "workspace": {**NEOVIM["workspace"], "applyEdit": True, "workspaceEdit": {"documentChanges": True}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def target(folder: Path, name: str) -> dict[str, str]:
    return {"uri": (folder / "model.py").as_uri(), "name": name}


def by_key(form: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {field["key"]: field for field in form["fields"]}


MLP_VALUES = [
    {"key": "init.kwargs.width", "text": "16"},
    {"key": "init.kwargs.act", "text": "gelu"},
    {"key": "dimensions.batch", "text": "32"},
    {"key": "inputs.args[2]", "text": "true"},
]


async def test_what_the_source_states_is_filled_in_and_the_rest_is_asked(folder: Path) -> None:  # R10
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        form = await client.request("tvls/setup/draft", {"target": target(folder, "MLP")})
        fields = by_key(form)
        assert fields["init.kwargs.width"]["type"] == "integer"
        assert "value" not in fields["init.kwargs.width"]
        assert fields["init.kwargs.act"]["type"] == "choice"
        assert [option["value"] for option in fields["init.kwargs.act"]["options"]] == ["relu", "gelu"]
        assert not fields["init.kwargs.rate"].get("required", False)
        assert fields["init.kwargs.rate"]["default"] == "None"
        assert fields["inputs.args[0].shape"]["value"] == ["?batch", 784]
        assert fields["inputs.args[1].shape"]["value"] == ["?batch"]
        assert fields["inputs.args[1].dtype"]["value"] == "int32"
        assert [key for key in fields if key.startswith("dimensions.")] == ["dimensions.batch"]  # asked once
        assert form["complete"] is False
        assert not (folder / "tensorviz.toml").exists()


async def test_rngs_are_supplied_and_no_dimension_is_invented(folder: Path) -> None:  # R10
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        fields = by_key(await client.request("tvls/setup/draft", {"target": target(folder, "Block")}))
        assert "init.kwargs.rngs" not in fields
        assert fields["inputs.args[0].dtype"]["assumed"] is True
        for key in ("inputs.args[0]", "inputs.args[1].items[0]", "inputs.args[1].items[1]"):
            assert "value" not in fields[f"{key}.shape"]
        fields = by_key(await client.request("tvls/setup/draft", {"target": target(folder, "plain")}))
        assert "value" not in fields["inputs.args[0]"]  # nothing says that it is an array
        assert fields["inputs.kwargs.flag"]["type"] == "boolean"


async def test_errors_stand_at_their_fields(folder: Path) -> None:  # R10
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        form = await client.request(
            "tvls/setup/validate",
            {
                "target": target(folder, "MLP"),
                "changes": [
                    {"key": "init.kwargs.width", "text": "wide"},
                    {"key": "init.kwargs.depth", "value": 3},
                    {"key": "inputs.args[0].dtype", "text": "flaot32"},
                    {"key": "dimensions.batch", "text": "-1"},
                    {"key": "device", "text": "tpu"},
                    {"key": "nonsense", "value": 1},
                    {"key": "seed", "text": "7"},
                ],
            },
        )
        fields = by_key(form)
        assert "whole number" in fields["init.kwargs.width"]["error"]
        assert fields["init.kwargs.width"]["text"] == "wide"  # what was typed stays
        assert "no parameter 'depth'" in fields["init.kwargs.depth"]["error"]
        assert "did you mean 'float32'" in fields["inputs.args[0].dtype"]["error"]
        assert "0 or more" in fields["dimensions.batch"]["error"]
        assert "'cpu' or 'cuda:N'" in fields["device"]["error"]
        assert fields["seed"]["value"] == 7
        assert form["complete"] is False


async def test_structures_and_text_are_the_same_form(folder: Path) -> None:  # R10
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        ref = {"target": target(folder, "plain")}
        typed = [
            {"key": "inputs.args[0].weights[1]", "text": "float32[2, 3]"},
            {"key": "inputs.args[0].name", "value": "a"},
            {"key": "inputs.kwargs.flag", "text": "true"},
        ]
        form = await client.request("tvls/setup/validate", {**ref, "changes": typed})
        fields = by_key(form)
        assert fields["inputs.args[0]"]["type"] == "table"
        assert fields["inputs.args[0].weights"]["type"] == "list"
        assert fields["inputs.args[0].weights[1].shape"]["value"] == [2, 3]
        assert "value" not in fields["inputs.args[0].weights[0]"]  # a gap is a question
        typed.append({"key": "inputs.args[0].weights[0]", "text": "[]"})
        form = await client.request("tvls/setup/validate", {**ref, "changes": typed})
        assert form["complete"] is True
        from_text = await client.request("tvls/setup/validate", {**ref, "toml": form["toml"]})
        from_table = await client.request("tvls/setup/validate", {**ref, "setup": form["setup"]})
        assert from_text["setup"] == form["setup"] == from_table["setup"]
        assert from_text["complete"] is True
        with pytest.raises(ResponseError) as broken:
            await client.request("tvls/setup/validate", {**ref, "toml": "seed ="})
        assert broken.value.data["kind"] == "setupInvalid"


async def test_a_form_is_saved_and_read_again(folder: Path) -> None:  # R9, R10
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        ref = {"target": target(folder, "MLP"), "changes": MLP_VALUES}
        form = await client.request("tvls/setup/validate", ref)
        assert form["complete"] is True
        saved = await client.request("tvls/setup/save", {**ref, "version": form["version"]})
        text = (folder / "tensorviz.toml").read_text()
        assert text.splitlines()[saved["range"]["start"]["line"]] == "[profiles.mlp]"
        profile = tomllib.loads(text)["profiles"]["mlp"]
        assert profile["init"]["kwargs"] == {"width": 16, "act": "gelu"}
        assert [tensor["shape"] for tensor in profile["inputs"]["args"][:2]] == [[32, 784], [32]]
        again = await client.request("tvls/setup/draft", {"target": target(folder, "MLP")})
        assert again["exists"] is True
        assert by_key(again)["dimensions.batch"]["value"] == 32  # named as in the source
        assert again["version"] == saved["version"]
        other = await client.request("tvls/setup/draft", {"target": target(folder, "MLP"), "new": True})
        assert other["profile"] == "mlp_2"
        listed = await client.request("tvls/targets/list", {"textDocument": {"uri": target(folder, "MLP")["uri"]}})
        assert {item["name"]: item.get("state", "noSetup") for item in listed["targets"]}["MLP"] == "ready"


async def test_a_change_since_the_draft_is_not_written_over(folder: Path) -> None:  # R9
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        ref = {"target": target(folder, "MLP"), "changes": MLP_VALUES}
        form = await client.request("tvls/setup/validate", ref)
        file = folder / "tensorviz.toml"
        file.write_text("version = 1 # of somebody else\n")
        with pytest.raises(ResponseError) as refused:
            await client.request("tvls/setup/save", {**ref, "version": form["version"]})
        assert refused.value.data["kind"] == "setupChanged"
        assert file.read_text() == "version = 1 # of somebody else\n"
        form = await client.request("tvls/setup/validate", ref)
        await client.request("tvls/setup/save", {**ref, "version": form["version"]})
        assert file.read_text().startswith("version = 1 # of somebody else\n\n[profiles.mlp]\n")


async def test_links_and_permissions_stay(folder: Path) -> None:
    real = folder / "elsewhere" / "setups.toml"
    real.parent.mkdir()
    real.write_text("version = 1\n")
    real.chmod(0o640)
    (folder / "tensorviz.toml").symlink_to(real)
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        await client.request("tvls/setup/save", {"target": target(folder, "MLP"), "changes": MLP_VALUES})
    assert (folder / "tensorviz.toml").is_symlink()
    assert "[profiles.mlp]" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert os.listdir(real.parent) == ["setups.toml"]


@pytest.mark.parametrize("before", ["version = 1\n", None])
async def test_no_file_outside_of_the_folder_is_written(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, before: str | None
) -> None:
    """A workspace that somebody sent may have a link to a file of the person's, or to one that is not there yet."""
    outside = tmp_path_factory.mktemp("outside") / "setups.toml"
    if before is not None:
        outside.write_text(before)
    (folder / "tensorviz.toml").symlink_to(outside)
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        with pytest.raises(ResponseError, match="outside of the folder") as refused:
            await client.request("tvls/setup/save", {"target": target(folder, "MLP"), "changes": MLP_VALUES})
    assert refused.value.data["kind"] == "setupInvalid"
    assert (outside.read_text() if outside.exists() else None) == before


@pytest.mark.parametrize("special", ["fifo", "device", "sparse"])
@pytest.mark.parametrize("name", ["tensorviz.toml", "environment.yml"])
async def test_a_file_that_never_ends_holds_nobody_up(folder: Path, name: str, special: str) -> None:
    """Nobody has to trust a folder for its files to be looked at."""
    path = folder / name
    match special:
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.touch()
            os.truncate(path, 1 << 40)
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        assert not await client.request("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
        assert await client.request("textDocument/codeLens", {"textDocument": {"uri": (folder / "model.py").as_uri()}})
        assert await client.request("tvls/environment/list", {"folder": folder.as_uri()})
        if name == "tensorviz.toml":
            with pytest.raises(ResponseError, match=r"cannot be read: the (path is no regular|file is larger)"):
                await client.request("tvls/setup/draft", {"target": target(folder, "MLP")})


ENDLESS = {
    "digits": ("x = " + "9" * 5000, "too many digits"),
    "hexadecimal": ("[profiles.mlp]\nmodel = 'model:MLP'\nseed = 0x" + "f" * 9000, "too many digits"),
    "brackets": ("x = " + "[" * 400 + "]" * 400, "nested too deeply"),
    "dots": (".".join("a" * 900) + " = 1", "too many parts"),
    "dots in a header": ("[" + ".".join("a" * 60_000) + "]", "too many parts"),
}


@pytest.mark.parametrize("text, what", ENDLESS.values(), ids=ENDLESS)
async def test_endless_values_in_the_file_are_mistakes(folder: Path, text: str, what: str) -> None:
    file = folder / "tensorviz.toml"
    file.write_text(f"version = 1\n{text}\n")
    uri = file.as_uri()
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        client.open(file, file.read_text())
        found = await client.wait_for(
            "textDocument/publishDiagnostics", lambda params: params["uri"] == uri and params["diagnostics"]
        )
        assert what in found["params"]["diagnostics"][0]["message"]
        for method in ("textDocument/codeLens", "textDocument/documentSymbol"):
            await client.request(method, {"textDocument": {"uri": uri}})
        for method in ("tvls/setup/draft", "tvls/setup/save", "tvls/graph/open"):
            with pytest.raises(ResponseError) as refused:
                await client.request(method, {"target": target(folder, "MLP")})
            assert refused.value.data["kind"] in ("setupInvalid", "notTrusted")
    assert file.read_text() == f"version = 1\n{text}\n"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


HOSTILE_PARAMS: dict[str, dict[str, Any]] = {
    "deep": {"changes": [{"key": "inputs.args[0]", "value": nested(300)}]},
    "deep below": {"changes": [{"key": "inputs.args[0]" + "[0]" * 90, "value": nested(90)}]},
    "long key": {"changes": [{"key": "inputs.kwargs" + ".a" * 5000, "value": 1}]},
    "no key": {"changes": [{"key": "inputs..", "value": 1}, {"key": "a b", "value": 1}]},
    "half a character": {"changes": [{"key": 'inputs.kwargs."\\ud800"', "value": 1}]},
    "no name": {"changes": [{"key": "name", "value": None}], "incomplete": True},
    "large": {"changes": [{"key": "init.kwargs.width", "value": 1 << 8000}]},
    "digits": {"changes": [{"key": "init.kwargs.width", "text": "9" * 9000}]},
    "deep setup": {"setup": {"inputs": {"args": nested(300)}}},
    "no lists": {"setup": {"inputs": {"args": {}, "kwargs": []}, "init": 3}},
    "deep text": {"toml": "inputs = { args = " + "[" * 300 + "]" * 300 + " }"},
}


@pytest.mark.parametrize("params", HOSTILE_PARAMS.values(), ids=HOSTILE_PARAMS)
async def test_endless_values_from_a_client_are_mistakes(folder: Path, params: dict[str, Any]) -> None:
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        with pytest.raises(ResponseError) as refused:
            await client.request("tvls/setup/save", {"target": target(folder, "MLP"), **params})
        assert refused.value.code in (-33004, -32602)
    assert not (folder / "tensorviz.toml").exists()


async def test_an_open_file_is_changed_in_the_editor(folder: Path) -> None:  # R9
    file = folder / "tensorviz.toml"
    file.write_bytes(b"version = 1\r\n")
    profile = '[profiles.mlp] # mine\r\nmodel = "model:MLP"\r\nframework = "jax"\r\n'
    text = f"# \U0001f600 not saved yet\r\nversion = 1\r\n\r\n{profile}"
    async with LspClient.start() as client:
        await client.initialize(EDITS, folders=[folder])
        edits: list[Any] = []

        def apply(params: Any) -> Any:
            edits.append(params["edit"])
            return {"applied": True}

        client.answers["workspace/applyEdit"] = apply
        client.open(file.as_uri(), text, "toml")
        saved = await client.request(
            "tvls/setup/save", {"target": target(folder, "MLP"), "profile": "mlp", "changes": [*MLP_VALUES]}
        )
        assert saved["unsaved"] is True
        assert file.read_bytes() == b"version = 1\r\n"  # the person saves it
        (edit,) = edits
        (change,) = edit["documentChanges"]
        assert change["textDocument"] == {"uri": file.as_uri(), "version": 1}
        (piece,) = change["edits"]
        assert piece["range"]["start"]["line"] == 6  # behind what is there
        assert piece["range"]["start"] == piece["range"]["end"]
        assert tomllib.loads(text + piece["newText"])["profiles"]["mlp"]["init"]["kwargs"]["width"] == 16


async def test_a_refused_edit_and_an_editor_without_edits_lose_nothing(folder: Path) -> None:  # R9
    file = folder / "tensorviz.toml"
    file.write_text("version = 1\n")
    ref = {"target": target(folder, "MLP"), "changes": MLP_VALUES}
    async with LspClient.start() as client:
        await client.initialize(EDITS, folders=[folder])
        client.answers["workspace/applyEdit"] = {"applied": False, "failureReason": "it is busy"}
        client.open(file.as_uri(), "version = 1\n# more\n", "toml")
        with pytest.raises(ResponseError, match="it is busy"):
            await client.request("tvls/setup/save", ref)
    async with LspClient.start() as client:
        await client.initialize(MINIMAL, folders=[folder])
        uri = client.open(file.as_uri(), "version = 1\n# more\n", "toml")
        with pytest.raises(ResponseError) as refused:
            await client.request("tvls/setup/save", ref)
        assert refused.value.data["kind"] == "unsavedSource"
        assert file.read_text() == "version = 1\n"
        client.change(uri, "version = 1\n")  # without changes it may be written
        assert "unsaved" not in await client.request("tvls/setup/save", ref)
    assert "[profiles.mlp]" in file.read_text()


async def test_a_profile_with_mistakes_is_edited_in_the_form(folder: Path) -> None:  # R9, R10
    file = folder / "tensorviz.toml"
    file.write_text(
        'version = 1\n[profiles.mine] # broken\nframework = "jax"\nmodel = "model:net"\nseed = -1 # how\n'
        'inputs = { args = [{ kind = "tensor", shape = [2, "x"], dtype = "flaot32" }] }\n'
    )
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        form = await client.request("tvls/setup/draft", {"target": target(folder, "net")})
        fields = by_key(form)
        assert form["profile"] == "mine"
        assert "seed" in fields["seed"]["error"]
        assert fields["inputs.args[0].shape"]["error"]
        assert fields["inputs.args[0].dtype"]["error"]
        repaired = [
            {"key": "seed", "text": "1"},
            {"key": "inputs.args[0].shape", "text": "2, 3"},
            {"key": "inputs.args[0].dtype", "text": "float32"},
        ]
        await client.request("tvls/setup/save", {"profile": "mine", "changes": repaired})
    assert "[profiles.mine] # broken" in file.read_text()
    assert "seed = 1 # how" in file.read_text()
    assert 'shape = [2, 3], dtype = "float32"' in file.read_text()


async def test_a_factory_takes_the_place_of_arguments_and_back(folder: Path) -> None:  # R12
    ref = {"target": target(folder, "MLP")}
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        switched = [{"key": "inputs.source", "text": "factory"}]
        form = await client.request("tvls/setup/validate", {**ref, "changes": switched})
        assert {"inputs.factory.file", "inputs.factory.callable"} <= by_key(form).keys()
        switched += [
            {"key": "inputs.factory.file", "text": "batch.py"},
            {"key": "inputs.factory.callable", "text": "example"},
            *MLP_VALUES[:2],
        ]
        form = await client.request("tvls/setup/validate", {**ref, "changes": switched})
        assert form["complete"] is True
        assert form["setup"]["inputs"] == {"factory": {"file": "batch.py", "callable": "example"}}
        switched.append({"key": "inputs.source", "text": "arguments"})
        form = await client.request("tvls/setup/validate", {**ref, "changes": switched})
        assert "inputs.args[0].shape" in by_key(form)


async def test_without_a_form_a_draft_is_written_and_shown(folder: Path) -> None:  # R10, R28
    options = {"trustedFolders": [str(folder)], "show": "outline"}
    async with LspClient.start() as client:
        await client.initialize(NEOVIM, folders=[folder], options=options)
        client.answers["window/showMessageRequest"] = lambda params: params["actions"][0]
        refused = await client.ask(
            "workspace/executeCommand",
            {"command": "tvls.server.openGraph", "arguments": [target(folder, "net")]},
        ).error()
        assert refused.data["kind"] == "setupRequired"
        assert "a profile for model:net" in refused.data["nextStep"]
        shown = await client.wait_for("window/showDocument")
        assert shown["params"]["uri"] == (folder / "tensorviz.toml").as_uri()
        message = await client.wait_for(
            "window/showMessage", lambda params: "inputs.args[0].shape" in params["message"]
        )
        assert message["params"]["type"] == 3
        text = (folder / "tensorviz.toml").read_text()
        assert text.splitlines()[shown["params"]["selection"]["start"]["line"]] == "[profiles.net]"
        assert 'shape = "?"' in text
        # A placeholder is a question still.
        with pytest.raises(ResponseError) as asked:
            await client.request("tvls/graph/open", {"target": target(folder, "net")})
        assert asked.value.data["kind"] == "setupRequired"
        assert "inputs.args[0].shape" in [value["key"] for value in asked.value.data["missing"]]


async def test_what_is_to_be_filled_in_is_marked_once(folder: Path) -> None:  # R10
    async with LspClient.start() as client:
        await client.initialize(EDITS, [folder])
        uri = (folder / "tensorviz.toml").as_uri()
        (folder / "tensorviz.toml").write_text(
            'version = 1\n[profiles.p]\nframework = "jax"\nmodel = "model:net"\n'
            'inputs.args = [{ kind = "tensor", shape = "?", dtype = "?" }, { kind = "tensor", shape = [2, "?rows"] }]\n'
        )
        client.open(folder / "tensorviz.toml", language="toml")
        published = await client.wait_for("textDocument/publishDiagnostics", lambda params: params["uri"] == uri)
        said = [item["message"].partition(":") for item in published["params"]["diagnostics"]]
        assert len({key for key, _, _ in said}) == len(said), said


async def test_a_client_that_cannot_ask_is_told_the_command(folder: Path) -> None:  # R28
    async with LspClient.start() as client:
        await client.initialize(MINIMAL, folders=[folder], options={"trustedFolders": [str(folder)], "show": "outline"})
        await client.ask(
            "workspace/executeCommand",
            {"command": "tvls.server.openGraph", "arguments": [target(folder, "net")]},
        ).error()
        await client.wait_for("window/showMessage", lambda params: "tvls.server.draftSetup" in params["message"])
        saved = await client.execute("tvls.server.draftSetup", target(folder, "net"))
        assert saved["missing"] == ["inputs.args[0].shape"]
        assert "[profiles.net]" in (folder / "tensorviz.toml").read_text()


async def test_what_is_wrong_and_what_to_do_are_two_sentences(folder: Path) -> None:  # R28
    (folder / "tensorviz.toml").write_text("version = 1\n[profiles.net\n")
    async with LspClient.start() as client:
        await client.initialize(MINIMAL, folders=[folder], options={"trustedFolders": [str(folder)]})
        refused = await client.ask(
            "workspace/executeCommand",
            {"command": "tvls.server.draftSetup", "arguments": [target(folder, "net")]},
        ).error()
        message, _, step = refused.message.partition(". ")
        assert "is not valid TOML" in message
        assert step == refused.data["nextStep"]
        (folder / "tensorviz.toml").unlink()
        await client.ask(
            "workspace/executeCommand",
            {"command": "tvls.server.openGraph", "arguments": [target(folder, "net")]},
        ).error()
        shown = await client.wait_for("window/showMessage", lambda params: "needs values" in params["message"])
        assert ".." not in shown["params"]["message"]


async def test_shapes_that_a_comment_or_a_profile_states_are_offered(folder: Path) -> None:  # R10
    (folder / "model.py").write_text(
        "import jax\nimport jax.numpy as jnp\n\n@jax.jit\n"
        "def f(\n    x: jax.Array,  # [batch, 3]\n):\n    return jnp.sin(x)\n"
    )
    (folder / "tensorviz.toml").write_text(
        'version = 1\n[profiles.old]\nframework = "jax"\nmodel = "model:f"\n'
        'inputs = { args = [{ kind = "tensor", shape = [8, 3], dtype = "float16" }] }\n'
    )
    ref = {"target": target(folder, "f"), "new": True}
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        shape = by_key(await client.request("tvls/setup/draft", ref))["inputs.args[0].shape"]
        assert "value" not in shape  # offered, not filled in
        assert [(item["text"], item["source"]) for item in shape["suggestions"]] == [
            ("8, 3", "profile old"),
            ("batch, 3", "model.py:6"),
        ]
        chosen = [{"key": shape["key"], "value": shape["suggestions"][1]["value"]}]
        form = await client.request("tvls/setup/validate", {**ref, "changes": chosen})
        assert by_key(form)["dimensions.batch"]["required"] is True


async def test_what_was_saved_opens(folder: Path, models_python: str) -> None:  # R10
    options = {"trustedFolders": [str(folder)], "interpreter": models_python, "show": "outline"}
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder], options=options)
        saved = await client.request("tvls/setup/save", {"target": target(folder, "MLP"), "changes": MLP_VALUES})
        opened = await client.request(
            "tvls/graph/open", {"target": target(folder, "MLP"), "profile": saved["profile"]}, seconds=150
        )
        assert opened["capture"]["profile"] == "mlp"
        assert opened["capture"]["operations"] > 0


async def test_devices_and_dtypes_are_those_that_were_found(folder: Path, models_python: str) -> None:  # R10, R21
    options = {"trustedFolders": [str(folder)], "interpreter": models_python}
    ref = {"target": target(folder, "net")}
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder], options=options)
        first = by_key(await client.request("tvls/setup/draft", ref))  # does not wait for the Python
        assert [option["value"] for option in first["device"]["options"]] == ["cpu"]
        await client.request("tvls/environment/probe", {"folder": folder.as_uri()}, seconds=150)
        async with asyncio.timeout(60):
            while True:
                fields = by_key(await client.request("tvls/setup/draft", ref))
                dtypes = [option["value"] for option in fields["inputs.args[0].dtype"]["options"]]
                if "float64" not in dtypes:
                    break
                await asyncio.sleep(0.1)
        assert "float32" in dtypes
        assert "float64 is not offered" in fields["inputs.args[0].dtype"]["help"]
        assert "JAX_ENABLE_X64" in fields["inputs.args[0].dtype"]["help"]


async def test_no_other_profile_is_opened_for_a_broken_one(folder: Path) -> None:  # R9
    inputs = '{ args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }] }'
    profile = f'framework = "jax"\nmodel = "model:net"\ninputs = {inputs}\n'
    (folder / "tensorviz.toml").write_text(f"version = 1\n[profiles.a]\nseed = -1\n{profile}[profiles.b]\n{profile}")
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder], options={"trustedFolders": [str(folder)]})
        with pytest.raises(ResponseError) as refused:
            await client.request("tvls/graph/open", {"target": target(folder, "net")})
        assert refused.value.data["kind"] == "setupInvalid"
        assert "'a'" in refused.value.message
        form = await client.request("tvls/setup/draft", {"target": target(folder, "net")})
        assert form["profile"] == "a"  # where it can be corrected
        assert form["profiles"] == ["a", "b"]


async def test_what_the_environment_lacks_is_told_with_what_the_setup_lacks(folder: Path) -> None:  # R2, R10
    options = {"trustedFolders": [str(folder)], "interpreter": sys.executable}
    async with LspClient.start() as client:
        await client.initialize(NEOVIM, folders=[folder], options=options)
        client.answers["window/showMessageRequest"] = None
        refused = await client.ask(
            "workspace/executeCommand", {"command": "tvls.server.openGraph", "arguments": [target(folder, "net")]}
        ).error()
        assert refused.data["kind"] == "setupRequired"
        assert refused.data["missing"][0]["parameter"] == "x"
        assert refused.data["requirements"] == ["jax>=0.6.1"]
        asked = await client.wait_for("window/showMessageRequest")
        assert "has no jax" in asked["params"]["message"]


async def test_a_file_of_thousands_of_profiles_is_saved_while_others_are_answered(folder: Path) -> None:  # R9
    profile = """
[profiles.p{0}]  # the {0}th
kind = "model"
framework = "jax"
model = "model:plain"
init = {{ args = [], kwargs = {{}} }}
inputs = {{ args = [{{ kind = "tensor", shape = [{0}, 3], dtype = "float32" }}], kwargs = {{ flag = true }} }}
"""
    path = folder / "tensorviz.toml"
    path.write_text("version = 1\n" + "".join(profile.format(number) for number in range(2000)))
    document = {"textDocument": {"uri": (folder / "model.py").as_uri()}}
    async with LspClient.start() as client:
        await client.initialize(VSCODE, folders=[folder])
        await client.request("textDocument/codeLens", document)
        ref = {"target": target(folder, "plain"), "profile": "p7"}
        saving = asyncio.ensure_future(
            client.request("tvls/setup/save", {**ref, "changes": [{"key": "seed", "text": "5"}]})
        )
        answered = 0
        while not saving.done():
            await client.request("textDocument/codeLens", document)
            answered += not saving.done()
            await asyncio.sleep(0.01)
        saved = await saving
        assert answered >= 5
    text = path.read_text()
    assert len(tomllib.loads(text)["profiles"]) == 2000
    assert text.split("\n")[saved["range"]["start"]["line"]] == "[profiles.p7]  # the 7th"
    before = "".join(profile.format(number) for number in range(2000))
    assert text.count("\n") == before.count("\n") + 2  # one line more
    assert tomllib.loads(text)["profiles"]["p7"]["seed"] == 5
