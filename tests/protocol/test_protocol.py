"""The written protocol is the one that the server speaks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import referencing
from lsprotocol import types as lsp

from tvls.capture import document
from tvls.protocol import generate
from tvls.protocol import types as t
from tvls.protocol.errors import CODES, ErrorKind, TvlsError
from tvls.protocol.registry import METHODS
from tvls.server.code_action import KINDS
from tvls.server.commands import COMMANDS
from tvls.server.main import build
from tvls.settings import LimitSettings, Settings

SPEC = (generate.ROOT / "SPEC.md").read_text("utf-8")
FIXTURES = sorted((generate.ROOT / "fixtures").rglob("*.json"))
TYPES = generate.types_schema()
REGISTRY = referencing.Registry().with_resource(  # type: ignore[var-annotated]
    "types.json", referencing.Resource.from_contents(TYPES)
)
SIDES = {method.name.replace("/", "."): {"params": method.params, "result": method.result} for method in METHODS}


def schema_of(kind: type) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"types.json#/$defs/{kind.__name__}"}, registry=REGISTRY)


def fixture_id(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def test_what_is_generated_is_up_to_date() -> None:
    for path, text in generate.generated(generate.ROOT).items():
        assert path.read_text("utf-8") == text, f"{path.name}: run python -m tvls.protocol.generate"


def test_check_fails_on_drift_and_writes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    shutil.copytree(generate.ROOT, root / "protocol")
    shutil.copytree(generate.ROOT.parent / "tvls", root / "tvls", ignore=shutil.ignore_patterns("__pycache__"))
    types = Path("clients", "canvas", "src", "protocol.ts")
    lua = Path("clients", "neovim", "lua", "tvls", "protocol.lua")
    for path in (types, lua):
        (root / path).parent.mkdir(parents=True)
        shutil.copy(generate.ROOT.parent / path, root / path)

    def check(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tvls.protocol.generate", *arguments]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    assert check("--check").returncode == 0
    spec = root / "protocol" / "SPEC.md"
    spec.write_text(SPEC.replace("-33001", "-33999"), "utf-8")
    (root / "protocol" / "metaModel.json").unlink()
    (root / types).write_text("export {};\n", "utf-8")
    (root / lua).write_text("---@meta\n", "utf-8")
    drifted = check("--check")
    assert drifted.returncode == 1
    assert "SPEC.md" in drifted.stderr
    assert "metaModel.json" in drifted.stderr
    assert "protocol.ts" in drifted.stderr
    assert "protocol.lua" in drifted.stderr
    assert "-33999" in spec.read_text("utf-8")
    assert check().returncode == 0
    assert check("--check").returncode == 0
    assert spec.read_text("utf-8") == SPEC
    assert check("--unknown").returncode == 2


def test_schemas_are_valid_schemas() -> None:
    for name in ("types", "methods", "capture"):
        jsonschema.Draft202012Validator.check_schema(
            json.loads((generate.ROOT / "schema" / f"{name}.json").read_text())
        )


def test_every_method_has_fixtures_of_each_kind() -> None:
    for method in SIDES:
        names = {path.stem for path in FIXTURES if path.parent.name == method}
        for side in ("params", "result"):
            assert any(name.startswith(f"{side}-valid-") for name in names), (method, side)
            assert any(name.startswith(f"{side}-invalid-") for name in names), (method, side)


@pytest.mark.parametrize("path", FIXTURES, ids=fixture_id)
def test_fixtures(path: Path) -> None:
    side, expected, _ = path.stem.split("-", 2)
    kind = SIDES[path.parent.name][side]
    payload: Any = json.loads(path.read_text("utf-8"))
    if expected == "invalid":
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(payload, kind)
        assert not schema_of(kind).is_valid(payload)
        return
    decoded = msgspec.convert(payload, kind)
    schema_of(kind).validate(payload)
    if "unknown-field" not in path.stem:
        # Nothing was ignored, and the server would write it the same way, without defaults and nulls.
        assert msgspec.to_builtins(decoded) == payload


def test_the_example_in_the_text_fits_its_type() -> None:
    examples = re.findall(r"<!-- example: (\w+) -->\n```json\n(.*?)\n```", SPEC, re.DOTALL)
    assert examples
    for name, text in examples:
        kind = getattr(t, name)
        payload = json.loads(text)
        assert msgspec.to_builtins(msgspec.convert(payload, kind)) == payload
        schema_of(kind).validate(payload)


def test_every_method_has_a_section_with_a_changelog() -> None:
    sections = re.split(r"^### ", SPEC, flags=re.MULTILINE)
    for method in METHODS:
        (section,) = [text for text in sections if text.startswith(method.name + "\n")]
        assert f"<!-- generated: {method.name} -->" in section
        assert "Changelog: 0.1" in section
        prose = section.split("<!--")[0].removeprefix(method.name).strip()
        assert len(prose) > 20


def test_every_generated_table_is_in_the_text() -> None:
    marked = re.findall(r"<!-- generated: (\S+) -->", SPEC)
    assert sorted(marked) == sorted(generate.spec_tables())


def test_links_in_the_method_table_lead_to_headings() -> None:
    headings = {re.sub(r"[^\w-]", "", line[4:].lower()) for line in SPEC.splitlines() if line.startswith("### ")}
    assert set(re.findall(r"\]\(#([^)]+)\)", SPEC)) <= headings


def test_error_kinds_and_codes() -> None:
    kinds = set(ErrorKind.__args__)  # type: ignore[attr-defined]
    assert kinds == set(CODES)
    assert len(set(CODES.values())) == len(CODES)
    assert all(code < -32899 for code in CODES.values())  # outside of JSON-RPC's and LSP's ranges
    for method in METHODS:
        assert set(method.errors) <= kinds


def test_an_error_travels_with_what_to_do_next() -> None:
    error = TvlsError("setupRequired", "x has no shape.", "Add it.", profiles=["a"])
    assert msgspec.to_builtins(error.data) == {"kind": "setupRequired", "nextStep": "Add it.", "profiles": ["a"]}
    assert error.code == CODES["setupRequired"]


def test_the_meta_model_is_closed() -> None:
    model = generate.meta_model()
    names = {structure["name"] for structure in model["structures"]} | {"LSPAny"}
    references: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if value.get("kind") == "reference":
                references.add(value["name"])
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(model)
    assert references <= names
    assert {request["method"] for request in model["requests"]} == {method.name for method in METHODS}
    assert all(property["name"] for structure in model["structures"] for property in structure["properties"])


def test_optional_fields_may_be_null_in_params_and_are_never_sent() -> None:
    params = msgspec.json.decode(b'{"captureId":"x","body":null,"cursor":null}', type=t.GraphViewParams)
    assert msgspec.json.encode(params) == b'{"captureId":"x"}'
    for bad in (b'{"captureId":"x","limit":null}', b'{"captureId":null}', b'{"captureId":"x","limit":1.5}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(bad, type=t.GraphViewParams)


def test_a_capture_and_a_failure_fit_their_schema() -> None:
    capture: dict[str, Any] = {
        "formatVersion": 1,
        "captureId": "sha256:00",
        "framework": "jax",
        "backend": "jaxpr",
        "versions": {"jax": "0.10.2"},
        "evidence": "inferred",
        "coverage": {"scope": "traced_program", "status": "complete", "reasons": []},
        "target": {"kind": "jax.function", "module": "model", "qualname": "net"},
        "setup": {"digest": "", "device": "cpu", "mode": "eval", "seed": 0, "static": {"args[0]": [1]}, "notes": []},
        "sources": [],
        "inputs": {"args": [{"list": [{"value": 0}]}], "kwargs": {}},
        "outputs": {"value": 0},
        "values": [{"role": "input", "shape": [2, 3], "dtype": "float32"}],
        "operations": [],
        "scopes": [{"id": "", "parent": None, "kind": "root"}],
        "frames": [],
        "observations": [],
        "bodies": [],
        "unavailable": {},
    }
    failure = {
        key: capture[key] for key in ("formatVersion", "framework", "versions", "target", "sources", "observations")
    }
    failure["failure"] = {"kind": "exception", "type": "E", "message": "", "frames": [], "phase": "trace"}
    schema = jsonschema.Draft202012Validator(json.loads((generate.ROOT / "schema" / "capture.json").read_text()))
    schema.validate(capture)
    schema.validate(failure)
    for wrong in (
        {"evidence": "guessed"},
        {"values": [{"role": "weight", "shape": [], "dtype": "f"}]},
        {"scopes": None},
    ):
        assert not schema.is_valid({**capture, **wrong})
    assert not schema.is_valid({**failure, "failure": {}})


# --- the text --------------------------------------------------------------------------------------------------------


def test_examples_are_compact() -> None:
    assert generate.compact([2, 3]) == "[2, 3]"
    assert generate.compact({}) == "{}"
    wide = {"shape": [2, 3], "names": ["n" * 40] * 4}
    assert generate.compact(wide, width=60).splitlines() == [
        "{",
        '  "shape": [2, 3],',
        '  "names": [',
        *(f'    "{"n" * 40}"{"," if at < 3 else ""}' for at in range(4)),
        "  ]",
        "}",
    ]
    for method in METHODS:
        for side in ("params", "result"):
            text = generate.example(method, side)  # type: ignore[arg-type]
            path = generate.ROOT / "fixtures" / method.name.replace("/", ".") / f"{side}-valid-example.json"
            assert json.loads(text) == json.loads(path.read_text("utf-8"))
            assert max(map(len, text.splitlines())) <= 120


def rows(heading: str) -> dict[str, list[str]]:
    """Cells of a table of fields or words, by the first one."""
    after = SPEC[SPEC.index(heading) + len(heading) :]
    table = after[after.index("| --- ") :].split("\n\n")[0].splitlines()[1:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
    return {name: more for first, *more in cells for name in re.findall(r"`([^`]+)`", first)}


def test_tables_tell_the_default_of_every_field() -> None:
    view = rows("Params: `GraphViewParams`")
    assert {name: cells[1] for name, cells in view.items()} == {
        "captureId": "always there",
        "expanded": "`[]`",
        "body": "optional",
        "fold": "`false`",
        "instances": "`{}`",
        "hide": "`[]`",
        "structures": "`false`",
        "cursor": "optional",
        "limit": "`200`",
    }
    assert rows("### TargetInfo")["state"][1] == '`"noSetup"`'
    assert rows("### InlineSetup")["init"][1] == "`{}`"
    assert rows("### MissingValue")["required"][1] == "`true`"
    assert rows("### OperandInfo")["literal"][1] == "optional"
    assert rows("### Coverage")["counts"][1] == "optional"


def test_the_words_of_open_lists_are_those_that_exist() -> None:
    literals = {
        "**scopeKind**": document.ScopeKind,
        "**role**": document.ValueRole,
        "**state**": t.TargetState,
    }
    for heading, literal in literals.items():
        assert set(rows(heading)) == set(literal.__args__), heading  # type: ignore[attr-defined]
    scope = generate.capture_schema()["$defs"]["Scope"]["properties"]
    assert set(rows("**scopeEvidence**")) == set(scope["evidence"]["enum"])
    source = "".join(path.read_text("utf-8") for path in (generate.ROOT.parent / "tvls" / "worker").rglob("*.py"))
    for heading in ("**opaque**", "**coverage.reasons**", "**notes**"):
        for word in rows(heading):
            assert re.search(rf"[\"']{word.split(':')[0]}[:\"']", source), word  # some worker says it


def test_every_command_and_setting_is_in_the_text() -> None:
    assert set(rows("## Commands")) >= set(COMMANDS)
    settings = {field.encode_name for field in msgspec.structs.fields(Settings)}
    assert set(rows("## Settings")) == settings
    limits = rows("## Settings")["limits"][0]
    assert {field.encode_name for field in msgspec.structs.fields(LimitSettings)} == set(re.findall(r"`(\w+)`", limits))


def test_every_method_of_lsp_that_is_used_is_in_the_text() -> None:
    section = SPEC.split("## Standard LSP")[1].split("\n## ")[0]
    told: list[str] = []
    for row in section.splitlines():
        for name in re.findall(r"`([^`]+)`", row.split(" | ")[0]):
            short = "/" not in name and told and name not in ("initialize", "initialized", "shutdown", "exit")
            told.append(
                f"{told[-1].rpartition('/')[0]}/{name}" if short else name.replace("…", told[-1] if told else "")
            )
    protocol = build(lambda *_: pytest.fail("no session is made")).protocol
    handled = {*protocol.requests, *protocol.notifications} - {method.name for method in METHODS}
    source = "".join(path.read_text("utf-8") for path in (generate.ROOT.parent / "tvls" / "server").glob("*.py"))
    sent = {name for name in lsp.METHOD_TO_TYPES if re.search(rf"\.client\.{snake(name)}(_async)?\(", source)}
    assert {"window/showDocument", "workspace/applyEdit"} < sent
    assert handled | sent | {"$/progress", "exit"} == set(told)
    assert set(KINDS) == set(re.findall(r"`(source\.tvls\.\w+)`", section))
    (commands,) = [row for row in section.splitlines() if row.startswith("| `workspace/executeCommand` |")]
    assert set(COMMANDS) == {f"tvls.server.{word}" for word in re.findall(r"\.(\w+)`", commands)}


def snake(method: str) -> str:
    """As pygls names what it sends."""
    return re.sub("([A-Z])", r"_\1", method).lower().replace("/", "_")


# --- the session -----------------------------------------------------------------------------------------------------

ADA = "/home/ada/net"


def session() -> list[tuple[str, Any]]:
    """Messages of the session in SPEC.md, each with its arrow."""
    text = SPEC.split("<!-- session -->\n```text\n")[1].split("\n```\n<!-- /session -->")[0]
    return [(entry[0], json.loads(entry[1:])) for entry in re.split(r"^(?=[→←] )", text, flags=re.MULTILINE) if entry]


def session_file() -> str:
    return SPEC.split("## A session")[1].split("```python\n")[1].split("```")[0]


def test_messages_of_the_session_fit_their_types() -> None:
    methods = {method.name: method for method in METHODS}
    asked: dict[Any, str] = {}
    answered: set[Any] = set()
    for arrow, message in session():
        if arrow == "→" and "method" in message and "id" in message:
            asked[message["id"]] = message["method"]
        method = methods.get(message.get("method") or asked.get(message.get("id"), ""))
        if arrow == "←" and "method" not in message:
            assert message["id"] in asked
            answered.add(message["id"])
            if "error" in message:
                assert message["error"]["code"] == CODES[message["error"]["data"]["kind"]]
                schema_of(t.ErrorData).validate(message["error"]["data"])
        if method is not None and "error" not in message:
            kind, payload = (
                (method.params, message["params"]) if "method" in message else (method.result, message["result"])
            )
            msgspec.convert(payload, kind)
            schema_of(kind).validate(payload)
    assert answered == set(asked)


def test_the_server_answers_as_the_session_says(tmp_path: Path, models_python: str) -> None:
    """Sends what the client sends and waits for what the server sends, which may say more."""
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "model.py").write_text(session_file(), "utf-8")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "tvls", "serve"]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    assert server.stdin is not None
    assert server.stdout is not None
    guard = threading.Timer(120, server.kill)
    guard.start()
    capture: dict[str, str] = {}

    def real(message: Any) -> Any:
        text = json.dumps(message).replace(f"{ADA}/.venv/bin/python", models_python).replace(ADA, str(folder))
        for written, found in capture.items():
            text = text.replace(written, found)
        return json.loads(text)

    try:
        for arrow, written in session():
            if arrow == "→":
                body = json.dumps({"jsonrpc": "2.0", **real(written)}).encode()
                server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                server.stdin.flush()
                continue
            size = 0
            while header := server.stdout.readline().strip():
                name, _, number = header.partition(b":")
                size = int(number) if name.lower() == b"content-length" else size
            assert size, f"the server ended, or was too slow, before {str(written)[:200]}"
            found = json.loads(server.stdout.read(size))
            opened = written.get("result") and written["result"].get("capture")
            if opened:
                capture[opened["captureId"]] = found["result"]["capture"]["captureId"]
            expected = real(written)
            if opened:
                del expected["result"]["capture"]["versions"]
            assert_says(found, expected, "")
        assert server.wait(30) == 0
    finally:
        guard.cancel()
        server.kill()
        server.wait()


def assert_says(found: Any, written: Any, place: str) -> None:
    """All of `written` is in `found`; lists of methods and frames may go on."""
    if isinstance(written, dict):
        for key, value in written.items():
            assert key in found, f"{place}.{key}"
            assert_says(found[key], value, f"{place}.{key}")
    elif isinstance(written, list):
        if not place.endswith((".methods", ".frames")):
            assert len(found) == len(written), place
        for at, value in enumerate(written):
            assert_says(found[at], value, f"{place}[{at}]")
    else:
        assert found == written, place
