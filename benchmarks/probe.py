"""What it costs to watch the local arrays of workspace code: a trace with the probe against one without, at most 1.20.

Both are whole traces, from the import of the model to the encoded capture, by turns, each in a fork of a warm process,
in processor time, the median of several. On each Python given: before 3.12 modules are compiled with recording calls,
from 3.12 on `sys.monitoring` tells of lines.

Usage: python benchmarks/probe.py [--python CAPTURE_PYTHON]... [--repeat N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def tensor(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    return {"kind": "tensor", "shape": list(shape), "dtype": dtype}


MODELS: dict[str, tuple[str, str, dict[str, Any], list[Any]]] = {
    "MLP": ("flax.linen", "models:MLP", {}, [tensor(32, 784)]),
    "Llama, 8 layers": ("flax.linen", "models:Llama", {"layers": 8}, [tensor(1, 128, dtype="int32")]),
    "NNX encoder": ("flax.nnx", "nnx_models:Encoder", {}, [tensor(2, 16, 64)]),
}


def request(name: str) -> dict[str, Any]:
    kind, model, init, inputs = MODELS[name]
    module, _, qualname = model.partition(":")
    setup = {"framework": "jax", "mode": "eval", "device": "cpu", "seed": 0, "digest": "sha256:0"}
    return {
        "workspace": str(HERE),
        "sysPath": [str(HERE)],
        "target": {"kind": kind, "module": module, "qualname": qualname, "path": f"{module}.py", "line": 1},
        "setup": {**setup, "init": {"args": [], "kwargs": init}, "inputs": {"args": inputs, "kwargs": {}}},
        "limits": {},
    }


# --- in the capture Python -------------------------------------------------------------------------------------------


def inside(repeat: int) -> None:
    """Print `{model: [seconds with, seconds without, observed locals]}`, a list of each."""
    sys.path.insert(0, str(ROOT))
    from tvls.worker import trace

    trace.load_framework("jax")
    times: dict[str, Any] = {}
    for name in MODELS:
        measured(name, True)  # the first fork after the import meets cold pages
        pairs = [(measured(name, True), measured(name, False)) for _ in range(repeat)]
        times[name] = {
            "with": [found["seconds"] for found, _ in pairs],
            "without": [found["seconds"] for _, found in pairs],
            "observed": pairs[0][0]["observed"],
            "operations": pairs[0][0]["operations"],
        }
        assert not any(found["observed"] for _, found in pairs), "the probe was not off"
    print(json.dumps(times))


def measured(name: str, watched: bool) -> dict[str, Any]:
    """Processor time of one trace in a fork."""
    from tvls.worker import trace
    from tvls.worker.probe import Probe

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        if not watched:
            for hook in ("start", "stop"):
                setattr(Probe, hook, lambda self: None)
            Probe.instrument = lambda self, path, text: None  # type: ignore[method-assign]
        trace.prepare_imports(str(HERE), [str(HERE)])
        start = time.process_time()
        data = trace.run(request(name), lambda phase: None)
        seconds = time.process_time() - start
        document = json.loads(data)
        answer = {
            "seconds": seconds,
            "observed": len(document["observations"]),
            "operations": len(document.get("operations", ())),
            "failure": document.get("failure"),
        }
        with os.fdopen(write, "w") as stream:
            json.dump(answer, stream)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        answer = json.load(stream)
    os.waitpid(pid, 0)
    if answer["failure"]:
        raise SystemExit(f"{name} was not traced: {answer['failure']}")
    return answer


# --- outside ---------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        inside(arguments.repeat)
        return
    known = [ROOT / name / "bin" / "python" for name in (".venv-models", ".venv-newest")]
    for python in arguments.python or [str(path) for path in known if path.is_file()]:
        version = subprocess.run([python, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        command = [python, "-B", __file__, "--inside", "--repeat", str(arguments.repeat)]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for name, found in json.loads(ran.stdout).items():
            ours, bare = statistics.median(found["with"]), statistics.median(found["without"])
            ratio = statistics.median(a / b for a, b in zip(found["with"], found["without"], strict=True))
            print(
                f"{version:<15}{name:<17}{found['operations']:5} operations {found['observed']:4} observations "
                f"{ours * 1000:6.0f} ms   without {bare * 1000:6.0f} ms   ratio{ratio:6.2f}   (at most 1.20)"
            )


if __name__ == "__main__":
    main()
