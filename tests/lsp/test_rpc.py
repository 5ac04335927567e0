"""Every request gets exactly one answer, whatever the request, the handler or the client does. Promises: R28.

A raw client talks to a real process whose handlers misbehave (`faulty_server.py`). Each test stands for a trap of the
library underneath: it fails with the library's own message handling.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from tests.lsp.client import NO_ANSWER, LspClient, ResponseError, error

FAULTY = (sys.executable, "-m", "tests.lsp.faulty_server")
ROOT = Path(__file__).parents[2]


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lasting() -> AsyncIterator[LspClient]:
    """One process for all tests after which the server must still live."""
    async with LspClient.start(FAULTY, cwd=ROOT) as started:
        await started.initialize()
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def client(lasting: LspClient) -> LspClient:
    await alive(lasting)
    await lasting.request("test/clear", {})
    lasting.received.clear()
    lasting.stderr.clear()
    return lasting


@pytest_asyncio.fixture(loop_scope="module")
async def mortal() -> AsyncIterator[LspClient]:
    """A process of its own."""
    async with LspClient.start(FAULTY, cwd=ROOT) as started:
        await started.initialize()
        yield started


async def alive(client: LspClient) -> None:
    assert await client.request("test/echo", {"still": "here"}) == {"still": "here"}


async def refused(client: LspClient, method: str, params: Any = None) -> ResponseError:
    """The error answer to a request; checks that it is the only one and that the server lives on."""
    call = client.ask(method, params)
    found = await call.error(10)
    await alive(client)
    assert len(client.replies_to(call.id)) == 1
    assert not client.of("window/showMessage")
    return found


# --- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({"captureId": 1}, "$.captureId"),
        ({"captureId": "a", "limit": "many"}, "$.limit"),
        ({"captureId": "a", "expanded": [1]}, "$.expanded[0]"),
        ({}, "captureId"),
        (None, "captureId"),
        ([1], "array"),
    ],
)
async def test_bad_parameters_of_ours(client: LspClient, params: Any, fault: str) -> None:
    found = await refused(client, "tvls/graph/view", params)
    assert found.code == -32602
    assert fault in found.message


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({"textDocument": {"uri": 7}, "position": {"line": 0, "character": 0}}, "$.textDocument.uri"),
        ({"textDocument": {"uri": "a"}, "position": {"line": "0", "character": 0}}, "$.position.line"),
        ({"textDocument": {"uri": None}, "position": {"line": 0, "character": 0}}, "$.textDocument.uri"),
        ({"textDocument": {"uri": "a"}}, "$.position"),
        ({"textDocument": {"uri": "a"}, "position": {"line": -1, "character": 0}}, "$.position"),
        (None, "$.textDocument"),
        ("text", ""),
    ],
)
async def test_bad_parameters_of_lsp(client: LspClient, params: Any, fault: str) -> None:
    found = await refused(client, "textDocument/hover", params)
    assert found.code == -32602
    assert fault in found.message


async def test_integral_floats_are_integers_in_lsp(client: LspClient) -> None:
    """Clients in languages without integers send them so."""
    params = {"textDocument": {"uri": "a"}, "position": {"line": 0.0, "character": 1.0}}
    assert await client.request("textDocument/hover", params) == {"contents": "a"}


async def test_extra_fields_are_no_fault(client: LspClient) -> None:
    params = {"textDocument": {"uri": "a", "new": 1}, "position": {"line": 0, "character": 1}, "later": {}}
    assert await client.request("textDocument/hover", params) == {"contents": "a"}
    call = client.ask("tvls/graph/view", {"captureId": "a", "later": True})
    assert await call.result() == {"captureId": "a"}
    client.send({"jsonrpc": "2.0", "id": "top", "method": "test/echo", "params": 1, "trace": "x"})
    await client.wait_for(lambda message: message.get("id") == "top" and message.get("result") == 1)


async def test_keys_and_nested_messages_survive(client: LspClient) -> None:
    params = {
        "a/b.py": {"my-key": 1, "class": 2, "": 3},
        "type_name": "kept",
        "inner": {"jsonrpc": "2.0", "id": 9, "result": {}},
        "deeper": [{"jsonrpc": "2.0", "method": "exit"}],
    }
    assert await client.request("test/echo", params) == params


async def test_deep_nesting_is_refused(client: LspClient) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    client.write_body(b'{"jsonrpc":"2.0","id":"deep","method":"test/echo","params":%b}' % deep)
    found = await client.wait_for(lambda message: "error" in message)
    assert found["error"]["code"] in (-32700, -32602)
    await alive(client)


async def test_half_a_surrogate_pair_is_no_reason_to_lose_an_edit(client: LspClient) -> None:
    position = b'"position":{"line":0,"character":0}'
    body = b'{"jsonrpc":"2.0","id":"s","method":"textDocument/hover","params":{"textDocument":{"uri":"\\ud83dx"},%b}}'
    client.write_body(body % position)
    found = await client.wait_for(lambda message: message.get("id") == "s")
    assert found["result"] == {"contents": "\ufffdx"}


# --- results and failures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["test/unencodable", "test/surrogate"])
async def test_result_that_does_not_serialise(client: LspClient, method: str) -> None:
    found = await refused(client, method, {})
    assert (found.code, found.message, found.data) == (-32603, "internal error", None)


async def test_nan_never_appears(client: LspClient) -> None:
    assert await client.request("test/nan", {}) == {"value": None, "list": [None]}


async def test_null_result_is_an_answer(client: LspClient) -> None:
    call = client.ask("test/none", {})
    assert await call.result() is None
    assert client.replies_to(call.id) == [{"jsonrpc": "2.0", "id": call.id, "result": None}]


@pytest.mark.parametrize("method", ["test/fail", "test/failLater", "test/exit", "test/exitLater"])
async def test_failures_are_clean(client: LspClient, method: str) -> None:
    """Exceptions, KeyboardInterrupt and sys.exit: one answer, no paths in it, the traceback in the log."""
    found = await refused(client, method, {})
    assert (found.code, found.message, found.data) == (-32603, "internal error", None)
    await client.wait_for_stderr("faulty_server.py")
    assert b"Traceback" in client.stderr


async def test_failing_notification_disturbs_nothing(client: LspClient) -> None:
    client.notify("test/exitNotification", {})
    await alive(client)
    assert not client.of("window/showMessage")


async def test_refusals_keep_code_and_data(client: LspClient) -> None:
    found = await refused(client, "test/refuse", {})
    assert (found.code, found.message) == (-33001, "Not trusted.")
    assert found.data == {"kind": "notTrusted", "nextStep": "Trust it.", "folder": "file:///f"}


async def test_refusal_with_unencodable_data_is_still_an_answer(client: LspClient) -> None:
    assert (await refused(client, "test/refuseBadly", {})).code == -33001


async def test_large_messages_both_ways(client: LspClient) -> None:
    text = "é" * 3_000_000
    assert await client.request("test/echo", {"text": text}) == {"text": text}


# --- messages --------------------------------------------------------------------------------------------------------


async def test_unknown_methods(client: LspClient) -> None:
    assert (await refused(client, "textDocument/rename", {})).code == -32601
    client.notify("$/unknown", {})
    client.notify("unknown/notification", {"a": 1})
    await alive(client)


@pytest.mark.parametrize(
    ("body", "code", "msg_id"),
    [
        (b"{", -32700, None),
        (b"", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{bad}}', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"test/echo","params":NaN}', -32700, None),
        (b'[{"jsonrpc":"2.0","id":71,"method":"test/echo"}]', -32600, None),
        (b"[]", -32600, None),
        (b'"text"', -32600, None),
        (b'{"jsonrpc":"2.0","id":72,"method":5}', -32600, 72),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"test/echo"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"test/echo"}', -32600, None),
        (b'{"jsonrpc":"1.0","id":73,"method":"test/echo"}', -32600, 73),
        (b'{"id":74,"method":"test/echo"}', -32600, 74),
        (b'{"jsonrpc":"2.0"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":"b","method":"test/echo","params":{"a":"\xff"}}', -32602, "b"),
        (b'{"jsonrpc":"2.0","id":"\xff","method":"test/echo"}', -32700, None),
    ],
)
async def test_what_is_no_message(client: LspClient, body: bytes, code: int, msg_id: Any) -> None:
    client.write_body(body)
    found = await client.wait_for(lambda message: "error" in message)
    assert (found["error"]["code"], found["id"]) == (code, msg_id)
    await alive(client)
    assert len([message for message in client.received if "error" in message]) == 1


async def test_ids_come_back_as_they_were(client: LspClient) -> None:
    for msg_id in (0, -5, 2**53 + 1, "", "ü"):
        client.send({"jsonrpc": "2.0", "id": msg_id, "method": "test/echo", "params": {}})
        await client.wait_for(lambda message, wanted=msg_id: "result" in message and message["id"] == wanted)


async def test_one_id_twice_at_once(client: LspClient) -> None:
    for _ in range(2):
        client.send({"jsonrpc": "2.0", "id": "twin", "method": "test/sleep", "params": {"seconds": 0.3}})
    await client.wait_for(lambda message: message.get("id") == "twin" and "result" in message)
    answers = client.replies_to("twin")
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32600, None]


async def test_framing(client: LspClient) -> None:
    """Any split of the stream, any order and case of headers."""
    body = '{"jsonrpc":"2.0","id":"f%d","method":"test/echo","params":"ü"}'.encode()
    bodies = [body.replace(b"%d", b"%d" % number) for number in range(4)]
    length = b"%d" % len(bodies[0])
    utf8 = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    stream = b"Content-Length: " + length + b"\r\n\r\n" + bodies[0]
    stream += utf8 + b"Content-Length: " + length + b"\r\n\r\n" + bodies[1]
    stream += b"content-length:" + length + b"\r\n" + utf8 + b"\r\n" + bodies[2]
    stream += b"Content-Length: " + length + b"\r\n\r\n" + bodies[3]
    assert client.process.stdin
    for index in range(len(stream)):
        client.write(stream[index : index + 1])
        await client.process.stdin.drain()
    for number in range(4):
        await client.wait_for(lambda m, wanted=f"f{number}": m.get("id") == wanted and m.get("result") == "ü")


async def test_header_without_length_loses_one_message(client: LspClient) -> None:
    client.write(b"Content-Lenght: 5\r\n\r\n")
    found = await client.wait_for(lambda message: "error" in message)
    assert (found["error"]["code"], found["id"]) == (-32700, None)
    await alive(client)


async def test_stray_output_never_reaches_the_stream(client: LspClient) -> None:
    """print, os.write(1), a child's output; and a child cannot eat input."""
    assert await client.request("test/prints", {}) == "0"
    await alive(client)
    await client.wait_for_stderr("stray child")
    assert b"stray bytes" in client.stderr


