"""Documents of many requests at once, for tests that trace models of their own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def request(
    workspace: Path,
    module: str,
    qualname: str,
    args: list[Any] | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    kind: str = "jax.function",
    init: dict[str, Any] | None = None,
    inputs: dict[str, Any] | None = None,
    discovered: bool = True,
    **setup: Any,
) -> dict[str, Any]:
    """A trace request for a module of `workspace`; without `discovered` the worker decides what kind it is."""
    target: dict[str, Any] = {"kind": kind, "module": module, "qualname": qualname}
    if discovered:
        target |= {"path": f"{module.replace('.', '/')}.py", "line": 1}
    profile = {"digest": "sha256:0", "framework": "jax", "mode": "eval", "device": "cpu", "seed": 0}
    given = {"args": args or [], "kwargs": kwargs or {}}
    call = {"init": init or {"args": [], "kwargs": {}}, "inputs": inputs or given}
    return {
        "workspace": str(workspace),
        "sysPath": [str(workspace)],
        "target": target,
        "setup": {**profile, **call, **setup},
        "limits": {},
    }


def documents(python: str, requests: dict[str, Any], **environment: str) -> dict[str, Any]:
    """`{name: document}`, each traced in a process of its own."""
    command = [python, "-B", str(HERE / "batch.py")]
    ran = subprocess.run(
        command,
        input=json.dumps({"requests": requests}),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout)


def primitives(document: dict[str, Any]) -> list[str]:
    assert "failure" not in document, document["failure"]
    return [operation["primitive"] for operation in document["operations"]]
