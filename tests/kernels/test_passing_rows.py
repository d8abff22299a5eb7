"""Loops in plain Python run over the rows that pass `where`, which are found beforehand."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import StructureLockedError

from ecsgen.config import BACKENDS, Backend
from tests.reference.test_judge import OTHERS, Text, check_all
from tests.reference.test_judge import SCHEMA as JUDGED
from tests.support.world_package import world_package

SCHEMA = """\
component: Pond
grid: {shape: [4, 5], wrap: [true, true]}
fields: {grass: f32, wet: bool}
kernels:
  graze: {near: 1, where: grass > 1, steps: [a = count(wet), "grass += f32(a)"]}
  dry: {near: 1, where: grass > 1 and count(wet) > 2, steps: [wet = false]}
---
component: Ant
on: at
fields: {food: f32, k: i16, v: "f32[3]", mate: entity, at: id<Pond>}
kernels:
  eat: {turns: rows, args: {least: f32}, where: food > least, steps: [food -= least]}
  some: {turns: random, where: food > 0 and random() < 0.5 and k % 3 == 0, steps: [food += 1]}
  split: {turns: rows, where: 1 / food > 2 or v.y * 2 < food or k // 0 > k, steps: [food = v.x]}
  give: {turns: rows, where: food > 1 and k > 0, steps: [food -= 1, "mate.Ant.food += 1"]}
  go: {where: food > 1 and k != 2, steps: [at = random_empty(Ant)]}
  heed: {near: 1, where: k > 2, steps: [mate = nearest(other.entity)]}
  each: {turns: rows, args: {by: {type: f32, each: true}}, where: k > 1, steps: [food += by]}
---
component: Bird
fields: {food: f32, at: "f32[2]"}
space: {field: at, wrap: [9, 9]}
kernels:
  peck:
    turns: random
    near: reach
    args: {reach: f32}
    where: food > 1
    steps: ["food += f32(count())"]
---
component: Sack
instances: many
ids: true
fields: {weight: f32}
---
world: Town
queries: {loaded: {all: [Ant, Sack]}}
kernels:
  feed: {over: Ant, turns: rows, where: Ant.k > 1, steps: ["Ant.mate.Ant.food += 1"]}
  late: {over: Ant, turns: rows, where: "tick % 2 == 1", steps: ["Ant.food += 1"]}
  tell: {over: Ant, near: 1, where: Ant.k > 1, steps: ["Ant.mate.Ant.k += i16(count())"]}
  bear:
    over: Ant
    turns: random
    where: Ant.k > 2
    steps: ["spawn(Ant(at=Ant.at, food=Ant.food))", die(where=Ant.food > 1)]
  carry:
    over: loaded
    turns: rows
    where: Ant.food > 0 and Sack.weight > 0
    steps: ["Ant.food -= Sack.weight"]
"""


def town(backend: Backend) -> Any:
    """A world of them whose values are no numbers, endless, and on both sides of conditions."""
    world, random = world_package(
        SCHEMA, f"passing_{backend}", backend
    ).World(), np.random.default_rng(3)
    food = random.integers(-4, 5, 30) / 2
    food[:4] = np.nan, np.inf, -np.inf, -0.0
    ants = world.spawn(
        30,
        ant={
            "food": food,
            "k": random.integers(-3, 6, 30),
            "v": random.integers(-3, 4, (30, 3)),
            "at": world.pond.id_of_many(random.integers(0, 20, 30)),
        },
    )
    world.ant.data.mate[:] = random.permutation(ants)
    owners = random.choice(ants, 40)
    world.sack.create_many(owners, weight=random.integers(0, 3, 40) / 2)
    world.spawn(20, bird={"food": random.integers(0, 3, 20), "at": random.random((20, 2)) * 9})
    world.pond.data.grass[:] = random.integers(0, 4, 20)
    world.pond.data.wet[:] = random.random(20) < 0.6
    return world


CALLS = {
    "pond.graze": {},
    "pond.dry": {},
    "ant.eat": {"least": 0.5},
    "ant.some": {},
    "ant.split": {},
    "late": {},
    "ant.give": {},
    "ant.go": {},
    "ant.heed": {},
    "ant.each": {"by": 0.25},
    "bird.peck": {"reach": 1.5},
    "feed": {},
    "tell": {},
    "bear": {},
    "carry": {},
}


def call(world: Any, name: str, **more: Any) -> None:
    holder, _, kernel = name.rpartition(".")
    getattr(getattr(world, holder) if holder else world, kernel)(**CALLS[name], **more)


def columns(world: Any) -> list[bytes]:
    texts = []
    for name in ("pond", "ant", "bird", "sack"):
        data = getattr(world, name).data
        fields = ("grass", "wet", "food", "k", "v", "mate", "at", "weight", "entity")
        texts += [getattr(data, name).tobytes() for name in fields if hasattr(data, name)]
    return texts


@pytest.mark.parametrize("rows", [None, [7, 2, 19, 11, 0]])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits(name: str, rows: list[int] | None) -> None:
    pytest.importorskip("numba")
    arguments = {"rows": rows} if rows and "." in name else {}
    worlds = [town(backend) for backend in BACKENDS]
    before = columns(worlds[0])
    for world in worlds:
        for _ in range(3):
            call(world, name, **arguments)
            world.tick += 1
    assert columns(worlds[0]) == columns(worlds[1])
    assert arguments or columns(worlds[0]) != before


def runs(world: Any, name: str, monkeypatch: pytest.MonkeyPatch, **more: Any) -> list[int]:
    """Return the rows that the loop of a kernel is told."""
    holder, _, kernel = name.rpartition(".")
    module = sys.modules[type(getattr(world, holder) if holder else world).__module__]
    loop, rows_seen = getattr(module, f"_{kernel}_kernel"), []

    def noted(order: list[int], *rest: Any) -> None:
        rows_seen.extend(order)
        loop(order, *rest)

    monkeypatch.setattr(module, f"_{kernel}_kernel", noted)
    call(world, name, **more)
    return rows_seen


@pytest.mark.parametrize(
    "name", ["ant.go", "ant.heed", "ant.each", "ant.some", "feed", "tell", "bear"]
)
def test_only_rows_that_pass_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = town("numpy")
    with np.errstate(all="ignore"):
        food, k = world.ant.data.food, world.ant.data.k
        passing = {
            "go": (food > 1) & (k != 2),
            "heed": k > 2,
            "some": (food > 0) & (k % 3 == 0),
            "bear": k > 2,
        }.get(name.rpartition(".")[2], k > 1)
    expected = passing.nonzero()[0].tolist()
    rows_seen = runs(world, name, monkeypatch)
    assert sorted(rows_seen) == expected
    assert 0 < len(rows_seen) < 30


def test_of_rows_that_a_call_names_those_that_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    world = town("numpy")
    world.ant.data.k = np.arange(30) % 4
    assert runs(world, "ant.each", monkeypatch, rows=[7, 4, 18, 2, 9, 3]) == [7, 18, 2, 3]


def test_what_others_may_change_is_asked_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may get enough before its turn."""
    world = town("numpy")
    expected = (world.ant.data.k > 0).nonzero()[0].tolist()
    assert runs(world, "ant.give", monkeypatch) == expected


def test_where_none_passes_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    world = town("numpy")
    world.bird.data.food[:] = 0
    assert runs(world, "bird.peck", monkeypatch) == []
    with pytest.raises(ValueError, match="reach"):
        world.bird.peck(-1.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_locked_managers_are_refused_where_none_passes(backend: Backend) -> None:
    world = town(backend)
    world.ant.data.k[:] = 0
    with world.ant.locked(), pytest.raises(StructureLockedError):
        world.bear()


class Wheres(Text):
    """Kernels in turns, each with conditions, which others change or not."""

    def kernel(self, name: str) -> str:
        parts = [f"({self.condition()})" for _ in range(self.random.randrange(1, 4))]
        where = f" {self.pick(['and', 'and', 'or'])} ".join(parts)
        self.turns = self.pick(["rows", "random"])
        lines = [f"  {name}:", "    args: {by: {type: f32, each: true}}"]
        lines += ["    near: 2.3"] if self.asks else []
        lines += [f"    turns: {self.turns}", f'    where: "{where}"', "    steps:"]
        steps = [self.own(), *self.pick([[], [self.sent()]]), self.own()]
        return "\n".join([*lines, *(f'    - "{step}"' for step in steps), ""])


@pytest.mark.parametrize("seed", range(2))
def test_random_conditions_as_the_judge_has_them(seed: int) -> None:
    kernels = "".join(Wheres(50 * seed + k).kernel(f"k{k}") for k in range(12))
    check_all(JUDGED + kernels + OTHERS, f"passing_judged_{seed}", "Boid")
