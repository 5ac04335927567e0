"""What a person sees in a window of VS Code, and does."""

from __future__ import annotations

from playwright.sync_api import FrameLocator, Locator, Page, expect

SECONDS = 90_000


def patient(page: Page) -> None:
    """Waits as long as a window takes that is loaded on a busy machine."""
    page.set_default_timeout(SECONDS)
    expect.set_options(timeout=SECONDS)


def panel(page: Page) -> FrameLocator:
    """The page in the only panel that is seen."""
    return page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")


def lens(page: Page, text: str = "Open as Graph") -> Locator:
    return page.locator(".codelens-decoration a", has_text=text)


def toast(page: Page, text: str) -> Locator:
    return page.locator(".notification-toast", has_text=text)


def box(graph: FrameLocator, path: str) -> Locator:
    """A box of the picture, by the part of its id that tells its place."""
    return graph.locator(f'.canvas .box[data-id*="{path}"]').first


def freshness(graph: FrameLocator) -> Locator:
    return graph.locator("[data-badge=freshness], .badge.freshness").first


def command(page: Page, title: str) -> None:
    """From the command palette."""
    page.keyboard.press("F1")
    page.locator(".quick-input-widget input").first.fill(f">{title}")
    page.locator(".quick-input-list .monaco-list-row", has_text=title).first.click()


def replace(page: Page, old: str, new: str) -> None:
    """Types over a piece of the text that is on one line."""
    page.locator(".monaco-editor .view-lines").first.click()
    page.keyboard.press("ControlOrMeta+Home")
    page.keyboard.press("ControlOrMeta+h")
    find = page.locator(".find-widget.visible")
    find.get_by_label("Find", exact=True).first.fill(old)
    find.get_by_label("Replace", exact=True).first.fill(new)
    find.get_by_label("Replace", exact=True).first.press("ControlOrMeta+Alt+Enter")
    page.keyboard.press("Escape")
