"""Kernels beyond the border: neighbours, references and messages, and ghosts in all managers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.bytecode_cache import uncompiled
from tests.support.threaded_ranks import ThreadComm, on_ranks, run
from tests.support.world_package import world_package

SIZE, RADIUS, COUNT = 30.0, 2.5, 160

SCHEMA = """
world: Herd
shards:
  ghosts: {Place: [at, weight, on], Agent: [key], Mood: [], Part: [spot, k], Slot: [at, k]}
groups: {movers: [Place, Agent]}
queries: {agents: {all: [Place, Agent, Mood]}, slots: {all: [Slot, Agent]}}
kernels:
  herd: {over: movers, near: 2.5, steps: [Place.total = sum(other.Agent.key)]}
  scare:
    over: agents
    near: {radius: 2.5, among: movers}
    steps: [Mood.fear = count(other.Agent.key > 60)]
  cheer: {over: movers, near: {radius: 2.5, among: agents}, steps: [Place.cheered = count()]}
  gather: {over: agents, near: 2.5, steps: [Mood.friends = sum(other.Agent.key)]}
  hush:
    over: movers
    near: {radius: 2.5, among: agents}
    turns: rows
    steps: [Place.hushed = sum(other.Agent.key)]
  calm: {over: agents, near: 2.5, turns: random, steps: [Mood.rest = sum(other.Place.weight)]}
  parts: {over: Part, near: 2.5, steps: [Part.far = max(other.Part.k)]}
  mingle:
    over: movers
    near: 2.5
    steps: |
      for friend in other:
          Place.weight += friend.Place.weight
  greet:
    over: movers
    near: 2.5
    steps: |
      for friend in other:
          friend.Place.weight += 1
  shove:
    over: movers
    near: 2.5
    turns: rows
    steps: |
      for friend in other:
          friend.Place.on = true
  cull:
    over: movers
    near: 2.5
    turns: rows
    steps: |
      for friend in other:
          Place.weight += 1
          destroy(friend)
  cull_all:
    over: movers
    near: {others: {among: movers}}
    turns: rows
    steps: |
      for friend in others:
          Place.weight += 1
          destroy(friend, where=Place.weight == 1)
  slots_:
    over: slots
    near: {radius: 2.5, among: Slot}
    steps: [Slot.other_k = sum(other.Slot.k), Slot.whom = nearest(other.entity)]
---
component: Place
fields:
  {at: "f64[2]", weight: i64, on: bool, near_: u32, closest: entity, total: u64, cheered: i64,
   hushed: u64}
space: {field: at, wrap: [30, 0]}
kernels:
  ask:
    near: r
    args: {r: f64}
    where: on
    steps:
      - near_ = count()
      - closest = nearest(other.entity)
      - weight = sum(other.weight) % 1000
---
component: Agent
fields: {key: u64}
---
component: Mood
fields: {fear: i64, rest: i64, friends: u64}
partition: {start: active}
---
component: Part
fields: {spot: {type: "f32[2]", split: true}, k: i32, far: i32}
space: {field: spot, wrap: [30, 30]}
partition: {start: active}
kernels:
  look: {near: 2.5, turns: rows, rows: active, steps: [far = min(other.k) - 1]}
  drift:
    near: {here: {radius: 1}, around: {radius: 2.5}}
    steps: ["spot = spot + sum(floor(around.offset * 8)) / 64", k += i32(count(here))]
---
component: Slot
fields: {at: "f32[3]", k: i64, other_k: i64, whom: entity, next_: entity}
space: {field: at}
lookup: direct
kernels:
  peer: {near: 2.5, steps: [next_ = nearest(other.entity), other_k = sum(other.k)]}
