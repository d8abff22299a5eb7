"""Links of networks as lines on the map, and one layer of a grid with three axes."""

from __future__ import annotations

import base64
import json
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ecsgen.inspector import Film, View, map_links, picture, serve
from tests.inspector.test_inspector_film import facts_of, open_film, opened, wrong
from tests.inspector.test_inspector_page import Ticking
from tests.support.inspector_client import Inspected
from tests.support.world_package import world_package

__all__ = ["opened"]  # a fixture

VILLAGE = """
component: Person
space: {field: home, wrap: [100, 0]}
fields: {home: "f32[2]", known: bool}
---
component: Guest
fields: {days: i64}
---
component: Knows
owner: none
fields: {a: entity, b: entity}
network: {between: [a, b]}
---
component: Follows
partition: {start: active}
instances: many
fields: {whom: entity}
network: {from: entity, to: whom}
---
component: Room
grid: {shape: [3, 2, 4]}
fields: {heat: f32}
---
component: Lodger
on: room
fields: {room: id<Room>}
---
world: Village
queries: {guests: {all: [Person, Guest]}}
"""
HOMES = [(10, 10), (30, 10), (90, 30), (20, 50)]


def village() -> Any:
    """Return four persons, of whom the first knows the second and, across the border, the third."""
    world = world_package(VILLAGE, "linked_village").Village()
    persons = world.spawn(4, person={"home": HOMES})
    world.knows.create_many(2, a=persons[0], b=persons[[1, 2]])
    world.follows.create(persons[3], whom=int(persons[1]))
    world.guest.create_many(persons[[0, 1]])
    world.room.data.heat[:] = np.arange(24)
    world.spawn(3, lodger={"room": world.room.id_of_many(np.array([0, 3, 23]))})
    return world


def lines(inspected: Inspected, path: str) -> list[list[list[float]]]:
    """Return both ends of each line, sorted."""
    answer = inspected.get(f"points/{path}&ids=0")
    assert answer.status == 200, answer.body
    length = int.from_bytes(answer.body[:4], "little")
    head = json.loads(answer.body[4 : 4 + length])
    column = head["columns"][-1]
    assert (column["role"], column["shape"]) == ("links", [2])
    ends = np.frombuffer(answer.body[-8 * column["n"] :] if column["n"] else b"", "<f4")
    return sorted(ends.reshape(2, -1).T.reshape(-1, 2, 2).round(3).tolist())


def test_lines_between_places() -> None:
    world = village()
    maps = {}
    with Inspected(world) as inspected:
        maps = {each["name"]: each["networks"] for each in inspected.json("world")["maps"]}
        assert lines(inspected, "person?links=follows") == [[[20, 50], [30, 10]]]
        # the third is nearer across the border: one line from each end to it
        assert lines(inspected, "person?links=knows") == [
            [[10, 10], [0, 20]],
            [[10, 10], [30, 10]],
            [[100, 20], [90, 30]],
        ]
        assert lines(inspected, "guests?links=knows") == [[[10, 10], [30, 10]]]
        for path in ("person?links=person", "person?links=nobody", "room?links=knows"):
            assert inspected.get(f"points/{path}").status == 404
    assert maps["person"] == ["follows", "knows"]
    assert maps["room"] == []


@pytest.mark.parametrize("name", ["person", "guests", "lodger"])
def test_worlds_without_points_or_links(name: str) -> None:
    world = world_package(VILLAGE, "linked_village").Village()
    for count in (0, 2):
        world.spawn(count, person={"home": (1, 2)})
        with Inspected(world) as inspected:
            assert inspected.get(f"points/{name}?links=knows").status == 200
        assert len(film(View(map=name), world).html()) > 1000
        assert shown(world, View(map=name)).shape == (100, 200, 3)


def test_what_is_no_link() -> None:
    world = village()
    first, second, third, fourth = world.person.data.entity.tolist()
    world.knows.create_many(2, a=[first, fourth], b=[first, 0])
    world.follows.deactivate(0)
    world.entities.destroy(third)
    world.person.set_home(0, (np.nan, 10))
    with Inspected(world) as inspected:
        assert lines(inspected, "person?links=follows") == []
        assert len(lines(inspected, "person?links=knows")) == 1
    world.collect()
    world.entities.destroy(second)
    with Inspected(world) as inspected:
        assert lines(inspected, "person?links=knows") == []


