"""How long a person waits for a graph, as ratios to what JAX alone costs on this machine in the same run.

- `MLP, warm open`: open request to answer over LSP, against a cold process that imports JAX and Flax and calls
  `make_jaxpr`. At most 1/15.
- `Llama 7B, open`: open request to answer, against bare `eval_shape` and `make_jaxpr` in one warm process. At most 2.
- `Llama 7B, memory`: largest resident memory of any process of the server while it opens. Under 1 GiB.

Usage: python benchmarks/speed.py [--python CAPTURE_PYTHON] [--repeat N]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import psutil

HERE = Path(__file__).parent
TOKENS = 128

SETUP = f"""
version = 1
[profiles.mlp]
framework = "jax"
model = "models:MLP"
inputs = {{ args = [{{ kind = "tensor", shape = [32, 784], dtype = "float32" }}] }}
[profiles.llama]
framework = "jax"
model = "models:Llama"
inputs = {{ args = [{{ kind = "tensor", shape = [1, {TOKENS}], dtype = "int32" }}] }}
"""

COLD = """
import jax, flax.linen
from models import MLP
x = jax.ShapeDtypeStruct((32, 784), "float32")
model = MLP()
variables = jax.eval_shape(lambda x: model.init(jax.random.key(0), x), x)
jax.make_jaxpr(model.apply)(variables, x)
"""

BARE = f"""
import time, sys
import jax, flax.linen
from models import MLP, Llama
x = jax.ShapeDtypeStruct((32, 784), "float32")
small = MLP()
jax.make_jaxpr(small.apply)(jax.eval_shape(lambda x: small.init(jax.random.key(0), x), x), x)  # the process is warm now
start = time.perf_counter()
x = jax.ShapeDtypeStruct((1, {TOKENS}), "int32")
model = Llama()
variables = jax.eval_shape(lambda x: model.init(jax.random.key(0), x), x)
jax.make_jaxpr(model.apply)(variables, x)
print(time.perf_counter() - start)
"""


class Client:
    """A blocking LSP client, enough to open graphs."""

    capabilities: ClassVar[dict[str, Any]] = {}

    def __init__(self, folder: Path, python: str) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tvls", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.pid = self._server.pid
        self._id = 0
        self._answers: dict[int, dict[str, Any]] = {}
        options = {"interpreter": python, "trustedFolders": [folder.as_uri()]}
        self.request(
            "initialize",
            {
                "processId": None,
                "capabilities": self.capabilities,
                "initializationOptions": options,
                "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
            },
        )
        self._send({"method": "initialized", "params": {}})

    def request(self, method: str, params: Any) -> Any:
        return self.result(self.ask(method, params))

    def ask(self, method: str, params: Any) -> int:
        """Number of a request, for `result`."""
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        return self._id

    def result(self, number: int) -> Any:
        while number not in self._answers:
            self.poll()
        answer = self._answers.pop(number)
        if "error" in answer:
            raise SystemExit(f"refused: {json.dumps(answer['error'], indent=1)}")
        return answer["result"]

    def poll(self) -> None:
        """Wait for one message of the server."""
        self._react(self._receive())

    def answer(self, message: dict[str, Any]) -> Any:
        """The result of a request of the server."""
        return None

    def _react(self, message: dict[str, Any]) -> None:
        if "id" in message and "method" in message:
            self._send({"id": message["id"], "result": self.answer(message)})
        elif "id" in message:
            self._answers[message["id"]] = message

    def close(self) -> None:
        self.request("shutdown", None)
        self._send({"method": "exit"})
        self._server.wait(10)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        length = 0
        while (line := self._server.stdout.readline().strip()) or not length:
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            elif not line and self._server.poll() is not None:
                raise SystemExit("the server ended")
        return json.loads(self._server.stdout.read(length))


class Peak:
    """Largest resident memory of a process and its descendants, each for itself, while the context is open."""

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._root = psutil.Process(pid)

    def __enter__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            for process in [self._root, *self._root.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    self.bytes = max(self.bytes, process.memory_info().rss)


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=str(HERE.parent / ".venv-models" / "bin" / "python"))
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    python: str = arguments.python

    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory).resolve()
        shutil.copy(HERE / "models.py", folder)
        (folder / "tensorviz.toml").write_text(SETUP)
        client = Client(folder, python)

        def open_graph(profile: str) -> Any:
            return client.request("tvls/graph/open", {"profile": profile, "folder": folder.as_uri(), "refresh": True})

        first = seconds(lambda: open_graph("mlp"))
        # Interleaved, so that a noisy minute of the machine falls on both sides of a ratio.
        warm, cold, bare, llama = [], [], [], []
        for _ in range(arguments.repeat):
            warm.append(seconds(lambda: open_graph("mlp")))
            cold.append(seconds(lambda: subprocess.run([python, "-c", COLD], cwd=folder, check=True)))
        peak = Peak(client.pid)
        for _ in range(max(2, arguments.repeat // 2)):
            with peak:
                llama.append(seconds(lambda: open_graph("llama")))
            ran = subprocess.run([python, "-c", BARE], cwd=folder, check=True, capture_output=True, text=True)
            bare.append(float(ran.stdout))
        client.close()

    def row(name: str, ours: list[float], baseline: list[float], bound: str) -> None:
        mine, theirs = statistics.median(ours), statistics.median(baseline)
        print(
            f"{name:<18}{mine * 1000:7.0f} ms   baseline{theirs * 1000:7.0f} ms   ratio{mine / theirs:7.3f}   ({bound})"
        )

    print(f"first open, worker started on demand: {first * 1000:.0f} ms")
    row("MLP, warm open", warm, cold, "at most 0.067")
    row("Llama 7B, open", llama, bare, "at most 2")
    print(f"Llama 7B, memory  {peak.bytes / 2**20:7.0f} MiB in one process   (under 1024)")


if __name__ == "__main__":
    main()
