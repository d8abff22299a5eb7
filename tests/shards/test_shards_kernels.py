"""Kernels that follow references and send messages, where some lead to visitors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ecsgen.config import Backend
from tests.support.compiled_once import uncompiled
from tests.support.world_package import world_package

SCHEMA = """
world: Chase
shards: {}
groups: {runners: [Place, Purse]}
kernels:
  look: {over: Place, steps: ["Place.goal = Place.target.Place.at + Place.cell.k"]}
  give: {over: runners, steps: ["Place.target.Purse.coins += 2 if exists(Place.target) else 0"]}
  pass_on:
    over: runners
    turns: rows
    steps: ["Place.target.Purse.coins += Purse.coins"]
  call: {over: Hut, steps: ["Hut.guest.Purse.calls += 1"]}
  seek: {over: runners, turns: rows, steps: ["Purse.found = Place.hut.seats + Place.cell.k"]}
---
component: Place
fields: {spot: "f32[2]", at: f32, goal: f32, target: entity, cell: "id<Cell>", hut: "id<Hut>"}
space: {field: spot}
---
component: Purse
fields: {coins: i64, found: f32, calls: u8}
---
component: Cell
fields: {k: f32}
lookup: direct
ids: true
---
component: Hut
fields: {seats: i32, guest: entity}
lookup: hash
ids: true
"""


@pytest.fixture(scope="module", params=["numpy", "numba"])
def package(request: pytest.FixtureRequest) -> Any:
    """The package of a backend; numba would compile for 20 s, so its loops are Python."""
    backend: Backend = request.param
    with uncompiled():
        world_package(SCHEMA, f"sharded_chase_{backend}", backend)
    return sys.modules[f"sharded_chase_{backend}"]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Let numbers of 64 bits wrap, as they do where they are compiled."""
    with np.errstate(over="ignore"):
        yield


def met(package: Any) -> tuple[Any, Any, Any, Any]:
    """Return a world with 40 natives and the 40 visitors whom they know, and the other world."""
    here, there = package.Chase(0), package.Chase(1)
    away = there.spawn(40, place={"at": range(40)}, purse={}, cell={"k": 100}, hut={"seats": 3})
    cells = there.cell.id_of_many(range(40))
    huts = there.hut.id_of_many(there.hut.lookup_many(away))
    here.spawn(7, place={}, cell={}, purse={}, hut={})
    here.absorb(there.extract(away))
    place = {"target": away, "cell": cells, "hut": huts}
    own = here.spawn(40, place=place, purse={"coins": 5}, cell={}, hut={"guest": away})
    here.hut.data.guest[here.hut.lookup_many(away)] = own
    return here, there, own, away


def test_references_lead_to_visitors(package: Any) -> None:
    here, there, own, away = met(package)
    rows = here.place.lookup_many(own)
    here.look()
    assert here.place.data.goal[rows].tolist() == [100.0 + k for k in range(40)]
    here.seek()
    assert here.purse.data.found[here.purse.lookup_many(own)].tolist() == [103.0] * 40
    assert len(here.place.near([[0.0, 0.0]], 1.0).rows) == 87
    there.absorb(here.extract(away))
    here.look()
    here.seek()
    assert not here.place.data.goal[here.place.lookup_many(own)].any()
    assert not here.purse.data.found.any()


def test_messages_reach_visitors_and_come_from_them(package: Any) -> None:
    here, _, own, away = met(package)
    coins = here.purse.data.coins
    here.give()
    assert coins[here.purse.lookup_many(away)].tolist() == [2] * 40
    here.pass_on()
    assert coins[here.purse.lookup_many(away)].tolist() == [7] * 40
    here.call()
    calls = here.purse.data.calls
    assert calls[here.purse.lookup_many([*own.tolist(), *away.tolist()])].tolist() == [1] * 80
    dead = away[:5].copy()
    here.destroy_many(dead)  # from whom no one hears
    here.call()
    rows = here.purse.lookup_many(own)
    assert here.purse.data.calls[rows].tolist() == [1] * 5 + [2] * 35
    assert len(here.entities) == 82
    assert np.isin(own, here.entities.live()).all()
