"""A component with a grid: its rows are cells, all there from the beginning, none made or gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from operator import index
from typing import Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..buffers import split_columns, whole_rows
from ..callbacks import Dispatch
from ..columns import Rows
from ..given_arrays import as_entities
from ..handles import NIL, Id, IdArray, Instance, RowArray
from ..manager import BaseManager
from ..per_class import NO_SLOTS
from ..placement import is_integer, row_in_use, rows_in_use
from ..proxies import ProxyT, following, proxy_of_id
from ..spaces.spaced import Neighbours
from .grid_layout import (
    FIRST_CELL,
    GridLayout,
    GridView,
    cells_of_ids,
    checked_answers,
    checked_shape,
)
from .reach import cells_asked, cells_in_reach, checked_reach, neighbours_of


class GridRows(Rows):
    """The columns of cells."""

    __slots__ = NO_SLOTS

    @property
    def _cell_id_column(self) -> NDArray[np.uint64]:
        """The id of each cell, by which random numbers tell them apart: made anew."""
        return np.arange(FIRST_CELL, FIRST_CELL + self._n, dtype=np.uint64)


class GridManager(BaseManager):
    """A manager whose rows are the cells of a grid, in C order."""

    __slots__ = NO_SLOTS
    _GRID: ClassVar[GridLayout]
    """What the schema says."""
    _HOOD: ClassVar[str]
    _MAY_BE_IN_C: ClassVar[bool] = False
    _layout: GridLayout

    def __init__(self, shape: Sequence[SupportsIndex] | None = None) -> None:
        """Make all cells; O(cells). ValueError for a shape of another number of axes, with a
        size below 1, or of too many cells."""
        sizes, wrap = self._GRID
        if shape is not None:
            sizes = checked_shape(f"{type(self).__name__}: shape", shape, len(sizes))
        self._layout = GridLayout(sizes, wrap)
        self._unlock()
        cells = self._layout.cells
        self.data = self._ROWS(whole_rows(cells))
        self.data._n = cells
        for name, (field, default) in self._CONVERTERS.items():
            if hasattr(self.data, name):
                setattr(self.data, name, default)
                continue
            columns = split_columns(name, field.shape)
            for column, value in zip(columns, field.one(default), strict=True):
                setattr(self.data, column, value)
        self._start()
        self._attach()

    def __len__(self) -> int:
        """Return the number of cells; O(1)."""
        return self.data._n

    def __iter__(self) -> Iterator[Id]:
        """Iterate over the ids, in row order."""
        return iter(self.id_of_many(np.arange(self.data._n)).tolist())

    def __contains__(self, id: object) -> bool:
        """Return whether an id is that of a cell; O(1)."""
        return is_integer(id) and self.resolve(Id(index(id))) != NIL

    @property
    def grid(self) -> GridView:
        """The shape of the grid, and where its cells are."""
        return GridView(self)

    @property
    def wrap(self) -> tuple[bool, ...]:
        """Which axes go around. Assigning anything but a bool for each is a ValueError."""
        return self._layout.wrap

    @wrap.setter
    def wrap(self, wrap: Sequence[bool]) -> None:
        axes = len(self._layout.shape)
        answers = checked_answers(f"{type(self).__name__}.wrap", wrap, axes)
        self._layout = self._layout._replace(wrap=answers)

    def near(
        self,
        cells: ArrayLike,
        radius: int,
        hood: str | None = None,
        center: bool = False,
    ) -> Neighbours:
        """Return the cells in reach of each of k cells, in the order of offsets; O(pairs).

        A cell itself is in reach with `center` only.

        Raises:
            StaleIdError: one of them is no cell.
            ValueError: a radius below 0, or another hood.
            TypeError: a bool as radius.
        """
        label = f"{type(self).__name__}.near"
        given = cells_asked(self, label, cells)
        asked = self._HOOD if hood is None else hood
        reach = checked_reach(label, radius, asked)
        pairs = cells_in_reach(self._layout, given, reach, asked, center)
        return neighbours_of(pairs, len(given))

    # --- ids -----------------------------------------------------------------------------

    def id_of(self, row: int, /) -> Id:
        """Return the id of a cell: `2**32 + row`; O(1)."""
        return Id(FIRST_CELL + self._row(row))

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the ids of k cells, or of a mask's; O(k)."""
        return (self._rows_given(rows) + FIRST_CELL).astype(np.uint64)

    def resolve(self, id: Id, /) -> Instance:
        """Return the row of a cell, or NIL for what is none; O(1)."""
        row = index(id) - FIRST_CELL
        return Instance(row) if 0 <= row < self.data._n else NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k cells, NIL for what is none; O(k)."""
        found = cells_of_ids(as_entities(ids, "ids"), self.data._n)
        found[found < 0] = NIL
        return found

    _proxy = proxy_of_id

    def _proxies(self, kind: type[ProxyT]) -> Iterator[ProxyT]:
        """Iterate over proxies of the cells; O(n)."""
        return following(
            kind, self, self.resolve, list(self), self.data._used_rows().tolist()
        )

    # --- what all managers have ------------------------------------------------------------

    def _row(self, row: object) -> Instance:
        return Instance(row_in_use(row, self))

    def _rows_given(self, rows: ArrayLike) -> RowArray:
        return rows_in_use(rows, self)

    @property
    def _dispatch(self) -> Dispatch:
        return Dispatch()  # no callback is told of cells

    def _notes(self) -> dict[str, Any]:
        shape, wrap = self._layout
        return {**super()._notes(), "shape": list(shape), "wrap": list(wrap)}

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        super()._take_notes(notes)
        shape = tuple(notes.get("shape", ()))
        if len(shape) == len(self._GRID.shape) and prod(shape) == self.data._n:
            self._layout = GridLayout(shape, tuple(notes["wrap"]))
        else:
            self._layout = self._GRID
