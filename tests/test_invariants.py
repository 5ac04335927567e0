"""Invariants of docs/architecture.md that concern the program as a whole."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.lsp.client import LspClient
from tests.worker_jax.batches import documents, request
from tvls.capture.encoding import capture_id

PACKAGE = REPOSITORY / "tvls"
FOREIGN = ("jaxlib", "libcst", "torch", "numpy", "flax")
MODEL = """\
import os
import sys

import jax

import helper

with open(os.path.join(os.path.dirname(__file__), "imported"), "a") as told:
    told.write(f"{os.getpid()}\\n")


@jax.jit
def net(x):
    return helper.twice(x) + 1


@jax.jit
def looping(x):
    return jax.lax.scan(lambda c, _: (c * 2, c), x, None, length=3)


@jax.jit
def failing(x):
    return x @ x[:1]
"""
SETUP = {"inputs": {"args": [{"kind": "tensor", "shape": [2], "dtype": "float32"}]}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "model.py").write_text(MODEL)
    (root / "helper.py").write_text("def twice(x):\n    return x * 2\n")
    return root


def target(folder: Path, name: str = "net") -> dict[str, str]:
    return {"uri": (folder / "model.py").as_uri(), "name": name}


async def exported(client: LspClient, capture: str) -> str:
    return (await client.request("tvls/graph/export", {"captureId": capture, "format": "json"}))["text"]


async def test_the_daemon_holds_no_library_and_no_module_of_the_workspace(
    folder: Path, models_python: str
) -> None:  # invariant 1
    """What a process maps into memory tells which compiled libraries it has, whatever its modules say."""
    options = {"interpreter": models_python, "trustedFolders": [folder.as_uri()]}
    async with LspClient.start(cwd=folder) as client:
        await client.initialize({}, [folder], options)
        client.open(folder / "model.py")
        await client.request("tvls/graph/open", {"target": target(folder), "setup": SETUP})
        await client.request("tvls/target/preview", {"target": target(folder)})
        await client.request("tvls/setup/draft", {"target": target(folder)})
        assert await client.hover((folder / "model.py").as_uri(), 13, 11)
        maps = Path(f"/proc/{client.process.pid}/maps").read_text()  # noqa: ASYNC240 (no disk)
        assert "msgspec" in maps  # the daemon's own compiled library shows that the check can see one
        assert not [name for name in FOREIGN if f"/{name}/" in maps]
        importers = (folder / "imported").read_text().split()
        assert len(importers) == 1
        assert str(client.process.pid) not in importers
        await client.shut_down()


def test_the_daemon_imports_none_of_them() -> None:  # invariant 1
    code = "import sys, tvls.server.main, tvls.session, tvls.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "tvls.session" in loaded
    assert not {"jax", "flax", "torch", "libcst", "numpy", "tvls.worker.trace"} & set(loaded)


@pytest.mark.parametrize("part", ["worker", "capture"])
def test_the_worker_imports_the_standard_library_and_itself(part: str) -> None:  # invariant 2
    files = sorted((PACKAGE / part).rglob("*.py"))
    assert files
    foreign: list[str] = []
    for file in files:
        ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 10))
        for name in imports(file):
            ours = name.startswith(("tvls.worker", "tvls.capture"))
            if name.partition(".")[0] not in sys.stdlib_module_names and not ours:
                foreign.append(f"{file.relative_to(PACKAGE)}: {name}")
    assert foreign == []


async def test_a_capture_stays_what_it_is_while_its_source_changes(
    folder: Path, models_python: str
) -> None:  # invariant 3
    options = {"interpreter": models_python, "trustedFolders": [folder.as_uri()]}
    async with LspClient.start() as client:
        await client.initialize({}, [folder], options)
        uri = client.open(folder / "model.py")
        opened = await client.request("tvls/graph/open", {"target": target(folder), "setup": SETUP})
        capture = opened["capture"]["captureId"]
        text = await exported(client, capture)
        document = json.loads(text)
        assert capture == document["captureId"] == capture_id(document)
        assert "freshness" not in document
        client.change(uri, MODEL.replace("+ 1", "+ 2"))
        assert (await client.request("tvls/graph/info", {"captureId": capture}))["freshness"] == "stale"
        assert await exported(client, capture) == text
        client.change(uri, MODEL)
        again = await client.request("tvls/graph/open", {"target": target(folder), "setup": SETUP, "refresh": True})
        assert again["capture"]["captureId"] == capture, "equal content has one identity"
        await client.shut_down()


async def test_a_capture_claims_what_was_traced(folder: Path, models_python: str) -> None:  # invariant 4
    options = {"interpreter": models_python, "trustedFolders": [folder.as_uri()]}
    async with LspClient.start() as client:
        await client.initialize({}, [folder], options)
        opened = await client.request("tvls/graph/open", {"target": target(folder, "looping"), "setup": SETUP})
        document = json.loads(await exported(client, opened["capture"]["captureId"]))
        assert (document["evidence"], document["backend"]) == ("inferred", "jaxpr")
        assert not {"statistics", "storage", "bytes"} & {key for value in document["values"] for key in value}
        assert document["coverage"]["status"] == "partial"
        assert document["coverage"]["reasons"] == ["opaque_kernel"]
        assert [operation["primitive"] for operation in document["operations"]] == ["scan"]
        await client.ask("tvls/graph/open", {"target": target(folder, "failing"), "setup": SETUP}).error()
        assert (await client.request("tvls/server/status", {}))["captures"] == 1
        await client.shut_down()


def test_what_ran_is_measured(torch_python: str, tmp_path: Path) -> None:  # invariant 4
    (tmp_path / "nets.py").write_text("from torch import nn\n\n\nclass Net(nn.ReLU):\n    pass\n")
    asked = request(
        tmp_path,
        "nets",
        "Net",
        SETUP["inputs"]["args"],
        kind="torch.module",
        framework="torch",
        measure=["output_bytes"],
    )
    document = documents(torch_python, {"net": asked})["net"]
    assert document["evidence"] == "measured"
    assert document["backend"] != "jaxpr"
    assert [value["bytes"] for value in document["values"] if "bytes" in value] == [8]


async def test_nothing_of_a_workspace_runs_before_trust(folder: Path) -> None:  # invariant 5
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ntouch '{folder / 'started'}'\n")
    python.chmod(0o755)
    (folder / ".venv" / "pyvenv.cfg").write_text("version = 3.12.4\n")
    (folder / "tensorviz.toml").write_text(
        'version = 1\n[profiles.p]\nframework = "jax"\nmodel = "model:net"\n'
        'inputs = { factory = { file = "model.py", callable = "net" } }\n'
    )
    before = everything(folder)
    async with LspClient.start(cwd=folder) as client:
        await client.initialize({}, [folder])
        uri = client.open(folder / "model.py")
        setup = client.open(folder / "tensorviz.toml", language="toml")
        document = {"textDocument": {"uri": uri}}
        place = {"line": 13, "character": 11}
        for method, params in (
            ("textDocument/codeLens", document),
            ("textDocument/codeAction", {**document, "range": {"start": place, "end": place}, "context": NOTHING}),
            ("textDocument/hover", {**document, "position": place}),
            ("textDocument/codeLens", {"textDocument": {"uri": setup}}),
            ("textDocument/completion", {"textDocument": {"uri": setup}, "position": {"line": 4, "character": 0}}),
            ("workspace/symbol", {"query": ""}),
            ("tvls/targets/list", {}),
            ("tvls/target/preview", {"target": target(folder)}),
            ("tvls/setup/draft", {"target": target(folder)}),
            ("tvls/environment/list", {}),
            ("tvls/environment/select", {"command": [str(python)]}),
            ("tvls/server/debugInfo", {}),
        ):
            await client.request(method, params)
        for method, params in (
            ("tvls/graph/open", {"target": target(folder)}),
            ("tvls/environment/probe", {}),
            ("tvls/environment/plan", {"requirements": ["jax"]}),
        ):
            assert (await client.ask(method, params).error()).data["kind"] == "notTrusted"
        await client.shut_down()
    assert everything(folder) == before


NOTHING: dict[str, Any] = {"diagnostics": []}


def everything(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_the_wire_types_are_defined_once() -> None:  # invariant 6
    """What clients, schema and SPEC.md say is generated, and no structure of the wire is defined elsewhere."""
    command = [sys.executable, "-m", "tvls.protocol.generate", "--check"]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    marks = {"TypedDict": PACKAGE / "capture" / "document.py", "Wire": PACKAGE / "protocol" / "types"}
    stray = [
        f"{file.relative_to(PACKAGE)}: {node.name}"
        for part in ("capture", "worker", "protocol", "graph", "analysis", "setup", "environments", "tracing", "canvas")
        for file in sorted((PACKAGE / part).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if (mark := marks.get(ast.unparse(base).rpartition(".")[2])) and not str(file).startswith(str(mark))
    ]
    assert stray == []


def imports(file: Path) -> Iterator[str]:
    """Full names of the modules that a file imports, however it spells them."""
    package = ["tvls", *file.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)  # it may be a module, too


LAYERS = (
    ("capture", "reading", "printable", "common_ends"),
    ("worker", "protocol"),
    ("analysis", "setup", "environments", "tracing", "graph", "trust", "freshness", "userstate", "uris", "settings"),
    ("session", "canvas.file", "canvas.files"),  # and every module of the top level that stands nowhere else
    ("canvas",),
    ("server",),
    ("commands",),
    ("cli", "__main__"),
)


def layer(module: str) -> int:
    """Of a module of the package, by its name without `tvls.`."""
    ranks = {name: rank for rank, names in enumerate(LAYERS) for name in names}
    top, _, rest = module.partition(".")
    return ranks.get(f"{top}.{rest.partition('.')[0]}", ranks.get(top, ranks["session"]))


def test_dependencies_point_downwards() -> None:
    """A layer never imports one above it."""
    wrong: list[str] = []
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        if parts == ("__init__",):
            continue
        module = ".".join(parts)
        for name in imports(file):
            other = name.removeprefix("tvls.")
            if other != name and layer(other) > layer(module):
                wrong.append(f"{module} imports {other}")
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import tvls.session", "tvls.session"),
        ("from tvls import session", "tvls.session"),
        ("from tvls.session import Session", "tvls.session"),
        ("from .. import session", "tvls.session"),
        ("from ..session import Session", "tvls.session"),
        ("def later():\n    import tvls.session as s", "tvls.session"),
    ],
)
def test_an_import_is_seen_in_any_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, name: str
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    file = tmp_path / "graph" / "new.py"
    file.parent.mkdir()
    file.write_text(line)
    assert name in set(imports(file))
