"""Cases of what managers do whatever their schemas are, tried on the committed package.

Mutants of the library meet these cases, too, behind the tests of the package that they break.
"""

from __future__ import annotations

import gc
import re
import warnings
import weakref
from random import Random
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.subject import COPIES, handles_with, raise_error, refuses, through_pickle

import generated as g
from generated import NIL, EntityManager
from tests.support.acceptance_package import manager_of
from tests.support.manager_state import fails, made, recreate, wear_out

OWNED = (
    g.ParticleManager,  # sparse
    g.PointMassManager,  # hash
    g.TransformManager,  # direct
    g.StatusEffectManager,  # sparse, many, ids
    g.SoundSourceManager,  # hash, many
    g.SceneNodeManager,  # hierarchy, callbacks
    g.VillagerManager,  # cold rows of their own
)
every = pytest.mark.parametrize("kind", OWNED)


@every
def test_which_rows_are_taken(kind: Any) -> None:
    _, m, es = made(kind, 40)
    before = m.version
    for row in (40, 63, 64, -1, NIL, 2**31, 2**63, 2**64, -(2**70)):
        for call in (m.row, m.entity, m.destroy):
            refuses(g.StaleInstanceError, call, row)
        refuses(g.StaleInstanceError, m.destroy_many, [0, row])
    for repeats in ([1, 1], [5, 1, 2, 5], [*range(40), 39], np.array([7, 7], np.uint8)):
        refuses(g.StaleInstanceError, "twice", m.destroy_many, repeats)
    for length in (0, 39, 41, 64):
        refuses(ValueError, "mask", m.destroy_many, np.ones(length, np.bool_))
    for wrong in (1.0, "1", None):
        refuses(TypeError, m.row, wrong)
        refuses(TypeError, m.destroy_many, [wrong])
    refuses(TypeError, m.destroy_many, np.array([0.5, 1.5]))
    refuses(ValueError, "dimension", m.destroy_many, [[0, 1]])
    m.destroy_many([])
    m.destroy_many(np.zeros(40, np.bool_))
    assert (len(m), m.version) == (40, before)
    m.destroy(np.uint16(1))
    m.destroy_many([row == 0 for row in range(m.data.n)])
    assert m.lookup_many(es[:2]).tolist() == [NIL, NIL]


@every
def test_numbers_that_are_no_entities_have_no_rows(kind: Any) -> None:
    entities, m, es = made(kind, 3)
    new = entities.create()
    odd = [new, 0, -1, 2**64 - 1, 2**64, 2**70, new + 1000, NIL]
    for each in (m, kind(entities)):
        assert [each.lookup(number) for number in odd] == [NIL] * len(odd)
        assert each.lookup_many(odd).tolist() == [NIL] * len(odd)
        assert each.has_many(odd).tolist() == [False] * len(odd)
        assert not any(number in each for number in (*odd, "text"))
        assert each.remove(new) == each.remove_many([new, 0]) == 0
    for wrong in (1.0, "1", None):
        for call in (m.lookup, m.entity, m.remove):
            refuses(TypeError, call, wrong)
    refuses(ValueError, "read-only", m.data.entity.fill, 0)
    assert (m.remove_many([es[1], es[2], es[1]]), m.remove_many(es)) == (2, 1)


@pytest.mark.parametrize("kind", [g.ParticleManager, g.SceneNodeManager, g.SparkManager])
def test_what_rows_are_ordered_by(kind: Any) -> None:
    m: Any = kind() if kind is g.SparkManager else made(kind, 6)[1]
    if kind is g.SparkManager:
        m.create_many(6)
    owner = m.id_of if kind is g.SparkManager else m.entity
    owners = [owner(row) for row in range(6)]
    for name in ("no_field", "entity", "n", "_n", "position", "local"):
        refuses(ValueError, kind.__name__, m.sort, name)
    for key in ([1.0, 2.0], [1.0] * 7, [[1.0] * 6]):
        refuses(ValueError, "key of shape", m.sort, key)
    for order in ([0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], [0, 1], [0, 1, 1, 3, 4, 5], [-1] * 6):
        refuses(ValueError, "permutation", m.reorder, order)
    m.sort([1.0, float("nan"), 0.0, 1.0, float("-inf"), 0.0])
    assert [owner(row) for row in range(6)] == [owners[k] for k in (4, 2, 5, 0, 3, 1)]


