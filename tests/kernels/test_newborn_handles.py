"""`kid = spawn(…)`: rows get the handles of who will come, which are those that one `create_many`
before the kernel would give, on both backends."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError, DuplicateValueError, StructureLockedError

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

BEAR = """
    steps:
      - kid = spawn(Node(age=Node.age * 10, mate=self), Seat(of=self), where=Node.age > 1)
      - Node.kid = kid
      - Node.mate.Node.mate = kid
      - Node.is_there = exists(kid) or kid.Node.age != 0
      - add(kid, Leaf(of=kid))
      - add(kid, Leaf(of=self))
      - remove(kid, Seat)
      - destroy(kid)
      - die(where=Node.age % 5 == 3)
"""
BRANCH = """
    steps: |
      if Node.age % 2 == 0:
          who = spawn(Node(age=-1))
      else:
          who = Node.mate
      for i in range(Node.age % 4):
          edge = spawn(Edge(a=self, b=who, number=Node.age * 10 + i))
          bead = spawn(Bead(worth=i, holder=edge))
          spawn(Bead(worth=-i, after=bead))
          who = edge
      Node.kid = who
"""
SCHEMA = f"""\
component: Node
fields: {{age: i64, mate: entity, kid: entity, bead: id<Bead>, is_there: bool}}
---
component: Edge
lookup: hash
fields: {{a: entity, b: entity, number: {{type: i64, default: -1, unique: true}}}}
---
component: Leaf
instances: many
ids: true
fields: {{of: entity}}
---
component: Seat
lookup: direct
destroy: callback
fields: {{of: entity}}
---
component: Bead
owner: none
fields: {{worth: i64, after: id<Bead>, holder: entity}}
---
component: Cup
owner: none
growth: {{reserve: 64}}
fields: {{of: id<Bead>, by: entity}}
---
component: Patch
grid: {{shape: [4, 4]}}
fields: {{x: f32}}
---
component: Guest
on: {{field: cell, capacity: 1}}
fields: {{cell: id<Patch>, friend: entity}}
---
world: Garden
kernels:
  bear_at_once:
    over: Node{BEAR}
  bear_in_turns:
    over: Node
    turns: rows{BEAR}
  branch_at_once:
    over: Node{BRANCH}
  branch_in_turns:
    over: Node
    turns: rows{BRANCH}
  string:
    over: Bead
    steps: |
      last = self
      for i in range(Bead.worth):
          last = spawn(Bead(after=last))
      Bead.after = last
      die(where=Bead.worth == 2)
  fill:
    over: Node
    steps:
      - Node.kid = 0
      - bead = spawn(Bead(worth=Node.age))
      - cup = spawn(Cup(of=bead))
      - Node.bead = bead
      - destroy(cup)
      - destroy(Node.mate)
  sit:
    over: Guest
    turns: rows
    steps:
      - guest = spawn(Guest(cell=Guest.friend.Guest.cell))
      - destroy(Guest.friend, where=Guest.friend != 0)
      - guest = spawn(Guest(cell=cell_at(Patch, coords(Guest.cell) + 1)), where=Guest.friend != 0)
      - Guest.friend = guest
