"""The inspector's page: tables, entities, fields, maps, charts and films."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect

from ecsgen.inspector import Film, View, picture
from generated import Health, Weapon, World
from tests.inspector.test_inspector_film import (
    GROUNDS,
    Run,
    film_of,
    filmed,
    hexagons,
    walkers,
    wrong_hexagons,
)
from tests.support.inspector_client import PAGE
from tests.support.watched_page import (
    Watch,
    Watched,
    browser,
    page,
    pretend_a_card,
    shot,
    watch,
)
from tests.support.watched_worlds import farm, new_town, village

__all__ = ["browser", "page", "watch"]  # fixtures
pytestmark = pytest.mark.browser

ROWS = 1_000_000
HOSTILE = "<img src=x onerror=x()>"


def crowd(count: int) -> World:
    """So many entities, and some of everything the page shows."""
    world = World()
    mass = np.arange(count)[::-1]
    es = world.spawn(count, point_mass={"mass": mass, "label": "rock"})
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
def shown() -> Iterator[Watched]:
    inspected = Watched(crowd(1000), edit=True)
    yield inspected
    inspected.close()


def test_a_million_rows(page: Page, watch: Watch) -> None:
    watch(crowd(ROWS))
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
    page.get_by_role("button", name="mass").press("Enter")  # it is clicked below
    expect(page.locator('th[aria-sort="ascending"]')).to_contain_text("mass")
    grid.evaluate("grid => { grid.scrollTop = 0 }")
    expect(page.locator(f'[data-row="{ROWS - 1}"]')).to_be_visible()
    page.get_by_label("Histogram of a field").select_option("mass")
    expect(page.locator('[data-chart="histogram"]')).to_be_visible()


def test_search_and_entity(page: Page, shown: Watched) -> None:
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
    expect(mass).to_have_value("998")
    mass.fill("7.5")
    mass.press("Enter")
    expect(mass).to_have_value("7.5")
    mass.fill("heavy")
    mass.press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("'heavy' is no f32")
    mass.press("Escape")
    expect(mass).to_have_value("7.5")
    assert shown.world.point_mass.mass(1) == 7.5


def test_changes_go_one_after_the_other(page: Page, shown: Watched) -> None:
    """The answer to a slow change does not hide the error of the change after it."""
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.goto(f"{shown.inspector.url}#/entity/{2 + (1 << 32)}")
    mass, label = page.get_by_label("point_mass mass"), page.get_by_label("point_mass label")
    expect(mass).to_have_value("997")
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


def test_the_last_refused_field_says_what_is_wrong(page: Page, shown: Watched) -> None:
    page.goto(f"{shown.inspector.url}#/entity/{3 + (1 << 32)}")
    mass, position = page.get_by_label("point_mass mass"), page.get_by_label("point_mass position")
    expect(mass).to_have_value("996")
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


def test_pause_says_that_the_program_runs_on(page: Page, shown: Watched) -> None:
    page.goto(shown.inspector.url)
    pause = page.locator("#pause")
    expect(pause).to_have_attribute("title", re.compile("the program runs on"))
    for pressed, text in (("true", "Go on (the program runs on)"), ("false", "Pause this page")):
        pause.click()
        expect(pause).to_have_attribute("aria-pressed", pressed)
        expect(pause).to_have_text(text)


def test_every_view(page: Page, shown: Watched) -> None:
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


def test_a_program_that_does_not_answer(page: Page, shown: Watched) -> None:
    page.goto(shown.inspector.url)
    page.route("**/api/world", lambda route: route.abort())
    expect(page.get_by_role("status")).to_contain_text("the program has ended")


class Way(Enum):
    constructor = 1
    right = 2


@pytest.fixture
def town() -> Any:
    world = new_town()
    [hut] = world.house.create_many(1, label=["hut"], rooms=[3])
    es = world.spawn(
        3, person={"name": ["Ada", HOSTILE, ""], "age": [5, 50, 500 % 256], "place": (1, 2)}
    )
    world.person.set_friend(0, es[1])
    world.person.set_home(0, hut)
    return world


@pytest.fixture
def seen(page: Page, watch: Watch, town: Any) -> tuple[Page, Any]:
    watch(town, edit=True)
    expect(page.locator("#world")).to_have_text("Town")
    return page, town


def go(page: Page, path: str) -> None:
    page.evaluate("path => { location.hash = path }", f"#/{path}")


def test_settings_and_arguments_are_fields(page: Page, watch: Watch, town: Any) -> None:
    ways: list[Any] = []

    def step(way: Way = Way.constructor, dt: float = 1.0) -> None:
        ways.append((way, town.settings.mode.name, dt))

    watch(town, step=step, args={"way": Way.constructor, "dt": 1.0})
    vision = page.locator("[data-setting='vision']")
    expect(vision).to_have_attribute("type", "range")
    expect(vision).to_have_attribute("max", "10")
    vision.fill("7.5")
    expect(vision.locator("xpath=following-sibling::output")).to_have_text("7.5")
    page.locator("[data-setting='mode']").select_option("toString")
    page.locator("[data-setting='is_open']").check()
    page.locator("[data-setting='way']").select_option("right")
    size = page.locator("[data-setting='size']")
    size.fill("300")
    size.press("Enter")
    label = page.locator("label", has=size)
    expect(label.locator(".error")).to_contain_text("300")
    dt = page.locator("[data-setting='dt']")
    dt.fill("x")
    dt.press("Enter")
    expect(page.locator("label", has=dt).locator(".error")).to_contain_text("dt: wanted float")
    expect(label.locator(".error")).to_contain_text("300")  # each beside its own field
    size.press("Escape")
    expect(label.locator(".error")).to_have_text("")
    dt.press("Escape")
    page.locator("[data-run='step']").click()
    expect(page.locator("[data-tick]")).to_have_text("step 1")
    assert ways == [(Way.right, "toString", 1.0)]
    assert (town.settings.vision, town.settings.is_open, town.settings.size) == (7.5, True, 0)


def test_fields_of_an_entity(seen: tuple[Page, Any]) -> None:
    page, town = seen
    e, other = map(int, town.person.data.entity[:2])
    go(page, f"entity/{e}")
    expect(page.locator("main .name")).to_have_text("Ada")
    page.get_by_label("person state").select_option("toString")
    page.get_by_role("switch", name="person is_awake").check()
    expect(page.locator("main [data-part='person'] .error")).to_be_hidden()
    friend = page.locator(f"main a[data-entity='{other}']")
    friend.click()
    expect(page.locator("main .name")).to_have_text(HOSTILE)
    assert (town.person.state(0).name, town.person.is_awake(0)) == ("toString", True)
    assert page.locator("main img").count() == 0
    go(page, f"entity/{e}")
    page.locator("main a[title='All rows with this']").first.click()
    expect(page.locator("main .facts")).to_contain_text("1 of 3 rows")
    go(page, f"entity/{e}")
    page.locator("main a[href^='#/row/house/']").click()
    expect(page.locator("main .name")).to_have_text("hut")
    rooms = page.get_by_label("house rooms")
    rooms.fill("9")
    rooms.press("Enter")
    expect(rooms).to_have_value("9")
    page.wait_for_timeout(50)
    assert town.house.rooms(0) == 9


def test_of_the_dead_nothing_can_be_changed(seen: tuple[Page, Any]) -> None:
    page, town = seen
    go(page, f"entity/{town.person.data.entity[0]}")
    destroy = page.get_by_role("button", name="Destroy")
    destroy.click()
    page.get_by_role("button", name="Really destroy?").click()
    expect(page.locator("main .facts")).to_contain_text("dead")
    assert page.locator("main button:visible, main input:visible, main select:visible").count() == 0


def test_a_click_anywhere_in_a_head_sorts(seen: tuple[Page, Any]) -> None:
    page = seen[0]
    go(page, "rows/person")
    expect(page.locator("[data-row='0'] b")).to_have_text("Ada")
    head = page.locator("th[data-column='age']")
    box = head.bounding_box()
    assert box is not None
    head.click(position={"x": box["width"] - 4, "y": box["height"] - 4})
    expect(head).to_have_attribute("aria-sort", "ascending")
    page.get_by_label("Rows with values").fill("age>=50; name!=Ada")
    page.get_by_label("Rows with values").press("Enter")
    expect(page.locator("main .facts")).to_contain_text("2 of 3 rows")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("entity,name,state")
    assert HOSTILE in lines[1]
    go(page, "entities")
    go(page, "rows/person")  # a person's choice is kept
    expect(page.get_by_label("Rows with values")).to_have_value("age>=50; name!=Ada")
    expect(head).to_have_attribute("aria-sort", "ascending")


def test_records_and_pictures_of_charts(seen: tuple[Page, Any]) -> None:
    page = seen[0]
    go(page, "charts")
    expect(page.locator("[data-series='state.people']")).to_be_visible()
    with page.expect_download() as download:
        page.locator("[data-series='state.people'] .png").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(390, 800), (900, 700), (1600, 1000)])
def test_sizes_and_themes(page: Page, watch: Watch, theme: Any, size: tuple[int, int]) -> None:
    world = World()
    rng = np.random.default_rng(1)
    places = rng.random((10_000, 2)) * (100, 60)
    places[:1000] = np.nan
    world.spawn(10_000, boid={"position": places, "heading": (1, 0)})
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=theme)
    watch(world, "#/map", step=lambda: None, make=lambda seed=1: world)
    expect(page.locator("[data-map='10000']")).to_be_visible()
    surface = page.locator("[data-map] canvas").first
    drawn = surface.evaluate(
        "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
        ".filter((part, k) => k % 4 === 3 && part).length"
    )
    assert drawn > 2000
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("n", [0, 1])
def test_few_points(page: Page, watch: Watch, n: int) -> None:
    world = World()
    world.spawn(n, boid={"position": (50, 30), "heading": (1, 0)})
    watch(world, "#/map?direction=heading", step=lambda: None)
    expect(page.locator(f"[data-map='{n or 'undefined'}']")).to_be_visible()


def test_scripts_and_styles_are_small() -> None:
    sizes = {file.name: file.stat().st_size for file in PAGE.iterdir()}
    assert sum(size for name, size in sizes.items() if name != "uPlot.LICENSE") <= 250_000


def birds(n: int = 200) -> World:
    world, rng = World(), np.random.default_rng(1)
    places = rng.random((n, 2)) * (100, 60)
    places[: n // 10] = np.nan
    world.spawn(n, boid={"position": places, "heading": (1, 0)})
    return world


FLY = {"way": 0.5, "width": 100.0, "height": 60.0}


def test_map_of_a_run(page: Page, watch: Watch) -> None:
    world = birds()
    watch(world, "#/map?direction=heading", step=world.boid.fly, args=FLY, make=birds)
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


def test_a_map_of_a_million_points(page: Page, watch: Watch) -> None:
    world, count = World(), 1_000_000
    places = np.random.default_rng(1).random((count, 2), np.float32)
    world.spawn(count, boid={"position": places * np.float32(60)})
    watch(world, "#/map", step=lambda: None)
    expect(page.locator(f"[data-map='{count}']")).to_be_visible(timeout=30_000)
    expect(page.locator("main .facts")).to_contain_text("1,000,000 points")
    drawn = """() => { const canvas = document.querySelector('[data-map] canvas');
      const context = canvas.getContext('2d');
      return [0.3, 0.9].map((x) => Math.max(
        ...context.getImageData(x * canvas.width, canvas.height / 2, 9, 9).data)); }"""
    assert page.evaluate(drawn) == [255, 0]  # all are in the left part of the world


def test_layers_of_a_grid_with_three_axes(page: Page, watch: Watch) -> None:
    watch(village(), "#/map?map=lodger&color=-")
    layer = page.locator("[data-choice='layer']")
    expect(layer.locator("option")).to_have_count(4)
    before = page.locator("[data-map='1']").screenshot()
    layer.select_option("3")
    page.wait_for_selector("[data-map='2']")
    page.wait_for_timeout(200)
    assert page.locator("[data-map='2']").screenshot() != before


def sky() -> Any:
    world = farm(0)
    world.spawn(3, star={"position": [(0, 0, 0), (1, 2, 3), (4, 4, 4)], "heat": [1, 2, 5]})
    return world


@pytest.mark.parametrize(
    ("make", "view", "choices"),
    [
        (sky, View(map="star"), {"right": "2", "up": "0"}),
        (village, View(map="lodger", layer=2), {"layer": "3"}),
    ],
    ids=["axes", "layer"],
)
def test_the_page_remembers_axes_and_layer(
    page: Page, watch: Watch, make: Any, view: View, choices: dict[str, str]
) -> None:
    watch(make(), "#/map", view=view)
    if view.layer:
        expect(page.locator("[data-choice='layer']")).to_have_value(str(view.layer))
    for name, value in choices.items():
        page.locator(f"[data-choice='{name}']").select_option(value)
    page.get_by_role("link", name="Charts").click()
    expect(page.locator("main h2")).to_have_text("Charts")
    page.get_by_role("link", name="Map", exact=True).click()
    for name, value in choices.items():
        expect(page.locator(f"[data-choice='{name}']")).to_have_value(value)
    expect(page.locator("[data-map]:not([data-map=''])")).to_be_visible()


def test_a_scale_is_fixed(page: Page, watch: Watch) -> None:
    world = sky()

    def step() -> None:
        world.star.data.heat *= 2

    view = View(map="star", color="heat", color_range=(0, 8))
    watch(world, "#/map", step=step, view=view)
    legend, fixed = page.get_by_label("colours"), page.get_by_label("fixed")
    expect(legend).to_have_text("heat: 0 8")
    expect(fixed).to_be_checked()
    fixed.uncheck()
    expect(legend).to_have_text("heat: 1 5")
    fixed.check()
    page.locator("[data-run='step']").click()
    expect(page.locator("main .facts")).to_contain_text("step 1")
    expect(legend).to_have_text("heat: 1 5")
    page.get_by_role("link", name="Charts").click()
    page.get_by_role("link", name="Map", exact=True).click()
    expect(legend).to_have_text("heat: 1 5")
    fixed.uncheck()
    expect(legend).to_have_text("heat: 2 10")
    page.locator("[data-choice='color']").select_option("")
    expect(fixed).to_have_count(0)


def test_a_map_of_a_query_is_coloured_by_its_other_components(page: Page, watch: Watch) -> None:
    world = village()
    world.guest.data.days = [4, 9]
    watch(world, "#/map?map=guests")
    page.locator("[data-choice='color']").select_option("guest.days")
    expect(page.get_by_label("colours")).to_have_text("guest.days: 4 9")
    page.locator("[data-choice='map']").select_option("person")
    expect(page.locator("[data-choice='color'] option")).to_have_text(["–", "known"])


def test_a_click_on_the_map_opens_an_entity(page: Page, watch: Watch) -> None:
    world = World()
    [entity] = world.spawn(1, boid={"position": (50, 30)})
    watch(world, "#/map", step=world.boid.fly, args=FLY)
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


def test_map_without_a_graphics_card_says_so(page: Page, watch: Watch) -> None:
    world = birds()
    without = """
      const get = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind === "webgl2" ? null : get.call(this, kind, ...rest);
      };"""
    page.add_init_script(without)
    watch(world, "#/map", step=world.boid.fly, args=FLY)
    expect(page.locator("main .facts")).to_contain_text("without a graphics card")


def test_charts_of_a_run(page: Page, watch: Watch) -> None:
    world = birds()
    watch(world, "#/charts?lines=boid,person", step=world.boid.fly, args=FLY)
    expect(page.locator("[data-series='boid,person'] canvas")).to_be_visible()
    page.locator("[data-run='step']").click()
    expect(page.locator("main .facts")).to_have_text("2 steps shown")
    page.get_by_label("particle.expired").check()
    expect(page.locator("[data-series='particle.expired'] canvas")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "steps,boid,person,particle.expired"


def test_csv_has_the_records_that_are_seen(page: Page, watch: Watch) -> None:
    world = sky()
    watch(world, "#/charts?lines=star", step=world.step)
    for steps in ("2", "3"):
        page.locator("[data-run='step']").click()
        expect(page.locator("main .facts")).to_have_text(f"{steps} steps shown")
    expect(page.locator("[data-series='count.stars'] canvas")).to_be_visible()

    def saved() -> list[str]:
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV").click()
        return download.value.path().read_text().splitlines()

    wanted = ["steps,star,tick,count.stars", "0,3,0,3", "1,3,1,3", "2,3,,"]
    deadline = time.monotonic() + 8
    while saved() != wanted and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    assert saved() == wanted
    page.get_by_label("star", exact=True).uncheck()
    assert saved() == ["tick,count.stars", "0,3", "1,3"]


def test_error_of_a_step_is_seen(page: Page, watch: Watch) -> None:
    def step() -> None:
        raise ZeroDivisionError(HOSTILE)

    watch(World(), step=step)
    page.locator("[data-run='play']").click()
    expect(page.locator("#run .error")).to_have_text(f"ZeroDivisionError: {HOSTILE}")
    expect(page.locator("[data-run='play']")).to_have_text("Play")


def open_film(page: Page, film: Film, folder: Path) -> None:
    """Open a film in a window of a phone's size."""
    film.save(folder / "run.html")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((folder / "run.html").as_uri())
    page.wait_for_selector("[data-time]")


