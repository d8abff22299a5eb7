"""Kernels that follow references, where some lead to visitors."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ecsgen.config import UsageError
from tests.world_package import load, sources, world_package

SCHEMA = """
world: Chase
shards: {}
kernels:
  look: {over: Place, steps: ["Place.goal = Place.target.Place.at + Place.cell.k"]}
---
component: Place
fields: {spot: "f32[2]", at: f32, goal: f32, target: entity, cell: "id<Cell>"}
space: {field: spot}
---
component: Cell
fields: {k: f32}
lookup: direct
ids: true
"""

world_package(SCHEMA, "sharded_chase")
package: Any = sys.modules["sharded_chase"]


def test_references_lead_to_visitors() -> None:
    here, there = package.Chase(0), package.Chase(1)
    away = there.spawn(40, place={"at": range(40), "spot": (0, 0)}, cell={"k": 100})
    ids = there.cell.id_of_many(range(40))
    here.spawn(7, place={}, cell={})
    here.absorb(there.extract(away))
    own = here.spawn(40, place={"target": away, "cell": ids}, cell={})
    here.look()
    rows = here.place.lookup_many(own)
    assert here.place.data.goal[rows].tolist() == [100.0 + k for k in range(40)]
    assert len(here.place.near([[0.0, 0.0]], 1.0).rows) == 87
    there.absorb(here.extract(away))
    here.look()
    assert not here.place.data.goal[here.place.lookup_many(own)].any()


def test_compiled_references_are_refused() -> None:
    with pytest.raises(UsageError, match="look"):
        sources(load(SCHEMA), "numba")
