"""Indexed fields where several components meet: groups, queries, kernels, copies, files."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.subject import refuses

from tests.support.world_package import checked, world_package

SCHEMA = """
enum: Kind
values: [slow, fast]
---
component: Unit
fields:
  team: {type: i32, index: true}
  kind: {type: Kind, index: true}
  friend: {type: entity, index: true}
  name: {type: "str[8]", index: true}
  badge: {type: u32, unique: true}
  heat: f32
kernels:
  swap: {steps: [team = 1 - team]}
  cool: {steps: [heat = heat * 0.5]}
---
component: Post
lookup: direct
fields: {level: {type: f32, index: true}}
---
component: Link
instances: many
ids: true
fields: {team: {type: i32, index: true}, of: entity}
destroy: callback
---
component: Dot
owner: none
fields: {team: {type: u8, index: true}}
---
component: Place
fields: {x: f32}
---
component: Patch
grid: {shape: [15, 20], wrap: true}
fields: {height: {type: i16, index: true}, wet: {type: bool, index: true}}
kernels:
  dry: {steps: [wet = false]}
  flow: {near: 1, steps: [height = max(other.height)]}
  dig: {turns: random, near: 1, steps: ["max_by(other, other.height).height -= 1"]}
---
component: Mole
on: at
fields: {at: id<Patch>}
kernels: {heap: {steps: [at.height += 3, at.wet = true]}}
---
world: Town
entity: {min_free: 0}
groups: {movers: [Unit, Place]}
queries:
  posted: {all: [Unit], optional: [Post]}
kernels:
  leave: {over: Link, steps: [Link.team = -1]}
  recruit: {over: Link, steps: ["Link.of.Unit.team += 10"]}
  found: {over: Post, where: Post.level > 1, steps: ["spawn(Link(team=9))", die()]}
