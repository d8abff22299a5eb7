"""The inspector's page in a real browser: that of the system, found by its name.

Without one these tests are left out, but not where the variable CI is set: `make browser`.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, expect, sync_playwright

from ecsgen.inspector import View, serve
from generated import Health, Weapon, World
from tests.support.world_package import world_package

pytestmark = pytest.mark.browser

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
ROWS = 1_000_000
HOSTILE = "<img src=x onerror=x()>"


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


class Ticking:
    """An inspector whose world lives on a thread of its own, since playwright has the test's."""

    def __init__(self, world: Any, **options: Any) -> None:
        self.world = world
        self.inspector = serve(world, **options)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.inspector.tick()
            time.sleep(0.002)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self.inspector.close()


def large() -> World:
    """A million entities, and some of everything the page shows."""
    world = World()
    mass = np.arange(ROWS)[::-1]
    es = world.spawn(ROWS, point_mass={"mass": mass, "label": "rock"})
    few = es[:200]
    world.scene_node.create_many(few)
    world.scene_node.set_parent_many(np.arange(1, 200), np.arange(199) // 5)
    world.position.create_many(few)
    world.velocity.create_many(few)
    world.transform.create_many(few)
    world.every_type.create(few[0], title="<b>&amp;")
    world.point_mass.set_label(1, HOSTILE)
    world.archetypes.create([Health, Weapon], n=2000)
    return world


@pytest.fixture(scope="module")
def shown() -> Iterator[Ticking]:
    inspected = Ticking(large(), edit=True)
    yield inspected
    inspected.close()


@pytest.fixture
def page(browser: Browser, shown: Ticking) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    context.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.extend([message.text] if is_wrong(message) else []))
    yield page
    context.close()
    assert wrong == []


def is_wrong(message: ConsoleMessage) -> bool:
    """Return True if a message is an error; the page tells of refused requests itself."""
    return message.type == "error" and "Failed to load resource" not in message.text


def test_a_million_rows(page: Page, shown: Ticking) -> None:
    page.goto(shown.inspector.url)
    page.locator('[data-component="point_mass"]').click()
    expect(page.locator('[data-row="0"]')).to_contain_text("999999")
    expect(page.locator('[data-row="1"]')).to_contain_text(HOSTILE)
    assert page.locator("main img").count() == 0
    assert page.locator("[data-row]").count() < 60
    grid = page.locator(".grid")
    grid.evaluate("grid => { grid.scrollTop = grid.scrollHeight }")
    expect(page.locator(f'[data-row="{ROWS - 1}"]')).to_be_visible()
    grid.focus()
    page.keyboard.press("Home")
    expect(page.locator('[data-row="0"][aria-selected="true"]')).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(f'[data-row="{ROWS - 1}"][aria-selected="true"]')).to_be_visible()
    page.get_by_role("button", name="mass").press("Enter")  # clicked in test_inspector_fields_page
    expect(page.locator('th[aria-sort="ascending"]')).to_contain_text("mass")
    grid.evaluate("grid => { grid.scrollTop = 0 }")
    expect(page.locator(f'[data-row="{ROWS - 1}"]')).to_be_visible()
    page.get_by_label("Histogram of a field").select_option("mass")
    expect(page.locator('[data-chart="histogram"]')).to_be_visible()


def test_search_and_entity(page: Page, shown: Ticking) -> None:
    page.goto(shown.inspector.url)
    expect(page.locator("#world")).to_have_text("Game")
    assert urlsplit(page.url).query == ""
    page.reload()  # which is answered by 401 at first: the tab knows the token
    expect(page.locator("#world")).to_have_text("Game")
    page.keyboard.press("/")
    page.keyboard.type("scene_node -every_type")
    expect(page.locator(".facts").first).to_contain_text("199 entities found")
    assert urlsplit(page.url).query == ""
    rows = page.locator("[data-row]")
    expect(rows).not_to_have_count(0)
    for text, advice in (
        ("scene_nodes", "no component is called scene_nodes"),
        ("tile|a -b", "no component is called a; no component is called b"),
        ("scene_node Spark", "rows of Spark belong to no entities"),
    ):
        page.locator("#search").fill(text)
        expect(page.locator(".facts").first).to_have_text(f"0 entities found; {advice}")
        expect(rows).to_have_count(0)
    page.locator("#search").fill("scene_node")
    expect(page.locator(".facts").first).to_have_text("200 entities found")
    expect(rows).not_to_have_count(0)
    page.locator("#search").fill("1v1")
    page.locator("#search").press("Enter")
    expect(page.get_by_label("point_mass label")).to_have_value(HOSTILE)
    mass = page.get_by_label("point_mass mass")
    expect(mass).to_have_value("999998")
    mass.fill("7.5")
    mass.press("Enter")
    expect(mass).to_have_value("7.5")
    mass.fill("heavy")
    mass.press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("'heavy' is no f32")
    mass.press("Escape")
    expect(mass).to_have_value("7.5")
    assert shown.world.point_mass.mass(1) == 7.5