# --- life cycle ------------------------------------------------------------------------------------------------------


async def test_before_initialize() -> None:
    async with LspClient.start(FAULTY, cwd=ROOT) as client:
        assert (await client.ask("test/echo", {}).error()).code == -32002
        assert (await client.ask("no/such", {}).error()).code == -32002
        client.notify("test/plain", {})
        assert (await client.ask("initialize", {"capabilities": 5}).error()).code == -32602
        await client.initialize()  # a failed initialize may be repeated
        assert await client.request("test/log", {}) == []  # the notification was dropped
        assert (
            await client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}}).error()
        ).code == (-32600)


async def test_after_shutdown(mortal: LspClient) -> None:
    assert await mortal.request("shutdown") is None
    assert (await mortal.ask("test/echo", {}).error()).code == -32600
    assert (await mortal.ask("shutdown").error()).code == -32600
    mortal.notify("exit")
    assert await mortal.wait_closed() == 0


async def test_exit_without_shutdown(mortal: LspClient) -> None:
    mortal.notify("exit")
    assert await mortal.wait_closed() == 1


@pytest.mark.parametrize("busy", [False, True])
async def test_end_of_input_ends_the_process(mortal: LspClient, busy: bool) -> None:
    if busy:
        mortal.ask("test/sleep", {"seconds": 60})
        mortal.ask("test/deaf", {})
    await mortal.settle()
    assert mortal.process.stdin
    started = time.monotonic()
    mortal.process.stdin.close()
    assert await mortal.wait_closed() == 1
    assert time.monotonic() - started < 1.5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signals_end_the_process(mortal: LspClient, number: signal.Signals) -> None:
    mortal.process.send_signal(number)
    assert await mortal.wait_closed() == 128 + number


