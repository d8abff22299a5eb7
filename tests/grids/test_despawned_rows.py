"""Nobody finds the dead in turns, however a component finds rows; ids of neighbours in spaces, and
the order of spawns and despawns there."""

from __future__ import annotations

from typing import Any

import pytest

from ecsgen.config import BACKENDS
from tests.support.soak import COMPILED
from tests.support.world_package import world_package

POLICIES = (
    *("lookup: sparse", "lookup: hash", "lookup: direct", "instances: many", "destroy: callback"),
    *("lookup: hash, instances: many", "partition: {start: active}", "hierarchy: {orphans: root}"),
)
HUNT = """\
component: Sheep
ids: true
POLICY
fields: {fat: i64, eaten: i64}
---
component: Wolf
fields: {prey: entity, id: id<Sheep>, food: i64, chosen: entity}
---
component: Grass
fields: {x: i64}
---
world: Field
queries: {both: {all: [Wolf, Sheep]}}
kernels:
  hunt: {over: Wolf, turns: rows, steps: [Wolf.food += Wolf.prey.Sheep.fat,
    "Wolf.food += 10 if exists(Wolf.prey.Sheep) else 0", Wolf.food += 100 * Wolf.id.fat,
    "Wolf.chosen = choice(Sheep)", Wolf.prey.Sheep.eaten += 1, destroy(Wolf.DEAD)]}
  both_hunt: {over: both, turns: rows, steps: [Wolf.food += 1, destroy(Wolf.id), Wolf.food += 10]}
"""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_two_wolves_do_not_eat_one_sheep(backend: Any, policy: str) -> None:
    lines = policy.replace(", ", "\n") if "{" not in policy else policy
    for dead in ("prey", "id"):
        text = HUNT.replace("POLICY", lines).replace("DEAD", dead)
        name = f"hunted_{POLICIES.index(policy)}_{dead}_{backend}"
        compiled = COMPILED and dead == "prey"
        world = world_package(text, name, backend, compiled=compiled).Field()
        (sheep,) = world.spawn(1, sheep={"fat": 5})
        world.spawn(3, wolf={"prey": sheep, "id": world.sheep.id_of(0)})
        world.hunt()
        data = world.wolf.data
        assert data.food.tolist() == [515, 0, 0], dead
        assert data.chosen.tolist() == [sheep, 0, 0], dead
        assert len(world.sheep) == 0