def test_changes_go_one_after_the_other(page: Page, shown: Ticking) -> None:
    """The answer to a slow change does not hide the error of the change after it."""
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.goto(f"{shown.inspector.url}#/entity/{2 + (1 << 32)}")
    mass, label = page.get_by_label("point_mass mass"), page.get_by_label("point_mass label")
    expect(mass).to_have_value("999997")
    page.route("**/api/entity/*/point_mass*", hold_the_first)
    for value in ("8.5", "heavy"):
        mass.fill(value)
        mass.press("Enter")
    page.wait_for_timeout(200)  # for the second to overtake the first, if it can
    with page.expect_response(lambda answer: answer.request.method == "PATCH" and answer.ok):
        held[0].continue_()
    page.wait_for_timeout(200)
    expect(page.get_by_role("alert").first).to_contain_text("'heavy' is no f32")
    label.fill("stone")
    with page.expect_response(lambda answer: answer.request.method == "PATCH" and answer.ok):
        label.press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("'heavy' is no f32")
    mass.press("Escape")
    expect(mass).to_have_value("8.5")
    assert shown.world.point_mass.mass(2) == 8.5
    assert shown.world.point_mass.label(2) == "stone"


def test_the_last_refused_field_says_what_is_wrong(page: Page, shown: Ticking) -> None:
    page.goto(f"{shown.inspector.url}#/entity/{3 + (1 << 32)}")
    mass, position = page.get_by_label("point_mass mass"), page.get_by_label("point_mass position")
    expect(mass).to_have_value("999996")
    alert = page.get_by_role("alert").first
    for field, value in ((position, "[1, 2]"), (mass, "heavy")):
        field.fill(value)
        field.press("Enter")
        expect(field).to_have_class("wrong")
    expect(alert).to_have_text("mass: 'heavy' is no f32")
    expect(position).not_to_have_class("wrong")  # the first one's message goes, and its text
    expect(position).to_have_value("[0,0,0]")
    mass.press("Escape")
    expect(alert).to_be_hidden()


def test_pause_says_that_the_program_runs_on(page: Page, shown: Ticking) -> None:
    page.goto(shown.inspector.url)
    pause = page.locator("#pause")
    expect(pause).to_have_attribute("title", re.compile("the program runs on"))
    for pressed, text in (("true", "Go on (the program runs on)"), ("false", "Pause this page")):
        pause.click()
        expect(pause).to_have_attribute("aria-pressed", pressed)
        expect(pause).to_have_text(text)


def test_every_view(page: Page, shown: Ticking) -> None:
    page.goto(shown.inspector.url)
    for view, chart in (
        ("Frames", "frames"),
        ("Times", "times"),
        ("Memory", "memory"),
        ("Archetypes", "chunks"),
    ):
        page.get_by_role("link", name=view, exact=True).click()
        expect(page.locator(f'[data-chart="{chart}"]')).to_be_visible()
    page.get_by_role("link", name="movers").click()
    expect(page.locator('[data-row="0"]')).to_be_visible()
    page.get_by_role("link", name="bodies").click()
    expect(page.locator('[data-row="199"], [data-row="0"]').first).to_be_visible()
    page.locator("#nav a[href='#/tree/scene_node']").click()
    tree = page.get_by_role("tree")
    expect(tree.get_by_role("treeitem")).to_have_count(6)  # the only root is open
    tree.get_by_role("treeitem").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("h2").filter(has_text="1v1")).to_be_visible()


def test_a_program_that_does_not_answer(page: Page, shown: Ticking) -> None:
    page.goto(shown.inspector.url)
    page.route("**/api/world", lambda route: route.abort())
    expect(page.get_by_role("status")).to_contain_text("the program has ended")


class Running(Ticking):
    """An inspector that runs its world on a thread of its own."""

    def _run(self) -> None:
        with suppress(ZeroDivisionError):
            self.inspector.run()

    def close(self) -> None:
        self.inspector.close()
        self._thread.join()


TOWER = """
component: Room
grid: {shape: [2, 3, 4]}
fields: {heat: f64}
---
component: Person
on: cell
fields: {cell: id<Room>}
---
world: Tower
"""


