"""The tool that checks servers and clients: ours passes, and each check fails where it should. Promise: R28."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.protocol.broken_server import ANSWERS, ASKED
from tvls.protocol.conformance import __main__ as tool
from tvls.protocol.conformance import replay, transcript
from tvls.protocol.conformance.connection import Connection, Fault
from tvls.protocol.conformance.transcript import Json, Line, Transcript, difference, fill

ROOT = Path(__file__).resolve().parents[2]
TRANSCRIPTS = sorted((ROOT / "protocol" / "transcripts").glob("*.jsonl"))
SERVE = f"{sys.executable} -m tvls serve"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}

BROKEN = {
    "twice": "one answer",
    "silent": "bad params",
    "internal error for bad params": "bad params",
    "a result for unknown methods": "unknown methods",
    "another code before initialize": "before initialize",
    "no word of its methods": "handshake",
    "always utf-8": "position encodings",
    "always 21 units": "position encodings",
    "a number for a name": "good params",
    "null for absent": "good params",
    "an unknown word for a state": "good params",
    "code of another kind": "captures that are gone",
    "kind of another method": "good params",
    "unknown kind": "good params",
    "ids as text": "ids",
    "trusts everybody": "nothing runs before trust",
    "runs code": "nothing runs before trust",
    "notices that nobody asked for": "only what was announced",
    "questions that nobody can answer": "only what was announced",
    "prints": "handshake",
    "NaN": "handshake",
    "lively after shutdown": "shutting down",
    "strict about fields": "newer clients",
    "blind to buffers": "unsaved text",
    "deaf before initialized": "before initialized",
    "answers no cancelled request": "cancelling",
    "stays": "leaving",
    "another exit code": "shutting down",
}
"""Fault of a server → the rule that finds it."""
WAITED_FOR = {"silent", "ids as text", "answers no cancelled request", "stays"}
"""Faults that are seen only by waiting for what does not come."""
NEEDED_BEFORE = {"one answer": "shutting down", "only what was announced": "shutting down"}
"""Rules about all messages look at those of other rules."""


pytestmark = pytest.mark.timeout(400)  # dozens of servers are started


def conformance(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tvls.protocol.conformance", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)


def test_ours_conforms(models_python: str) -> None:
    done = conformance("--server", SERVE, "--python", models_python, "--seconds", "60")
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("ok ")] == [], done.stdout
    assert len(lines) == len(tool.rules.RULES) + len(TRANSCRIPTS)
    assert done.returncode == 0


def test_there_is_a_fault_for_every_rule() -> None:
    assert set(BROKEN) == {*ANSWERS, *ASKED, "stays", "another exit code"} - {"none"}
    assert set(BROKEN.values()) == {rule.__name__.replace("_", " ") for rule in tool.rules.RULES}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_server_is_found(fault: str, tmp_path: Path) -> None:
    rule = BROKEN[fault]
    command = [sys.executable, "-m", "tests.protocol.broken_server", fault]
    seconds = 5 if fault in WAITED_FOR else 60
    bench = tool.rules.Bench(
        lambda folder: Connection(command, folder, {**ENVIRONMENT, "XDG_STATE_HOME": str(tmp_path)}, seconds),
        tool.ROOT / "fixtures",
    )
    by_name = {each.__name__.replace("_", " "): each for each in tool.rules.RULES}
    if rule in NEEDED_BEFORE:
        by_name[NEEDED_BEFORE[rule]](bench)
    with pytest.raises(Fault) as found:
        by_name[rule](bench)
    assert str(found.value)


def test_the_stand_in_for_broken_servers_is_whole_without_a_fault() -> None:
    """So it is the fault that is found above, and not the stand-in."""
    done = conformance(
        "--server", f"{sys.executable} -m tests.protocol.broken_server none", "--seconds", "60", "--only", "params"
    )
    assert done.stdout == "ok    bad params\nok    good params\n"


def test_without_a_python_transcripts_that_trace_are_named_and_not_run() -> None:
    done = conformance("--server", SERVE, "--only", "stale")
    assert done.stdout == "skip  transcript stale: it traces, and no --python was given\n"


def test_a_command_that_is_no_server() -> None:
    done = conformance("--server", "true", "--only", "handshake", "--seconds", "10")
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL  handshake: the server ")
    missing = conformance("--server", "/nonexistent/tvls", "--only", "handshake")
    assert missing.returncode == 2
    assert "/nonexistent/tvls" in missing.stderr


# --- transcripts, played by the fake server and to it ----------------------------------------------------------------


def play(written: Transcript, served: Transcript, folder: Path) -> None:
    """Plays one transcript's client to the other one's server."""
    path = folder / f"{served.name}.jsonl"
    transcript.write(path, served)
    command = [sys.executable, "-m", "tvls.protocol.conformance", "--fake-server", str(path)]
    connection = Connection(command, folder, ENVIRONMENT, 10)
    try:
        replay.replay(written, connection, replay.known(folder, "/usr/bin/python3"), seconds=15)
        assert connection.wait_ended() == 0
    finally:
        connection.close()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_the_fake_server_plays_what_was_recorded(path: Path, tmp_path: Path) -> None:
    written = transcript.read(path)
    play(written, written, tmp_path)


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of what a server says literally."""
    if isinstance(value, dict) and "$any" not in value:
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from leaves(inner, (*place, at))
    elif not isinstance(value, dict) and place not in (("id",), ("method",)):
        yield place


