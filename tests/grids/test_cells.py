"""Components whose rows are cells, and rows that stand on them, one call after the other."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import FullCellError, StaleIdError

from ecsgen.config import BACKENDS, Backend
from tests.support.kernel_package import built
from tests.support.world_package import world_package

SCHEMA = """\
component: Patch
grid: {shape: [4, 5], wrap: [true, false]}
fields: {grass: {type: f32, default: 1}, kind: {type: "str[4]"}, at: "i32[2]"}
---
component: Line
grid: {shape: [7], hood: axes}
fields: {x: i64}
---
component: Room
grid: {shape: [3, 4, 2], wrap: true, hood: von_neumann}
fields: {x: i64}
---
component: Sheep
on: {field: cell, capacity: 1}
fields: {cell: id<Patch>, energy: f64}
---
component: Wolf
on: cell
destroy: callback
fields: {cell: id<Patch>}
---
component: Tree
owner: none
on: {field: at, capacity: 2}
fields: {at: id<Patch>, height: i32}
---
component: Bee
on: {field: cell, capacity: 3}
fields: {cell: id<Patch>}
---
component: Rock
owner: none
lookup: sparse
on: at
fields: {at: id<Room>, PLACE: i32, CELL_FIELD_: u8}
"""
C = 2**32


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: pytest.FixtureRequest) -> Any:
    return built(SCHEMA, f"cells_{request.param}", request.param).package


@pytest.fixture
def world(package: Any) -> Any:
    return package.World()


def test_a_cells_id_says_which_it_is(world: Any) -> None:
    patch = world.patch
    assert [patch.id_of(row) for row in (0, 19)] == [C, C + 19]
    assert [patch.resolve(C + 19), C + 19 in patch, C + 20 in patch, 0 in patch] == [
        19,
        True,
        False,
        False,
    ]
    patch[C + 7].grass = 3.0
    assert patch.data.grass[7] == 3.0
    with pytest.raises(StaleIdError):
        patch[5]


def test_places_go_around_or_end(world: Any) -> None:
    grid = world.patch.grid
    assert [grid.at((4, 0)), grid.at((-1, 2)), grid.at((0, 5)), grid.at((2, -1))] == [
        C,
        C + 17,
        0,
        0,
    ]
    world.patch.wrap = (False, True)
    assert [grid.at((4, 0)), grid.at((0, 6))] == [0, C + 1]
    assert [grid.coords(id) for id in (C + 7, C + 19, 3)] == [(1, 2), (3, 4), (-1, -1)]
    assert grid.coords_many([C, 0, C + 99]).tolist() == [[0, 0], [-1, -1], [-1, -1]]


def test_places_of_any_size(world: Any) -> None:
    grid = world.patch.grid  # [4, 5], the first axis goes around
    large = np.array([[2**63 + 1, 2], [2**64 - 1, 0], [0, 2**63]], np.uint64)
    assert grid.at_many(large).tolist() == [C + 7, C + 15, 0]
    assert [
        grid.at(coordinates) for coordinates in ((2**63 + 1, 2), (2**70 - 1, 0), (0, 2**70))
    ] == [*(C + 7, C + 15, 0)]


def test_what_is_no_place_is_refused(world: Any) -> None:
    with pytest.raises(ValueError, match="shape"):
        world.patch.grid.at_many([[1, 2, 3]])
    with pytest.raises(TypeError, match="integers"):
        world.patch.grid.at_many([[0.5, 1.0]])
    for wrap in (True, (True,), (1, 0), "ab"):
        with pytest.raises(ValueError, match="wrap"):
            world.patch.wrap = wrap


def test_worlds_are_made_with_other_shapes(package: Any) -> None:
    world = package.World(patch=(2, 3), room=[1, 1, 1])
    assert (len(world.patch), len(world.room), len(world.line)) == (6, 1, 7)
    assert (world.patch.grid.shape, world.patch.wrap) == ((2, 3), (True, False))
    assert len(package.PatchManager(shape=(3, 3))) == 9
    for shape in ((3,), (0, 2), (2**20, 2**20), 5):
        with pytest.raises(ValueError, match="PatchManager"):
            package.World(patch=shape)


def test_copies_have_the_shape_and_know_who_stands_where(package: Any) -> None:
    world = package.World(patch=(2, 3))
    world.patch.wrap = (False, True)
    world.patch.data.grass = np.arange(6)
    world.spawn(1, sheep={"cell": C})
    for twin in (pickle.loads(pickle.dumps(world)), copy.deepcopy(world), copy.copy(world)):
        assert (twin.patch.grid.shape, twin.patch.wrap) == ((2, 3), (False, True))
        assert twin.patch.data.grass.tolist() == [*range(6)]
        with pytest.raises(FullCellError):
            twin.spawn(1, sheep={"cell": C})
        assert twin.sheep.near([C], 0).rows.tolist() == [0]


def naive(shape: tuple[int, ...], wrap: tuple[bool, ...], cell: int, reach: Any) -> Iterator[int]:
    """Cells in reach of one, by offset."""
    coordinates = np.unravel_index(cell, shape)
    spans = [
        range(-((s - 1) // 2), s // 2 + 1) if around else range(1 - s, s)
        for s, around in zip(shape, wrap, strict=True)
    ]
    for offset in product(*spans):
        there = [int(p) + o for p, o in zip(coordinates, offset, strict=True)]
        there = [t % s if w else t for t, s, w in zip(there, shape, wrap, strict=True)]
        if all(0 <= t < s for t, s in zip(there, shape, strict=True)) and reach(offset):
            yield int(np.ravel_multi_index(there, shape))


HOODS: dict[str, Callable[[tuple[int, ...], int], bool]] = {
    "moore": lambda o, r: max(map(abs, o)) <= r,
    "von_neumann": lambda o, r: sum(map(abs, o)) <= r,
    "axes": lambda o, r: max(map(abs, o)) <= r and sum(map(bool, o)) <= 1,
}


@pytest.mark.parametrize("hood", HOODS)
@pytest.mark.parametrize("radius", [0, 1, 2, 9])
def test_cells_around_cells(world: Any, hood: str, radius: int) -> None:
    for name in ("patch", "line", "room"):
        manager = getattr(world, name)
        shape, wrap = manager.grid.shape, manager.wrap
        ids = [*manager]
        neighbours = manager.near(ids, radius, hood=hood)
        for k, cell in enumerate(range(len(ids))):
            wanted = naive(shape, wrap, cell, lambda o: any(o) and HOODS[hood](o, radius))
            assert neighbours.rows[neighbours.starts[k] : neighbours.starts[k + 1]].tolist() == [
                *wanted
            ]


def test_the_center_is_met_if_asked_for(world: Any) -> None:
    assert world.patch.near([C + 6], 0, center=True).rows.tolist() == [6]
    assert world.patch.near([C + 6], 0).rows.tolist() == []
    assert world.line.near([C + 3], 2).rows.tolist() == [1, 2, 4, 5]


def test_bad_questions(world: Any) -> None:
    with pytest.raises(StaleIdError):
        world.patch.near([C, 7], 1)
    for radius, hood in ((-1, "moore"), (0.5, "moore"), (1, "hexagons"), (1, "")):
        with pytest.raises(ValueError, match=r"radius|hood"):
            world.patch.near([C], radius, hood=hood)
    for manager in (world.patch, world.sheep):
        with pytest.raises(TypeError, match="radius"):
            manager.near([C], True)
    with pytest.raises(ValueError, match="center"):
        world.sheep.near([C], 1, center=True)


def test_rows_around_cells_are_those_who_stand_there(world: Any) -> None:
    es = world.spawn(4, wolf={"cell": [C + 1, C, C + 1, 0]})
    assert world.wolf.near([C + 1, C, C + 2, C + 12], 0).rows.tolist() == [0, 2, 1]
    around = world.wolf.near([C + 1], 1)
    assert around.rows.tolist() == [1, 0, 2]
    world.entities.destroy(int(es[0]))
    assert world.wolf.near([C + 1], 0).rows.tolist() == [2]  # the last row filled the hole
    world.wolf.set_cell(2, C + 2)
    assert world.wolf.near([C + 1, C + 2], 0).starts.tolist() == [0, 0, 1]


@pytest.mark.parametrize("hood", HOODS)
def test_around_no_cell_is_nobody(world: Any, hood: str) -> None:
    world.spawn(3, wolf={"cell": [C, C + 1, 0]})
    for manager in (world.wolf, world.patch):
        for radius in (0, 1, 9):
            starts, rows = manager.near([0, C, 0, C + 1, 0], radius, hood=hood)
            first, second = (manager.near([c], radius, hood=hood).rows.tolist() for c in (C, C + 1))
            assert rows.tolist() == first + second
            n = len(first)
            assert starts.tolist() == [0, 0, n, n, len(rows), len(rows)]
    assert [*map(len, world.wolf.near([0], 0))] == [2, 0]
    assert world.patch.near([0, C + 6], 0, center=True).starts.tolist() == [0, 0, 1]
    for cell in (C - 1, C + 20, 2 * C):
        with pytest.raises(StaleIdError):
            world.patch.near([0, cell], 1)


def test_full_cells_take_nobody(world: Any) -> None:
    es = world.spawn(3, sheep={"cell": [C, C + 1, 0]})
    with pytest.raises(FullCellError, match="row 3 cannot stand on cell 0x100000001"):
        world.spawn(1, sheep={"cell": C + 1})
    with pytest.raises(FullCellError, match="row 4"):
        world.spawn(2, sheep={"cell": C + 5})
    with pytest.raises(FullCellError):
        world.sheep.set_cell(2, C)
    with pytest.raises(FullCellError):
        world.sheep.data.cell = [C, C, 0]
    assert world.sheep.data.cell.tolist() == [C, C + 1, 0]
    assert len(world.entities) == 3
    world.sheep.set_cell(0, C)  # its own
    world.sheep.remove(int(es[1]))
    world.sheep.set_cell(1, C + 1)
    assert world.sheep.data.cell.tolist() == [C, C + 1]


def test_the_dead_leave_room_for_several(world: Any) -> None:
    es = world.spawn(3, bee={"cell": C})
    world.destroy_many(es[:2])
    with pytest.raises(FullCellError):
        world.spawn(3, bee={"cell": C})
    world.spawn(2, bee={"cell": C})
    with pytest.raises(FullCellError):
        world.bee.create(world.entities.create(), cell=C)


def test_what_is_no_cell_is_refused(world: Any) -> None:
    for cell in (5, C + 20, 2 * C):
        with pytest.raises(StaleIdError):
            world.spawn(1, sheep={"cell": cell})
        with pytest.raises(StaleIdError):
            world.tree.create(at=cell)
    with pytest.raises(StaleIdError):
        world.tree.create_many(2, at=[C, 9])
    assert len(world.tree) == len(world.entities) == 0
    world.spawn(1, sheep={"cell": C}, wolf={"cell": C})
    for manager, cell in product((world.sheep, world.wolf), (5, C + 20, 2 * C)):
        with pytest.raises(StaleIdError):
            manager.set_cell(0, cell)
        with pytest.raises(StaleIdError):
            manager.data.cell = [cell]
        assert manager.data.cell.tolist() == [C]


def test_rows_of_nobody_stand_as_well(world: Any) -> None:
    first = world.tree.create(at=C)
    world.tree.create_many(2, at=[C, C + 1])
    with pytest.raises(FullCellError):
        world.tree.create(at=C)
    world.tree.destroy_id(first)
    world.tree.create(at=C)
    assert world.tree.near([C, C + 1], 0).starts.tolist() == [0, 2, 3]


def test_fields_are_called_as_they_like(world: Any) -> None:
    world.rock.create(at=C + 1, PLACE=-1, CELL_FIELD_=3)
    world.rock.create(at=C + 1)
    assert world.rock.data.PLACE.tolist() == [-1, 0]
    assert world.rock.near([C + 1], 0).rows.tolist() == [0, 1]


def test_columns_are_read_only(world: Any) -> None:
    world.spawn(1, sheep={"cell": C})
    with pytest.raises(ValueError, match="read-only"):
        world.sheep.data.cell[0] = C + 1


def test_the_manager_makes_no_cells(world: Any) -> None:
    lacking = "create create_many destroy destroy_many clear reserve shrink_to_fit sort reorder"
    lacking += " destroy_id destroy_id_many remove ensure gc collect"
    assert [name for name in lacking.split() if hasattr(world.patch, name)] == []


BESIDE = """\
component: Spot
grid: {shape: [3, 3]}
fields: {}
---
component: Moth
on: at
fields: {at: id<Spot>, met: i64, one: entity}
kernels:
  meet: {near: 0, turns: rows, steps: ["met = count()"]}
  pick: {turns: rows, steps: ["one = choice(Moth)"]}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_dead_of_a_manager_beside_the_world(backend: Backend) -> None:
    """The world has not collected their rows, whatever it has collected of its own."""
    package = world_package(BESIDE, f"beside_{backend}", backend)
    world = package.World()
    moths = package.MothManager(world.entities, world.spot)
    es = world.entities.create_many(4)
    moths.create_many(es, at=[C, C, C, C + 1])
    world.entities.destroy(es[1])
    world.collect()
    moths.meet()
    assert [moths.met(row) for row in (0, 2, 3)] == [1, 1, 0]
    for _ in range(20):
        moths.pick()
        assert int(es[1]) not in moths.data.one.tolist()
    assert moths.near([C], 0).rows.tolist() == [0, 2]


