"""The inspector's pages of all policies, and of worlds with shards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsgen.config import UsageError
from ecsgen.inspector.component_readers import OWNER, ManagerReader, make_readers
from ecsgen.inspector.json_values import json_column
from ecsgen.inspector.saved_worlds import load_saved
from tests.inspector.test_inspector import entities, same
from tests.support.inspector_client import Inspected
from tests.support.watched_worlds import farm
from tests.support.world_package import world_package

SCHEMA = """
component: Rumour
fields:
  about: entity
  heat: {type: "f32[2]", tags: [cold], default: 1.5}
  way:  {type: "i16[6]", split: true}
  note: {type: object, tags: [cold]}
  text: {type: "str[9]", tags: [cold], default: hush}
owner: none
ring: 100
partition: {start: active}
hierarchy: {orphans: root}
cold: indirect
---
component: Stray
fields: {id: u32}
owner: none
---
component: Twig
fields: {length: f32}
instances: many
lookup: hash
hierarchy: {orphans: root}
---
component: Cell
fields: {value: i32, side: {type: "f64[3]", split: true}}
lookup: direct
---
component: Plate
fields: {rent: f32, number: {type: u16, unique: true}}
---
component: Tag
---
component: Wide
fields: {bits: Many}
---
enum: Many
flags: true
values: {low: 1, high: 9223372036854775808}
---
component: Scent
fields: {strength: {type: "f32[3]", split: true}, thing: object}
---
component: Mark
---
world: Wood
queries:
  leaves: {all: [Twig], none: [Cell]}
  any_of: {any: [Cell, Tag]}
  marked: {all: [Mark], none: [Scent]}
  scented: {all: [Mark], optional: [Scent]}