schedule: {all_swap: [Unit.swap, Unit.cool]}
"""

N = 300


@pytest.fixture(scope="module", params=["numpy", "numba"])
def package(request: pytest.FixtureRequest) -> ModuleType:
    return world_package(SCHEMA, f"index_{request.param}", backend=request.param)


@pytest.fixture
def town(package: ModuleType) -> Any:
    world = package.Town()
    teams = np.arange(N) % 3
    es = world.spawn(N, unit={"team": teams, "badge": np.arange(N)}, post={"level": teams})
    world.link.create_many(es, team=teams, of=es[::-1])
    world.dot.create_many(N, team=teams)
    world.patch.data.height = teams
    world.mole.create_many(es[::2], at=world.patch.id_of_many(np.arange(N)[::2]))
    assert all_found(world)
    return world


def found(manager: Any, field: str) -> bool:
    """Return whether an index finds what a search of the column finds."""
    column = getattr(manager.data, field)
    present = np.ones(len(column), bool)
    if hasattr(manager.data, "present"):
        present = manager.data.present
    values = np.unique(np.concatenate((column, column[:0], [column.dtype.type(7)])))
    expected = [np.flatnonzero((column == value) & present) for value in values]
    one_by_one = getattr(manager, f"rows_of_{field}")
    assert [one_by_one(v.item()).tolist() for v in values] == [e.tolist() for e in expected]
    starts, rows = getattr(manager, f"rows_of_{field}_many")(values[values == values])
    expected = [e for e, v in zip(expected, values, strict=True) if v == v]
    assert rows.tolist() == np.concatenate(expected).tolist()
    return bool(starts.tolist() == [0, *np.cumsum([*map(len, expected)])])


def all_found(world: Any) -> bool:
    fields = [(world.unit, "team"), (world.unit, "friend"), (world.post, "level")]
    fields += [(world.link, "team"), (world.dot, "team")]
    fields += [(world.patch, "height"), (world.patch, "wet")]
    return all(found(manager, field) for manager, field in fields)


def test_text_and_enums_are_found(package: ModuleType, town: Any) -> None:
    town.unit.set_name(3, "Jo")
    town.unit.set_kind(4, package.Kind.fast)
    assert town.unit.rows_of_name("Jo").tolist() == [3]
    assert town.unit.rows_of_kind(package.Kind.fast).tolist() == [4]
    assert town.unit.rows_of_name_many(["Jo", "Al", "Jo"]).starts.tolist() == [0, 1, 1, 2]
    refuses(ValueError, r"Unit\.name", town.unit.rows_of_name, "far too long")


def test_who_refers_to_an_entity(town: Any) -> None:
    es = town.unit.data.entity.copy()
    town.unit.data.friend = np.where(np.arange(N) < 5, es[7], es[8])
    assert town.unit.rows_of_friend(int(es[7])).tolist() == [0, 1, 2, 3, 4]
    assert town.unit.rows_of_friend(0).tolist() == []


def test_nan_and_zeros(town: Any) -> None:
    nan = float("nan")
    town.post.data.level = 1.0
    for row, level in enumerate((nan, -0.0, 0.0, nan)):
        town.post.set_level(row, level)
    assert town.post.rows_of_level(0.0).tolist() == town.post.rows_of_level(-0.0).tolist() == [1, 2]
    assert town.post.rows_of_level(nan).tolist() == []
    assert town.post.rows_of_level_many([nan, 1.0]).starts.tolist() == [0, 0, N - 4]
    town.post.data.level = town.post.data.level.copy()  # sorted anew
    assert town.post.rows_of_level(nan).tolist() == []
    assert town.post.rows_of_level(-0.0).tolist() == [1, 2]


def test_what_is_returned_is_the_callers(town: Any) -> None:
    town.unit.rows_of_team(1)[:] = 0
    town.unit.rows_of_team_many([1]).rows[:] = 0
    assert all_found(town)


Write = Callable[[Any], object]
WRITES: dict[str, Write] = {
    "a setter": lambda w: w.unit.set_team(0, 7),
    "a column": lambda w: setattr(w.unit.data, "team", w.unit.data.team[::-1]),
    "a proxy": lambda w: setattr(w.unit[w.unit.entity(5)], "team", 7),
    "a query": lambda w: setattr(w.posted.unit, "team", 7),
    "an optional member": lambda w: setattr(w.posted.post, "level", 7),
    "a query in place": lambda w: exec("w.posted.unit.team += 1", {"w": w}),
    "a kernel": lambda w: w.unit.swap(),
    "a kernel of some rows": lambda w: w.unit.swap(rows=[1, 2]),
    "a kernel of the world": lambda w: w.leave(),
    "a message": lambda w: w.recruit(),
    "spawns and despawns": lambda w: (w.found(), w.gc()),
    "a schedule": lambda w: w.all_swap(),
    "create": lambda w: w.unit.create(w.entities.create(), team=7, badge=N),
    "create_many": lambda w: w.dot.create_many(500, team=7),
    "remove": lambda w: w.unit.remove(w.unit.entity(2)),
    "a hole": lambda w: w.post.remove(w.unit.entity(2)),
    "destroy_many": lambda w: w.unit.destroy_many(np.arange(100, 200)),
    "deaths": lambda w: (w.destroy_many(w.unit.data.entity[::2].copy()), w.gc(), w.collect()),
    "clear": lambda w: w.dot.clear(),
    "sort": lambda w: w.link.sort("team"),
    "reorder": lambda w: w.dot.reorder(np.arange(N)[::-1]),
    "growth": lambda w: w.unit.reserve(5000),
    "shrinking": lambda w: (w.unit.destroy_many(range(100)), w.unit.shrink_to_fit()),
    "joining a group": lambda w: w.place.create_many(w.unit.data.entity[50:60].copy()),
    "a group": lambda w: (WRITES["joining a group"](w), w.movers.unit.__setattr__("team", 7)),
    "a setter of cells": lambda w: w.patch.set_height(5, 7),
    "a cell": lambda w: setattr(w.patch[w.patch.id_of(3)], "height", 7),
    "a column of cells": lambda w: setattr(w.patch.data, "wet", w.patch.data.height == 1),
    "a kernel of cells": lambda w: (w.mole.heap(), w.patch.dry()),
    "a kernel of strips": lambda w: w.patch.flow(),
    "a kernel that writes others": lambda w: w.patch.dig(),
    "messages to cells": lambda w: w.mole.heap(),
    "sorting a group": lambda w: (WRITES["a group"](w), w.movers.sort("unit", "badge")),
}


@pytest.mark.parametrize("how", WRITES)
def test_rows_are_found_after(town: Any, how: str) -> None:
    town.unit.set_team(9, 7)  # noted beside the sorted rows
    town.patch.set_height(9, 7)
    WRITES[how](town)
    assert all_found(town)


def test_kernels_that_write_nothing_indexed_keep_the_order(town: Any) -> None:
    index = town.unit.data._field_indexes["team"]
    town.unit.cool()
    assert not index.is_stale
    town.unit.swap()
    assert index.is_stale


@pytest.mark.parametrize(
    "copy",
    [deepcopy, lambda w: pickle.loads(pickle.dumps(w)), lambda w: type(w).load(w.to_bytes())],
)
def test_copies_have_indexes_of_their_own(town: Any, copy: Callable[[Any], Any]) -> None:
    twin = copy(town)
    assert all_found(twin)
    for world, row in ((twin, 0), (town, 1)):
        world.unit.set_team(row, 7)
        world.patch.set_height(row, 7)
    assert all_found(twin)
    assert all_found(town)


def test_few_writes_sort_nothing_anew(town: Any) -> None:
    index = town.unit.data._field_indexes["team"]
    order = index.order
    for row in range(80):
        town.unit.set_team(row, row % 5)
        assert town.unit.rows_of_team(4).tolist() == [*range(4, row + 1, 5)]
    assert index.order is order
    for row in range(82):
        town.unit.set_team(row, 5)
    assert index.is_stale
    assert found(town.unit, "team")


def test_many_changes_in_turn_with_searches(town: Any) -> None:
    random, units = Random(3), town.unit
    badge = N
    for _ in range(600):
        row = random.randrange(len(units))
        match random.randrange(4):
            case 0:
                units.set_team(row, random.randrange(4))
            case 1:
                units.create(town.entities.create(), team=random.randrange(4), badge=badge)
                badge += 1
            case 2:
                units.destroy(row)
            case 3:
                town.post.remove(units.entity(row))
        team = random.randrange(4)
        assert units.rows_of_team(team).tolist() == np.flatnonzero(units.data.team == team).tolist()
        assert town.post.rows_of_level(team % 3).tolist() == (
            np.flatnonzero((town.post.data.level == team % 3) & town.post.data.present).tolist()
        )


def test_columns_are_read_only(town: Any) -> None:
    for view in (town.unit.data.team, town.movers.unit.team, town.posted.unit.team):
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 1


def test_nothing_is_held_before_a_search(package: ModuleType) -> None:
    town = package.Town()
    town.dot.create_many(N)
    before = town.dot.nbytes
    town.dot.rows_of_team(0)
    assert town.dot.nbytes >= before + 9 * N


def test_objects_cannot_be_indexed() -> None:
    _, diagnostics = checked("component: Body\nfields: {x: {type: object, index: true}}")
    (error,) = diagnostics
    assert (error.code, "it is of type object" in error.message) == ("E525", True)