async def test_hopeless_stream_ends_the_process(mortal: LspClient) -> None:
    mortal.write(b"x" * 100_000)
    assert await mortal.wait_closed() == 1


async def test_server_ends_with_its_editor() -> None:
    """Also where something else keeps the input open."""
    async with LspClient.start(FAULTY, cwd=ROOT) as client:
        editor = await asyncio.create_subprocess_exec("sleep", "60")
        await client.initialize(processId=editor.pid)
        await client.settle()
        editor.kill()
        await editor.wait()
        assert await client.wait_closed(15) == 1


# --- cancelling and concurrency --------------------------------------------------------------------------------------


async def test_cancel_is_answered_once_and_at_once(client: LspClient) -> None:
    call = client.ask("test/sleep", {"seconds": 30})
    await client.settle()
    started = time.monotonic()
    call.cancel()
    call.cancel()
    assert (await call.error()).code == -32800
    assert time.monotonic() - started < 2
    assert await client.request("test/log", {}) == ["cancelled"]
    call.cancel()  # it is answered already
    client.notify("$/cancelRequest", {"id": "never sent"})
    client.notify("$/cancelRequest", {})
    await alive(client)
    assert len(client.replies_to(call.id)) == 1


async def test_cancel_of_a_handler_that_does_not_listen(client: LspClient) -> None:
    call = client.ask("test/deaf", {})
    await asyncio.sleep(0.2)
    call.cancel()
    started = time.monotonic()
    assert (await call.error()).code == -32800
    assert time.monotonic() - started < 1.5
    await asyncio.sleep(2)  # its own result comes now, and is dropped
    await alive(client)
    assert len(client.replies_to(call.id)) == 1