archetypes: {chunk: 4096, components: [Scent, Mark]}
"""


@pytest.fixture(scope="module")
def package() -> Any:
    return world_package(SCHEMA, "inspected_wood")


@pytest.fixture
def world(package: Any) -> Any:
    world = package.World()
    es = world.spawn(40, cell={"side": (1, 2, 3)}, tag={}, wide={"bits": 1})
    world.stray.create_many(3, id=[7, 8, 9])
    world.rumour.create_many(30, way=np.arange(180).reshape(30, 6))
    rumours = world.rumour
    rumours.set_heat(3, (7, 8))
    rumours.set_note(4, [1])
    rumours.set_text(5, "loud")
    rumours.set_parent_many(np.arange(1, 30), np.arange(29) // 4)
    world.twig.create_many(np.repeat(es[:10], 3), length=np.arange(30))
    world.twig.set_parent(4, 3)
    world.plate.create_many(es[:2], number=[1, 2])
    world.archetypes.add_many(es[::2], kind(world, "Mark"))
    world.archetypes.add_many(es[::4], kind(world, "Scent"), strength=(1, 2, 3))
    world.destroy_many(es[3:8])
    world.collect()
    world.spawn(2, cell={})
    return world


def kind(world: Any, name: str) -> Any:
    return next(row for row in world._chunked if row.__name__ == name)


@pytest.fixture
def seen(world: Any) -> Iterator[Inspected]:
    with Inspected(world, edit=True) as inspected:
        yield inspected


def test_cells_are_those_of_rows(world: Any) -> None:
    for subject in make_readers(world).values():
        if not isinstance(subject, ManagerReader):
            continue
        used = [row for row in range(subject.n) if subject.owners(slice(row, row + 1))[0]]
        assert len(used) == subject.used
        rows = np.array(used[::-1], np.intp)
        for field in subject.fields:
            json_values = json_column(subject.cells(field.name, rows), field)
            values = [getattr(subject.manager.row(row), field.name) for row in used[::-1]]
            assert all(map(shown_as, json_values, values)), (subject.name, field.name)
            column = subject.cells(field.name, slice(0, None))
            assert (column[rows] == subject.cells(field.name, rows)).all()
            assert column.base is None or not np.may_share_memory(
                column, subject.manager.data.buffer
            )


def shown_as(json_value: Any, value: Any) -> bool:
    return same(json_value, value) or json_value == type(value).__name__


def test_chunked_cells(world: Any) -> None:
    subject = make_readers(world)["scent"]
    owners = subject.owners(slice(None))
    rows = np.arange(len(owners))[::-1]
    assert subject.owners(rows).tolist() == owners[::-1].tolist()
    assert subject.cells("strength", rows).tolist() == [[1.0, 2.0, 3.0]] * len(rows)
    assert subject.cells("thing", rows[:1]).tolist() == ["NoneType"]
    assert subject.find(owners[[2, 0]]).tolist() == [2, 0]
    assert subject.column(OWNER, slice(1, 3)).tolist() == owners[1:3].tolist()


def test_queries(seen: Inspected) -> None:
    for name in ("leaves", "any_of", "marked"):
        query = getattr(seen.world, name)
        entities_found = entities(seen.json(f"query/{name}?count=500")["columns"]["entity"])
        assert sorted(entities_found) == sorted(query.rows().entity.tolist()), name
        assert len(query) == len(entities_found)


def test_a_field_called_id(seen: Inspected) -> None:
    columns = seen.json("rows/stray?sort=_id&desc=1&count=2")["columns"]
    strays = seen.world.stray
    assert entities(columns["_id"]) == [strays.id_of(2), strays.id_of(1)]
    assert columns["id"] == [9, 8]


def test_trees_without_entities(seen: Inspected) -> None:
    rumours = seen.world.rumour
    (root,) = seen.json("tree/rumour")["nodes"]
    assert (root["id"], root["children"]) == (str(rumours.id_of(0)), 4)
    below = seen.json(f"tree/rumour?parent={root['id']}")
    assert [node["row"] for node in below["nodes"]] == rumours.children(0).tolist()


def test_trees_of_several_instances(seen: Inspected) -> None:
    twigs = seen.world.twig
    whose = twigs.entity(3)
    assert seen.json(f"tree/twig?parent={whose}&row=3")["n"] == len(twigs.children(3))
    first = len(twigs.children(twigs.first(whose)))
    assert seen.json(f"tree/twig?parent={whose}&row=99999")["n"] == first
    assert seen.get(f"tree/twig?parent={whose}&row=x").status == 400


def test_grids_are_told_as_such(tmp_path: Path) -> None:
    world = type(farm(0))(patch=(2, 3))
    world.patch.data.grass = np.arange(6)
    world.spawn(2, sheep={"cell": [2**32 + 4, 0]})
    world.save(tmp_path / "a.snap")
    saved = load_saved(tmp_path / "a.snap", tmp_path)
    assert saved.sheep.data.cell.tolist() == [2**32 + 4, 0]
    for grid_world in (world, saved):
        with Inspected(grid_world, edit=True) as seen:
            components = {each["name"]: each for each in seen.json("world")["components"]}
            answer = seen.json("rows/patch?start=2&count=2")
        assert (components["patch"]["grid"], components["sheep"]["grid"]) == ([2, 3], None)
        assert (components["patch"]["rows"], components["patch"]["owner"]) == (6, "id")
        assert answer["columns"]["id"] == [str(2**32 + 2), str(2**32 + 3)]
        assert answer["columns"]["grass"] == [2.0, 3.0]


def test_flags_of_64_bits(seen: Inspected) -> None:
    e = next(iter(seen.world))
    assert seen.ask("PATCH", f"entity/{e}/wide", {"bits": "low|high"}).status == 200
    assert seen.json("rows/wide?count=1")["columns"]["bits"] == ["low|high"]
    counted = seen.json("histogram/wide/bits")
    assert dict(zip(counted["edges"], counted["counts"], strict=True))["low|high"] == 1


def test_a_setter_that_refuses_takes_back_what_came_before(seen: Inspected) -> None:
    plates = seen.world.plate
    e = plates.entity(0)
    answer = seen.ask("PATCH", f"entity/{e}/plate", {"rent": 5.0, "number": 2})
    assert answer.status == 422
    assert (plates.rent(0), plates.number(0)) == (0.0, 1)


def test_queries_of_chunks_show_optional_components(package: Any) -> None:
    world = package.World()
    store, mark, scent = world.archetypes, kind(world, "Mark"), kind(world, "Scent")
    without = store.create([mark]).tolist()
    strong = store.create([mark, scent], scent={"strength": (1, 2, 3), "thing": 7}).tolist()
    with Inspected(world) as seen:
        columns = seen.json("query/scented?sort=entity&desc=1")["columns"]
        optional = {query["name"]: query["optional"] for query in seen.json("world")["queries"]}
    assert entities(columns["entity"]) == strong + without
    assert columns["scent.strength"] == [[1.0, 2.0, 3.0], None]
    assert columns["scent.thing"] == ["int", None]
    assert optional == {"leaves": [], "any_of": [], "marked": [], "scented": ["scent"]}


SHARDS_SCHEMA = """
world: Sea
entity: {index_bits: 20, generation_bits: 20}
shards: {}
queries:
  school: {all: [Fish], optional: [Sick]}
  caught: {all: [Weight]}
