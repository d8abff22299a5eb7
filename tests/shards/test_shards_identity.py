"""Handles and ids where worlds are several, and what packages without `shards` have of that."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import Any

import pytest

from ecsgen.render.runtime import SHARDS, origins
from tests.support import world_package
from tests.support.generated_package import SCHEMAS
from tests.support.sharded_package import Isles, package
from tests.support.thread_ranks import ThreadComm, run

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


@pytest.mark.parametrize("shard", [-1, 4096])
def test_numbers_that_no_shard_has(shard: int) -> None:
    with pytest.raises(ValueError, match=f"shard {shard}"):
        Isles(shard)


def test_there_is_a_number_that_is_no_id() -> None:
    with pytest.raises(ValueError, match="shard 4095"):
        Isles(4095)


def test_copies_go_on_alike() -> None:
    w = Isles(9)
    es = w.spawn(5, agent={"key": range(5)}, cell={}, place={})
    w.destroy_many(es[1:3])
    others = [pickle.loads(pickle.dumps(w)), copy.deepcopy(w), Isles.load(save(w))]
    for other in others:
        assert other.entities.shard == 9
        again = other.spawn(3, agent={"key": 1}, cell={})
        assert again.tolist() == copy.deepcopy(w).spawn(3, agent={"key": 1}, cell={}).tolist()
        ids = other.agent.id_of_many(other.agent.lookup_many(again))
        assert all(id >> 32 & 0xFFF == 9 for id in ids.tolist())


def save(w: object) -> bytes:
    codecs = {"*": None}
    data: bytes = w.to_bytes(codecs=codecs)  # type: ignore[attr-defined]
    return data


def test_without_shards_there_is_no_trace() -> None:
    text = "\n---\n".join(path.read_text("utf-8") for path in sorted(SCHEMAS.glob("*.yaml")))
    sources = world_package.sources(world_package.load(text))
    assert not [path for path in sources if "shard" in path]
    assert not [path for path, source in sources.items() if "shard" in source.lower()]


@pytest.mark.parametrize("name", Isles.MANAGERS)
def test_managers_have_bases_of_their_own(name: str) -> None:
    """What finds rows by index alone never stands before what finds those of visitors."""
    names = [base.__name__ for base in type(getattr(Isles(), name)).__mro__]
    found = [base for base in names if f"Sharded{base}" in origins(SHARDS)]
    assert found
    assert all(names.index(f"Sharded{base}") < names.index(base) for base in found)


def test_entities_are_those_of_the_package() -> None:
    entities = type(Isles().entities)
    assert entities is package.EntityManager
    assert entities.__module__ == f"{package.__name__}.entities"
    assert entities.__mro__[1].__name__ == "ShardedEntities"


def test_methods_in_c_leave_it_alone() -> None:
    for kind in (Isles, *Isles._KINDS.values()):
        assert not kind._MAY_BE_IN_C


def test_more_ranks_than_numbers_are_everyones_error() -> None:
    world_package.world_package("world: Pair\nentity: {shard_bits: 1}\nshards: {}\n", "shards_pair")
    pair: Any = sys.modules["shards_pair"]

    def rank(comm: ThreadComm) -> None:
        error = ValueError if comm.rank == 2 else pair.ShardError
        with pytest.raises(error, match="shard 2, wanted 0 to 1"):
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
