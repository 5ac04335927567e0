"""Speed of discovery, as ratios to parsing the same files with `ast` in the same run.

    .venv/bin/python benchmarks/discovery.py [SITE_PACKAGES]

Prints: a cold index of Flax's installed source (bound: 3x `ast`), a warm one (unchanged files), and the CPU time of
refreshing the targets of a file of 3,000 lines and more after a one-line edit (bound: 30 ms).
"""

from __future__ import annotations

import ast
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tvls.analysis.known import MENTIONS
from tvls.analysis.process import tune
from tvls.analysis.workspace import Workspace, python_files

REPOSITORY = Path(__file__).resolve().parents[1]


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def drain(items: Iterable[list[object]]) -> int:
    return sum(len(item) for item in items)


def main() -> None:
    default = next((REPOSITORY / ".venv-models/lib").glob("python3.*/site-packages"), None)
    packages = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if packages is None or not (packages / "flax").is_dir():
        sys.exit("no installed Flax: give the site-packages folder that has it")
    flax = str(packages / "flax")
    texts = [
        data
        for path in python_files(flax)
        if path and any(word in (data := Path(path).read_bytes()) for word in MENTIONS)
    ]

    def baseline() -> None:
        for text in texts:
            ast.parse(text)

    base: list[float] = []
    cold: list[float] = []
    warm: list[float] = []
    found = 0
    tune()
    for _ in range(3):
        base.append(cpu(baseline))
        workspace = Workspace()

        def index(workspace: Workspace = workspace) -> int:
            return sum(len(found.targets) for found in workspace.index([flax]))

        cold.append(cpu(lambda index=index: index()))
        warm.append(cpu(lambda index=index: index()))
        found = index()
    floor, cold_time, warm_time = (statistics.median(times) for times in (base, cold, warm))
    print(f"Flax source: {len(texts)} relevant files, {sum(map(len, texts)) / 1e6:.2f} MB, {found} targets")
    print(f"ast.parse of them      {floor * 1e3:8.1f} ms CPU   1.00x")
    print(f"cold index             {cold_time * 1e3:8.1f} ms CPU   {cold_time / floor:.2f}x   (bound 3x)")
    print(f"warm index             {warm_time * 1e3:8.1f} ms CPU   {warm_time / floor:.3f}x")

    model = next(p for p in sorted(Path(flax).rglob("*.py"), key=lambda p: -p.stat().st_size))
    lines = model.read_text().split("\n")
    print(f"\none-line edits in {model.name}, {len(lines):,} lines")
    workspace = Workspace()
    path = str(model)
    workspace.put(path, "\n".join(lines))
    workspace.targets(path, [flax])
    times: list[float] = []
    for number in range(0, len(lines), max(len(lines) // 60, 1)):
        edited = [*lines]
        edited[number] += " # edited"
        text = "\n".join(edited)

        def refresh(text: str = text) -> None:
            workspace.put(path, text)
            workspace.targets(path, [flax])

        times.append(cpu(refresh))
    whole = cpu(lambda: ast.parse("\n".join(lines)))
    typical, worst = statistics.median(times), max(times)
    print(
        f"refresh, median        {typical * 1e3:8.1f} ms CPU   {typical / whole:.2f}x ast.parse of it   (bound 30 ms)"
    )
    print(f"refresh, worst         {worst * 1e3:8.1f} ms CPU   {worst / whole:.2f}x")


if __name__ == "__main__":
    main()
