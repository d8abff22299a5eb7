"""The inspector: what a frame pays for being looked at, and how long the page takes.

    python benchmarks/inspector.py [--rows N] [--rounds N] [--without-browser]

"a frame's share" is the time of one `tick()`, the longest and the median of those that answered
something. A request may take several: large columns are copied over several frames. "answered
after" has 5 ms between two ticks in it. The page is timed in the system's browser, if there is one.
"""

from __future__ import annotations

import http.client
import shutil
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _arguments import parsed
from _timing import machine

from ecsgen.inspector import Inspector, serve
from generated import Health, Weapon, World

FRAME = 0.005
NOTHING = 5e-5  # seconds: what ticks with nothing to answer stay below
FIRST = 1 << 32
PATHS = (
    "world",
    "rows/point_mass?count=500&start={last}",
    "entity/{first}",
    "rows/weapon?start={half}",
    "rows/weapon?sort=damage",
    "rows/point_mass?sort=mass",
    "query/movers?sort=point_mass.mass",
    "histogram/point_mass/mass",
    "histogram/point_mass/position",
    "points/boid?direction=heading&ids=0",
)


def large(rows: int) -> World:
    """A world with so many rows in managers of several kinds, with holes, and in chunks."""
    world, chance = World(), np.random.default_rng(0)
    es = world.spawn(
        rows,
        transform={},
        point_mass={"mass": chance.random(rows)},
        kin={},
        position={},
        velocity={},
    )
    world.spawn(rows // 10, boid={"position": chance.random((rows // 10, 2))})
    world.tile.create_many(es[:3000])  # has holes, and room for few
    world.kin.set_parent_many(np.arange(1, rows), np.arange(rows - 1) // 10)
    world.archetypes.create([Health, Weapon], n=rows, weapon={"damage": chance.random(rows)})
    gone = chance.choice(es[1:], rows // 10, replace=False)
    world.destroy_many(gone)
    world.collect()
    return world


class Asked:
    """An inspector and what its ticks take while it is asked."""

    def __init__(self, inspector: Inspector) -> None:
        self._inspector = inspector
        parts = urlsplit(inspector.url)
        self._token = parse_qs(parts.query)["token"][0]
        self._port = parts.port or 0
        self._threads = ThreadPoolExecutor(1)

    def _send(self, path: str) -> float:
        began = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("GET", f"/api/{path}", headers={"X-Ecsgen-Token": self._token})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200:
            raise ValueError(f"{path}: {answer.status} {body[:200]!r}")
        return time.perf_counter() - began

    def ask(self, path: str) -> tuple[list[float], float]:
        """Return the seconds of each tick that answered, and those until the whole answer came."""
        answer = self._threads.submit(self._send, path)
        shares = []
        while not answer.done():
            began, used = time.perf_counter(), time.thread_time()
            self._inspector.tick()
            spent = min(time.perf_counter() - began, time.thread_time() - used)
            if spent > NOTHING:
                shares.append(spent)
            time.sleep(FRAME)
        return shares, answer.result()


def show_requests(world: World, rows: int, rounds: int) -> None:
    """Print what each path costs, the world having changed before each request."""
    print("| path | ticks | longest share | median share | answered after |")
    print("| --- | --- | --- | --- | --- |")
    with serve(world) as inspector:
        asked = Asked(inspector)
        for path in PATHS:
            shares, waits, ticks = [], [], 0
            named = path.format(first=FIRST, half=rows // 2, last=max(rows * 9 // 10 - 500, 0))
            for _ in range(rounds):
                touch(world)
                answered, waited = asked.ask(named)
                shares += answered or [0.0]
                waits.append(waited)
                ticks = len(answered)
            longest, median = 1e3 * max(shares), 1e3 * statistics.median(shares)
            cells = f"{longest:.2f} ms | {median:.2f} ms | {1e3 * min(waits):.0f} ms"
            print(f"| {path} | {ticks} | {cells} |", flush=True)


def touch(world: World) -> None:
    """Change all that requests look at, so that nothing that was copied is good any more."""
    world.destroy(world.spawn(1, transform={}, point_mass={}, kin={})[0])
    world.archetypes.create([Health, Weapon])
    world.collect()


def show_tick(world: World, calls: int) -> None:
    """Print what a tick costs that has nothing to answer."""
    with serve(world) as inspector:
        times = []
        for _ in range(7):
            began = time.perf_counter()
            for _ in range(calls):
                inspector.tick()
            times.append((time.perf_counter() - began) / calls)
    components = len(World.MANAGERS) + 4
    print(f"\ntick() with nothing to do, {components} components: {1e6 * min(times):.2f} µs\n")


def show_page(world: World, rounds: int) -> None:
    """Print how long the page takes in a browser: until rows are there, and from first to last."""
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if browser is None:
        print("the page: there is no browser (make browser)")
        return
    from playwright.sync_api import sync_playwright

    ended = threading.Event()
    with serve(world) as inspector, sync_playwright() as playwright:
        thread = threading.Thread(target=ticking, args=(inspector, ended))
        thread.start()
        shown = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        times = [looked(shown, inspector.url, len(world.point_mass)) for _ in range(rounds)]
        shown.close()
        ended.set()
        thread.join()
    names = "first rows after the start", "the last row after scrolling"
    for what, seconds in zip(names, zip(*times, strict=True), strict=True):
        print(f"{what}: {min(seconds):.3f} s at best, {statistics.median(seconds):.3f} s median")


def ticking(inspector: Inspector, ended: threading.Event) -> None:
    while not ended.is_set():
        inspector.tick()
        time.sleep(FRAME)


def looked(browser: Any, url: str, rows: int) -> tuple[float, float]:
    """Return the seconds until the page shows rows, and until it shows the last one."""
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    began = time.perf_counter()
    page.goto(f"{url}#/rows/point_mass")
    page.locator('[data-row="0"]').wait_for()
    first = time.perf_counter() - began
    began = time.perf_counter()
    page.locator(".grid").evaluate("grid => { grid.scrollTop = grid.scrollHeight }")
    page.locator(f'[data-row="{rows - 1}"]').wait_for()
    last = time.perf_counter() - began
    page.close()
    return first, last


def main() -> None:
    options = parsed(__doc__, rows=1_000_000, rounds=5, without_browser=False)
    print(f"{options.rows:,} rows, {machine()}")
    world = large(options.rows)
    show_tick(world, 20_000 if options.rows > 1000 else 20)
    show_requests(world, options.rows, options.rounds)
    if not options.without_browser:
        show_page(world, options.rounds)


if __name__ == "__main__":
    main()
