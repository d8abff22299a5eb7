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
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import world_package


def town(backend: Backend) -> Any:
    """A world of them whose values are no numbers, endless, and on both sides of conditions."""
    world, random = world_package(
        TOPICS["passing"], f"passing_{backend}", backend
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