def test_of_many_links_some_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_links, "MOST_LINKS", 50)
    world = village()
    persons = world.person.data.entity
    world.knows.create_many(118, a=persons[0], b=persons[1])
    with Inspected(world) as inspected:
        assert len(lines(inspected, "person?links=knows")) == 40
        head = inspected.get("points/person?links=knows").body
    assert b'"links_of": 120' in head


@pytest.mark.parametrize("size", [0, 10])
def test_lines_across_both_borders(size: float) -> None:
    ends = np.array([[[1.0, 2.0], [9.0, 9.0]], [[4.0, 4.0], [5.0, 5.0]]])
    pairs = map_links.lines_of(ends, [size, size]).T.reshape(-1, 2, 2)
    if not size:
        assert pairs.tolist() == ends.tolist()
        return
    there, other_line, back = pairs.tolist()
    assert other_line == [[4, 4], [5, 5]]
    assert there == [[1, 2], pytest.approx([0, 0.5])]
    assert back == [pytest.approx([9 + 2 / 3, 10]), [9, 9]]


def shown(world: Any, view: View) -> Any:
    with serve(world, view=view) as inspector:
        return np.array(Image.open(BytesIO(inspector.picture(200, 100))).convert("RGB"))


def test_pictures_have_links() -> None:
    world = village()
    with_lines, without = shown(world, View(links="knows")), shown(world, View(links=""))
    count = (with_lines != without).any(-1).sum()
    assert count > 20
    assert (with_lines == np.array(picture._LINK)).all(-1).any()
    assert (shown(world, View()) == shown(world, View(links="follows"))).all()
    with pytest.raises(ValueError, match="there is no network 'know'"):
        shown(world, View(links="know"))


def film(view: View, world: Any = None) -> Film:
    with serve(world or village(), step=lambda: None, view=view) as inspector:
        return inspector.record(2)


def test_films_have_links() -> None:
    page = film(View(links="knows")).html()
    points, links = facts_of(page)["groups"]
    assert (points["part"], links["part"], links["n"]) == ("points", "links", [6, 6, 6])
    packed = page.split('id="film-columns">')[1].split("</script>")[0]
    data = zlib.decompress(base64.b64decode(packed))[-2 * 2 * 18 :]
    columns = np.frombuffer(data, "u1").reshape(2, 2, 18).astype(int)
    across = (columns[0, 0] | columns[0, 1] << 8)[:6] / 65534 * 100
    assert across.round(1).tolist() == [10, 30, 10, 0, 100, 90]
    assert not columns[:, :, 6:].any()  # nobody moves
    assert len(facts_of(film(View(links="")).html())["groups"]) == 1


@pytest.mark.parametrize(("layer", "count"), [(0, 1), (1, 0), (3, 2)])
def test_one_layer_of_a_grid(layer: int, count: int) -> None:
    groups = {
        group["part"]: group
        for group in facts_of(film(View(map="lodger", layer=layer)).html())["groups"]
    }
    assert groups["points"]["n"] == [count] * 3
    assert (groups["cells"]["n"], groups["cells"]["grid"]) == ([6, 6, 6], [3, 2])
    world, other = village(), village()
    other.room.data.heat[layer::4] = 0
    seen = [shown(each, View(map="room", layer=layer)) for each in (world, other)]
    assert (seen[0] != seen[1]).any()
    other = village()
    other.room.data.heat[8 + (layer + 1) % 4] += 0.5
    assert (shown(other, View(map="room", layer=layer)) == seen[0]).all()


def test_links_within_a_layer() -> None:
    world = village()
    lodgers = world.lodger.data.entity
    world.knows.create_many(2, a=lodgers[1], b=lodgers[[0, 2]])
    page = film(View(map="lodger", links="knows", layer=3), world).html()
    assert [group["n"] for group in facts_of(page)["groups"]] == [[2] * 3, [6] * 3, [2] * 3]


