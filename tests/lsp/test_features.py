"""What a person meets in an editor, against the real daemon with real JAX, for the editors of `profiles.py`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lsp import profiles
from tests.lsp.client import NO_ANSWER, LspClient, error
from tvls.server.hover import plain

MODEL = """\
import jax
import jax.numpy as jnp


def scale(x, by):
    return x * by


@jax.jit
def net(x):
    name, y = "😀é", jax.nn.relu(x @ jnp.ones((3, 4)))
    return scale(y, 2.0)


def helper(text):
    return text.strip()
"""
SETUP = """\
version = 1

[profiles.small]
kind = "model"
framework = "jax"
model = "model:net"
mode = "eval"
device = "cpu"
grad_enabled = false
seed = 0
init = { args = [], kwargs = {} }
inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }], kwargs = {} }
"""
TRUSTED = {"title": "Trust folder"}
LINE = 10
"""0-based line of the one with the emoji."""


class Place:
    """A workspace, and where the server keeps its own files."""

    def __init__(self, root: Path, python: str) -> None:
        self.folder = root / "work space"
        self.folder.mkdir()
        self.model = self.folder / "model.py"
        self.model.write_text(MODEL)
        self.setup = self.folder / "tensorviz.toml"
        self.setup.write_text(SETUP)
        self.cache = root / "cache"
        self.options: dict[str, Any] = {"interpreter": python}
        self.env = {"XDG_STATE_HOME": str(root / "state"), "XDG_CACHE_HOME": str(self.cache), "SSH_CONNECTION": ""}

    @contextlib.asynccontextmanager
    async def editor(self, capabilities: dict[str, Any], trust: bool = True) -> AsyncIterator[LspClient]:
        async with LspClient.start(env=self.env) as client:
            client.answers["window/showMessageRequest"] = TRUSTED if trust else None
            await client.initialize(capabilities, [self.folder], self.options)
            yield client
            assert await client.shut_down() == 0


@pytest.fixture
def place(tmp_path: Path, models_python: str) -> Place:
    return Place(tmp_path, models_python)


def read(path: Path) -> str:
    return path.read_text()


def actions_at(client: LspClient, uri: str, line: int, only: list[str] | None = None) -> Any:
    position = {"line": line, "character": 0}
    context: dict[str, Any] = {"diagnostics": []}
    if only is not None:
        context["only"] = only
    return client.request(
        "textDocument/codeAction",
        {"textDocument": {"uri": uri}, "range": {"start": position, "end": position}, "context": context},
    )


@pytest.mark.parametrize("name", profiles.EDITORS)
async def test_open_in_every_editor(place: Place, name: str) -> None:  # R1, R4, R25, R28
    """Lens or action → question of trust → graph → canvas in the browser → hover, with no plugin at all."""
    async with place.editor(profiles.EDITORS[name]) as client:
        offered = profiles.EDITORS[name]["general"]["positionEncodings"]
        encoding = client.capabilities["positionEncoding"]
        assert encoding == offered[0]
        uri = client.open(place.model)

        lenses = await client.lenses(uri)
        assert [lens["command"]["title"] for lens in lenses] == ["Open as Graph"]
        assert lenses[0]["range"]["start"] == {"line": 9, "character": 0}
        (action,) = await actions_at(client, uri, 9)
        assert action["kind"] == "source.tvls.openGraph"
        assert action["command"]["command"] == lenses[0]["command"]["command"] == "tvls.server.openGraph"
        assert action["command"]["arguments"] == lenses[0]["command"]["arguments"]
        assert "tvls.server.openGraph" in client.capabilities["executeCommandProvider"]["commands"]

        command = action["command"] if name in ("helix", "eglot") else lenses[0]["command"]
        result = await client.execute(command["command"], *command["arguments"], workDoneToken="mine")
        capture = result["capture"]
        assert (capture["name"], capture["freshness"], capture["evidence"]) == ("net", "fresh", "inferred")
        assert capture["uri"] == uri
        assert len(client.of("window/showMessageRequest")) == 1
        kinds = [params["value"]["kind"] for params in client.of("$/progress") if params["token"] == "mine"]  # noqa: S105
        assert (kinds[0], kinds[-1], set(kinds[1:-1])) == ("begin", "end", {"report"})

        shown = (await client.wait_for("window/showDocument"))["params"]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/graph/\w+\?token=[\w-]{40,}", shown["uri"])
        assert (shown["takeFocus"], shown["external"]) == (True, True)

        content = MODEL.splitlines()[LINE]
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
        codec = "utf-8" if width == 1 else f"{encoding}-le"

        def column(text: str) -> int:
            return len(content[: content.index(text)].encode(codec)) // width

        hover = await client.hover(uri, LINE, column("@"))
        assert hover is not None
        assert "float32[2, 4]" in hover["contents"]["value"]
        assert hover["contents"]["kind"] == ("plaintext" if name == "eglot" else "markdown")
        assert hover["range"]["start"]["line"] == LINE
        assert hover["range"]["start"]["character"] == column("x @")
        assert not client.of("window/showMessage")


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("`float32[2, 3] · 12 times`\n\nalso `a_b * c_d`", "float32[2, 3] · 12 times\n\nalso a_b * c_d"),
        ("**net** calls my_own_name, *twice* and _once_", "net calls my_own_name, twice and once"),
        ("``a ` b`` \\* 2 * 3 * 4", "a ` b * 2 * 3 * 4"),
        ("```python\nx\n```\nafter", "x\nafter"),
    ],
)
def test_hover_without_markdown(markdown: str, text: str) -> None:  # R25
    assert plain(markdown) == text


async def test_question_of_trust_is_asked_once(place: Place) -> None:  # R4
    async with place.editor(profiles.VSCODE) as client:
        uri = client.open(place.model)
        params = {"target": {"uri": uri, "name": "net"}}
        client.answers["window/showMessageRequest"] = NO_ANSWER
        calls = [client.ask("tvls/graph/open", params) for _ in range(3)]
        asked = await client.wait_for("window/showMessageRequest")
        assert str(place.folder) in asked["params"]["message"]
        assert place.options["interpreter"] in asked["params"]["message"]
        assert [item["title"] for item in asked["params"]["actions"]] == ["Trust folder", "Not now"]
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": TRUSTED})
        opened = [await call.result() for call in calls]
        assert len({result["capture"]["captureId"] for result in opened}) == 1
        assert len(client.of("window/showMessageRequest")) == 1
    async with place.editor(profiles.VSCODE, trust=False) as client:  # remembered
        assert client.capabilities["experimental"]["tvls"]["tracing"] == "on"
        await client.request("tvls/graph/open", params)


@pytest.mark.parametrize("answer", [{"title": "Not now"}, None, error(-32601), {"title": "Trust"}])
async def test_no_trust_no_trace(place: Place, answer: Any) -> None:  # R4, R5
    async with place.editor(profiles.VSCODE) as client:
        client.answers["window/showMessageRequest"] = answer
        assert client.capabilities["experimental"]["tvls"]["tracing"] == "trustRequired"
        call = client.ask("workspace/executeCommand", _open(place, "net"))
        refused = await call.error()
        assert (refused.code, refused.data["kind"]) == (-33001, "notTrusted")
        assert any(refused.data["nextStep"] in params["message"] for params in client.of("window/showMessage"))


async def test_trust_by_command_where_nobody_can_be_asked(place: Place) -> None:  # R4, R28
    async with place.editor(profiles.MINIMAL) as client:
        call = client.ask("workspace/executeCommand", _open(place, "net"))
        assert (await call.error()).data["kind"] == "notTrusted"
        assert not client.of("window/showMessageRequest")
        messages = [params["message"] for params in client.of("window/showMessage")]
        assert any("tvls.server.trustFolder" in message for message in messages)
        assert (await client.execute("tvls.server.trustFolder"))["trusted"] is True
        result = await client.request("workspace/executeCommand", _open(place, "net"))
        shown = await client.wait_for(
            "window/showMessage", lambda params: "in a browser: http://127" in params["message"]
        )
        assert result["capture"]["name"] in shown["params"]["message"]
        assert not client.of("window/showDocument")
        assert not client.of("$/progress")
        assert not client.of("client/registerCapability")
        assert not client.of("workspace/codeLens/refresh")
        actions = await actions_at(client, place.model.as_uri(), 10)
        assert actions[0]["command"] == "tvls.server.openGraph"  # a plain command: literals were not announced
        assert (await client.execute("tvls.server.untrustFolder", place.folder.as_uri()))["trusted"] is False


def _open(place: Place, name: str) -> dict[str, Any]:
    return {"command": "tvls.server.openGraph", "arguments": [{"uri": place.model.as_uri(), "name": name}]}


async def test_client_with_a_canvas(place: Place) -> None:  # R27, R28
    """It gets its own command on the lens, no documents and messages, and hears of stale captures."""
    async with place.editor(profiles.OURS) as client:
        uri = client.open(place.model)
        (lens,) = await client.lenses(uri)
        assert lens["command"]["command"] == "tvls.openGraph"
        opened = await client.request("tvls/graph/open", {"target": lens["command"]["arguments"][0]})
        capture_id = opened["capture"]["captureId"]
        await client.wait_for("workspace/codeLens/refresh")
        (lens,) = await client.lenses(uri)
        assert lens["command"]["title"] == "Open as Graph · fresh"
        client.change(uri, MODEL.replace("2.0", "3.0"))
        state = await client.wait_for("$/tvls/captureState", lambda params: params["captureId"] == capture_id)
        assert state["params"]["freshness"] == "stale"
        (lens,) = await client.lenses(uri)
        assert lens["command"]["title"] == "Open as Graph · stale"
        seen = len(client.received)
        client.change(uri, MODEL)
        state = await client.wait_for("$/tvls/captureState", since=seen)
        assert state["params"]["freshness"] == "fresh"
        refused = await client.ask("workspace/executeCommand", _open(place, "absent")).error()
        assert refused.data["kind"] == "targetNotFound"
        assert not client.of("window/showMessage")
        assert not client.of("window/showDocument")


async def test_failed_trace_is_on_the_line(place: Place) -> None:  # R22, R35
    async with place.editor(profiles.VSCODE) as client:
        broken = MODEL.replace("scale(y, 2.0)", "scale(y, jnp.ones((7,)))")
        place.model.write_text(broken)
        uri = client.open(place.model)
        refused = await client.ask("workspace/executeCommand", _open(place, "net")).error()
        assert refused.data["kind"] == "traceFailed"
        published = await client.wait_for("textDocument/publishDiagnostics")
        assert published["params"]["uri"] == uri
        (diagnostic,) = published["params"]["diagnostics"]
        assert diagnostic["range"] == {"start": {"line": 5, "character": 11}, "end": {"line": 5, "character": 17}}
        assert (diagnostic["source"], diagnostic["code"], diagnostic["severity"]) == ("tvls", "traceFailed", 1)
        assert diagnostic["message"].startswith("net: ValueError: Incompatible shapes")
        (related,) = diagnostic["relatedInformation"]
        assert related["location"]["range"]["start"] == {"line": 11, "character": 11}
        errors = [params["message"] for params in client.of("window/showMessage")]
        assert len(errors) == 1
        assert refused.data["nextStep"] in errors[0]
        (lens,) = await client.lenses(uri)
        assert lens["command"]["title"] == "Open as Graph · failed"

        seen = len(client.received)
        client.change(uri, "# a line more\n" + broken)  # the diagnostic moves with its line
        moved = await client.wait_for("textDocument/publishDiagnostics", since=seen)
        assert moved["params"]["diagnostics"][0]["range"]["start"] == {"line": 6, "character": 11}

        (earlier,) = moved["params"]["diagnostics"]
        assert earlier["severity"] == 3, "no error of the code as it is"
        assert earlier["message"].startswith(diagnostic["message"])
        assert "before the latest changes" in earlier["message"]

        seen = len(client.received)
        client.change(uri, broken)  # undone: it is what failed
        again = await client.wait_for("textDocument/publishDiagnostics", since=seen)
        assert again["params"]["diagnostics"] == [diagnostic]

        seen = len(client.received)
        place.model.write_text(MODEL)  # mended on another line, and saved
        client.change(uri, MODEL)
        client.save(uri)
        mended = await client.wait_for("textDocument/publishDiagnostics", since=seen)
        assert [found["severity"] for found in mended["params"]["diagnostics"]] == [3]

        seen = len(client.received)
        client.change(uri, MODEL.replace("return x * by", "return by"))  # the line is gone
        cleared = await client.wait_for("textDocument/publishDiagnostics", since=seen)
        assert cleared["params"]["diagnostics"] == []

        client.change(uri, broken)
        await client.wait_for("textDocument/publishDiagnostics", lambda params: params["diagnostics"], since=seen)
        seen = len(client.received)
        place.model.write_text(MODEL)
        client.change(uri, MODEL)
        client.save(uri)
        await client.request("workspace/executeCommand", _open(place, "net"))
        state = [params["diagnostics"] for params in client.of("textDocument/publishDiagnostics")]
        if state[-1]:
            await client.wait_for("textDocument/publishDiagnostics", lambda p: not p["diagnostics"], since=seen)


async def test_unsaved_source_is_refused(place: Place) -> None:  # R5
    async with place.editor(profiles.VSCODE) as client:
        uri = client.open(place.model)
        client.change(uri, MODEL.replace("2.0", "3.0"))
        refused = await client.ask("workspace/executeCommand", _open(place, "net")).error()
        assert refused.data["kind"] == "unsavedSource"


async def test_mistakes_in_the_setup_file(place: Place) -> None:  # R9
    async with place.editor(profiles.VSCODE) as client:
        uri = client.open(place.setup, language="toml")
        client.change(uri, SETUP.replace("seed = 0", 'seed = "zero"'))
        published = await client.wait_for("textDocument/publishDiagnostics")
        (diagnostic,) = published["params"]["diagnostics"]
        assert published["params"]["uri"] == uri
        assert diagnostic["range"]["start"]["line"] == SETUP.splitlines().index("seed = 0")
        assert (diagnostic["source"], diagnostic["code"]) == ("tvls", "setupInvalid")
        seen = len(client.received)
        client.change(uri, SETUP)
        cleared = await client.wait_for("textDocument/publishDiagnostics", since=seen)
        assert cleared["params"]["diagnostics"] == []


async def test_cancel_ends_the_trace(place: Place) -> None:  # R5
    """By request, and by the button of the progress bar."""
    place.model.write_text(MODEL.replace("    name, y", "    import time; time.sleep(60)\n    name, y"))
    async with place.editor(profiles.VSCODE) as client:
        for button in (False, True):
            seen = len(client.received)
            call = client.ask("tvls/graph/open", {"target": {"uri": place.model.as_uri(), "name": "net"}})
            tracing = await client.wait_for(
                "$/progress", lambda params: params["value"].get("message") == "trace", since=seen
            )
            if button:
                client.notify("window/workDoneProgress/cancel", {"token": tracing["params"]["token"]})
            else:
                call.cancel()
            assert (await call.error(5)).code == -32800
            ended = await client.wait_for("$/progress", lambda params: params["value"]["kind"] == "end", since=seen)
            assert ended["params"]["token"] == tracing["params"]["token"]

        async def idle() -> bool:
            return not (await client.request("tvls/server/status", {})).get("tracesRunning")

        await until(idle)


async def test_code_action_filters(place: Place) -> None:  # R28
    async with place.editor(profiles.HELIX) as client:
        uri = client.open(place.model)

        async def kinds(line: int, only: list[str] | None = None) -> list[str]:
            return [action["kind"] for action in await actions_at(client, uri, line, only)]

        assert await kinds(LINE) == ["source.tvls.openGraph"]  # anywhere in the body
        assert await kinds(LINE, ["source"]) == ["source.tvls.openGraph"]
        assert await kinds(LINE, ["source.tvls"]) == ["source.tvls.openGraph"]
        assert await kinds(LINE, ["quickfix", "source.tvls.openGraph"]) == ["source.tvls.openGraph"]
        assert await kinds(LINE, ["source.organizeImports"]) == []
        assert await kinds(LINE, ["source.tvls.refresh"]) == []  # nothing to refresh yet
        assert await kinds(LINE, ["sour"]) == []
        assert await kinds(0) == []
        assert await kinds(15) == []  # a function that is no model
        await client.request("workspace/executeCommand", _open(place, "net"))
        assert await kinds(LINE) == ["source.tvls.openGraph", "source.tvls.refresh"]
        (refresh,) = await actions_at(client, uri, LINE, ["source.tvls.refresh"])
        again = await client.execute(refresh["command"]["command"], *refresh["command"]["arguments"])
        assert not again.get("reused")


async def test_models_are_symbols_of_the_workspace(place: Place) -> None:  # R6, R28
    layers = place.folder / "nets" / "layers.py"
    layers.parent.mkdir()
    (layers.parent / "__init__.py").write_text("")
    source = "from flax import linen as nn\n\n\nclass Outer:\n    class Dense(nn.Module):\n        width: int\n"
    layers.write_text(source)
    async with place.editor(profiles.HELIX) as client:

        async def found(query: str) -> list[tuple[str, str, int]]:
            symbols = await client.request("workspace/symbol", {"query": query})
            return [(item["name"], item["containerName"], item["kind"]) for item in symbols]

        assert client.capabilities["workspaceSymbolProvider"] is True
        dense, net = ("Dense", "nets.layers.Outer", 5), ("net", "model", 12)
        assert sorted(await found("")) == [dense, net]
        assert await found("dns") == [dense], "in this order, with others between them, in any case"
        assert await found("layers.out") == [dense]
        assert await found("net") == [net, dense], "by name before by module"
        assert await found("helper") == [], "no model"
        (symbol,) = await client.request("workspace/symbol", {"query": "Dense"})
        start = {"line": 4, "character": len("    class ")}
        end = {"line": 4, "character": len("    class Dense")}
        assert symbol["location"] == {"uri": layers.as_uri(), "range": {"start": start, "end": end}}

        uri = client.open(place.model)  # no lens was asked for
        client.change(uri, "# 😀\n" + MODEL.replace("def net", "def mlp"))
        (symbol,) = await client.request("workspace/symbol", {"query": "mlp"})
        assert symbol["location"]["range"]["start"] == {"line": 10, "character": len("def ")}
        assert await found("net") == [dense]


def by_shapes(**shapes: str) -> str:
    """A setup file with one profile of `net` for each shape."""
    text = "version = 1\n"
    for name, shape in shapes.items():
        text += SETUP.split("version = 1")[1].replace("small", name).replace("[2, 3]", f"[{shape}]")
    return text


async def test_each_profile_of_a_model_is_offered(place: Place) -> None:  # R28
    """By lens and by action, in the order of the file; one that cannot be used, too, since it can be named."""
    place.setup.write_text(by_shapes(small="2, 3", wrong='"two", 3', large="64, 3"))
    async with place.editor(profiles.VSCODE) as client:
        uri = client.open(place.model)
        lenses = await client.lenses(uri)
        assert [lens["command"]["title"] for lens in lenses] == [
            "Open as Graph: small",
            "Open as Graph: wrong",
            "Open as Graph: large",
        ]
        assert {lens["range"]["start"]["line"] for lens in lenses} == {9}
        actions = await actions_at(client, uri, LINE)
        assert [action["title"] for action in actions] == [
            "Open net as Graph: small",
            "Open net as Graph: wrong",
            "Open net as Graph: large",
        ]
        assert [action["command"]["arguments"] for action in actions] == [
            lens["command"]["arguments"] for lens in lenses
        ]
        command = actions[2]["command"]
        opened = await client.execute(command["command"], *command["arguments"])
        assert opened["capture"]["profile"] == "large"
        await client.wait_for("workspace/codeLens/refresh")
        lenses = await client.lenses(uri)
        assert lenses[0]["command"]["title"] == "Open as Graph: small"
        assert lenses[2]["command"]["title"] == "Open as Graph: large · fresh"
        (again,) = await actions_at(client, uri, LINE, ["source.tvls.refresh"])
        assert again["title"] == "Trace net again: large"
        traced = await client.execute(again["command"]["command"], *again["command"]["arguments"])
        assert (traced["capture"]["profile"], traced.get("reused")) == ("large", None)


async def test_many_profiles_are_no_row_of_lenses(place: Place) -> None:  # R28
    place.setup.write_text(by_shapes(**{f"p{count}": f"{count}, 3" for count in range(1, 10)}))
    async with place.editor(profiles.VSCODE) as client:
        uri = client.open(place.model)
        assert len(await client.lenses(uri)) == 4
        assert len(await actions_at(client, uri, LINE)) == 9


async def test_a_profile_that_fails_is_told_beside_one_that_opens(place: Place) -> None:  # R22, R35
    place.setup.write_text(by_shapes(good="2, 3", bad="2, 5"))
    async with place.editor(profiles.VSCODE) as client:
        uri = client.open(place.model)
        setup = client.open(place.setup, language="toml")

        async def states() -> list[str]:
            found = [*await client.lenses(uri), *await client.lenses(setup)]
            return [lens["command"]["title"].removeprefix("Open as Graph") for lens in found]

        bad = {"target": {"uri": uri, "name": "net"}, "profile": "bad"}
        good = {"target": {"uri": uri, "name": "net"}, "profile": "good"}
        await client.request("tvls/graph/open", good)
        await client.ask("tvls/graph/open", bad).error()
        published = await client.wait_for("textDocument/publishDiagnostics")
        (diagnostic,) = published["params"]["diagnostics"]
        assert (published["params"]["uri"], diagnostic["range"]["start"]["line"]) == (uri, LINE)
        assert diagnostic["severity"] == 1
        assert diagnostic["message"].startswith("net (bad): TypeError: dot_general")
        assert await states() == [": good · fresh", ": bad · failed", " · fresh", " · failed"]

        await client.request("tvls/graph/open", good | {"refresh": True})  # says nothing of the other profile
        assert await states() == [": good · fresh", ": bad · failed", " · fresh", " · failed"]
        assert client.of("textDocument/publishDiagnostics")[-1]["diagnostics"] == [diagnostic]

        seen = len(client.received)
        place.setup.write_text(by_shapes(good="2, 3", bad="7, 3"))
        client.change(setup, by_shapes(good="2, 3", bad="7, 3"))
        client.save(setup)
        cleared = await client.wait_for("textDocument/publishDiagnostics", since=seen)
        assert cleared["params"] == {"uri": uri, "diagnostics": []}, "what failed is no more"
        await client.request("tvls/graph/open", bad)
        assert await states() == [": good · fresh", ": bad · fresh", " · fresh", " · fresh"]


async def test_buffer_that_is_no_file(place: Place) -> None:
    async with place.editor(profiles.VSCODE) as client:
        uri = client.open("untitled:Untitled-1", MODEL)
        (lens,) = await client.lenses(uri)
        assert lens["command"]["arguments"] == [{"uri": uri, "name": "net"}]
        listed = await client.request("tvls/targets/list", {"textDocument": {"uri": uri}})
        assert [target["uri"] for target in listed["targets"]] == [uri]
        refused = await client.ask("tvls/graph/open", {"target": {"uri": uri, "name": "net"}}).error()
        assert refused.data["kind"] == "unsavedSource"
        assert await client.hover(uri, LINE, 20) is None
        client.close(uri)
        assert await client.lenses(uri) == []


async def test_settings(place: Place) -> None:
    """Bad ones are named and do no harm; the client's configuration cannot give trust."""
    place.options = {}
    wrong = {"interpreter": 5, "idleSeconds": -1, "colour": "red", "limits": {"operations": 7}}
    async with LspClient.start(env=place.env) as client:
        await client.initialize(profiles.VSCODE, [place.folder], wrong)
        (message,) = [params["message"] for params in client.of("window/showMessage")]
        assert all(key in message for key in ("tvls.interpreter", "tvls.idleSeconds", "tvls.colour"))
        assert "tvls.limits" not in message
        client.answers["workspace/configuration"] = [{"trustedFolders": [str(place.folder)], "limits": None}]
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        warned = await client.wait_for("window/showMessage", lambda params: "trustedFolders" in params["message"])
        assert warned["params"]["type"] == 2
        trust = await client.request("tvls/trust/get", {"folder": place.folder.as_uri()})
        assert not trust.get("trusted")


