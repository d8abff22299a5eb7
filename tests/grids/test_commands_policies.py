"""Spawns and despawns whatever policies a component has, beside a dict that knows none of them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ecsgen.config import Backend
from tests.support.world_package import world_package

POLICIES = (
    *("lookup: sparse", "lookup: hash", "lookup: direct", "destroy: callback", "destroy: manual"),
    *("ids: true", "partition: {start: active}", "hierarchy: {orphans: root}", "cold: indirect"),
    *("instances: many", "lookup: hash, destroy: callback", "lookup: direct, ids: true"),
    *("instances: many, ids: true", "lookup: direct, destroy: manual"),
)
SCHEMA = """\
component: Yeast
POLICY
fields: {age: i64, sugar: {type: i64, default: 7}, rest: {type: i64, tags: [cold]}}
---
component: Bubble
fields: {size: {type: i64, default: 3}}
---
world: Vat
kernels:
  bud: {over: Yeast, args: {oldest: i64, every: i64}, TURNS steps: [Yeast.age += 1,
    die(where=Yeast.age > oldest), "spawn(Yeast(age=Yeast.age - 2), where=Yeast.age % every == 0)"]}
  foam: {over: Yeast, args: {oldest: i64}, TURNS steps: [Yeast.sugar -= 1,
    die(where=Yeast.age > oldest), "spawn(Yeast(age=0), Bubble(), where=Yeast.sugar == 4)"]}
"""
Found = dict[int, list[tuple[int, int]]]


class Vat:
    def __init__(self, module: Any, seed: int, turns: str) -> None:
        self.world, self.random, self.takes_turns = module.Vat(), Random(seed), bool(turns)

    def found(self) -> Found:
        """Return the rows of living entities."""
        data, rows_by_entity = self.world.yeast.data, Found()
        living = {*self.world.entities.live().tolist()}
        rows = (column.tolist() for column in (data.entity, data.age, data.sugar))
        for entity, *row in zip(*rows, strict=True):
            if entity in living:
                rows_by_entity.setdefault(entity, []).append((row[0], row[1]))
        return rows_by_entity

    def fill(self, many: bool) -> None:
        for entity in self.world.entities.create_many(self.random.randrange(4, 9)).tolist():
            for _ in range(self.random.randrange(3 if many else 2)):
                self.world.yeast.create(entity, age=self.random.randrange(5), rest=1)

    def kill(self) -> None:
        living = self.world.entities.live()
        self.world.destroy_many(living[self.random.randrange(4) :: 4])

    def play(self, kernel: str) -> None:
        before, living = self.found(), {*self.world.entities.live().tolist()}
        oldest, every, bubbles = self.random.randrange(3, 9), self.random.randrange(2, 4), 0
        expected, spawned, dead = Found(), list[tuple[int, int]](), set[int]()
        for entity, rows in before.items():
            for age, sugar in rows:
                if self.takes_turns and entity in dead:
                    continue
                age, sugar = (age + 1, sugar) if kernel == "bud" else (age, sugar - 1)
                if age > oldest:
                    dead.add(entity)
                elif kernel == "bud" and age % every == 0:
                    spawned.append((age - 2, 7))
                elif kernel == "foam" and sugar == 4:
                    spawned.append((0, 7))
                    bubbles += 1
                expected.setdefault(entity, []).append((age, sugar))
        getattr(self.world, kernel)(oldest, *([every] if kernel == "bud" else []))
        after, now = self.found(), {*self.world.entities.live().tolist()}
        assert now & living == living - dead
        assert len(now) == len(self.world.entities) == len(living - dead) + len(spawned)
        old = {entity: sorted(rows) for entity, rows in after.items() if entity in living}
        assert old == {
            entity: sorted(rows) for entity, rows in expected.items() if entity not in dead
        }
        new = [row for entity, rows in after.items() if entity not in living for row in rows]
        burst = [
            entity for entity in self.world.bubble.data.entity.tolist() if entity in now - living
        ]
        assert (sorted(new), len(burst)) == (sorted(spawned), bubbles)


@pytest.mark.parametrize("turns", ["", "turns: rows,"], ids=["at_once", "in_turns"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("backend", ["numpy", pytest.param("numba", marks=pytest.mark.soak)])
def test_policies(policy: str, turns: str, backend: Backend) -> None:
    text = SCHEMA.replace("POLICY", policy.replace(", ", "\n")).replace("TURNS", turns)
    number = POLICIES.index(policy)
    module = world_package(text, f"vat_{number}_{bool(turns):d}_{backend}", backend)
    for seed in range(3):
        vat = Vat(module, seed, turns)
        for _ in range(30):
            vat.fill("many" in policy)
            vat.play(vat.random.choice(["bud", "foam"]))
            vat.random.choice([vat.kill, vat.world.collect, lambda: None])()
