"""Callbacks that raise while entities are on their way: nobody is lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sharded_package import Isles, package
from tests.support.thread_ranks import ThreadComm, run

Shards = package.Shards


def refuse(rows: Any) -> None:
    raise RuntimeError(f"{len(rows)} meshes")


def test_who_comes_is_there_all_the_same() -> None:
    def rank(comm: ThreadComm) -> list[int]:
        shards = Shards(Isles(), comm)
        w = shards.world
        es = w.spawn(2, agent={"key": [10 * comm.rank, 10 * comm.rank + 1]}, mesh={})
        if comm.rank == 0:
            w.mesh.on_release(refuse)
            with pytest.raises(ExceptionGroup, match="callbacks failed") as failed:
                shards.migrate(es[:1], 1)
            assert [str(error) for error in failed.value.exceptions] == ["1 meshes"]
        else:
            shards.migrate(es[:1], 0)
        assert shards.count(len(w.entities)) == 4
        keys: list[int] = sorted(w.agent.data.key.tolist())
        return keys

    assert run(2, rank) == [[1, 10], [0, 11]]


def test_who_dies_meanwhile_is_dead_when_all_have_come() -> None:
    def rank(comm: ThreadComm) -> list[int]:
        shards = Shards(Isles(), comm)
        w = shards.world
        es = w.spawn(3, agent={"key": [10 * comm.rank + k for k in range(3)]}, mesh={})
        told = w.mesh.on_release(lambda rows: w.destroy(es[1]))
        shards.migrate(es[:1], 1 - comm.rank)
        told.cancel()
        w.collect()
        keys: list[int] = sorted(w.agent.data.key.tolist())
        return keys

    assert run(2, rank) == [[2, 10], [0, 12]]


def test_the_error_has_the_parcel() -> None:
    here, there = Isles(0), Isles(1)
    es = here.spawn(2, agent={"key": [1, 2]}, mesh={})
    here.mesh.on_release(refuse)
    with pytest.raises(ExceptionGroup, match="callbacks failed") as failed:
        here.extract(es[:1])
    there.absorb(failed.value.parcel)  # type: ignore[attr-defined]
    assert there.agent.data.key.tolist() == [1]
    assert here.agent.data.key.tolist() == [2]


def orphan(w: Any) -> Any:
    """Make three entities; the first one dies, and the second with it when that is noticed."""
    es = w.spawn(3, limb={}, agent={"key": range(3)})
    w.limb.set_parent(w.limb.lookup(es[1]), w.limb.lookup(es[0]))
    w.destroy(es[0])
    return es


def test_who_dies_by_a_collection_does_not_leave() -> None:
    w = Isles()
    es = orphan(w)
    with pytest.raises(package.StaleEntityError, match="1v1"):
        w.extract(es[1:])
    assert w.entities.live().tolist() == [es[2]]
    assert len(w.extract(es[2:])) == 1


def test_who_dies_by_a_collection_goes_nowhere() -> None:
    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        w = shards.world
        es = orphan(w)
        if comm.rank == 0:
            with pytest.raises(package.StaleEntityError):
                shards.migrate(es[1:], 1)
        else:
            with pytest.raises(package.ShardError, match="rank 0: StaleEntityError"):
                shards.migrate(es[2:], 0)
        w.collect()
        assert shards.locate(es).tolist() == [-1, -1, comm.rank]
        assert shards.count(len(w.entities)) == 2
        assert len(package.Isles.load(w.to_bytes(codecs={"*": None}), codecs={"*": None})) == 1

    run(2, rank)
