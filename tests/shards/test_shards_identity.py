"""Handles of worlds with shards, and ids: whose they are, what finds them; no trace elsewhere."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.shards import handle_map as lookup
from ecsgen_runtime.shards.handle_map import HandleMap, ShardedBulk

from ecsgen.config import Backend
from ecsgen.render.text import library_imports
from ecsgen.render.text.library_imports import SHARDS, locate_public_names
from tests.support.generated_package import shipped
from tests.support.sharded_package import Isles, package
from tests.support.threaded_ranks import ThreadComm, everyones, run
from tests.support.world_package import load, sources, world_package

ONE = 1 << 44


def test_handles_say_where_they_were_made() -> None:
    w = Isles(shard=5)
    first, second = w.entities.create(), int(w.entities.create_many(3)[1])
    assert (first, second) == (ONE | 5 << 32, ONE | 5 << 32 | 2)
    assert (w.entities.index(second), w.entities.generation(second)) == (2, 1)
    assert w.entities.shard == w.entities.shard_of(second) == 5
    assert w.entities.shards_of([first, second, 0, ONE | 7 << 32]).tolist() == [5, 5, 0, 7]
    w.destroy(second)
    assert w.entities.create() == 2 * ONE | 5 << 32 | 2
    with pytest.raises(LookupError, match="2v1@5"):
        w.destroy(second)


def test_ids_say_where_they_were_given() -> None:
    w = Isles(3)
    (e,) = w.spawn(1, agent={"key": 7}, cell={"k": 1})
    assert w.agent.id_of(w.agent.lookup(e)) == ONE | 3 << 32
    assert w.cell.id_of(w.cell.lookup(e)) == ONE | 3 << 32
    spark = w.spark.create(k=1)
    assert spark == ONE | 3 << 32
    w.spark.destroy_id(spark)
    assert w.spark.create(k=1) == 2 * ONE | 3 << 32
    w.cell.destroy(0)
    w.cell.create(e)
    assert w.cell.id_of(0) == 2 * ONE | 3 << 32


@pytest.mark.parametrize(
    ("shard", "error"),
    [
        *((-1, ValueError), (4095, ValueError), (4096, ValueError)),
        *((True, TypeError), ("1", TypeError), (1.0, TypeError)),
    ],
)
def test_numbers_that_no_shard_has(shard: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"shard.* {shard!r}"):
        Isles(shard)


def test_what_was_made_nowhere_is_of_the_first_shard() -> None:
    known = Isles(3).entities
    assert [known.shard_of(e) for e in (-1, 1 << 64)] == known.shards_of([-1, 1 << 64]).tolist()
    assert known.shard_of(known.create()) == 3


def test_copies_go_on_alike() -> None:
    w = Isles(9)
    es = w.spawn(5, agent={"key": range(5)}, cell={}, place={})
    w.destroy_many(es[1:3])
    loaded = Isles.load(w.to_bytes(codecs={"*": None}))
    for other in (pickle.loads(pickle.dumps(w)), copy.deepcopy(w), loaded):
        assert other.entities.shard == 9
        again = other.spawn(3, agent={"key": 1}, cell={})
        assert again.tolist() == copy.deepcopy(w).spawn(3, agent={"key": 1}, cell={}).tolist()
        ids = other.agent.id_of_many(other.agent.lookup_many(again))
        assert all(id >> 32 & 0xFFF == 9 for id in ids.tolist())


@pytest.mark.parametrize("name", Isles.MANAGERS)
def test_managers_have_bases_of_their_own(name: str) -> None:
    """A base that finds rows by index alone never stands before one that finds visitors' rows."""
    names = [base.__name__ for base in type(getattr(Isles(), name)).__mro__]
    sharded = [base for base in names if f"Sharded{base}" in locate_public_names(SHARDS)]
    assert sharded
    assert all(names.index(f"Sharded{base}") < names.index(base) for base in sharded)


def test_entities_are_those_of_the_package() -> None:
    entities = type(Isles().entities)
    assert entities is package.EntityManager
    assert entities.__module__ == f"{package.__name__}.entities"
    assert entities.__mro__[1].__name__ == "ShardedEntities"


def test_methods_in_c_leave_it_alone() -> None:
    for kind in (Isles, *Isles.MANAGER_CLASSES.values()):
        assert not kind.CAN_ACCELERATE


