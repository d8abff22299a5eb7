"""on: rows that stand on the cells of a grid, as a field of theirs says, and how many may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import FullCellError
from ...base.handles import Columns, Id, RowArray
from ...base.specialisation import NO_SLOTS
from ...entities.entity_manager import EntityManagerBase
from ...managers.manager import Manager
from ...managers.policies.ids import stale_id_error
from ...managers.policies.owners import Owned, Unowned
from ...tables.columns import OwnedRows, Rows
from ..spaces.spatial import Neighbours
from .grid_layout import FIRST_CELL, NO_CELL, cells_of_ids
from .grid_manager import GridManager
from .neighbourhoods import (
    neighbour_cell_pairs,
    occupant_pairs,
    pairs_to_neighbours,
    parse_cells,
    parse_radius_and_hood,
    rows_by_cell,
)

CellCounts = NDArray[np.int64]


class CellOccupants:
    """Who stands where: made anew when it is asked for after something changed."""

    whose: ref[Occupant]
    """The manager of the rows."""

    def __init__(self) -> None:
        self.moves = 0
        """How often rows went to other cells, beside those that came and went themselves."""
        self.counts: CellCounts | None = None
        """How many rows stand on each cell, where there is a capacity; None if nobody knows."""
        self.deaths = -1
        """Up to which death the dead are left out of the counts."""
        self.excludes_dead = False
        """Whether there were any."""
        self.order: tuple[RowArray, RowArray] | None = None
        self.stamp: tuple[int, ...] = ()

    def forget(self) -> None:
        """Take note that any row may be anywhere."""
        self.moves += 1
        self.counts = None


class OccupantRows(Rows):
    """Rows of which a field says where they stand; its column is read-only."""

    __slots__ = NO_SLOTS
    _CELL_FIELD: ClassVar[str]
    """The field."""
    _CELL_CAPACITY: ClassVar[int] = 0
    """How many rows may stand on a cell; 0: any number."""
    _cell_occupants: CellOccupants
    _cell_ids: NDArray[np.uint64]

    def _init_empty(self) -> None:
        super()._init_empty()
        self._cell_occupants = CellOccupants()

    def _use_buffer(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        super()._use_buffer(buffer, capacity)
        self._cell_ids = getattr(self, f"_{self._CELL_FIELD}_column")

    def _drop_row_caches(self) -> None:
        super()._drop_row_caches()
        self._cell_occupants.forget()

    def _assign_values(self, name: str, bound: int, cells: NDArray[Any]) -> None:
        """Write checked values that broadcast to the rows before a bound; O(n)."""
        if name == self._CELL_FIELD:
            rows = np.arange(bound)
            self._move_to(rows, np.broadcast_to(cells, bound))
        else:
            super()._assign_values(name, bound, cells)  # type: ignore[misc]  # of unique ones

    def _write_values(self, name: str, rows: RowArray, cells: NDArray[Any]) -> None:
        """Write a checked value to each of these distinct rows; O(n)."""
        if name == self._CELL_FIELD:
            self._move_to(rows, cells)
        else:
            super()._write_values(name, rows, cells)  # type: ignore[misc]  # of unique ones

    def _move_to(self, rows: RowArray, ids: NDArray[np.uint64]) -> None:
        """Let rows stand elsewhere, or raise; they may exchange cells."""
        manager = self._cell_occupants.whose()
        if manager is None:
            raise ReferenceError("the manager of these columns is gone")
        after = self._cell_ids[: self._n].copy()
        after[rows] = ids
        manager._check_cells(after, rows)
        self._cell_ids[rows] = ids
        self._cell_occupants.forget()


class Occupant(Manager):
    """A manager whose rows stand on cells."""

    __slots__ = NO_SLOTS
    _BEFORE_REMOVE: ClassVar[tuple[str, ...]] = ("_count_exits",)
    _ALLOWS_ONE_BY_ONE: ClassVar[bool] = False
    _ACCEPTS_ANY_VALUES: ClassVar[bool] = False
    data: OccupantRows
    _ROWS: ClassVar[type[OccupantRows]]
    _GRIDS: ClassVar[type[GridManager]] = GridManager
    """The package's class of managers of these cells; older packages do not say."""
    _grid: Any  # the package's own manager of cells

    def _init_transient(self) -> None:
        super()._init_transient()
        self.data._cell_occupants.whose = ref(self)

    def _stand_on(self, grid: object) -> None:
        """Take the grid that cells are of; TypeError for another one, or none."""
        if not isinstance(grid, self._GRIDS):
            label, wanted = type(self).__name__, self._GRIDS.__name__
            raise TypeError(f"{label}: grid must be a {wanted}, not {type(grid).__name__}")
        self._grid = grid

    def near(
        self, cells: ArrayLike, radius: int, hood: str | None = None, center: bool = False
    ) -> Neighbours:
        """Return the rows that stand in reach of each of k cells; O(n + cells), after that
        O(found) as long as nothing changes.

        In the order of offsets, the first axis slowest, on a cell in row order; its own cell
        is in reach. Dead entities' rows stand nowhere.

        Raises:
            StaleIdError: one of them is no cell.
            ValueError: a radius below 0, another hood, or `center`, which is of cells.
            TypeError: a bool as radius.
        """
        label = f"{type(self).__name__}.near"
        if center:
            raise ValueError(f"{label}: center: who stands on a cell is in reach of it")
        given = parse_cells(self._grid, label, cells)
        asked = self._grid._HOOD if hood is None else hood
        reach = parse_radius_and_hood(label, radius, asked)
        pairs = neighbour_cell_pairs(self._grid._layout, given, reach, asked, center=True)
        return pairs_to_neighbours(occupant_pairs(pairs, *self._occupants()), len(given))

    # --- who stands where ------------------------------------------------------------------

    def _cells_now(self, ids: NDArray[np.uint64] | None = None) -> RowArray:
        """Return the cell of each row, by its own id or by given ones, -1 of those that stand
        nowhere."""
        given = self.data._cell_ids[: self.data._n] if ids is None else ids
        cells = cells_of_ids(given, len(self._grid))
        gone = self._off_grid_rows()
        if gone is not None:
            cells[gone] = NO_CELL
        return cells

    def _off_grid_rows(self, rows: slice | RowArray = slice(None)) -> NDArray[np.bool_] | None:
        """Return which rows stand nowhere, because their entities are dead; None: none of them."""
        return None

    @property
    def _despawn_count(self) -> int:
        """How many entities have died."""
        return 0

    @property
    def _stamp(self) -> tuple[int, ...]:
        """What is another when somebody may stand elsewhere."""
        return self.data._version, self.data._cell_occupants.moves, self._despawn_count

    def _occupants(self) -> tuple[RowArray, RowArray]:
        """Return all that stand by cell, in row order: those of cell k are `rows[starts[k] :
        starts[k + 1]]`. O(n + cells) after a change."""
        crowd, stamp = self.data._cell_occupants, self._stamp
        if crowd.order is None or crowd.stamp != stamp:
            crowd.order = rows_by_cell(self._cells_now(), len(self._grid))
            crowd.stamp = stamp
        return crowd.order

    def _counted(self) -> CellCounts:
        """Return how many rows stand on each cell; O(n + cells) if nobody knows."""
        crowd = self.data._cell_occupants
        if crowd.counts is None:
            crowd.counts = self._count_all(self._cells_now())
            crowd.deaths = self._despawn_count
            crowd.excludes_dead = self._off_grid_rows() is not None
        return crowd.counts

    def _has_room_on(self, cell: int, count: int = 1) -> bool:
        """Return whether so many more rows may stand on a cell; O(1) but after deaths."""
        crowd, most = self.data._cell_occupants, self.data._CELL_CAPACITY - count
        if self._counted()[cell] > most and crowd.deaths != self._despawn_count:
            crowd.counts = None
        return bool(self._counted()[cell] <= most)

    # --- one row ---------------------------------------------------------------------------

    def _check_can_enter(self, cell: int, row: int | None = None) -> None:
        """Raise unless a row, by default a new one, may come to a cell; O(1)."""
        if cell:
            place = self._cell_of_id(cell)
            stands = row is None or self._off_grid_rows(np.array([row])) is None
            if self.data._CELL_CAPACITY and stands and not self._has_room_on(place):
                raise self._full(place, self.data._n if row is None else row)

    def _cell_of_id(self, id: int) -> int:
        """Return the number of a cell, or raise StaleIdError."""
        place = id - FIRST_CELL
        if not 0 <= place < len(self._grid):
            raise stale_id_error(type(self._grid).__name__, Id(id))
        return place

    def _full(self, cell: int, row: int) -> FullCellError:
        grid, most = type(self._grid).__name__, self.data._CELL_CAPACITY
        coords = self._grid.grid.coords(Id(FIRST_CELL + cell))
        where = f"cell {FIRST_CELL + cell:#x} of {grid}, at {coords}"
        return FullCellError(
            f"{type(self).__name__}: row {row} cannot stand on {where}: {most} may"
        )

    def _count_entry(self, row: int) -> None:
        crowd = self.data._cell_occupants
        if crowd.counts is not None:
            place = int(self.data._cell_ids[row]) - FIRST_CELL
            if place >= 0:
                crowd.counts[place] += 1

    def _count_exit(self, row: int) -> None:
        """Count a row no more that goes."""
        crowd = self.data._cell_occupants
        if crowd.excludes_dead:
            crowd.counts = None  # which of them were counted, nobody knows
        elif crowd.counts is not None:
            place = int(self.data._cell_ids[row]) - FIRST_CELL
            if place >= 0:
                crowd.counts[place] -= 1

    def _set_value(self, name: str, row: int, value: Any) -> None:
        """Write a checked value to a row in use, or raise; O(1)."""
        data = self.data
        if name != data._CELL_FIELD:
            super()._set_value(name, row, value)  # type: ignore[misc]  # of a unique one
            return
        before = int(data._cell_ids[row])
        if value == before:
            return
        self._check_can_enter(value, row)
        self._count_exit(row)
        data._cell_ids[row] = value
        self._count_entry(row)
        data._cell_occupants.moves += 1

    # --- many rows -------------------------------------------------------------------------

    def _check_cells(self, ids: NDArray[np.uint64], rows: RowArray) -> None:
        """Raise unless all rows may stand on these cells, to which some have gone; O(n)."""
        cells = self._known_many(ids[rows])
        if not self.data._CELL_CAPACITY:
            return
        after = self._cells_now(ids)
        place = self._first_over(self._count_all(after), after[rows])
        if place is not None:
            raise self._full(int(cells[place]), int(rows[place]))

    def _known_many(self, ids: NDArray[np.uint64]) -> RowArray:
        """Return the cells, -1 for 0, or raise StaleIdError."""
        cells = cells_of_ids(ids, len(self._grid))
        strange = (cells < 0) & (ids != 0)
        if strange.any():
            first = int(ids[strange.argmax()])
            raise stale_id_error(type(self._grid).__name__, Id(first))
        return cells

    def _first_over(self, counts: CellCounts, cells: RowArray) -> int | None:
        """Return the first of some rows' places on a cell with too many, if there is one."""
        most = self.data._CELL_CAPACITY
        over = (cells >= 0) & (counts[cells] > most) if most else np.False_
        return int(over.argmax()) if over.any() else None

    def _count_all(self, cells: RowArray) -> CellCounts:
        return np.bincount(cells[cells >= 0], minlength=len(self._grid))

    def _convert(self, count: int, given: Mapping[str, Any]) -> Columns:
        """Check that the new rows may stand where their columns say, too; O(k log k)."""
        columns = super()._convert(count, given)
        cells = self._known_many(np.broadcast_to(columns[self.data._CELL_FIELD], count))
        if not self.data._CELL_CAPACITY:
            return columns
        wanted, times = np.unique(cells[cells >= 0], return_counts=True)
        for place, more in zip(wanted.tolist(), times.tolist(), strict=True):
            if not self._has_room_on(place, more):
                row = self.data._n + int((cells == place).nonzero()[0][-1])
                raise self._full(place, row)
        return columns

    def _first_invalid_cell(self) -> tuple[str, int, str] | None:
        data, name = self.data, type(self._grid).__name__
        ids = data._cell_ids[: data._n]
        strange = (cells_of_ids(ids, len(self._grid)) < 0) & (ids != 0)
        if strange.any():
            row = int(strange.argmax())
            return data._CELL_FIELD, row, f"{int(ids[row]):#x} is no cell of {name}"
        cells = self._cells_now()
        crowded = self._first_over(self._count_all(cells), cells)
        if crowded is None:
            return super()._first_invalid_cell()
        most = f"{data._CELL_CAPACITY} may stand on a cell"
        where = f"{int(ids[crowded]):#x} of {name}"
        return data._CELL_FIELD, crowded, f"{most}, and more do on {where}"

    def _count_exits(self, gone: RowArray) -> None:
        """Count rows no more that go."""
        if self.data._cell_occupants.excludes_dead:
            self.data._cell_occupants.counts = None
        self._count_many(gone, -1)

    def _count_many(self, rows: RowArray, by: int) -> None:
        """Count rows that have come, or are about to go."""
        counts = self.data._cell_occupants.counts
        if counts is not None:
            cells = cells_of_ids(self.data._cell_ids[rows], len(self._grid))
            np.add.at(counts, cells[cells >= 0], by)

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        self.data._cell_occupants.forget()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "grid": self._grid}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._grid = state["grid"]
        super().__setstate__(state)


class OwnedOccupantRows(OccupantRows, OwnedRows):
    """The columns of rows that belong to entities and stand on cells."""

    __slots__ = NO_SLOTS


class OwnedOccupant(Occupant, Owned):
    """The same of rows that belong to entities, some of which are dead."""

    __slots__ = NO_SLOTS
    data: OwnedOccupantRows

    def __init__(self, entities: EntityManagerBase, grid: GridManager) -> None:
        self._stand_on(grid)
        super().__init__(entities)

    @property
    def _despawn_count(self) -> int:
        return self._entities._despawn_count

    def _off_grid_rows(self, rows: slice | RowArray = slice(None)) -> NDArray[np.bool_] | None:
        owners = self.data._entity_column[: self.data._n][rows]
        alive = self._entities._are_alive(owners)
        return None if alive.all() else ~alive


class UnownedOccupant(Occupant, Unowned):
    """The same of rows that belong to nobody."""

    __slots__ = NO_SLOTS

    def __init__(self, grid: GridManager) -> None:
        self._stand_on(grid)
        super().__init__()
