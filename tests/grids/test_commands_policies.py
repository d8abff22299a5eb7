"""Spawns and despawns whatever policies a component has, as the interpreter has them, which knows
none of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ecsgen.config import Backend
from tests.support.interpreted_schemas import IN_WORLDS, check

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
    die(where=Yeast.age > oldest % 9),
    "spawn(Yeast(age=Yeast.age - 2), where=Yeast.age % (every % 3 + 1) == 0)"]}
  foam: {over: Yeast, args: {oldest: i64}, TURNS steps: [Yeast.sugar -= 1,
    die(where=Yeast.age > oldest % 9), "spawn(Yeast(age=0), Bubble(), where=Yeast.sugar == 4)"]}
"""


@IN_WORLDS
@pytest.mark.parametrize("kernel", ["bud", "foam"])
@pytest.mark.parametrize("turns", ["", "turns: rows,"], ids=["at_once", "in_turns"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("backend", ["numpy", pytest.param("numba", marks=pytest.mark.soak)])
def test_policies(
    policy: str, turns: str, backend: Backend, kernel: str, worlds: Sequence[tuple[int, int]]
) -> None:
    text = SCHEMA.replace("POLICY", policy.replace(", ", "\n")).replace("TURNS", turns)
    check(text, f"vat_{POLICIES.index(policy)}_{bool(turns):d}", backend, kernel, worlds)