"""
"""A component per way of finding rows; fields are integers, so that sums depend on no order."""


@pytest.fixture(scope="module", autouse=True)
def packages() -> dict[str, Any]:
    """Import the package of each backend; numba takes 20 s to compile, so its loops are Python."""
    with uncompiled():
        return {b: world_package(SCHEMA, f"herd_{b}", b) for b in BACKENDS}


def begin(world: Any) -> Any:
    """Spawn all, each by its key, some of them inactive."""
    rng = np.random.default_rng(5)
    keys = np.arange(1, COUNT + 1, dtype=np.uint64)
    at = rng.random((COUNT, 2)) * SIZE
    es = world.spawn(
        COUNT,
        place={"at": at, "weight": keys, "on": keys % 7 != 0},
        agent={"key": keys},
        mood={},
        part={"spot": at, "k": keys},
        slot={"at": np.c_[at, 0 * at[:, 0]], "k": keys},
    )
    world.part.deactivate_many(world.part.lookup_many(es[::5]))
    world.mood.deactivate_many(world.mood.lookup_many(es[::3]))
    return es


def found(world: Any, keys_of: dict[int, int]) -> dict[int, tuple[Any, ...]]:
    """Return what kernels have written, by key."""
    rows = {}
    for e in world.entities.live().tolist():
        managers = (world.place, world.mood, world.part, world.slot)
        at, mood, part, slot = (m.row(m.lookup(e)) for m in managers)
        rows[keys_of[e]] = (
            *(at.near_, keys_of.get(at.closest, 0), at.weight, at.total),
            *(at.cheered, at.hushed, mood.fear, mood.rest, mood.friends, part.far, part.spot),
            *(slot.other_k, keys_of.get(slot.whom, 0), keys_of.get(slot.next_, 0)),
        )
    return rows


def kernels(world: Any, refresh: Any) -> None:
    """Run all kernels, each on values that are the same everywhere."""
    world.place.ask(RADIUS)
    world.slot.peer()
    with np.errstate(over="ignore"):  # of words that are mixed, where Python runs compiled loops
        world.part.look()
    refresh()
    world.place.ask(RADIUS)
    refresh()
    world.herd()
    world.scare()
    world.cheer()
    world.gather()
    with np.errstate(over="ignore"):
        world.calm()
        world.hush()
    world.slots_()
    world.parts()
    world.part.drift()
    world.mingle()


@cache
def ranks(package: Any, size: int) -> tuple[dict[int, Any], int]:
    """Return what comes of it on some ranks, by key; and how many ghosts there were."""

    def rank(comm: ThreadComm) -> Any:
        world = package.Herd()
        # words wrap where Python runs compiled loops
        with np.errstate(over="ignore"), package.Shards(world, comm) as shards:
            if comm.rank == 0:
                begin(world)
            space = package.Blocks((0, 0), (SIZE, SIZE), comm.size, periodic=True)
            manager = world.place
            shards.migrate(manager.data.entity, space.owner(manager.data.at))
            rows, whom = space.borders(manager.data.at, RADIUS, comm.rank)
            shards.refresh(manager.data.entity[rows], whom)
            owners, keys = world.agent.nearby.entity, world.agent.nearby.key
            keys_of = dict(zip(owners.tolist(), keys.tolist(), strict=True))
            kernels(world, shards.refresh)
            return found(world, keys_of), manager.ghosts.n

    merged: dict[int, Any] = {}
    results = run(size, rank)
    for part, _ in results:
        merged |= part
    return merged, sum(n for _, n in results)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_neighbours_are_the_same_on_any_number_of_ranks(
    packages: dict[str, Any], backend: str
) -> None:
    alone, none = ranks(packages[backend], 1)
    assert (len(alone), none) == (COUNT, 0)
    columns = list(zip(*alone.values(), strict=True))
    assert all(len(set(column)) > 3 for column in columns)
    for size in (2, 3, 4):
        several, ghosts = ranks(packages[backend], size)
        assert ghosts > 50
        assert several == alone


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("size", [1, 3])
def test_inactive_rows_are_no_neighbours(packages: dict[str, Any], backend: str, size: int) -> None:
    """Of a query of them with a component whose space is asked."""
    by_key, _ = ranks(packages[backend], size)
    at = np.random.default_rng(5).random((COUNT, 2)) * SIZE  # of the keys from 1 on, as in `begin`
    apart = at[None] - at[:, None]
    apart[..., 0] -= SIZE * np.rint(apart[..., 0] / SIZE)
    near = (apart**2).sum(-1) <= RADIUS**2
    np.fill_diagonal(near, val=False)
    near[:, ::3] = False
    for k, others in enumerate(near):
        cheered, hushed = by_key[k + 1][4:6]
        total = int((others.nonzero()[0] + 1).sum())
        assert (cheered, hushed, by_key[k + 1][8]) == (others.sum(), total, total)


def test_both_backends_find_the_same(packages: dict[str, Any]) -> None:
    first, other = (ranks(package, 2) for package in packages.values())
    assert first == other


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_without_ghosts_nobody_is_near_beyond_the_border(
    packages: dict[str, Any], backend: str
) -> None:
    package = packages[backend]

    def rank(comm: ThreadComm) -> tuple[Any, ...]:
        world = package.Herd()
        with package.Shards(world, comm) as shards:
            values = {"at": (comm.rank, 5), "on": True}
            e = world.spawn(1, place=values, agent={}, mood={}, part={}, slot={})
            shards.refresh(e, 1 - comm.rank)
            world.place.ask(RADIUS)
            seen = world.place.near_(0), world.place.near([[0, 5]], RADIUS).rows.tolist()
            world.place.create(world.entities.create())
            world.place.ask(RADIUS)  # the change has dropped the ghosts
            return *seen, world.place.near_(0), world.place.ghosts.n

    assert run(2, rank) == [(1, [0], 0, 0)] * 2


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_ghosts_get_no_messages(packages: dict[str, Any], backend: str) -> None:
    def rank(comm: ThreadComm) -> tuple[Any, ...]:
        world = packages[backend].Herd()
        with packages[backend].Shards(world, comm) as shards:
            values = {"at": (comm.rank, 5)}
            e = world.spawn(1, place=values, agent={}, mood={}, part={}, slot={})
            shards.refresh(e, 1 - comm.rank)
            world.greet()
            world.shove()
            return world.place.nearby.weight.tolist(), world.place.nearby.on.tolist()

    assert run(2, rank) == [([0, 0], [False, False])] * 2


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_ghosts_do_not_die_in_turns(packages: dict[str, Any], backend: str) -> None:
    def rank(comm: ThreadComm) -> list[int]:
        world = packages[backend].Herd()
        with packages[backend].Shards(world, comm) as shards:
            values = {"at": [(comm.rank, 5), (comm.rank, 6)]}
            es = world.spawn(2, place=values, agent={}, mood={}, part={}, slot={})
            shards.refresh(es, 1 - comm.rank)
            world.cull()
            world.collect()
            return list(world.place.data.weight.tolist())

    assert run(2, rank) == [[3], [3]]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_the_dead_are_nobody_of_everybody(packages: dict[str, Any], backend: str) -> None:
    world = packages[backend].Herd()
    world.spawn(4, place={}, agent={}, mood={}, part={}, slot={})
    world.cull_all()
    world.collect()
    assert world.place.data.weight.tolist() == [1]  # the last met only the third, and destroyed it


def refreshed(package: Any, comm: ThreadComm, reach: float) -> Any:
    """Return shards that are checked, with ghosts that reach so far."""
    shards = package.Shards(package.Herd(), comm, check=True)
    world = shards.world
    if comm.rank == 0:
        begin(world)
    space = package.Blocks((0, 0), (SIZE, SIZE), comm.size, periodic=True)
    at = world.place.data
    shards.migrate(at.entity, space.owner(at.at))
    rows, ranks = space.borders(world.place.data.at, reach, comm.rank)
    shards.refresh(world.place.data.entity[rows], ranks)
    return shards


@pytest.mark.parametrize("kernel", ["ask", "herd"])
@pytest.mark.parametrize("after", ["refresh", "migrate", "end", "save"])
def test_too_narrow_ghosts_are_found(
    packages: dict[str, Any], kernel: str, after: str, tmp_path: Path
) -> None:
    package = packages["numpy"]

    def rank(comm: ThreadComm, reach: float) -> None:
        with refreshed(package, comm, reach) as shards:
            world = shards.world
            if kernel == "ask":
                world.place.ask(RADIUS)
            else:
                world.herd()
            if after == "save":
                shards.save(tmp_path)
            elif after != "end":
                getattr(shards, after)()

    run(2, lambda comm: rank(comm, RADIUS))
    with pytest.raises(package.ShardError, match=r"of rank \d is within 2.5 of .* no ghost here"):
        run(2, lambda comm: rank(comm, 0.9 * RADIUS))


@on_ranks(2)
def test_ghosts_of_yesterday_are_found(comm: ThreadComm, packages: dict[str, Any]) -> None:
    package = packages["numpy"]
    world = refreshed(package, comm, RADIUS).world
    world.place.data.at += 1
    with pytest.raises(package.ShardError, match="moved rows since the last refresh"):
        world.herd()
    world.place.create(world.entities.create())
    for call in (world.herd, lambda: world.place.ask(RADIUS)):
        with pytest.raises(package.ShardError, match="no ghosts since its rows changed"):
            call()


KERNELS_SCHEMA = """
world: Chase
shards: {}
groups: {runners: [Place, Purse]}
kernels:
  look: {over: Place, steps: ["Place.goal = Place.target.Place.at + Place.cell.k"]}
  give: {over: runners, steps: ["Place.target.Purse.coins += 2 if exists(Place.target) else 0"]}
  pass_on:
    over: runners
    turns: rows
    steps: ["Place.target.Purse.coins += Purse.coins"]
  call: {over: Hut, steps: ["Hut.guest.Purse.calls += 1"]}
  seek: {over: runners, turns: rows, steps: ["Purse.found = Place.hut.seats + Place.cell.k"]}
