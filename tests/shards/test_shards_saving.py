"""What is saved of all ranks is of one moment, or is not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.sharded_package import Isles, package
from tests.support.thread_ranks import ThreadComm, run

Shards, ShardError = package.Shards, package.ShardError


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (lambda path: (path, -1), ValueError),
        (lambda path: (path, "first"), TypeError),
        (lambda path: (path, 1.5), TypeError),
        (lambda path: (path, True), TypeError),
        (lambda path: (None, 1), TypeError),
    ],
)
def test_what_can_not_be_saved(given: Any, error: type[Exception], tmp_path: Path) -> None:
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
    assert os.listdir(tmp_path) == []


def test_where_nothing_can_be_saved(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        with pytest.raises(OSError, match="file"):
            shards.save(tmp_path / "file", 1)
        assert shards.count(1) == 2

    run(2, rank)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda path: (path / "here", 2), "ticks: 1 and 2"),
        (lambda path: (path / "there", 1), "folders: '.*here' and '.*there'"),
    ],
)
def test_all_ranks_save_the_same(given: Any, message: str, tmp_path: Path) -> None:
    """Or none writes anything."""

    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        wanted = given(tmp_path) if comm.rank == 1 else (tmp_path / "here", 1)
        with pytest.raises(ShardError, match=f"^ranks 0 and 1 have given save other {message}$"):
            shards.save(*wanted)
        assert shards.tick == 0
        assert shards.count(1) == 3

    run(3, rank)
    assert list(tmp_path.iterdir()) == []


def test_spellings_of_one_folder_are_the_same(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    spelled = tmp_path / "here", "./here/", Path("./here")

    def rank(comm: ThreadComm) -> None:
        Shards(Isles(), comm).save(spelled[comm.rank], np.int64(4))
        assert Shards.load(spelled[comm.rank], comm).tick == 4

    run(3, rank)


def test_all_ranks_load_from_the_same_folder(tmp_path: Path) -> None:
    """In another one a file of the same name may be there."""

    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        for name in ("here", "there"):
            shards.save(tmp_path / name, 1)
        with pytest.raises(ShardError, match=r"^ranks 0 and 1 have given load other folders: "):
            Shards.load(tmp_path / ("there" if comm.rank else "here"), comm)

    run(2, rank)


def test_a_shard_that_is_missing_is_damage(tmp_path: Path) -> None:
    """And not that nothing was saved, after which a program may begin anew."""

    def rank(comm: ThreadComm) -> None:
        Shards(Isles(), comm).save(tmp_path, 3)
        if comm.rank == 1:
            (tmp_path / "3.1.shard").unlink()
        error = package.SnapshotError if comm.rank == 1 else ShardError
        with pytest.raises(error, match=r"3\.1\.shard: there is no such file$"):
            Shards.load(tmp_path, comm)

    run(2, rank)


def test_a_marker_that_leads_nowhere_is_damage(tmp_path: Path) -> None:
    (tmp_path / "3.complete.json").symlink_to(tmp_path / "gone")

    def rank(comm: ThreadComm) -> None:
        with pytest.raises(
            package.SnapshotError if comm.rank == 0 else ShardError, match="No such file"
        ):
            Shards.load(tmp_path, comm)

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
        return Shards(world, comm)._step.gather("test", lambda: world.agent.data.key.tolist())

    run(2, rank)
    assert len(os.listdir(tmp_path)) == 3


def test_cells_that_are_no_values_of_one_rank_are_everyones(tmp_path: Path) -> None:
    """And what was saved before is still there."""

    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        shards.world.spawn(2, agent={"name": "ann"})
        shards.save(tmp_path, 5)
        names = shards.world.agent.data.name
        if comm.rank == 1:
            names[1] = b"\xff"
        error = package.SnapshotError if comm.rank == 1 else ShardError
        message = r"\.shard: agent\.name\[1\]: text that is not UTF-8"
        with pytest.raises(error, match=message):
            shards.save(tmp_path, 5)
        assert Shards.load(tmp_path, comm).world.agent.data.name.tolist() == [b"ann"] * 2
        shards.save(tmp_path, 5, verify=False)
        with pytest.raises(error, match=message):
            Shards.load(tmp_path, comm)
        again = Shards.load(tmp_path, comm, verify=False).world.agent.data.name
        assert again.tolist() == names.tolist()

    run(2, rank)


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
        with pytest.raises(FileNotFoundError, match="no complete"):
            Shards.load(os.fsdecode(folder), comm)
        (Path(os.fsdecode(folder)) / "1.complete.json").write_bytes(b"")
        with pytest.raises(package.SnapshotError if comm.rank == 0 else ShardError):
            Shards.load(os.fsdecode(folder), comm)

    run(2, rank)
