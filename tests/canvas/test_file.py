"""`tvls show GRAPH.json --html PAGE.html`: a graph file as a page that opens from disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.canvas.test_reading import press
from tests.graph.captures import document, encoded, frame, operation, value, with_bodies


def show(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tvls", "show", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, done.stderr
    return done


def test_a_graph_file_becomes_a_page(page: Page, tmp_path: Path) -> None:  # R14, R29
    graph, made = tmp_path / "net.json", tmp_path / "net.html"
    graph.write_bytes(encoded(with_bodies()))
    show(graph, "--html", made)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(made.as_uri())
    expect(page.get_by_role("treeitem").first).to_be_visible()
    expect(page.locator("[data-badge=freshness]")).to_have_text("saved")
    expect(page.locator("[data-badge=evidence]")).to_have_text("inferred")
    expect(page.locator("[data-badge=coverage]")).to_have_text("partial: 2 opaque")
    # Nothing is offered that only a server could do.
    expect(page.get_by_role("button", name="Setup")).to_have_count(0)
    expect(page.get_by_role("button", name="Refresh")).to_have_count(0)
    page.locator(".chip.body").first.click()
    expect(page.get_by_role("navigation", name="Bodies")).to_contain_text("not reported as executed")
    press(page, "Backspace")
    expect(page.get_by_role("navigation", name="Bodies")).to_have_count(0)
    assert faults == []


def test_many_outputs_are_a_structure_there_too(page: Page, tmp_path: Path) -> None:
    found = document(
        values=[value("input"), value()],
        operations=[operation("sin.0", [0], [1])],
        inputs={"args": [{"value": 0}], "kwargs": {}},
        outputs={"tuple": [{"value": 1}, {"dict": {f"a{at:02}": {"value": 1} for at in range(30)}}]},
    )
    graph, made = tmp_path / "net.json", tmp_path / "net.html"
    graph.write_bytes(encoded(found))
    show(graph, "--html", made)
    page.goto(made.as_uri())
    many = page.get_by_role("treeitem", name="result[1] 30 arrays")
    expect(many).to_be_visible()
    expect(page.get_by_role("treeitem")).to_have_count(4)
    many.locator(".toggle").click()
    expect(page.get_by_role("treeitem")).to_have_count(34)
    many.locator(".toggle").click()
    expect(page.get_by_role("treeitem")).to_have_count(4)
    page.locator("#search").fill("a17")
    expect(page.locator(".search-count")).to_have_text("1")
    page.locator("#search").press("Enter")
    expect(page.get_by_role("treeitem", name="result[1].a17")).to_be_visible()


def test_text_of_a_program_is_text(page: Page, tmp_path: Path) -> None:
    """Names that end a script, or begin an element, are shown as they are."""
    evil = "</script><img src=x onerror=alert(1)>"
    found = document(
        values=[value("input", name=evil), value()],
        operations=[operation("sin.0", [0], [1], primitive=evil, frames=[])],
        inputs={"args": [{"value": 0}], "kwargs": {}},
        outputs={"value": 1},
        frames=[frame(1, 0, 4)],
    )
    graph, made = tmp_path / "net.json", tmp_path / "net.html"
    graph.write_bytes(encoded(found))
    show(graph, "--html", made)
    alerts: list[str] = []
    page.on("dialog", lambda dialog: alerts.append(dialog.message))  # the listener leaves it open
    page.goto(made.as_uri())
    expect(page.get_by_role("treeitem").filter(has_text="</script>").first).to_be_visible()
    assert page.locator("img").count() == 0
    assert alerts == []


def test_a_graph_that_is_too_large_says_so(tmp_path: Path) -> None:
    count = 20_001
    found = document(
        values=[value("input"), *(value() for _ in range(count))],
        operations=[operation(f"sin.{at}", [at], [at + 1], frames=[]) for at in range(count)],
        inputs={"args": [{"value": 0}], "kwargs": {}},
        outputs={"value": count},
    )
    graph = tmp_path / "net.json"
    graph.write_bytes(encoded(found))
    done = show(graph, "--html", tmp_path / "net.html", code=1)
    assert "too large for one page" in done.stderr
    assert not (tmp_path / "net.html").exists()
    assert json.loads(show(graph, "--json").stdout)["operations"]
