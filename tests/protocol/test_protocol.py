"""The written protocol is the one that the server speaks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import referencing

from tvls.protocol import generate
from tvls.protocol import types as t
from tvls.protocol.errors import CODES, ErrorKind, TvlsError
from tvls.protocol.registry import METHODS

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

    def check(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tvls.protocol.generate", *arguments]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    assert check("--check").returncode == 0
    spec = root / "protocol" / "SPEC.md"
    spec.write_text(SPEC.replace("-33001", "-33999"), "utf-8")
    (root / "protocol" / "metaModel.json").unlink()
    drifted = check("--check")
    assert drifted.returncode == 1
    assert "SPEC.md" in drifted.stderr
    assert "metaModel.json" in drifted.stderr
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