@pytest.mark.parametrize("lookup", ["lookup: sparse", "lookup: hash"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_next_instance_is_found_then(backend: Any, lookup: str) -> None:
    text = HUNT.replace("POLICY", f"instances: many\n{lookup}").replace("DEAD", "id")
    text = text.replace("{over: both", "{over: Wolf")
    text = text.replace("queries: {both: {all: [Wolf, Sheep]}}\n", "")
    world = world_package(text, f"hunted_many_{lookup[8:]}_{backend}", backend).Field()
    (sheep,) = world.spawn(1, sheep={"fat": 1})
    world.sheep.create(sheep, fat=2)
    world.spawn(3, wolf={"prey": sheep, "id": [world.sheep.id_of(0)] * 3})
    world.hunt()
    assert world.wolf.data.food.tolist() == [111, 12, 12]
    assert world.sheep.data.eaten.tolist() == [2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_has_lost_a_row_has_no_turn_over_a_query(backend: Any) -> None:
    text = HUNT.replace("POLICY", "").replace("DEAD", "id")
    world = world_package(text, f"hunted_both_{backend}", backend).Field()
    world.spawn(3, wolf={}, sheep={})
    ids = [world.sheep.id_of(k) for k in range(3)]
    world.wolf.data.id = [ids[1], ids[1], ids[2]]  # the first takes the second's, the third its own
    world.both_hunt()
    assert world.wolf.data.food.tolist() == [11, 0, 1]
    assert len(world.sheep) == 1
    assert world.sheep.id_of(0) == ids[0]


PACKS = """\
component: Fox
instances: many
lookup: LOOKUP
space: {field: at}
fields: {at: "f64[2]", prey: entity, met: i64}
---
world: Wood
kernels:
  hunt: {over: Fox, turns: rows, near: {radius: 1, among: Fox}, steps: [Fox.met = count(),
    destroy(Fox.prey)]}
"""


@pytest.mark.parametrize("lookup", ["sparse", "hash"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_instance_of_the_dead_is_met(backend: Any, lookup: str) -> None:
    text = PACKS.replace("LOOKUP", lookup)
    world = world_package(text, f"packs_{lookup}_{backend}", backend).Wood()
    hunter, _, prey, other = world.spawn(4, fox={})
    world.fox.create_many([prey, other, prey])
    world.fox.set_prey(world.fox.lookup(hunter), prey)
    world.hunt()
    assert sorted(world.fox.data.met.tolist()) == [3, 3, 3, 6]


SPACE = """\
component: Fox
owner: none
space: {field: at}
fields: {at: "f64[2]", mate: id<Fox>, hits: i64}
kernels:
  look: {near: 1.5, TURNS steps: [mate = nearest(other)]}
---
component: Hare
space: {field: at, wrap: [64, 0]}
fields: {at: "f64[2]", age: i64, mate: entity}
---
component: Mark
fields: {of: i64}
---
world: Wood
kernels:
  look: {over: Fox, TURNS near: {radius: 1.5, among: Fox}, steps: [
    "Fox.mate = choice(other)", Fox.mate.hits += 1]}
  end: {over: Fox, TURNS near: {radius: 1.5, among: Fox}, where: Fox.hits > 0,
    steps: ["destroy(nearest(other))"]}
  breed: {over: Hare, TURNS near: {radius: 1.5, among: Hare}, steps: [Hare.age = i64(count()),
    "spawn(Hare(at=Hare.at + 0.5, age=7), Mark(of=Hare.age))", "destroy(nearest(other))",
    "spawn(Mark(of=100))"]}
"""
TURNS = ("", "turns: rows,", "turns: random,")


def wood(backend: Any, turns: str) -> Any:
    name = f"wood_{TURNS.index(turns)}_{backend}"
    return world_package(SPACE.replace("TURNS", turns), name, backend).Wood()


@pytest.mark.parametrize("turns", TURNS, ids=["at_once", "rows", "random"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_neighbour_itself_of_what_is_nobodys_is_its_id(backend: Any, turns: str) -> None:
    world = wood(backend, turns)
    world.fox.create_many(3)
    world.fox.destroy(0)  # so that slots are no rows
    rows = world.fox.create_many(2)
    assert len(rows) == 2
    world.fox.data.at = [[k // 2 * 10 + k % 2, 0] for k in range(4)]
    ids = [world.fox.id_of(k) for k in range(4)]
    world.fox.look()
    assert world.fox.data.mate.tolist() == [ids[1], ids[0], ids[3], ids[2]]
    world.fox.data.mate = 0
    world.look()
    assert world.fox.data.mate.tolist() == [ids[1], ids[0], ids[3], ids[2]]
    assert world.fox.data.hits.tolist() == [1] * 4
    world.fox.data.hits = [1, 0, 0, 0]
    world.end()
    assert sorted(world.fox.id_of(k) for k in range(3)) == sorted([ids[0], *ids[2:]])


@pytest.mark.parametrize("turns", TURNS, ids=["at_once", "rows", "random"])
def test_spawns_and_despawns_in_spaces_come_in_the_order_of_rows(turns: str) -> None:
    worlds = [wood(backend, turns) for backend in BACKENDS]
    for world in worlds:
        places = [[(k * 37) % 64, (k * 11) % 5] for k in range(150)]
        world.spawn(150, hare={"at": places})
        died: list[int] = []
        world.entities.on_destroy(lambda gone, died=died: died.extend(gone.tolist()))
        world.died = died
    for _ in range(3):
        for world in worlds:
            world.breed()
        plain, compiled = worlds
        assert plain.died == compiled.died
        for name in ("hare", "mark"):
            expected, other = getattr(plain, name).data, getattr(compiled, name).data
            assert expected.entity.tolist() == other.entity.tolist()
        assert plain.mark.data.of.tolist() == compiled.mark.data.of.tolist()


DYING = """\
component: Fox
ids: true
fields: {b: bool, other: id<Fox>}
---
component: Elk
fields: {b: bool}
---
world: Wood
queries: {pack: {all: [Fox, Elk]}}
kernels:
  one: {over: Fox, steps: [die(where=Fox.b), destroy(Fox.other)]}
  one_in_turns: {over: Fox, turns: rows, steps: [destroy(Fox.other), die(where=Fox.b)]}
  both: {over: pack, steps: [destroy(Fox.other), die(where=Fox.b)]}
  both_in_turns: {over: pack, turns: rows, steps: [die(where=Fox.b), destroy(Fox.other)]}
"""


@pytest.mark.parametrize("name", ["one", "one_in_turns", "both", "both_in_turns"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_entities_die_where_rows_are_destroyed_by_ids_too(backend: Any, name: str) -> None:
    world = world_package(DYING, f"dying_{backend}", backend).Wood()
    entities = world.spawn(3, fox={"b": [True, False, False]}, elk={})
    world.fox.data.other[1] = world.fox.id_of(2)
    getattr(world, name)()
    assert [*world.entities] == entities[1:].tolist()
    assert [*world.fox] == [entities[1]]
