"""Worlds of several ranks in files: saved, restarted with other ranks, and other schemas."""

from __future__ import annotations

import os
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np
import pytest

from tests.support import schema_evolution
from tests.support.sharded_package import Isles, package
from tests.support.threaded_ranks import ThreadComm, everyones, on_ranks, run

Shards, ShardError = package.Shards, package.ShardError


@pytest.mark.parametrize(
    ("make_arguments", "error"),
    [
        (lambda path: (path, -1), ValueError),
        (lambda path: (path, "first"), TypeError),
        (lambda path: (path, 1.5), TypeError),
        (lambda path: (path, True), TypeError),
        (lambda path: (None, 1), TypeError),
    ],
)
def test_what_can_not_be_saved(make_arguments: Any, error: type[Exception], tmp_path: Path) -> None:
    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        with everyones(comm, 1, error):
            shards.save(*(make_arguments(tmp_path) if comm.rank == 1 else (tmp_path, 1)))
        assert shards.tick == 0
        assert shards.count(1) == 2

    run(2, rank)
    assert os.listdir(tmp_path) == []


@on_ranks(2)
def test_where_nothing_can_be_saved(comm: ThreadComm, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    shards = Shards(Isles(), comm)
    with pytest.raises(OSError, match="file"):
        shards.save(tmp_path / "file", 1)
    assert shards.count(1) == 2


@pytest.mark.parametrize(
    ("make_arguments", "message"),
    [
        (lambda path: (path / "here", 2), "ticks: 1 and 2"),
        (lambda path: (path / "there", 1), "folders: '.*here' and '.*there'"),
    ],
)
def test_all_ranks_save_the_same(make_arguments: Any, message: str, tmp_path: Path) -> None:
    """Or none writes anything."""

    def rank(comm: ThreadComm) -> None:
        shards = Shards(Isles(), comm)
        wanted = make_arguments(tmp_path) if comm.rank == 1 else (tmp_path / "here", 1)
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


@on_ranks(2)
def test_all_ranks_load_from_the_same_folder(comm: ThreadComm, tmp_path: Path) -> None:
    """In another one a file of the same name may be there."""

    shards = Shards(Isles(), comm)
    for name in ("here", "there"):
        shards.save(tmp_path / name, 1)
    with pytest.raises(ShardError, match=r"^ranks 0 and 1 have given load other folders: "):
        Shards.load(tmp_path / ("there" if comm.rank else "here"), comm)


@on_ranks(2)
def test_a_shard_that_is_missing_is_damage(comm: ThreadComm, tmp_path: Path) -> None:
    """And not that nothing was saved, after which a program may begin anew."""

    Shards(Isles(), comm).save(tmp_path, 3)
    if comm.rank == 1:
        (tmp_path / "3.1.shard").unlink()
    with everyones(comm, 1, package.SnapshotError, r"3\.1\.shard: there is no such file$"):
        Shards.load(tmp_path, comm)


def test_a_marker_that_leads_nowhere_is_damage(tmp_path: Path) -> None:
    (tmp_path / "3.complete.json").symlink_to(tmp_path / "gone")

    def rank(comm: ThreadComm) -> None:
        with everyones(comm, 0, package.SnapshotError, "No such file"):
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
        refused = AttributeError, PicklingError  # from Python 3.14 on
        with everyones(comm, 1, refused, "(pickle|get) local object"):
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


@on_ranks(2)
def test_cells_that_are_no_values_of_one_rank_are_everyones(
    comm: ThreadComm, tmp_path: Path
) -> None:
    """And what was saved before is still there."""

    shards = Shards(Isles(), comm)
    shards.world.spawn(2, agent={"name": "ann"})
    shards.save(tmp_path, 5)
    names = shards.world.agent.data.name
    if comm.rank == 1:
        names[1] = b"\xff"
    wrong = package.SnapshotError, r"\.shard: agent\.name\[1\]: text that is not UTF-8"
    with everyones(comm, 1, *wrong):
        shards.save(tmp_path, 5)
    assert Shards.load(tmp_path, comm).world.agent.data.name.tolist() == [b"ann"] * 2
    shards.save(tmp_path, 5, verify=False)
    with everyones(comm, 1, *wrong):
        Shards.load(tmp_path, comm)
    again = Shards.load(tmp_path, comm, verify=False).world.agent.data.name
    assert again.tolist() == names.tolist()


@pytest.mark.parametrize("name", ["agent", "cell"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_who_came_back_into_another_slot_is_loaded(name: str, order: tuple[int, int]) -> None:
    there, here = Isles(1), Isles(2)
    es = there.spawn(2, **{name: {}})
    ids = getattr(there, name).id_of_many([0, 1])
    here.absorb(there.extract(es))
    parcels = [here.extract([e]) for e in es]
    for index in order:
        here.absorb(parcels[index])
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
        with everyones(comm, 0, package.DuplicateValueError):
            Shards.load(tmp_path, comm)

    run(3, after)


def test_errors_that_are_no_text_are_everyones(tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"\xff")
    os.mkdir(folder)

    def rank(comm: ThreadComm) -> None:
        with pytest.raises(FileNotFoundError, match="no complete"):
            Shards.load(os.fsdecode(folder), comm)
        (Path(os.fsdecode(folder)) / "1.complete.json").write_bytes(b"")
        with everyones(comm, 0, package.SnapshotError):
            Shards.load(os.fsdecode(folder), comm)

    run(2, rank)


BEFORE = """
world: Yard
shards: {ghosts: {Place: [at]}}
archetypes: {components: [Warm]}
---
component: Place
fields: {at: "f32[2]", mark: u8}
---
component: Agent
fields: {key: u64, friend: entity, cell: "id<Cell>"}
---
component: Cell
fields: {k: i32}
ids: true
---
component: Guest
fields: {k: i32}
lookup: hash
instances: many
destroy: manual
---
component: Spot
fields: {k: i32}
lookup: direct
ids: true
---
component: Warm
fields: {heat: f32}
---
component: Old
fields: {a: u8}
"""
AFTER = """
world: Yard
shards: {ghosts: {Place: [at]}}
---
component: Place
fields: {at: "f64[2]", mark: u16, fresh: {type: i8, default: 7}}
lookup: direct
---
component: Agent
fields: {number: {type: u64, renamed_from: [key]}, friend: entity, cell: "id<Cell>"}
lookup: hash
ids: true
---
component: Cell
fields: {k: i64}
ids: true
destroy: callback
---
component: Guest
fields: {k: i32}
instances: many
destroy: callback
---
component: Spot
fields: {k: i32, more: u8}
lookup: direct
ids: true
---
component: Warm
fields: {heat: f32}
"""


def spawned(w: Any, count: int) -> Any:
    keys = np.arange(count) + 1000 * w.entities.shard
    es = w.spawn(
        count,
        place={"at": np.c_[keys, -keys], "mark": keys % 200},
        agent={"key": keys},
        cell={"k": keys},
        spot={"k": keys},
        old={},
    )
    w.agent.data.friend = np.roll(es, 1)
    w.agent.data.cell = np.roll(w.cell.id_of_many(w.cell.lookup_many(es)), 1)
    for _ in range(2):
        w.guest.create_many(es, k=keys)
    for e, key in zip(es.tolist(), keys.tolist(), strict=True):
        w.archetypes.add(e, schema_evolution.package(BEFORE).Warm, heat=key)
    return es


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """Return a folder of three shards whose entities are everywhere, and of each what it knows."""
    folder = tmp_path_factory.mktemp("shards")

    def rank(comm: ThreadComm) -> Any:
        shards = schema_evolution.package(BEFORE).Shards(
            schema_evolution.package(BEFORE).Yard(), comm
        )
        es, w = spawned(shards.world, 30), shards.world
        shards.migrate(es, np.arange(30) % 3)
        shards.migrate(w.entities.live()[::4], (comm.rank + 1) % 3)
        gone = w.entities.live()[::5].copy()
        w.destroy_many(gone)
        shards.save(folder, 7)
        ids = dict(zip(w.cell.data.k.tolist(), w.cell.id_of_many(range(len(w.cell))), strict=True))
        spots = w.spot.lookup_many(w.entities.live())
        spot_rows = w.spot.data.k[spots].tolist(), w.spot.id_of_many(spots).tolist()
        return gone.tolist(), es.tolist(), ids, dict(zip(*spot_rows, strict=True))

    return folder, run(3, rank)


@pytest.mark.parametrize("size", [1, 4])
def test_shards_evolve(saved: tuple[Path, list[Any]], size: int) -> None:
    folder, results = saved
    gone = {e for dead, *_ in results for e in dead}
    ids = {k: i for _, _, by_key, _ in results for k, i in by_key.items()}
    spots = {k: i for *_, by_key in results for k, i in by_key.items()}
    entities_by_rank = [es for _, es, *_ in results]
    keys = {
        e: 1000 * shard + k for shard, es in enumerate(entities_by_rank) for k, e in enumerate(es)
    }

    def rank(comm: ThreadComm) -> None:
        shards = schema_evolution.package(AFTER).Shards.load(folder, comm, drop=["old"])
        assert shards.tick == 7
        w = shards.world
        assert schema_evolution.package(AFTER).Yard.load(w.to_bytes()).to_bytes() == w.to_bytes()
        shards.migrate(w.entities.live(), 0)
        if comm.rank:
            assert len(w.entities) == 0
            return
        live = sorted(w.entities.live().tolist())
        assert live == sorted(keys.keys() - gone)
        numbers = [keys[e] for e in live]
        rows = [m.lookup_many(live) for m in (w.place, w.agent, w.cell, w.spot)]
        places, agent, cell, spot = rows
        assert w.place.data.at[places].tolist() == [[k, -k] for k in numbers]
        assert w.place.data.mark[places].tolist() == [k % 200 for k in numbers]
        assert set(w.place.data.fresh[places].tolist()) == {7}
        assert w.agent.data.number[agent].tolist() == numbers
        assert w.cell.data.k[cell].tolist() == numbers
        assert w.cell.id_of_many(cell).tolist() == [ids[k] for k in numbers]
        assert w.spot.data.k[spot].tolist() == numbers
        assert w.spot.id_of_many(spot).tolist() == [spots[k] for k in numbers]
        assert w.warm.data.heat[w.warm.lookup_many(live)].tolist() == numbers
        assert sorted(w.guest.data.k.tolist()) == sorted([*numbers, *numbers])
        assert len({*w.agent.id_of_many(agent).tolist()}) == len(live)
        friends = [entities_by_rank[k // 1000][(k % 1000 - 1) % 30] for k in numbers]
        assert w.agent.data.friend[agent].tolist() == friends
        cells = w.cell.resolve_many(w.agent.data.cell[agent])
        targets = [1000 * (k // 1000) + (k % 1000 - 1) % 30 for k in numbers]
        here = [k in numbers for k in targets]
        assert w.cell.data.k[cells[here]].tolist() == [
            k for k, is_here in zip(targets, here, strict=True) if is_here
        ]
        es = w.spawn(3, place={}, agent={"number": [1, 2, 3]}, cell={}, spot={})
        assert not keys.keys() & {*es.tolist()}
        assert not {*ids.values()} & {*w.cell.id_of_many(w.cell.lookup_many(es)).tolist()}

    run(size, rank)


DRIFT = """
world: Drift
shards: {}
schedule: {step: [stir, tick]}
kernels: {stir: {over: Bird, steps: [Bird.x = random()]}}
---
component: Bird
fields: {key: u64, x: f64, at: "f64[2]"}
space: {field: at, wrap: [10, 10]}
kernels: {rest: {key: key, steps: [x = random() + 1]}}
"""


def test_ranks_that_begin_empty_know_what_all_know(tmp_path: Path) -> None:
    its = schema_evolution.package(DRIFT)

    def before(comm: ThreadComm) -> None:
        w = its.World()
        w.seed, w.bird.wrap, w.note = 42, (50, 0), "dry"
        w.bird.seed = 43
        with its.Shards(w, comm) as shards:
            w.step()
            w.bird.rest()
            w.spawn(2, bird={})
            shards.save(tmp_path)

    def after(comm: ThreadComm) -> tuple[Any, ...]:
        shards = its.Shards.load(tmp_path, comm)
        shards.save(tmp_path)  # all mean the same time
        w = shards.world
        drawn = w.json_state(), w.bird.json_state()
        return w.tick, w.seed, w.bird.seed, w.bird.wrap, w.note, drawn

    run(2, before)
    first, *others = run(4, after)
    assert first[:-1] == (1, 42, 43, (50, 0), "dry")
    assert others == [first] * 3


def test_new_components_give_ids_of_their_shard(saved: tuple[Path, list[Any]]) -> None:
    late = BEFORE + "---\ncomponent: Late\nfields: {k: i32}\nids: true\n"

    def rank(comm: ThreadComm) -> None:
        w = schema_evolution.package(late).Shards.load(saved[0], comm).world
        ids = w.late.id_of_many(w.late.lookup_many(w.spawn(2, late={})))
        assert (ids >> np.uint64(32) & np.uint64(0xFFF)).tolist() == [w.entities.shard] * 2
        assert (ids >> np.uint64(44) >= 1).all()

    run(3, rank)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("world: Yard\n", "world: Yard\nentity: {index_bits: 30}\n"), "keep the bits of before"),
        (
            ("ids: true\ndestroy: callback", "ids: true\nlookup: direct"),
            "'lookup: sparse' keeps them",
        ),
        (("", ""), "old"),
    ],
    ids=["bits", "direct", "lost"],
)
def test_what_others_know_stays(
    saved: tuple[Path, list[Any]], change: tuple[str, str], message: str
) -> None:
    text, drop = AFTER.replace(*change), ["old"] if change[0] else []
    kind = schema_evolution.package(text)

    def rank(comm: ThreadComm) -> None:
        with pytest.raises((kind.SnapshotError, kind.ShardError), match=message):
            kind.Shards.load(saved[0], comm, drop=drop)

    run(3, rank)