archetypes: {components: [Weight]}
---
component: Fish
fields: {length: f32}
---
component: Sick
instances: many
fields: {days: u8}
---
component: Weight
fields: {value: f32}
"""


@pytest.fixture(scope="module")
def worlds() -> list[Any]:
    """Worlds between which entities went to and fro, and died."""
    sea = world_package(SHARDS_SCHEMA, "inspected_sea")
    shards = [sea.World(shard=shard) for shard in (0, 1, 5)]
    chance = random.Random(1)
    for world in shards:
        world.spawn(20, fish={"length": range(20)}, sick={})
        world.spawn(20, fish={}, weight={})
        world.spawn(10, weight={})
    for _ in range(60):
        source, other = chance.sample(shards, 2)
        moving = chance.sample(source.entities.live().tolist(), min(5, len(source) - 1))
        other.absorb(source.extract(moving))
        source.destroy_many(chance.sample(source.entities.live().tolist(), 1))
        if chance.random() < 0.5:
            source.collect()
            source.spawn(3, sick={"days": 3})
    return shards


@pytest.mark.parametrize("shard", range(3))
def test_all_that_live_here_are_found(worlds: list[Any], shard: int) -> None:
    world = worlds[shard]
    with Inspected(world) as seen:
        answer = seen.json("world")
        alive = seen.json("entities?count=500")
        healthy = seen.json("entities?all=fish&none=sick&count=500")["entities"]
        fish = seen.json("query/school?count=500")["columns"]["entity"]
        lengths = seen.json("query/school?sort=fish.length&count=500")["columns"]["fish.length"]
        caught = seen.json("query/caught?count=500")["columns"]["entity"]
        sick = seen.json("query/school?sort=sick.days&count=500")["columns"]
    assert (answer["index_bits"], answer["shard_bits"]) == (20, 12)
    assert (alive["n"], sorted(entities(alive["entities"]))) == (len(world), sorted(world))
    assert sorted(entities(healthy)) == [
        e for e in sorted(world) if e in world.fish and e not in world.sick
    ]
    assert entities(fish) == world.school.rows().entity.tolist()
    assert lengths == sorted(lengths)
    assert sorted(entities(caught)) == sorted(world.caught.rows().entity.tolist())
    has_days = [days is not None for days in sick["sick.days"]]
    assert has_days == [e in world.sick for e in entities(sick["entity"])]


def test_a_saved_one_is_shown_by_its_package_only(worlds: list[Any], tmp_path: Path) -> None:
    worlds[1].save(tmp_path / "sea.snap")
    with pytest.raises(UsageError, match=r"sea.snap is of a world with `shards`: load it with its"):
        load_saved(tmp_path / "sea.snap", tmp_path)