def test_more_ranks_than_numbers_are_everyones_error() -> None:
    text = "world: Pair\nentity: {shard_bits: 1}\nshards: {}\n"
    pair = world_package(text, "shards_pair")

    def rank(comm: ThreadComm) -> None:
        with everyones(comm, 2, ValueError, "shard 2, wanted 0 to 1"):
            pair.Shards(pair.Pair(), comm)

    run(3, rank)


@pytest.mark.parametrize("name", ["agent", "cell"])
def test_who_came_back_keeps_the_id_when_the_first_slot_is_taken(name: str) -> None:
    there, here = Isles(1), Isles(2)
    manager = getattr(here, name)
    first, second = there.spawn(2, **{name: {}})
    ids = getattr(there, name).id_of_many([0, 1]).tolist()
    parcel = here.extract(here.absorb(there.extract([first])))
    (native,) = here.spawn(1, **{name: {}})  # takes the slot
    here.absorb(parcel)
    here.destroy(native)
    here.collect()
    here.absorb(there.extract([second]))
    rows = manager.lookup_many([first, second]).tolist()
    assert [manager.resolve(i) for i in ids] == manager.resolve_many(ids).tolist() == rows


@pytest.mark.parametrize("name", ["agent", "cell", "guest"])
@pytest.mark.parametrize("stays", [0, 1])
def test_ids_of_slots_that_were_given_back_lead_nowhere(name: str, stays: int) -> None:
    there, here = Isles(1), Isles(2)
    es = there.spawn(200)
    getattr(there, name).create_many(es)
    ids = getattr(there, name).id_of_many(range(200))
    here.absorb(there.extract(es))
    here.extract(es[stays:])
    manager = getattr(here, name)
    manager.shrink_to_fit()
    expected = [0] * stays + [0xFFFF_FFFF] * (200 - stays)
    for m in (manager, getattr(pickle.loads(pickle.dumps(here)), name)):
        assert m.resolve_many(ids).tolist() == expected
        assert [m.resolve(i) for i in ids.tolist()] == expected
    here.to_bytes(codecs={"*": None})


POOL = (np.uint64(1) << np.uint64(44)) | np.arange(4000, dtype=np.uint64) * np.uint64(3)


@pytest.fixture(params=["numpy", "numba"])
def bulk(request: pytest.FixtureRequest) -> type[ShardedBulk]:
    """Return what packages with one backend have, then those with the other."""
    if request.param == "numpy":
        return ShardedBulk
    pytest.importorskip("numba")
    compiled = importlib.import_module("ecsgen_runtime.shards.compiled_handle_map")
    bulk_class: type[ShardedBulk] = compiled.CompiledShardedBulk
    return bulk_class


def test_it_is_a_dict(bulk: type[ShardedBulk]) -> None:
    random, map_, model = np.random.default_rng(0), HandleMap(bulk), dict[int, int]()
    following = 0
    for _ in range(300):
        keys = random.permutation(POOL)[: random.integers(0, random.choice([3, 400]))]
        slots = map_.find(keys)
        assert slots.tolist() == [model.get(key, -1) for key in keys.tolist()]
        assert [map_.get(key) for key in keys[:20].tolist()] == slots[:20].tolist()
        here = slots >= 0
        if here.any():
            assert not map_.add(keys, np.arange(len(keys)))
        if random.random() < 0.6:
            new = keys[~here]
            assert map_.add(new, np.arange(len(new)) + following)
            model |= zip(new.tolist(), range(following, following + len(new)), strict=True)
            following += len(new)
        else:
            map_.remove(keys[here])
            for key in keys[here].tolist():
                del model[key]
        check(map_, model)


def check(map_: HandleMap, model: dict[int, int]) -> None:
    keys, slots = map_.items()
    assert dict(zip(keys.tolist(), slots.tolist(), strict=True)) == model
    assert slots.tolist() == sorted(model.values())
    assert map_.count == len(model)
    table = map_.table
    assert map_._taken == np.count_nonzero(table[::2])
    assert 4 * map_._taken <= len(table)


