"""Worker and pool with real JAX and Flax."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.tracing.workers import marked_processes, request_for
from tvls.environments.probe import Environment, probe
from tvls.tracing.pool import WorkerPool

MODEL = """\
import jax
import jax.numpy as jnp
from flax import linen as nn

@jax.jit
def net(x):
    return jax.nn.relu(x @ jnp.ones((3, 4)))

class MLP(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x):
        h = nn.relu(nn.Dense(self.width)(x))
        return nn.Dense(4)(h)

def bad(x):
    y = x @ jnp.ones((3, 4))
    return y @ jnp.ones((5, 4))
"""

X = {
    "kind": "tensor",
    "shape": [2, 3],
    "dtype": "float32",
    "requires_grad": False,
    "generator": {"kind": "full", "value": 1},
}


@pytest.fixture
async def models(models_python: str, workspace: Path) -> Environment:
    (workspace / "model.py").write_text(MODEL)
    return await probe([models_python], str(workspace))


async def trace(pool: WorkerPool, models: Environment, workspace: Path, name: str, kind: str) -> Any:
    request = request_for(workspace, name, kind=kind, args=[X])
    return await pool.trace(models, request, on_progress=lambda phase: None)


async def test_functions_and_modules_are_captured_by_forks_of_one_warm_worker(
    models: Environment, workspace: Path
) -> None:
    # R1, R25, R31, R35
    pool = WorkerPool()
    try:
        await pool.prewarm(models, "jax")
        [status] = pool.status()
        assert status.state == "warm", status.message
        began = time.monotonic()
        net = await trace(pool, models, workspace, "net", "jax.function")
        warm_seconds = time.monotonic() - began
        assert [operation["primitive"] for operation in net["operations"]][-2:] == ["dot_general", "max"]
        frames = [net["frames"][index] for index in net["operations"][-2]["frames"]]
        assert ("model.py", "net", 7) in [(f["path"], f["function"], f["line"]) for f in frames if f["workspace"]]
        assert not [frame["path"] for frame in net["frames"] if frame["path"].startswith("/")]

        mlp, again = await asyncio.gather(
            *(trace(pool, models, workspace, "MLP", "flax.linen") for _ in range(2)),
        )
        assert mlp["captureId"] == again["captureId"]
        shapes = {(o["line"], o["name"]): [s["shape"] for s in o["seen"]] for o in mlp["observations"]}
        assert shapes == {(13, "x"): [[2, 3]], (14, "h"): [[2, 8]], (15, "return"): [[2, 4]]}
        assert {s["count"] for o in mlp["observations"] for s in o["seen"]} == {1}

        bad = await trace(pool, models, workspace, "bad", "jax.function")
        assert bad["failure"]["type"] == "TypeError"
        own = [frame for frame in bad["failure"]["frames"] if frame["workspace"]]
        assert (own[0]["path"], own[0]["line"]) == ("model.py", 19)
        assert {(o["line"], o["name"]) for o in bad["observations"]} == {(17, "x"), (18, "y")}
        assert pool.status()[0].pid == status.pid
        assert warm_seconds < 5
    finally:
        await pool.aclose()
    assert not marked_processes()


async def test_a_cold_worker_gives_the_same_capture(
    models: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = WorkerPool()
    try:
        warm = await trace(pool, models, workspace, "net", "jax.function")
        monkeypatch.setattr("tvls.tracing.pool.WorkerPool._warm", _no_warm)
        cold = await trace(pool, models, workspace, "net", "jax.function")
    finally:
        await pool.aclose()
    assert warm["captureId"] == cold["captureId"]


async def _no_warm(*_: object) -> None:
    return None


async def test_straight_line_code_costs_what_its_length_is(models: Environment, workspace: Path) -> None:
    # R22: generated models are functions of thousands of lines; work for each of them that grows with all takes minutes
    lines = "".join(f"    x{i + 1} = x{i} + 1.0\n" for i in range(3000))
    (workspace / "model.py").write_text(f"import jax.numpy as jnp\ndef net(x0):\n{lines}    return jnp.sin(x3000)\n")
    pool = WorkerPool()
    try:
        request = request_for(workspace, args=[X], limits={"seconds": 30})
        document: Any = await pool.trace(models, request, on_progress=lambda phase: None)
    finally:
        await pool.aclose()
    assert len(document["operations"]) == 3001
    frames = [document["frames"][index] for operation in document["operations"] for index in operation["frames"]]
    own = [frame for frame in frames if frame["workspace"]]
    assert [(frame["line"], frame["column"], frame["endColumn"]) for frame in own[10:12]] == [
        (13, 10, 19),
        (14, 10, 19),
    ]
    assert len(document["observations"]) == 3002