---
component: Place
fields: {spot: "f32[2]", at: f32, goal: f32, target: entity, cell: "id<Cell>", hut: "id<Hut>"}
space: {field: spot}
---
component: Purse
fields: {coins: i64, found: f32, calls: u8}
---
component: Cell
fields: {k: f32}
lookup: direct
ids: true
---
component: Hut
fields: {seats: i32, guest: entity}
lookup: hash
ids: true
"""


@pytest.fixture(scope="module", params=["numpy", "numba"])
def package(request: pytest.FixtureRequest) -> Any:
    """The package of a backend; numba would compile for 20 s, so its loops are Python."""
    backend: Backend = request.param
    with uncompiled():
        return world_package(KERNELS_SCHEMA, f"sharded_chase_{backend}", backend)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Make numbers of 64 bits wrap, as they do where they are compiled."""
    with np.errstate(over="ignore"):
        yield


def met(package: Any) -> tuple[Any, Any, Any, Any]:
    """Return a world with 40 natives and the 40 visitors whom they know, and the other world."""
    here, there = package.Chase(0), package.Chase(1)
    away = there.spawn(40, place={"at": range(40)}, purse={}, cell={"k": 100}, hut={"seats": 3})
    cells = there.cell.id_of_many(range(40))
    huts = there.hut.id_of_many(there.hut.lookup_many(away))
    here.spawn(7, place={}, cell={}, purse={}, hut={})
    here.absorb(there.extract(away))
    values = {"target": away, "cell": cells, "hut": huts}
    natives = here.spawn(40, place=values, purse={"coins": 5}, cell={}, hut={"guest": away})
    here.hut.data.guest[here.hut.lookup_many(away)] = natives
    return here, there, natives, away


