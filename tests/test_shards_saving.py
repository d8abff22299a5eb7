"""What is saved of all ranks is of one moment, or is not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.sharded_package import Isles, package
from tests.thread_ranks import ThreadComm, run

Shards, ShardError = package.Shards, package.ShardError


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (lambda path: (path, -1), ValueError),
        (lambda path: (path, "first"), ValueError),
        (lambda path: (None, 1), TypeError),
        (lambda path: (path / "file", 1), OSError),
    ],
)
def test_what_can_not_be_saved(given: Any, error: type[Exception], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        if comm.rank == 1:
            with pytest.raises(error):
                shards.save(*given(tmp_path))
        else:
            with pytest.raises(ShardError, match=r"^rank 1: \w*Error"):
                shards.save(tmp_path, 1)
        assert shards.tick == 0
        assert shards.count(1) == 2

    run(2, rank)


def test_a_tick_that_is_saved_again_is_whole(tmp_path: Path, monkeypatch: Any) -> None:
    """Rank 1 fails when rank 0 has its file: the snapshot before is still there."""

    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        w = shards.world
        shards.save(tmp_path, 5)
        w.spawn(1, agent={"key": 7})
        if comm.rank == 1:
            w.rare.create(w.spawn(1)[0], thing=lambda: 1)  # no pickle
            with pytest.raises(AttributeError, match="pickle"):
                shards.save(tmp_path, 5)
        else:
            with pytest.raises(ShardError):
                shards.save(tmp_path, 5)
        assert [len(each) for each in sizes(comm)] == [0, 0]
        w.rare.clear()
        shards.save(tmp_path, 5)
        assert [len(each) for each in sizes(comm)] == [1, 1]

    def sizes(comm: ThreadComm) -> Any:
        world = Shards.load(tmp_path, comm).world
        return Shards(world, comm)._step.gather(lambda: world.agent.data.key.tolist())

    run(2, rank)
    assert len(os.listdir(tmp_path)) == 3


@pytest.mark.parametrize("name", ["agent", "cell"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_who_came_back_into_another_slot_is_loaded(name: str, order: tuple[int, int]) -> None:
    there, here = Isles(1), Isles(2)
    es = there.spawn(2, **{name: {}})
    ids = getattr(there, name).id_of_many([0, 1])
    here.absorb(there.extract(es))
    parcels = [here.extract([e]) for e in es]
    for place in order:
        here.absorb(parcels[place])
        manager = getattr(Isles.load(here.to_bytes(codecs={"*": None}), codecs={"*": None}), name)
        known = manager.resolve_many(ids)
        assert known.tolist() == manager.lookup_many(es).tolist()


def test_who_dies_by_a_collection_is_not_taken_over(tmp_path: Path) -> None:
    def before(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        w = shards.world
        es = w.spawn(3, limb={})
        w.limb.set_parent(w.limb.lookup(es[1]), w.limb.lookup(es[0]))
        w.destroy(es[0])
        shards.save(tmp_path)

    run(3, before)
    counts = run(1, lambda comm: Shards.load(tmp_path, comm).world.collect())
    assert counts == [2]  # rows of the first shard, where nobody had to leave


def test_what_one_rank_can_not_take_over_is_everyones(tmp_path: Path) -> None:
    def before(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        shards.world.spawn(1, badge={"number": comm.rank % 3, "label": f"b{comm.rank}"})
        shards.save(tmp_path)

    run(4, before)  # rank 0 is going to have shards 0 and 3

    def after(comm: ThreadComm) -> None:
        error = package.DuplicateValueError if comm.rank == 0 else ShardError
        with pytest.raises(error):
            Shards.load(tmp_path, comm)

    run(3, after)


def test_errors_that_are_no_text_are_everyones(tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"\xff")
    os.mkdir(folder)

    def rank(comm: ThreadComm) -> None:
        with pytest.raises(
            FileNotFoundError if comm.rank == 0 else ShardError, match="no complete"
        ):
            Shards.load(os.fsdecode(folder), comm)

    run(2, rank)
