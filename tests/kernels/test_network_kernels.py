"""Neighbours by links of the moment, and a naive sum over many; `interpreted/networks.yaml` has the
rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import world_package


def _package(backend: Backend) -> Any:
    return world_package(TOPICS["networks"], f"networked_{backend}", backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_kernels_write_to_ends_is_seen_by_the_next(backend: Backend) -> None:
    world = _package(backend).World()
    es = world.entities.create_many(3)
    world.person.create_many(es)
    world.follows.create_many(es, whom=es[[1, 2, 0]], since=[1, 0, 0])
    world.fame()
    assert world.person.data.k.tolist() == [1, 1, 1]
    world.rewire()  # the first one follows herself, which is no link
    world.fame()
    assert world.person.data.k.tolist() == [1, 0, 1]
    assert len(world.follows.links_of(es).rows) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_that_a_call_names_ask_alone(backend: Backend) -> None:
    world = _package(backend).World()
    es = world.entities.create_many(40_000)
    rng = np.random.default_rng(0)
    world.person.create_many(es, x=rng.random(len(es)))
    world.knows.create_many(90_000, a=rng.choice(es, 90_000), b=rng.choice(es, 90_000))
    world.sum_up()
    wanted, first, second = world.person.data.far.copy(), *map(
        world.person.lookup_many, (world.knows.data.a, world.knows.data.b)
    )
    x, far = world.person.data.x, np.zeros(len(es))
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        if a != b:
            far[a] += x[b]
            far[b] += x[a]
    assert far.tobytes() == wanted.tobytes()
    world.person.data.far = 0
    world.sum_up(rows=[39_999, 5])
    assert world.person.data.far[[5, 39_999]].tobytes() == wanted[[5, 39_999]].tobytes()
    assert np.count_nonzero(world.person.data.far) <= 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_come_after_their_links_are_known(backend: Backend) -> None:
    def expected() -> list[float]:
        rows = {entity: row for row, entity in enumerate(world.person.data.entity.tolist())}
        far = [0.0] * len(rows)
        for a, b in zip(world.knows.data.a.tolist(), world.knows.data.b.tolist(), strict=True):
            if a != b and a in rows and b in rows:
                far[rows[a]] += world.person.data.x[rows[b]]
                far[rows[b]] += world.person.data.x[rows[a]]
        return far

    world = _package(backend).World()
    es = world.entities.create_many(6)
    world.knows.create_many(5, a=es[[0, 1, 4, 2, 3]], b=es[[1, 2, 0, 4, 3]])

    def born(*entities: int, x: float) -> None:
        world.person.create_many(np.array(entities, np.uint64), x=x)
        world.sum_up()
        assert world.person.data.far.tolist() == expected()

    born(*es[:3], x=1)
    born(es[3], x=2)  # knows only itself
    born(es[5], *world.entities.create_many(2), x=4)  # nobody
    born(es[4], x=8)  # two who are there
    world.person.destroy(world.person.lookup(es[3]))
    born(es[3], x=16)
    world.entities.destroy(es[0])
    world.collect()
    born(*world.entities.create_many(2), x=32)
    assert world.person.data.far.any()
