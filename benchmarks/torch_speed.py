"""What recording costs: the trace of ResNet-50 in a warm worker, beside the bare program in the same warm process.

Bare is what the trace cannot do without: importing the module, making the model, one eager forward in evaluation mode
without gradients. Each run is a fork of this process, which is made a warm worker as the daemon's is. Prints the median
of each and their ratio.

Usage: PYTHON benchmarks/torch_speed.py, with a Python of benchmarks/torch_models.py
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = str(ROOT / "benchmarks" / "torch_models")
sys.path.insert(0, str(ROOT))
RUNS = 5

from tvls.worker import trace, zygote  # noqa: E402

SETUP = {
    "digest": "",
    "framework": "torch",
    "mode": "eval",
    "device": "cpu",
    "seed": 0,
    "init": {"args": [], "kwargs": {}},
    "inputs": {
        "args": [
            {
                "kind": "tensor",
                "shape": [1, 3, 224, 224],
                "dtype": "float32",
                "requires_grad": False,
                "generator": {"kind": "ones"},
            }
        ],
        "kwargs": {},
    },
}


def bare() -> dict[str, float]:
    import torch

    began = time.perf_counter()
    import public

    model = public.resnet50().eval()
    made = time.perf_counter()
    with torch.no_grad():
        model(torch.ones(1, 3, 224, 224))
    ended = time.perf_counter()
    return {"import and init": made - began, "forward": ended - made, "total": ended - began}


def traced(preloaded: trace.Preloaded) -> dict[str, float]:
    phases: list[tuple[str, float]] = []
    target = {"kind": "torch.module", "module": "public", "qualname": "resnet50"}
    request = {"workspace": MODELS, "sysPath": [MODELS], "target": target, "setup": SETUP, "limits": {}}
    began = time.perf_counter()
    data = trace.run(request, lambda phase: phases.append((phase, time.perf_counter())), preloaded)
    ended = time.perf_counter()
    assert b'"operations"' in data
    at = dict(phases)
    return {
        "import and init": at["inputs"] - began,
        "forward": at["encode"] - at["trace"],
        "encode": ended - at["encode"],
        "total": ended - began,
    }


def in_fork(work: Callable[[], dict[str, float]]) -> dict[str, float]:
    read, write = os.pipe()
    if os.fork() == 0:
        sys.path.insert(0, MODELS)
        zygote.prepare_fork("torch")
        with os.fdopen(write, "w") as stream:
            json.dump(work(), stream)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        found: dict[str, Any] = json.loads(stream.read())
    os.wait()
    return found


def main() -> None:
    preloaded = zygote.warm_up("torch")[1]
    found: dict[str, list[dict[str, float]]] = {"bare": [], "traced": []}
    for _ in range(RUNS):  # in turn, so that both meet the same machine
        found["bare"].append(in_fork(bare))
        found["traced"].append(in_fork(lambda: traced(preloaded)))
    middle: dict[str, float] = {}
    for name, runs in found.items():
        parts = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
        middle[name] = parts["total"]
        print(f"{name:7}", " · ".join(f"{part} {seconds * 1000:,.0f} ms" for part, seconds in parts.items()))
    print(f"ratio   {middle['traced'] / middle['bare']:.2f} (at most 1.5 is promised)")


if __name__ == "__main__":
    main()
