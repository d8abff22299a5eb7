"""Links of networks as lines on the map, and one layer of a grid with three axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.inspector import View, map_links, picture, serve
from tests.inspector.test_inspector_film import columns_of, facts_of, filmed, picture_of
from tests.inspector.test_inspector_map import points
from tests.support.inspector_client import Inspected
from tests.support.watched_worlds import nobodys_village, village


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
    monkeypatch.setattr(map_links, "MOST_LINKS", 50)
    world = village()
    persons = world.person.data.entity
    world.knows.create_many(118, a=persons[0], b=persons[1])
    with Inspected(world) as inspected:
        assert len(lines(inspected, "person?links=knows")) == 40
        assert points(inspected, "person?links=knows").head["links_of"] == 120


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