async def test_settings_of_the_configuration_count(place: Place) -> None:
    python = place.options.pop("interpreter")
    async with LspClient.start(env=place.env) as client:
        client.answers["workspace/configuration"] = [{"interpreter": python, "limits": {"operations": 1}}]
        await client.initialize(profiles.NEOVIM, [place.folder], {"trustedFolders": [str(place.folder)]})
        await client.wait_for("workspace/configuration")
        await client.settle()
        refused = await client.ask("workspace/executeCommand", _open(place, "net")).error()
        assert (refused.data["kind"], refused.data["limit"]) == ("limitExceeded", "operations")
        assert not client.of("window/showMessageRequest")  # trusted by the client's own options


async def test_outside_changes(place: Place) -> None:  # R27
    """Noticed by watching where the client watches, by looking where it does not."""
    async with place.editor(profiles.OURS) as client:
        registered = await client.wait_for("client/registerCapability")
        methods = [item["method"] for item in registered["params"]["registrations"]]
        assert methods == ["workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration"]
        target = {"uri": place.model.as_uri(), "name": "net"}
        opened = await client.request("tvls/graph/open", {"target": target})
        capture = {"captureId": opened["capture"]["captureId"]}
        place.model.write_text(MODEL.replace("2.0", "4.0"))
        assert (await client.request("tvls/graph/info", capture))["freshness"] == "stale"
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": target["uri"], "type": 2}]})
        state = await client.wait_for("$/tvls/captureState")
        assert state["params"]["freshness"] == "stale"
    async with place.editor(profiles.NEOVIM) as client:
        await client.settle()
        assert not client.of("client/registerCapability")