def test_references_lead_to_visitors(package: Any) -> None:
    here, there, natives, away = met(package)
    rows = here.place.lookup_many(natives)
    here.look()
    assert here.place.data.goal[rows].tolist() == [100.0 + k for k in range(40)]
    here.seek()
    assert here.purse.data.found[here.purse.lookup_many(natives)].tolist() == [103.0] * 40
    assert len(here.place.near([[0.0, 0.0]], 1.0).rows) == 87
    there.absorb(here.extract(away))
    here.look()
    here.seek()
    assert not here.place.data.goal[here.place.lookup_many(natives)].any()
    assert not here.purse.data.found.any()


def test_messages_reach_visitors_and_come_from_them(package: Any) -> None:
    here, _, natives, away = met(package)
    coins = here.purse.data.coins
    here.give()
    assert coins[here.purse.lookup_many(away)].tolist() == [2] * 40
    here.pass_on()
    assert coins[here.purse.lookup_many(away)].tolist() == [7] * 40
    here.call()
    calls = here.purse.data.calls
    assert calls[here.purse.lookup_many([*natives.tolist(), *away.tolist()])].tolist() == [1] * 80
    dead = away[:5].copy()
    here.destroy_many(dead)  # from whom no one hears
    here.call()
    rows = here.purse.lookup_many(natives)
    assert here.purse.data.calls[rows].tolist() == [1] * 5 + [2] * 35
    assert len(here.entities) == 82
    assert np.isin(natives, here.entities.live()).all()


NAME = "shards_ghosts"
GHOSTS_SCHEMA = """
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

ghosts_package: Any = world_package(GHOSTS_SCHEMA, NAME)


def begun(comm: ThreadComm, n: int) -> tuple[Any, Any]:
    shards = ghosts_package.Shards(ghosts_package.Moor(), comm)
    keys = range(100 * comm.rank, 100 * comm.rank + n)
    return shards, shards.world.spawn(n, track={"k": keys}, mark={"k": keys})


@on_ranks(2)
def test_a_full_ring_has_ghosts(comm: ThreadComm) -> None:
    shards, es = begun(comm, 64)
    w = shards.world
    shards.refresh(es, 1 - comm.rank)
    first = 100 * (1 - comm.rank)
    for manager in (w.track, w.mark):
        assert manager.ghosts.k.tolist() == [*range(first, first + 64)]
    new = w.spawn(1, track={"k": 7}, mark={})
    assert (len(w.track), w.track.has(new[0]), w.track.ghosts.n) == (64, True, 0)


@on_ranks(2)
def test_ghosts_beyond_the_reserve(comm: ThreadComm) -> None:
    shards, es = begun(comm, 64)
    shards.world.mark.create_many(shards.world.entities.create_many(90))
    with pytest.raises(ghosts_package.CapacityError, match="MarkManager"):
        shards.refresh(es, 1 - comm.rank)


@on_ranks(2)
def test_pages_that_are_given_back_have_no_ghosts(comm: ThreadComm) -> None:
    shards, es = begun(comm, 5)
    mark = shards.world.mark
    shards.refresh(es, 1 - comm.rank)
    mark.shrink_to_fit()
    assert (mark.ghosts.n, mark.ghosts.k.tolist()) == (0, [])
    shards.refresh()
    assert mark.ghosts.n == 5
