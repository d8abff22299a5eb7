"""Parcels: what they refuse before anything is changed, their bytes, what stays behind."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.shards import arrivals

from tests.support.fault_injection import Events, is_broken, traced
from tests.support.manager_state import by_owner
from tests.support.sharded_package import NAME, Isles, package
from tests.support.world_package import world_package

NIL = 0xFFFF_FFFF
NULL_ID = 0
Parcel, ParcelError = package.Parcel, package.ParcelError


def filled(shard: int = 0, n: int = 4) -> tuple[Any, Any]:
    w = Isles(shard)
    ks = range(n)
    es = w.spawn(
        n,
        place={"at": [(k, k) for k in ks], "speed": (1, 2)},
        agent={"key": ks, "name": "agent"},
        rare={"k": ks, "thing": [[k] for k in ks]},
        cell={"k": ks, "on": True},
        branch={"k": ks},
        badge={"number": ks, "label": [f"b{k}" for k in ks]},
        mesh={},
        hot={"heat": 1.0},
    )
    w.guest.create_many(np.repeat(es, 2), k=range(2 * n))
    return w, es


def state(w: Any) -> bytes:
    return pickle.dumps(w)


def refused(w: Any, error: type[Exception], call: Callable[[], object], match: str = ".") -> None:
    before = state(w)
    with pytest.raises(error, match=match):
        call()
    assert state(w) == before


def test_who_can_not_be_taken_out() -> None:
    w, es = filled()
    dead = int(es[0])
    w.destroy(dead)
    w.collect()
    spark = w.spark.create()
    refused(w, package.StaleEntityError, lambda: w.extract([es[1], dead]), "not alive")
    refused(w, package.StaleEntityError, lambda: w.extract([es[1], es[2], es[1]]), "repeated")
    refused(w, package.StaleIdError, lambda: w.extract(spark=[spark, spark]), "twice")
    refused(w, package.StaleIdError, lambda: w.extract(es[1:2], spark=[spark + 1]), "no instance")
    refused(w, TypeError, lambda: w.extract(place=[1]), "place")
    refused(w, TypeError, lambda: w.extract(nobody=[1]), "nobody")
    w.branch.set_parent(w.branch.lookup(es[1]), w.branch.lookup(es[2]))
    refused(w, package.HierarchyError, lambda: w.extract(es[1:2]), "detach it first")
    for manager in (w.place, w.guest, w.mesh):
        with manager.locked():
            refused(w, package.StructureLockedError, lambda: w.extract(es[3:]))
    with w.archetypes.locked():
        refused(w, package.StructureLockedError, lambda: w.extract(es[3:]))


def test_what_can_not_come_in() -> None:
    w, es = filled()
    parcel = w.extract(es[:2])
    data = bytearray(bytes(parcel))
    other, _ = filled(1)
    refused(other, package.DuplicateValueError, lambda: other.absorb(parcel))
    other = Isles(2)
    refused(other, ParcelError, lambda: other.absorb(b"nonsense"), "no parcel")
    for manager in (other.place, other.guest):
        with manager.locked():
            refused(other, package.StructureLockedError, lambda: other.absorb(parcel))
    with other.archetypes.locked():
        refused(other, package.StructureLockedError, lambda: other.absorb(parcel))
    other.absorb(parcel)
    refused(other, ParcelError, lambda: other.absorb(parcel), "here already")
    for cut in (0, 8, 100, len(data) - 1):
        with pytest.raises(ParcelError):
            Parcel(data[:cut])
    for index in (0, 8, 40, 48, 56):
        wrong = bytearray(data)
        wrong[index] ^= 1
        with pytest.raises(ParcelError):
            Parcel(wrong)


def held(w: Any) -> Any:
    """Return the components of entities, by value."""
    rows = {name: by_owner(getattr(w, name)) for name in w.MANAGERS}
    chunked = {e: [repr(row) for row in w[e]] for e in sorted(w.entities)}
    return rows, chunked, w.entities.slot_cache, len(w.entities.dispatch.queue)


def listening(saved: bytes) -> Any:
    w = pickle.loads(saved)
    w.entities.on_destroy(lambda es: es.sum())
    for name in w.MANAGERS:
        if hasattr(getattr(w, name), "on_release"):
            getattr(w, name).on_release(lambda rows: rows.sum())
    return w


def any_broken(w: Any) -> bool:
    parts = (w.entities, w.archetypes, *(getattr(w, name) for name in w.MANAGERS))
    return any(is_broken(part) for part in parts)


@pytest.mark.parametrize("title", ["extract", "absorb", "extract a guest", "destroy guests"])
def test_interrupted_journeys_have_not_begun_or_are_done_or_broken(title: str) -> None:
    w, es = filled()
    here, there = state(w), Isles(2)
    empty, parcel = state(there), w.extract(es[:3])
    there.absorb(parcel)
    journeys: dict[str, tuple[bytes, Callable[[Any], object]]] = {
        "extract": (here, lambda w: w.extract(es[:3])),
        "absorb": (empty, lambda w: w.absorb(parcel)),
        "extract a guest": (state(there), lambda w: w.extract(es[:2])),
        "destroy guests": (state(there), lambda w: w.destroy_many(es[:3])),
    }
    saved, act = journeys[title]
    w = listening(saved)
    before = held(w)
    seen = Events(package=NAME)
    assert traced(seen, partial(act, w)) is None
    after = held(w)
    for at in seen.times()[len(title) :: 30]:
        w, events = listening(saved), Events(at, package=NAME)
        raised = traced(events, partial(act, w))
        if events.where is not None:
            assert type(raised) is KeyboardInterrupt, (events.where, raised)
            assert any_broken(w) or held(w) in (before, after), events.where


@pytest.mark.parametrize(
    ("column", "value", "match"),
    [
        ("Place.entity", 5, "not in the parcel"),
        ("Cell.on", 7, "neither True nor False"),
        ("Agent.mood", 99, "mood"),
        ("Guest.~active", 3, "neither"),
        ("Branch.~parent", 77, "not"),
        ("Branch.~parent", 0, "ancestor"),
        ("Agent.~id", 0, "or is 0"),
        ("Rare.~thing", 255, "thing"),
    ],
)
def test_cells_that_can_not_be(column: str, value: int, match: str) -> None:
    w, es = filled()
    parcel = w.extract(es[:2])
    data = bytearray(bytes(parcel))
    where = parcel.columns[column]
    cells = np.frombuffer(data, np.uint8)
    start = where.ctypes.data - parcel.buffer.ctypes.data
    kind = np.uint8 if where.dtype == np.bool_ else where.dtype
    cells[start : start + where.itemsize].view(kind)[0] = value
    other = Isles(1)
    refused(other, ParcelError, lambda: other.absorb(Parcel(data)), match)


def test_an_arrival_that_fails_takes_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    w, es = filled()
    parcel = w.extract(es[:3])
    other, theirs = filled(1, 2)
    other.absorb(other.extract(theirs[:1]))
    other.badge.clear()

    def no_room(*_: object) -> None:
        raise package.CapacityError("no room")

    before = state(other)
    with monkeypatch.context() as patch:
        patch.setattr(type(other.rare), "_ensure_capacity", no_room)
        with pytest.raises(package.CapacityError):
            other.absorb(parcel)
    assert state(other) == before
    assert other.absorb(parcel).tolist() == es[:3].tolist()


@pytest.mark.parametrize(
    "copied",
    [
        lambda w: w,
        lambda w: pickle.loads(pickle.dumps(w)),
        lambda w: Isles.load(w.to_bytes(codecs={"*": None})),
    ],
)
@pytest.mark.parametrize("moving", [[4], [2, 9], [*range(10)], [150, 7, 199], [199, 198]])
def test_no_handle_of_a_world_of_the_same_number_is_made_again(
    moving: list[int], copied: Callable[[Any], Any]
) -> None:
    here, there = Isles(), Isles()
    es = here.spawn(200, place={})
    here.destroy_many(es[5:10])
    es[5:10] = here.spawn(5, place={})
    assert len(here.entities) == 200
    for first in (True, False):
        arrived = there.absorb(here.extract(es[moving] if first else es[[100, 30]])).tolist()
        there = copied(there)
        created = [there.entities.create() for _ in range(40)] if first else []
        created += there.entities.create_many(300).tolist()
        assert len({*arrived, *created}) == len(arrived) + len(created)
        assert len(there.entities) == len(there.entities.live())
        assert there.entities.alive_many(arrived).all()
        there.destroy_many(arrived[::2])
        there.extract(arrived[1::2])
        there.destroy_many(created[::3])
        there = copied(there)
        again = there.spawn(700, place={}).tolist()
        assert not {*again} & {*arrived, *created}
        there = Isles()


def test_handles_that_the_number_cannot_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "_MAX_SKIPPED", 1 << 12)
    here, there = Isles(), Isles()
    for _ in range(2):
        here.destroy_many(here.spawn(3))
    parcel = here.extract(here.spawn(3)[1:2])
    _, alive, _ = there.spawn(3)
    refused(there, ParcelError, lambda: there.absorb(parcel), "1v3 .* of the same number, 0")
    there.destroy(alive)
    refused(there, ParcelError, lambda: there.absorb(parcel), "1v3 .* of the same number, 0")
    there.destroy_many(there.spawn(1))
    there.destroy_many(there.spawn(1))
    assert there.absorb(parcel).tolist() == parcel.entities.tolist()
    parcel = here.extract(here.spawn(1))
    for index in (0xFFFF_FFFF, 1 << 12):
        there = Isles()
        refused(there, ParcelError, partial(there.absorb, with_index(parcel, index)), "number")
        Isles(1).absorb(with_index(parcel, index))
    (arrived,) = there.absorb(with_index(parcel, (1 << 12) - 1)).tolist()
    assert arrived not in there.entities.create_many(1 << 12)


def with_index(parcel: Any, index: int) -> Any:
    """Return a parcel of an entity without components that has another index."""
    data = bytearray(bytes(parcel))
    start = parcel.entities.ctypes.data - parcel.buffer.ctypes.data
    data[start : start + 4] = index.to_bytes(4, "little")
    return Parcel(data)


WITH_IDS = ("agent", "branch", "cell", "guest", "spark")


def ids_of(w: Any) -> set[tuple[str, int]]:
    return {
        (name, id)
        for name in WITH_IDS
        for id in getattr(w, name).ids_by_row().tolist()
        if id != NULL_ID
    }


def change_some(rng: np.random.Generator, w: Any) -> None:
    """Create, destroy or forget a few entities, rows and free slots."""
    manager = getattr(w, WITH_IDS[rng.integers(len(WITH_IDS))])
    es = rng.permutation(w.entities.live())[: rng.integers(6)]
    match int(rng.integers(6)):
        case 0:
            w.spawn(int(rng.integers(1, 6)))
        case 1:
            w.destroy_many(es[:2])
            w.collect()
        case 2:
            ids = manager.ids_by_row()
            manager.destroy_id_many(rng.permutation(ids[ids != NULL_ID])[: rng.integers(4)])
        case 3:
            manager.shrink_to_fit()
        case _ if manager is w.spark:
            manager.create_many(int(rng.integers(1, 5)))
        case _:
            manager.create_many(es[~manager.has_many(es)])


def move_some(rng: np.random.Generator, source: Any, target: Any) -> bool:
    """Move a few entities, perhaps with a row that has no owner; return True if they came."""
    es = rng.permutation(source.entities.live())[: rng.integers(6)]
    parcel = source.extract(es, spark=rng.permutation(source.spark.ids_by_row())[:1])
    try:
        target.absorb(parcel)
    except ParcelError:
        return False
    return True


@pytest.mark.parametrize("seed", range(3))
def test_no_id_of_a_world_of_the_same_number_is_made_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    worlds = [Isles(3), Isles(3), Isles(4)]
    n_moved, were_there = 0, [set[Any](), set[Any](), set[Any]()]
    for _ in range(200):
        source, target = rng.integers(3, size=2).tolist()
        if source == target:
            before = ids_of(worlds[target])
            change_some(rng, worlds[target])
            assert not (ids_of(worlds[target]) - before) & were_there[target]
        else:
            n_moved += move_some(rng, worlds[source], worlds[target])
        were_there[target] |= ids_of(worlds[target])
        for name, id in ids_of(worlds[target]):
            manager = getattr(worlds[target], name)
            assert manager.id_of(manager.resolve(id)) == id
    assert n_moved > 50


@pytest.mark.parametrize(
    ("name", "generation", "slot", "is_skipped"),
    [
        ("spark", 1, 1, False),
        ("spark", 2, 1, False),
        ("spark", 2, 2, True),
        ("spark", 1, 1 << 24, True),
        ("spark", 0xF_FFFF, 2, False),
        ("cell", 2, 1, False),
        ("cell", 2, 70, True),
        ("cell", 0xF_FFFE, (1 << 20) - 1, True),
        ("cell", 1, 1 << 21, False),
        ("cell", 0xF_FFFF, 70, False),
    ],
)
def test_ids_that_the_number_may_still_make(
    name: str, generation: int, slot: int, is_skipped: bool
) -> None:
    here, there = Isles(4), Isles(3)
    (e,) = here.spawn(1, cell={})
    here.cell.remove(e)  # so that no other number in the parcel is an id's
    here.cell.create(e)
    (spark,) = here.spark.create_many(3)[2:].tolist()
    there.spawn(2, cell={})
    there.spark.destroy_id(there.spark.create_many(3)[2])
    old_id = (spark if name == "spark" else here.cell.id_of(0)).to_bytes(8, "little")
    forged = generation << 44 | 3 << 32 | slot
    saved = bytes(here.extract([e], spark=[spark]))
    assert saved.count(old_id) == 1
    parcel = Parcel(saved.replace(old_id, forged.to_bytes(8, "little")))
    if not is_skipped:
        refused(there, ParcelError, lambda: there.absorb(parcel), "of the same number|here already")
        return
    there.absorb(parcel)
    there = Isles.load(there.to_bytes(codecs={"*": None}))
    manager = getattr(there, name)
    row = manager.resolve(forged)
    assert manager.id_of(row) == forged
    there.spark.create_many(5)
    there.spawn(99, cell={})
    manager.destroy(row)
    assert forged not in manager.ids_by_row()
    assert manager.resolve(forged) == NIL


def test_bytes(tmp_path: Path) -> None:
    w, es = filled()
    again, _ = filled()
    parcel = w.extract(es[[2, 0]])
    assert bytes(parcel) == bytes(again.extract(es[[2, 0]]))
    assert (len(parcel), parcel.entities.tolist()) == (2, es[[2, 0]].tolist())
    assert parcel.nbytes == len(bytes(parcel)) == len(parcel.buffer)
    assert not parcel.buffer.flags.writeable
    assert not parcel.columns["Place.at"].flags.writeable
    assert parcel.columns["Place.at"].tolist() == [[2, 2], [0, 0]]
    assert parcel.columns["Agent.name"].tolist() == [b"agent"] * 2
    for protocol in (2, 4, 5):
        assert bytes(pickle.loads(pickle.dumps(parcel, protocol))) == bytes(parcel)
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(parcel, 5, buffer_callback=buffers.append)
    assert (len(buffers), len(text) < 200) == (1, True)
    assert bytes(pickle.loads(text, buffers=buffers)) == bytes(parcel)
    parcel.save(tmp_path / "p.parcel")
    assert bytes(Parcel.load(tmp_path / "p.parcel")) == bytes(parcel)
    safetensors = pytest.importorskip("safetensors.numpy")
    tensors = safetensors.load_file(tmp_path / "p.parcel")
    assert tensors["Place.at"].tolist() == [[2, 2], [0, 0]]


def test_damaged_files(tmp_path: Path) -> None:
    w, es = filled()
    path = tmp_path / "p.parcel"
    w.extract(es).save(path)
    data = path.read_bytes()
    hostile = (200_000).to_bytes(8, "little") + b"[" * 200_000
    size = 8 + int.from_bytes(data[:8], "little")
    header, body = data[8:size], data[size:]
    counted = [
        re.sub(rb'("counts":)"(\[\d+)?[^"]*"', replaced, header, count=1)
        for replaced in (rb'\1"5"', rb'\1"\g<2>]"')
    ]
    huge = [re.sub(rb'("counts":"\[)\d+', rb"\g<1>%d" % n, header) for n in (1 << 61, 10**30)]
    assert header not in (*counted, *huge)
    other_counts = [len(h).to_bytes(8, "little") + h + body for h in (*counted, *huge)]
    cut = (b"", data[:7], data[:200], data[:-1])
    for wrong in (*cut, data + b"0", data[:-9] + b"123456789", hostile, *other_counts):
        path.write_bytes(wrong)
        with pytest.raises(ParcelError):
            Parcel.load(path)
    with pytest.raises(FileNotFoundError):
        Parcel.load(tmp_path / "none")


def test_nobody_dies_by_leaving() -> None:
    w, es = filled()
    events: list[Any] = []
    w.entities.on_destroy(lambda gone: events.append(("died", gone)))
    for name in ("rare", "guest", "branch"):
        getattr(w, name).on_release(lambda rows, name=name: events.append((name, rows)))
    w.mesh.on_release(lambda rows: events.append(("mesh", w.mesh.data.entity[rows].tolist())))
    concerned = {"place", "agent", "rare", "cell", "branch", "badge", "mesh", "guest"}
    versions = {name: getattr(w, name).version for name in w.MANAGERS}
    w.extract(es[:2])
    assert events == [("mesh", es[:2].tolist())]
    assert (len(w.mesh), w.collect()) == (2, 0)
    for name in w.MANAGERS:
        grown = getattr(w, name).version - versions[name]
        assert grown == (name in concerned)


def test_rows_of_the_dead_stay() -> None:
    w, (a, b, c) = filled(n=3)
    w.badge.remove_many([a, b, c])
    w.badge.create_many([a, b], number=[5, 6], label=["x", "y"])
    w.destroy(b)
    w.extract([a])
    assert w.badge.data.entity.tolist() == [b]
    assert len(w.branch) == 1  # hierarchies are collected first


def test_a_ring_takes_what_it_can() -> None:
    w, other = Isles(0), Isles(1)
    a, b = w.spawn(2)
    (c,) = other.spawn(1)
    w.track.create_many([a, b, a, b], k=[1, 2, 3, 4])
    other.track.create_many([c] * 10, k=range(10, 20))
    other.absorb(w.extract([b, a]))
    assert other.track.data.k[other.track.by_age()].tolist() == [*range(12, 20), 1, 2, 3, 4]
    assert [other.track.k(row) for row in other.track.instances(a)] == [1, 3]


def test_a_whole_ring_travels() -> None:
    here, there = Isles(0), Isles(1)
    es = here.spawn(3)
    here.track.create_many([*es, *es, *es, *es], k=range(12))
    there.absorb(here.extract(es))
    assert there.track.data.k[there.track.by_age()].tolist() == [*range(12)]
    assert [there.track.k(row) for row in there.track.instances(es[1])] == [1, 4, 7, 10]


def test_children_keep_their_order() -> None:
    w, other = Isles(0), Isles(1)
    es = w.spawn(5, limb={"k": range(5)})
    for e in es[[3, 1, 4, 2]]:
        w.limb.set_parent(w.limb.lookup(e), w.limb.lookup(es[0]))
    parcel = w.extract(es[:1])
    assert sorted(parcel.entities.tolist()) == sorted(es.tolist())
    other.absorb(parcel)
    children = other.limb.children(other.limb.lookup(es[0]))
    assert other.limb.data.k[children].tolist() == [3, 1, 4, 2]
    other.destroy(es[0])
    other.collect()
    assert len(other.entities) == 0


def test_views_are_told_of() -> None:
    w, es = filled()
    other = Isles(1)
    (old,) = other.spawn(1, place={})
    parcels = [w.extract(es[k : k + 1]) for k in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for parcel in parcels:
            other.absorb(parcel)
    assert other.place.lookup(old) != NIL


def test_a_visitor_may_be_in_the_last_slot() -> None:
    home, away = Isles(0), Isles(1)
    es = home.spawn(100, agent={"key": range(100)}, place={})
    away.spawn(63, agent={"key": 0})
    away.absorb(home.extract(es[99:]))  # whose index is behind all slots that there are
    assert away.entities.n_cells == 64
    assert away.agent.key(away.agent.lookup(es[99])) == 99
    home.absorb(away.extract(es[99:]))
    assert home.agent.data.n == 100
    assert home.agent.key(home.agent.lookup_many(es)[99]) == 99


def test_slots_of_dead_visitors_come_back() -> None:
    w, other = Isles(0), Isles(1)
    for _ in range(8):
        es = w.spawn(100, place={}, tag={})
        other.absorb(w.extract(es))
        other.destroy_many(es)
        other.collect()
    assert other.entities.n_used < 700
    assert (len(other.entities), len(w.entities), len(other.place)) == (0, 0, 0)


def test_rows_are_told_apart_from_those_of_other_managers() -> None:
    w = Isles()
    es = w.spawn(6, agent={"key": range(6)})
    w.place.create_many(es[[0, 1, 5]], at=[(0, 0), (1, 1), (5, 5)])
    other = Isles(1)
    other.absorb(w.extract(es[5:]))  # row 5 of agents, and the last one of places, which is 2
    assert other.place.data.at.tolist() == [[5, 5]]
    assert w.place.data.entity.tolist() == es[:2].tolist()
    assert w.agent.data.key.tolist() == [0, 1, 2, 3, 4]


def test_rows_that_begin_alike_may_end_differently() -> None:
    w = Isles()
    labels, order = [f"b{k}" for k in range(12)], [*range(10), 11, 10]
    es = w.spawn(12, badge={"number": range(12), "label": labels})
    w.branch.create_many(es[order], k=order)
    other = Isles(1)
    other.absorb(w.extract(es))
    assert other.branch.data.k[other.branch.lookup_many(es)].tolist() == [*range(12)]
    assert other.badge.data.number[other.badge.lookup_many(es)].tolist() == [*range(12)]
    assert len(w.branch) == len(w.badge) == 0


def test_readers_see_who_leaves_and_who_arrives() -> None:
    (w, es), away = filled(), Isles(1)
    readers = [x.cell.changes("k") for x in (w, away)], [x.entities.changes() for x in (w, away)]
    parcel = w.extract(es[1:3])
    away.absorb(parcel)
    for here, there in readers:
        assert here.read().removed.tolist() == es[1:3].tolist()
        assert len(there.read().added) == 2
    away.cell.data.k[away.cell.lookup(es[2])] = 70
    c = readers[0][1].read()
    assert c.before("k").tolist() == [2]
    w.absorb(away.extract(es[2:3]))
    for here, there in readers:
        assert len(there.read().removed) == len(here.read().added) == 1
    assert w.cell.data.k[w.cell.lookup(es[2])] == 70


def test_archetypes_have_more_components_than_a_word_has_bits() -> None:
    names = [f"C{number}" for number in range(66)]
    text = "".join(f"component: {name}\nfields: {{x: f32}}\n---\n" for name in names)
    text += f"world: Many\nshards: {{}}\narchetypes: {{components: [{', '.join(names)}]}}\n"
    many = world_package(text, "many_components")
    w, other = many.Many(), many.Many(shard=1)
    both = w.archetypes.create([many.C0, many.C65], n=2, c65={"x": [1, 2]})
    last = w.archetypes.create([many.C65], n=1, c65={"x": 3})
    es = other.absorb(w.extract(np.concatenate((last, both)))).tolist()
    assert [other.archetypes.get(e, many.C65).x for e in es] == [3, 1, 2]
    assert [other.archetypes.has(e, many.C0) for e in es] == [False, True, True]
