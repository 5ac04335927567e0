"""A PyTorch model in a real browser: its documentation, operators below a function, measurements on request."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.canvas.daemon import tvls_open
from tests.canvas.test_reading import box
from tests.torch_model import MODEL


def test_what_is_told_of_an_operation(page: Page, tmp_path: Path, torch_python: str) -> None:  # R24
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    with tvls_open(folder, "model.py:Net", torch_python, ["--input", "x=float32[2,4]"]) as daemon:
        page.goto(daemon.address)
        inspector = page.get_by_role("complementary", name="Inspector")
        box(page, "relu").click()
        expect(inspector.get_by_role("link")).to_have_attribute(
            "href", "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.relu.html"
        )
        expect(inspector).to_contain_text("torch.Tensor.relu")
        expect(inspector).not_to_contain_text("NaN")
        expect(page.locator("#search")).to_have_attribute("title", re.compile(r"^linear · layers\.0"))

        # Each measurement tells what it costs before it is made.
        page.get_by_role("button", name="measurements: measure…").click()
        cost = re.compile(r"the forward runs once more, and \d+ bytes of results are read several times")
        expect(page.get_by_text(cost)).to_be_visible()
        told = page.get_by_text(cost).bounding_box()
        assert told is not None
        assert told["width"] > 3 * told["height"], "no narrow column"
        page.get_by_role("button", name="Measure activation statistics").click()
        expect(inspector).to_contain_text("NaN 0 · infinite 0 of 16 elements")
        expect(page.get_by_role("button", name="measurements: 1 measured")).to_be_visible()

        page.keyboard.press("Escape")

        # A failure stands over nothing of the graph, and what was measured is there again when its edit is undone.
        top = box(page, "x").bounding_box()
        (folder / "model.py").write_text(MODEL.replace("nn.Linear(4, 8)", "nn.Linear(5, 8)"))
        failed = page.locator("details.banner.failed")
        expect(failed).to_be_visible()
        banner, first = failed.bounding_box(), box(page, "x").bounding_box()
        assert banner is not None
        assert first is not None
        assert first["y"] >= banner["y"] + banner["height"]
        (folder / "model.py").write_text(MODEL)
        expect(failed).to_have_count(0)
        expect(page.get_by_role("button", name="measurements: 1 measured")).to_be_visible()
        expect(page.get_by_role("button", name="freshness: fresh")).to_be_visible()
        assert box(page, "x").bounding_box() == top

        # A module leads to its class.
        box(page, "up").locator("text.title").click()
        expect(inspector.locator("section", has_text="Defined in")).to_contain_text("torch/nn/modules/linear.py")

        # Enter right after the last letter finds it; what is found is marked before.
        page.locator("#search").press_sequentially("linear")
        expect(page.locator(".boxes .found .title")).to_have_text(["up", "linear"])
        page.locator("#search").fill("")
        page.locator("#search").press_sequentially("relu")
        page.locator("#search").press("Enter")
        expect(page.locator(".boxes .selected .title")).to_have_text("relu")
        expect(page.locator(".said")).to_have_text("Hit 1 of 1.")
        box(page, "linear").locator("text.title").click()
        expect(inspector.locator(".kind")).to_have_text("function")

        # What ran below a function is there when it is asked for.
        box(page, "linear").get_by_text("aten · 2 ops").click()
        expect(page.locator("svg.graph .title", has_text="addmm")).to_be_visible()
