"""The inspector's page in a real browser, and worlds that it shows from another thread.

The browser is that of the system, found by its name. Without one tests of the page are left out,
but not where the variable CI is set: `make browser`.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any, Protocol

import pytest
from PIL import Image
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    expect,
    sync_playwright,
)

from ecsgen.inspector import serve
from tests.support.inspector_client import PAGE

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


class Watched:
    """An inspector whose world lives on a thread of its own, since playwright has the test's.

    With a step it runs the world, else it only ticks.
    """

    def __init__(self, world: Any, **options: Any) -> None:
        self.world = world
        self.inspector = serve(world, **options)
        self._is_open = True
        act = self._run if "step" in options else self._tick
        self._thread = threading.Thread(target=act, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(ZeroDivisionError):
            self.inspector.run()

    def _tick(self) -> None:
        while self._is_open:
            self.inspector.tick()
            time.sleep(0.002)

    def close(self) -> None:
        self._is_open = False
        self.inspector.close()
        self._thread.join()


class Watch(Protocol):
    """Has the page show a world, at a path behind the address of its inspector."""

    def __call__(self, world: Any, path: str = "", **options: Any) -> None: ...


@pytest.fixture
def watch(page: Page) -> Iterator[Watch]:
    every: list[Watched] = []

    def show(world: Any, path: str = "", **options: Any) -> None:
        every.append(Watched(world, **options))
        page.goto(every[-1].inspector.url + path)

    yield show
    for watched in every:
        watched.close()


def pretend_a_card(page: Page) -> None:
    """Have a page draw by WebGL, as it does with a graphics card."""
    body = (PAGE / "renderer.js").read_text().replace("!SOFTWARE.test(name)", "true")
    answer = {"body": body, "content_type": "text/javascript"}
    page.route("**/static/renderer.js", lambda route: route.fulfill(**answer))


def shot(shown: Locator) -> Image.Image:
    """Return what is seen of a part of the page."""
    return Image.open(BytesIO(shown.screenshot())).convert("RGB")