@pytest.mark.parametrize(("count", "rounds"), [(100, 200), (4000, 10)])
def test_whoever_is_given_twice_is_not_entered(
    count: int, rounds: int, bulk: type[ShardedBulk]
) -> None:
    random = np.random.default_rng(1)
    for _ in range(rounds):
        map_, keys = HandleMap(bulk), random.permutation(POOL)[:count]
        held, new = np.split(keys, [random.integers(0, count // 2)])
        assert map_.add(held, np.arange(len(held)))
        twice = np.concatenate((new, random.choice(new, random.integers(1, 4))))
        assert not map_.add(random.permutation(twice), np.arange(len(twice)) + count)
        check(map_, {key: slot for slot, key in enumerate(held.tolist())})
        assert map_.add(new, np.arange(len(new)) + count)


def test_numbers_that_are_no_keys_lead_nowhere(bulk: type[ShardedBulk]) -> None:
    map_ = HandleMap(bulk)
    map_.add(POOL[:30], np.arange(30))
    map_.remove(POOL[:15])
    none = np.array([0, 1] * 20, np.uint64)
    assert map_.find(none).tolist() == [-1] * 40
    assert [map_.get(key) for key in (0, 1)] == [-1, -1]


def test_comings_and_goings_do_not_wear_it_out(bulk: type[ShardedBulk]) -> None:
    map_, sizes = HandleMap(bulk), set[int]()
    map_.add(POOL[:1000], np.arange(1000))
    for round_ in range(200):
        away = np.roll(POOL, 37 * round_)[:1000]
        here = np.roll(POOL, 37 * (round_ + 1))[:1000]
        map_.remove(away[~np.isin(away, here)])
        new = here[~np.isin(here, away)]
        map_.add(new, np.arange(len(new)))
        sizes.add(map_.nbytes)
    assert max(sizes) <= 4 * 16 * 8 * 1000


def test_ways_go_round_the_end(monkeypatch: pytest.MonkeyPatch, bulk: type[ShardedBulk]) -> None:
    monkeypatch.setattr(lookup, "_SMALLEST", 8)
    random = np.random.default_rng(2)
    for _ in range(200):
        map_ = HandleMap(bulk)
        keys = random.integers(2, 1 << 62, 4).astype(np.uint64)
        assert map_.add(keys, np.arange(4))
        assert map_.nbytes == 8 * 16
        assert map_.find(keys).tolist() == [map_.get(key) for key in keys.tolist()] == [0, 1, 2, 3]
        map_.remove(keys[1:3])
        assert map_.find(keys).tolist() == [0, -1, -1, 3]


Shards = package.Shards


@pytest.mark.parametrize("goals", [(1, 2), (1, 0), (1, 1), (0, 1)])
def test_a_subtree_goes_where_its_root_goes(goals: tuple[int, int]) -> None:
    def rank(comm: ThreadComm) -> list[int]:
        shards = Shards(Isles(), comm)
        loose = shards.world.loose
        if comm.rank == 0:
            ids = loose.create_many(2, k=[1, 2])
            loose.set_parent(loose.resolve(ids[1]), loose.resolve(ids[0]))
            shards.migrate((), (), loose=(ids, goals))
        else:
            shards.migrate()
        return sorted(loose.data.k[loose.levels()[1]]) if len(loose) == 2 else []

    assert run(3, rank) == [[2] if number == goals[0] else [] for number in range(3)]


SHARDED = (Path(__file__).parents[1] / "sharded.yaml").read_text("utf-8")
TRACES = re.compile(
    r"shard|ghost|ghost_state|visit(or|ed)|parcel|nearby|absorb|lockstep", re.IGNORECASE
)
EVERYTHING = re.sub(r"^shards:\n(  .*\n)+", "", SHARDED, flags=re.MULTILINE)
"""Schemas with every policy, of one world without shards."""


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_no_file_speaks_of_it(backend: Backend) -> None:
    for project in (shipped(), load(EVERYTHING)):
        for path, text in sources(project, backend).items():
            assert not TRACES.search(path), path
            assert not (trace := TRACES.search(text)), (path, trace)


def test_a_generator_that_knows_nothing_of_it_makes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = load(EVERYTHING)
    before = sources(project)
    without = {
        path: text
        for path, text in library_imports.read_library().items()
        if "/shards/" not in path
    }
    with monkeypatch.context() as patch:
        patch.setattr(library_imports, "read_library", lambda: without)
        library_imports.locate_public_names.cache_clear()
        assert sources(project) == before
    library_imports.locate_public_names.cache_clear()
    texts = sources(load(SHARDED)).values()
    assert any("from ecsgen_runtime.shards." in text for text in texts)


def test_with_it_the_library_is_copied_as_it_is() -> None:
    texts = sources(load(SHARDED), runtime="vendored")
    library = library_imports.read_library()
    copied = texts.keys() & library.keys()
    assert "_runtime/shards/sharded_managers.py" in copied
    assert [path for path in copied if texts[path] != library[path]] == []
