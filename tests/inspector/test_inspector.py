"""Answers of the inspector, for every way of storing components, and when it touches worlds."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import generated
from ecsgen.inspector import column_cache, serve, tick_queue
from ecsgen.inspector.tick_queue import RequestError, TickQueue
from generated import Armor, BrokenManagerError, Burning, Health, StaleViewWarning, Weapon, World
from tests.support.inspector_client import Inspected

ONE = 1 << 32


@pytest.fixture(scope="module")
def seen() -> Iterator[Inspected]:
    with Inspected(town()) as inspected:
        yield inspected


def town() -> World:
    """A world with some of everything, and a few dead."""
    world = World()
    es = world.spawn(
        60,
        transform={},
        point_mass={"mass": np.arange(60)[::-1], "label": "rock"},
        every_type={},
        scene_node={},
        position={"value": np.arange(180).reshape(60, 3)},
        velocity={},
        sound_source={"clip": "wind"},
    )
    world.sound_source.create(es[7], clip="rain", volume=0.5)
    nodes = world.scene_node
    for k in range(1, 60):
        nodes.set_parent(nodes.lookup(es[k]), nodes.lookup(es[(k - 1) // 3]))
    world.tile.create_many(es[::2], height=np.arange(30)[::-1])
    world.ai_state.create_many(es[:20], loot=generated.Loot.sword)
    world.archetypes.create([Health, Weapon], n=4, weapon={"direction": (1, 2, 3)})
    world.archetypes.create([Armor, Health, Burning], n=2, health={"points": [7, 5]})
    world.spark.create_many(5, position=np.arange(10).reshape(5, 2))
    world.destroy_many(es[50:])
    world.collect()
    return world


def entities(texts: list[str]) -> list[int]:
    return [int(text) for text in texts]


def test_world(seen: Inspected) -> None:
    answer = seen.json("world")
    assert (answer["world"], answer["alive"], answer["edit"]) == ("Game", 56, False)
    assert answer["index_bits"] == 32
    components = {component["name"]: component for component in answer["components"]}
    assert components.keys() == {*World.MANAGERS, "armor", "burning", "health", "weapon"}
    mass, world = components["point_mass"], seen.world
    assert mass["rows"] == 50
    assert mass["capacity"] == world.point_mass.capacity
    assert mass["nbytes"] == world.point_mass.nbytes
    assert mass["version"] == world.point_mass.version
    first = {"name": "mass", "type": "f32", "shape": [], "default": 1.0, "unit": "kg"}
    assert first.items() <= mass["fields"][0].items()
    assert [column["column"] for column in mass["layout"]][:2] == ["entity", "mass"]
    assert components["health"]["rows"] == 6
    assert [query["name"] for query in answer["queries"]] == list(World.QUERIES)
    assert [group["name"] for group in answer["groups"]] == list(World.GROUPS)


@pytest.mark.parametrize("name", World.MANAGERS)
def test_rows_of_every_manager(seen: Inspected, name: str) -> None:
    manager = getattr(seen.world, name)
    answer = seen.json(f"rows/{name}?start=1&count=7")
    used = [row for row in range(manager.data.n) if is_used(manager, row)]
    assert answer["n"] == len(manager)
    assert answer["rows"] == used[1:8]
    columns = answer["columns"]
    owner = "entity" if hasattr(manager.data, "entity") else "id"
    assert list(columns) == [owner, *(field.name for field in manager.FIELDS)]
    whose = manager.entity if owner == "entity" else manager.id_of
    assert entities(columns[owner]) == [whose(row) for row in answer["rows"]]
    for index, row in enumerate(answer["rows"]):
        for field, value in zip(manager.FIELDS, manager.row(row), strict=True):
            assert same(columns[field.name][index], value), field.name


def is_used(manager: Any, row: int) -> bool:
    return not hasattr(manager.data, "present") or bool(manager.data.present[row])


def same(json_value: Any, value: Any) -> bool:
    """Return True if a JSON value is what an accessor returned."""
    if isinstance(value, tuple):
        return len(json_value) == len(value) and all(map(same, json_value, value))
    if isinstance(value, int | float) and isinstance(json_value, str):
        name = getattr(value, "name", None)
        return json_value == (name or f"{value}") or float(json_value) == value
    if isinstance(value, bytes):
        return bool(json_value == value.hex())
    return bool(json_value == (value if value is not None else "NoneType"))


def test_every_type(seen: Inspected) -> None:
    row = {name: cells[0] for name, cells in seen.json("rows/every_type")["columns"].items()}
    assert row["large"] == -(1 << 63)
    assert row["quad_word"] == str((1 << 64) - 1)
    assert row["double"] == "-Infinity"
    assert row["vector"] == [1.0, 2.5, -3.0]
    assert row["modes"] == ["running", "off"]
    assert row["access"] == "read|write"
    assert row["targets"] == ["0", "0"]
    assert row["title"] == "Grüße"
    assert (row["digest"], row["magic"]) == ("dead0000", "45435300")
    assert row["payload"] == "NoneType"


def test_what_is_raw_does_not_break_an_answer() -> None:
    world = World()
    (e,) = world.spawn(1, every_type={"payload": [object()]})
    data = world.every_type.data
    data.mode[:] = 77  # no member
    data.access[:] = 0
    data.title[:] = b"\xff\xfe"
    data.single[:] = np.nan
    with Inspected(world) as seen:
        row = seen.json(f"entity/{e}")["components"]["every_type"]
        cells = seen.json("rows/every_type")["columns"]
        values = seen.json("histogram/every_type/mode")
    assert {name: cells[name][0] for name in row} == row
    assert (row["mode"], row["access"], row["single"]) == (77, 0, "NaN")
    assert row["title"] == "��"
    assert row["payload"] == "object"
    assert dict(zip(values["edges"], values["counts"], strict=True))["77"] == 1


def test_windows(seen: Inspected) -> None:
    assert seen.json("rows/point_mass?start=49")["rows"] == [49]
    assert seen.json("rows/point_mass?start=50")["rows"] == []
    assert seen.json("rows/point_mass?count=0")["rows"] == []
    assert len(seen.json("rows/point_mass?count=100000")["rows"]) == 50
    assert seen.json("rows/PointMass?count=1")["rows"] == [0]
    for wrong in ("start=-1", "count=x", "start=1e3", "count=99999999999999999999"):
        assert seen.get(f"rows/point_mass?{wrong}").status == 400


def test_no_more_than_500_rows() -> None:
    world = World()
    world.spawn(600, point_mass={})
    with Inspected(world) as seen:
        assert len(seen.json("rows/point_mass?count=501")["rows"]) == 500


def test_sorted(seen: Inspected) -> None:
    answer = seen.json("rows/point_mass?sort=mass&count=3")
    assert answer["columns"]["mass"] == [10.0, 11.0, 12.0]
    answer = seen.json("rows/point_mass?sort=mass&desc=1&count=2&start=1")
    assert answer["columns"]["mass"] == [58.0, 57.0]
    assert seen.json("rows/tile?sort=height&count=2")["columns"]["height"] == [5.0, 6.0]
    heights = seen.json("rows/tile?sort=height&desc=true")["columns"]["height"]
    assert heights == sorted(heights, reverse=True)
    assert seen.json("rows/health?sort=points&count=2")["columns"]["points"] == [5.0, 7.0]
    assert seen.json("rows/spark?sort=id&desc=1&count=1")["rows"] == [4]
    assert seen.json("rows/every_type?sort=title")["n"] == 50
    assert seen.get("rows/point_mass?sort=position").status == 400
    assert seen.get("rows/every_type?sort=payload").status == 400
    assert seen.get("rows/point_mass?sort=__class__").status == 404


def test_nan_comes_last_either_way() -> None:
    world = World()
    world.spawn(4, point_mass={"mass": [2, np.nan, 1, 1]})
    with Inspected(world) as seen:
        assert seen.json("rows/point_mass?sort=mass")["rows"] == [2, 3, 0, 1]
        assert seen.json("rows/point_mass?sort=mass&desc=1")["rows"] == [0, 2, 3, 1]


def test_sorting_sees_what_changed() -> None:
    world = World()
    world.spawn(3, point_mass={"mass": [3, 2, 1]})
    with Inspected(world) as seen:
        assert seen.json("rows/point_mass?sort=mass")["rows"] == [2, 1, 0]
        world.spawn(1, point_mass={"mass": 0})
        assert seen.json("rows/point_mass?sort=mass")["rows"] == [3, 2, 1, 0]
        world.point_mass.data.mass = [1, 2, 3, 4]
        copies_are_old(seen)
        assert seen.json("rows/point_mass?sort=mass")["rows"] == [0, 1, 2, 3]


def copies_are_old(seen: Inspected) -> None:
    """As if the columns had been copied long ago."""
    for copy in seen.inspector._api._tables._cache._kept.values():
        copy.since -= 1 + column_cache.FRESH


@pytest.mark.parametrize("name", World.QUERIES)
def test_queries(seen: Inspected, name: str) -> None:
    query = getattr(seen.world, name)
    answer = seen.json(f"query/{name}?count=500")
    assert answer["n"] == len(query)
    assert entities(answer["columns"]["entity"]) == query.rows().entity.tolist()


def test_optional_components_of_queries(seen: Inspected) -> None:
    answer = seen.json("query/drawn")
    energy, has = answer["columns"]["ai_state.energy"], seen.world.ai_state.has_many
    there = has(np.array(entities(answer["columns"]["entity"]), np.uint64))
    assert [value is not None for value in energy] == there.tolist()
    assert {"rows": list(range(len(energy))), "n": len(energy)}.items() <= answer.items()


def test_sorted_query(seen: Inspected) -> None:
    answer = seen.json("query/movers?sort=point_mass.mass&count=2")
    assert answer["columns"]["point_mass.mass"] == [10.0, 11.0]
    answer = seen.json("query/movers?sort=entity&desc=1&count=1")
    assert entities(answer["columns"]["entity"]) == [ONE + 49]
    answer = seen.json("query/drawn?sort=ai_state.energy")
    assert answer["columns"]["ai_state.energy"][-1] is None
    assert seen.get("query/movers?sort=static.x").status == 404
    assert seen.get("query/movers?sort=point_mass").status == 404


def test_groups(seen: Inspected) -> None:
    answer = seen.json("group/bodies?start=2&count=2")
    assert (answer["n"], answer["rows"]) == (50, [2, 3])
    bodies = seen.world.bodies
    assert entities(answer["columns"]["entity"]) == bodies.entity[2:4].tolist()
    assert answer["columns"]["position.value"] == bodies.position.value[2:4].tolist()
    answer = seen.json("group/bodies?sort=entity&desc=1&count=1")
    assert entities(answer["columns"]["entity"]) == [ONE + 49]
    assert seen.json("group/actors")["n"] == 0
    assert seen.get("group/bodies?sort=position.value").status == 400


def test_entities(seen: Inspected) -> None:
    world = seen.world
    answer = seen.json("entities?count=500")
    assert entities(answer["entities"]) == world.entities.live().tolist()
    assert answer["n"] == len(world)
    answer = seen.json("entities?all=PointMass,tile&none=ai_state&count=3")
    live = [e for e in world if world.tile.has(e) and not world.ai_state.has(e)]
    assert (answer["n"], entities(answer["entities"])) == (len(live), live[:3])
    answer = seen.json("entities?any=health,ai_state&count=500")
    live = [e for e in world if world.ai_state.has(e) or world.archetypes.has(e, Health)]
    assert entities(answer["entities"]) == live
    for names, entity in zip(answer["components"], live, strict=True):
        rows = {kind.__name__ for kind in world.components(entity)}
        assert {name.replace("_", "") for name in names} == {row.lower() for row in rows}
    assert seen.get("entities?all=nothing").status == 404
    assert seen.get("entities?all=spark").status == 400


def test_dead_entities_are_not_found() -> None:
    world = World()
    es = world.spawn(4, point_mass={})
    world.entities.destroy_many(es[:2])
    world.spawn(1)
    with Inspected(world) as seen:
        assert entities(seen.json("entities?all=point_mass")["entities"]) == es[2:].tolist()
        assert seen.json("entities")["n"] == 3
        dead = seen.json(f"entity/{es[0]}")
    assert (dead["alive"], list(dead["components"])) == (False, ["point_mass"])


def test_entity(seen: Inspected) -> None:
    answer = seen.json(f"entity/{ONE + 7}")
    assert (answer["entity"], answer["alive"]) == (str(ONE + 7), True)
    parts = answer["components"]
    assert parts["point_mass"]["label"] == "rock"
    assert [sound["clip"] for sound in parts["sound_source"]] == ["wind", "rain"]
    assert parts["ai_state"]["loot"] == "sword"
    chunked = seen.json(f"entity/{ONE + 60}")["components"]
    assert chunked.keys() == {"health", "weapon"}
    assert chunked["weapon"]["direction"] == [1.0, 2.0, 3.0]
    nobody = seen.json("entity/77")
    assert (nobody["alive"], nobody["components"]) == (False, {})


def test_histogram(seen: Inspected) -> None:
    answer = seen.json("histogram/point_mass/mass?bins=5")
    assert answer["counts"] == [10] * 5
    assert answer["edges"][0] == 10.0
    assert answer["edges"][-1] == 59.0
    assert not answer["sampled"]
    assert seen.json("histogram/scene_node/local")["cells"] == 16 * len(seen.world.scene_node)
    assert seen.json("histogram/every_type/flag")["edges"] == ["false", "true"]
    assert seen.json("histogram/weapon/direction")["cells"] == 12
    assert seen.json("histogram/tile/height")["cells"] == 25
    assert seen.json("histogram/boid/heading") == {
        "counts": [], "edges": [], "cells": 0, "counted": 0, "sampled": False, "skipped": 0
    }  # fmt: skip
    loot = seen.json("histogram/ai_state/loot")
    assert dict(zip(loot["edges"], loot["counts"], strict=True))["sword"] == 20
    assert seen.json("histogram/every_type/double")["skipped"] == 50
    for wrong in ("label", "nothing", "__class__"):
        assert seen.get(f"histogram/point_mass/{wrong}").status in (400, 404)
    assert seen.get("histogram/point_mass/mass?bins=0").status == 400


def test_histogram_of_the_largest_floats() -> None:
    world = World()
    most = np.finfo(np.float64).max
    world.spawn(2, every_type={"double": [-most, most]})
    with Inspected(world) as seen:
        answer = seen.json("histogram/every_type/double?bins=2")
    assert (answer["counts"], answer["edges"]) == ([1, 1], [-most, 0.0, most])


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("quad_word", [2**64 - 1] * 3),
        ("quad_word", [2**63, 2**63 + 1, 2**63 + 4096]),
        ("double", [1e300] * 3),
        ("double", [1.0, np.nextafter(1.0, 2.0), 1.0]),
        ("double", [sys.float_info.max] * 3),
        ("double", [-sys.float_info.max] * 3),
        ("double", [0.0, 5e-324, 0.0]),
    ],
)
@pytest.mark.parametrize("bins", [1, 30, 200])
def test_histogram_of_values_that_floats_hardly_tell_apart(
    field: str, values: list[Any], bins: int
) -> None:
    world = World()
    world.spawn(3, every_type={})
    setattr(world.every_type.data, field, values)
    with Inspected(world) as seen:
        answer = seen.json(f"histogram/every_type/{field}?bins={bins}")
    assert sum(answer["counts"]) == 3
    assert (len(answer["counts"]), len(answer["edges"])) == (bins, bins + 1)
    assert all(isinstance(edge, float) for edge in answer["edges"])


def test_histogram_of_many_is_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecsgen.inspector.histograms.SAMPLED", 20)
    with Inspected(town()) as seen:
        answer = seen.json("histogram/point_mass/mass")
    assert answer["sampled"]
    assert sum(answer["counts"]) == answer["counted"] == 17


def test_tree(seen: Inspected) -> None:
    nodes = seen.world.scene_node
    answer = seen.json("tree/scene_node?count=500")
    assert [node["row"] for node in answer["nodes"]] == nodes.roots().tolist()
    for node in answer["nodes"]:
        assert int(node["entity"]) == nodes.entity(node["row"])
        assert node["children"] == len(nodes.children(node["row"]))
    below = seen.json(f"tree/scene_node?parent={ONE + 1}")
    row = nodes.lookup(ONE + 1)
    assert [node["row"] for node in below["nodes"]] == nodes.children(row).tolist()
    second = seen.json(f"tree/scene_node?parent={ONE + 1}&start=1&count=1")
    assert second["nodes"] == below["nodes"][1:2]
    assert second["n"] == len(below["nodes"])
    assert seen.get("tree/point_mass").status == 404
    assert seen.get("tree/scene_node?parent=5").status == 404


def test_archetypes(seen: Inspected) -> None:
    archetypes = {
        tuple(archetype["components"]): archetype for archetype in seen.json("archetypes")
    }
    both = archetypes["health", "weapon"]
    (chunk,) = seen.world.archetypes.chunks(all=[Weapon])
    assert both["entities"] == 4
    assert both["chunks"] == [{"rows": 4, "capacity": chunk.capacity}]
    assert archetypes["armor", "burning", "health"]["entities"] == 2


def test_frames(seen: Inspected) -> None:
    seen.inspector.tick()
    seen.inspector.tick()
    answer = seen.json("frames")
    rows = sum(component["rows"] for component in seen.json("world")["components"])
    assert len(answer["ms"]) == len(answer["entities"]) == len(answer["rows"]) > 1
    assert (answer["entities"][-1], answer["rows"][-1]) == (56, rows)


def test_the_last_600_frames() -> None:
    with Inspected(World()) as seen:
        for _ in range(700):
            seen.inspector.tick()
        assert len(seen.json("frames")["ms"]) == 600


def test_columns_of_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_cache, "PIECE", 64)
    with Inspected(town()) as seen:
        assert seen.json("rows/point_mass?sort=mass&count=3")["columns"]["mass"] == [10, 11, 12]
        assert seen.json("entities?all=point_mass")["n"] == 50
        assert seen.json("query/movers?sort=point_mass.mass")["n"] == 50


def test_an_empty_world() -> None:
    world = World()
    with Inspected(world) as seen:
        for name in World.MANAGERS:
            assert seen.json(f"rows/{name}?sort=")["n"] == 0
        for name in World.QUERIES:
            assert seen.json(f"query/{name}")["n"] == 0
        assert seen.json("entities")["entities"] == []
        assert seen.json("tree/scene_node")["nodes"] == []
        assert seen.json("archetypes") == []
        assert seen.json("rows/health?sort=points")["rows"] == []


Work = Callable[[], Any]


async def asked(questions: TickQueue, *works: Work) -> list[asyncio.Task[Any]]:
    """Put questions as a server does."""
    waiting = [asyncio.ensure_future(questions.run_in_tick(work)) for work in works]
    await asyncio.sleep(0)
    return waiting


async def answered(budget: float, *works: Work) -> tuple[int, list[Any]]:
    questions = TickQueue()
    waiting = await asked(questions, *works)
    count = questions.run_pending(budget)
    while questions.run_pending(1.0):
        pass
    return count, list(await asyncio.gather(*waiting, return_exceptions=True))


def test_the_budget_begins_with_the_first_answer() -> None:
    assert asyncio.run(answered(0.0, *[lambda: 1] * 3)) == (1, [1, 1, 1])
    assert asyncio.run(answered(10.0, *[lambda: 1] * 3)) == (3, [1, 1, 1])


def test_nothing_to_do() -> None:
    with serve(World()) as inspector:
        assert inspector.tick() == 0


def test_a_request_counts_once() -> None:
    world = World()
    world.spawn(3, point_mass={"mass": [3, 1, 2]})
    with Inspected(world) as seen:
        counted: list[int] = []
        tick = seen.inspector.tick

        def counts(budget: float = 1.0) -> int:
            counted.append(tick(budget))
            return counted[-1]

        seen.inspector.tick = counts  # type: ignore[method-assign]  # to see what it returns
        for path in ("world", "rows/point_mass?sort=mass", "entities?all=point_mass"):
            counted.clear()
            assert seen.get(path).status == 200
            assert sum(counted) == 1, path


def test_it_is_the_callers_thread_that_touches_the_world() -> None:
    world, threads = World(), set()

    class Told(type(world.entities)):  # type: ignore[misc]  # a class that is not known before
        def __len__(self) -> int:
            threads.add(threading.current_thread())
            return int(super().__len__())

    world.entities.__class__ = Told
    with Inspected(world) as seen:
        seen.json("world")
        seen.json("entities")
    assert threads == {threading.current_thread()}


@pytest.mark.parametrize(
    "path",
    [
        *("rows/point_mass", "rows/point_mass?sort=mass", "histogram/point_mass/mass"),
        *("entities?all=point_mass", "query/movers", "rows/nothing", "frames", "world"),
    ],
)
def test_no_view_outlives_a_tick(path: str) -> None:
    world = World()
    world.spawn(70, point_mass={}, transform={})
    with Inspected(world) as seen, warnings.catch_warnings():
        warnings.simplefilter("error", StaleViewWarning)
        for k in range(3):
            seen.get(path)
            world.spawn(200 << k, point_mass={}, transform={})


def test_errors_keep_no_view() -> None:
    world = World()
    world.spawn(64, point_mass={})

    def fails() -> None:
        view = world.point_mass.data.mass
        raise ValueError(len(view))

    gc.disable()
    try:
        _, (error,) = asyncio.run(answered(1.0, fails))
        with warnings.catch_warnings():
            warnings.simplefilter("error", StaleViewWarning)
            world.spawn(100, point_mass={})
    finally:
        gc.enable()
    assert isinstance(error, RequestError)
    assert (error.status, error.message) == (500, "64")


def test_no_tick_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick_queue, "PATIENCE", 0.05)
    with Inspected(World()) as seen:
        answer = seen.sent("GET", "/api/world", {"X-Ecsgen-Token": seen.token}).result(5)
        assert answer.status == 503
        assert "no tick() answered" in answer.error
        assert seen.inspector.tick() == 0  # nobody waits any more
        monkeypatch.setattr(tick_queue, "PATIENCE", 2.0)
        assert seen.get("world").status == 200


def test_a_broken_manager_is_told_to_the_browser() -> None:
    world = World()
    world.spawn(2, point_mass={})
    with Inspected(world) as seen:
        world.point_mass._mark_broken()
        with pytest.raises(BrokenManagerError):
            len(world.point_mass)
        answer = seen.get("rows/point_mass")
        assert (answer.status, "broken" in answer.error) == (500, True)
        assert seen.json("rows/transform")["n"] == 0
        assert seen.json("frames")["rows"][-1] is None


def test_ctrl_c_in_a_tick_is_the_programs() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    async def run() -> None:
        questions = TickQueue()
        (waiting,) = await asked(questions, interrupted)
        with pytest.raises(KeyboardInterrupt):
            questions.run_pending(1.0)
        with pytest.raises(RequestError):
            await waiting

    asyncio.run(run())


def test_closing() -> None:
    inspector = serve(World())
    inspector.close()
    inspector.close()
    assert inspector.tick() == 0
    with pytest.raises(RequestError, match="closed"):
        asyncio.run(inspector._queue.run_in_tick(lambda: 1))


def test_closing_refuses_what_waits() -> None:
    async def run() -> None:
        questions = TickQueue()
        (waiting,) = await asked(questions, lambda: 1)
        questions.close()
        with pytest.raises(RequestError, match="closed"):
            await waiting

    asyncio.run(run())


def test_two_at_once() -> None:
    with Inspected(World()) as first, Inspected(World()) as other:
        assert first.port != other.port
        assert first.token != other.token
        assert first.json("world")["alive"] == other.json("world")["alive"] == 0
        assert first.send("GET", "/api/world", {"X-Ecsgen-Token": other.token}).status == 401


def test_copies_are_dropped_when_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecsgen.inspector.column_cache._LONGEST", 0.02)
    world = World()
    world.spawn(10, point_mass={})
    with Inspected(world) as seen:
        seen.json("rows/point_mass?sort=mass")
        copies = seen.inspector._api._tables._cache._kept
        deadline = time.monotonic() + 60
        while copies and time.monotonic() < deadline:
            time.sleep(0.005)
        assert not copies
