"""Messages of kernels, against a loop over rows, with every policy on the other side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import Backend
from ecsgen.model import Project
from tests.support.others_package import OTHERS, OWNED, WITH_IDS, built, check, filled


def _to(name: str) -> str:
    """A kernel that sends to rows that entities have."""
    h = f"Sender.target.{name}"
    return (
        f"  strike_{name.lower()}:\n    over: Sender\n    where: Sender.sum < 5\n    steps:\n"
        f'      - "{h}.hits -= Sender.hits"\n'
        f'      - "{h}.at += Sender.at * 2"\n'
        f'      - "entity.{name}.hits += 3"\n'
    )


SCHEMA = (
    "world: Game\nqueries: {pairs: {all: [Sender, Sparse]}}\ngroups: {both: [Hash, Held]}\n"
    "kernels:\n"
    + "".join(map(_to, OWNED))
    + """\
  by_ids:
    over: Sender
    args: {which: id<Nobody>, whom: entity}
    steps:
"""
    + "".join(f'      - "Sender.{name.lower()}.most += Sender.wide"\n' for name in WITH_IDS)
    + """\
      - "which.small += Sender.small"
      - "whom.Sparse.small -= 1"
  all_types:
    over: Sender
    steps:
      - "Sender.target.Sparse.small += Sender.small"
      - "Sender.target.Sparse.table = min(Sender.target.Sparse.table, Sender.table)"
      - "Sender.target.Sparse.most = max(Sender.target.Sparse.most, Sender.sum)"
      - "Sender.target.Sparse.flag = Sender.target.Sparse.flag or Sender.flag"
      - "Sender.target.Direct.flag = Sender.target.Direct.flag and Sender.flag"
      - "Sender.target.Sparse.far += Sender.far"
      - "Sender.target.Sparse.far -= 5"
      - "Sender.target.Sparse.parts -= Sender.parts"
      - "Sender.target.Sparse.wide += 0.5"
  elements:
    over: Sender
    steps:
      - "Sender.target.Sparse.at += Sender.at"
      - "Sender.target.Sparse.at.y -= Sender.sum"
      - "entity.Sparse.at[2] += 1"
      - "Sender.target.Sparse.turn[1] += Sender.sum"
      - "Sender.target.Sparse.parts.x -= Sender.wide"
  waits:
    over: pairs
    where: Sparse.sum < 3
    steps:
      - "Sender.target.Sparse.sum += Sparse.sum"
      - "Sparse.at = Sender.target.Sparse.at + 1"
      - "Sender.target.Sparse.at -= Sparse.at"
      - "Sender.target.Sparse.sum -= Sender.sum"
      - "Sparse.sum *= 2"
      - "Sender.target.Sparse.wide = min(Sender.target.Sparse.wide, Sparse.wide)"
  grouped: {over: both, steps: ["Hash.link.Held.at += Held.at", "Held.link.Hash.hits -= 2"]}
  from_nobody:
    over: Nobody
    args: {whom: entity}
    where: Nobody.flag
    steps: ["whom.Sparse.hits += 1", "Nobody.link.Many.hits += Nobody.hits"]
---
component: Sender
lookup: direct
fields:
  at: "f32[3]"
  parts: {type: "f64[2]", split: true}
  table: "i16[3,3]"
  target: entity
  sum: f32
  wide: f64
  hits: i32
  far: i64
  small: u8
  flag: bool
"""
    + "".join(f"  {name.lower()}: id<{name}>\n" for name in WITH_IDS)
    + OTHERS.replace("  link: entity\n", "  link: entity\n  far: i64\n")
    + """\
---
component: Node
ids: true
instances: many
fields: {after: id<Node>, friend: entity, value: f32, count_: i32, m: "f32[2]"}
kernels:
  pass_on: {steps: ["after.count_ += count_", "friend.Node.m -= m", "after.m += m"]}
  swap:
    where: exists(after)
    steps: ["x = after.value", "after.value = max(after.value, value + 1)", "value = x"]
---
component: Loose
owner: none
fields: {after: id<Loose>, value: i64}
kernels:
  pull: {steps: ["after.value -= value", "value = after.value"]}
"""
)
WORLD = [f"strike_{name.lower()}" for name in OWNED]
ALIKE = ["strike_sparse", "strike_many", "strike_parted", "strike_round", "strike_held"]
WORLD += ["by_ids", "all_types", "elements", "waits", "grouped", "from_nobody"]
OF_COMPONENTS = [("Node", "pass_on"), ("Node", "swap"), ("Loose", "pull")]


@pytest.fixture(scope="module", params=["numpy", "numba"])
def game(request: pytest.FixtureRequest) -> tuple[Any, Project]:
    if request.param == "numba":
        pytest.importorskip("numba")
    backend: Backend = request.param
    return built(SCHEMA, "messages", backend)


def given(world: Any, names: tuple[str, ...], random: np.random.Generator) -> dict[str, int]:
    """Some arguments of a kernel."""
    found = {}
    if "whom" in names:
        found["whom"] = int(random.choice(world.sparse.data.entity)) if len(world.sparse) else 7
    if "which" in names:
        ids = world.sender.data.nobody
        found["which"] = int(random.choice(ids)) if len(ids) else 0
    return found


@pytest.mark.parametrize("count", [0, 1, 40, 4097])
def test_kernels_of_the_world(count: int, game: tuple[Any, Project]) -> None:
    module, project = game
    random = np.random.default_rng(count)
    world = filled(module, project, count, random)
    names = WORLD if count < 4000 else ["strike_hash", "waits"]
    if project.backend == "numba":  # each takes a second to compile
        names = [name for name in names if name not in ALIKE]
    for kernel in project.world.kernels:
        if kernel.name in names:
            check(world, project, kernel, given(world, tuple(a for a, *_ in kernel.args), random))


@pytest.mark.parametrize("count", [0, 1, 60])
def test_kernels_of_components(count: int, game: tuple[Any, Project]) -> None:
    module, project = game
    world = filled(module, project, count, np.random.default_rng(count))
    for home, name in OF_COMPONENTS:
        component = next(one for one in project.components if one.name == home)
        kernel = next(one for one in component.kernels if one.name == name)
        check(world, project, kernel, {}, home)


def test_all_to_one(game: tuple[Any, Project]) -> None:
    """Floats round each time, in the order of rows."""
    module, project = game
    world = filled(module, project, 300, np.random.default_rng(3))
    world.sender.data.target = int(world.sparse.data.entity[0])
    world.sender.data.sum = np.random.default_rng(4).standard_normal(world.sender.data.n)
    for kernel in project.world.kernels:
        if kernel.name in ("strike_sparse", "elements", "waits", "all_types"):
            check(world, project, kernel, {})