def changed(message: Json, place: tuple[Any, ...]) -> Json:
    message = copy.deepcopy(message)
    inner: Any = message
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = ["changed"]
    return message


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_every_word_of_a_transcript_counts(path: Path) -> None:
    """Whatever a server says otherwise is a difference, at its place."""
    written = transcript.read(path)
    count = 0
    for line in written.lines:
        if line.side == "server":
            variables = {"folder": "file:///w", "folderPath": "/w", "python": "/p", **written.examples}
            assert difference(line.message, fill(line.message, variables), dict(variables)) is None
            for place in leaves(line.message):
                fault = difference(line.message, fill(changed(line.message, place), variables), dict(variables))
                assert fault is not None, place
                count += 1
    assert count > 20


def without(written: Transcript, at: int) -> Transcript:
    lines = [line for number, line in enumerate(written.lines) if number != at]
    return Transcript(written.name, written.about, lines, written.files, written.tracing, written.examples)


def test_what_a_server_says_too_much_or_not_at_all(tmp_path: Path) -> None:
    written = transcript.read(ROOT / "protocol" / "transcripts" / "minimal.jsonl")
    at = next(number for number, line in enumerate(written.lines) if line.message.get("id") == 5)
    lines = list(written.lines)
    lines.insert(at + 2, Line("server", {"id": "q", "method": "workspace/configuration", "params": {}}))
    chatty = Transcript(written.name, written.about, lines, examples=written.examples)
    with pytest.raises(Fault, match="also sent"):
        play(written, chatty, tmp_path)
    with pytest.raises(Fault, match=r"ended|did not come"):
        play(written, without(written, at + 1), tmp_path)


def fake(path: Path | None, messages: list[Json]) -> tuple[list[Json], subprocess.CompletedProcess[bytes]]:
    """What the fake server answers to a client that says all this."""
    command = [sys.executable, "-m", "tvls.protocol.conformance", "--fake-server", *([str(path)] if path else [])]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    done = subprocess.run(command, input=sent, capture_output=True, check=False, env=ENVIRONMENT)
    parts = done.stdout.split(b"Content-Length: ")[1:]
    return [json.loads(part.partition(b"\r\n\r\n")[2]) for part in parts], done


def test_a_client_that_leaves_the_transcript_is_told() -> None:
    path = ROOT / "protocol" / "transcripts" / "minimal.jsonl"
    hello: list[Json] = [
        {"id": "a", "method": "initialize", "params": {"rootUri": "file:///w", "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///other/model.py"}}},
    ]
    answers, done = fake(path, hello)
    assert answers[0]["id"] == "a"
    assert done.returncode == 1
    assert "textDocument/didOpen: params.textDocument.uri" in done.stderr.decode()
    assert "the client never sent: textDocument/didOpen, textDocument/codeLens" in done.stderr.decode()


def test_the_fake_server_answers_from_the_fixtures() -> None:
    capture = "sha256:9f2c1e0b7a5d4c3e8f6a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60"
    answers, done = fake(
        None,
        [
            {"id": 1, "method": "initialize", "params": {"rootUri": "file:///w", "capabilities": {}}},
            {"id": 2, "method": "tvls/targets/list", "params": {}},
            {"id": 3, "method": "tvls/graph/view", "params": {"captureId": capture}},
            {"id": 4, "method": "tvls/graph/view", "params": {"captureId": "another"}},
            {"id": 5, "method": "tvls/graph/view", "params": {"captureId": 5}},
            {"id": 6, "method": "textDocument/codeLens", "params": {"textDocument": {"uri": "file:///w/a.py"}}},
            {"id": 7, "method": "no/such"},
            {"id": 8, "method": "shutdown"},
            {"method": "exit"},
        ],
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert answers[1]["result"]["targets"][0]["uri"] == "file:///w/model.py"
    assert len(answers[2]["result"]["nodes"]) == 4
    assert [answer["error"]["code"] for answer in answers if "error" in answer] == [-33011, -32602, -32601]
    assert answers[5]["result"][0]["command"]["arguments"] == [{"uri": "file:///w/a.py", "name": "MLP"}]


def test_recording_fills_in_what_a_server_says(tmp_path: Path) -> None:
    original = transcript.read(ROOT / "protocol" / "transcripts" / "minimal.jsonl")
    asked = [line for line in original.lines if line.side == "client"]
    path = tmp_path / "minimal.jsonl"
    transcript.write(path, Transcript(original.name, original.about, asked, original.files))
    done = conformance("--record", str(path), "--server", SERVE, "--seconds", "60")
    assert done.returncode == 0, done.stderr
    recorded = transcript.read(path)
    assert recorded.lines == original.lines


@pytest.mark.parametrize(
    "text", ["", '{"files": {}}\n', '{"about": "x"}\n{"from": "nobody", "message": {}}\n', '{"about": "x"}\nno json\n']
)
def test_a_file_that_is_no_transcript(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(text)
    done = conformance("--fake-server", str(path))
    assert done.returncode == 2
    assert "broken.jsonl" in done.stderr


# --- patterns --------------------------------------------------------------------------------------------------------


def test_variables_bind_once() -> None:
    variables: dict[str, str] = {}
    written = {"a": "${x}", "b": "${x}/${y}.py", "c": {"$any": "number"}, "d": {"$begin": [1]}}
    assert difference(written, {"a": "u", "b": "u/v.py", "c": 1, "d": [1, 2], "more": 0}, variables) is None
    assert variables == {"x": "u", "y": "v"}
    assert difference({"a": "${x}"}, {"a": "w"}, variables) == '.a is "w" where "u" was expected'
    assert difference({"c": {"$any": "number"}}, {"c": True}, {}) == ".c is no number: true"
    assert difference({"d": {"$begin": [1, 2]}}, {"d": [1]}, {}) is not None
    assert difference([1], [1, 2], {}) is not None
    assert difference(1, True, {}) is not None
    assert difference(None, 0, {}) is not None