async def test_workspace_folders_come_and_go(place: Place) -> None:
    async with LspClient.start(env=place.env) as client:
        await client.initialize(profiles.VSCODE, [], {**place.options, "trustedFolders": [str(place.folder)]})
        assert client.capabilities["experimental"]["tvls"]["tracing"] == "off"
        uri = client.open(place.model)
        assert len(await client.lenses(uri)) == 1
        refused = await client.ask("workspace/executeCommand", _open(place, "net")).error()
        assert refused.data["kind"] == "noWorkspace"
        folder = {"uri": place.folder.as_uri(), "name": "w"}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
        opened = await client.request("workspace/executeCommand", _open(place, "net"))
        assert opened["capture"]["profile"] == "small"
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
        refused = await client.ask("workspace/executeCommand", _open(place, "net")).error()
        assert refused.data["kind"] == "noWorkspace"


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("tvls.server.openGraph", []),
        ("tvls.server.openGraph", [{"uri": "file:///a.py"}]),
        ("tvls.server.openGraph", [{"uri": 5, "name": "net"}]),
        ("tvls.server.openGraph", ["file:///a.py", "net"]),
        ("tvls.server.trustFolder", [1]),
        ("tvls.server.noSuchCommand", []),
    ],
)
async def test_commands_with_bad_arguments(place: Place, command: str, arguments: list[Any]) -> None:
    async with place.editor(profiles.VSCODE) as client:
        call = client.ask("workspace/executeCommand", {"command": command, "arguments": arguments})
        assert (await call.error()).code == -32602


