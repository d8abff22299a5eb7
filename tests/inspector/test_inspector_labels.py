"""Labels, conditions on rows, rows by id, settings, times, and worlds saved beside their file."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsgen.checked import checked, timed
from ecsgen.inspector.saved_worlds import load_saved
from generated import World
from tests.support.inspector_client import Inspected
from tests.support.watched_worlds import new_town
from tests.support.world_package import world_package


@pytest.fixture
def town() -> Iterator[Inspected]:
    world = new_town()
    es = world.spawn(
        5,
        person={
            "name": ["Ada", "Bo", "", "Cé", "Di"],
            "state": [0, 3, 3, 0, 3],
            "age": [9, 30, 40, 50, 60],
            "weight": [0.1, np.nan, 2, 3, 4],
            "is_awake": [True, False, True, False, True],
        },
    )
    world.dog.create(es[2], label="Rex")
    world.dog.create(es[0], label="Ads")
    world.family.create_many(es[:3])
    world.family.set_parent_many([1, 2], [0, 0])
    world.house.create_many(2, label=["hut", ""], rooms=[1, 2])
    with Inspected(world, edit=True) as inspected:
        yield inspected


def test_labels_are_names_before_labels(town: Inspected) -> None:
    es = [*map(int, town.world.person.data.entity)]
    assert town.json("entities")["label"] == ["Ada", "Bo", "Rex", "Cé", "Di"]
    assert [town.json(f"entity/{e}")["label"] for e in es[:3]] == ["Ada", "Bo", "Rex"]
    nodes = town.json(f"tree/family?parent={es[0]}")["nodes"]
    assert [node["label"] for node in nodes] == ["Bo", "Rex"]
    assert town.json("rows/dog")["label"] == ["Rex", "Ads"]
    assert town.json("rows/house")["label"] == ["hut", None]
    assert town.json(f"entity/{1 << 40}")["label"] is None


@pytest.mark.parametrize(
    ("where", "left"),
    [
        (["state=infectious"], [1, 2, 4]),
        (["state!=infectious"], [0, 3]),
        (["age<40"], [0, 1]),
        (["age<=40", "age>9"], [1, 2]),
        (["age>=40.5"], [3, 4]),
        (["age<-1"], []),
        (["age<300"], [0, 1, 2, 3, 4]),
        (["weight=0.1"], [0]),
        (["weight!=2", "weight>=3"], [3, 4]),
        (["is_awake=true", "state = infectious"], [2, 4]),
        (["name=Cé"], [3]),
        (["name<B"], [0, 2]),
        (["name="], [2]),
        (["friend=0"], [0, 1, 2, 3, 4]),
    ],
)
def test_rows_are_filtered_by_value(town: Inspected, where: list[str], left: list[int]) -> None:
    from urllib.parse import urlencode

    path = f"rows/person?{urlencode([('where', each) for each in where])}"
    answer = town.json(path)
    assert (answer["n"], answer["rows"]) == (len(left), left)
    backwards = town.json(f"{path}&sort=age&desc=1&count=2")
    assert (backwards["n"], backwards["rows"]) == (len(left), left[::-1][:2])


def test_filters_see_the_values_of_now(town: Inspected) -> None:
    for age in (61, 62):
        assert town.json(f"rows/person?where=age={age}")["n"] == 0
        town.world.person.set_age(4, age)
        assert town.json(f"rows/person?where=age={age}")["rows"] == [4]


@pytest.mark.parametrize(
    ("where", "status"),
    [
        ("place=1", 400),
        ("thought=1", 400),
        ("state<infectious", 400),
        ("state=ill", 400),
        ("is_awake>false", 400),
        ("is_awake=1", 400),
        ("age=old", 400),
        ("friend=x", 400),
        ("friend<5", 400),
        ("friend=" + "9" * 5000, 400),
        ("age", 400),
        ("=5", 400),
        ("height=5", 404),
    ],
)
def test_what_cannot_be_compared(town: Inspected, where: str, status: int) -> None:
    answer = town.get(f"rows/person?where={where}")
    assert answer.status == status
    assert answer.error


EVENTS = """
component: Event
fields: {at: "datetime[ms]", took: "timedelta[s]"}
"""


def test_times_are_compared() -> None:
    world = world_package(EVENTS, "filtered_times").World()
    took = np.array([1, 5, 9], "m8[s]")
    world.spawn(3, event={"at": ["2024-01-01T12:00", "2025-01-01", None], "took": took})
    with Inspected(world) as seen:
        for where, rows in {
            "at=2024-01-01T12:00": [0],
            "at>2024-06-01": [1],
            "at!=2025-01-01": [0, 2],
            "took>=PT5S": [1, 2],
        }.items():
            assert seen.json(f"rows/event?where={where}")["rows"] == rows
        for where in ("at=noon", "at<2024-01-01T00:00Z", "took=soon"):
            assert seen.get(f"rows/event?where={where}").status == 400


def test_only_components_are_filtered() -> None:
    with Inspected(World()) as seen:
        for path in ("query/movers", "group/bodies"):
            assert seen.get(path).status == 200
            assert seen.get(f"{path}?where=mass>1").status == 400


def test_rows_without_owner_by_id(town: Inspected) -> None:
    house = town.world.house
    [hut, other] = map(int, house.id_of_many([0, 1]))
    answer = town.json(f"row/house/{hut}")
    assert answer == {
        "id": str(hut),
        "alive": True,
        "label": "hut",
        "components": {"house": {"label": "hut", "rooms": 1}},
    }
    answer = town.ask("PATCH", f"row/house/{other}", {"rooms": 7, "label": "hall"})
    assert answer.json["components"]["house"]["rooms"] == 7
    assert house.rooms(1) == 7
    refused = town.ask("PATCH", f"row/house/{other}", {"rooms": 8, "label": "x" * 20})
    assert (refused.status, house.rooms(1)) == (422, 7)
    assert town.ask("DELETE", f"row/house/{hut}").json["alive"] is False
    assert town.ask("PATCH", f"row/house/{hut}", {"rooms": 3}).status == 422
    assert town.json(f"row/house/{hut}")["components"] == {}
    assert len(house) == 1
    for path in ("row/house/x", "row/hous/1", "row/person/1"):
        assert town.get(path).status == 404
    assert town.ask("POST", f"row/house/{other}", {}).status == 405


def test_settings_of_every_type(town: Inspected) -> None:
    changes = {
        "vision": 3.5, "mode": "infectious", "is_open": True, "motto": "Ça va", "wind": [1, 2],
        "size": 7,
    }  # fmt: skip
    answer = town.ask("PATCH", "settings", changes)
    assert answer.json == changes
    assert town.world.settings.mode == 3
    assert town.json("settings") == changes
    refused = town.ask("PATCH", "settings", {"is_open": False, "vision": 11})
    assert refused.status == 422
    assert "more than 10" in refused.error
    assert town.world.settings.is_open
    known = {each["name"]: each for each in town.json("world")["settings"]}
    assert (known["vision"]["min"], known["vision"]["max"]) == (0, 10)
    assert known["mode"]["members"] == [*("susceptible", "infectious", "constructor", "toString")]


@pytest.mark.parametrize(("options", "status"), [({}, 403), ({"step": lambda: None}, 200)])
def test_settings_change_with_a_step(options: Any, status: int) -> None:
    world = new_town()
    with Inspected(world, **options) as seen:
        assert seen.ask("PATCH", "settings", {"vision": 1}).status == status


def test_arguments_of_enums_are_members_names() -> None:
    class Way(Enum):
        left = 1
        right = 2

    def step(way: Way) -> None:
        assert isinstance(way, Way)

    with Inspected(World(), step=step, args={"way": Way.left}) as seen:
        state = seen.json("run")
        assert (state["args"], state["choices"]) == ({"way": "left"}, {"way": ["left", "right"]})
        answer = seen.ask("POST", "run", {"args": {"way": "right"}}).json
        assert answer["args"] == {"way": "right"}
        wrong: object
        for wrong in ("up", 2, [], None):
            assert seen.ask("POST", "run", {"args": {"way": wrong}}).status == 422


def test_times_of_the_last_second() -> None:
    world = World()
    world.spawn(1000, boid={"heading": (1, 0)})
    function = inspect.unwrap(type(world.boid).fly)

    def is_measured() -> bool:
        return "stand-in" in function.__code__.co_filename

    with Inspected(world) as seen:
        fly = world.boid.fly  # taken before anybody looks
        assert seen.json("times") == {"times": []}
        fly(way=1.0, width=100.0, height=60.0)
        [line] = seen.json("times")["times"]
        assert (line["name"], line["within"], line["calls"]) == ("Boid.fly", "", 1)
        assert line["rows"] == 1000
        assert set(line) == {
            "name", "within", "calls", "seconds", "share", "longest", "rows", "ns_per_row",
        }  # fmt: skip
        fly(way=1.0, width=100.0, height=60.0)
        assert seen.json("times")["times"][0]["calls"] == 2
        time.sleep(1.0)
        seen.inspector.tick()  # a second is over
        fly(way=1.0, width=100.0, height=60.0)
        time.sleep(1.0)
        assert seen.json("times")["times"][0]["calls"] == 1
        assert is_measured()
    deadline = time.monotonic() + 5  # the server ends on its own thread
    while is_measured() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_measured()


def test_times_give_way_to_those_of_the_program() -> None:
    world = World()
    world.spawn(10, boid={"heading": (1, 0)})
    fly = partial(world.boid.fly, way=1.0, width=100.0, height=60.0)
    with Inspected(world) as seen:
        assert seen.json("times") == {"times": []}
        fly()
        with timed(world) as times:
            fly()
            answer = seen.get("times")
            assert answer.status == 404
            assert "checked or timed already" in answer.error
        fly()
        assert [line.calls for line in times.table()] == [1]
        with checked(world):
            fly()
        assert seen.json("times") == {"times": []}
        fly()
        assert seen.json("times")["times"][0]["calls"] == 1


def test_no_times_without_schemas(town: Inspected) -> None:
    answer = town.get("times")
    assert answer.status == 404
    assert "there are no times" in answer.error


def test_saves_beside_its_file(tmp_path: Path) -> None:
    world = new_town()
    world.spawn(2, person={"name": ["Ada", "Bo"]})
    world.save(tmp_path / "town.snap", codecs={"*": None})
    (tmp_path / "work").mkdir()
    loaded = load_saved(tmp_path / "town.snap", tmp_path / "work")
    with Inspected(loaded, edit=True, save_folder=tmp_path) as seen:
        path = f"entity/{world.person.data.entity[0]}/person"
        assert seen.ask("PATCH", path, {"name": "Zoe"}).status == 200
        assert seen.ask("POST", "save", {"name": "new.snap"}).json == {"name": "new.snap"}
        before = sorted(tmp_path.iterdir())
        (tmp_path / "link.snap").symlink_to(tmp_path / "nowhere")
        for name in ("new.snap", "link.snap", "", ".", "..", "../x", "a/b", "a\\b", "/x", "a\0", 3):
            assert seen.ask("POST", "save", {"name": name}).status == 422, name
        assert seen.ask("POST", "save", {}).status == 422
        (tmp_path / "link.snap").unlink()
        assert sorted(tmp_path.iterdir()) == before
    again = type(world).load(tmp_path / "new.snap", codecs={"*": None})
    assert again.person.name(0) == "Zoe"


def test_without_a_file_nothing_is_saved(town: Inspected) -> None:
    assert town.ask("POST", "save", {"name": "new.snap"}).status == 404
