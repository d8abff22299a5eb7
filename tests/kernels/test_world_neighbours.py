"""Kernels of the world that ask neighbours: of their own rows, or of other sets of entities."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.testing.spaces import Space, neighbours
from numpy.typing import NDArray

from tests.support.generated_package import build
from tests.support.kernel_package import differing, forget
from tests.support.world_package import load, sources

SCHEMA = """\
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
PACKAGES = "pasture_numpy", "pasture_numba"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ModuleType]]:
    """The same world for both backends."""
    folder = tmp_path_factory.mktemp("pasture")
    (folder / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        build(folder, folder / PACKAGES[0])
        build(folder, folder / PACKAGES[1], backend="numba")
        yield [import_module(name) for name in PACKAGES]
    for name in PACKAGES:
        list(forget(name))


def filled(package: ModuleType, seed: int, count: int = 60) -> Any:
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


def called(w: Any) -> None:
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
def test_both_backends(packages: list[ModuleType], seed: int, count: int) -> None:
    """The same bits."""
    found = []
    for package in packages:
        w = filled(package, seed, count)
        w.place.wrap = [(20, 0), (0, 0), (3, 24), (7, 21)][seed]
        with np.errstate(all="ignore"):
            called(w)
        found.append(columns(w))
    for name, column in found[0].items():
        assert not differing(column, found[1][name]).any(), name


def around(w: Any, radius: float, asking: Any, asked: Any, active: Any = True) -> list[list[int]]:
    """For each entity that asks, the living ones of others that it should find, in order of
    rows, and of these the active ones; by the definition."""
    places = np.array(w.place.data.at)
    one, other = w.place.lookup_many(asking), w.place.lookup_many(asked)
    alive = (w.entities.alive_many(asked) & active).tolist()
    space = Space(radius, w.place.wrap, places.dtype)
    rows = neighbours(space, places[one], places[other], alive)
    pairs = zip(asking.tolist(), rows, strict=True)
    return [[k for k in near if asked[k] != e] for e, near in pairs]


@pytest.mark.parametrize("backend", [0, 1])
def test_sheep_and_wolves(packages: list[ModuleType], backend: int) -> None:
    """Each set finds those of the other, itself never, dead ones never."""
    w = filled(packages[backend], 4)
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
def test_rows_of_a_component(packages: list[ModuleType], backend: int) -> None:
    """Of many, each instance; others of the same entity are neighbours, the dead and inactive are
    not."""
    w = filled(packages[backend], 5)
    data, active = w.flea.data, w.flea.n_active
    alive = w.entities.alive_many(data.entity)[:active].tolist()
    places = np.array(data.at)[:active]
    found = neighbours(Space(2.0, (0, 0), places.dtype), places, places, alive)
    w.gather()
    assert data.bites[:active].tolist() == [len({*near} - {k}) for k, near in enumerate(found)]
    with pytest.raises(ValueError, match=r"Game\.crowd: radius"):
        w.crowd(0.0)


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
    assert "mates" in project.components[0].joined
    assert "_mates_flat" in sources(project, "numba")["gull.py"]
