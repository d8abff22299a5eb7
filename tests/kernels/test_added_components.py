"""`add` and `remove` in kernels, whatever policies a component has; `interpreted/additions.yaml` is
about when they happen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

POLICIES = """\
enum: Mood
values: [calm, wild]
---
component: Patch
grid: {shape: [4, 4]}
fields: {x: f32}
---
component: Beast
fields: {size: i32, friend: entity}
---
component: Full
on: cell
release: true
fields:
  cell: id<Patch>
  mood: {type: Mood, default: wild}
  name: {type: "str[8]", default: "Grüße"}
  digest: {type: "bytes[4]", default: AB}
  thing: object
  place: {type: "f32[2]", split: true}
  turn: "f64[2,2]"
  size: {type: i32, unique: true}
  far: {type: "u8[3]", default: [1, 2, 3], tags: [cold]}
---
component: Direct
lookup: direct
fields: {size: i32}
---
component: Hashed
lookup: hash
ids: true
fields: {size: i32}
---
component: Kin
hierarchy: {orphans: root}
fields: {size: i32}
---
world: Zoo
kernels:
  change:
    over: Beast
    steps:
      - add(Full(size=Beast.size, place=f32(Beast.size), mood=Mood.calm), replace=true)
      - add(Beast.friend, Direct(size=Beast.size), replace=true)
      - add(Beast.friend, Hashed(size=Beast.size))
      - add(Kin(size=Beast.size), where=Beast.size > 0)
  take:
    over: Beast
    turns: rows
    steps: ["remove(Beast.friend, Direct)", remove(Hashed), remove(Kin), remove(Full)]
"""


@pytest.fixture(params=BACKENDS)
def zoo(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    zoo = world_package(POLICIES, f"added_policies_{backend}", backend).Zoo()
    beasts = zoo.entities.create_many(6)
    zoo.beast.create_many(beasts, size=np.arange(6, dtype=np.int32) - 2, friend=np.roll(beasts, 1))
    cells = 2**32 + np.arange(3, dtype=np.uint64)
    zoo.full.create_many(beasts[:3], size=[10, 11, 12], cell=cells, name="x", digest=b"1234")
    zoo.direct.create_many(beasts[4:], size=70)
    zoo.hashed.create_many(beasts[2:4], size=80)
    zoo.kin.create_many(beasts[:1], size=90)
    return zoo


def test_all_policies_get_and_lose_rows(zoo: Any) -> None:
    beasts = zoo.beast.data.entity.copy()
    zoo.change()
    rows = zoo.full.lookup_many(beasts)
    assert rows.tolist() == [0, 1, 2, 3, 4, 5]
    full = zoo.full
    assert full.data.size[rows].tolist() == [-2, -1, 0, 1, 2, 3]
    for row in rows.tolist():
        size = row - 2
        assert (full.cell(row), full.name(row), full.mood(row)) == (0, "Grüße", 0)
        assert (full.digest(row), full.thing(row)) == (b"AB\0\0", None)
        assert (full.place(row), full.far(row)) == ((size, size), (1, 2, 3))
        assert full.turn(row) == ((0, 0), (0, 0))
    direct, hashed, kin = zoo.direct, zoo.hashed, zoo.kin
    assert [direct.size(direct.lookup(e)) for e in beasts.tolist()] == [-1, 0, 1, 2, 3, -2]
    assert [hashed.size(hashed.lookup(e)) for e in beasts.tolist()] == [-1, 0, 80, 80, 3, -2]
    assert [kin.size(kin.lookup(e)) for e in kin.data.entity.tolist()] == [90, 1, 2, 3]
    zoo.take()
    counts = [len(manager) for manager in (full, hashed, kin)]
    assert counts == [0, 0, 0]
    assert not direct.has_many(beasts).any()


def test_callbacks_are_told_and_their_errors_come_last(zoo: Any) -> None:
    rows_told, there = list[int](), len(zoo.full)

    def tell(rows: Any) -> None:
        rows_told.extend(rows.tolist())
        raise ValueError("told")

    zoo.full.on_release(tell)
    with pytest.raises(ExceptionGroup):
        zoo.take()
    assert rows_told == [*range(there)]
    assert len(zoo.kin) == len(zoo.hashed) == 0


def test_a_value_that_another_row_has_is_refused(zoo: Any) -> None:
    zoo.beast.data.size[:] = 10
    with pytest.raises(ValueError, match="size"):
        zoo.change()
    assert len(zoo.full) == 3
