"""on: rows that stand on the cells of a grid, as a field of theirs says, and how many may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..columns import OwnedRows, Rows
from ..entity_manager import Entities
from ..errors import FullCellError
from ..handles import Columns, Id, RowArray
from ..manager import Manager
from ..per_class import NO_SLOTS
from ..policies.ids import stale_id
from ..policies.owners import Owned, Unowned
from ..spaces.spaced import Neighbours
from .cells import GridManager
from .grid_layout import FIRST_CELL, NO_CELL, cells_of_ids
from .reach import (
    cells_asked,
    cells_in_reach,
    checked_reach,
    neighbours_of,
    occupants,
    rows_of_cells,
)

CellCounts = NDArray[np.int64]


class Crowd:
    """Who stands where: made anew when it is asked for after something changed."""

    whose: ref[Standing]
    """The manager of the rows."""

    def __init__(self) -> None:
        self.moves = 0
        """How often rows went to other cells, beside those that came and went themselves."""
        self.counts: CellCounts | None = None
        """How many rows stand on each cell, where there is a capacity; None if nobody knows."""
        self.deaths = -1
        """Up to which death the dead are left out of the counts."""
        self.forgets_the_dead = False
        """Whether there were any."""
        self.order: tuple[RowArray, RowArray] | None = None
        self.stamp: tuple[int, ...] = ()

    def forget(self) -> None:
        """Take note that any row may be anywhere."""
        self.moves += 1
        self.counts = None


class StandingRows(Rows):
    """Rows of which a field says where they stand; its column is read-only."""

    __slots__ = NO_SLOTS
    _PLACE: ClassVar[str]
    """The field."""
    _CELL_CAPACITY: ClassVar[int] = 0
    """How many rows may stand on a cell; 0: any number."""
    _crowd: Crowd
    _stand_ids: NDArray[np.uint64]

    def _start(self) -> None:
        super()._start()
        self._crowd = Crowd()

    def _lie_in(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        super()._lie_in(buffer, capacity)
        self._stand_ids = getattr(self, f"_{self._PLACE}_column")

    def _forget_rows(self) -> None:
        super()._forget_rows()
        self._crowd.forget()

    def _assign_values(self, name: str, bound: int, cells: NDArray[Any]) -> None:
        """Write checked values that broadcast to the rows before a bound; O(n)."""
        if name == self._PLACE:
            rows = np.arange(bound)
            self._move_to(rows, np.broadcast_to(cells, bound))
        else:
            super()._assign_values(name, bound, cells)  # type: ignore[misc]  # of unique ones

    def _write_values(self, name: str, rows: RowArray, cells: NDArray[Any]) -> None:
        """Write a checked value to each of these distinct rows; O(n)."""
        if name == self._PLACE:
            self._move_to(rows, cells)
        else:
            super()._write_values(name, rows, cells)  # type: ignore[misc]  # of unique ones

    def _move_to(self, rows: RowArray, ids: NDArray[np.uint64]) -> None:
        """Let rows stand elsewhere, or raise; they may exchange cells."""
        manager = self._crowd.whose()
        if manager is None:
            raise ReferenceError("the manager of these columns is gone")
        after = self._stand_ids[: self._n].copy()
        after[rows] = ids
        manager._check_cells(after, rows)
        self._stand_ids[rows] = ids
        self._crowd.forget()


class Standing(Manager):
    """A manager whose rows stand on cells."""

    __slots__ = NO_SLOTS
    _FORGETTING: ClassVar[tuple[str, ...]] = ("_leave_many",)
    _BY_ROW: ClassVar[bool] = False
    _SINGLY: ClassVar[bool] = False
    data: StandingRows
    _ROWS: ClassVar[type[StandingRows]]
    _GRIDS: ClassVar[type[GridManager]] = GridManager
    """The package's class of managers of these cells; older packages do not say."""
    _grid: Any  # the package's own manager of cells

    def _attach(self) -> None:
        super()._attach()
        self.data._crowd.whose = ref(self)

    def _stand_on(self, grid: object) -> None:
        """Take the grid that cells are of; TypeError for another one, or none."""
        if not isinstance(grid, self._GRIDS):
            label, wanted = type(self).__name__, self._GRIDS.__name__
            raise TypeError(
                f"{label}: grid must be a {wanted}, not {type(grid).__name__}"
            )
        self._grid = grid

    def near(
        self,
        cells: ArrayLike,
        radius: int,
        hood: str | None = None,
        center: bool = False,
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
        given = cells_asked(self._grid, label, cells)
        asked = self._grid._HOOD if hood is None else hood
        reach = checked_reach(label, radius, asked)
        pairs = cells_in_reach(self._grid._layout, given, reach, asked, center=True)
        return neighbours_of(rows_of_cells(pairs, *self._occupants()), len(given))

    # --- who stands where ------------------------------------------------------------------

    def _cells_now(self, ids: NDArray[np.uint64] | None = None) -> RowArray:
        """Return the cell of each row, by its own id or by given ones, -1 of those that stand
        nowhere."""
        given = self.data._stand_ids[: self.data._n] if ids is None else ids
        cells = cells_of_ids(given, len(self._grid))
        gone = self._nowhere()
        if gone is not None:
            cells[gone] = NO_CELL
        return cells

    def _nowhere(
        self, rows: slice | RowArray = slice(None)
    ) -> NDArray[np.bool_] | None:
        """Return which rows stand nowhere, because their entities are dead; None: none of them."""
        return None

    @property
    def _dead_so_far(self) -> int:
        """How many entities have died."""
        return 0

    @property
    def _stamp(self) -> tuple[int, ...]:
        """What is another when somebody may stand elsewhere."""
        return self.data._version, self.data._crowd.moves, self._dead_so_far

    def _occupants(self) -> tuple[RowArray, RowArray]:
        """Return all that stand by cell, in row order: those of cell k are `rows[starts[k] :
        starts[k + 1]]`. O(n + cells) after a change."""
        crowd, stamp = self.data._crowd, self._stamp
        if crowd.order is None or crowd.stamp != stamp:
            crowd.order = occupants(self._cells_now(), len(self._grid))
            crowd.stamp = stamp
        return crowd.order

    def _counted(self) -> CellCounts:
        """Return how many rows stand on each cell; O(n + cells) if nobody knows."""
        crowd = self.data._crowd
        if crowd.counts is None:
            crowd.counts = self._count_all(self._cells_now())
            crowd.deaths = self._dead_so_far
            crowd.forgets_the_dead = self._nowhere() is not None
        return crowd.counts

    def _has_room_on(self, cell: int, count: int = 1) -> bool:
        """Return whether so many more rows may stand on a cell; O(1) but after deaths."""
        crowd, most = self.data._crowd, self.data._CELL_CAPACITY - count
        if self._counted()[cell] > most and crowd.deaths != self._dead_so_far:
            crowd.counts = None
        return bool(self._counted()[cell] <= most)

    # --- one row ---------------------------------------------------------------------------

    def _admit_cell(self, cell: int, row: int | None = None) -> None:
        """Raise unless a row, by default a new one, may come to a cell; O(1)."""
        if cell:
            place = self._known(cell)
            stands = row is None or self._nowhere(np.array([row])) is None
            if self.data._CELL_CAPACITY and stands and not self._has_room_on(place):
                raise self._full(place, self.data._n if row is None else row)

    def _known(self, id: int) -> int:
        """Return the number of a cell, or raise StaleIdError."""
        place = id - FIRST_CELL
        if not 0 <= place < len(self._grid):
            raise stale_id(type(self._grid).__name__, Id(id))
        return place

    def _full(self, cell: int, row: int) -> FullCellError:
        grid, most = type(self._grid).__name__, self.data._CELL_CAPACITY
        coords = self._grid.grid.coords(Id(FIRST_CELL + cell))
        where = f"cell {FIRST_CELL + cell:#x} of {grid}, at {coords}"
        return FullCellError(
            f"{type(self).__name__}: row {row} cannot stand on {where}: {most} may"
        )

    def _stand(self, row: int) -> None:
        crowd = self.data._crowd
        if crowd.counts is not None:
            place = int(self.data._stand_ids[row]) - FIRST_CELL
            if place >= 0:
                crowd.counts[place] += 1

    def _leave(self, row: int) -> None:
        """Count a row no more that goes."""
        crowd = self.data._crowd
        if crowd.forgets_the_dead:
            crowd.counts = None  # which of them were counted, nobody knows
        elif crowd.counts is not None:
            place = int(self.data._stand_ids[row]) - FIRST_CELL
            if place >= 0:
                crowd.counts[place] -= 1

    def _set_value(self, name: str, row: int, value: Any) -> None:
        """Write a checked value to a row in use, or raise; O(1)."""
        data = self.data
        if name != data._PLACE:
            super()._set_value(name, row, value)  # type: ignore[misc]  # of a unique one
            return
        before = int(data._stand_ids[row])
        if value == before:
            return
        self._admit_cell(value, row)
        self._leave(row)
        data._stand_ids[row] = value
        self._stand(row)
        data._crowd.moves += 1

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
            raise stale_id(type(self._grid).__name__, Id(first))
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
        cells = self._known_many(np.broadcast_to(columns[self.data._PLACE], count))
        if not self.data._CELL_CAPACITY:
            return columns
        wanted, times = np.unique(cells[cells >= 0], return_counts=True)
        for place, more in zip(wanted.tolist(), times.tolist(), strict=True):
            if not self._has_room_on(place, more):
                row = self.data._n + int((cells == place).nonzero()[0][-1])
                raise self._full(place, row)
        return columns

    def _misfit(self) -> tuple[str, int, str] | None:
        data, name = self.data, type(self._grid).__name__
        ids = data._stand_ids[: data._n]
        strange = (cells_of_ids(ids, len(self._grid)) < 0) & (ids != 0)
        if strange.any():
            row = int(strange.argmax())
            return data._PLACE, row, f"{int(ids[row]):#x} is no cell of {name}"
        cells = self._cells_now()
        crowded = self._first_over(self._count_all(cells), cells)
        if crowded is None:
            return super()._misfit()
        most = f"{data._CELL_CAPACITY} may stand on a cell"
        where = f"{int(ids[crowded]):#x} of {name}"
        return data._PLACE, crowded, f"{most}, and more do on {where}"

    def _leave_many(self, gone: RowArray) -> None:
        """Count rows no more that go."""
        if self.data._crowd.forgets_the_dead:
            self.data._crowd.counts = None
        self._count_many(gone, -1)

    def _count_many(self, rows: RowArray, by: int) -> None:
        """Count rows that have come, or are about to go."""
        counts = self.data._crowd.counts
        if counts is not None:
            cells = cells_of_ids(self.data._stand_ids[rows], len(self._grid))
            np.add.at(counts, cells[cells >= 0], by)

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        self.data._crowd.forget()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "grid": self._grid}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._grid = state["grid"]
        super().__setstate__(state)


class OwnedStandingRows(StandingRows, OwnedRows):
    """The columns of rows that belong to entities and stand on cells."""

    __slots__ = NO_SLOTS


class OwnedStanding(Standing, Owned):
    """The same of rows that belong to entities, some of which are dead."""

    __slots__ = NO_SLOTS
    data: OwnedStandingRows

    def __init__(self, entities: Entities, grid: GridManager) -> None:
        self._stand_on(grid)
        super().__init__(entities)

    @property
    def _dead_so_far(self) -> int:
        return self._entities._deaths

    def _nowhere(
        self, rows: slice | RowArray = slice(None)
    ) -> NDArray[np.bool_] | None:
        owners = self.data._entity_column[: self.data._n][rows]
        alive = self._entities._are_alive(owners)
        return None if alive.all() else ~alive


class UnownedStanding(Standing, Unowned):
    """The same of rows that belong to nobody."""

    __slots__ = NO_SLOTS

    def __init__(self, grid: GridManager) -> None:
        self._stand_on(grid)
        super().__init__()
