"""growth: {reserve: N}: nothing moves, memory follows use, row N + 1 is an error and no change."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError
from ecsgen_runtime.managers.policies.growth import give_back, reserve_pages, untouched_objects
from ecsgen_runtime.tables.buffers import Column
from ecsgen_testing.subject import refuses

from tests.support.state_machines import machine_of, package_with_tests, run_machine
from tests.support.world_package import world_package

ROWS = 128
FIELDS = "{mass: {type: f32, default: 1.0}, place: 'f32[3]', name: {type: 'str[8]', tags: [cold]}}"
POLICIES = {
    "Sparse": "",
    "Hash": "lookup: hash",
    "Many": "instances: many\ndestroy: manual",
    "Callback": "destroy: callback",
    "Ids": "ids: true",
    "Parted": "partition: {start: inactive}\nids: true",
    "Direct": "lookup: direct",
    "DirectIds": "lookup: direct\nids: true",
}
SCHEMA = "---\n".join(
    f"component: {name}\nfields: {FIELDS}\n{policy}\ngrowth: {{reserve: {ROWS - 3}}}\n"
    for name, policy in POLICIES.items()
)
BIG = 1 << 22
LARGE = f"""
component: Large
fields: {{a: f64, b: 'f32[3]', c: object}}
growth: {{reserve: {BIG}}}
---
component: Holes
fields: {{a: f64}}
lookup: direct
ids: true
growth: {{reserve: {BIG}}}
---
component: Pool
owner: none
fields: {{a: f64}}
growth: {{reserve: {BIG}}}
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="pages are given back on Linux alone")


@pytest.fixture(scope="module")
def package() -> Any:
    return package_with_tests(SCHEMA, "reserved_policies")


@pytest.fixture(scope="module")
def large() -> Any:
    return world_package(LARGE, "reserved_large")