def test_orders_and_swaps_keep_to_their_side() -> None:
    m: Any = g.SparkManager()
    m.create_many(6)
    m.deactivate_many([3, 4, 5])
    ids = m.id_of_many(np.arange(6))
    m.sort([5, 4, 3, 2, 1, 0])
    m.reorder([1, 0, 2, 3, 5, 4])
    expected = ids[[1, 2, 0, 5, 3, 4]].tolist()
    assert list(m) == expected
    refuses(ValueError, "active", m.reorder, [0, 1, 3, 2, 4, 5])
    for row in (-1, 6, NIL):
        for call in (m.activate, m.deactivate, m.is_active):
            refuses(g.StaleInstanceError, call, row)
    for rows in ([0, 6], [1, 1]):
        for call in (m.activate_many, m.deactivate_many):
            refuses(g.StaleInstanceError, call, rows)
    assert (list(m), m.n_active) == (expected, 3)


def test_swaps_in_a_full_buffer() -> None:
    m: Any = g.SparkManager()
    ids = m.create_many(64).tolist()
    m.shrink_to_fit()
    m.deactivate_many(range(64))
    assert m.activate(9) == 0
    ids[0], ids[9] = ids[9], ids[0]
    assert list(m) == ids
    entities, m = manager_of("Everything")
    first, second = entities.create_many(2).tolist()
    m.create_many([first, second] * 32)
    m.shrink_to_fit()
    assert m.activate(9) == 0
    assert list(m.instances(first)) == [9, *range(2, 64, 2)]
    assert list(m.instances(second)) == [1, 3, 5, 7, 0, *range(11, 64, 2)]


def test_copies_collect_what_the_original_does() -> None:
    entities, m, es = made(g.ParticleManager, 200)
    entities.destroy_many(es[:120])
    m.gc()
    _, twin = through_pickle((entities, m))
    went = [m.gc() for _ in range(5)]
    assert 0 < sum(went) < 120
    assert [twin.gc() for _ in range(5)] == went


def test_growth_doubles_or_is_exact_beyond() -> None:
    entities, m, _ = made(g.ParticleManager)
    m.reserve(128)
    buffer = m.data.buffer
    m.reserve(128)
    assert m.data.buffer is buffer  # as large as it is, it does not move
    del buffer
    for is_single in (True, False):
        held = m.capacity
        m.create_many(entities.create_many(held - len(m)))
        assert m.capacity == held
        new = entities.create()
        m.create(new) if is_single else m.create_many([new])
        assert m.capacity == 2 * held
    _, m, _ = made(g.ParticleManager, 641)
    assert m.capacity == 704
    refuses(ValueError, "reserve", m.reserve, -1)
    for wrong in (1.0, "1", None):
        refuses(TypeError, m.reserve, wrong)
    refuses(g.CapacityError, m.reserve, 2**33)
    m.reserve(np.uint16(705))
    assert m.capacity == 768
    held = m.nbytes
    m.destroy_many(range(600))
    m.shrink_to_fit()
    assert (m.capacity, m.nbytes < held) == (64, True)


@pytest.mark.parametrize("kind", [g.ParticleManager, g.VillagerManager])
def test_held_views_warn_when_the_buffer_moves(kind: Any) -> None:
    """By the line that moves it; a warning that is an error moves nothing."""
    entities, m, _ = made(kind, 64)
    m.shrink_to_fit()
    es = entities.create_many(2000)
    calls: list[Any] = [lambda: m.reserve(1000), lambda: m.shrink_to_fit()]
    for call in (*calls, lambda: m.create(es[0]), lambda: m.create_many(es[1:100])):
        view, buffer = m.data.buffer[:1], m.data.buffer
        before = (m.version, m.capacity, list(m))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            refuses(g.StaleViewWarning, call)
        assert m.data.buffer is buffer
        assert (m.version, m.capacity, list(m)) == before
        with pytest.warns(g.StaleViewWarning, match=kind.__name__) as caught:
            call()
        (warning,) = caught
        code = call.__code__
        assert (warning.filename, warning.lineno) == (code.co_filename, code.co_firstlineno)
        assert len(view) == 1
        del view, buffer


