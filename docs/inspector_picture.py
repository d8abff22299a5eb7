"""The pictures of the inspector: its page over a million rows, and over a run of the flock.

They need a browser: `make browser`.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from watch_flock import make  # of examples

from ecsgen.inspector import Inspector, serve
from generated import Health, Weapon, World

WATCHING = Path(__file__).parent / "pictures" / "watching.png"
STEPS = 250
PICTURE = Path(__file__).parent / "pictures" / "inspector.png"
ROWS = 1_000_000
SHOWN = "#/rows/point_mass?sort=mass&desc=1&histogram=mass"


def world() -> World:
    """A million rocks, and a few of what else there is."""
    made, chance = World(), np.random.default_rng(7)
    rocks = made.spawn(
        ROWS,
        transform={},
        point_mass={
            "mass": chance.lognormal(1.0, 0.5, ROWS),
            "position": chance.normal(0, 100, (ROWS, 3)).round(2),
            "velocity": chance.normal(0, 3, (ROWS, 3)).round(3),
        },
    )
    few = rocks[:: ROWS // 2000]
    made.position.create_many(few)
    made.velocity.create_many(few)
    made.scene_node.create_many(few[:300])
    made.sound_source.create_many(few[:40])
    made.spark.create_many(700)
    made.archetypes.create([Health, Weapon], n=1200)
    for row in range(0, ROWS, 5000):
        made.point_mass.set_label(row, f"rock {row}")
    return made


def ticking(inspector: Inspector, ended: threading.Event) -> None:
    while not ended.is_set():
        inspector.tick()
        time.sleep(0.01)


@contextmanager
def opened(url: str) -> Iterator[Page]:
    """Yield a page of a browser without a window, at this address."""
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with sync_playwright() as playwright:
        shown = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = shown.new_page(viewport={"width": 1200, "height": 720})
        page.goto(url)
        yield page
        shown.close()


def main() -> None:
    ended = threading.Event()
    with serve(world()) as inspector:
        thread = threading.Thread(target=ticking, args=(inspector, ended))
        thread.start()
        with opened(f"{inspector.url}{SHOWN}") as page:
            page.locator('[data-chart="histogram"]').wait_for()
            page.locator('th[aria-sort="descending"]').wait_for()
            time.sleep(1.5)
            page.screenshot(path=PICTURE)
        ended.set()
        thread.join()


def watching() -> None:
    """Draw the map of a run."""
    world, step = make()
    for _ in range(STEPS):
        step()
    with serve(world, step=step, make=make) as inspector:
        thread = threading.Thread(target=inspector.run)
        thread.start()
        with opened(f"{inspector.url}#/map?direction=heading") as page:
            page.locator("[data-map='2000']").wait_for()
            page.locator("[data-run='step']").click()
            time.sleep(1.5)
            page.screenshot(path=WATCHING)
            page.locator("[data-run='stop']").click()
        thread.join()


if __name__ == "__main__":
    main()
    watching()
