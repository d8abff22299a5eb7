"""on: rows that occupy the cells of a grid by a field, up to a capacity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import FullCellError
from ...base.handles import Columns, Id, Neighbours, RowArray
from ...base.specialisation import NO_SLOTS
from ...entities.entity_manager import EntityManagerBase
from ...managers.manager import Manager
from ...managers.policies.ids import stale_id_error
from ...managers.policies.owners import KnowsEntities, Owned, Unowned
from ...tables.columns import OwnedRows, Rows, owner_column
from .grid_layout import FIRST_CELL, NO_CELL, cells_of_ids
from .grid_manager import GridManager
from .neighbourhoods import (
    known_cells,
    occupant_pairs,
    pairs_to_neighbours,
    parsed_pairs,
    rows_by_cell,
)

CellCounts = NDArray[np.int64]
_SPARSE: Final = 8
"""Number of cells to a row from which on there are few rows."""


class CellOccupants:
    """Cache of occupants by cell, renewed on request after changes."""

    manager: ref[Occupant]
    """Manager of the rows."""

    def __init__(self) -> None:
        self.moves = 0
        """Number of moves of rows to other cells, without creations and removals."""
        self.counts: CellCounts | None = None
        """Number of rows on each cell, if there is a capacity; None if unknown."""
        self.despawns = -1
        """Number of despawns after which `counts` was computed."""
        self.excludes_dead = False
        """True if rows of dead entities were left out of `counts`."""
        self.order: tuple[RowArray, RowArray] | None = None
        self.stamp: tuple[int, ...] = ()

    def forget(self) -> None:
        """Drop the counts: any row may have moved."""
        self.moves += 1
        self.counts = None


class OccupantRows(Rows):
    """Rows with a field that holds their cell; its column is read-only."""

    __slots__ = NO_SLOTS
    CELL_FIELD: ClassVar[str]
    """Name of the field."""
    CELL_CAPACITY: ClassVar[int] = 0
    """Number of rows that a cell takes; 0 for any number."""
    _cell_occupants: CellOccupants
    _cell_ids: NDArray[np.uint64]

    def _init_empty(self) -> None:
        super()._init_empty()
        self._cell_occupants = CellOccupants()

    def _use_buffer(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        super()._use_buffer(buffer, capacity)
        self._cell_ids = getattr(self, f"_{self.CELL_FIELD}_column")

    def drop_row_caches(self) -> None:
        super().drop_row_caches()
        self._cell_occupants.forget()

    def _assign_values(self, name: str, boundary: int, cells: NDArray[Any]) -> None:
        """Write checked values that broadcast to the rows before a boundary; O(n)."""
        if name == self.CELL_FIELD:
            rows = np.arange(boundary)
            self._move_to(rows, np.broadcast_to(cells, boundary))
        else:
            super()._assign_values(name, boundary, cells)

    def _write_values(self, name: str, rows: RowArray, cells: NDArray[Any]) -> None:
        """Write a checked value to each of these distinct rows; O(n)."""
        if name == self.CELL_FIELD:
            self._move_to(rows, cells)
        else:
            super()._write_values(name, rows, cells)

    def _move_to(self, rows: RowArray, ids: NDArray[np.uint64]) -> None:
        """Move rows to cells, or raise; rows may exchange cells."""
        manager = self._cell_occupants.manager()
        if manager is None:
            raise ReferenceError("the manager of these columns is gone")
        after = self._cell_ids[: self._n].copy()
        after[rows] = ids
        manager._check_cells(after, rows)
        self._cell_ids[rows] = ids
        self._cell_occupants.forget()


class Occupant(Manager):
    """A manager whose rows occupy cells."""

    __slots__ = NO_SLOTS
    _BEFORE_REMOVE: ClassVar[tuple[str, ...]] = ("_count_exits",)
    _ALLOWS_ONE_BY_ONE: ClassVar[bool] = False
    _ACCEPTS_ANY_VALUES: ClassVar[bool] = False
    data: OccupantRows
    ROWS: ClassVar[type[OccupantRows]]
    _GRIDS: ClassVar[type[GridManager]] = GridManager
    """Class of managers of these cells in the package; older packages have none."""
    _grid: Any  # the package's manager of cells

    def _init_transient(self) -> None:
        super()._init_transient()
        self.data._cell_occupants.manager = ref(self)

    def _set_grid(self, grid: object) -> None:
        """Set the grid of the cells; raises TypeError for another object."""
        if not isinstance(grid, self._GRIDS):
            label, wanted = type(self).__name__, self._GRIDS.__name__
            raise TypeError(f"{label}: grid must be a {wanted}, not {type(grid).__name__}")
        self._grid = grid

    def near(
        self, cells: ArrayLike, radius: int, hood: str | None = None, center: bool = False
    ) -> Neighbours:
        """Return the rows on the cells in reach of each of k cells; O(n + cells), then O(rows)
        until something changes.

        In the order of offsets, the first axis slowest, on a cell in row order; the cell itself
        is in reach; of id 0 nobody is. Rows of dead entities are on no cell.

        Raises:
            StaleIdError: one of them is neither 0 nor a cell.
            ValueError: a radius below 0, another hood, or `center`, which is of cells.
            TypeError: a bool as radius.
        """
        label = f"{type(self).__name__}.near"
        if center:
            raise ValueError(f"{label}: center: who stands on a cell is in reach of it")
        pairs, count = parsed_pairs(self._grid, label, cells, radius, hood, center=True)
        return pairs_to_neighbours(occupant_pairs(pairs, *self._occupants()), count)

    def cells_now(self, ids: NDArray[np.uint64] | None = None) -> RowArray:
        """Return the cell of each row, by its cell id or by `ids`, -1 for rows on no cell."""
        cell_ids = self.data._cell_ids[: self.data.n] if ids is None else ids
        cells = cells_of_ids(cell_ids, len(self._grid))
        dead = self._off_grid_rows()
        if dead is not None:
            cells[dead] = NO_CELL
        return cells

    def _off_grid_rows(self, rows: slice | RowArray = slice(None)) -> NDArray[np.bool_] | None:
        """Return a mask of rows on no cell, as their entities are dead; None if there are none."""
        return None

    @property
    def has_few_rows(self) -> bool:
        """True if it costs less to look at all rows than at all cells."""
        return self.data.n * _SPARSE < len(self._grid)

    @property
    def _despawn_count(self) -> int:
        """Number of despawned entities."""
        return 0

    @property
    def _stamp(self) -> tuple[int, ...]:
        """Stamp that changes if any row may be on another cell."""
        return self.data.version, self.data._cell_occupants.moves, self._despawn_count

    def _occupants(self) -> tuple[RowArray, RowArray]:
        """Return starts, shape (cells + 1,), and rows by cell; O(n + cells) after a change."""
        occupants, stamp = self.data._cell_occupants, self._stamp
        if occupants.order is None or occupants.stamp != stamp:
            occupants.order = rows_by_cell(self.cells_now(), len(self._grid))
            occupants.stamp = stamp
        return occupants.order

    def _counted(self) -> CellCounts:
        """Return the number of rows on each cell; O(n + cells) if unknown."""
        occupants = self.data._cell_occupants
        if occupants.counts is None:
            occupants.counts = self._count_all(self.cells_now())
            occupants.despawns = self._despawn_count
            occupants.excludes_dead = self._off_grid_rows() is not None
        return occupants.counts

    def cell_has_capacity(self, cell: int, count: int = 1) -> bool:
        """Return True if a cell can take `count` more rows; O(1) except after despawns."""
        occupants, max_others = self.data._cell_occupants, self.data.CELL_CAPACITY - count
        if self._counted()[cell] > max_others and occupants.despawns != self._despawn_count:
            occupants.counts = None
        return bool(self._counted()[cell] <= max_others)

    def _check_can_enter(self, cell: int, row: int | None = None) -> None:
        """Raise unless a cell can take a row, by default a new one; O(1)."""
        if cell:
            cell_number = self.cell_of_id(cell)
            is_alive = row is None or self._off_grid_rows(np.array([row])) is None
            if self.data.CELL_CAPACITY and is_alive and not self.cell_has_capacity(cell_number):
                raise self._full(cell_number, self.data.n if row is None else row)

    def cell_of_id(self, id: int) -> int:
        """Return the number of a cell, or raise StaleIdError."""
        cell = id - FIRST_CELL
        if not 0 <= cell < len(self._grid):
            raise stale_id_error(type(self._grid).__name__, Id(id))
        return cell

    def _full(self, cell: int, row: int) -> FullCellError:
        grid, most = type(self._grid).__name__, self.data.CELL_CAPACITY
        coords = self._grid.grid.coords(Id(FIRST_CELL + cell))
        where = f"cell {FIRST_CELL + cell:#x} of {grid}, at {coords}"
        return FullCellError(
            f"{type(self).__name__}: row {row} cannot stand on {where}: {most} may"
        )

    def _count_entry(self, row: int, by: int = 1) -> None:
        """Count a row that has come (`by` 1), or is about to leave its cell (-1)."""
        counts = self.data._cell_occupants.counts
        if counts is not None:
            cell = int(self.data._cell_ids[row]) - FIRST_CELL
            if cell >= 0:
                counts[cell] += by

    def _count_exit(self, row: int) -> None:
        """Discount a row that is about to leave its cell."""
        if self.data._cell_occupants.excludes_dead:
            self.data._cell_occupants.counts = None  # it may be a dead one, not counted
        self._count_entry(row, -1)

    def _set_value(self, name: str, row: int, value: Any) -> None:
        """Write a checked value to a row in use, or raise; O(1)."""
        data = self.data
        if name != data.CELL_FIELD:
            super()._set_value(name, row, value)
            return
        before = int(data._cell_ids[row])
        if value == before:
            return
        self._check_can_enter(value, row)
        self._count_exit(row)
        data._cell_ids[row] = value
        self._count_entry(row)
        data._cell_occupants.moves += 1

    def _check_cells(self, ids: NDArray[np.uint64], rows: RowArray) -> None:
        """Raise unless cells can take all rows, of which `rows` have moved; O(n)."""
        cells = known_cells(self._grid, ids[rows])
        if not self.data.CELL_CAPACITY:
            return
        after = self.cells_now(ids)
        index = self._first_over(self._count_all(after), after[rows])
        if index is not None:
            raise self._full(int(cells[index]), int(rows[index]))

    def _first_over(self, counts: CellCounts, cells: RowArray) -> int | None:
        """Return the index of the first row on a cell with too many, or None."""
        most = self.data.CELL_CAPACITY
        over = (cells >= 0) & (counts[cells] > most) if most else np.False_
        return int(over.argmax()) if over.any() else None

    def _count_all(self, cells: RowArray) -> CellCounts:
        return np.bincount(cells[cells >= 0], minlength=len(self._grid))

    def _convert(self, count: int, values: Mapping[str, Any]) -> Columns:
        """Check also that the cells in the columns can take the new rows; O(k log k)."""
        columns = super()._convert(count, values)
        ids = np.broadcast_to(columns[self.data.CELL_FIELD], count)
        cells = known_cells(self._grid, ids)
        if not self.data.CELL_CAPACITY:
            return columns
        targets, counts = np.unique(cells[cells >= 0], return_counts=True)
        for cell, more in zip(targets.tolist(), counts.tolist(), strict=True):
            if not self.cell_has_capacity(cell, more):
                row = self.data.n + int((cells == cell).nonzero()[0][-1])
                raise self._full(cell, row)
        return columns

    def first_invalid_cell(self) -> tuple[str, int, str] | None:
        data, name = self.data, type(self._grid).__name__
        ids = data._cell_ids[: data.n]
        strange = (cells_of_ids(ids, len(self._grid)) < 0) & (ids != 0)
        if strange.any():
            row = int(strange.argmax())
            return data.CELL_FIELD, row, f"{int(ids[row]):#x} is no cell of {name}"
        cells = self.cells_now()
        full_row = self._first_over(self._count_all(cells), cells)
        if full_row is None:
            return super().first_invalid_cell()
        most = f"{data.CELL_CAPACITY} may stand on a cell"
        where = f"{int(ids[full_row]):#x} of {name}"
        return data.CELL_FIELD, full_row, f"{most}, and more do on {where}"

    def _count_exits(self, rows: RowArray) -> None:
        """Discount rows that are about to be removed."""
        if self.data._cell_occupants.excludes_dead:
            self.data._cell_occupants.counts = None
        self._count_many(rows, -1)

    def _count_many(self, rows: RowArray, by: int) -> None:
        """Count rows that have come (`by` 1), or are about to leave (-1)."""
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
    """Columns of rows with owners that occupy cells."""

    __slots__ = NO_SLOTS


class OwnedOccupant(Occupant, Owned):
    """A manager whose rows occupy cells and have owners; rows of dead entities are on no cell."""

    __slots__ = NO_SLOTS
    data: OwnedOccupantRows

    def __init__(self, entities: EntityManagerBase, grid: GridManager) -> None:
        self._set_grid(grid)
        super().__init__(entities)

    @property
    def _despawn_count(self) -> int:
        return self._entities.despawn_count

    def _off_grid_rows(self, rows: slice | RowArray = slice(None)) -> NDArray[np.bool_] | None:
        owners = owner_column(self.data)[: self.data.n][rows]
        alive = self._entities.are_alive(owners)
        return None if alive.all() else ~alive


class UnownedOccupant(Occupant, Unowned):
    """A manager whose rows occupy cells and have no owners."""

    __slots__ = NO_SLOTS

    def __init__(self, grid: GridManager) -> None:
        self._set_grid(grid)
        super().__init__()


class KnowingOccupant(UnownedOccupant, KnowsEntities):
    """A manager whose rows occupy cells, have no owners and refer to entities."""

    __slots__ = NO_SLOTS

    def __init__(self, entities: EntityManagerBase, grid: GridManager) -> None:
        self._set_grid(grid)
        KnowsEntities.__init__(self, entities)
