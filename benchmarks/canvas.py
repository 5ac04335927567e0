"""How long a person waits for a picture: `python benchmarks/canvas.py [--python CAPTURE_PYTHON] [--layers N ...]`.

For each model, with a warm worker and a running browser: from the command *Open as Graph* to the first painted boxes,
as a ratio to the trace alone in the same run; then, with at least 500 boxes shown, the CPU time of the page from a
press of Enter on a group to the next painted frame, and of the frames of a pan. Times are medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parent))

from playwright.sync_api import CDPSession, Page, sync_playwright
from speed import Client

HERE = Path(__file__).resolve().parent
WORKSPACE = HERE.parent / "tests" / "canvas" / "workspace"
ENCODER = WORKSPACE / "encoder.py"
BLOCKS = {"deep_20k": 20, "deep_100k": 100}
"""Blocks of about a thousand operations each, no two alike: nothing folds."""
FLAGS = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")
NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"


class Editor(Client):
    """An editor with a browser: it notes the address that it is asked to show."""

    address: str | None = None
    capabilities: ClassVar[dict[str, Any]] = {"window": {"showDocument": {"support": True}}}

    def answer(self, message: dict[str, Any]) -> Any:
        if message["method"] == "window/showDocument":
            self.address = message["params"]["uri"]
            return {"success": True}
        return None


def setup(layers: list[int]) -> str:
    profiles = [
        f"""[profiles.layers_{count}]
framework = "jax"
model = "encoder:Encoder"
init = {{ kwargs = {{ layers = {count} }} }}
inputs = {{ args = [{{ kind = "tensor", shape = [2, 16], dtype = "int32" }}] }}
"""
        for count in layers
    ]
    train = """[profiles.train]
framework = "jax"
model = "encoder:train_step"
inputs = { factory = { file = "encoder.py", callable = "train_inputs" } }
"""
    deep = [
        f"""[profiles.{name}]
framework = "jax"
model = "{name}:deep"
inputs = {{ args = [{{ kind = "tensor", shape = [4], dtype = "float32" }}] }}
"""
        for name in BLOCKS
    ]
    return "version = 1\n" + "\n".join([*profiles, train, *deep])


def cpu(session: CDPSession) -> float:
    """CPU seconds that the page's main thread has worked."""
    found = session.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in found if metric["name"] == "TaskDuration")


def visible(page: Page) -> int:
    """Boxes of the picture; those far from the screen are not in the document."""
    return int(page.locator("svg.graph").get_attribute("data-boxes") or 0)


def worked(page: Page, session: CDPSession, keys: str) -> float:
    """Milliseconds of CPU from a key to the second frame after it."""
    page.evaluate(NEXT_FRAME)
    before = cpu(session)
    page.keyboard.press(keys)
    page.wait_for_timeout(400)
    page.evaluate(NEXT_FRAME)
    return (cpu(session) - before) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=str(HERE.parent / ".venv-models" / "bin" / "python"))
    parser.add_argument("--layers", type=int, nargs="*", default=[6, 48])
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        folder = Path(directory).resolve()
        shutil.copy(ENCODER, folder)
        deep = (WORKSPACE / "deep.py").read_text()
        for name, blocks in BLOCKS.items():
            (folder / f"{name}.py").write_text(deep.replace("range(100)", f"range({blocks})"))
        (folder / "tensorviz.toml").write_text(setup(arguments.layers))
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*FLAGS, *root])
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        editor = Editor(folder, arguments.python)
        print(
            f"{'model':<12}{'operations':>11}{'trace':>10}{'painted':>10}{'ratio':>8}{'toggle':>10}{'pan':>9}   (boxes)"
        )
        for profile in [*(f"layers_{count}" for count in arguments.layers), "train"]:
            measure(editor, context, folder, profile, arguments.repeat)
        for name in BLOCKS:
            measure(editor, context, folder, name, 1)
        editor.close()
        browser.close()


def measure(editor: Editor, context: Any, folder: Path, profile: str, repeat: int) -> None:
    target = {"profile": profile, "folder": folder.as_uri()}
    opened = editor.request("tvls/graph/open", {**target, "refresh": True})
    trace: list[float] = []
    painted: list[float] = []
    page: Page | None = None
    for _ in range(repeat):
        start = time.perf_counter()
        opened = editor.request("tvls/graph/open", {**target, "refresh": True})
        trace.append(time.perf_counter() - start)
        # A page would show the graph before while it waits for the next.
        editor.request("tvls/graph/close", {"captureId": opened["capture"]["captureId"]})
        if page is not None:
            page.close()
            time.sleep(0.5)
        editor.address = None
        start = time.perf_counter()
        command = {"command": "tvls.server.refreshGraph", "arguments": [target]}
        asked = editor.ask("workspace/executeCommand", command)
        while editor.address is None:
            editor.poll()
        page = opened_page = context.new_page()
        opened_page.goto(editor.address, wait_until="commit")
        opened_page.locator("[role=treeitem]").first.wait_for()
        opened_page.evaluate(NEXT_FRAME)
        painted.append(time.perf_counter() - start)
        editor.result(asked)
    assert page is not None
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    toggles, pans = interact(page, session)
    mine, theirs = statistics.median(painted), statistics.median(trace)
    print(
        f"{profile:<12}{opened['capture']['operations']:>11,}{theirs * 1000:>7.0f} ms{mine * 1000:>7.0f} ms"
        f"{mine / theirs:>8.2f}{toggles:>7.0f} ms{pans:>6.1f} ms   ({visible(page)})"
    )
    page.close()


def interact(page: Page, session: CDPSession) -> tuple[float, float]:
    """CPU milliseconds of a toggle and of a panned frame with many boxes shown."""
    for _ in range(12):
        if visible(page) >= 500:
            break
        page.get_by_role("button", name="Expand").click()
        page.wait_for_timeout(700)
    group = page.locator("[role=treeitem][aria-expanded=true]").last
    group.focus()
    toggles = [worked(page, session, "Enter") for _ in range(9)]
    box = page.locator("svg.graph").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down(button="middle")
    before, frames = cpu(session), 40
    for frame in range(frames):
        page.mouse.move(box["x"] + box["width"] / 2 - 4 * frame, box["y"] + 20 + 2 * frame)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => done(null)))")
    pans = (cpu(session) - before) * 1000 / frames
    page.mouse.up(button="middle")
    return statistics.median(toggles), pans


if __name__ == "__main__":
    main()
