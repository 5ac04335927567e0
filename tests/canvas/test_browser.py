"""What a real browser lets the page do, and what it keeps others from doing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserType, Page, expect

from tests.canvas.daemon import Daemon

VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


@pytest.fixture
def canvas(page: Page, fresh_daemon: Daemon) -> Iterator[Page]:
    """The page, just opened. What it writes to the console as an error is an error."""
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.add_init_script(VIOLATIONS)
    page.goto(fresh_daemon.address)
    expect(page.locator("body")).to_contain_text("net")
    assert faults == []
    assert page.evaluate("violations") == []
    yield page


def test_the_page_works_under_its_own_policy(canvas: Page, fresh_daemon: Daemon) -> None:
    assert canvas.url == f"http://{fresh_daemon.host}{fresh_daemon.path}"  # without the secret
    canvas.reload()
    expect(canvas.locator("body")).to_contain_text("net")
    assert canvas.evaluate("document.cookie") == ""
    assert canvas.evaluate("document.referrer") == ""


def test_nothing_foreign_runs_in_the_page(canvas: Page) -> None:
    ran = canvas.evaluate(
        """async () => {
          const ran = [];
          // Not at once: what the test itself evaluates may use eval.
          setTimeout(() => { try { eval("ran.push('eval')"); } catch {} });
          const script = document.createElement("script");
          script.textContent = "window.inlined = true";
          document.body.append(script);
          if (window.inlined) ran.push("inline script");
          document.body.insertAdjacentHTML("beforeend", "<p id=styled style='color: red'>x</p>");
          if (getComputedStyle(document.getElementById("styled")).color === "rgb(255, 0, 0)") ran.push("inline style");
          try { await fetch("http://127.0.0.1:1/"); ran.push("fetch"); } catch {}
          await new Promise((resolve) => setTimeout(resolve, 50));
          return ran;
        }"""
    )
    assert ran == []
    assert {"script-src", "connect-src"} <= {name.removesuffix("-elem") for name in canvas.evaluate("violations")}


def test_an_address_that_someone_else_sees(canvas: Page, fresh_daemon: Daemon, browser: Browser) -> None:
    """The secret is used up, and the cookie is in the first browser alone."""
    with browser.new_context() as stranger:
        page = stranger.new_page()
        answer = page.goto(fresh_daemon.address)
        assert answer is not None
        assert answer.status == 403
        expect(page.get_by_role("heading")).to_contain_text("does not count any more")


def test_another_site_in_the_same_browser(canvas: Page, fresh_daemon: Daemon, tmp_path: Path) -> None:
    """It has the browser's cookies for this machine at hand, and gets neither data, frame nor script."""
    other = canvas.context.new_page()
    other.route("http://evil.example/", lambda route: route.fulfill(body="<p>evil</p>", content_type="text/html"))
    other.goto("http://evil.example/")
    result = other.evaluate(
        """async (host) => {
          const socket = new WebSocket(`ws://${host}/rpc`);
          const opened = await new Promise((resolve) => {
            socket.onopen = () => resolve("opened");
            socket.onclose = () => resolve("closed");
          });
          const script = document.createElement("script");
          script.src = `http://${host}/canvas.js`;
          const loaded = await new Promise((resolve) => {
            script.onload = () => resolve("loaded");
            script.onerror = () => resolve("refused");
            document.body.append(script);
          });
          const got = await fetch(`http://${host}/admitted`, { credentials: "include" }).then(
            () => "read", () => "refused");
          return [opened, loaded, got];
        }""",
        fresh_daemon.host,
    )
    assert result == ["closed", "refused", "refused"]
    with other.expect_event("framenavigated", lambda frame: frame.url != "about:blank"):
        other.evaluate(
            """(address) => {
              const frame = document.createElement("iframe");
              frame.src = address;
              document.body.append(frame);
            }""",
            f"http://{fresh_daemon.host}{fresh_daemon.path}",
        )
    assert other.frames[1].url.startswith("chrome-error:")


def test_a_name_that_was_bent_to_this_machine(
    browser_type: BrowserType, browser_type_launch_args: dict[str, object], fresh_daemon: Daemon
) -> None:
    arguments = [*browser_type_launch_args["args"], "--host-resolver-rules=MAP evil.example 127.0.0.1"]  # type: ignore[misc]
    bent = browser_type.launch(**{**browser_type_launch_args, "args": arguments})  # type: ignore[arg-type]
    try:
        page = bent.new_page()
        answer = page.goto(fresh_daemon.address.replace("127.0.0.1", "evil.example"))
        assert answer is not None
        assert answer.status == 403
    finally:
        bent.close()
    assert fresh_daemon.cookie  # and the address still counts


def test_a_daemon_that_ends(canvas: Page, fresh_daemon: Daemon) -> None:
    """The page notices, keeps what it shows, and tries again."""
    assert fresh_daemon.process.stdin is not None
    with canvas.expect_event("requestfailed", timeout=30_000):
        fresh_daemon.process.stdin.close()
        fresh_daemon.process.wait(20)
    expect(canvas.locator("body")).to_contain_text("does not answer")
