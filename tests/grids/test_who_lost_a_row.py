"""Entities that lost a row in turns: no group or query that needs the row meets them any more."""

from __future__ import annotations

from typing import Any

import pytest

from ecsgen.config import BACKENDS
from tests.support.soak import COMPILED
from tests.support.world_package import world_package

SPACE = """\
component: Hen
POLICY
space: {field: at, wrap: [64, 64]}
fields: {at: "f64[2]", met: i64, here: i64, victim: id<Ring>}
"""
GRID = """\
component: Yard
grid: {shape: [8, 8]}
---
component: Hen
POLICY
on: {field: at}
fields: {at: id<Yard>, met: i64, here: i64, victim: id<Ring>}
"""
REST = """\
---
component: Ring
ids: true
POLICY
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


def farm(places: str, policy: str, backend: Any, rings: str = "") -> Any:
    """Four hens within reach of each other, each with a ring; `rings`: a key of these."""
    text = (SPACE if places == "space" else GRID) + REST.replace("ids: true", f"ids: true{rings}")
    name = f"farm_{places}_{policy[8:]}_{backend}{len(rings)}"
    compiled = COMPILED and (bool(rings) or "hash" not in policy)
    text = text.replace("POLICY", policy)
    world = world_package(text, name, backend, compiled=compiled).Farm()
    world.spawn(1, ring={})  # so that rows of the two differ
    world.spawn(4, hen={}, ring={})
    places_of = [[1, 1]] * 4 if places == "space" else [world.yard.id_of(9)] * 4
    world.hen.data.at = places_of
    return world


@pytest.mark.parametrize("policy", ["lookup: sparse", "lookup: hash"])
@pytest.mark.parametrize("places", ["space", "grid"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_who_has_lost_a_row_is_no_neighbour_of_a_query(
    backend: Any, places: str, policy: str
) -> None:
    world = farm(places, policy, backend)
    hens = world.hen.data
    hens.victim = [world.ring.id_of(3), 0, world.ring.id_of(0), 0]
    world.look()
    assert hens.met.tolist() == [3, 2, 3, 2]  # the third itself has lost its own
    assert hens.here.tolist() == [3] * 4
    assert len(world.ring) == 3


@pytest.mark.parametrize("places", ["space", "grid"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_who_has_lost_the_first_instance_alone_is_met_no_more(backend: Any, places: str) -> None:
    world = farm(places, "lookup: hash", backend, "\ninstances: many")
    for hen in (1, 2):
        world.ring.create(world.hen.entity(hen))
    world.hen.data.victim = [world.ring.id_of(2), 0, world.ring.id_of(6), 0]
    world.look()
    assert world.hen.data.met.tolist() == [3, 3, 2, 2]  # the third has kept its first ring
    assert len(world.ring) == 5


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_kernel_may_ask_none_of_its_neighbours(backend: Any) -> None:
    world = farm("grid", "lookup: sparse", backend)
    world.hen.data.victim = [world.ring.id_of(3), 0, 0, 0]
    world.idle()
    assert len(world.ring) == 4