def resident() -> int:
    """Return the bytes of memory that the process really has."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def full(world: Any, name: str) -> Any:
    """Return a manager of which every row is in use."""
    manager = getattr(world, name)
    if len(manager) < ROWS:
        entities = world.entities.create_many(ROWS)
        manager.create_many(entities, mass=np.arange(ROWS), name="x")
    return manager


def picture(manager: Any) -> tuple[object, ...]:
    data = manager.data
    columns = (data.entity, data.mass, data.place, data.name)
    return (manager.version, data.n, *(column.tobytes() for column in columns))


def check_refused(world: Any, manager: Any, message: str, *attempts: Callable[[], object]) -> None:
    """Check that there is no room for what is tried, and that nothing changes."""
    before, alive = picture(manager), len(world.entities)
    for attempt in attempts:
        refuses(MemoryError, message, attempt)
        assert picture(manager) == before
        assert len(world.entities) == alive


@pytest.mark.parametrize("name", ["sparse", "hash", "many", "callback", "ids", "parted"])
def test_one_row_too_many_changes_nothing(package: Any, name: str) -> None:
    world = package.World()
    manager = full(world, name)
    late = world.entities.create_many(3)
    check_refused(
        world,
        manager,
        "128 rows are all that is reserved",
        lambda: manager.create(int(late[0]), mass=9.0),
        lambda: manager.ensure(int(late[0])),
        lambda: manager.create_many(late, mass=9.0),
        lambda: world.spawn(2, **{name: {}}),
        lambda: manager.reserve(ROWS + 1),
    )
    manager.reserve(ROWS)
    manager.destroy(5)
    manager.create(int(late[0]), mass=9.0)
    assert len(manager) == ROWS == manager.capacity


@pytest.mark.parametrize("name", ["direct", "direct_ids"])
def test_an_index_behind_the_reserve_changes_nothing(package: Any, name: str) -> None:
    world = package.World()
    manager = getattr(world, name)
    entities = world.entities.create_many(ROWS + 2)
    manager.create_many(entities[: ROWS // 2], mass=2.0)
    check_refused(
        world,
        manager,
        "reserved",
        lambda: manager.create(int(entities[ROWS])),
        lambda: manager.create_many(entities[ROWS - 2 :]),
        lambda: world.spawn(1, **{name: {}}),
    )
    manager.create(int(entities[ROWS - 1]))
    assert manager.data.n == ROWS


@pytest.mark.parametrize("name", ["sparse", "many", "ids", "parted", "direct"])
def test_views_stay_good_and_nobody_warns(package: Any, name: str) -> None:
    world = package.World()
    manager = getattr(world, name)
    entities = world.entities.create_many(ROWS)
    manager.create(int(entities[0]), mass=3.0)
    view, buffer = manager.data.mass, manager.data.buffer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        manager.create_many(entities[1:], mass=4.0)
        manager.shrink_to_fit()
        manager.reserve(ROWS)
    assert manager.data.buffer is buffer
    view[0] = 5.0
    assert manager.data.mass[0] == 5.0
    assert np.shares_memory(view, manager.data.mass)


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", POLICIES)
def test_a_manager_does_as_the_model(package: Any, name: str) -> None:
    run_machine(machine_of(package, name.replace("DirectIds", "direct_ids").lower()))


@linux
def test_resident_memory_follows_use(large: Any) -> None:
    world = large.World()
    manager = world.large
    k = 200_000
    entities = world.entities.create_many(k)
    manager.create_many(entities[:1])
    before = resident()
    manager.create_many(entities[1:], a=np.arange(k - 1), c=1.5)
    row_bytes = sum(column.nbytes for column in manager.LAYOUT) + 8  # and a reference
    used = resident() - before
    assert 0.9 * k * row_bytes < used < 1.3 * k * row_bytes + 8e6
    assert manager.data.buffer.nbytes > 100e6

    manager.destroy_many(np.arange(100, k))
    manager.clear()
    held = resident()
    manager.shrink_to_fit()
    assert held - resident() > 0.95 * k * (row_bytes - 8)
    assert manager.capacity == BIG

    manager.create_many(entities[:10], a=7.0)
    assert manager.data.a.tolist() == [7.0] * 10
    assert manager.data.c.tolist() == [None] * 10


@linux
def test_pages_behind_the_last_row_are_given_back_and_others_kept(large: Any) -> None:
    world = large.World()
    manager = world.large
    k, remaining = 20_000, 5_000
    manager.create_many(world.entities.create_many(k), a=1.0, b=2.0)
    manager.destroy_many(np.arange(remaining, k))
    version = manager.version
    manager.shrink_to_fit()
    assert manager.version == version
    assert (manager.data.a == 1.0).all()
    assert (manager.data.b == 2.0).all()
    for column in manager.LAYOUT:
        start = column.offset(BIG) + column.nbytes * remaining
        behind = manager.data.buffer[start + 4096 : start + column.nbytes * (k - remaining)]
        assert not behind.any(), column.name


@linux
@pytest.mark.parametrize("name", ["large", "holes", "pool"])
def test_a_copy_has_the_rows_in_use_alone(large: Any, name: str) -> None:
    world = large.World()
    manager = getattr(world, name)
    who = 100 if name == "pool" else world.entities.create_many(100)
    manager.create_many(who, a=np.arange(100))
    before = resident()
    saved = pickle.dumps(world)
    assert len(saved) < 40_000
    loaded = getattr(pickle.loads(saved), name)
    copied = copy.deepcopy(manager)
    for other in (loaded, copied):
        assert other.data.a.tolist() == list(range(100))
        assert other.capacity == BIG
        other.data.a[0] = 5.0
    assert manager.data.a[0] == 0.0
    assert resident() - before < 4e6


def test_nbytes_counts_the_rows_in_use(large: Any) -> None:
    world = large.World()
    manager = world.large
    row_bytes = sum(column.nbytes for column in manager.LAYOUT) + 8
    empty = manager.nbytes
    assert empty < 1000
    manager.create_many(world.entities.create_many(50))
    assert manager.nbytes - empty == 50 * row_bytes
    manager.destroy_many(np.arange(50))
    assert manager.nbytes == empty


def test_ids_of_direct_rows_survive_a_smaller_buffer(large: Any) -> None:
    world = large.World()
    manager = world.holes
    entities = world.entities.create_many(5_000)
    ids = manager.id_of_many(manager.create_many(entities))
    manager.clear()
    manager.shrink_to_fit()
    manager.create_many(entities)
    assert (manager.resolve_many(ids) == 0xFFFF_FFFF).all()
    assert not set(ids.tolist()) & set(manager.id_of_many(np.arange(5_000)).tolist())


def test_the_whole_reserve_of_the_largest_manager_costs_nothing_at_once() -> None:
    largest = world_package(
        "component: Vast\nfields: {a: 'f64[16]'}\ngrowth: {reserve: 1000000000}\n", "reserved_vast"
    )
    if sys.platform == "linux":
        world = largest.World()
        world.vast.create(world.entities.create(), a=[3.0] * 16)
        assert world.vast.capacity == 1_000_000_000
        assert world.vast.data.a.tolist() == [[3.0] * 16]


def test_more_ids_than_rows_are_a_capacity_error(large: Any) -> None:
    world = large.World()
    for count in (BIG + 1, 1 << 40):
        refuses(CapacityError, "are all that is reserved", world.pool.create_many, count)
    assert (len(world.pool), world.pool.data.allocated) == (0, BIG)


def test_no_address_space_is_a_capacity_error() -> None:
    refuses(CapacityError, "4611686018427387904 rows of 8 bytes", reserve_pages, 8, 1 << 62)


def test_elsewhere_the_whole_is_an_ordinary_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    buffer = reserve_pages(16, 1 << 16)
    assert buffer.nbytes == 1 << 20
    buffer[:] = 1
    give_back(buffer, Column("a", np.dtype(np.float64), (), 8, (), 0), 1 << 16, 0)
    monkeypatch.undo()
    give_back(buffer, Column("a", np.dtype(np.float64), (), 8, (), 0), 1 << 16, 0)
    assert buffer.all()


@linux
@pytest.mark.parametrize("rows", [0, 1, 511, 512, 513, 1000, 65_535, 65_536])
def test_neighbours_of_a_column_keep_their_pages(rows: int) -> None:
    capacity = 1 << 16
    columns = [
        Column("a", np.dtype(np.uint8), (), 1, (), 0),
        Column("b", np.dtype(np.float64), (), 8, (), 1),
        Column("c", np.dtype(np.float32), (), 4, (), 9),
    ]
    buffer = reserve_pages(13, capacity)
    buffer[:] = 1
    give_back(buffer, columns[1], capacity, rows)
    first, middle, last = (
        buffer[column.offset(capacity) :][: column.nbytes * capacity] for column in columns
    )
    assert first.all()
    assert (last == 1).all()
    assert middle[: 8 * rows].all()
    assert not middle[-(-8 * rows // 4096) * 4096 : capacity * 8 // 4096 * 4096].any()


def test_untouched_objects_are_none_and_hold_references() -> None:
    cells = untouched_objects(1000)
    assert cells.shape == (1000,)
    assert all(cell is None for cell in cells.tolist())
    thing = object()
    references = sys.getrefcount(thing)
    cells[3:5] = thing
    cells[np.array([7])] = cells[np.array([3])]
    assert sys.getrefcount(thing) == references + 3
    del cells
    assert sys.getrefcount(thing) == references
