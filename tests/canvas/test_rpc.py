"""The page's conversation with the daemon, over a real WebSocket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.canvas.daemon import MODEL, Daemon
from tests.canvas.page import Page
from tvls.protocol.registry import METHODS

ALLOWED = {
    "tvls/canvas/attach",
    "tvls/canvas/showSource",
    "tvls/graph/open",
    "tvls/graph/info",
    "tvls/graph/view",
    "tvls/graph/node",
    "tvls/graph/sources",
    "tvls/graph/nodesAt",
    "tvls/graph/search",
    "tvls/graph/compare",
    "tvls/graph/fold",
    "tvls/graph/export",
    "tvls/target/preview",
    "tvls/setup/draft",
    "tvls/setup/validate",
    "tvls/setup/save",
    "tvls/trust/get",
    "tvls/server/status",
}
"""Said twice on purpose: a method more in a browser is a decision."""


def page(daemon: Daemon, **changed: Any) -> Any:
    return Page.at(daemon.address, daemon.cookie, **changed)


@pytest.mark.parametrize(
    "changed",
    [{"origin": None}, {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"}],
)
async def test_a_websocket_of_another_site(daemon: Daemon, changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with page(daemon, **changed):
            pass
    assert refused.value.response.status_code == 403


async def test_a_websocket_without_the_cookie(daemon: Daemon) -> None:
    for cookie in (None, f"tvls-{daemon.port}=wrong"):
        with pytest.raises(InvalidStatus) as refused:
            async with Page.at(daemon.address, cookie):
                pass
        assert refused.value.response.status_code == 403


async def test_the_graph_is_there(daemon: Daemon) -> None:
    async with page(daemon) as it:
        state = await it.attach()
        capture = state["capture"]
        assert (capture["name"], capture["freshness"]) == ("net", "fresh")
        assert state["open"]["target"] == {"uri": daemon.model.as_uri(), "name": "net"}
        assert "editor" not in state
        view = await it.request("tvls/graph/view", {"captureId": capture["captureId"]})
        labels = [node["label"] for node in view["nodes"]]
        assert {"x", "dot_general", "relu", "mul"} <= set(labels)
        sources = await it.request(
            "tvls/graph/sources", {"captureId": capture["captureId"], "node": view["nodes"][labels.index("mul")]["id"]}
        )
        shown = await it.request("tvls/canvas/showSource", {"location": sources["frames"][0]["location"]})
        assert shown == {"shown": False, "place": "model.py:8"}


async def test_every_other_method_is_refused(daemon: Daemon) -> None:
    """Trust above all: neither given nor withdrawn from a browser."""
    names = [method.name for method in METHODS if method.name not in ALLOWED]
    assert {"tvls/trust/grant", "tvls/trust/revoke"} <= set(names)
    folder = {"folder": daemon.model.parent.as_uri()}
    async with page(daemon) as it:
        for name in [*names, "initialize", "shutdown", "workspace/executeCommand", "no/such"]:
            refused = await it.error(name, folder)
            assert refused.code == -32601, name
        for name in (ALLOWED & {method.name for method in METHODS}) - {"tvls/server/status"}:
            refused = await it.error(name, {"captureId": 5, "folder": 5, "target": 5, "textDocument": 5, "page": 5})
            assert refused.code == -32602, name
        assert (await it.request("tvls/trust/get", folder))["trusted"] is True
        assert (await it.request("tvls/server/status"))["captures"] == 1


async def test_no_other_folder(daemon: Daemon) -> None:
    async with page(daemon) as it:
        for method in ("tvls/graph/open", "tvls/setup/draft", "tvls/setup/save", "tvls/trust/get"):
            for folder in (daemon.model.parent.parent.as_uri(), "file:///", "untitled:x"):
                refused = await it.error(method, {"folder": folder, "profile": "p", "changes": []})
                assert refused.code == -32602, (method, refused.message)
                assert "not one of the workspace" in refused.message


async def test_broken_messages(daemon: Daemon) -> None:
    """Each is answered, or nothing, and the connection goes on."""
    async with page(daemon) as it:
        for text, code in (
            ("", -32700),
            ("{", -32700),
            ('{"jsonrpc":"2.0","id":1,"params":' + "[" * 100_000, -32700),
            ("[]", -32600),
            ('{"jsonrpc":"2.0","method":5,"id":7}', -32600),
            ('{"jsonrpc":"1.0","method":"tvls/server/status","id":7}', -32600),
            ('{"jsonrpc":"2.0","id":7}', -32600),
            ('{"jsonrpc":"2.0","id":null,"method":"tvls/server/status"}', -32600),
            ('{"jsonrpc":"2.0","id":7,"method":"tvls/graph/view","params":[1]}', -32602),
        ):
            seen = len(it.received)
            await it.socket.send(text)
            answer = await it.wait_for(lambda found: "error" in found, seen)
            assert answer["error"]["code"] == code, text[:80]
        for text in (
            '{"jsonrpc":"2.0","method":"tvls/trust/grant","params":{"folder":"file:///"}}',
            '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":[]}}',
            '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":12345}}',
            '{"jsonrpc":"2.0","method":"exit"}',
        ):
            await it.socket.send(text)
        assert (await it.request("tvls/server/status"))["captures"] == 1


async def test_messages_that_are_too_long_or_no_text(daemon: Daemon) -> None:
    for data, code in (("x" * (1 << 21), 1009), (b"{}", 1003)):
        async with page(daemon) as it:
            with pytest.raises(ConnectionClosed) as closed:
                await it.socket.send(data)
                await it.socket.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == code
    async with page(daemon) as it:
        assert await it.attach()


async def test_a_page_that_does_not_read(daemon: Daemon) -> None:
    """What it asks for waits for it; others are served meanwhile."""
    async with page(daemon) as it:
        capture = {"captureId": (await it.attach())["capture"]["captureId"]}
        for _ in range(200):
            await it.send("tvls/graph/export", capture)
        async with page(daemon) as other:
            assert await other.attach()
        last = await it.send("tvls/server/status")
        assert (await it.answer(last))["captures"] == 1
        answers = [message for message in it.received if "result" in message]
        assert len(answers) == 202


async def test_a_page_that_sends_and_does_not_read(daemon: Daemon) -> None:
    """Answers have a bound as well, however small each is: no more is taken until they are read."""
    taken: list[str] = []
    async with page(daemon, max_queue=1, ping_interval=None) as other:
        for number in range(400):  # of nearly a megabyte each, which the answer repeats
            name = f"{number}:" + "x" * 1_000_000
            try:
                async with asyncio.timeout(5):
                    await other.socket.send(json.dumps({"jsonrpc": "2.0", "id": name, "method": "nothing"}))
            except TimeoutError:
                break
            taken.append(name)
        assert len(taken) < 200
        for name in taken:
            answer = json.loads(await asyncio.wait_for(other.socket.recv(), 30))
            assert (answer["id"], answer["error"]["code"]) == (name, -32601)
    async with page(daemon) as again:
        await again.attach()


async def test_unknown_page(daemon: Daemon) -> None:
    async with page(daemon) as it:
        refused = await it.error("tvls/canvas/attach", {"page": "0" * 16})
        assert refused.data["kind"] == "pageGone"
        assert "Open the graph again" in refused.data["nextStep"]


@pytest.mark.parametrize(
    "uri", ["file:///etc/passwd", "http://evil.example/x.py", "file:///no/such.py", "command:x.py"]
)
async def test_only_sources_are_gone_to(daemon: Daemon, uri: str) -> None:
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    async with page(daemon) as it:
        refused = await it.error("tvls/canvas/showSource", {"location": {"uri": uri, "range": place}})
        assert refused.code == -32602


async def test_saving_makes_it_stale_and_opening_traces_again(fresh_daemon: Daemon) -> None:  # R27
    """Without an editor nobody tells of a save: the daemon looks. Both pages of the graph follow."""
    model = fresh_daemon.model
    async with page(fresh_daemon) as it, page(fresh_daemon) as other:
        state = await it.attach()
        await other.attach()
        model.write_text(MODEL.replace("2.0", "3.0"))
        told = await it.told("$/tvls/captureState")
        assert (told["captureId"], told["freshness"]) == (state["capture"]["captureId"], "stale")
        assert told["stale"]["files"]
        opened = await it.request("tvls/graph/open", {**state["open"], "workDoneToken": "t"})
        assert opened["capture"]["freshness"] == "fresh"
        assert opened["capture"]["captureId"] != state["capture"]["captureId"]
        reports = [message["params"]["value"] for message in it.received if message.get("method") == "$/progress"]
        assert [reports[0]["kind"], reports[-1]["kind"]] == ["begin", "end"]
        assert "trace" in [report.get("message") for report in reports]
        shown = await other.told("$/tvls/canvas/show")
        assert shown["capture"] == opened["capture"]

        model.write_text(MODEL.replace("(3, 4)", "(5, 4)"))
        failed = await it.error("tvls/graph/open", state["open"])
        assert failed.data["kind"] == "traceFailed"
        shown = await other.told("$/tvls/canvas/show", other.received.index(other.received[-1]) + 1)
        assert shown["error"]["data"]["kind"] == "traceFailed"
        assert shown["capture"]["captureId"] == opened["capture"]["captureId"]
        again = await other.attach()
        assert again["error"]["code"] == failed.code
        assert again["capture"]["freshness"] == "stale"


async def test_cancelling_from_the_page(fresh_daemon: Daemon) -> None:  # R5
    async with page(fresh_daemon) as it:
        state = await it.attach()
        fresh_daemon.model.write_text(MODEL.replace("    y =", "    import time; time.sleep(60)\n    y ="))
        number = await it.send("tvls/graph/open", {**state["open"], "workDoneToken": "t"})
        await it.wait_for(lambda found: found.get("params", {}).get("value", {}).get("message") == "trace")
        await it.notify("$/cancelRequest", {"id": number})
        answer = await it.wait_for(lambda found: found.get("id") == number)
        assert answer["error"]["code"] == -32800
        await no_traces(it)


async def test_a_page_that_leaves_ends_its_trace(fresh_daemon: Daemon) -> None:  # R5
    async with page(fresh_daemon) as it:
        state = await it.attach()
        fresh_daemon.model.write_text(MODEL.replace("    y =", "    import time; time.sleep(60)\n    y ="))
        await it.send("tvls/graph/open", {**state["open"], "workDoneToken": "t"})
        await it.wait_for(lambda found: found.get("params", {}).get("value", {}).get("message") == "trace")
    async with page(fresh_daemon) as it:
        await no_traces(it)


async def no_traces(it: Page) -> None:
    async with asyncio.timeout(20):
        while (await it.request("tvls/server/status")).get("tracesRunning", 0):  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.05)


async def test_the_daemon_ends_with_a_page_open(fresh_daemon: Daemon) -> None:
    async with page(fresh_daemon) as it:
        await it.attach()
        assert fresh_daemon.process.stdin is not None
        fresh_daemon.process.stdin.close()
        with pytest.raises(ConnectionClosed) as closed:
            json.loads(await it.socket.recv())
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
    assert await asyncio.to_thread(fresh_daemon.process.wait, 20) == 0