"""
FREED = 3000
"""Freed indices: so many that some are reused at once."""
HOW = "at_once", "in_turns"


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    """60 nodes, and some dead with rows."""
    backend: Backend = request.param
    world = world_package(SCHEMA, f"newborn_handles_{backend}", backend).Garden()
    world.entities.destroy_many(world.entities.create_many(FREED))
    nodes = world.entities.create_many(60)
    world.node.create_many(nodes, age=np.arange(60) % 13, mate=np.roll(nodes, 7))
    world.leaf.create_many(nodes[::3])
    world.seat.create_many(nodes[::2])
    world.bead.create_many(12, worth=np.arange(12) % 4)
    world.bead.destroy_many([2, 5, 6])
    world.entities.destroy_many(nodes[3::11])
    return world


def rows_of(world: Any) -> Iterator[tuple[int, int, int]]:
    """Entity, age and mate of the rows that run."""
    data, alive = world.node.data, world.entities.alive
    mates = data.mate.tolist() if hasattr(data, "mate") else [0] * len(world.node)
    for row in zip(data.entity.tolist(), data.age.tolist(), mates, strict=True):
        if alive(row[0]):
            yield row


def never_live(world: Any, handles: Any, ids: Any = ()) -> None:
    """Check that no later entity or bead has one of these handles."""
    assert len(handles) + len(ids) > 2
    for _ in range(3):
        created = world.entities.create_many(FREED * 2)
        assert not {*created.tolist()} & {*handles}
        world.entities.destroy_many(created)
        beads = world.bead.create_many(100)
        assert not {*beads.tolist()} & {*ids}
        world.bead.destroy_many(world.bead.resolve_many(beads))
    assert len(world.entities) == len(world.entities.live())
    pickle.loads(pickle.dumps(world))


@pytest.mark.parametrize("how", HOW)
def test_handles_are_those_of_entities_created_before_the_dead_go(world: Any, how: str) -> None:
    bearing = [(e, age) for e, age, _ in rows_of(world) if age > 1]
    kids = deepcopy(world.entities).create_many(len(bearing)).tolist()
    assert any(kid >> 33 for kid in kids)  # some indices are reused
    kid_of = {e: kid for (e, _), kid in zip(bearing, kids, strict=True)}
    getattr(world, f"bear_{how}")()
    node, leaf = world.node.data, world.leaf.data
    assert node.entity.tolist()[-len(kids) :] == kids
    assert node.mate.tolist()[-len(kids) :] == [e for e, _ in bearing]
    assert node.age.tolist()[-len(kids) :] == [age * 10 for _, age in bearing]
    for e, kid, is_there in zip(node.entity, node.kid, node.is_there, strict=True):
        assert (kid, is_there) == (kid_of.get(int(e), 0), False)
    assert world.entities.alive_many(kids).all()
    gifts = list(zip(leaf.entity.tolist(), leaf.of.tolist(), strict=True))[-2 * len(kids) :]
    assert gifts == [(kid, of) for e, kid in kid_of.items() for of in (kid, e)]
    assert [world.seat.of(world.seat.lookup(kid)) for kid in kids] == [e for e, _ in bearing]
    assert len(world.entities) == len(world.entities.live())


@pytest.mark.parametrize("how", HOW)
def test_branches_and_loops_give_handles_as_they_come_to_them(world: Any, how: str) -> None:
    world.node.data.age[:] = np.arange(len(world.node))
    twin = deepcopy(world)
    entities = iter(twin.entities.create_many(300).tolist())
    ids = iter(twin.bead.create_many(500).tolist())
    kids, edges, beads = [], list[tuple[int, ...]](), list[tuple[int, ...]]()
    for e, age, mate in rows_of(world):
        who = next(entities) if age % 2 == 0 else mate
        for i in range(age % 4):
            edge = next(entities)
            edges.append((edge, e, who, age * 10 + i))
            beads.append((next(ids), i, 0, edge))
            beads.append((next(ids), -i, beads[-1][0], 0))
            who = edge
        kids.append(who)
    count = len(world.bead)
    getattr(world, f"branch_{how}")()
    alive = world.entities.alive_many(world.node.data.entity)
    assert world.node.data.kid[alive & (world.node.data.age >= 0)].tolist() == kids
    data = world.edge.data
    columns = (data.entity, data.a, data.b, data.number)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == edges
    data = world.bead.data
    columns = (world.bead.id_of_many(range(len(world.bead))), data.worth, data.after, data.holder)
    assert list(zip(*(column[count:].tolist() for column in columns), strict=True)) == beads


def test_rows_without_owner_have_their_ids(world: Any) -> None:
    bead = world.bead
    old, worths = bead.id_of_many(range(len(bead))).tolist(), bead.data.worth.tolist()
    ids, new, last_of = deepcopy(bead).create_many(sum(worths)).tolist(), list[Any](), {}
    for id_, worth in zip(old, worths, strict=True):
        last = id_
        for _ in range(worth):
            new.append((ids[len(new)], last))
            last = new[-1][0]
        last_of[id_] = last
    world.string()
    left = [id_ for id_, worth in zip(old, worths, strict=True) if worth != 2]
    after = dict(zip(bead.id_of_many(range(len(bead))).tolist(), bead.data.after, strict=True))
    assert after == {id_: last_of[id_] for id_ in left} | dict(new)
    assert [*after][len(left) :] == ids


def test_without_room_none_is_born_and_no_handle_lives(world: Any) -> None:
    world.cup.create_many(63)
    before = len(world.bead), len(world.entities)
    dying = {mate for _, _, mate in rows_of(world)} & {*world.entities.live().tolist()}
    with pytest.raises(CapacityError):
        world.fill()
    assert (len(world.bead), len(world.entities)) == (before[0], before[1] - len(dying))
    lost = world.node.data.bead[world.node.data.bead != 0].tolist()
    slots = {id_ & 0xFFFFFFFF for id_ in lost}
    assert slots <= {id_ & 0xFFFFFFFF for id_ in deepcopy(world.bead).create_many(100).tolist()}
    never_live(world, (), lost)
    world.cup.clear()
    cups = world.cup.create_many(64)
    assert len({*cups.tolist()}) == 64


@pytest.mark.parametrize("how", HOW)
def test_a_value_that_another_row_has_lets_none_be_born(world: Any, how: str) -> None:
    before = len(world.entities), len(world.bead), len(world.node)
    with pytest.raises(DuplicateValueError):
        getattr(world, f"branch_{how}")()
    assert (len(world.entities), len(world.bead), len(world.node)) == before
    alive = world.entities.live().tolist()
    never_live(world, {*world.node.data.kid.tolist()} - {0, *alive, *world.node.data.mate.tolist()})


def test_a_stopped_kernel_lets_no_handle_live(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    globals_ = type(world).bear_at_once.__globals__
    run, before = globals_["_bear_at_once_kernel"], len(world.entities)

    def stop(*arguments: Any) -> None:
        run(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setitem(globals_, "_bear_at_once_kernel", stop)
    with pytest.raises(KeyboardInterrupt):
        world.bear_at_once()
    assert len(world.entities) == before
    never_live(world, [kid for kid in world.node.data.kid.tolist() if kid])


def test_callbacks_of_the_dead_meet_no_newborn(world: Any) -> None:
    """Entities that these create have other handles; a cell that they take is full."""
    guests = world.entities.create_many(4)
    world.guest.create_many(guests, cell=2**32 + np.array([0, 2, 5, 7], np.uint64))
    world.guest.data.friend[:2] = guests[2:]
    created = list[int]()

    def tell(gone: Any) -> None:
        assert len(world.entities) == len(world.entities.live()) == count - len(gone)
        e = world.entities.create()
        world.guest.create(e, cell=2**32 + 5)
        created.append(e)

    count = len(world.entities)
    handles = deepcopy(world.entities).create_many(2).tolist()
    watch = world.entities.on_destroy(tell)
    world.sit()
    watch.cancel()
    assert world.guest.data.friend[:2].tolist() == handles
    assert created[0] not in handles
    assert world.entities.alive_many(handles).tolist() == [False, True]
    never_live(world, [handles[0], *guests[2:].tolist()])


def test_a_locked_world_refuses_and_without_spawns_no_version_moves(world: Any) -> None:
    versions = [manager.version for manager in world.all_managers()]
    with world.node.locked(), pytest.raises(StructureLockedError):
        world.bear_at_once()
    world.node.data.age[:] = 0
    world.bear_at_once()
    assert [manager.version for manager in world.all_managers()] == versions
    world.node.clear()
    world.branch_at_once()
    gc.collect()  # numba may have compiled while a frame held columns
    world.bead.reserve(2 * world.bead.capacity)  # nobody holds a view


SMALL = """\
component: Node
fields: {age: i64, kid: entity}
---
world: Garden
ENTITIES
kernels:
  bear:
    over: Node
    steps:
      - kid = spawn(Node(age=Node.age + 1), where=Node.age % 3 != 0)
      - Node.kid = kid
      - die(where=Node.age % 4 == 1)
