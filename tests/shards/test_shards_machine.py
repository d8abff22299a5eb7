"""Worlds of several ranks are the same as one world, whatever happens; and where a tenth of all
entities goes somewhere else, again and again, nothing is lost or doubled, and references hold.
ECSGEN_MIGRATIONS=1000 takes half a minute.
"""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.sharded_package import Isles, package
from tests.support.soak import examples
from tests.support.threaded_ranks import ThreadComm, run

NIL = 0xFFFF_FFFF
ONES = ("place", "agent", "rare", "cell", "slot", "branch", "limb", "badge", "tag")
LISTS = ("guest", "visit", "twig")
TREES = ("branch", "limb")
KEYS = {"agent": "key", "badge": "number"}


class Entity:
    """An entity's expected components, and the world that it is expected in."""

    def __init__(self, world: int) -> None:
        self.world = world
        self.ones: dict[str, Any] = {}
        self.lists: dict[str, list[tuple[int, bool]]] = {}
        self.parents: dict[str, int] = {}
        self.ranks: dict[str, int] = {}
        self.ids: dict[str, Any] = {}


class Machine(RuleBasedStateMachine):
    """Each rule concerns entities by the numbers in which they were made."""

    @initialize()
    def begin(self) -> None:
        self.worlds = [Isles(number) for number in (3, 0, 7)]
        self.model: dict[int, Entity] = {}
        self.sparks: dict[int, tuple[int, int, bool]] = {}
        self.ever: list[int] = []
        self.count = 0

    def some(self, data: Any, world: int | None = None) -> list[int]:
        known = [e for e, it in self.model.items() if world in (None, it.world)]
        if not known:
            return []
        chosen: list[int] = data.draw(st.lists(st.sampled_from(known), unique=True, max_size=6))
        return chosen

    @rule(world=st.integers(0, 2), n=st.integers(1, 4), has=st.sets(st.sampled_from(ONES)))
    def spawn(self, world: int, n: int, has: set[str]) -> None:
        w = self.worlds[world]
        numbers = range(self.count, self.count + n)
        self.count += n
        fields: dict[str, Any] = {}
        for name in has:
            fields[name] = {} if name in ("tag", "place") else {KEYS.get(name, "k"): numbers}
        if "place" in has:
            fields["place"] = {"at": [(k, -k) for k in numbers], "speed": [(k, 1) for k in numbers]}
        if "badge" in has:
            fields["badge"]["label"] = [f"b{k}" for k in numbers]
        if "rare" in has:
            fields["rare"]["thing"] = [[k] for k in numbers]
        for k, e in zip(numbers, w.spawn(n, **fields).tolist(), strict=True):
            assert e not in self.ever
            self.ever.append(e)
            self.model[e] = it = Entity(world)
            it.ones = dict.fromkeys(has, k)
            for name in has & {"agent", "cell", "branch"}:
                manager = getattr(w, name)
                it.ids[name] = manager.id_of(manager.lookup(e))

    @rule(data=st.data(), name=st.sampled_from(LISTS), active=st.booleans())
    def add(self, data: Any, name: str, active: bool) -> None:
        for e in self.some(data):
            it = self.model[e]
            manager = getattr(self.worlds[it.world], name)
            row = manager.create(e, k=self.count)
            if hasattr(manager, "activate") and manager.is_active(row) != active:
                row = manager.activate(row) if active else manager.deactivate(row)
            it.lists.setdefault(name, []).append((self.count, active))
            self.count += 1

    @rule(data=st.data())
    def heat(self, data: Any) -> None:
        for e in self.some(data):
            it = self.model[e]
            if "branch" in it.ones:
                m = self.worlds[it.world].branch
                m.set_heat(m.lookup(e), 7)
                m.set_note(m.lookup(e), ["note"])
                it.ids["heat"] = 7
            if "hot" not in it.ids:
                self.worlds[it.world].archetypes.add(e, package.Hot, heat=2.0, thing=(e,))
                it.ids["hot"] = e
            elif "cool" not in it.ids:
                self.worlds[it.world].archetypes.add(e, package.Cool, chill=(1, 2, 3))
                it.ids["cool"] = e

    @rule(data=st.data(), name=st.sampled_from(TREES))
    def attach(self, data: Any, name: str) -> None:
        for e in self.some(data):
            it = self.model[e]
            near = [o for o, other in self.model.items() if other.world == it.world]
            above = data.draw(st.sampled_from(near))
            if name not in it.ones or name not in self.model[above].ones:
                continue
            if above == e or e in self.ancestors(name, above):
                continue
            m = getattr(self.worlds[it.world], name)
            m.set_parent(m.lookup(e), m.lookup(above))
            if it.parents.get(name) != above:
                it.parents[name] = above
                it.ranks[name] = self.count = self.count + 1

    def ancestors(self, name: str, e: int) -> list[int]:
        rows_above = []
        while (above := self.model[e].parents.get(name)) is not None:
            rows_above.append(above)
            e = above
        return rows_above

    def piece(self, es: list[int]) -> list[int]:
        """Return entities with all below them, but none whose parent stays."""
        entities = {*es}
        while True:
            more = {e for e, it in self.model.items() if entities.intersection(it.parents.values())}
            if more <= entities:
                break
            entities |= more
        return [*entities]

    @rule(data=st.data(), world=st.integers(0, 2), goal=st.integers(0, 2))
    def move(self, data: Any, world: int, goal: int) -> None:
        es = self.some(data, world)
        moving = self.piece(es)
        source = self.worlds[world]
        sparks = [i for i, (where, _, _) in self.sparks.items() if where == world][::2]
        if any(above not in moving for e in moving for above in self.model[e].parents.values()):
            before = pickle.dumps(source)
            try:
                source.extract(es, loose=sparks)
            except package.HierarchyError:
                assert pickle.dumps(source) == before
                return
            raise AssertionError("a parent stayed behind")
        parcel = source.extract(es, loose=sparks)
        assert sorted(parcel.entities.tolist()) == sorted(moving)
        assert parcel.entities.tolist()[: len(es)] == es
        parcel = pickle.loads(pickle.dumps(parcel, protocol=data.draw(st.sampled_from([4, 5]))))
        assert self.worlds[goal].absorb(parcel).tolist() == parcel.entities.tolist()
        for e in moving:
            self.model[e].world = goal
        for spark in sparks:
            self.sparks[spark] = (goal, *self.sparks[spark][1:])

    @rule(data=st.data())
    def destroy(self, data: Any) -> None:
        for e in self.some(data):
            if e not in self.model:
                continue
            w = self.worlds[self.model[e].world]
            w.destroy(e)
            w.collect()
            self.kill(e)

    def kill(self, e: int) -> None:
        """Forget an entity, with rows below its branch and entities below its limb."""
        dying, falling = [e], []
        while dying:
            dead = dying.pop()
            if dead not in self.model:
                continue
            for other, it in [*self.model.items()]:
                if it.parents.get("limb") == dead:
                    dying.append(other)
                if it.parents.get("branch") == dead:
                    falling.append(other)
            del self.model[dead]
        while falling:
            lost = falling.pop()
            if lost not in self.model or "branch" not in self.model[lost].ones:
                continue
            it = self.model[lost]
            del it.ones["branch"]
            it.parents.pop("branch", None)
            it.ids.pop("branch", None)
            it.ids.pop("heat", None)
            falling += [o for o, other in self.model.items() if other.parents.get("branch") == lost]

    @rule(world=st.integers(0, 2), n=st.integers(1, 3), active=st.booleans())
    def spark(self, world: int, n: int, active: bool) -> None:
        m = self.worlds[world].loose
        ids = m.create_many(n, k=range(self.count, self.count + n))
        if active:
            m.activate_many(m.resolve_many(ids))
        for k, spark in enumerate(ids.tolist(), self.count):
            assert spark not in self.sparks
            self.sparks[spark] = (world, k, active)
        self.count += n

    @rule(world=st.integers(0, 2), seed=st.integers(0, 99))
    def sort(self, world: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for name in ("rare", "visit", "branch"):
            m = getattr(self.worlds[world], name)
            m.sort(rng.permutation(len(m)))

    @rule(world=st.integers(0, 2), how=st.booleans())
    def copy(self, world: int, how: bool) -> None:
        w = self.worlds[world]
        codecs = {"*": (pickle.dumps, pickle.loads)}
        if how:
            self.worlds[world] = pickle.loads(pickle.dumps(w))
        else:
            self.worlds[world] = Isles.load(w.to_bytes(codecs=codecs), codecs=codecs)

    @invariant()
    def all_is_where_it_should_be(self) -> None:
        if not hasattr(self, "worlds"):
            return
        for number, w in enumerate(self.worlds):
            here = [e for e, it in self.model.items() if it.world == number]
            assert sorted(w.entities.live().tolist()) == sorted(here)
            assert len(w.entities) == len(here)
            assert w.entities.alive_many(self.ever).tolist() == [e in here for e in self.ever]
            both = [e for e in here if {"place", "agent"} <= {*self.model[e].ones}]
            assert w.movers.n == len(both)
            assert sorted(w.both.rows().entity.tolist()) == sorted(
                e for e in here if "place" in self.model[e].ones
            )
            for e in here:
                self.check_entity(w, e, self.model[e])
        for spark, (number, k, active) in self.sparks.items():
            rows = [w.loose.resolve(spark) for w in self.worlds]
            assert [row != NIL for row in rows] == [n == number for n in range(3)]
            m = self.worlds[number].loose
            assert (m.k(rows[number]), m.is_active(rows[number])) == (k, active)

    def check_entity(self, w: Any, e: int, it: Entity) -> None:
        for name in ONES:
            m = getattr(w, name)
            row = m.lookup(e)
            assert (row != NIL) == (name in it.ones), name
            assert m.lookup_many(np.array([e] * 20, np.uint64)).tolist() == [row] * 20
            if row == NIL:
                continue
            if name == "place":
                k = it.ones[name]
                assert m.row(row)[:2] == ((k, -k), (k, 1))
            elif name != "tag":
                assert getattr(m, KEYS.get(name, "k"))(row) == it.ones[name]
            if name in it.ids:
                assert m.id_of(row) == it.ids[name]
                assert m.resolve(it.ids[name]) == m.resolve_many([it.ids[name]])[0] == row
            if name in TREES:
                above = it.parents.get(name)
                assert m.parent(row) == (NIL if above is None else m.lookup(above))
                below = [o for o, other in self.model.items() if other.parents.get(name) == e]
                below.sort(key=lambda o: self.model[o].ranks[name])
                assert m.data.entity[m.children(row)].tolist() == below
        if "rare" in it.ones:
            assert w.rare.thing(w.rare.lookup(e)) == [it.ones["rare"]]
        if "branch" in it.ones:
            row = w.branch.lookup(e)
            note = ["note"] if "heat" in it.ids else None
            assert (w.branch.heat(row), w.branch.note(row)) == (it.ids.get("heat", 0), note)
        if "badge" in it.ones:
            assert w.badge.find_label(f"b{it.ones['badge']}") == w.badge.lookup(e)
        for name in LISTS:
            m = getattr(w, name)
            rows = [*m.instances(e)]
            assert [m.k(row) for row in rows] == [k for k, _ in it.lists.get(name, [])]
            if hasattr(m, "is_active"):
                assert [m.is_active(r) for r in rows] == [a for _, a in it.lists.get(name, [])]
        hot = w.archetypes.has(e, package.Hot)
        assert hot == ("hot" in it.ids)
        if hot:
            assert w.archetypes.get(e, package.Hot) == (2.0, (it.ids["hot"],))
        assert w.archetypes.has(e, package.Cool) == ("cool" in it.ids)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(30), stateful_step_count=30)


MIGRATIONS = int(os.environ.get("ECSGEN_MIGRATIONS", "20"))
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
            moving = rng.choice(live, len(live) // 10, replace=False)
            shards.migrate(moving, rng.integers(RANKS, size=len(moving)))
            if tick % 10 == 0:
                check(w)
            assert shards.count(len(w.entities)) == RANKS * COUNT
            assert shards.sum(w.agent.data.key) == sum(range(RANKS * COUNT))
        check(w)
        shards.migrate(w.entities.live(), 0)
        return first, check(w)

    results = run(RANKS, rank)
    created = [e for first, _ in results for e in first]
    keys = results[0][1]
    assert [len(entities) for _, entities in results] == [RANKS * COUNT, 0, 0]
    assert [keys[e] for e in created] == [*range(RANKS * COUNT)]
