"""The map from handles to slots: numbers of 64 bits, many at once."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.shards import handle_map as lookup
from ecsgen_runtime.shards.handle_map import HandleMap, ShardedBulk
from numpy.typing import NDArray

POOL = (np.uint64(1) << np.uint64(44)) | np.arange(4000, dtype=np.uint64) * np.uint64(3)


@pytest.fixture(params=["numpy", "numba"])
def bulk(request: pytest.FixtureRequest) -> type[ShardedBulk]:
    """Return what packages with one backend have, then those with the other."""
    if request.param == "numpy":
        return ShardedBulk
    pytest.importorskip("numba")
    compiled = importlib.import_module("ecsgen_runtime.compiled.sharded_bulk")
    found: type[ShardedBulk] = compiled.CompiledShardedBulk
    return found


def test_it_is_a_dict(bulk: type[ShardedBulk]) -> None:
    random, map_, model = np.random.default_rng(0), HandleMap(bulk), dict[int, int]()
    following = 0
    for _ in range(300):
        keys = random.permutation(POOL)[: random.integers(1, 400)]
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


@pytest.mark.parametrize(("count", "rounds"), [(100, 500), (4000, 30)])
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


@pytest.mark.parametrize("made", [lambda: POOL[:0], lambda: POOL[:1]])
def test_few(made: Callable[[], NDArray[Any]], bulk: type[ShardedBulk]) -> None:
    map_ = HandleMap(bulk)
    assert map_.add(made(), np.arange(len(made())))
    assert map_.find(made()).tolist() == list(range(len(made())))
    map_.remove(made())
    assert map_.count == 0


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
