"""The canvas as a person uses it: real captures, the real daemon, a real browser."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from tests.canvas.daemon import Daemon, tvls_open

WORKSPACE = Path(__file__).parent / "workspace"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(WORKSPACE, tmp_path_factory.mktemp("reading") / "models"))


@pytest.fixture(scope="module")
def running(workspace: Path, models_python: str) -> Iterator[Callable[[str], Daemon]]:
    """A daemon that shows a target, one for each."""
    started: dict[str, Any] = {}

    def start(target: str) -> Daemon:
        if target not in started:
            opened = tvls_open(workspace, target, models_python)
            started[target] = (opened, opened.__enter__())
        return started[target][1]

    yield start
    for opened, _ in started.values():
        opened.__exit__(None, None, None)


@pytest.fixture
def show(page: Page, running: Callable[[str], Daemon]) -> Iterator[Callable[[str], Page]]:
    """Opens the page of a target. An error on the console fails the test."""
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))

    def opened(target: str) -> Page:
        daemon = running(target)
        name, _, value = daemon.cookie.partition("=")
        page.context.add_cookies([{"name": name, "value": value, "url": f"http://{daemon.host}"}])
        page.goto(f"http://{daemon.host}{daemon.path}")
        expect(boxes(page).first).to_be_visible()
        return page

    yield opened
    assert faults == []


def boxes(page: Page) -> Locator:
    return page.get_by_role("treeitem")


def box(page: Page, title: str) -> Locator:
    return boxes(page).filter(has=page.locator(f"text.title >> text=/^{re.escape(title)}$/")).first


def titles(page: Page) -> list[str]:
    return page.locator("svg.graph .title").all_text_contents()


def place(item: Locator) -> tuple[float, float]:
    found = item.bounding_box()
    assert found is not None
    return found["x"], found["y"]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_the_first_picture_reads_like_the_model(show: Callable[[str], Page]) -> None:  # R29, R36
    page = show("encoder.py:Encoder")
    boxes_of_the_model = ["tokens", "broadcast_in_dim", "add", "layers_0 … layers_5", "norm", "head"]
    assert titles(page) == ["tokens", *boxes_of_the_model, "result"]
    expect(page.get_by_role("heading", name="Encoder")).to_be_visible()
    expect(page.locator("svg.graph .label").first).to_have_text("i32[2,16]")
    expect(box(page, "broadcast_in_dim")).to_contain_text("positions f32[16,64]")


def test_a_group_opens_in_place(show: Callable[[str], Page]) -> None:  # R29
    page = show("encoder.py:Encoder")
    item = box(page, "head")
    toggle = item.locator("[data-toggle]")
    before = place(toggle)
    toggle.click()
    expect(item).to_have_attribute("aria-expanded", "true")
    expect(box(page, "dot_general")).to_be_visible()
    after = place(item.locator("[data-toggle]"))
    assert after == pytest.approx(before, abs=2)
    item.locator("[data-toggle]").click()
    expect(box(page, "dot_general")).to_have_count(0)


def test_a_folded_block_opens_to_one_instance_and_steps(show: Callable[[str], Page]) -> None:  # R36
    page = show("encoder.py:Encoder")
    folded = box(page, "layers_0 … layers_5")
    expect(folded).to_contain_text("\N{MULTIPLICATION SIGN}6")
    folded.locator("[data-toggle]").click()
    expect(box(page, "layers_0")).to_contain_text("1/6")
    box(page, "layers_0").locator("[data-step='1']").click()
    expect(box(page, "layers_1")).to_contain_text("2/6")
    expect(page.locator("svg.graph .box").filter(has_text="norm_attention")).to_have_count(1)


def test_the_inspector_tells_what_a_node_is(show: Callable[[str], Page]) -> None:  # R26, R41
    page = show("encoder.py:Encoder")
    box(page, "head").locator("[data-toggle]").click()
    box(page, "dot_general").click()
    inspector = page.get_by_role("complementary", name="Inspector")
    expect(inspector.get_by_role("link")).to_have_attribute(
        "href", "https://docs.jax.dev/en/latest/_autosummary/jax.lax.dot_general.html"
    )
    expect(inspector).to_contain_text("float32[2, 16, 64]")
    expect(inspector).to_contain_text("dimension_numbers")
    expect(inspector).to_contain_text("derived from shapes")
    expect(inspector.get_by_role("button", name=re.compile(r"^encoder\.py:\d+$")).first).to_be_visible()
    # The producer is another box: a press goes there.
    inspector.locator(".values .from button").first.click()
    expect(inspector.get_by_role("heading", level=2)).not_to_contain_text("dot_general")


def test_a_frame_goes_to_the_source(show: Callable[[str], Page]) -> None:  # R26
    page = show("encoder.py:Encoder")
    box(page, "add").click()
    page.get_by_role("complementary").get_by_role("button", name=re.compile(r"^encoder\.py:\d+$")).first.click()
    # Without an editor the place is said.
    expect(page.locator(".said")).to_contain_text(re.compile(r"encoder\.py:\d+"))


def test_search_opens_what_hides_its_hits(show: Callable[[str], Page]) -> None:  # R29
    page = show("encoder.py:Encoder")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("dot_general layers_3 f32[*, *, 256]")
    expect(page.locator(".search-count")).to_have_text("1")
    page.keyboard.press("Enter")
    expect(page.locator(".search-count")).to_have_text("1/1")
    expect(page.locator(".box.selected .title")).to_have_text("dot_general")
    expect(box(page, "layers_3")).to_contain_text("4/6")
    press(page, "Escape")
    expect(page.locator("svg.graph")).to_be_focused()


def test_everything_by_keyboard(show: Callable[[str], Page]) -> None:  # R29
    page = show("encoder.py:Encoder")
    selected = page.locator(".box.selected .title")
    page.locator("svg.graph").focus()
    expect(selected).to_have_text("tokens")
    press(page, "ArrowDown", "ArrowDown")
    expect(selected).to_have_text("add")
    press(page, "ArrowDown")
    expect(selected).to_have_text("layers_0 … layers_5")
    press(page, "Enter")
    expect(page.get_by_role("treeitem", selected=True)).to_have_attribute("aria-expanded", "true")
    press(page, "ArrowRight")
    press(page, "Backspace")
    expect(page.get_by_role("treeitem", selected=True)).to_contain_text("1/6")
    press(page, "]")
    expect(page.get_by_role("treeitem", selected=True)).to_contain_text("2/6")
    active = page.locator("svg.graph").get_attribute("aria-activedescendant")
    expect(page.locator(f"#{active}")).to_have_attribute("aria-selected", "true")
    press(page, "?")
    expect(page.get_by_role("dialog")).to_contain_text("walk the graph")
    press(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press(page, "f")
    page.wait_for_function(
        """() => {
          const stage = document.querySelector('svg.graph').getBoundingClientRect();
          return [...document.querySelectorAll('.box')].every((box) => {
            const { top, bottom, left, right } = box.getBoundingClientRect();
            return top >= stage.top && bottom <= stage.bottom && left >= stage.left && right <= stage.right;
          });
        }"""
    )


@pytest.mark.parametrize("way", ["key", "button"])
def test_readable_detail_goes_to_what_is_selected_at_a_size_to_read(show: Callable[[str], Page], way: str) -> None:
    # R29
    page = show("encoder.py:Encoder")
    world = page.locator("svg.graph .world")
    press(page, "e", "e")
    press(page, "/")
    page.keyboard.type("head dot_general")
    expect(page.locator(".search-count")).not_to_have_text(re.compile("nothing|…"))
    press(page, "Enter", "Escape")
    chosen = page.locator(".box.selected")
    press(page, "f")
    expect(world).to_have_attribute("transform", re.compile(r"scale\(0\.[0-3]"))
    if way == "key":
        press(page, "r")
    else:
        page.get_by_role("button", name="Readable").click()
    expect(world).to_have_attribute("transform", re.compile(r"scale\(0\.9\)"))
    expect(chosen.locator(".title")).to_have_text("dot_general")
    expect(chosen).to_be_in_viewport(ratio=1)


def test_a_body_is_a_labelled_view_of_its_own(show: Callable[[str], Page]) -> None:  # R34, R17
    page = show("rnn.py:LSTM")
    expect(page.locator("[data-badge=coverage]")).to_have_text("partial: 1 opaque")
    page.locator(".chip.body").first.click()
    trail = page.get_by_role("navigation", name="Bodies")
    expect(trail).to_contain_text("body of scan")
    expect(trail).to_contain_text("not reported as executed")
    expect(box(page, "tanh")).to_be_visible()
    trail.get_by_role("button").first.click()
    expect(trail).to_have_count(0)
    expect(page.locator(".box.selected .title")).to_have_text("scan")


def test_the_setup_form_stands_in_front_of_the_graph(show: Callable[[str], Page]) -> None:  # R10
    page = show("encoder.py:Encoder")
    page.get_by_role("button", name="Setup").click()
    form = page.get_by_role("region", name="Setup")
    expect(form.get_by_role("heading", name="Setup")).to_be_focused()
    # What is filled in is not said to lack.
    expect(form.locator(".required")).to_have_count(0)
    press(page, "e", "Enter")
    expect(form).to_be_visible()
    press(page, "Escape")
    expect(form).to_have_count(0)
    expect(page.locator("svg.graph")).to_be_focused()
    # A hit of the search is in the graph.
    page.get_by_role("button", name="Setup").click()
    press(page, "/")
    page.keyboard.type("dot_general layers_3 f32[*, *, 256]")
    expect(page.locator(".search-count")).to_have_text("1")
    press(page, "Enter")
    expect(form).to_have_count(0)
    expect(page.locator(".box.selected .title")).to_have_text("dot_general")


def test_badges_explain_themselves(show: Callable[[str], Page]) -> None:  # R14
    page = show("cnn.py:CNN")
    assert page.locator(".badge").all_inner_texts()[1:4] == ["inferred", "complete", "fresh"]
    page.locator("[data-badge=evidence]").click()
    expect(page.get_by_role("region", name="evidence")).to_contain_text("nothing was measured")
    press(page, "Escape")
    expect(page.get_by_role("region", name="evidence")).to_have_count(0)
    page.locator("[data-badge=framework]").click()
    expect(page.get_by_role("region", name="framework")).to_contain_text("jaxlib")
    press(page, "Escape")
    # On a narrow window too, all of it is on the screen.
    page.set_viewport_size({"width": 420, "height": 700})
    for badge in page.locator(".badge").all():
        badge.click()
        found = page.locator(".popover").bounding_box()
        assert found is not None
        assert found["x"] >= 0
        assert found["x"] + found["width"] <= 420
        press(page, "Escape")


def test_noise_is_hidden_counted_and_shown_again(show: Callable[[str], Page]) -> None:
    page = show("cnn.py:CNN")
    press(page, "f")
    box(page, "head").locator("[data-toggle]").click()
    expect(box(page, "dot_general")).to_be_visible()
    press(page, "f")
    before = titles(page)
    # It closes when the person goes on elsewhere.
    page.get_by_role("button", name="Noise").click()
    expect(page.get_by_role("region", name="Noise")).to_be_visible()
    page.get_by_role("button", name="Fit").click()
    expect(page.get_by_role("region", name="Noise")).to_have_count(0)
    assert before.count("reshape") == 2  # of the pictures, and of the head's bias
    page.get_by_role("button", name="Noise").click()
    page.get_by_role("group", name=re.compile("Shape-only")).get_by_label("hide").check()
    expect(page.get_by_role("button", name=re.compile(r"Noise · \d+ hidden"))).to_be_visible()
    expect(page.locator(".box .title", has_text="reshape")).to_have_count(1)
    expect(page.locator(".edge.through")).not_to_have_count(0)
    page.get_by_role("group", name=re.compile("Shape-only")).get_by_label("show").check()
    expect(page.get_by_role("button", name="Noise", exact=True)).to_be_visible()
    expect(page.locator(".box .title")).to_have_count(len(before))


def test_colours_say_where_they_come_from(show: Callable[[str], Page]) -> None:  # R41
    page = show("encoder.py:Encoder")
    page.get_by_label("Colour by").select_option("flops")
    expect(page.locator(".legend")).to_contain_text("derived from shapes")
    expect(page.locator(".legend")).to_contain_text("FLOPs")
    # The six layers cost most.
    expect(page.locator(".box.scale-8 .title")).to_have_text("layers_0 … layers_5")


def test_a_train_step_is_readable(show: Callable[[str], Page]) -> None:
    page = show("encoder.py:train_step")
    # A hundred parameters are inputs; they are counted instead of drawn.
    expect(page.get_by_role("button", name=re.compile(r"Noise · \d+ hidden"))).to_be_visible()
    assert "jvp(Encoder)" in titles(page)
    assert any(title.startswith("transpose(jvp(Encoder") for title in titles(page))
    # However wide it is: what does most is on the screen, large enough to be read.
    expect(page.locator("svg.graph")).not_to_have_attribute("data-detail", "far")
    screen = page.locator("svg.graph").bounding_box()
    largest = max(boxes(page).all(), key=lambda item: operations(item.get_attribute("aria-label") or ""))
    found = largest.bounding_box()
    assert screen is not None
    assert found is not None
    assert screen["x"] <= found["x"]
    assert found["x"] + found["width"] <= screen["x"] + screen["width"]
    assert screen["y"] <= found["y"] <= screen["y"] + screen["height"]


def test_what_a_train_step_returns_is_a_few_boxes(show: Callable[[str], Page]) -> None:  # R19
    page = show("encoder.py:train_step")
    state = page.get_by_role("treeitem", name=re.compile(r"^result\[1\]\[0\] 77 arrays, output"))
    expect(state).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("treeitem", name=re.compile(r"^result\[0\]\.params 38 arrays"))).to_be_visible()
    state.locator(".toggle").click()
    expect(state).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("treeitem", name=re.compile(r"^result\[1\]\[0\]\.mu\.params 38 arrays"))).to_be_visible()
    # One that is inside of what is closed is found, and opens it.
    page.locator("#search").fill("result nu.params.head.bias")
    expect(page.locator(".search-count")).to_have_text("1")
    page.locator("#search").press("Enter")
    expect(page.get_by_role("treeitem", name=re.compile(r"^result\[1\]\[0\]\.nu\S*head\.bias"))).to_be_visible()
    page.get_by_role("treeitem", name=re.compile(r"^result\[0\]\.params 38")).locator("text.title").click()
    expect(page.get_by_role("complementary", name="Inspector")).to_contain_text("float32[64, 1000]from add")


def operations(label: str) -> int:
    """Of a closed box, by what it says."""
    found = re.search(r"(?:(\d+) \u00d7 )?([\d,]+) ops", label)
    return int(found[1] or 1) * int(found[2].replace(",", "")) if found else 0


def test_the_inspector_covers_nothing_of_a_graph_that_fits(show: Callable[[str], Page]) -> None:  # R29
    page = show("encoder.py:Encoder")
    graph = page.locator("svg.graph")
    for key in ("", "e", "c"):
        if key:
            before = graph.get_attribute("data-boxes") or ""
            press(page, key)
            expect(graph).not_to_have_attribute("data-boxes", before)
            press(page, "f")
        graph.focus()
        press(page, "ArrowDown")
        aside = page.get_by_role("complementary", name="Inspector")
        edge = aside.bounding_box()
        assert edge is not None
        for element in boxes(page).all():
            found = element.bounding_box()
            assert found is not None
            assert found["x"] + found["width"] <= edge["x"] + 1


def test_edits_are_followed(show: Callable[[str], Page], workspace: Path) -> None:  # R27
    page = show("tower.py:Tower")
    box(page, "head").locator("[data-toggle]").click()
    expect(page.locator("svg.graph .label").last).to_have_text("f32[2,3]")
    model = workspace / "tower.py"
    text = model.read_text()
    try:
        model.write_text(text.replace("nn.Dense(3", "nn.Dense(7"))
        expect(page.locator("svg.graph .label").last).to_have_text("f32[2,7]", timeout=20_000)
        # What was open stays open, and what differs is marked.
        expect(box(page, "head")).to_have_attribute("aria-expanded", "true")
        expect(page.locator(".box.changed").first).to_be_visible()
        expect(page.locator("[data-badge=freshness]")).to_have_text("fresh")

        model.write_text(text.replace("nn.Dense(3", "nn.Dense('3'"))
        expect(page.locator(".banner.failed")).to_contain_text("The trace failed", timeout=20_000)
        expect(page.locator("[data-badge=freshness]")).to_have_text("stale")
        expect(box(page, "head")).to_be_visible()
        page.locator(".banner.failed summary").click()
        expect(page.locator(".banner.failed")).to_contain_text("tower.py:")
    finally:
        model.write_text(text)
    expect(page.locator(".banner.failed")).to_have_count(0, timeout=20_000)
    expect(page.locator("[data-badge=freshness]")).to_have_text("fresh")


_INK = """async ([png, from]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, Math.floor(image.height * from), image.width, image.height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4) colours.add(data.slice(at, at + 3).join());
    return { width: image.width, height: image.height, colours: colours.size };
}"""
"""Size of a picture, and the colours of what lies below a part of its height."""


def test_the_view_is_taken_away(show: Callable[[str], Page], tmp_path: Path) -> None:  # R14, R29
    page = show("encoder.py:Encoder")

    def exported(name: str) -> Path:
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as waiting:
            page.get_by_role("button", name=re.compile(re.escape(f"({name})"))).click()
        download: Download = waiting.value
        path = tmp_path / download.suggested_filename
        download.save_as(path)
        return path

    picture = exported("SVG").read_text()
    assert picture.startswith("<svg")
    assert all(text in picture for text in ("layers_0 … layers_5", "f32[2,16,64]", "positions"))
    assert "class=" not in picture  # colours are in the picture itself
    known = "inferred · coverage complete · fresh when exported"
    assert re.search(r"<title>Encoder</title><desc>flax.linen · encoder.py · [^<]*jax \d[^<]*\n" + known, picture)
    assert re.findall(r"<text[^>]*>([^<]*)</text>", picture)[-1] == known  # below the picture, to be seen
    png = exported("PNG").read_bytes()
    assert png.startswith(b"\x89PNG")
    size = [float(size) for size in re.findall(r' (?:width|height)="([\d.]+)"', picture)[:2]]
    seen = page.evaluate(_INK, [base64.b64encode(png).decode(), 1 - 60 / size[1]])
    assert seen["width"] / seen["height"] == pytest.approx(size[0] / size[1], rel=0.01)
    assert seen["colours"] > 2
    assert json.loads(exported("JSON").read_text())["backend"] == "jaxpr"
    saved = exported("HTML")
    assert "file:///" not in saved.read_text()

    # It opens from disk, with nothing behind it.
    page.goto(saved.as_uri())
    expect(box(page, "layers_0 … layers_5")).to_be_visible()
    box(page, "head").locator("[data-toggle]").click()
    box(page, "dot_general").click()
    expect(page.get_by_role("complementary")).to_contain_text("dimension_numbers")
    press(page, "/")
    page.keyboard.type("layers_4 exp")
    expect(page.locator(".search-count")).not_to_have_text(re.compile("nothing|…"))
    press(page, "Enter")
    expect(box(page, "layers_4")).to_contain_text("5/6")
    expect(page.locator("[data-badge=evidence]")).to_have_text("inferred")
    expect(page.locator("[data-badge=coverage]")).to_have_text("complete")
    expect(page.locator("[data-badge=freshness]")).to_have_text("saved")
    assert "inferred · coverage complete · from a saved file" in exported("SVG").read_text()
