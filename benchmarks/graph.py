"""Graph questions at 100,000 operations: `python benchmarks/graph.py`.

Every time is CPU time of the calling thread, in milliseconds, and as a ratio to encoding one view page of 200 nodes
with msgspec in the same run: what the answer costs to write down at the very least.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tvls.capture.encoding import canonical_json, capture_id
from tvls.graph import GraphIndex, compare, details, hover, load, nodes_at, outline, search, view

LAYERS = 500
MODULES = 10
OPERATIONS = 20
BUDGET_MS = 5.0


def capture(layers: int = LAYERS) -> bytes:
    """Layers of modules of operations (500 · 10 · 20), with library and workspace frames, parameters and a residual."""
    values: list[dict[str, Any]] = [{"role": "input", "name": "x", "shape": [8, 64], "dtype": "float32"}]
    operations: list[dict[str, Any]] = []
    scopes: list[dict[str, Any]] = [
        {"id": "", "parent": None, "kind": "root"},
        {"id": "Net", "parent": 0, "kind": "module", "name": "Net", "path": "", "class": "model.Net"},
    ]
    frames: list[dict[str, Any]] = []

    def frame(path: str, line: int, workspace: bool) -> int:
        frames.append(
            {
                "path": path,
                "workspace": workspace,
                "function": "Block.__call__",
                "line": line,
                "column": 8,
                "endLine": line,
                "endColumn": 40,
            }
        )
        return len(frames) - 1

    inner = [frame("flax/linen/linear.py", line, False) for line in range(100)]
    calls = [frame("model.py", 100 + line, True) for line in range(MODULES)]
    outer = [frame("flax/linen/module.py", line, False) for line in range(8)]
    layer_calls = [frame("model.py", 200 + line, True) for line in range(layers)]
    residual = 0
    for layer in range(layers):
        block = len(scopes)
        scopes.append(
            {
                "id": f"Net/block_{layer}",
                "parent": 1,
                "kind": "module",
                "name": f"block_{layer}",
                "path": f"block_{layer}",
                "class": "model.Block",
            }
        )
        for module in range(MODULES):
            path = f"block_{layer}/Dense_{module}"
            values.append({"role": "state", "name": f"params/{path}/kernel", "shape": [64, 64], "dtype": "float32"})
            kernel = len(values) - 1
            scopes.append(
                {
                    "id": f"Net/{path}",
                    "parent": block,
                    "kind": "module",
                    "name": f"Dense_{module}",
                    "path": path,
                    "class": "flax.linen.linear.Dense",
                }
            )
            for at in range(OPERATIONS):
                values.append({"role": "intermediate", "shape": [8, 64], "dtype": "float32"})
                made = len(values) - 1
                before = made - 1 if at else residual
                operations.append(
                    {
                        "id": f"Net/{path}/dot_general.{at}",
                        "primitive": ("dot_general", "add", "mul", "tanh")[at % 4],
                        "scope": len(scopes) - 1,
                        "inputs": [{"value": before}, {"value": kernel}, {"value": residual}],
                        "outputs": [made],
                        "params": {"dimension_numbers": [[[1], [0]], [[], []]], "preferred_element_type": "float32"},
                        "frames": [inner[at], calls[module], *outer, layer_calls[layer]],
                    }
                )
            residual = len(values) - 1
    document: dict[str, Any] = {
        "formatVersion": 1,
        "framework": "jax",
        "backend": "jaxpr",
        "versions": {"jax": "0.10.2"},
        "evidence": "inferred",
        "coverage": {"scope": "traced_program", "status": "complete", "reasons": []},
        "target": {"kind": "flax.linen", "module": "model", "qualname": "Net", "path": "model.py", "line": 3},
        "setup": {"digest": "", "device": "cpu", "mode": "eval", "seed": 0, "static": {}, "notes": []},
        "sources": [],
        "inputs": {"args": [{"value": 0}], "kwargs": {}},
        "outputs": {"value": residual},
        "values": values,
        "operations": operations,
        "scopes": scopes,
        "frames": frames,
        "observations": [
            {
                "path": "model.py",
                "line": 100 + module,
                "name": "h",
                "function": "Block.__call__",
                "seen": [{"shape": [8, 64], "dtype": "float32", "count": layers}],
            }
            for module in range(MODULES)
        ],
        "bodies": [],
        "unavailable": {},
    }
    return canonical_json({**document, "captureId": capture_id(document)})


def median_ms(call: Callable[[int], object], repeat: int = 21) -> float:
    times: list[float] = []
    for at in range(repeat):
        start = time.thread_time()
        call(at)
        times.append(time.thread_time() - start)
    return statistics.median(times) * 1000


def once_ms(call: Callable[[], object]) -> float:
    start = time.thread_time()
    call()
    return (time.thread_time() - start) * 1000


def main() -> int:
    data = capture()
    loaded: list[Any] = []
    rows: list[tuple[str, float, bool]] = [
        ("load and check the file", once_ms(lambda: loaded.append(load(data))), False)
    ]
    index = GraphIndex(loaded[0])
    gc.collect()
    gc.freeze()  # a daemon that answers has its captures in the old generation
    rows.append(("index, all that a view and a hover need", once_ms(index.prepare), False))

    blocks = [f"scope:Net/block_{at}" for at in range(LAYERS)]
    modules = [f"scope:Net/block_{at}/Dense_{module}" for at in range(LAYERS) for module in range(MODULES)]
    everything = [*blocks, *modules]
    page = view(index)
    shorter: Any = load(capture(LAYERS - 1))
    earlier = GraphIndex(shorter)
    baseline = median_ms(lambda _: msgspec.json.encode(page.nodes) + msgspec.json.encode(page.edges))
    deep = [*blocks, *modules[:200]]
    middle = view(index, deep).next_cursor
    far = view(index, everything, limit=2000).next_cursor
    line = "        " + "a" * 14 + " @ " + "b" * 15
    rows += [
        ("view: first page of the top level", median_ms(lambda _: view(index)), True),
        ("view: one block opened, never seen before", median_ms(lambda at: view(index, blocks[at : at + 1])), True),
        ("view: a page with 700 scopes opened", median_ms(lambda _: view(index, deep, cursor=middle)), True),
        (
            "view: a page with all 5,500 scopes opened",
            median_ms(lambda _: view(index, everything, None, far)),
            True,
        ),
        ("view: folded, first page", median_ms(lambda _: view(index, fold=True)), True),
        (
            "view: folded, a block opened, another instance",
            median_ms(lambda at: view(index, blocks[:1], fold=True, instances={blocks[0]: at + 1})),
            True,
        ),
        (
            "view: noise hidden, a page with 700 scopes opened",
            median_ms(lambda _: view(index, deep, hide=["constant", "shape"])),
            True,
        ),
        ("compare with a capture of one layer less", once_ms(lambda: compare(index, earlier)), False),
        (
            "details of an operation",
            median_ms(lambda at: details(index, f"op:Net/block_{at}/Dense_3/dot_general.4")),
            True,
        ),
        ("details of a block", median_ms(lambda at: details(index, blocks[at])), True),
        ("hover on a variable", median_ms(lambda _: hover(index, "model.py", 103, 8, line, "fresh")), True),
        (
            "hover on an expression of 10,000 operations",
            median_ms(lambda _: hover(index, "model.py", 103, 23, line, "fresh")),
            True,
        ),
        (
            "nodes at a line that 10,000 operations come from",
            median_ms(lambda _: nodes_at(index, "model.py", 103, 20)),
            True,
        ),
        ("search, a new query", median_ms(lambda at: search(index, f"tanh dense_{at % 10} block_{at}")), False),
        ("search by shape", median_ms(lambda at: search(index, f"[{at}, *]")), False),
        ("outline, 400 lines", median_ms(lambda _: outline(loaded[0]), 3), False),
    ]
    print(
        f"{len(loaded[0]['operations']):,} operations, {len(data) / 2**20:.0f} MiB; one page encoded: {baseline:.2f} ms"
    )
    missed = 0
    for name, took, bounded in rows:
        late = bounded and took > BUDGET_MS
        missed += late
        print(f"{name:52} {took:9.2f} ms {took / baseline:9.2f} x{f'   over {BUDGET_MS:.0f} ms' if late else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