def birds(n: int = 200) -> World:
    world, rng = World(), np.random.default_rng(1)
    places = rng.random((n, 2)) * (100, 60)
    places[: n // 10] = np.nan
    world.spawn(n, boid={"position": places, "heading": (1, 0)})
    return world


FLY = {"way": 0.5, "width": 100.0, "height": 60.0}


def test_map_of_a_run(browser: Browser) -> None:
    world = birds()
    running = Running(world, step=world.boid.fly, args=FLY, make=birds)
    page, failures = opened(browser, running.inspector.url + "#/map?direction=heading")
    expect(page.locator("[data-map='200']")).to_be_visible()
    tick = page.locator("[data-tick]")
    expect(tick).to_have_text("step 0")
    page.keyboard.press(".")
    expect(tick).to_have_text("step 1")
    page.keyboard.press(" ")
    expect(page.locator("[data-run='play']")).to_have_text("Pause")
    page.keyboard.press(" ")
    expect(page.locator("[data-run='play']")).to_have_text("Play")
    page.locator("[data-setting='way']").fill("2")
    page.keyboard.press("Enter")
    expect(page.locator("#run .error").first).to_have_text("")
    page.locator("[data-run='reset']").click()
    expect(tick).to_have_text("step 0")
    running.close()
    assert failures == []


def test_a_map_of_a_million_points(browser: Browser) -> None:
    world, count = World(), 1_000_000
    places = np.random.default_rng(1).random((count, 2), np.float32)
    world.spawn(count, boid={"position": places * np.float32(60)})
    running = Running(world, step=lambda: None)
    page, failures = opened(browser, running.inspector.url + "#/map")
    expect(page.locator(f"[data-map='{count}']")).to_be_visible(timeout=30_000)
    expect(page.locator("main .facts")).to_contain_text("1,000,000 points")
    drawn = """() => { const canvas = document.querySelector('[data-map] canvas');
      const context = canvas.getContext('2d');
      return [0.3, 0.9].map((x) => Math.max(
        ...context.getImageData(x * canvas.width, canvas.height / 2, 9, 9).data)); }"""
    assert page.evaluate(drawn) == [255, 0]  # all are in the left part of the world
    running.close()
    assert failures == []


def test_layers_of_a_grid_with_three_axes(browser: Browser) -> None:
    world = world_package(TOWER, "tower").Tower()
    world.room.data.heat[:] = np.arange(24)
    world.spawn(2, person={"cell": world.room.id_of_many(np.array([0, 23]))})
    running = Running(world, step=lambda: None)
    page, failures = opened(browser, running.inspector.url + "#/map?map=person&color=-")
    layer = page.locator("[data-choice='layer']")
    expect(layer.locator("option")).to_have_count(4)
    shown = page.locator("[data-map='1']")
    before = shown.screenshot()
    layer.select_option("3")
    deadline = time.monotonic() + 8
    while shown.screenshot() == before:
        assert time.monotonic() < deadline, "the other layer does not come"
        page.wait_for_timeout(50)
    running.close()
    assert failures == []


SEA = """
component: Fish
fields: {place: "f32[3]", heavy: f32}
space: {field: place}
---
world: Sea
records: {count: {fish: {count: Fish}}}
schedule: {step: [count, tick]}
"""


def sea() -> Any:
    world = world_package(SEA, "watched_sea").Sea()
    world.spawn(3, fish={"place": [(0, 0, 0), (1, 2, 3), (4, 4, 4)], "heavy": [1, 2, 5]})
    return world


def test_the_page_remembers_axes_and_layer(browser: Browser) -> None:
    tower = world_package(TOWER, "tower").Tower()
    for world, choices in ((sea(), {"right": "2", "up": "0"}), (tower, {"layer": "3"})):
        running = Running(world, step=lambda: None, view=View(layer=2 * ("layer" in choices)))
        page, failures = opened(browser, running.inspector.url + "#/map")
        for name, value in choices.items():
            page.locator(f"[data-choice='{name}']").select_option(value)
        page.get_by_role("link", name="Charts").click()
        expect(page.locator("main h2")).to_have_text("Charts")
        page.get_by_role("link", name="Map", exact=True).click()
        for name, value in choices.items():
            expect(page.locator(f"[data-choice='{name}']")).to_have_value(value)
        expect(page.locator("[data-map]:not([data-map=''])")).to_be_visible()
        running.close()
        assert failures == []


def test_a_scale_is_fixed(browser: Browser) -> None:
    world = sea()

    def step() -> None:
        world.fish.data.heavy *= 2

    view = View(color="heavy", color_range=(0, 8))
    running = Running(world, step=step, view=view)
    page, failures = opened(browser, running.inspector.url + "#/map")
    legend, fixed = page.get_by_label("colours"), page.get_by_label("fixed")
    expect(legend).to_have_text("heavy: 0 8")
    expect(fixed).to_be_checked()
    fixed.uncheck()
    expect(legend).to_have_text("heavy: 1 5")
    fixed.check()
    page.locator("[data-run='step']").click()
    expect(page.locator("main .facts")).to_contain_text("step 1")
    expect(legend).to_have_text("heavy: 1 5")
    page.get_by_role("link", name="Charts").click()
    page.get_by_role("link", name="Map", exact=True).click()
    expect(legend).to_have_text("heavy: 1 5")
    fixed.uncheck()
    expect(legend).to_have_text("heavy: 2 10")
    page.locator("[data-choice='color']").select_option("")
    expect(fixed).to_have_count(0)
    running.close()
    assert failures == []


def test_a_click_on_the_map_opens_an_entity(browser: Browser) -> None:
    world = World()
    [entity] = world.spawn(1, boid={"position": (50, 30)})
    running = Running(world, step=world.boid.fly, args=FLY)
    page, failures = opened(browser, running.inspector.url + "#/map")
    expect(page.locator("[data-map='1']")).to_be_visible()
    page.locator("[data-map] canvas").last.click()  # in the middle
    beside = page.get_by_role("complementary", name="what is marked")
    expect(beside).to_contain_text("0v1")
    heading = beside.locator("[data-part='boid'] td").first
    before = heading.text_content()
    page.keyboard.press(".")
    expect(heading).not_to_have_text(before or "")
    page.locator(f"a[data-entity='{entity}']").click()
    expect(page.locator("main")).to_contain_text("0v1")
    running.close()
    assert failures == []


def test_map_without_a_graphics_card_says_so(browser: Browser) -> None:
    world = birds()
    running = Running(world, step=world.boid.fly, args=FLY)
    without = """
      const get = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind === "webgl2" ? null : get.call(this, kind, ...rest);
      };"""
    page, failures = opened(browser, running.inspector.url + "#/map", script=without)
    expect(page.locator("main .facts")).to_contain_text("without a graphics card")
    running.close()
    assert failures == []


def test_charts_of_a_run(browser: Browser) -> None:
    world = birds()
    running = Running(world, step=world.boid.fly, args=FLY)
    page, failures = opened(browser, running.inspector.url + "#/charts?lines=boid,person")
    expect(page.locator("[data-series='boid,person'] canvas")).to_be_visible()
    page.locator("[data-run='step']").click()
    expect(page.locator("main .facts")).to_have_text("2 steps shown")
    page.get_by_label("particle.expired").check()
    expect(page.locator("[data-series='particle.expired'] canvas")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "steps,boid,person,particle.expired"
    running.close()
    assert failures == []


def test_csv_has_the_records_that_are_seen(browser: Browser) -> None:
    world = sea()
    running = Running(world, step=world.step)
    page, failures = opened(browser, running.inspector.url + "#/charts?lines=fish")
    for steps in ("2", "3"):
        page.locator("[data-run='step']").click()
        expect(page.locator("main .facts")).to_have_text(f"{steps} steps shown")
    expect(page.locator("[data-series='count.fish'] canvas")).to_be_visible()

    def saved() -> list[str]:
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV").click()
        return download.value.path().read_text().splitlines()

    wanted = ["steps,fish,tick,count.fish", "0,3,0,3", "1,3,1,3", "2,3,,"]
    deadline = time.monotonic() + 8
    while saved() != wanted and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    assert saved() == wanted
    page.get_by_label("fish", exact=True).uncheck()
    assert saved() == ["tick,count.fish", "0,3", "1,3"]
    running.close()
    assert failures == []


def test_error_of_a_step_is_seen(browser: Browser) -> None:
    def step() -> None:
        raise ZeroDivisionError(HOSTILE)

    running = Running(World(), step=step)
    page, failures = opened(browser, running.inspector.url)
    page.locator("[data-run='play']").click()
    expect(page.locator("#run .error")).to_have_text(f"ZeroDivisionError: {HOSTILE}")
    expect(page.locator("[data-run='play']")).to_have_text("Play")
    running.close()
    assert failures == []


def opened(browser: Browser, url: str, script: str = "") -> tuple[Page, list[str]]:
    """Open a page, and collect the errors of its scripts."""
    page, failures = browser.new_page(), list[str]()
    page.add_init_script(script)
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.goto(url)
    return page, failures
