"""Models that are too large for other tools."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.canvas.daemon import tvls_open
from tests.canvas.test_reading import WORKSPACE, box, boxes, press


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(WORKSPACE, tmp_path / "models"))


def test_a_hundred_thousand_operations(page: Page, folder: Path, models_python: str) -> None:  # R29
    with tvls_open(folder, "deep.py:deep", models_python) as daemon:
        page.goto(daemon.address)
        # The top level is there, and only what is near the screen is in the document.
        expect(box(page, "block_0")).to_be_visible()
        expect(page.locator(".said")).to_have_text("deep: 99,995 operations, inferred.")
        assert boxes(page).count() < 60

        # A hit deep inside opens what hides it.
        press(page, "/")
        page.keyboard.type("block_77/part_4 sin")
        expect(page.locator(".search-count")).to_have_text(re.compile(r"^\d+$"))
        press(page, "Enter")
        expect(page.locator(".box.selected .title")).to_have_text("sin")
        expect(box(page, "part_4")).to_have_attribute("aria-expanded", "true")

        # More than can be drawn at once is counted, and there for the asking.
        press(page, "Escape")
        press(page, "e")
        more = page.locator(".more")
        expect(more).to_contain_text(re.compile(r"^1,000 of [\d,]+ nodes"))
        more.get_by_role("button").click()
        expect(more).to_contain_text("1,500 of")
        press(page, "f")
        expect(boxes(page)).to_have_count(1500)


def test_billions_of_parameters(page: Page, folder: Path, models_python: str) -> None:  # R32, R41
    with tvls_open(folder, "encoder.py:Encoder", models_python, ["--profile", "large"]) as daemon:
        page.goto(daemon.address)
        expect(page.locator("[data-badge=totals]")).to_contain_text(re.compile(r"^6\.\d+G params · [\d.]+ TFLOPs"))
        expect(box(page, "layers_0 … layers_31")).to_be_visible()
        expect(page.locator("svg.graph .label").filter(has_text="f32[1,2048,4096]").first).to_be_visible()
