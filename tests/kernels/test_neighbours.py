"""Kernels of components and of the world that ask neighbours: both backends give the same bits."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.spaces import Space, neighbours
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecsgen.config import BACKENDS
from tests.support.kernel_package import differing
from tests.support.soak import examples
from tests.support.world_package import load, sources, world_package

SCHEMA = """\
component: Fish
fields:
  place: {type: "f32[2]"}
  way: "f32[2]"
  mate: entity
  rank: entity
  least: entity
  size: f32
  age: u16
  seen: i64
  bold: bool
space: {field: place, wrap: [20, 0]}
partition: {start: active}
kernels:
  school:
    near: reach
    args: {reach: f32, apart: f32}
    steps:
      - push = sum(offset if distance < apart else offset * 0)
      - way = way + (sum(other.way) * 0.1 - push) / f32(max(count(), 1))
      - place += way * 0.5
  court:
    near: 3
    rows: all
    where: count(other.bold) > 0 or min(distance) < 1
    steps:
      - mate = nearest(other.entity)
      - seen = i64(sum(other.age)) - i64(max(other.age)) * seen + count(other.mate == entity)
      - bold = nearest(other.size) > size
      - size = mean(other.size) + f32(mean(other.age))
  stray: {near: reach, args: {reach: f64}, steps: ["way += f32(normal(2)) * f32(count())"]}
  choose:
    near: 3
    steps:
      - mate = choice(other)
      - seen = count(other) + count(other.bold, where=other.age > age) * 1000
      - rank = max_by(other, other.age // 9000, -other.size, where=other.bold or distance > size)
      - least = min_by(other.entity, other.size)
      - way = mean(other.way, where=other.size > 0) + sum(offset, where=other.bold)
      - size = nearest(other.size, where=other.age < age) + f32(choice(distance, where=other.bold))
      - far = f32(random())
      - age = max(other.age, where=distance > far) // 2
"""


def chosen(places: NDArray[Any], columns: dict[str, NDArray[Any]]) -> dict[str, list[Any]]:
    """Return what `choose` counts and finds without chance, in a space without wrapped axes."""
    columns_found: dict[str, list[Any]] = {"seen": [], "least": []}
    for k, position in enumerate(places):
        apart = places - position
        squares = np.square(apart).sum(axis=1, dtype="f4")
        met = [row for row in np.flatnonzero(squares <= 9) if row != k]
        older = [row for row in met if columns["age"][row] > columns["age"][k]]
        columns_found["seen"].append(len(met) + 1000 * sum(columns["bold"][row] for row in older))
        sizes = [columns["size"][row] for row in met]
        columns_found["least"].append(columns["entity"][met[int(np.argmin(sizes))]] if met else 0)
    return columns_found


@pytest.fixture(scope="module")
def packages() -> list[ModuleType]:
    """One component, for both backends."""
    return [world_package(SCHEMA, f"near_{backend}", backend) for backend in BACKENDS]


def filled(package: ModuleType, rows: int, seed: int, order: Any = None) -> tuple[Any, Any]:
    """Fish at random places, by which all else about them goes; created in some order."""
    random = np.random.default_rng(seed)
    entities = package.EntityManager()
    manager = package.FishManager(entities)
    es = entities.create_many(rows)
    columns: dict[str, NDArray[Any]] = {
        "place": (random.random((rows, 2)) * 24 - 2).astype("f4"),
        "way": random.standard_normal((rows, 2)).astype("f4"),
        "size": random.standard_normal(rows).astype("f4"),
        "age": random.integers(0, 2**16, rows),
        "bold": random.random(rows) < 0.3,
    }
    columns["place"][: rows // 20] = np.nan
    rows_in_order = np.arange(rows) if order is None else order(rows)
    manager.create_many(
        es[rows_in_order], **{name: cells[rows_in_order] for name, cells in columns.items()}
    )
    return manager, es


def called(manager: Any, entities: Any, es: Any) -> None:
    """All kernels; meanwhile some die, and some are not active."""
    manager.school(2.0, 0.7)
    entities.destroy_many(es[::5])
    manager.court()
    manager.deactivate_many(manager.lookup_many(es[1::7]))
    manager.court()
    manager.choose()
    manager.stray(1.5)
    manager.school(0.4, 0.2)


def state(manager: Any, es: Any) -> dict[str, NDArray[Any]]:
    """All columns, by entity."""
    rows = manager.lookup_many(es)
    names = ("place", "way", "mate", "rank", "least", "size", "age", "seen", "bold")
    return {name: np.array(getattr(manager.data, name))[rows] for name in names}


@settings(max_examples=examples(12), deadline=None)
@given(rows=st.sampled_from([0, 1, 2, 60, 300]), seed=st.integers(0, 2**32 - 1))
def test_both_backends(packages: list[ModuleType], rows: int, seed: int) -> None:
    """Bits are equal, sums of floats included: they are added in the order of neighbours."""
    states = []
    for package in packages:
        manager, es = filled(package, rows, seed)
        manager.wrap = [(20, 0), (0, 0), (3, 24)][seed % 3]
        with np.errstate(all="ignore"):
            called(manager, manager._entities, es)
        states.append(state(manager, es))
    for name, column in states[0].items():
        assert not differing(column, states[1][name]).any(), name


@pytest.mark.parametrize("backend", [0, 1])
def test_some_of_them(packages: list[ModuleType], backend: int) -> None:
    """`where` leaves some out, `min_by` finds one: as a loop over all pairs says."""
    manager, es = filled(packages[backend], 90, 11)
    manager.wrap = (0, 0)
    columns = {name: np.array(getattr(manager.data, name)) for name in ("age", "bold", "size")}
    columns["entity"] = np.array(es)
    expected = chosen(np.array(manager.data.place), columns)
    manager.choose()
    assert manager.data.seen.tolist() == expected["seen"]
    assert manager.data.least.tolist() == expected["least"]
    assert len({*manager.data.rank.tolist()}) > 5
    others = set(es.tolist()) | {0}
    assert {*manager.data.mate.tolist()} <= others
    assert (manager.data.mate != manager.data.entity).all()


@pytest.mark.parametrize("backend", [0, 1])
def test_rows_in_any_order(packages: list[ModuleType], backend: int) -> None:
    """Neighbours, counts and draws do not depend on the order of rows; nor on collecting."""
    states = []
    for turn in range(2):

        def order(rows: int, turn: int = turn) -> Any:
            return np.random.default_rng(turn).permutation(rows)

        manager, es = filled(packages[backend], 300, 5, order)
        manager._entities.destroy_many(es[::4])
        if turn:
            manager.collect()
        manager.court()
        manager.stray(2.0)
        survivors = np.delete(es, np.s_[::4])
        states.append(
            {name: state(manager, survivors)[name] for name in ("mate", "seen", "bold", "way")}
        )
    for name, column in states[0].items():
        assert not differing(column, states[1][name]).any(), name


def test_what_is_no_radius(packages: list[ModuleType]) -> None:
    """Nothing is done, and no call counted."""
    for package in packages:
        manager, es = filled(package, 40, 1)
        before = state(manager, es)
        for radius in (0.0, -1.0, np.nan, np.inf, 1e-50):
            with pytest.raises(ValueError, match=r"Manager\.school: "):
                manager.school(radius, 1.0)
        with pytest.raises(ValueError, match=r"Manager\.stray: reach: .* not 0\.0$"):
            manager.stray(0)
        assert manager._stream_state.calls == {}
        for name, column in state(manager, es).items():
            assert not differing(column, before[name]).any()


WORLD_SCHEMA = """\
component: Place
fields: {at: "f32[2]", mass: {type: f32, default: 1.0}}
space: {field: at, wrap: [20, 0]}
---
component: Sheep
fields: {fear: f32, foe: entity, wool: u16, sides: "f32[3]"}
---
component: Wolf
fields: {hunger: f32, prey: entity, seen: i64}
partition: {start: active}
---
component: Flea
fields: {at: "f32[2]", bites: u8, host: entity}
instances: many
ids: true
partition: {start: active}
space: {field: at}
---
world: Game
groups:
  flock: [Place, Sheep]
queries:
  wolves: {all: [Place, Wolf]}
  lone: {all: [Place, Wolf], none: [Sheep]}
kernels:
  flee:
    over: flock
    near: {radius: sight, among: wolves}
    args: {sight: f32}
    where: count() > 0
    steps:
      - Sheep.fear = sum(other.Wolf.hunger)
      - Sheep.foe = nearest(other.entity)
      - Place.at -= sum(normalize(offset)) * 0.1
  huddle:
    over: flock
    near: 3
    steps:
      - Sheep.fear -= f32(count(other.Sheep.fear < Sheep.fear))
      - Sheep.sides = sum(other.Sheep.sides) + Sheep.fear
      - Place.mass = mean(other.Place.mass)
  hunt:
    over: lone
    near: {radius: 5, among: flock}
    steps:
      - Wolf.prey = nearest(other.entity)
      - Wolf.seen = i64(sum(other.Sheep.wool)) + count(other.entity != entity)
      - Place.mass += f32(normal()) * f32(count())
  crowd:
    over: Place
    near: {radius: r, among: wolves}
    args: {r: f64}
    steps: ["Place.mass = f32(max(other.Wolf.seen)) + f32(count())"]
  gather:
    over: Flea
    near: 2
    steps: ["Flea.bites = u8(count())", "Flea.host = nearest(other.entity)"]
"""


@pytest.fixture(scope="module")
def world_packages() -> list[ModuleType]:
    """One world, for both backends."""
    return [world_package(WORLD_SCHEMA, f"pasture_{backend}", backend) for backend in BACKENDS]


def world_filled(package: ModuleType, seed: int, count: int = 60) -> Any:
    """Sheep, wolves, sheep that are wolves, and what lies around; some of them dead."""
    random, w = np.random.default_rng(seed), package.World()

    def places(rows: int) -> dict[str, Any]:
        return {"at": random.random((rows, 2)) * 22 - 1, "mass": random.random(rows)}

    def wolves(rows: int) -> dict[str, Any]:
        return {"hunger": random.random(rows), "seen": random.integers(0, 9, rows)}

    def sheep(rows: int) -> dict[str, Any]:
        return {
            "fear": random.random(rows),
            "wool": random.integers(0, 9, rows),
            "sides": random.random((rows, 3)),
        }

    w.spawn(count, place=places(count), sheep=sheep(count))
    w.spawn(count, wolf=wolves(count), place=places(count))
    w.spawn(5, wolf=wolves(5), place=places(5), sheep=sheep(5))
    w.spawn(9, place=places(9))
    es = np.array(list(w.entities), np.uint64)
    owners = np.repeat(es[::3], 2)
    w.flea.create_many(owners, at=random.random((len(owners), 2)) * 8)
    if count:
        w.wolf.sort("hunger")
        w.flea.deactivate_many(np.arange(0, len(w.flea), 7))
        w.wolf.deactivate_many(np.arange(0, len(w.wolf), 3))
        w.destroy_many(es[::6])
    return w


def world_called(w: Any) -> None:
    w.flee(3.0)
    w.huddle()
    w.hunt()
    w.crowd(1.5)
    w.gather()
    w.flee(0.5)


def columns(w: Any) -> dict[str, NDArray[Any]]:
    names = {
        "place": ("at", "mass"),
        "sheep": ("fear", "foe", "sides"),
        "wolf": ("prey", "seen"),
        "flea": ("bites", "host"),
    }
    return {
        f"{module}.{name}": np.array(getattr(getattr(w, module).data, name))
        for module, fields in names.items()
        for name in fields
    }


@pytest.mark.parametrize(("seed", "count"), [(0, 60), (1, 60), (2, 0), (3, 200)])
def test_world_both_backends(world_packages: list[ModuleType], seed: int, count: int) -> None:
    """Both backends give equal bits."""
    states = []
    for package in world_packages:
        w = world_filled(package, seed, count)
        w.place.wrap = [(20, 0), (0, 0), (3, 24), (7, 21)][seed]
        with np.errstate(all="ignore"):
            world_called(w)
        states.append(columns(w))
    for name, column in states[0].items():
        assert not differing(column, states[1][name]).any(), name


def around(w: Any, radius: float, asking: Any, asked: Any, active: Any = True) -> list[list[int]]:
    """For each entity that asks, the living ones of others that it should find, in order of
    rows, and of these the active ones; by the definition."""
    places = np.array(w.place.data.at)
    asking_rows, other = w.place.lookup_many(asking), w.place.lookup_many(asked)
    alive = (w.entities.alive_many(asked) & active).tolist()
    space = Space(radius, w.place.wrap, places.dtype)
    rows = neighbours(space, places[asking_rows], places[other], alive)
    pairs = zip(asking.tolist(), rows, strict=True)
    return [[k for k in near if asked[k] != e] for e, near in pairs]


@pytest.mark.parametrize("backend", [0, 1])
def test_sheep_and_wolves(world_packages: list[ModuleType], backend: int) -> None:
    """Each set finds those of the other, itself never, dead ones never."""
    w = world_filled(world_packages[backend], 4)
    flock, wolves = np.array(w.place.data.entity)[: w.flock.n], w.wolves.rows()
    hunger = np.array(w.wolf.data.hunger)[wolves.wolf]
    fear = np.array(w.sheep.data.fear)
    active = wolves.wolf < w.wolf.n_active
    assert len({*active.tolist()}) == 2
    expected = around(w, 3.0, flock, wolves.entity, active)
    w.flee(3.0)
    for k, near in enumerate(expected):
        row = w.sheep.lookup(flock[k])
        total = np.float64(0)
        for other in near:
            total = total + np.float64(hunger[other])
        wanted = np.float32(total) if near else fear[row]
        assert w.sheep.data.fear[row] == wanted
        assert (w.sheep.data.foe[row] in wolves.entity[near]) == bool(near)
    lone = w.lone.rows()
    wool = np.array(w.sheep.data.wool)[w.sheep.lookup_many(flock)]
    expected = around(w, 5.0, lone.entity, flock)
    w.hunt()
    seen = [sum(int(wool[k]) for k in near) + len(near) for near in expected]
    assert w.wolf.data.seen[lone.wolf].tolist() == seen


@pytest.mark.parametrize("backend", [0, 1])
def test_rows_of_a_component(world_packages: list[ModuleType], backend: int) -> None:
    """Of many, each instance; others of the same entity are neighbours, the dead and inactive are
    not."""
    w = world_filled(world_packages[backend], 5)
    data, active = w.flea.data, w.flea.n_active
    alive = w.entities.alive_many(data.entity)[:active].tolist()
    places = np.array(data.at)[:active]
    neighbour_rows = neighbours(Space(2.0, (0, 0), places.dtype), places, places, alive)
    w.gather()
    assert data.bites[:active].tolist() == [
        len({*near} - {k}) for k, near in enumerate(neighbour_rows)
    ]
    with pytest.raises(ValueError, match=r"Game\.crowd: r: .*above 0, not 0\.0$"):
        w.crowd(np.float32(0.0))


LED = """
component: Gull
fields: {at: "f32[2]", mates: "entity[2]", hits: u8}
space: {field: at}
---
world: Coast
kernels: {peck: {over: Gull, near: 2, steps: ["nearest(other.Gull.mates[0]).Gull.hits += 1"]}}
"""


def test_shaped_fields_that_only_lead_to_receivers() -> None:
    """They are fields that a kernel uses: compiled loops see them element after element."""
    project = load(LED).made_for("numba")
    assert "mates" in project.components[0].world_columns
    assert "_mates_flat" in sources(project, "numba")["gull.py"]
