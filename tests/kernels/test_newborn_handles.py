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
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import world_package

KEYS = {
    "component: Cup\nowner: none\n": "growth: {reserve: 64}\n",
    "number: {type: i64, ": "unique: true, ",
}
"""Where there may be no room, and values that another row has."""
SCHEMA = TOPICS["births"]
for place, key in KEYS.items():
    SCHEMA = SCHEMA.replace(place, place + key)
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
