"""The map: places, colours and directions of points, cells of a grid, layers, lines of networks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from ecsgen.inspector import View, picture, serve
from ecsgen.inspector import points as map_points
from generated import Condition, World
from tests.inspector.test_inspector_film import columns_of, facts_of, filmed, picture_of
from tests.support import watched_worlds
from tests.support.inspector_client import Inspected
from tests.support.watched_worlds import nobodys_village, village
from tests.support.world_package import world_package


class Columns(NamedTuple):
    head: dict[str, Any]
    columns: dict[str, Any]


def read(body: bytes) -> Columns:
    """Read an answer as a program would."""
    length = int.from_bytes(body[:4], "little")
    head = json.loads(body[4 : 4 + length])
    start, columns = 4 + length, {}
    for column in head["columns"]:
        dtype = np.dtype({"f32": "<f4", "u64": "<u8"}[column["type"]])
        shape = (*reversed(column["shape"]), column.get("n", head["n"]))
        cells = np.frombuffer(body, dtype, int(np.prod(shape)), start).reshape(shape)
        columns[column["name"]] = cells
        start += cells.nbytes
    assert start == len(body)
    return Columns(head, columns)


def points(inspected: Inspected, path: str) -> Columns:
    answer = inspected.get(f"points/{path}")
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/octet-stream"
    return read(answer.body)


@pytest.fixture(scope="module")
def farm() -> Iterator[Inspected]:
    world = watched_worlds.farm()
    world.sheep.data.energy = [1, np.nan, 3]
    with Inspected(world) as inspected:
        yield inspected


def test_places_on_a_grid_are_middles_of_cells(farm: Inspected) -> None:
    head, columns = points(farm, "sheep")
    assert columns["place"].tolist() == [[0.5, 1.5, 3.5], [0.5, 2.5, 1.5]]
    assert columns["entity"].tolist() == farm.world.sheep.data.entity.tolist()
    assert (head["n"], head["step"], head["bounds"]) == (3, 0, [[0, 4], [0, 3]])
    assert head["wrap"] == [4, 0]


def test_fields_follow_in_their_order(farm: Inspected) -> None:
    head, columns = points(farm, "sheep?direction=way&color=mood&size=energy")
    assert list(columns) == ["place", "mood", "energy", "way", "entity"]
    assert head["members"] == ["calm", "wild"]
    assert columns["mood"].tolist() == [0, 1, 0]  # the places of members
    assert columns["way"].tolist() == [[1, 1, 1], [0, 0, 0]]
    assert head["size_range"] == [1, 3]  # without the NaN


def test_ids_can_be_left_out(farm: Inspected) -> None:
    head, columns = points(farm, "sheep?color=mood&ids=0")
    assert list(columns) == ["place", "mood"]
    assert [column["name"] for column in head["columns"]] == ["place", "mood"]
    answer = farm.ask("HEAD", "points/sheep")
    assert (answer.status, answer.body) == (200, b"")


def test_cells_of_a_grid(farm: Inspected) -> None:
    head, columns = points(farm, "patch?color=grass")
    assert (head["grid"], head["n"]) == ([4, 3], 12)
    assert columns["grass"].tolist() == list(range(12))
    assert points(farm, "patch?color=wet").head["members"] == ["false", "true"]


def test_a_query_has_the_places_of_its_component(farm: Inspected) -> None:
    head, columns = points(farm, "flock?color=energy")
    assert head["n"] == 3
    assert columns["place"].tolist() == points(farm, "sheep").columns["place"].tolist()


def test_a_query_is_coloured_by_what_its_other_components_have() -> None:
    text = """
