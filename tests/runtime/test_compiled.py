"""Functions that compiled kernels call, and bulk work on many rows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import StaleInstanceError
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.managers.policies.direct import Direct
from ecsgen_runtime.managers.policies.lookup_maps import sparse_map
from ecsgen_runtime.shards.handle_map import HandleMap, ShardedBulk
from ecsgen_runtime.tables.bulk import Bulk
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecsgen.config import BACKENDS
from ecsgen.render.package_files import entities_module
from tests.support.kernel_package import differing
from tests.support.soak import examples
from tests.support.world_package import load, world_package

pytest.importorskip("numba")

from ecsgen_runtime.kernels import compiled_arithmetic, compiled_references
from ecsgen_runtime.shards.compiled_handle_map import CompiledShardedBulk
from ecsgen_runtime.tables.compiled_bulk import CompiledBulk, distinct_rows

SPECIAL = [0.0, -0.0, 1, -1, 3, -3, 0.5, -0.5, 0.1, 7, 1e30, -1e30, 1e-30, 255.5]
FLOATS = [*SPECIAL, np.inf, -np.inf, np.nan, 2.0**63, -(2.0**63), 2.0**64, 2.0**53 + 2]
MASK = 0xFFFF_FFFF


def pairs(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    left, right = np.meshgrid(values, values)
    return left.ravel(), right.ravel()


@pytest.mark.parametrize(
    ("rows", "expected"), [([7], [17, 18, 19]), (range(0, 60, 2), [20, 22, 24])]
)
def test_rows_of_a_block_are_consecutive_or_scattered(
    rows: Sequence[int], expected: list[int]
) -> None:
    """Of consecutive rows only the first is stored."""
    block = compiled_references.rows_of_block(np.array(rows, np.intp), 10, 13)
    assert [compiled_references.row_at(block, k) for k in range(3)] == expected


@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("compiled", "ufunc"),
    [
        (compiled_arithmetic.remainder, np.remainder),
        (compiled_arithmetic.floor_divide, np.floor_divide),
        (compiled_arithmetic.minimum, np.minimum),
        (compiled_arithmetic.maximum, np.maximum),
    ],
    ids=["remainder", "floor_divide", "minimum", "maximum"],
)
def test_floats(scalar: Any, compiled: Callable[..., Any], ufunc: Any) -> None:
    random = np.random.default_rng(1)
    drawn = random.standard_normal(40) * 10.0 ** random.integers(-3, 4, 40)
    left, right = pairs(np.array([*FLOATS, *drawn], scalar))
    results = np.array([compiled(a, b) for a, b in zip(left, right, strict=True)], scalar)
    with np.errstate(all="ignore"):
        expected = ufunc(left, right)
    if ufunc in (np.minimum, np.maximum):  # of two zeros, either
        results, expected = results + 0, expected + 0
    assert not differing(results, expected).any()


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_integers_neither_trap_nor_raise(name: str) -> None:
    left, right = pairs(np.array([-(2**63), 2**63 - 1, 0, 1, -1, 5, -5, 7]))
    compiled = getattr(compiled_arithmetic, f"{name}_int64")
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(left, right)
    results = [compiled(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    assert results == expected.tolist()


def test_floats_cut_to_integers() -> None:
    cut = compiled_arithmetic.as_int64
    assert [cut(x) for x in (1.9, -1.9, np.nan, np.inf, -np.inf, 2.0**63)] == [
        *(1, -1, 0, 2**63 - 1, -(2**63), 2**63 - 1)
    ]
    assert [
        int(compiled_arithmetic.as_uint64(x)) for x in (-1.0, 2.0**63, 2.0**64, np.nan)
    ] == [*(0, 2**63, 2**64 - 1, 0)]
    assert compiled_arithmetic.between(300.0, 0.0, 255.0) == 255.0


def test_powers_wrap() -> None:
    for base in (3, -7, 2**40 + 1):
        wrapped = (pow(base, 5) + 2**63) % 2**64 - 2**63
        assert compiled_arithmetic.whole_power(base, 5) == wrapped
    assert compiled_arithmetic.whole_power(np.uint64(2**63 + 3), 0) == 1


handles = st.builds(lambda generation, index: generation << 32 | index, *[st.integers(0, 40)] * 2)


@settings(deadline=None, max_examples=examples(100))
@given(
    owners=st.lists(st.integers(0, 40), unique=True, max_size=20),
    asked=st.lists(handles | st.integers(0, 2**64 - 1), max_size=30),
    size=st.integers(0, 64),
)
def test_lookups(owners: list[int], asked: list[int], size: int) -> None:
    indices = np.array([index for index in owners if index < size], np.uint64)
    column = indices | np.uint64(3 << 32)
    rows_of = sparse_map(size)
    rows_of[indices.view(np.intp)] = np.arange(len(indices))
    entities = np.array([*column.tolist(), *asked], np.uint64)
    rows = CompiledBulk.sparse_lookup(rows_of, column, entities, MASK)
    assert rows.tolist() == Bulk.sparse_lookup(rows_of, column, entities, MASK).tolist()
    assert rows.dtype == np.intp
    by_index = np.zeros(size, np.uint64)
    by_index[indices.view(np.intp)] = column
    rows = CompiledBulk.direct_lookup(by_index, entities, MASK)
    assert rows.tolist() == Bulk.direct_lookup(by_index, entities, MASK).tolist()
    assert all(row == NIL or by_index[row] == e for row, e in zip(rows, entities, strict=True))


@pytest.mark.parametrize("n", [64, 10_000])
def test_distinct_rows(n: int) -> None:
    random = np.random.default_rng(n)
    for count in range(41):
        for rows in (random.permutation(64)[:count], random.integers(0, 64, count)):
            distinct = sorted({*rows.tolist()})
            assert distinct_rows(rows, n).tolist() == distinct
            if len(distinct) == count:
                assert CompiledBulk.sort_distinct(rows, n, "M").tolist() == distinct
                assert Bulk.sort_distinct(rows, n, "M").tolist() == distinct
                continue
            messages = set()
            for function in (CompiledBulk.sort_distinct, Bulk.sort_distinct):
                with pytest.raises(StaleInstanceError) as caught:
                    function(rows, n, "M")
                messages.add(str(caught.value))
            assert len(messages) == 1


class Scene:
    """Natives, visitors and dead ones of both, in cells and a table; rows of some of them."""

    def __init__(self, random: np.random.Generator, count: int) -> None:
        n_cells = 2 * count + 2  # even, as always
        cells = np.zeros(n_cells, np.uint64)
        cells[0] = 1 << 44 | 1  # as always
        order = random.permutation(np.arange(1, n_cells))
        natives, visited = order[:count], order[count : count + count // 2]
        natives_es = natives.view(np.uint64) | random.integers(1, 3, count).astype(np.uint64) << 44
        cells[natives] = natives_es
        far = random.integers(0, 4 * n_cells, len(visited)).astype(np.uint64)
        origin = np.uint64(1) << 44 | np.uint64(1) << 32
        self.visitors, first = np.unique(far | origin, return_index=True)
        visited = visited[first]
        cells[visited] = self.visitors
        cells[visited[::3]] = visited[::3].view(np.uint64) ^ 1  # these have died
        map_ = HandleMap(ShardedBulk)
        map_.add(self.visitors, visited)
        self.cells, self.table = cells, map_.table
        handles = np.concatenate((natives_es, self.visitors))
        owners = random.permutation(handles)[: len(handles) // 2]
        rows_of = np.full(random.integers(1, n_cells + 1), NIL, np.uint32)
        places = ShardedBulk.slots_of(cells, self.table, owners, MASK)[0]
        owners = owners[places < len(rows_of)]
        rows_of[places[places < len(rows_of)]] = np.arange(len(owners))
        self.owners, self.rows_of = owners, rows_of
        self.known = random.permutation(handles)
        odd = np.array([0, 1, (1 << 64) - 1, 5, 1 << 44], np.uint64)
        stale = handles[:5] + (np.uint64(1) << 44)
        self.asked = random.permutation(np.concatenate((handles, odd, stale)))


@pytest.mark.parametrize("count", [1, 2, 10, 500])
def test_slots_and_rows(count: int) -> None:
    random = np.random.default_rng(count)
    for _ in range(40):
        it = Scene(random, count)
        asked: Any
        for asked in (it.known, it.asked, it.asked[:0], it.visitors):
            ways = [it.cells, it.table, asked, MASK]
            expected, are_alive = ShardedBulk.slots_of(*ways)
            slots, are_too = CompiledShardedBulk.slots_of(*ways)
            assert slots.tolist() == expected.tolist()
            assert are_too == are_alive
            here = ShardedBulk.are_local(*ways)
            assert CompiledShardedBulk.are_local(*ways).tolist() == here.tolist()
            assert here.all() == are_alive
            rows = CompiledShardedBulk.rows_in(it.rows_of, it.owners, asked, slots)
            assert (
                rows.tolist() == ShardedBulk.rows_in(it.rows_of, it.owners, asked, slots).tolist()
            )
            ways = [it.rows_of, it.owners, it.table, asked, MASK]
            rows = CompiledShardedBulk.lookup_with_foreign(*ways)
            assert rows.tolist() == ShardedBulk.lookup_with_foreign(*ways).tolist()
            model = {e: row for row, e in enumerate(it.owners.tolist())}
            assert rows.tolist() == [model.get(e, NIL) for e in asked.tolist()]


def test_rows_in_order() -> None:
    random = np.random.default_rng(0)
    for n in (1, 63, 64, 65, 1000):
        for _ in range(30):
            rows = random.permutation(n)[: random.integers(0, n + 1)]
            expected = sorted(rows.tolist())
            assert CompiledShardedBulk.ascending(rows, n).tolist() == expected
            assert ShardedBulk.ascending(rows, n).tolist() == expected
            assert CompiledShardedBulk.all_distinct_below(rows, n)
            assert ShardedBulk.all_distinct_below(rows, n)
            if len(rows):
                twice = random.permutation(np.concatenate((rows, rows[:1])))
                assert not CompiledShardedBulk.all_distinct_below(twice, n)
                assert not ShardedBulk.all_distinct_below(twice, n)


SCHEMA = """
component: Mote
fields: {x: f32}
---
component: Tile
lookup: direct
fields: {x: f32}
"""


def test_packages_of_both_backends_share_the_library() -> None:
    for backend, bulk in zip(BACKENDS, (Bulk, CompiledBulk), strict=True):
        package = world_package(SCHEMA, f"motes_{backend}", backend)
        assert issubclass(package.TileManager, Direct)
        world = package.World()
        es = world.entities.create_many(100)
        for manager in (world.mote, world.tile):
            assert manager.data.BULK is bulk
            manager.create_many(es)
            assert manager.lookup_many(es).tolist() == [manager.lookup(e) for e in es.tolist()]


def test_the_entities_of_compiled_shards() -> None:
    world = load("world: Isles\nshards: {}\n").world
    assert "    BULK: ClassVar = CompiledShardedBulk\n" in entities_module(world, compiled=True)
    assert "Bulk" not in entities_module(world, compiled=False)


WRAPS = """
import numpy as np
from ecsgen_runtime.kernels import compiled_arithmetic as arithmetic
from ecsgen_runtime.kernels import compiled_chunk_blocks as compiled_chunks
from ecsgen_runtime.kernels import compiled_random_streams as chance

stem = chance.stream_key(np.uint64(2**63 + 12345), np.uint64(2**64 - 1))
chance.random_at(stem, 1), chance.normal_at(stem, 2), chance.range_at(stem, 3, 10)
chance.turn_order(np.arange(50, dtype=np.uint64), np.uint64(2**63 + 1))
least, one = np.int64(-(2**63)), np.int64(1)
print(arithmetic.add_int64(-one, one), arithmetic.subtract_int64(least, one))
print(arithmetic.multiply_int64(-one, one), arithmetic.whole_power(np.int64(-1), 3))
cells = np.arange(3, dtype=np.int32)
print(compiled_chunks.cells_at(np.intp(cells.ctypes.data), 3, np.int32).tolist())
"""


def test_what_loops_call_runs_and_warns_of_nothing_where_numba_is_off() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", WRAPS],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert (ran.stderr, ran.stdout) == ("", "0 9223372036854775807\n-1 -1\n[0, 1, 2]\n")