def test_views_that_are_garbage_do_not_warn() -> None:
    _, m, _ = made(g.ParticleManager, 64)
    cycle: list[Any] = [m.data.life]
    cycle.append(cycle)
    gc.disable()
    try:
        del cycle
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            m.reserve(1000)
    finally:
        gc.enable()
    assert m.capacity >= 1000


def test_dropped_views_and_arguments_do_not_warn() -> None:
    entities, m, es = made(g.ParticleManager, 64, life=np.arange(64), position=np.ones((64, 2)))
    m.shrink_to_fit()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        columns = {"life": m.data.life[::-1], "position": m.data.position[::-1]}
        rows = m.create_many(entities.create_many(64), **columns)
        del columns
        m.reserve(1000)
        m.shrink_to_fit()
        for name in ("position", "velocity"):
            exec(f"proxy.{name} += 0", {"proxy": m[es[0]]})
        m.create_many(entities.create_many(200))
    assert m.data.life[rows].tolist() == [*range(64)][::-1]


def test_a_transposed_column_is_not_the_column() -> None:
    _, m, _ = made(g.ParticleManager, 2, position=[[1, 2], [3, 4]])
    m.data.position = m.data.position.T
    assert m.data.position.tolist() == [[1, 3], [2, 4]]


@every
def test_managers_go_without_the_cycle_collector(kind: Any) -> None:
    _, m, _ = made(kind, 100)
    is_there = weakref.ref(m)
    gc.disable()
    try:
        del m
        assert is_there() is None
    finally:
        gc.enable()


def test_field_names_meet_nothing_in_creations() -> None:
    entities, m = manager_of("Odd")
    first, other = entities.create_many(2).tolist()
    values = {"X": 2.0, "owner": 1, "place": 2, "found": 3, "taken": 4, "borrowed": 5, "old": "o"}
    assert m.row(m.create(first, **values))._asdict() == values
    m.create_many([other], **values)
    assert m.row(m.lookup(other))._asdict() == values
    entities, m = manager_of("Icy")
    cold = {"packed": (1.0, 2.0, 3.0), "place": 1, "is_cold": 2, "O": "o", "taken": 3.0}
    assert m.row(m.create(entities.create(), **cold))._asdict() == cold


def test_objects_count_as_memory() -> None:
    _, m, _ = made(g.SkinnedMeshManager, 10_000)
    names = [info.name for info in m.FIELDS if info.type == "object"]
    columns = sum(column.nbytes for column in m.LAYOUT)
    assert m.nbytes >= 10_000 * (columns + 8 * len(names))


def test_locks_nest_and_end() -> None:
    entities, m, es = made(g.ParticleManager, 2)
    with m.locked():
        with m.locked():
            pass
        refuses(g.StructureLockedError, m.destroy, 0)
        m.set_life(0, 2.0)
        refuses(g.StructureLockedError, m.ensure, entities.create())
        assert m.ensure(es[0]) == 0
    with pytest.raises(ZeroDivisionError), m.locked():
        raise ZeroDivisionError
    m.destroy(0)


@pytest.mark.parametrize("kind", g.World.MANAGER_CLASSES.values())
def test_calls_for_one_row_have_code_of_their_own(kind: type[Any]) -> None:
    members, *bases = map(vars, kind.__mro__)
    names = [name for name in members if hasattr(members[name], "_is_per_class")]
    assert "destroy" in names
    for name in names:
        inherited = next(base[name] for base in bases if name in base)
        assert members[name].__code__ is not inherited.__code__
        for detail in ("__doc__", "__annotations__", "__module__", "__qualname__"):
            assert getattr(members[name], detail) == getattr(inherited, detail)


