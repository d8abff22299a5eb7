"""Kernels whose rows take turns, against a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import Backend
from ecsgen.model import Project
from tests.others_package import OTHERS, built, check, filled
from tests.world_package import load

STEPS = """\
    steps:
      - "x = entity.Seeker.target"
      - "Seeker.sum += Seeker.target.Seeker.sum * 0.5 + whom.Sparse.sum"
      - "Seeker.target.Seeker.sum -= 1"
      - "Seeker.target.Seeker.target = entity"
      - "Seeker.target.Seeker.hits *= 3"
      - "x.Seeker.at.y = Seeker.sum"
      - "Seeker.at = x.Seeker.at + Seeker.target.Sparse.at"
      - "Seeker.target.Sparse.flag = exists(x.Seeker) and Seeker.sum > 0"
      - "x.Sparse.turn[1] = Seeker.at.x"
      - "x.Sparse.parts += Seeker.sum"
"""
SCHEMA = (
    "world: Game\nqueries: {pairs: {all: [Seeker, Sparse]}}\ngroups: {both: [Hash, Held]}\n"
    "kernels:\n"
    + "".join(
        f"  {over.lower()}_{turns}:\n    over: {over}\n    turns: {turns}\n"
        f"    args: {{whom: entity}}\n{STEPS}"
        for over, turns in (("Seeker", "rows"), ("Seeker", "random"), ("pairs", "random"))
    )
    + """\
  grouped:
    over: both
    turns: random
    where: Hash.sum < Held.sum
    steps: ["Hash.link.Held.sum += Hash.sum", "Held.sum = Held.link.Held.sum * 2"]
  chained: {over: Nobody, turns: rows, steps: ["Nobody.link.Many.sum = Nobody.sum"]}
---
component: Seeker
lookup: hash
fields: {at: "f32[3]", target: entity, sum: f32, hits: i16}
"""
    + OTHERS
    + """\
---
component: Node
ids: true
instances: many
partition: {start: active}
fields: {after: id<Node>, mark: u64, value: f32, seen: i32}
kernels:
  hop: {turns: rows, steps: ["value = after.value + 1", "after.seen = max(after.seen, seen + 1)"]}
  shuffled: {turns: random, steps: ["after.value = value + 1", "after.after = after.after.after"]}
  by_key: {turns: random, key: mark, rows: all, steps: ["after.seen += 1", "seen = after.seen"]}
  lucky: {turns: random, steps: ["after.value = f32(random())", "value += f32(uniform(0, 2))"]}
"""
)
OF_COMPONENTS = ("hop", "shuffled", "by_key")


@pytest.fixture(scope="module", params=["numpy", "numba"])
def game(request: pytest.FixtureRequest) -> tuple[Any, Project]:
    if request.param == "numba":
        pytest.importorskip("numba")
    backend: Backend = request.param
    return built(SCHEMA, "turns", backend)


@pytest.mark.parametrize("count", [0, 1, 80])
def test_kernels_of_the_world(count: int, game: tuple[Any, Project]) -> None:
    module, project = game
    world = filled(module, project, count, np.random.default_rng(count))
    for kernel in project.world.kernels:
        given = {"whom": int(world.entities.live()[0])} if kernel.args and count else {}
        check(world, project, kernel, given if count or not kernel.args else {"whom": 0})


@pytest.mark.parametrize("count", [0, 1, 80])
@pytest.mark.parametrize("name", OF_COMPONENTS)
def test_kernels_of_components(name: str, count: int, game: tuple[Any, Project]) -> None:
    module, project = game
    world = filled(module, project, count, np.random.default_rng(count))
    component = next(one for one in project.components if one.name == "Node")
    kernel = next(one for one in component.kernels if one.name == name)
    check(world, project, kernel, {}, "Node")


def test_draws_begin_with_the_second_number() -> None:
    """The first one tells whose turn it is."""
    pytest.importorskip("numba")
    project = load(SCHEMA)
    columns = []
    backends: tuple[Backend, ...] = ("numpy", "numba")
    for backend in backends:
        module, _ = built(SCHEMA, "turns", backend)
        world = filled(module, project, 60, np.random.default_rng(1))
        with np.errstate(all="ignore"):
            world.node.lucky()
        columns.append(world.node.data.value.tobytes())
    assert columns[0] == columns[1]
