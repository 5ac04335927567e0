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

        # Each measurement tells what it costs before it is made.
        page.get_by_role("button", name="measurements: measure…").click()
        cost = re.compile(r"the forward runs once more, and \d+ bytes of results are read several times")
        expect(page.get_by_text(cost)).to_be_visible()
        page.get_by_role("button", name="Measure activation statistics").click()
        expect(inspector).to_contain_text("NaN 0 · infinite 0 of 16 elements")
        expect(page.get_by_role("button", name="measurements: 1 measured")).to_be_visible()

        page.keyboard.press("Escape")

        # What ran below a function is there when it is asked for.
        box(page, "linear").get_by_text("aten · 2 ops").click()
        expect(page.locator("svg.graph .title", has_text="addmm")).to_be_visible()
