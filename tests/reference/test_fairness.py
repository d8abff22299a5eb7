"""Each of those among whom a kernel chooses is as likely, whoever else is chosen: by chi-square."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS
from tests.support.world_package import world_package

STEPS = """
    steps:
      - Bird.one = choice(other.Post.number)
      - Bird.tied = min_by(other.Post.number, other.Post.height)
      - Bird.farthest = max_by(other.Post.number, distance // 3, where=offset.x != 0)
      - Bird.any = choice(Post)
      - Bird.empty = random_empty(Post)
"""
SCHEMA = f"""
component: Place
grid: {{shape: [9], wrap: true}}
fields: {{x: bool}}
---
component: Post
on: {{field: at, capacity: 1}}
fields: {{at: id<Place>, number: i64, height: f64}}
---
component: Bird
on: cell
fields: {{cell: id<Place>, one: i64, tied: i64, farthest: i64, any: entity, empty: id<Place>}}
---
world: Field
kernels:
  pick:
    over: Bird
    near: {{radius: 9, among: Post}}{STEPS}
  turn:
    over: Bird
    turns: random
    near: {{radius: 9, among: Post}}{STEPS}
"""
CELL, BIRDS = 2**32, 1500


def chi_square(found: Iterable[Any], candidates: Sequence[Any]) -> float:
    """How far numbers of choices are apart: by chance more than 1 once in 10,000 times."""
    counts = Counter(found)
    assert counts.keys() <= {*candidates}
    expected, freedom = counts.total() / len(candidates), len(candidates) - 1
    total = sum((counts[one] - expected) ** 2 / expected for one in candidates)
    spread = 2 / (9 * freedom)
    return float(total / (freedom * (1 - spread + 3.719 * math.sqrt(spread)) ** 3))


@pytest.mark.parametrize("kernel", ["pick", "turn"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_each_is_as_likely(backend: Any, kernel: str) -> None:
    """Posts stand on cells 0 to 5: 0, 2, 3 and 5 are lowest, 3, 4 and 5 farthest from cell 0."""
    world = world_package(SCHEMA, f"fair_{backend}", backend).Field()
    heights = [0, 1, 0, 0, 1, 0]
    posts = world.spawn(6, post={"at": CELL + np.arange(6), "number": range(6), "height": heights})
    world.spawn(BIRDS, bird={"cell": CELL})
    world.seed = 7
    getattr(world, kernel)()
    data = world.bird.data
    chosen = {
        "one": range(6),
        "tied": (0, 2, 3, 5),
        "farthest": (3, 4, 5),
        "any": posts.tolist(),
        "empty": (CELL + 6, CELL + 7, CELL + 8),
    }
    columns = {name: getattr(data, name).tolist() for name in chosen}
    for name, candidates in chosen.items():
        assert chi_square(columns[name], candidates) < 1, name
    for one, other in (("one", "tied"), ("tied", "farthest"), ("any", "empty"), ("one", "any")):
        pairs = [(a, b) for a in chosen[one] for b in chosen[other]]
        assert chi_square(zip(columns[one], columns[other], strict=True), pairs) < 1, (one, other)
