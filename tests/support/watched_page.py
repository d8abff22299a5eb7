"""The inspector's page, and worlds that it shows from another thread."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

from PIL import Image
from playwright.sync_api import Locator, Page

import ecsgen.inspector
from ecsgen.inspector import serve

PAGE = Path(ecsgen.inspector.__file__).parent / "page"
"""The folder of its files."""


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


def pretend_a_card(page: Page) -> None:
    """Have a page draw by WebGL, as it does with a graphics card."""
    body = (PAGE / "renderer.js").read_text().replace("!SOFTWARE.test(name)", "true")
    answer = {"body": body, "content_type": "text/javascript"}
    page.route("**/static/renderer.js", lambda route: route.fulfill(**answer))


def shot(shown: Locator) -> Image.Image:
    """Return what is seen of a part of the page."""
    return Image.open(BytesIO(shown.screenshot())).convert("RGB")
