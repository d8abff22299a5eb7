"""Shards of other schemas are loaded, with all visitors, handles and ids."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.thread_ranks import ThreadComm, run
from tests.support.world_package import world_package

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
fields: {at: "f64[2]", mark: {type: u16, renamed_from: []}, fresh: {type: i8, default: 7}}
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
AFTER = AFTER.replace("{type: u16, renamed_from: []}", "u16")


def package(text: str) -> Any:
    name = f"yard_{sha256(text.encode()).hexdigest()[:12]}"
    world_package(text, name)
    return sys.modules[name]


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
        w.archetypes.add(e, package(BEFORE).Warm, heat=key)
    return es


def saved(folder: Path) -> list[Any]:
    """Save three shards whose entities are everywhere, some dead; return who lives, by shard."""

    def rank(comm: ThreadComm) -> Any:
        shards = package(BEFORE).Shards(package(BEFORE).Yard(), comm)
        es, w = spawned(shards.world, 30), shards.world
        shards.migrate(es, np.arange(30) % 3)
        shards.migrate(w.entities.live()[::4], (comm.rank + 1) % 3)
        gone = w.entities.live()[::5].copy()
        w.destroy_many(gone)
        shards.save(folder, 7)
        ids = dict(zip(w.cell.data.k.tolist(), w.cell.id_of_many(slice_of(w.cell)), strict=True))
        spots = w.spot.lookup_many(w.entities.live())
        kept = w.spot.data.k[spots].tolist(), w.spot.id_of_many(spots).tolist()
        return gone.tolist(), es.tolist(), ids, dict(zip(*kept, strict=True))

    return run(3, rank)


def slice_of(manager: Any) -> Any:
    return np.arange(len(manager))


@pytest.mark.parametrize("size", [1, 4])
def test_shards_evolve(tmp_path: Path, size: int) -> None:
    told = saved(tmp_path)
    gone = {e for dead, *_ in told for e in dead}
    ids = {k: i for _, _, by_key, _ in told for k, i in by_key.items()}
    spots = {k: i for *_, by_key in told for k, i in by_key.items()}
    made = [es for _, es, *_ in told]
    keys = {e: 1000 * shard + k for shard, es in enumerate(made) for k, e in enumerate(es)}

    def rank(comm: ThreadComm) -> None:
        shards = package(AFTER).Shards.load(tmp_path, comm, drop=["old"])
        assert shards.tick == 7
        w = shards.world
        assert package(AFTER).Yard.load(w.to_bytes()).to_bytes() == w.to_bytes()
        shards.migrate(w.entities.live(), 0)
        if comm.rank:
            assert len(w.entities) == 0
            return
        live = sorted(w.entities.live().tolist())
        assert live == sorted(keys.keys() - gone)
        numbers = [keys[e] for e in live]
        rows = [m.lookup_many(live) for m in (w.place, w.agent, w.cell, w.spot)]
        place, agent, cell, spot = rows
        assert w.place.data.at[place].tolist() == [[k, -k] for k in numbers]
        assert w.place.data.mark[place].tolist() == [k % 200 for k in numbers]
        assert set(w.place.data.fresh[place].tolist()) == {7}
        assert w.agent.data.number[agent].tolist() == numbers
        assert w.cell.data.k[cell].tolist() == numbers
        assert w.cell.id_of_many(cell).tolist() == [ids[k] for k in numbers]
        assert w.spot.data.k[spot].tolist() == numbers
        assert w.spot.id_of_many(spot).tolist() == [spots[k] for k in numbers]
        assert w.warm.data.heat[w.warm.lookup_many(live)].tolist() == numbers
        assert sorted(w.guest.data.k.tolist()) == sorted([*numbers, *numbers])
        assert len({*w.agent.id_of_many(agent).tolist()}) == len(live)
        friends = [made[k // 1000][(k % 1000 - 1) % 30] for k in numbers]
        assert w.agent.data.friend[agent].tolist() == friends
        found = w.cell.resolve_many(w.agent.data.cell[agent])
        targets = [1000 * (k // 1000) + (k % 1000 - 1) % 30 for k in numbers]
        here = [k in numbers for k in targets]
        assert w.cell.data.k[found[here]].tolist() == [
            k for k, is_here in zip(targets, here, strict=True) if is_here
        ]
        es = w.spawn(3, place={}, agent={"number": [1, 2, 3]}, cell={}, spot={})
        assert not keys.keys() & {*es.tolist()}
        assert not {*ids.values()} & {*w.cell.id_of_many(w.cell.lookup_many(es)).tolist()}

    run(size, rank)


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
def test_what_others_know_stays(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    saved(tmp_path)
    text, drop = AFTER.replace(*change), ["old"] if change[0] else []
    kind = package(text)

    def rank(comm: ThreadComm) -> None:
        with pytest.raises((kind.SnapshotError, kind.ShardError), match=message):
            kind.Shards.load(tmp_path, comm, drop=drop)

    run(3, rank)
