"""What is done for many rows at once: compiled as by numpy, and each package as it asks for it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.bulk import Bulk
from ecsgen_runtime.handles import NIL
from ecsgen_runtime.policies.direct import Direct
from ecsgen_runtime.shards.handle_map import HandleMap, ShardedBulk

from ecsgen.config import Backend
from ecsgen.render.package_files import entities_module
from tests.support.world_package import load, sources

pytest.importorskip("numba")

from ecsgen_runtime.compiled.compiled_bulk import CompiledBulk
from ecsgen_runtime.compiled.sharded_bulk import CompiledShardedBulk

MASK = 0xFFFF_FFFF


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
        made = np.uint64(1) << 44 | np.uint64(1) << 32
        self.visitors, first = np.unique(far | made, return_index=True)
        visited = visited[first]
        cells[visited] = self.visitors
        cells[visited[::3]] = visited[::3].view(np.uint64) ^ 1  # these have died
        map_ = HandleMap(ShardedBulk)
        map_.add(self.visitors, visited)
        self.cells, self.table = cells, map_.table
        whole = np.concatenate((natives_es, self.visitors))
        owners = random.permutation(whole)[: len(whole) // 2]
        rows_of = np.full(random.integers(1, n_cells + 1), NIL, np.uint32)
        places = ShardedBulk.slots_of(cells, self.table, owners, MASK)[0]
        owners = owners[places < len(rows_of)]
        rows_of[places[places < len(rows_of)]] = np.arange(len(owners))
        self.owners, self.rows_of = owners, rows_of
        self.known = random.permutation(whole)
        odd = np.array([0, 1, (1 << 64) - 1, 5, 1 << 44], np.uint64)
        stale = whole[:5] + (np.uint64(1) << 44)
        self.asked = random.permutation(np.concatenate((whole, odd, stale)))


@pytest.mark.parametrize("count", [1, 2, 10, 500])
def test_slots_and_rows(count: int) -> None:
    random = np.random.default_rng(count)
    for _ in range(40):
        it = Scene(random, count)
        asked: Any
        for asked in (it.known, it.asked, it.asked[:0], it.visitors):
            ways = [it.cells, it.table, asked, MASK]
            expected, are_alive = ShardedBulk.slots_of(*ways)
            found, are_too = CompiledShardedBulk.slots_of(*ways)
            assert found.tolist() == expected.tolist()
            assert are_too == are_alive
            here = ShardedBulk.are_here(*ways)
            assert CompiledShardedBulk.are_here(*ways).tolist() == here.tolist()
            assert here.all() == are_alive
            rows = CompiledShardedBulk.rows_in(it.rows_of, it.owners, asked, found)
            assert (
                rows.tolist() == ShardedBulk.rows_in(it.rows_of, it.owners, asked, found).tolist()
            )
            ways = [it.rows_of, it.owners, it.table, asked, MASK]
            rows = CompiledShardedBulk.visited_rows(*ways)
            assert rows.tolist() == ShardedBulk.visited_rows(*ways).tolist()
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
            assert CompiledShardedBulk.are_distinct_below(n, rows)
            assert ShardedBulk.are_distinct_below(n, rows)
            if len(rows):
                twice = random.permutation(np.concatenate((rows, rows[:1])))
                assert not CompiledShardedBulk.are_distinct_below(n, twice)
                assert not ShardedBulk.are_distinct_below(n, twice)


SCHEMA = """
component: Mote
fields: {x: f32}
---
component: Tile
lookup: direct
fields: {x: f32}
"""


def over_the_library(name: str, backend: Backend) -> Any:
    """Return a package that imports the library instead of having copies of it."""
    folder = Path(mkdtemp())
    for path, text in sources(load(SCHEMA), backend).items():
        if not path.startswith("_runtime/"):
            file = folder / name / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(text.replace("from ._runtime.", "from ecsgen_runtime."), "utf-8")
    (folder / name / "__init__.py").write_text("", "utf-8")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{name}.world")
    finally:
        sys.path.remove(str(folder))


def test_packages_of_both_backends_share_the_library() -> None:
    worlds = [over_the_library("motes_numba", "numba"), over_the_library("motes_numpy", "numpy")]
    assert issubclass(worlds[0].TileManager, Direct)
    assert issubclass(worlds[1].TileManager, Direct)
    for package, bulk in zip(worlds, (CompiledBulk, Bulk), strict=True):
        world = package.World()
        es = world.entities.create_many(100)
        for manager in (world.mote, world.tile):
            assert manager.data._BULK is bulk
            manager.create_many(es)
            assert manager.lookup_many(es).tolist() == [manager.lookup(e) for e in es.tolist()]


def test_the_entities_of_compiled_shards() -> None:
    world = load("world: Isles\nshards: {}\n").world
    assert "    _BULK: ClassVar = CompiledShardedBulk\n" in entities_module(world, compiled=True)
    assert "Bulk" not in entities_module(world, compiled=False)
