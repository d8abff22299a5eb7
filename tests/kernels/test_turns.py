"""Kernels whose rows take turns, as the interpreter has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.interpreted_schemas import IN_WORLDS, check, kernels
from tests.support.referred_components import OTHERS

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


@IN_WORLDS
@pytest.mark.parametrize("kernel", kernels(SCHEMA))
@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels(backend: Backend, kernel: str, worlds: Sequence[tuple[int, int]]) -> None:
    check(SCHEMA, "turns", backend, kernel, worlds)


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