async def test_cancel_before_the_handler_has_begun(client: LspClient) -> None:
    """Request and cancellation in one packet."""
    request = json.dumps({"jsonrpc": "2.0", "id": "c", "method": "test/sleep", "params": {"seconds": 30}}).encode()
    cancel = json.dumps({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "c"}}).encode()
    client.write(b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in (request, cancel)))
    found = await client.wait_for(lambda message: message.get("id") == "c", seconds=5)
    assert found["error"]["code"] == -32800


async def test_cancel_while_the_client_is_asked(client: LspClient) -> None:
    """The handler waits for an answer that the client gives only after it has cancelled."""
    client.answers["window/showMessageRequest"] = NO_ANSWER
    call = client.ask("test/ask", {})
    asked = await client.wait_for("window/showMessageRequest")
    call.cancel()
    assert (await call.error()).code == -32800
    withdrawn = await client.wait_for("$/cancelRequest")
    assert withdrawn["params"] == {"id": asked["id"]}
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "late"}})
    client.answers["window/showMessageRequest"] = {"title": "yes"}
    assert await client.request("test/ask", {}) == "yes"
    assert len(client.replies_to(call.id)) == 1


@pytest.mark.parametrize("answer", [error(-32601), {"title": 5}, ["not", "an", "item"]])
async def test_client_that_answers_badly(client: LspClient, answer: Any) -> None:
    client.answers["window/showMessageRequest"] = answer
    assert (await refused(client, "test/ask", {})).code in (-32603, -32602, -32601)


async def test_answer_without_a_question(client: LspClient) -> None:
    client.send({"jsonrpc": "2.0", "id": "nobody", "result": 1})
    client.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "the client did not understand"}})
    await alive(client)
    assert len(client.received) == 1


async def test_many_requests_wait_at_once(client: LspClient) -> None:
    """More than any pool of threads has."""
    calls = [client.ask("test/sleep", {"seconds": 0.5}) for _ in range(100)]
    started = time.monotonic()
    await alive(client)
    assert time.monotonic() - started < 0.4
    assert [await call.result() for call in calls] == ["slept"] * 100


async def test_client_that_does_not_read(mortal: LspClient) -> None:
    """Its answers wait in memory up to a bound; other work, and the end of the input, are not held up."""
    server = psutil.Process(mortal.process.pid)
    before = server.memory_info().rss
    mortal.pause_reading()
    calls = [mortal.ask("test/large", {"size": 20_000_000}) for _ in range(20)]  # 400 MB, more than may wait
    mortal.notify("test/plain", {})
    log = mortal.ask("test/log", {})
    await asyncio.sleep(3)
    assert server.memory_info().rss - before < 400_000_000
    mortal.resume_reading()
    outcomes = await asyncio.gather(*(call.result(60) for call in calls), return_exceptions=True)
    assert await log.result() == ["notified"]
    assert outcomes[0] == "x" * 20_000_000
    late = outcomes[-1]
    assert isinstance(late, ResponseError)
    assert late.code == -32603
    await alive(mortal)


async def test_end_of_input_while_the_client_does_not_read(mortal: LspClient) -> None:
    mortal.pause_reading()
    mortal.ask("test/large", {"size": 5_000_000})
    await asyncio.sleep(0.3)
    assert mortal.process.stdin
    mortal.process.stdin.close()
    async with asyncio.timeout(5):
        await asyncio.to_thread(psutil.Process(mortal.process.pid).wait, 5)
