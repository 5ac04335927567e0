"""The page and the editor that made it, with the real daemon between them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page as BrowserPage
from playwright.async_api import async_playwright, expect

from tests.canvas.daemon import MODEL, small_model
from tests.canvas.page import Page
from tests.lsp import profiles
from tests.lsp.client import NO_ANSWER, LspClient, error

SETUP = """\
version = 1

[profiles.small]
kind = "model"
framework = "jax"
model = "model:net"
inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }] }
"""
NO_SCREEN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
SSH = {"SSH_CONNECTION": "10.0.0.9 50000 10.0.0.7 22"}


class Place:
    def __init__(self, root: Path, python: str) -> None:
        self.folder = small_model(root / "net")
        self.model = self.folder / "model.py"
        self.setup = self.folder / "tensorviz.toml"
        self.setup.write_text(SETUP)
        self.options: dict[str, Any] = {"interpreter": python, "trustedFolders": [str(self.folder)]}
        self.env = {
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_CACHE_HOME": str(root / "cache"),
            "SSH_CONNECTION": "",
            **NO_SCREEN,
        }

    @contextlib.asynccontextmanager
    async def editor(
        self, capabilities: dict[str, Any] = profiles.NEOVIM, name: str = "Neovim", env: dict[str, str] | None = None
    ) -> AsyncIterator[LspClient]:
        async with LspClient.start(env={**self.env, **(env or {})}) as client:
            await client.initialize(capabilities, [self.folder], self.options, clientInfo={"name": name})
            yield client
            assert await client.shut_down() == 0

    async def open(self, client: LspClient) -> str:
        """Runs the lens; the address that the editor was told to open."""
        seen = len(client.received)
        await client.execute("tvls.server.openGraph", {"uri": self.model.as_uri(), "name": "net"})
        return (await client.wait_for("window/showDocument", since=seen))["params"]["uri"]


@pytest.fixture
def place(tmp_path: Path, models_python: str) -> Place:
    return Place(tmp_path, models_python)


async def test_from_the_lens_to_the_source_and_back(place: Place) -> None:  # R26, R28
    async with place.editor() as client:
        uri = client.open(place.model)
        async with Page.visit(await place.open(client)) as page:
            state = await page.attach()
            capture = state["capture"]["captureId"]
            assert state["editor"] == "Neovim"
            assert state["capture"]["profile"] == "small"

            found = await page.request("tvls/graph/search", {"captureId": capture, "query": "mul"})
            node = found["nodes"][0]["node"]
            sources = await page.request("tvls/graph/sources", {"captureId": capture, "node": node})
            seen = len(client.received)
            shown = await page.request("tvls/canvas/showSource", {"location": sources["frames"][0]["location"]})
            assert shown == {"shown": True, "place": "model.py:8"}
            asked = (await client.wait_for("window/showDocument", since=seen))["params"]
            assert (asked["uri"], asked["external"], asked["takeFocus"]) == (uri, False, True)
            assert asked["selection"] == {"start": {"line": 7, "character": 11}, "end": {"line": 7, "character": 18}}

            place_of = {"textDocument": {"uri": uri}, "position": {"line": 7, "character": 14}}
            assert await client.request("tvls/canvas/mark", place_of) == {"pages": 1, "nodes": 1}
            marked = await page.told("$/tvls/canvas/mark")
            assert (marked["captureId"], marked["nodes"][0]["node"]) == (capture, node)
            # On request, for editors that do not tell where the cursor is.
            span = {"start": place_of["position"], "end": place_of["position"]}
            actions = await client.request(
                "textDocument/codeAction", {**place_of, "range": span, "context": {"diagnostics": []}}
            )
            (command,) = [action["command"] for action in actions if action["kind"] == "source.tvls.revealInGraph"]
            seen = len(page.received)
            assert (await client.execute(command["command"], *command["arguments"]))["nodes"] == 1
            assert (await page.told("$/tvls/canvas/mark", seen))["nodes"][0]["node"] == node
            empty = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 0}}
            seen = len(page.received)
            assert await client.request("tvls/canvas/mark", empty) == {"pages": 0, "nodes": 0}
            assert (await page.told("$/tvls/canvas/mark", seen))["nodes"] == []


TOWER = """\
import flax.linen as nn


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x + nn.relu(nn.Dense(8)(x))


