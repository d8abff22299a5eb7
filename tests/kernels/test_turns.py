"""Kernels whose rows take turns, against a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import StaleInstanceError
from ecsgen_testing.reference.schema import Kernel

from ecsgen.config import BACKENDS
from ecsgen.model import Project
from tests.support.reference_package import OTHERS, built, check, filled
from tests.support.reference_schemas import read

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
  fed:
    over: pairs
    turns: random
    args: {by: {type: "f32[3]", each: true}, hit: {type: i16, each: true}}
    steps: ["Seeker.at += by", "Seeker.target.Seeker.hits += hit", "Sparse.at = by + Sparse.at"]
  oneself: {over: Seeker, turns: rows, steps: ["entity.Seeker.at -= Seeker.at.x"]}
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
fields:
  after: id<Node>
  mark: u64
  value: f32
  seen: i32
  pair: "f32[2]"
  turn: "f32[2,2]"
  wide: "f32[20]"
kernels:
  hop: {turns: rows, steps: ["value = after.value + 1", "after.seen = max(after.seen, seen + 1)"]}
  shuffled: {turns: random, steps: ["after.value = value + 1", "after.after = after.after.after"]}
  by_key: {turns: random, key: mark, rows: all, steps: ["after.seen += 1", "seen = after.seen"]}
  fed:
    turns: random
    rows: all
    args: {by: {type: f32, each: true}, at: {type: "f32[2]", each: true}}
    steps: ["after.value += by", "value += after.value * at.y", "after.seen += i32(at.x)"]
  in_order:
    turns: rows
    args: {by: {type: f32, each: true}}
    steps: ["value = after.value * 0.5 + by", "after.value = value"]
  oneself:
    turns: rows
    steps:
      - entity.Node.pair += turn @ pair
      - entity.Node.pair = normalize(pair)
      - after.wide -= wide[0]
  lucky: {turns: random, steps: ["after.value = f32(random())", "value += f32(uniform(0, 2))"]}
"""
)
OF_COMPONENTS = ("hop", "shuffled", "by_key", "fed", "in_order", "oneself")


@pytest.fixture(scope="module", params=BACKENDS)
def game(request: pytest.FixtureRequest) -> tuple[Any, Project]:
    return built(SCHEMA, "turns", request.param)


@pytest.mark.parametrize("count", [0, 1, 80])
def test_kernels_of_the_world(count: int, game: tuple[Any, Project]) -> None:
    module, project = game
    world = filled(module, project, count, np.random.default_rng(count))
    for kernel in read(SCHEMA).kernels.values():
        arguments: dict[str, Any] = {}
        if kernel.name == "fed":
            random = np.random.default_rng(count)
            n = len(world.pairs)
            arguments = {"by": random.normal(size=(n, 3)), "hit": random.integers(-9, 9, n)}
        elif kernel.args:
            arguments = {"whom": int(world.entities.live()[0]) if count else 0}
        check(world, SCHEMA, kernel.name, arguments)


@pytest.mark.parametrize("count", [0, 1, 80])
@pytest.mark.parametrize("name", OF_COMPONENTS)
def test_kernels_of_components(name: str, count: int, game: tuple[Any, Project]) -> None:
    module, project = game
    world = filled(module, project, count, np.random.default_rng(count))
    kernel = read(SCHEMA).components["Node"].kernels[name]
    random, n = np.random.default_rng(count), len(world.node)
    check(world, SCHEMA, kernel.name, each_of(kernel, n, random))
    chosen = random.permutation(n)[: n // 2].tolist()
    check(world, SCHEMA, kernel.name, each_of(kernel, len(chosen), random), chosen)


def each_of(kernel: Kernel, count: int, random: np.random.Generator) -> dict[str, Any]:
    """Values for the arguments of a kernel, which all have one for each row."""
    shapes = {"by": (), "at": (2,)}
    return {name: random.normal(size=(count, *shapes[name])) * 9 for name in kernel.args}


def test_a_mask_names_rows_in_their_order(game: tuple[Any, Project]) -> None:
    module, project = game
    worlds = [filled(module, project, 40, np.random.default_rng(3)) for _ in range(2)]
    rows = np.flatnonzero(np.arange(len(worlds[0].node)) % 3 == 0)
    worlds[0].node.hop(rows=rows)
    worlds[1].node.hop(rows=np.arange(len(worlds[1].node)) % 3 == 0)
    columns = [w.node.data.value.tobytes() for w in worlds]
    assert columns[0] == columns[1]


def test_rows_that_are_not_there_change_nothing(game: tuple[Any, Project]) -> None:
    module, project = game
    w = filled(module, project, 40, np.random.default_rng(3))
    before = w.node.data.value.tobytes()
    for rows in ([0, 0], [len(w.node)], [-1]):
        with pytest.raises(StaleInstanceError):
            w.node.shuffled(rows=rows)
        with pytest.raises(StaleInstanceError):
            w.node.in_order(np.zeros(len(rows)), rows=rows)
    assert w.node.data.value.tobytes() == before
    assert w.node._stream_state.calls == {}


def test_draws_begin_with_the_second_number() -> None:
    """The first one tells whose turn it is."""
    columns = []
    for backend in BACKENDS:
        module, project = built(SCHEMA, "turns", backend)
        world = filled(module, project, 60, np.random.default_rng(1))
        with np.errstate(all="ignore"):
            world.node.lucky()
        columns.append(world.node.data.value.tobytes())
    assert columns[0] == columns[1]


def _unmixed(word: int) -> int:
    """The number of which SplitMix64's mixer makes a word."""
    all_ = (1 << 64) - 1
    for shift, factor in ((31, 0x94D0_49BB_1331_11EB), (27, 0xBF58_476D_1CE4_E5B9), (30, 1)):
        bits = word
        for _ in range(64 // shift):
            bits = word ^ bits >> shift
        word = bits * pow(factor, -1, 1 << 64) & all_
    return word


def test_turns_of_almost_the_same_words() -> None:
    """The last bits decide, in whose place compiled loops have rows; of equal words rows."""
    pytest.importorskip("numba")
    from ecsgen_runtime.kernels.compiled_random_streams import turn_order
    from ecsgen_runtime.kernels.random_streams import turn_order as plain

    key, step = 0x1234_5678_9ABC, 0x9E37_79B9_7F4A_7C15
    for count in (1, 2, 3, 100, 5000):
        words = np.arange(count) * 7919 % 61 + (np.arange(count) % 3 << 40)
        who = [_unmixed((_unmixed(word) - step) % 2**64) ^ key for word in words.tolist()]
        order = turn_order(np.array(who, np.uint64), np.uint64(key))
        assert order.tolist() == plain(np.array(who, np.uint64), np.uint64(key)).tolist()
        assert order.tolist() == words.argsort(kind="stable").tolist()
