"""The inspector of one of several worlds, in whose slots entities of others live, too."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ecsgen.config import UsageError
from ecsgen.inspector.saved_worlds import load_saved
from tests.inspector.test_inspector import entities
from tests.support.inspected import Inspected
from tests.support.world_package import world_package

SCHEMA = """
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
    sea = world_package(SCHEMA, "inspected_sea")
    found = [sea.World(shard=shard) for shard in (0, 1, 5)]
    chance = random.Random(1)
    for world in found:
        world.spawn(20, fish={"length": range(20)}, sick={})
        world.spawn(20, fish={}, weight={})
        world.spawn(10, weight={})
    for _ in range(60):
        one, other = chance.sample(found, 2)
        some = chance.sample(one.entities.live().tolist(), min(5, len(one) - 1))
        other.absorb(one.extract(some))
        one.destroy_many(chance.sample(one.entities.live().tolist(), 1))
        if chance.random() < 0.5:
            one.collect()
            one.spawn(3, sick={"days": 3})
    return found


@pytest.mark.parametrize("place", range(3))
def test_all_that_live_here_are_found(worlds: list[Any], place: int) -> None:
    world = worlds[place]
    with Inspected(world) as seen:
        said = seen.json("world")
        assert (said["index_bits"], said["shard_bits"]) == (20, 12)
        alive = seen.json("entities?count=500")
        healthy = seen.json("entities?all=fish&none=sick&count=500")["entities"]
    assert alive["n"] == len(world)
    assert sorted(entities(alive["entities"])) == sorted(world)
    assert sorted(entities(healthy)) == [
        e for e in sorted(world) if e in world.fish and e not in world.sick
    ]


@pytest.mark.parametrize("place", range(3))
def test_queries(worlds: list[Any], place: int) -> None:
    world = worlds[place]
    with Inspected(world) as seen:
        fish = seen.json("query/school?count=500")["columns"]["entity"]
        lengths = seen.json("query/school?sort=fish.length&count=500")["columns"]["fish.length"]
        caught = seen.json("query/caught?count=500")["columns"]["entity"]
        sick = seen.json("query/school?sort=sick.days&count=500")["columns"]
    assert entities(fish) == world.school.rows().entity.tolist()
    assert lengths == sorted(lengths)
    assert sorted(entities(caught)) == sorted(world.caught.rows().entity.tolist())
    assert [days is not None for days in sick["sick.days"]] == [
        e in world.sick for e in entities(sick["entity"])
    ]


def test_a_saved_one_is_shown_by_its_package_only(worlds: list[Any], tmp_path: Path) -> None:
    worlds[1].save(tmp_path / "sea.snap")
    with pytest.raises(UsageError, match=r"sea.snap is of a world with `shards`: load it with its"):
        load_saved(tmp_path / "sea.snap", tmp_path)