def test_a_film(page: Page, tmp_path: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_film(page, film_of(Run(), 8), tmp_path)
    assert page.inner_text("header output") == "step 0"
    assert [*page.inner_text(".legend").split()] == ["calm", "wild"]
    before = page.screenshot(path=tmp_path / "run.png")
    page.fill("[data-time]", "8")
    assert page.inner_text("header output") == "step 8"
    assert page.screenshot() != before
    page.keyboard.press("Tab")
    page.click("[data-play]")  # at the end it begins anew
    while page.inner_text("[data-play]") != "Play":
        page.wait_for_timeout(20)
    assert page.inner_text("header output") == "step 8"
    page.click("header")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("header output") == "step 7"
    assert len(asked) == 1


def test_colours_of_a_film(page: Page, tmp_path: Path) -> None:
    """Cells have the colours of their values at each time, and NaN is grey."""
    world = farm(0)
    world.patch.data.grass[7] = np.nan

    def step() -> None:
        world.patch.data.grass[:6] = 11

    open_film(page, filmed(world, View(map="patch", color="grass"), step=step), tmp_path)
    for number, wanted in enumerate((picture.SCALE[0], picture.SCALE[-1])):
        page.fill("[data-time]", str(number))
        page.wait_for_timeout(200)
        shown = shot(page.locator(".map"))
        expected = wanted, picture.SCALE[-1], picture.NAMED[-1]
        for cell, colour in zip(((0, 0), (3, 2), (2, 1)), expected, strict=True):
            assert np.abs(np.subtract(ink(shown, *cell), colour)).max() <= 2


def ink(shown: Image.Image, x: int, y: int) -> Any:
    """Return the colour in the middle of a cell, of the farm's grid on a map."""
    scale = 0.94 * min(shown.width / 4, shown.height / 3)
    right, up = scale * (x - 1.5), scale * (y - 1)
    return shown.getpixel((int(shown.width / 2 + right), int(shown.height / 2 - up)))


@GROUNDS
@pytest.mark.parametrize("where", ["film", "page", "page with a card"])
def test_points_before_cells_in_a_browser(
    page: Page, watch: Watch, tmp_path: Path, where: str, field: str
) -> None:
    """They are of the same colour, which no cell has."""
    if where == "film":
        open_film(page, filmed(walkers(field)), tmp_path)
    else:
        if where == "page with a card":
            pretend_a_card(page)
        watch(walkers(field), "#/map")
        page.wait_for_selector("[data-map='2']")
    page.wait_for_timeout(200)
    shown = shot(page.locator(".map"))
    assert ink(shown, 0, 0) == ink(shown, 3, 2) == picture.BEFORE_CELLS
    assert picture.BEFORE_CELLS not in (ink(shown, 2, 1), ink(shown, 0, 2))


def test_hexagons_of_a_film(page: Page, tmp_path: Path) -> None:
    open_film(page, filmed(hexagons(), View(map="bee", color="awake")), tmp_path)
    page.wait_for_timeout(200)
    shown = shot(page.locator(".map canvas").first)
    assert wrong_hexagons(shown, 0.94, bee=(3, 2)) == []


def test_links_of_a_film(page: Page, tmp_path: Path) -> None:
    """A line is drawn where it runs, and not where it would run without the border."""
    open_film(page, filmed(village(), View(links="knows", color="known")), tmp_path)
    drawn = """([x, y]) => { const canvas = document.querySelector('[data-map] canvas');
      const [low, high] = [10, 50]; // the bounds
      const scale = 0.94 * Math.min(canvas.width / 100, canvas.height / (high - low));
      const [across, down] = [canvas.width / 2 + scale * (x - 50),
        canvas.height / 2 - scale * (y - 30)];
      const data = canvas.getContext('2d').getImageData(across - 2, down - 2, 5, 5).data;
      return Math.max(...data.filter((_, k) => k % 4 === 3)); }"""
    page.wait_for_timeout(200)
    assert page.evaluate(drawn, [20, 10]) == 120  # the opacity of a line
    assert page.evaluate(drawn, [97, 23]) == 120
    assert page.evaluate(drawn, [50, 20]) == 0


def grey(page: Page) -> int:
    """Return how many pixels of the map have the colour of a line on paper."""
    line = 255 - round(127 * 120 / 255)
    return int((np.array(shot(page.locator("[data-map]"))) == line).all(-1).sum())


@pytest.mark.parametrize("has_card", [False, True])
def test_links_on_the_page(page: Page, watch: Watch, has_card: bool) -> None:
    """They are drawn on a plain canvas, and by WebGL."""
    if has_card:
        pretend_a_card(page)
    watch(village(), view=View(links="knows"))
    page.wait_for_selector("[data-map='4']")
    facts = page.locator("main .facts")
    expect(facts).to_contain_text("2 links")
    assert ("without a graphics card" in facts.inner_text()) != has_card
    page.wait_for_timeout(100)
    assert grey(page) > 50
    page.select_option("[data-choice='links']", "")
    expect(facts).not_to_contain_text("links")
    assert grey(page) == 0