@every
def test_messages_show_entities(kind: Any) -> None:
    """By index and generation, and where a row was wanted, what was given instead."""
    entities, m, _ = made(kind)
    entity, name = entities.create(), kind.__name__
    named = re.escape(f"{name}: entity 0v1 ({entity})")
    refuses(g.MissingInstanceError, f"^{named} has no instance$", m.require, entity)
    refuses(g.MissingInstanceError, named, m.require_many, [entity])
    nil = r"row NIL \(4294967295\) is not in use; there are no rows$"
    refuses(g.StaleInstanceError, f"^{name}: {nil}", m.row, NIL)
    unknown = r"ensure\(\).*no_such_field"
    refuses(TypeError, unknown, m.ensure, entity, no_such_field=1)
    row = m.ensure(entity)
    assert m.ensure(entity) == m.lookup(entity) == row
    refuses(TypeError, unknown, m.ensure, entity, no_such_field=1)  # ignored, but must be a field
    hints = {entity: r"that is the entity 0v1; lookup\(entity\) gives its row"}
    if hasattr(m, "id_of"):
        id_hint = r"that is an id; resolve\(id\) gives its row"
        hints = {m.id_of(row) + (1 << 32): "rows are 0 to 0", m.id_of(row): id_hint}
    for number, text in hints.items():
        for call in (m.row, m.destroy, lambda row: m.destroy_many([row])):
            refuses(g.StaleInstanceError, rf"is not in use; .*{text}$", call, number)
    entities.destroy(entity)
    m.remove(entity)
    for number in hints:
        with pytest.raises(g.StaleInstanceError, match=r"is not in use; there are no rows$"):
            m.row(number)


def test_maps_count_as_memory_and_follow_the_highest_index() -> None:
    entities, m, _ = made(g.ParticleManager)
    es = entities.create_many(2000)
    m.reserve(64)
    m.create(es[0])
    before = m.nbytes
    m.create(es[-1])
    assert m.nbytes >= before + 4 * (2000 - 64)
    m.remove(es[-1])
    m.shrink_to_fit()
    assert m.nbytes <= before
    assert m.lookup_many(es[[0, -1]]).tolist() == [0, NIL]
    m.create_many(es[1:])
    assert m.lookup_many(es).tolist() == list(range(2000))
    m.clear()
    for k in (63, 64, 65, 127, 128):
        m.create(es[k])
        m.shrink_to_fit()
        assert m.has_many(es).nonzero()[0].tolist() == [k]
        m.clear()
    sizes = []
    for count in (1, 1000):
        _, m, _ = made(g.PointMassManager, count)
        m.reserve(1000)
        sizes.append(m.nbytes)
    assert sizes[1] >= sizes[0] + 1000


@pytest.mark.parametrize("count", [1, 15, 16, 17, 4_111, 8_200])
def test_the_end_is_found_over_any_number_of_holes(count: int) -> None:
    _, m, es = made(g.TransformManager, count + 2)
    m.destroy_many(range(1, count + 1))
    for remove in (m.destroy, lambda row: m.destroy_many([row])):
        remove(count + 1)
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])
        m.create(es[-1])
    refuses(g.StaleInstanceError, m.destroy_many, np.ones(m.data.n, np.bool_))
    m.destroy_many(m.data.present & (m.data.entity != es[0]))
    assert list(m) == [es[0]]
    m.create_many(es[1:])
    m.destroy_many(np.delete(np.arange(count + 2), 1))
    assert (len(m), m.data.n, list(m)) == (1, 2, [es[1]])


