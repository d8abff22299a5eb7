"""The inspector's page in a real browser: that of the system, found by its name.

Without one tests of it are left out, but not where the variable CI is set: `make browser`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.support.watched_page import Watch, Watched

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


@pytest.fixture(scope="module")  # no longer: playwright's loop is that of the thread
def browser() -> Iterator[Browser]:
    if BROWSER is None:
        if os.environ.get("CI"):
            pytest.fail("there is no browser: make browser")
        pytest.skip("there is no browser: make browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page, of whose scripts none fails."""
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.extend([message.text] if is_wrong(message) else []))
    yield page
    page.close()
    assert wrong == []


def is_wrong(message: ConsoleMessage) -> bool:
    """Return True if a message is an error; the page tells of refused requests itself."""
    return message.type == "error" and "Failed to load resource" not in message.text


@pytest.fixture
def watch(page: Page) -> Iterator[Watch]:
    every: list[Watched] = []

    def show(world: Any, path: str = "", **options: Any) -> None:
        every.append(Watched(world, **options))
        page.goto(every[-1].inspector.url + path)

    yield show
    for watched in every:
        watched.close()