STENCIL = """\
component: Tile
grid: {shape: [9, 8], wrap: [true, false]}
fields: {h: f32, g: f64, k: i32, l: i64}
kernels:
  average:
    near: 1
    steps:
      - g = mean(other.h + f32(distance))
      - k = i32(count()) + i32(count(other.h > h)) * 100
      - l = i64(sum(other.k)) if count() > 3 else 7
"""


@pytest.mark.parametrize("side", [2, 3, 9])
def test_what_is_asked_of_all_cells_around(side: int) -> None:
    """Of how many there are nobody makes a list; at the rim they are fewer."""
    columns = []
    for backend in BACKENDS:
        tiles = world_package(STENCIL, f"tiles_{backend}", backend).World(tile=(side, 8)).tile
        tiles.data.h = np.random.default_rng(side).random(8 * side)
        for _ in range(3):
            tiles.average()
        columns.append([getattr(tiles.data, name).tolist() for name in "gkl"])
    assert columns[0] == columns[1]
    assert min(columns[0][1]) % 100 < max(count % 100 for count in columns[0][1])


TELLING = """component: Tile
grid: {shape: [5, 6]}
fields: {hear: id<Tile>, got: i32, met: i64}
kernels:
  tell: {near: 1, steps: [met += count(other.met > 0), hear.got += i32(met + 1)]}
"""


