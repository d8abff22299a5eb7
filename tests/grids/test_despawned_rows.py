"""Nobody finds the dead, and no query who lost a row, however a component finds rows: as the
interpreter has it, which knows no policies; and the order of spawns and despawns in spaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.interpreted_schemas import IN_WORLDS, check, kernels
from tests.support.world_package import world_package

POLICIES = (
    *("lookup: sparse", "lookup: hash", "lookup: direct", "instances: many", "destroy: callback"),
    *("lookup: hash\ninstances: many", "partition: {start: active}", "hierarchy: {orphans: root}"),
)
STEPS = """Wolf.food += Wolf.prey.Sheep.fat,
    "Wolf.food += 10 if exists(Wolf.prey.Sheep) else 0", Wolf.food += 100 * Wolf.id.fat,
    "Wolf.chosen = choice(Sheep)", Wolf.prey.Sheep.eaten += 1"""
HUNT = """\
component: Sheep
ids: true
POLICY
fields: {fat: i64, eaten: i64}
---
component: Wolf
fields: {prey: entity, id: id<Sheep>, food: i64, chosen: entity}
---
world: Field
kernels:
  hunt: {over: Wolf, turns: rows, steps: [STEPS, destroy(Wolf.prey)]}
  hunt_by_id: {over: Wolf, turns: rows, steps: [STEPS, destroy(Wolf.id)]}
""".replace("STEPS", STEPS)
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
DYING = """\
component: Fox
ids: true
fields: {b: bool, other: id<Fox>, steps: i64}
---
component: Elk
fields: {b: bool}
---
world: Wood
queries: {pack: {all: [Fox, Elk]}}
kernels:
  one: {over: Fox, steps: [die(where=Fox.b), destroy(Fox.other)]}
  one_in_turns: {over: Fox, turns: rows, steps: [destroy(Fox.other), die(where=Fox.b)]}
  both: {over: pack, steps: [destroy(Fox.other), die(where=Fox.b), Fox.steps += 1]}
  both_in_turns: {over: pack, turns: rows,
    steps: [die(where=Fox.b), destroy(Fox.other), Fox.steps += 1]}
"""
HENS_IN_SPACE = """\
component: Hen
POLICY
space: {field: at, wrap: [64, 64]}
fields: {at: "f64[2]", met: i64, here: i64, victim: id<Ring>}
"""
HENS_ON_GRID = """\
component: Yard
grid: {shape: [8, 8]}
---
component: Hen
POLICY
on: {field: at}
fields: {at: id<Yard>, met: i64, here: i64, victim: id<Ring>}
"""
RINGS = """\
---
component: Ring
ids: true
POLICY
MANY
fields: {number: i64}
---
world: Farm
queries: {ringed: {all: [Hen, Ring]}}
kernels:
  look: {over: Hen, turns: rows,
    near: {worn: {radius: 2, among: ringed}, hens: {radius: 2, among: Hen}},
    steps: ["Hen.met = count(worn)", "Hen.here = count(hens)", destroy(Hen.victim),
      "Hen.at = Hen.at"]}
  idle: {over: Hen, turns: rows, near: {radius: 2, among: ringed}, steps: [destroy(Hen.victim)]}
"""
TURNS = {"at_once": "", "rows": "turns: rows,", "random": "turns: random,"}
CASES = {
    **{f"hunt {policy}": HUNT.replace("POLICY", policy) for policy in POLICIES},
    **{f"packs {lookup}": PACKS.replace("LOOKUP", lookup) for lookup in ("sparse", "hash")},
    **{f"wood {turns}": SPACE.replace("TURNS", text) for turns, text in TURNS.items()},
    **{
        f"hens {places} {policy} {many}": (text + RINGS)
        .replace("POLICY", policy)
        .replace("MANY", many)
        for places, text in (("in space", HENS_IN_SPACE), ("on grid", HENS_ON_GRID))
        for policy in ("lookup: sparse", "lookup: hash")
        for many in ("", "instances: many")
    },
    "dying": DYING,
}


@pytest.mark.parametrize(
    ("case", "kernel"), [(case, kernel) for case, text in CASES.items() for kernel in kernels(text)]
)
@pytest.mark.parametrize("backend", BACKENDS)
@IN_WORLDS
def test_the_dead_are_gone_at_once(
    backend: Backend, case: str, kernel: str, worlds: Sequence[tuple[int, int]]
) -> None:
    check(CASES[case], f"gone_{[*CASES].index(case)}", backend, kernel, worlds)


SELF = """\
component: Elk
ids: true
fields: {prey: id<Elk>}
---
component: Fox
fields: {steps: i64}
---
world: Pack
queries: {pack: {all: [Fox, Elk]}}
kernels:
  at_once: {over: pack, steps: [Fox.steps += 1, destroy(Elk.prey), Fox.steps += 10]}
  in_turns: {over: pack, turns: rows, steps: [Fox.steps += 1, destroy(Elk.prey), Fox.steps += 10]}
"""


@pytest.mark.parametrize(("kernel", "steps"), [("at_once", [1, 11, 11]), ("in_turns", [1, 11, 0])])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n_dead", [0, 1])
def test_a_row_of_a_query_that_is_gone_takes_no_step(
    n_dead: int, backend: Backend, kernel: str, steps: list[int]
) -> None:
    world = world_package(SELF, f"itself_{backend}", backend).World()
    world.destroy_many(world.spawn(n_dead, fox={}, elk={}))  # their rows come first
    world.spawn(3, fox={}, elk={})
    ids = world.elk.id_of_many(np.arange(3) + n_dead)
    world.elk.data.prey[n_dead:] = [ids[0], ids[2], 0]  # itself, another, nobody
    getattr(world, kernel)()
    assert world.fox.data.steps[n_dead:].tolist() == steps
    assert [*world.elk.resolve_many(ids)].count(0xFFFF_FFFF) == 2


def wood(backend: Backend, turns: str) -> Any:
    name = f"wood_{turns}_{backend}"
    return world_package(CASES[f"wood {turns}"], name, backend).Wood()


@pytest.mark.parametrize("turns", TURNS)
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
