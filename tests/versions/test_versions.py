"""Every version that is promised, each as a selected interpreter of one daemon, by real captures of real models."""

from __future__ import annotations

import asyncio
import json
import subprocess
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import LspClient
from tests.lsp.profiles import NEOVIM
from tests.versions.environments import ROWS, Row, find_python
from tests.worker_jax import cases, checker
from tvls.environments.probe import Environment, probe
from tvls.protocol.types import WorkerStatus
from tvls.tracing.pool import WorkerPool

pytestmark = pytest.mark.timeout(900)

HERE = Path(__file__).parent
MODELS = HERE.parent / "worker_jax" / "models"


@dataclass
class Answers:
    """What one environment gave."""

    environment: Environment
    documents: dict[str, Any]
    references: dict[str, Any]
    before: WorkerStatus
    """Its warm worker before the first trace, and after the last."""
    after: WorkerStatus


def _params() -> Iterator[Any]:
    for row in ROWS:
        reason = f"no Python {' or '.join(row.pythons)} on this machine"
        yield pytest.param(row, id=row.name, marks=pytest.mark.skipif(find_python(row) is None, reason=reason))


each_version = pytest.mark.parametrize("row", list(_params()))


def python_of(row: Row) -> str:
    if not row.made():
        pytest.fail(f"{row.folder.name} is not there, or has other requirements: run `make versions`")
    return str(row.python)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answers]:
    """By name of the environment. One pool, which is what a daemon has, traces in all of them, in turn by case."""
    rows = [row for row in ROWS if find_python(row) is not None]
    pythons = {row.name: python_of(row) for row in rows}
    found = asyncio.run(_captured(pythons))
    for name, python in pythons.items():
        out = tmp_path_factory.mktemp(name) / "references.json"
        command = [python, "-B", str(HERE / "references.py"), str(out)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        assert ran.returncode == 0, ran.stderr[-3000:]
        found[name].references = json.loads(out.read_text())
    return found


async def _captured(pythons: dict[str, str]) -> dict[str, Answers]:
    pool = WorkerPool()
    try:
        found: dict[str, Answers] = {}
        for name, python in pythons.items():
            environment = await probe([python], str(MODELS))
            await pool.prewarm(environment, "jax")
            status = _status(pool, python)
            found[name] = Answers(environment, {}, {}, status, status)

        async def trace(name: str, case_name: str, request: dict[str, Any]) -> None:
            environment = found[name].environment
            found[name].documents[case_name] = await pool.trace(environment, request, on_progress=lambda phase: None)

        await asyncio.gather(*(trace(name, *request) for request in _requests() for name in pythons))
        for name, python in pythons.items():
            found[name].after = _status(pool, python)
        return found
    finally:
        await pool.aclose()


def _status(pool: WorkerPool, python: str) -> WorkerStatus:
    (status,) = [status for status in pool.status() if python in status.interpreter]
    return status


def _requests() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, case in cases.CASES.items():
        yield name, _request(case, {}, "cpu")
    for name, fault in cases.FAULTS.items():
        yield name, _request(fault.case, fault.limits, fault.device)


def _request(case: cases.Case, limits: dict[str, Any], device: str) -> dict[str, Any]:
    path = f"{case.module}.py"
    return {
        "workspace": str(MODELS),
        "sysPath": [str(MODELS)],
        "target": {"kind": case.kind, "module": case.module, "qualname": case.qualname, "path": path, "line": 1},
        "setup": {**case.setup, "device": device},
        "limits": limits,
    }


@each_version
def test_versions_are_what_was_selected(answers: dict[str, Answers], row: Row) -> None:
    # R14, R30
    found = answers[row.name]
    wanted = {library: row.pinned(library) for library in ("jax", "jaxlib", "flax")}
    assert {library: found.environment.libraries[library] for library in wanted} == wanted
    assert found.environment.python.rpartition(".")[0] in row.pythons
    for name, document in found.documents.items():
        assert document["versions"] == {"python": found.environment.python, **wanted}, name


@each_version
@pytest.mark.parametrize("name", list(cases.CASES))
def test_captures_equal_the_jaxpr(answers: dict[str, Answers], row: Row, name: str) -> None:
    # R14, R15, R16, R17, R30: what JAX of that version makes, one to one
    document, reference = answers[row.name].documents[name], answers[row.name].references[name]
    assert "crash" not in reference, reference.get("crash")
    assert "failure" not in document, document.get("failure")
    checker.assert_sound(document)
    outputs = "more" if cases.CASES[name].module == "nnx_models" else "equal"
    program = checker.program_of_document(document, reference["streams"])
    checker.assert_equal_programs(program, reference["program"], outputs)
    states = [value for value in document["values"] if value["role"] == "state"]
    assert [[value["shape"], value["dtype"], value.get("weakType", False)] for value in states] == reference["state"]


@each_version
@pytest.mark.parametrize("name", list(cases.FAULTS))
def test_faults_say_what_and_where(answers: dict[str, Answers], row: Row, name: str) -> None:
    # R13, R22, R30
    fault, failure = cases.FAULTS[name], answers[row.name].documents[name]["failure"]
    assert failure["kind"] == fault.kind, failure
    assert fault.says in failure["message"]
    assert not fault.key or failure["key"] == fault.key
    assert not fault.phase or failure["phase"] == fault.phase
    assert not fault.limits or [failure["limit"]] == list(fault.limits)


@each_version
def test_one_warm_worker_made_them_all(answers: dict[str, Answers], row: Row) -> None:
    # R30, R31
    before, after = answers[row.name].before, answers[row.name].after
    assert before.state == "warm", before.message
    assert (after.state, after.pid) == ("warm", before.pid)


@each_version
def test_frames_lead_to_the_source(answers: dict[str, Answers], row: Row) -> None:
    # R26, R30: to the expression where Python knows columns (3.11 and newer), to the line before that
    document = answers[row.name].documents["functions.reused"]
    source = (MODELS / "functions.py").read_text().splitlines()
    (dot,) = [operation for operation in document["operations"] if operation["id"] == "net/dot_general.0"]
    inner, outer = (f for f in (document["frames"][at] for at in dot["frames"]) if f["workspace"])
    texts = [source[frame["line"] - 1].strip() for frame in (inner, outer)]
    assert texts == ["return jax.nn.relu(x @ jnp.ones((3, 4)))", "y = net(x)"]
    if answers[row.name].environment.python.startswith("3.10."):
        assert not [frame for frame in document["frames"] if "column" in frame or "endLine" in frame]
    else:
        line = source[inner["line"] - 1].encode()
        assert line[inner["column"] : inner["endColumn"]] == b"x @ jnp.ones((3, 4))"
        assert all("column" in frame for frame in document["frames"] if frame["workspace"])


def seen_in(document: dict[str, Any]) -> dict[tuple[str, int, str], list[tuple[list[int], str, int]]]:
    return {
        (found["function"], found["line"], found["name"]): [
            (seen["shape"], seen["dtype"], seen["count"]) for seen in found["seen"] if "shape" in seen
        ]
        for found in document["observations"]
    }


def line_of(file: str, text: str) -> int:
    """Number of the first line of a model file that has `text`."""
    lines = (MODELS / file).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@each_version
def test_locals_are_observed(answers: dict[str, Answers], row: Row) -> None:
    # R25, R30: by `sys.monitoring` from Python 3.12 on, by recording calls before
    seen = {place: arrays for place, arrays in seen_in(answers[row.name].documents["functions.mlp"]).items() if arrays}
    at = line_of("functions.py", "def mlp(")
    assert seen == {
        ("mlp", at, "x"): [([2, 3], "float32", 1)],
        ("mlp", at + 2, "x"): [([2, 3], "float32", 2)],
        ("mlp", at + 3, "return"): [([2, 3], "float32", 1)],
    }
    failed = answers[row.name].documents["fails"]
    assert "failure" in failed
    assert failed["observations"]


def test_versions_observe_the_same(answers: dict[str, Answers]) -> None:
    # R25, R30: what hover says does not depend on how an interpreter is watched
    if len(answers) < 2:
        pytest.skip("one version alone on this machine")
    oldest, newest = answers["oldest"].documents, answers["newest"].documents
    different = [name for name in cases.CASES if seen_in(oldest[name]) != seen_in(newest[name])]
    assert not different


async def test_one_daemon_follows_the_selected_interpreter(tmp_path: Path) -> None:
    # R27, R30
    pythons = {row.name: python_of(row) for row in ROWS if find_python(row) is not None}
    if not pythons:
        pytest.skip("none of the versions' Pythons is on this machine")
    model = tmp_path / "work" / "model.py"
    model.parent.mkdir()
    model.write_text("import jax\n\n\n@jax.jit\ndef net(x):\n    return jax.nn.relu(x @ x.T)\n")
    tensor = {"kind": "tensor", "shape": [2, 3], "dtype": "float32"}
    params = {"target": {"uri": model.as_uri(), "name": "net"}, "setup": {"inputs": {"args": [tensor]}}}
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    async with LspClient.start(env=state) as client:
        await client.initialize(NEOVIM, [model.parent], {"trustedFolders": [str(model.parent)]})
        former: dict[str, str] = {}  # name of the environment → its capture
        for name, python in [*pythons.items(), *pythons.items()]:
            client.answers["workspace/configuration"] = [{"interpreter": python}]
            since = len(client.received)
            client.notify("workspace/didChangeConfiguration", {"settings": None})
            await client.wait_for("workspace/configuration", since=since)
            await client.settle()
            for known, capture_id in former.items():
                info = await client.request("tvls/graph/info", {"captureId": capture_id})
                assert info["freshness"] == ("fresh" if known == name else "stale"), (known, name)
            opened = await client.request("tvls/graph/open", params, seconds=120)
            assert opened.get("reused", False) == (name in former)
            this = {"captureId": opened["capture"]["captureId"]}
            document = json.loads((await client.request("tvls/graph/export", this))["text"])
            (row,) = [row for row in ROWS if row.name == name]
            assert document["versions"]["jax"] == row.pinned("jax")
            assert former.setdefault(name, this["captureId"]) == this["captureId"]
        assert await client.shut_down() == 0


async def test_a_jax_that_is_too_old_is_refused_before_anything_runs(tmp_path: Path) -> None:
    # R4, R30: told by the metadata alone
    environment = tmp_path / "env"
    venv.create(environment)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "jax-0.6.0.dist-info").mkdir()
    (packages / "jax-0.6.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: jax\nVersion: 0.6.0\n")
    ran = tmp_path / "ran"
    canary = f"open({str(ran)!r}, 'w').close()\n"
    (packages / "jax.py").write_text(canary)
    model = tmp_path / "work" / "model.py"
    model.parent.mkdir()
    model.write_text(f"import jax\n{canary}\n@jax.jit\ndef net(x):\n    return x\n")
    python = str(environment / "bin" / "python")
    async with LspClient.start(env={"XDG_STATE_HOME": str(tmp_path / "state")}) as client:
        await client.initialize(NEOVIM, [model.parent], {"trustedFolders": [str(model.parent)], "interpreter": python})
        params = {"target": {"uri": model.as_uri(), "name": "net"}, "setup": {"inputs": {"args": [1.0]}}}
        refused = await client.ask("tvls/graph/open", params).error()
        assert refused.data["kind"] == "environmentInvalid"
        assert "has jax 0.6.0; the oldest that can be captured is 0.6.1" in refused.message
        assert "installing jax>=0.6.1" in refused.data["nextStep"]
        assert refused.data["requirements"] == ["jax>=0.6.1"]
        assert await client.shut_down() == 0
    assert not ran.exists()