async def test_commands_for_support(place: Place) -> None:
    async with place.editor(profiles.VSCODE) as client:
        assert await client.execute("tvls.server.restartWorkers") == {}
        report = await client.execute("tvls.server.debugInfo")
        assert "tvls" in report["text"]
        assert any(report["text"] == params["message"] for params in client.of("window/logMessage"))
        result = await client.request("workspace/executeCommand", _open(place, "net"))
        await client.wait_for("window/showDocument")
        seen = len(client.received)
        await client.execute("tvls.server.showOutline", {"captureId": result["capture"]["captureId"]})
        shown = await client.wait_for("window/showDocument", since=seen)
        outline = Path(shown["params"]["uri"].removeprefix("file://"))
        assert outline.is_relative_to(place.cache)
        assert "dot_general" in read(outline)
        assert (shown["params"]["takeFocus"], shown["params"]["external"]) == (True, False)
        refused = await client.ask(
            "workspace/executeCommand", {"command": "tvls.server.showOutline", "arguments": [{"captureId": "gone"}]}
        ).error()
        assert refused.data["kind"] == "captureGone"


@pytest.mark.parametrize("answer", [{"success": False}, error(-32603)])
async def test_editor_that_fails_to_show_the_outline(place: Place, answer: Any) -> None:  # R28
    place.options["show"] = "outline"
    async with place.editor(profiles.VSCODE) as client:
        client.answers["window/showDocument"] = answer
        await client.request("workspace/executeCommand", _open(place, "net"))
        shown = await client.wait_for("window/showMessage")
        path = Path(shown["params"]["message"].rpartition("outline is in ")[2])
        assert "dot_general" in read(path)


async def test_every_method_of_the_registry_is_served(place: Place) -> None:
    async with place.editor(profiles.OURS) as client:
        for method in client.capabilities["experimental"]["tvls"]["methods"]:
            call = client.ask(method, {"captureId": 5, "folder": 5, "target": 5, "textDocument": 5})
            if method.startswith("tvls/server/"):
                assert await call.result()
            else:
                assert (await call.error()).code == -32602


async def test_workers_end_with_the_server(place: Place) -> None:  # R5
    async with LspClient.start(env=place.env) as client:
        client.answers["window/showMessageRequest"] = TRUSTED
        await client.initialize(profiles.VSCODE, [place.folder], place.options)
        await client.request("workspace/executeCommand", _open(place, "net"))
        status = await client.request("tvls/server/status", {})
        pids = [worker["pid"] for worker in status["workers"] if "pid" in worker]
        assert pids
        assert client.process.stdin
        client.process.stdin.close()
        await client.wait_closed(5)

        async def gone() -> bool:
            return not any(_lives(pid) for pid in pids)

        await until(gone, 2)


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 5) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 (another process sets no event)
            await asyncio.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