def test_lists_of_rows() -> None:
    entities, m, _ = made(g.SoundSourceManager)
    a, b = entities.create_many(2).tolist()
    m.create_many([a, b, *[a] * 200])
    instances = m.instances(a)
    m.create(a)
    assert list(instances) == [0, *range(2, 202)]
    m.destroy_many(range(0, 202, 2))
    assert m.count_many([b, a]).tolist() == [1, 101]
    assert m.remove_many([a]) == 101
    assert list(m.instances(b)) == [0]
    for row in (-1, 1, NIL):
        for call in (m.next, m.previous):
            refuses(g.StaleInstanceError, call, row)


class _Picks(Random):
    """Picks these of ten rows."""

    def __init__(self, rows: list[int]) -> None:
        super().__init__()
        self.left = rows

    def random(self) -> float:
        return (self.left.pop(0) + 0.5) / 10


def test_four_alive_in_a_row_end_a_collection() -> None:
    entities, m, es = made(g.ParticleManager, 10)
    picks = _Picks([0, 4, 9, 4, 0])
    assert (m.gc(picks), picks.left) == (0, [0])
    entities.destroy_many(es[[0, 9]])
    picks = _Picks([1, 2, 3, 9, 1, 2, 3, 0, 1, 2, 3, 4, 5])
    assert (m.gc(picks), picks.left) == (2, [5])


@pytest.mark.parametrize("sweep", ["clear", "gc", "collect"])
def test_failing_callbacks_stop_no_sweep_and_no_creation(sweep: str) -> None:
    entities, m, es = made(g.EveryTypeManager, 100)
    first, *more = recreate(entities, es[:4]).tolist()
    m.on_release(raise_error)
    fails([ZeroDivisionError], m.create, first)
    fails([ZeroDivisionError], m.create_many, more)
    assert m.has_many([first, *more]).all()
    entities.destroy_many([first, *more, *es[4:]])
    refuses(ExceptionGroup, getattr(m, sweep))
    assert len(m) < 90


@pytest.mark.parametrize("is_one", [True, False])
def test_a_successor_may_come_before_a_row_goes_with_its_entity(is_one: bool) -> None:
    entities = EntityManager()
    successors: list[Any] = []

    def replace(removed: Any) -> None:
        successors.append(entities.create())
        m.create(successors[-1]) if is_one else m.create_many(successors[-1:])

    entities.on_destroy(replace)  # before the manager's own
    m = g.SkinnedMeshManager(entities)
    es = entities.create_many(3)
    m.create_many(es)
    with handles_with(entities, MIN_FREE=0):
        entities.destroy(es[0])
    assert sorted(m) == sorted([*es[1:].tolist(), *successors])
    assert [m.entity(m.lookup(entity)) for entity in m] == list(m)


IDENTIFIED = (g.StatusEffectManager, g.TileManager, g.TextureManager, g.SparkManager)
"""Rows that may have other slots, rows that are their slot, and ids instead of owners."""


def identified(kind: Any, count: int) -> tuple[EntityManager, Any, Any]:
    """Return a manager of rows with ids, the entities, and the ids."""
    entities, m = EntityManager(), None
    if hasattr(kind, "lookup"):
        m = kind(entities)
        m.create_many(entities.create_many(count))
    else:
        m = kind()
        columns = {"file": map(str, range(count))} if kind is g.TextureManager else {}
        m.create_many(count, **{name: list(values) for name, values in columns.items()})
    return entities, m, m.id_of_many(np.arange(count))


@pytest.mark.parametrize("kind", IDENTIFIED)
def test_ids_and_numbers_that_are_none(kind: Any) -> None:
    _, m, ids = identified(kind, 4)
    assert (ids.dtype, ids.tolist()) == (np.uint64, [m.id_of(row) for row in range(4)])
    assert m.id_of_many(np.ones(4, np.bool_)).tolist() == ids.tolist()
    id = int(ids[1])
    odd = [0, 1, -1, NIL, 2**64 - 1, 2**64, 2**70, id + 2**32, id - 2**32, id + 100]
    assert [m.resolve(number) for number in odd] == [NIL] * len(odd)
    assert m.resolve_many(odd).tolist() == [NIL] * len(odd)
    for number in odd:
        refuses(g.StaleIdError, m.destroy_id, number)
        refuses(g.StaleIdError, m.destroy_id_many, [number])
    for wrong in ("1", None, 1.5):
        refuses(TypeError, m.resolve, wrong)
    for row in (-1, 4, NIL, 2**70):
        refuses(g.StaleInstanceError, m.id_of, row)
        refuses(g.StaleInstanceError, m.id_of_many, [0, row])
    m.destroy_id(id)
    for chosen in ([id], [ids[0], id], [ids[2], ids[0], ids[2]]):
        refuses(g.StaleIdError, kind.__name__, m.destroy_id_many, chosen)
    refuses(g.StaleIdError, kind.__name__, m.destroy_id, id)
    m.destroy_id_many([])
    assert len(m) == 3