@pytest.mark.parametrize("wrap", [(True, True), (False, True), (True, False)])
def test_cells_of_all_kinds_are_heard(wrap: tuple[bool, bool]) -> None:
    """Inside, at the seam of an axis that goes around, and at the rim."""
    for backend in BACKENDS:
        tiles = world_package(TELLING, f"telling_{backend}", backend).World().tile
        tiles.wrap = wrap
        tiles.data.hear = tiles.id_of_many(np.arange(30) * 7 % 30)
        tiles.tell()
        assert tiles.data.got.tolist() == [1] * 30


def test_a_radius_below_all_others() -> None:
    seeing = """\
component: Patch
grid: {shape: [5, 4]}
fields: {see: i64, met: i64}
kernels: {look: {near: {radius: see, among: Patch}, steps: [met = count()]}}
"""
    for backend in BACKENDS:
        patches = world_package(seeing, f"seeing_{backend}", backend).World().patch
        for least in ([-(2**63)] * 20, [-(2**63)] * 19 + [1]):
            patches.data.see = least
            patches.look()
            assert patches.data.met.tolist() == [0] * 19 + [3 * (least[-1] > 0)]


@pytest.mark.parametrize("grid_name", ["line", "none", "number"])
def test_a_manager_takes_the_grid_that_its_cells_are_of(package: Any, grid_name: str) -> None:
    grid = {"line": package.LineManager(), "none": None, "number": 5}[grid_name]
    with pytest.raises(TypeError, match="grid must be a PatchManager, not "):
        package.SheepManager(package.EntityManager(), grid)
    with pytest.raises(TypeError, match="grid must be a PatchManager, not "):
        package.TreeManager(grid)

    class Mine(package.PatchManager):  # type: ignore[misc]
        __slots__ = ()

    assert len(package.SheepManager(package.EntityManager(), Mine())) == 0
    assert len(package.TreeManager(package.PatchManager())) == 0
