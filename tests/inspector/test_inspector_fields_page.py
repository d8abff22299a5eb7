"""Fields of the page in a real browser: settings, enums, references, labels, what is kept."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from generated import World
from tests.support.watched_page import PAGE, Watch
from tests.support.watched_worlds import new_town

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=x()>"


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