def test_a_layer_alone_is_sent() -> None:
    with Inspected(village()) as inspected:
        body = inspected.get("points/room?color=heat&layer=1").body
        assert np.frombuffer(body[-24:], "<f4").tolist() == [1, 5, 9, 13, 17, 21]
        length = int.from_bytes(inspected.get("points/lodger?layer=3").body[:4], "little")
        head = json.loads(inspected.get("points/lodger?layer=3").body[4 : 4 + length])
        assert (head["n"], head["grid"], head["columns"][0]["shape"]) == (2, [3, 2], [2])
        assert inspected.get("points/room?layer=4").status == 400


def test_layers_that_there_are_not() -> None:
    for view in (View(map="room", layer=4), View(layer=1)):
        with pytest.raises(ValueError, match="there is no layer"):
            serve(village(), view=view)
    for number in (-1, 1.5, "1"):
        with pytest.raises(TypeError, match="layer: wanted a whole number"):
            View(layer=number)  # type: ignore[arg-type]  # to see what it says


@pytest.mark.browser
def test_links_in_a_browser(opened: Any, tmp_path: Path) -> None:
    """A line is drawn where it runs, and not where it would run without the border."""
    open_film(opened, film(View(links="knows", color="known")), tmp_path)
    drawn = """([x, y]) => { const canvas = document.querySelector('[data-map] canvas');
      const [low, high] = [10, 50]; // the bounds
      const scale = 0.94 * Math.min(canvas.width / 100, canvas.height / (high - low));
      const [across, down] = [canvas.width / 2 + scale * (x - 50),
        canvas.height / 2 - scale * (y - 30)];
      const data = canvas.getContext('2d').getImageData(across - 2, down - 2, 5, 5).data;
      return Math.max(...data.filter((_, k) => k % 4 === 3)); }"""
    opened.wait_for_timeout(200)
    assert opened.evaluate(drawn, [20, 10]) == 120  # the opacity of a line
    assert opened.evaluate(drawn, [97, 23]) == 120
    assert opened.evaluate(drawn, [50, 20]) == 0
    assert wrong == []


def grey(page: Any) -> int:
    """Return how many pixels of the map have the colour of a line on paper."""
    shot = Image.open(BytesIO(page.locator("[data-map]").screenshot())).convert("RGB")
    return int((np.array(shot) == 255 - round(127 * 120 / 255)).all(-1).sum())


@pytest.mark.browser
@pytest.mark.parametrize("has_card", [False, True])
def test_links_on_the_page(opened: Any, has_card: bool) -> None:
    """They are drawn on a plain canvas, and by WebGL."""
    script = (Path(picture.__file__).parent / "page" / "renderer.js").read_text()
    if has_card:
        script = script.replace("!SOFTWARE.test(name)", "true")
        body = {"body": script, "content_type": "text/javascript"}
        opened.route("**/static/renderer.js", lambda route: route.fulfill(**body))
    wrong.clear()
    ticking = Ticking(village(), view=View(links="knows"))
    opened.goto(ticking.inspector.url)
    opened.wait_for_selector("[data-map='4']")
    assert "2 links" in opened.inner_text("main .facts")
    assert ("without a graphics card" in opened.inner_text("main .facts")) != has_card
    opened.wait_for_timeout(100)
    assert grey(opened) > 50
    opened.select_option("[data-choice='links']", "")
    for _ in range(100):
        if "links" not in opened.inner_text("main .facts"):
            break
        opened.wait_for_timeout(50)
    assert grey(opened) == 0
    opened.unroute_all()
    opened.goto("about:blank")
    ticking.close()
    assert wrong == []


@pytest.mark.browser
def test_the_page_opens_with_the_layer_of_a_view(opened: Any) -> None:
    ticking = Ticking(village(), view=View(map="room", layer=3))
    opened.goto(ticking.inspector.url)
    opened.wait_for_selector("[data-map='6']")
    assert opened.locator("[data-choice='layer']").input_value() == "3"
    opened.goto("about:blank")
    ticking.close()
