"""References and messages between rows with links of any kind, against a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsgen.config import Backend
from ecsgen.model import Kernel, Project
from tests.models.world_reference import used_rows
from tests.support.others_package import built, check
from tests.support.soak import examples

SCHEMA = """
component: Ball
ids: true
fields: {other: entity, left: id<Ball>, f: f32, d: f64, i: i8, on: bool, v: "f32[2]"}
kernels:
  read:
    where: exists(left) or f < other.Ball.f
    steps: ["f = other.Ball.f - left.f", "v = left.v * f", "i = other.Ball.i + left.left.i"]
  send: {steps: ["other.Ball.f += f", "left.f -= 0.1", "left.i += i", "other.Ball.v.y += f"]}
  both:
    steps:
      - d = other.Ball.d + left.d
      - other.Ball.d -= d
      - left.on = left.on or f > 0
      - other.Ball.v = min(other.Ball.v, v)
  give:
    args: {by: {type: f32, each: true}}
    where: f < 1 or by > 0
    steps: ["other.Ball.f += by", "f = left.f * by", "other.Ball.v.x += by", "left.i -= i"]
  turns: {turns: random, steps: ["other.Ball.f = f + left.f", "left.d += f", "other = left.other"]}
"""
LINKS = st.sampled_from(["any", "one", "itself", "next", "dead", "nothing"])


@pytest.fixture(scope="module", params=["numpy", "numba"])
def balls(request: pytest.FixtureRequest) -> tuple[Any, Project]:
    if request.param == "numba":
        pytest.importorskip("numba")
    backend: Backend = request.param
    return built(SCHEMA, "random_others", backend)


def linked(module: Any, count: int, links: str, seed: int) -> Any:
    """A world of balls, some of them dead, with links of one kind."""
    world, random = module.World(), np.random.default_rng(seed)
    es = world.spawn(count, ball={})
    gone = random.random(count) < 0.2
    world.destroy_many(es[gone])
    data, ids = world.ball.data, world.ball.id_of_many(np.arange(count))
    places = {
        "any": random.integers(0, max(count, 1), count),
        "one": np.zeros(count, np.intp),
        "itself": np.arange(count),
        "next": (np.arange(count) + 1) % max(count, 1),
    }
    if links in places:
        data.other, data.left = es[places[links]], ids[places[links][::-1]]
    elif links == "dead" and gone.any():
        data.other, data.left = es[gone][0], ids[gone][0] + np.uint64(1 << 32)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, 3e38, 1e-45])
    with np.errstate(all="ignore"):
        data.f = random.choice(special, count).astype(np.float32)
        data.v = random.standard_normal((count, 2))
    data.d, data.i = random.standard_normal(count), random.integers(-128, 128, count)
    return world


@settings(max_examples=examples(20), deadline=None)
@given(count=st.sampled_from([0, 1, 2, 9, 33]), links=LINKS, seed=st.integers(0, 2**32 - 1))
def test_links_of_all_kinds(balls: tuple[Any, Project], count: int, links: str, seed: int) -> None:
    module, project = balls
    world = linked(module, count, links, seed)
    random = np.random.default_rng(seed)
    for kernel in project.components[0].kernels:
        check(world, project, kernel, given_to(kernel, len(world.ball), random), "Ball")
    world.collect()
    n = len(world.ball)
    for kernel in project.components[0].kernels:
        check(world, project, kernel, given_to(kernel, n, random), "Ball")
        some = random.permutation(n)[: n // 2].tolist()
        check(world, project, kernel, given_to(kernel, len(some), random), "Ball", some)


def given_to(kernel: Kernel, count: int, random: np.random.Generator) -> dict[str, Any]:
    """A value for each row, if the kernel takes one."""
    return {"by": random.normal(size=count)} if kernel.args else {}


@pytest.mark.parametrize("count", [4095, 4096, 4097])
def test_both_backends_give_the_same_bits(count: int) -> None:
    pytest.importorskip("numba")
    found = []
    backends: tuple[Backend, ...] = ("numpy", "numba")
    for backend in backends:
        module, project = built(SCHEMA, "random_others", backend)
        world = linked(module, count, "any", count)
        with np.errstate(all="ignore"):
            for kernel in ("read", "send", "both"):
                getattr(world.ball, kernel)()
        rows = used_rows(world, project)["Ball"]
        columns = (world.ball.data.f, world.ball.data.d, world.ball.data.i, world.ball.data.on)
        found.append([np.nan_to_num(column[rows], nan=7.0).tobytes() for column in columns])
    assert found[0] == found[1]