class Tower(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = Block(name="block")(x)
        return nn.Dense(3, name="head")(x)
"""
TOWER_SETUP = """\
version = 1

[profiles.tower]
framework = "jax"
model = "model:Tower"
inputs = { args = [{ kind = "tensor", shape = [2, 8], dtype = "float32" }] }
"""


@contextlib.asynccontextmanager
async def browsing(address: str, launch: dict[str, Any]) -> AsyncIterator[BrowserPage]:
    """A real browser beside the editor: Playwright's other interface has a loop of its own."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launch)
        page = await browser.new_page()
        await page.goto(address)
        yield page
        await browser.close()


async def test_a_person_with_an_editor_and_a_browser(
    place: Place, browser_type_launch_args: dict[str, Any]
) -> None:  # R26, R27
    place.model.write_text(TOWER)
    place.setup.write_text(TOWER_SETUP)
    async with place.editor() as client:
        uri = client.open(place.model)
        await client.execute("tvls.server.openGraph", {"uri": uri, "name": "Tower"})
        address = (await client.wait_for("window/showDocument"))["params"]["uri"]
        async with browsing(address, browser_type_launch_args) as page:

            async def line(*, click: str | None = None, at: int = 0, key: str | None = None) -> int:
                """1-based, of what the editor is told to show."""
                seen = len(client.received)
                if click is not None:
                    await page.get_by_role("treeitem", name=click).nth(at).locator("text.title").click()
                if key is not None:
                    await page.keyboard.press(key)
                params = (await client.wait_for("window/showDocument", since=seen))["params"]
                assert params["uri"] == uri
                return params["selection"]["start"]["line"] + 1

            # A click shows the line of the person's code: for a module that of its call.
            assert await line(click="head") == 14
            assert await line(click="block") == 13
            assert await line(click="add") == 7
            # So does the key, which asks for it again.
            assert await line(key="g") == 7
            assert await line(click="dot_general", at=-1) == 14
            assert await line(key="g") == 14

            async def save(text: str) -> None:
                place.model.write_text(text)
                client.change(uri, text)
                client.save(uri)

            await save(TOWER.replace("nn.Dense(3", "nn.Dense('3'"))
            await expect(page.locator(".banner.failed")).to_contain_text("The trace failed", timeout=20_000)
            # Undone: the graph is fresh again, and nothing failed.
            await save(TOWER)
            await expect(page.locator(".banner.failed")).to_have_count(0, timeout=20_000)
            await expect(page.locator("[data-badge=freshness]")).to_have_text("fresh")
            await page.reload()
            await expect(page.get_by_role("treeitem").first).to_be_visible()
            await expect(page.locator(".banner.failed")).to_have_count(0)


WAITS = "import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.01)\n"
OPEN_NET = "tvls.server.openGraph"


async def test_a_page_opens_while_the_trace_runs(place: Place, browser_type_launch_args: dict[str, Any]) -> None:  # R28
    place.model.write_text(WAITS + MODEL)
    net = {"uri": place.model.as_uri(), "name": "net"}
    async with place.editor() as client:
        client.open(place.model)
        asked = client.ask("workspace/executeCommand", {"command": OPEN_NET, "arguments": [net]})
        address = (await client.wait_for("window/showDocument"))["params"]["uri"]
        async with browsing(address, browser_type_launch_args) as page:
            loading = page.locator(".state.loading")
            await expect(loading).to_contain_text("Tracing net")
            await expect(loading).to_contain_text("import")
            await expect(loading.get_by_role("button")).to_have_count(0)  # the editor has the button
            (place.folder / "go").touch()
            await asked.result()
            await expect(page.get_by_role("treeitem").first).to_be_visible()
            # With a graph there, the same is said above it.
            (place.folder / "go").unlink()
            asked = client.ask("workspace/executeCommand", {"command": "tvls.server.refreshGraph", "arguments": [net]})
            await expect(page.locator(".banner.busy")).to_contain_text("Tracing again: import")
            (place.folder / "go").touch()
            await asked.result()
            await expect(page.locator(".banner.busy")).to_have_count(0)
            await expect(page.get_by_role("treeitem").first).to_be_visible()
        assert len(client.of("window/showDocument")) == 1


async def test_a_trace_that_is_cancelled_leaves_no_page_waiting(
    place: Place, browser_type_launch_args: dict[str, Any]
) -> None:
    place.model.write_text(WAITS + MODEL)
    async with place.editor() as client:
        client.open(place.model)
        asked = client.ask(
            "workspace/executeCommand",
            {"command": OPEN_NET, "arguments": [{"uri": place.model.as_uri(), "name": "net"}]},
        )
        address = (await client.wait_for("window/showDocument"))["params"]["uri"]
        async with browsing(address, browser_type_launch_args) as page:
            await expect(page.locator(".state.loading")).to_be_visible()
            asked.cancel()
            assert (await asked.error()).code == -32800
            await expect(page.get_by_role("region", name="Cancelled")).to_contain_text("The trace was cancelled.")
            (place.folder / "go").touch()
            await page.get_by_role("button", name="Try again").click()
            await expect(page.get_by_role("treeitem").first).to_be_visible()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_no_page_waits_for_a_trace_that_all_have_cancelled(place: Place, order: tuple[int, int]) -> None:
    """Two requests share the trace; it ends with the second, and its phases are told on behalf of the first."""
    place.model.write_text(WAITS + MODEL.replace("y =", "import stop; y ="))
    (place.folder / "stop.py").write_text(WAITS.replace("'go'", "'on'"))
    call = {"command": OPEN_NET, "arguments": [{"uri": place.model.as_uri(), "name": "net"}]}
    async with place.editor() as client:
        client.open(place.model)
        asked = [client.ask("workspace/executeCommand", call)]
        async with Page.visit((await client.wait_for("window/showDocument"))["params"]["uri"]) as page:
            await page.attach()
            asked.append(client.ask("workspace/executeCommand", call))
            await asyncio.sleep(0.5)  # nothing tells that it has joined the first
            asked[order[0]].cancel()
            assert (await asked[order[0]].error()).code == -32800
            (place.folder / "go").touch()
            await page.wait_for(lambda it: it.get("params", {}).get("phase") == "trace")
            asked[order[1]].cancel()
            assert (await asked[order[1]].error()).code == -32800
            state = await page.attach()
            assert "phase" not in state
            assert state["error"]["message"] == "The trace was cancelled."


async def test_a_page_says_what_became_of_its_first_trace(place: Place) -> None:  # R22
    """Also one that comes after the failure, as slow browsers do."""
    place.model.write_text(MODEL.replace("(3, 4)", "(5, 4)"))
    async with place.editor() as client:
        client.open(place.model)
        refused = await client.ask(
            "workspace/executeCommand",
            {"command": OPEN_NET, "arguments": [{"uri": place.model.as_uri(), "name": "net"}]},
        ).error()
        assert refused.data["kind"] == "traceFailed"
        address = (await client.wait_for("window/showDocument"))["params"]["uri"]
        async with Page.visit(address) as page:
            state = await page.attach()
            assert state["error"]["data"]["kind"] == "traceFailed"
            assert "phase" not in state
        assert len(client.of("window/showDocument")) == 1


async def test_an_editor_that_does_not_say_whether_it_opened_a_page(place: Place) -> None:  # R28
    """A page that is open waits for the trace alone; where none opened, people are told where it is."""
    place.model.write_text(WAITS + MODEL)
    net = {"uri": place.model.as_uri(), "name": "net"}
    async with place.editor() as client:
        client.answers["window/showDocument"] = NO_ANSWER
        client.open(place.model)
        asked = client.ask("workspace/executeCommand", {"command": OPEN_NET, "arguments": [net]})
        address = (await client.wait_for("window/showDocument"))["params"]["uri"]
        async with Page.visit(address) as page:
            assert "phase" in await page.attach()
            (place.folder / "go").touch()
            await asked.result()
            assert "capture" in await outcome(page)
        await client.execute(OPEN_NET, net)
        message = (await client.wait_for("window/showMessage"))["params"]["message"]
        assert address.partition("?")[0] in message
        assert len(client.of("window/showDocument")) == 2


async def test_a_page_opens_once_for_requests_that_come_one_upon_the_other(place: Place) -> None:  # R28
    """Also before the browser has come, which may take it seconds."""
    place.model.write_text(WAITS + MODEL)
    call = {"command": OPEN_NET, "arguments": [{"uri": place.model.as_uri(), "name": "net"}]}
    async with place.editor() as client:
        client.open(place.model)
        asked = [client.ask("workspace/executeCommand", call) for _ in range(2)]
        await client.wait_for("window/showDocument")
        (place.folder / "go").touch()
        for one in asked:
            await one.result()
        await client.ask("workspace/executeCommand", call).result()
        await client.settle()
        assert len(client.of("window/showDocument")) == 1


async def outcome(page: Page, since: int = 0) -> Any:
    """What is told at the end of a trace, after its phases."""
    message = await page.wait_for(
        lambda it: it.get("method") == "$/tvls/canvas/show" and "phase" not in it["params"], since
    )
    return message["params"]


async def test_a_profile_that_fails_is_told_where_another_was_shown(place: Place) -> None:  # R22, R28
    small = SETUP.split("version = 1\n")[1]
    place.setup.write_text(SETUP + small.replace("small", "bad").replace("[2, 3]", "[2, 5]"))
    async with place.editor() as client:
        uri = client.open(place.model)
        first, second = [lens["command"]["arguments"][0] for lens in await client.lenses(uri)]
        await client.execute("tvls.server.openGraph", first)
        address = (await client.wait_for("window/showDocument"))["params"]["uri"]
        async with Page.visit(address) as page:
            assert (await page.attach())["capture"]["profile"] == "small"
            seen = len(page.received)
            await client.ask(
                "workspace/executeCommand", {"command": "tvls.server.openGraph", "arguments": [second]}
            ).error()
            failed = await outcome(page, seen)
            again = await page.attach()  # as after a reload
            for state in (failed, again):
                assert (state["open"]["profile"], state["error"]["data"]["kind"]) == ("bad", "traceFailed")
                assert "capture" not in state
            seen = len(page.received)
            await client.execute("tvls.server.openGraph", first)
            shown = await outcome(page, seen)
            assert (shown["capture"]["profile"], shown.get("error")) == ("small", None)


async def test_one_page_for_a_target(place: Place) -> None:  # R28
    """Opening again goes on in the page that is open; a closed one is opened anew."""
    async with place.editor() as client:
        client.open(place.model)
        address = await place.open(client)
        async with Page.visit(address) as page:
            first = await page.attach()
            place.model.write_text(MODEL.replace("2.0", "3.0"))
            client.change(place.model.as_uri(), MODEL.replace("2.0", "3.0"))
            stale = await page.told("$/tvls/captureState")
            assert stale["freshness"] == "stale"
            documents = len(client.of("window/showDocument"))
            await client.execute("tvls.server.openGraph", {"uri": place.model.as_uri(), "name": "net"})
            shown = await outcome(page)
            assert shown["capture"]["captureId"] != first["capture"]["captureId"]
            assert shown["capture"]["freshness"] == "fresh"
            await client.wait_for("window/showMessage", lambda params: "browser has open" in params["message"])
            assert len(client.of("window/showDocument")) == documents
            # A trace that fails is shown there, too.
            broken = MODEL.replace("(3, 4)", "(5, 4)")
            place.model.write_text(broken)
            client.change(place.model.as_uri(), broken)
            seen = len(page.received)
            refused = await client.ask(
                "workspace/executeCommand",
                {"command": "tvls.server.openGraph", "arguments": [{"uri": place.model.as_uri(), "name": "net"}]},
            ).error()
            failed = await outcome(page, seen)
            assert failed["error"]["data"]["kind"] == refused.data["kind"] == "traceFailed"
            place.model.write_text(MODEL)
            client.change(place.model.as_uri(), MODEL)
        again = await place.open(client)
        assert again.partition("?")[0] == address.partition("?")[0]
        assert again != address


async def test_a_page_cannot_get_trust(place: Place) -> None:  # R4
    """After trust is withdrawn a page gets the error, and the editor no question."""
    async with place.editor(profiles.VSCODE, "Visual Studio Code") as client:
        client.open(place.model)
        async with Page.visit(await place.open(client)) as page:
            state = await page.attach()
            await client.execute("tvls.server.untrustFolder", place.folder.as_uri())
            refused = await page.error("tvls/graph/open", {**state["open"], "refresh": True})
            assert refused.data["kind"] == "notTrusted"
            assert refused.data["nextStep"]
            assert not client.of("window/showMessageRequest")
            assert (await page.request("tvls/trust/get", {"folder": place.folder.as_uri()}))["trusted"] is False


async def test_missing_values_are_asked_for_in_the_page(place: Place) -> None:  # R10
    place.setup.unlink()
    async with place.editor() as client:
        argument = {"uri": place.model.as_uri(), "name": "net"}
        refused = await client.ask(
            "workspace/executeCommand", {"command": "tvls.server.openGraph", "arguments": [argument]}
        ).error()
        assert refused.data["kind"] == "setupRequired"
        address = (await client.wait_for("window/showDocument"))["params"]["uri"]
        async with Page.visit(address) as page:
            state = await page.attach()
            assert "capture" not in state
            assert state["error"]["data"]["missing"][0]["parameter"] == "x"
            setup = {"inputs": {"args": [{"kind": "tensor", "shape": [2, 3], "dtype": "float32"}]}}
            opened = await page.request("tvls/graph/open", {**state["open"], "setup": setup})
            assert opened["capture"]["name"] == "net"
            state = await page.attach()
            assert "error" not in state
            assert state["open"]["setup"] == setup
        assert not client.of("window/showMessage")  # the form says it, and no other window beside it


@pytest.mark.parametrize("answer", [{"success": False}, error(-32603)])
async def test_an_editor_that_opens_no_browser(place: Place, answer: Any) -> None:  # R28
    async with place.editor() as client:
        client.answers["window/showDocument"] = answer
        await client.execute("tvls.server.openGraph", {"uri": place.model.as_uri(), "name": "net"})
        message = (await client.wait_for("window/showMessage"))["params"]["message"]
        address = message.partition("in a browser: ")[2]
        assert "ssh" not in message
        async with Page.visit(address) as page:
            state = await page.attach()
            shown = await page.request("tvls/canvas/showSource", {"location": await location(page, state)})
            assert shown == {"shown": False, "place": "model.py:7"}


async def location(page: Page, state: dict[str, Any]) -> Any:
    found = await page.request(
        "tvls/graph/search", {"captureId": state["capture"]["captureId"], "query": "dot_general"}
    )
    node = {"captureId": state["capture"]["captureId"], "node": found["nodes"][0]["node"]}
    return (await page.request("tvls/graph/sources", node))["frames"][0]["location"]


@pytest.mark.parametrize(
    ("name", "env", "opens"),
    [
        ("Neovim", SSH, False),
        ("Neovim", {**SSH, "DISPLAY": ":10.0"}, True),
        ("Visual Studio Code", SSH, True),
        ("Neovim", {}, True),
    ],
)
async def test_over_ssh(place: Place, name: str, env: dict[str, str], opens: bool) -> None:  # R28
    """A browser there would open where nobody sits; the message has the address and the tunnel that it needs."""
    async with place.editor(profiles.NEOVIM, name, env) as client:
        await client.execute("tvls.server.openGraph", {"uri": place.model.as_uri(), "name": "net"})
        if opens:
            shown = await client.wait_for("window/showDocument")
            assert shown["params"]["external"] is True
            assert not client.of("window/showMessage")
        else:
            message = (await client.wait_for("window/showMessage"))["params"]["message"]
            port = message.partition("http://127.0.0.1:")[2].partition("/")[0]
            assert f"ssh -N -L {port}:127.0.0.1:{port} " in message
            assert message.endswith("@10.0.0.7")
            assert not client.of("window/showDocument")


async def test_the_page_ends_with_the_server(place: Place) -> None:
    async with place.editor() as client:
        address = await place.open(client)
        async with Page.visit(address) as page:
            await page.attach()
            assert await client.shut_down() == 0
            with pytest.raises(Exception, match="1001"):
                await page.socket.recv()
            client.shut_down = _done  # type: ignore[method-assign]


async def _done() -> int:
    return 0
