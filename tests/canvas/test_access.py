"""For people who see, hear, point and read differently: axe's rules, names, narrow panels, large text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Frame, Page, expect

from tests.canvas.daemon import Daemon
from tests.canvas.test_reading import box, boxes, press, running, show, workspace  # noqa: F401 - fixtures among them
from tests.canvas.test_states import failing, play

AXE = Path(__file__).parent.parent.parent / "clients/canvas/node_modules/axe-core/axe.min.js"


def violations(page: Page | Frame) -> list[str]:
    """Of WCAG 2.2 A and AA and of axe's own practices: rule, and where."""
    page.evaluate(AXE.read_text())  # not by a script element, which the page's policy refuses
    result = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    return [
        f"{found['id']}: {node['html'][:120]} ({node['failureSummary'][:200]})"
        for found in result["violations"]
        for node in found["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_graph_has_no_violation(show: Callable[[str], Page], scheme: str) -> None:  # noqa: F811
    page = show("encoder.py:Encoder")
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    assert violations(page) == []
    box(page, "head").locator("[data-toggle]").click()
    box(page, "dot_general").click()
    expect(page.get_by_role("complementary")).to_contain_text("dimension_numbers")
    page.get_by_role("button", name="Noise").click()
    page.get_by_label("Colour by").select_option("flops")
    assert violations(page) == []
    press(page, "Escape")
    page.locator("svg.graph").focus()
    press(page, "?")
    assert violations(page) == []


@pytest.mark.parametrize("kind", [("notTrusted", -33001), ("traceFailed", -33007)])
def test_states_have_no_violation(page: Page, daemon: Daemon, kind: tuple[str, int]) -> None:
    play(page, daemon, failing(*kind, "It did not start.", stderr="last words"))
    expect(page.get_by_text("It did not start.")).to_be_visible()
    assert violations(page) == []


def test_names_say_what_a_box_is(show: Callable[[str], Page]) -> None:  # noqa: F811
    page = show("encoder.py:Encoder")
    expect(page.get_by_role("tree", name="Graph of Encoder")).to_be_visible()
    names = [item.get_attribute("aria-label") for item in boxes(page).all()]
    assert "tokens, input, gives int32[2, 16]" in names
    assert any(name and name.endswith("300K params in all, module, gives float32[2, 16, 64]") for name in names), names
    box(page, "head").locator("[data-toggle]").click()
    expect(page.locator(".said")).to_have_text("head opened: 3 nodes inside.")
    expect(box(page, "dot_general")).to_have_attribute("aria-level", "2")


@pytest.mark.parametrize(("width", "height"), [(800, 600), (640, 400)])
def test_narrow_panels_and_large_text_lose_nothing(
    show: Callable[[str], Page],  # noqa: F811
    width: int,
    height: int,
) -> None:
    """A panel of 800 pixels; 640 by 400 is what is left of 1280 by 800 at 200 %."""
    page = show("encoder.py:Encoder")
    page.set_viewport_size({"width": width, "height": height})
    press(page, "f")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in ("Export", "Noise", "Fit"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport()
    expect(page.get_by_role("searchbox")).to_be_in_viewport()
    box(page, "norm").click()
    close = page.get_by_role("button", name="Hide the inspector")
    expect(close).to_be_in_viewport()
    close.click()
    expect(page.get_by_role("complementary")).to_have_count(0)


def test_forced_colours_and_reduced_motion(show: Callable[[str], Page]) -> None:  # noqa: F811
    page = show("encoder.py:Encoder")
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    box(page, "norm").click()
    colours = page.evaluate(
        """() => ['.box.selected > .back', '.box.operation > .back'].map((one) => {
          const { stroke, animationName } = getComputedStyle(document.querySelector(one));
          return [stroke, animationName];
        })"""
    )
    assert colours[0][0] != colours[1][0]  # what is selected is told apart
    assert {animation for _, animation in colours} == {"none"}