@pytest.mark.parametrize("others", [0, 1, 5])
@pytest.mark.parametrize("rows", [[0, 1, 2], [3]])
def test_worn_out_slots_are_retired(rows: list[int], others: int) -> None:
    entities, m, _ = identified(g.StatusEffectManager, 4 + others)
    wear_out(m, [row for row in rows if row != 1])
    worn = [m.id_of(row) for row in rows if row != 1]
    m.destroy_many(rows) if len(rows) > 1 else m.destroy(rows[0])
    left = set(m.id_of_many(np.arange(len(m))).tolist())
    for _ in range(3):
        m.create(entities.create())
        m.create_many(entities.create_many(6))
        assert m.resolve_many(worn).tolist() == [NIL] * len(worn)
        now = m.id_of_many(np.arange(len(m))).tolist()
        slots = {id & 0xFFFF_FFFF for id in now}
        assert len(slots) == len(m)
        assert not {id & 0xFFFF_FFFF for id in worn} & slots
        assert left <= set(now)
        m.destroy_many([k for k, id in enumerate(now) if id not in left])
        m.shrink_to_fit()


def test_generations_of_rows_that_are_slots() -> None:
    _, m, ids = identified(g.TileManager, 3000)
    es = m.data.entity.copy()
    m.destroy(2)
    refuses(g.StaleInstanceError, m.id_of, 2)
    m.create(es[2])
    assert [m.id_of(row) & 0xFFFF_FFFF for row in range(4)] == [0, 1, 2, 3]
    assert [m.id_of(row) >> 32 for row in range(4)] == [1, 1, 2, 1]
    m.clear()
    m.shrink_to_fit()
    m.create_many(es)
    assert not set(ids.tolist()) & set(m.id_of_many(np.arange(3000)).tolist())


def test_what_is_no_point_radius_or_wrap() -> None:
    _, m, _ = made(g.BoidManager, 3)
    for radius in (0, -1.0, np.nan, np.inf, "1", None, True):
        refuses(ValueError, "radius", m.near, np.zeros((2, 2)), radius)
    for points in map(np.zeros, ((2, 3), (1, 2, 2), (2,))):
        refuses(ValueError, "points", m.near, points, 1.0)
    sizes = (-1, np.nan, np.inf, "x", None, True)
    for wrap in (*((size, size) for size in sizes), (), (1, 1, 1), 7, None, "abc"):
        refuses(ValueError, "wrap", setattr, m, "wrap", wrap)
    assert m.wrap == (100, 60)
    m.wrap = np.arange(2)
    assert [type(size) for size in m.wrap] == [float, float]
    assert [copied(m).wrap for copied in COPIES] == [(0, 1), (0, 1)]


def test_creation_of_rows_without_owners() -> None:
    m: Any = g.SparkManager()
    refuses(ValueError, "can't create -1 instances", m.create_many, -1)
    for count in (1.0, "1", None):
        refuses(TypeError, m.create_many, count)
    refuses((ValueError, MemoryError, g.CapacityError), m.create_many, 2**63)
    first, second = m.create_many(np.int8(2)).tolist()
    m.destroy(0)
    for absent in (first, 0, NIL, -1, 2**70, "text", 1.5, None):
        assert absent not in m
    assert second in m
