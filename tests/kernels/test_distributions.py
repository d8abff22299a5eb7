"""Exponential, Poisson and Bernoulli numbers: word by word as their formulas in plain Python."""

from __future__ import annotations

import math
from statistics import NormalDist
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.random_words import call_key, row_stem, unit_number, word

from ecsgen.config import BACKENDS
from tests.support.world_package import world_package

SCHEMA = """\
component: Body
fields: {mean: f64, wait: f64, often: i64, hit: bool, close: f32}
kernels:
  draw:
    steps: |
      wait = exponential(mean)
      often = poisson(mean)
      hit = bernoulli(mean)
      close = f32(exponential(2) + f64(poisson(3)))
  toss: {steps: [hit = bernoulli(mean)]}
  taken: {where: bernoulli(0.5), steps: ["often = poisson(f32(0.5)) if hit else poisson(700)"]}
  looped:
    steps: |
      for i in range(2):
          wait = exponential(mean)
          often += poisson(mean)
          hit = bernoulli(mean)
---
world: Game
kernels:
  turn:
    over: Body
    turns: random
    steps: ["wait = exponential(Body.mean)", "Body.wait = wait", "Body.often = poisson(Body.mean)",
      "Body.hit = bernoulli(Body.mean)"]
"""
EDGES = [0.0, -0.0, 1e-300, 0.25, 1.0, 3.5, 100.0, 499.9, 500.0, 500.1, 1e6, 1e18, 2e19, 1e308]
BAD = [-1.0, math.nan, math.inf, -math.inf]
MEANS = np.array([*EDGES, *BAD, *np.linspace(0, 40, 75), *np.linspace(400, 600, 15)])


@pytest.fixture(scope="module")
def packages() -> list[ModuleType]:
    return [world_package(SCHEMA, f"distributions_{b}", b) for b in BACKENDS]


def filled(package: ModuleType) -> Any:
    w = package.World()
    w.spawn(len(MEANS), body={"mean": MEANS})
    w.seed = 7
    return w


def is_proper(mean: float) -> bool:
    return 0 <= mean < math.inf


def exponential(drawn: int, scale: float) -> float:
    return -math.log1p(-unit_number(drawn)) * scale if is_proper(scale) else 0.0


def poisson(drawn: int, mean: float) -> int:
    if not is_proper(mean):
        return 0
    if mean > 500:
        normal = NormalDist().inv_cdf(((drawn >> 12) + 0.5) * 2.0**-52)
        return min(max(round(mean + math.sqrt(mean) * normal), 0), 2**63 - 1)
    probability = total = math.exp(-mean)
    number = 0
    while total <= unit_number(drawn):
        number += 1
        probability = probability * mean / number
        if total + probability == total:
            break
        total += probability
    return number


def words(w: Any, kernel: str, number: int) -> list[int]:
    key = call_key(7, kernel, 0)
    return [word(row_stem(int(entity), key), number) for entity in w.body.data.entity]


@pytest.mark.parametrize("backend", [0, 1])
def test_great_probabilities_are_no_overflow(packages: Any, backend: int) -> None:
    w = filled(packages[backend])
    with np.errstate(all="raise"):
        w.body.toss()
    assert w.body.data.hit[MEANS >= 1].tolist() == np.isfinite(MEANS[MEANS >= 1]).tolist()


@pytest.mark.parametrize("backend", [0, 1])
@pytest.mark.parametrize("kernel", ["draw", "turn"])
def test_numbers_are_those_of_the_formulas(packages: Any, backend: int, kernel: str) -> None:
    w = filled(packages[backend])
    getattr(w.body if kernel == "draw" else w, kernel)()
    name = "Body.draw" if kernel == "draw" else "turn"
    first = 0 if kernel == "draw" else 1
    waits, often, hits = (words(w, name, first + number) for number in range(3))
    wanted = [exponential(drawn, mean) for drawn, mean in zip(waits, MEANS.tolist(), strict=True)]
    finite = [min(wait, 1.7e308) for wait in wanted]
    assert np.allclose(np.minimum(w.body.data.wait, 1.7e308), finite, rtol=1e-12, atol=0)
    counts = [poisson(drawn, mean) for drawn, mean in zip(often, MEANS.tolist(), strict=True)]
    is_exact = MEANS < 1e9  # beyond, the last bits of the normal number show
    is_exact |= ~np.isfinite(MEANS)
    assert np.array_equal(w.body.data.often[is_exact], np.array(counts)[is_exact])
    assert np.allclose(w.body.data.often, np.array(counts, np.float64), rtol=1e-12)
    assert w.body.data.hit.tolist() == [
        is_proper(mean) and unit_number(drawn) < mean
        for drawn, mean in zip(hits, MEANS.tolist(), strict=True)
    ]


def test_both_backends_give_the_same_bits(packages: Any) -> None:
    results = []
    for package in packages:
        w = filled(package)
        for kernel in (w.body.draw, w.body.taken, w.body.looped, w.turn) * 2:
            kernel()
            data = w.body.data
            results.append([data.wait.tobytes(), data.often.tobytes(), data.hit.tobytes()])
    half = len(results) // 2
    assert results[:half] == results[half:]


def test_means_and_variances() -> None:
    from ecsgen_runtime.kernels.random_streams import draw_exponential, draw_poisson

    n = 200_000
    streams = np.random.default_rng(3).integers(0, 2**64, n, np.uint64)
    word_memory, bits, often = np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(n, np.int64)
    for mean in (0.3, 4.0, 60.0, 499.0, 501.0):
        draw_poisson(streams, 0, mean, often, word_memory, bits)
        assert abs(often.mean() - mean) < 0.01 * math.sqrt(mean)
        assert abs(often.var() / mean - 1) < 0.02
    waits = np.empty(n)
    draw_exponential(streams, 0, 2.0, waits, word_memory, bits)
    assert abs(waits.mean() - 2) < 0.02
    assert abs(waits.std() - 2) < 0.02
    assert waits.min() >= 0
