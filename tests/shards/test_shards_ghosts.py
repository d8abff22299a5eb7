"""Ghosts in managers whose buffers grow in ways of their own."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.support.thread_ranks import ThreadComm, run
from tests.support.world_package import world_package

NAME = "shards_ghosts"
SCHEMA = """
world: Moor
shards: {ghosts: {Track: [k], Mark: [k]}}
---
component: Track
fields: {k: i64}
ring: 64
---
component: Mark
fields: {k: i64}
growth: {reserve: 192}
"""

world_package(SCHEMA, NAME)
package: Any = sys.modules[NAME]


def begun(comm: ThreadComm, n: int) -> tuple[Any, Any]:
    shards = package.Shards(package.Moor(), comm)
    keys = range(100 * comm.rank, 100 * comm.rank + n)
    return shards, shards.world.spawn(n, track={"k": keys}, mark={"k": keys})


def test_a_full_ring_has_ghosts() -> None:
    def rank(comm: ThreadComm) -> None:
        shards, es = begun(comm, 64)
        w = shards.world
        shards.refresh(es, 1 - comm.rank)
        first = 100 * (1 - comm.rank)
        for manager in (w.track, w.mark):
            assert manager.ghosts.k.tolist() == [*range(first, first + 64)]
        new = w.spawn(1, track={"k": 7}, mark={})
        assert (len(w.track), w.track.has(new[0]), w.track.ghosts.n) == (64, True, 0)

    run(2, rank)


def test_ghosts_beyond_the_reserve() -> None:
    def rank(comm: ThreadComm) -> None:
        shards, es = begun(comm, 64)
        shards.world.mark.create_many(shards.world.entities.create_many(90))
        with pytest.raises(package.CapacityError, match="MarkManager"):
            shards.refresh(es, 1 - comm.rank)

    run(2, rank)


def test_pages_that_are_given_back_have_no_ghosts() -> None:
    def rank(comm: ThreadComm) -> None:
        shards, es = begun(comm, 5)
        mark = shards.world.mark
        shards.refresh(es, 1 - comm.rank)
        mark.shrink_to_fit()
        assert (mark.ghosts.n, mark.ghosts.k.tolist()) == (0, [])
        shards.refresh()
        assert mark.ghosts.n == 5

    run(2, rank)
