"""Invariants of docs/architecture.md that concern the program as a whole."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.lsp.client import LspClient

PACKAGE = REPOSITORY / "tvls"
FOREIGN = ("jaxlib", "libcst", "torch", "numpy", "flax")


async def test_the_daemon_holds_no_library(tmp_path: Path, models_python: str) -> None:  # invariant 1
    """What a process maps into memory tells which compiled libraries it has, whatever its modules say."""
    (tmp_path / "model.py").write_text("import jax\n\n@jax.jit\ndef net(x):\n    return x + 1\n")
    options = {"interpreter": models_python, "trustedFolders": [tmp_path.as_uri()]}
    async with LspClient.start() as client:
        await client.initialize({}, [tmp_path], options)
        target = {"uri": (tmp_path / "model.py").as_uri(), "name": "net"}
        inputs = {"args": [{"kind": "tensor", "shape": [2], "dtype": "float32"}]}
        await client.request("tvls/graph/open", {"target": target, "setup": {"inputs": inputs}})
        maps = Path(f"/proc/{client.process.pid}/maps").read_text()  # noqa: ASYNC240 (no disk)
        assert "msgspec" in maps  # the daemon's own compiled library shows that the check can see one
        assert not [name for name in FOREIGN if f"/{name}/" in maps]
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
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                top = name.partition(".")[0]
                ours = name.startswith(("tvls.worker", "tvls.capture"))
                if top not in sys.stdlib_module_names and not ours:
                    foreign.append(f"{file.relative_to(PACKAGE)}: {name}")
    assert foreign == []


def test_dependencies_point_downwards() -> None:
    """A layer never imports one above it."""
    layers = [
        ["capture"],
        ["worker", "protocol"],
        ["analysis", "setup", "environments", "tracing", "graph"],
        ["canvas"],
        ["server"],
    ]
    rank = {name: level for level, names in enumerate(layers) for name in names}
    wrong: list[str] = []
    for file in sorted(PACKAGE.rglob("*.py")):
        part = file.relative_to(PACKAGE).parts[0]
        if part not in rank:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tvls."):
                other = node.module.split(".")[1]
                if rank.get(other, -1) > rank[part]:
                    wrong.append(f"{file.relative_to(PACKAGE)} imports {node.module}")
    assert wrong == []
