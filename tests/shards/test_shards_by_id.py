"""Rows without owners, which are sent by id."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sharded_package import Isles, package
from tests.support.thread_ranks import ThreadComm, run

Shards, ShardError = package.Shards, package.ShardError


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (lambda ids: {"spark": ([ids[0], ids[0]], [1, 2])}, package.StaleIdError),
        (lambda ids: {"spark": ([ids[0], ids[0]], [1, 0])}, package.StaleIdError),
        (lambda ids: {"spark": ([77], [0])}, package.StaleIdError),
        (lambda ids: {"agent": ([], [])}, TypeError),
    ],
)
def test_who_can_not_be_sent(given: Any, error: type[Exception]) -> None:
    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        ids = shards.world.spark.create_many(2, k=range(2))
        if comm.rank == 0:
            with pytest.raises(error):
                shards.migrate((), (), **given(ids))
        else:
            with pytest.raises(ShardError, match=f"rank 0: {error.__name__}"):
                shards.migrate()
        assert shards.world.spark.data.k.tolist() == [0, 1]

    run(3, rank)


@pytest.mark.parametrize("goals", [(1, 2), (1, 0), (1, 1), (0, 1)])
def test_a_subtree_goes_where_its_root_goes(goals: tuple[int, int]) -> None:
    def rank(comm: ThreadComm) -> list[int]:
        shards = Shards(Isles(), comm)
        loose = shards.world.loose
        if comm.rank == 0:
            ids = loose.create_many(2, k=[1, 2])
            loose.set_parent(loose.resolve(ids[1]), loose.resolve(ids[0]))
            shards.migrate((), (), loose=(ids, goals))
        else:
            shards.migrate()
        return sorted(loose.data.k[loose.levels()[1]]) if len(loose) == 2 else []

    assert run(3, rank) == [[2] if number == goals[0] else [] for number in range(3)]


def test_a_world_that_gave_out_ids_has_its_number() -> None:
    def same(comm: ThreadComm) -> None:
        w = Isles()
        w.spark.create(k=1)
        w.spark.clear()
        with pytest.raises(ShardError, match="0 and 1 are both shard 0"):
            Shards(w, comm)

    run(2, same)