"""


@pytest.mark.parametrize("entities", ["entity: {index_bits: 8, min_free: 3}", "shards: {}"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_where_rows_are_plain_and_until_no_index_is_left(backend: Backend, entities: str) -> None:
    name = f"newborn_small_{backend}_{entities[0]}"
    garden = world_package(SMALL.replace("ENTITIES", entities), name, backend).Garden
    world = garden(3) if entities == "shards: {}" else garden()
    world.entities.destroy_many(world.entities.create_many(30)[:13])
    nodes = world.entities.create_many(20)
    world.node.create_many(nodes, age=range(20))
    for number in range(6):
        bearing = [(e, age) for e, age, _ in rows_of(world) if age % 3]
        kids = deepcopy(world.entities).create_many(len(bearing)).tolist()
        kid_of = dict(zip((e for e, _ in bearing), kids, strict=True))
        world.bear()
        data = world.node.data
        for e, kid in zip(data.entity.tolist(), data.kid.tolist(), strict=True):
            assert kid == (kid_of.get(e, 0) if e not in kids else 0)
        assert data.entity.tolist()[-len(kids) :] == kids
        assert len(world.entities) == len(world.entities.live())
        data.age[:] = np.arange(len(world.node)) + number
    if entities == "shards: {}":
        return
    data.age[:] = 2
    while world.entities.n_left >= len(world.node):
        world.bear()
        data.age[:] = 2
    count = len(world.node)
    with pytest.raises(CapacityError):
        world.bear()
    kids = data.kid[data.kid != 0].tolist()
    assert 0 < len({*kids}) == len(kids) < len(world.node) == count
    world.entities.destroy_many(data.entity)
    assert not {*kids} & {*world.entities.create_many(world.entities.n_left).tolist()}
