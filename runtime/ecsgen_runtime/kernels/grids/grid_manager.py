"""A component with a grid: its rows are cells, which are neither created nor destroyed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from operator import index
from typing import Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.callbacks import Dispatch
from ...base.handles import NIL, Id, IdArray, Instance, Neighbours, RowArray
from ...base.specialisation import NO_SLOTS
from ...managers.manager import BaseManager
from ...managers.row_proxies import ProxyT, iter_proxies, proxy_of_id
from ...tables.buffers import round_up_rows, split_columns
from ...tables.columns import Rows, used_rows
from ...tables.placement import is_integer
from ...values.array_coercion import as_entities
from .grid_layout import (
    FIRST_CELL,
    GridLayout,
    GridView,
    cells_of_ids,
    checked_answers,
    checked_shape,
)
from .neighbourhoods import pairs_to_neighbours, parsed_pairs


class GridRows(Rows):
    """Columns of cells."""

    __slots__ = NO_SLOTS

    @property
    def _cell_id_column(self) -> NDArray[np.uint64]:
        """Id of each cell, by which random numbers tell cells apart; a new array."""
        return np.arange(FIRST_CELL, FIRST_CELL + self._n, dtype=np.uint64)


class GridManager(BaseManager):
    """A manager whose rows are the cells of a grid, in C order."""

    __slots__ = NO_SLOTS
    _GRID: ClassVar[GridLayout]
    """Layout that the schema says."""
    HOOD: ClassVar[str]
    CAN_ACCELERATE: ClassVar[bool] = False
    grid_layout: GridLayout

    def __init__(self, shape: Sequence[SupportsIndex] | None = None) -> None:
        """Create all cells; O(cells). Raises ValueError for a shape of another number of axes, with
        a size below 1, or of too many cells."""
        sizes, wrap = self._GRID
        if shape is not None:
            sizes = checked_shape(f"{type(self).__name__}: shape", shape, len(sizes))
        self.grid_layout = GridLayout(sizes, wrap)
        self._unlock()
        cells = self.grid_layout.cells
        self.data = self.ROWS(round_up_rows(cells))
        self.data._n = cells
        for name, (field, default) in self.CONVERTERS.items():
            if hasattr(self.data, name):
                setattr(self.data, name, default)
                continue
            columns = split_columns(name, field.shape)
            for column, value in zip(columns, field.to_cell(default), strict=True):
                setattr(self.data, column, value)
        self._init_empty()
        self._init_transient()

    def __len__(self) -> int:
        """Return the number of cells; O(1)."""
        return self.data._n

    def __iter__(self) -> Iterator[Id]:
        """Iterate over the ids, in row order."""
        return iter(self.id_of_many(np.arange(self.data._n)).tolist())

    def __contains__(self, id: object) -> bool:
        """Return True if an id is that of a cell; O(1)."""
        return is_integer(id) and self.resolve(Id(index(id))) != NIL

    def row_keys(self) -> IdArray:
        return self.id_of_many(np.arange(self.data._n))

    @property
    def grid(self) -> GridView:
        """Shape of the grid, and coordinates of its cells."""
        return GridView(self)

    @property
    def wrap(self) -> tuple[bool, ...]:
        """True for each axis that wraps. Assigning anything but a bool for each is a ValueError."""
        return self.grid_layout.wrap

    @wrap.setter
    def wrap(self, wrap: Sequence[bool]) -> None:
        axes = len(self.grid_layout.shape)
        answers = checked_answers(f"{type(self).__name__}.wrap", wrap, axes)
        self.grid_layout = self.grid_layout._replace(wrap=answers)

    def near(
        self, cells: ArrayLike, radius: int, hood: str | None = None, center: bool = False
    ) -> Neighbours:
        """Return the cells in reach of each of k cells, in the order of offsets; O(pairs).

        A cell itself is in reach with `center` only; of id 0 nothing is.

        Raises:
            StaleIdError: one of them is neither 0 nor a cell.
            ValueError: a radius below 0, or another hood.
            TypeError: a bool as radius.
        """
        label = f"{type(self).__name__}.near"
        return pairs_to_neighbours(*parsed_pairs(self, label, cells, radius, hood, center))

    def id_of(self, row: int, /) -> Id:
        """Return the id of a cell: `2**32 + row`; O(1)."""
        return Id(FIRST_CELL + self._require_row(row))

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the ids of k cells, or of a mask's; O(k)."""
        return (self._require_rows(rows) + FIRST_CELL).astype(np.uint64)

    def resolve(self, id: Id, /) -> Instance:
        """Return the row of a cell, or NIL if the id is none; O(1)."""
        row = index(id) - FIRST_CELL
        return Instance(row) if 0 <= row < self.data._n else NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k cells, NIL if an id is none; O(k)."""
        rows = cells_of_ids(as_entities(ids, "ids"), self.data._n)
        rows[rows < 0] = NIL
        return rows

    _proxy = proxy_of_id

    def _proxies(self, kind: type[ProxyT]) -> Iterator[ProxyT]:
        """Iterate over proxies of the cells; O(n)."""
        return iter_proxies(kind, self, used_rows(self.data).tolist(), list(self), self.resolve)

    @property
    def _dispatch(self) -> Dispatch:
        return Dispatch()  # no callback listens to cells

    def json_state(self) -> dict[str, Any]:
        shape, wrap = self.grid_layout
        return {**super().json_state(), "shape": list(shape), "wrap": list(wrap)}

    def load_json_state(self, notes: Mapping[str, Any]) -> None:
        super().load_json_state(notes)
        shape = tuple(notes.get("shape", ()))
        if len(shape) == len(self._GRID.shape) and prod(shape) == self.data._n:
            self.grid_layout = GridLayout(shape, tuple(notes["wrap"]))
        else:
            self.grid_layout = self._GRID
