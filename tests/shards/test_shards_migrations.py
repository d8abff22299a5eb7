"""A tenth of all entities goes somewhere else, again and again: nothing is lost or doubled, and
references hold. ECSGEN_MIGRATIONS=1000 takes half a minute."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tests.support.sharded_package import Isles, package
from tests.support.thread_ranks import ThreadComm, run

MIGRATIONS = int(os.environ.get("ECSGEN_MIGRATIONS", "40"))
RANKS, COUNT = 3, 90


def begin(w: Any) -> Any:
    """Make entities whose numbers everything tells, each with a friend, a cell's id and a part."""
    first = COUNT * w.entities.shard
    keys = np.arange(first, first + COUNT)
    es = w.spawn(
        COUNT,
        place={"at": np.c_[keys, keys], "speed": (1, 2)},
        agent={"key": keys, "name": [f"a{k}" for k in keys]},
        cell={"k": keys, "on": keys % 2 == 0},
        badge={"number": keys, "label": [f"b{k}" for k in keys]},
        limb={"k": keys},
    )
    w.agent.data.friend = np.roll(es, 1)
    cells = w.cell.id_of_many(w.cell.lookup_many(es))
    for _ in range(2):
        w.guest.create_many(es, k=keys, cell=np.roll(cells, 2))
    w.limb.set_parent_many(w.limb.lookup_many(es[1::9]), w.limb.lookup_many(es[::9]))
    return es


def check(w: Any) -> dict[int, int]:
    """Return the key of each entity that is here, after a look at all that it has."""
    agent, live = w.agent, w.entities.live()
    rows = agent.lookup_many(live)
    keys = agent.data.key[rows].astype(np.int64)
    for manager, column in ((w.cell, "k"), (w.badge, "number"), (w.limb, "k")):
        values = getattr(manager.data, column)[manager.lookup_many(live)]
        assert values.tolist() == keys.tolist()
    assert w.place.data.at[w.place.lookup_many(live)].tolist() == np.c_[keys, keys].tolist()
    assert [w.badge.label(w.badge.lookup(e)) for e in live.tolist()] == [f"b{k}" for k in keys]
    owners = w.guest.data.entity
    assert sorted(owners.tolist()) == sorted([*live.tolist(), *live.tolist()])
    assert (agent.data.key[agent.lookup_many(owners)] == w.guest.data.k).all()
    friends = agent.lookup_many(agent.data.friend[rows])
    here = friends < len(agent)
    assert (agent.data.key[friends[here]] == behind(keys[here], 1)).all()
    cells = w.cell.resolve_many(w.guest.data.cell)
    here = cells < w.cell.data.n
    assert (w.cell.data.k[cells[here]] == behind(w.guest.data.k[here], 2)).all()
    return dict(zip(live.tolist(), keys.tolist(), strict=True))


def behind(keys: Any, back: int) -> Any:
    """Return the key that stands so far before each, of those that were made in the same shard."""
    return keys // COUNT * COUNT + (keys % COUNT - back) % COUNT


def test_nothing_is_lost_or_doubled() -> None:
    def rank(comm: ThreadComm) -> tuple[list[int], dict[int, int]]:
        shards = package.Shards(Isles(), comm)
        w, rng = shards.world, np.random.default_rng(comm.rank)
        first = begin(w).tolist()
        for tick in range(MIGRATIONS):
            live = w.entities.live()
            some = rng.choice(live, len(live) // 10, replace=False)
            shards.migrate(some, rng.integers(RANKS, size=len(some)))
            if tick % 10 == 0:
                check(w)
            assert shards.count(len(w.entities)) == RANKS * COUNT
            assert shards.sum(w.agent.data.key) == sum(range(RANKS * COUNT))
        check(w)
        shards.migrate(w.entities.live(), 0)
        return first, check(w)

    results = run(RANKS, rank)
    made = [e for first, _ in results for e in first]
    whole = results[0][1]
    assert [len(found) for _, found in results] == [RANKS * COUNT, 0, 0]
    assert [whole[e] for e in made] == [*range(RANKS * COUNT)]