enum: State
values: [idle, busy]
---
component: Place
space: {field: at}
fields: {at: "f32[2]"}
---
component: Robot
fields: {state: State, load: f64, way: "f32[2]"}
---
component: Lamp
fields: {lit: f32}
---
world: Hall
queries: {robots: {all: [Place, Robot, Lamp], optional: [Tag]}}
---
component: Tag
"""
    world = world_package(text, "coloured_hall").Hall()
    world.spawn(2, place={"at": [(9, 9), (8, 8)]})
    states, loads = [1, 0, 1], [0.5, 2.5, 1.5]
    robots = {"state": states, "load": loads, "way": [(1, 0), (0, 1), (1, 1)]}
    world.spawn(3, robot=robots, lamp={"lit": [3, 1, 2]}, place={"at": [(k, 0) for k in range(3)]})
    with Inspected(world) as inspected:
        path = "robots?color=robot.state&size=robot.load&direction=robot.way"
        head, columns = points(inspected, path)
        assert (head["members"], head["size_range"]) == (["idle", "busy"], [0.5, 2.5])
        assert columns["place"][0].tolist() == [0, 1, 2]
        assert columns["robot.state"].tolist() == states
        assert columns["robot.load"].tolist() == loads
        assert columns["robot.way"].tolist() == [[1, 0, 1], [0, 1, 1]]
        lit = points(inspected, "robots?color=lamp.lit").columns["lamp.lit"]
        assert lit.tolist() == [3, 1, 2]
        maps = {each["name"]: each for each in inspected.json("world")["maps"]}
        assert (maps["robots"]["others"], maps["robots"]["color"]) == (
            ["robot", "lamp"],
            "robot.state",
        )
        assert (maps["place"]["others"], maps["place"]["color"]) == ([], None)
        for name in ("robots?color=tag.x", "robots?color=robot.wool", "place?color=robot.state"):
            assert inspected.get(f"points/{name}").status == 404
    assert shown(world, View(map="robots", color="robot.load")).shape == (100, 200, 3)
    with pytest.raises(ValueError, match=r"no field of robots 'robot\.stat': did you mean"):
        shown(world, View(map="robots", color="robot.stat"))


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("wolf", 404),
        ("sheep?color=wool", 404),
        ("sheep?color=name", 400),
        ("sheep?color=way", 400),
        ("sheep?direction=energy", 400),
    ],
)
def test_what_cannot_be_shown(farm: Inspected, path: str, status: int) -> None:
    answer = farm.get(f"points/{path}")
    assert answer.status == status
    assert answer.error


def test_maps_that_there_are(farm: Inspected) -> None:
    maps = {each["name"]: each for each in farm.json("world")["maps"]}
    assert list(maps) == ["star", "sheep", "patch", "flock"]
    assert (maps["sheep"]["grid"], maps["sheep"]["is_grid"]) == ("patch", False)
    assert maps["patch"]["is_grid"]


@pytest.mark.parametrize("n", [0, 1, 10_000])
def test_a_space(n: int) -> None:
    world = World()
    places = np.random.default_rng(1).random((n, 2)).astype(np.float32) * 50
    if n:
        places[0, 0] = np.nan
    world.spawn(n, boid={"position": places})
    with Inspected(world) as inspected:
        head, columns = points(inspected, "boid")
    assert np.array_equal(columns["place"], places.T, equal_nan=True)
    assert head["bounds"] == [[0, 100], [0, 60]]
    assert head["wrap"] == [100, 60]


def test_answers_hold_no_views() -> None:
    world = World()
    world.spawn(100, boid={"position": (1, 2)})
    with Inspected(world) as inspected:
        points(inspected, "boid")
        world.spawn(10_000, boid={})  # grows, and would warn


def test_members_beyond_the_enum_come_last() -> None:
    from ecsgen.inspector.points import _places_of_members

    field = next(f for f in World().person.FIELDS if f.name == "condition")
    last = len(Condition.__members__)
    assert _places_of_members(np.array([0, 200]), field).tolist() == [0, last]


def lines(inspected: Inspected, path: str) -> list[list[list[float]]]:
    """Return both ends of each line, sorted."""
    head, columns = points(inspected, f"{path}&ids=0")
    column = head["columns"][-1]
    assert (column["role"], column["shape"]) == ("links", [2])
    return sorted(columns[column["name"]].T.reshape(-1, 2, 2).round(3).tolist())


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
    world = nobodys_village()
    for count in (0, 2):
        world.spawn(count, person={"home": (1, 2)})
        with Inspected(world) as inspected:
            assert inspected.get(f"points/{name}?links=knows").status == 200
        assert len(filmed(world, View(map=name)).html()) > 1000
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
    monkeypatch.setattr(map_points, "MOST_LINKS", 50)
    world = village()
    persons = world.person.data.entity
    world.knows.create_many(118, a=persons[0], b=persons[1])
    with Inspected(world) as inspected:
        assert len(lines(inspected, "person?links=knows")) == 40
        assert points(inspected, "person?links=knows").head["links_of"] == 120


@pytest.mark.parametrize("size", [0, 10])
def test_lines_across_both_borders(size: float) -> None:
    ends = np.array([[[1.0, 2.0], [9.0, 9.0]], [[4.0, 4.0], [5.0, 5.0]]])
    pairs = map_points.lines_of(ends, [size, size]).T.reshape(-1, 2, 2)
    if not size:
        assert pairs.tolist() == ends.tolist()
        return
    there, other_line, back = pairs.tolist()
    assert other_line == [[4, 4], [5, 5]]
    assert there == [[1, 2], pytest.approx([0, 0.5])]
    assert back == [pytest.approx([9 + 2 / 3, 10]), [9, 9]]


def shown(world: Any, view: View) -> Any:
    return np.array(picture_of(world, view, 200, 100))


def test_pictures_have_links() -> None:
    world = village()
    with_lines, without = shown(world, View(links="knows")), shown(world, View(links=""))
    count = (with_lines != without).any(-1).sum()
    assert count > 20
    assert (with_lines == np.array(picture._LINK)).all(-1).any()
    assert (shown(world, View()) == shown(world, View(links="follows"))).all()
    with pytest.raises(ValueError, match="there is no network 'know'"):
        shown(world, View(links="know"))


def test_films_have_links() -> None:
    page = filmed(village(), View(links="knows"), 2).html()
    points, links = facts_of(page)["groups"]
    assert (points["part"], links["part"], links["n"]) == ("points", "links", [6, 6, 6])
    columns = np.frombuffer(columns_of(page)[-2 * 2 * 18 :], "u1").reshape(2, 2, 18).astype(int)
    across = (columns[0, 0] | columns[0, 1] << 8)[:6] / 65534 * 100
    assert across.round(1).tolist() == [10, 30, 10, 0, 100, 90]
    assert not columns[:, :, 6:].any()  # nobody moves
    assert len(facts_of(filmed(village(), View(links="")).html())["groups"]) == 1


@pytest.mark.parametrize(("layer", "count"), [(0, 1), (1, 0), (3, 2)])
def test_one_layer_of_a_grid(layer: int, count: int) -> None:
    page = filmed(village(), View(map="lodger", layer=layer), 2).html()
    groups = {group["part"]: group for group in facts_of(page)["groups"]}
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
    page = filmed(world, View(map="lodger", links="knows", layer=3), 2).html()
    assert [group["n"] for group in facts_of(page)["groups"]] == [[2] * 3, [6] * 3, [2] * 3]


def test_a_layer_alone_is_sent() -> None:
    with Inspected(village()) as inspected:
        columns = points(inspected, "room?color=heat&layer=1").columns
        assert columns["heat"].tolist() == [1, 5, 9, 13, 17, 21]
        head = points(inspected, "lodger?layer=3").head
        assert (head["n"], head["grid"], head["columns"][0]["shape"]) == (2, [3, 2], [2])
        assert inspected.get("points/room?layer=4").status == 400


def test_layers_that_there_are_not() -> None:
    for view in (View(map="room", layer=4), View(layer=1)):
        with pytest.raises(ValueError, match="there is no layer"):
            serve(village(), view=view)
