"""References: rows to which entities and ids of a kernel's rows lead, their fields, and messages.

Rows of dead entities are not found even if they are not collected yet, so that the time of
collection does not matter. Messages are delivered in the order of rows, those of one row in the
order of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.handles import NIL, EntityArray, IdArray, RowArray
from ..entities.entity_pool import EntityPool
from ..managers.policies.lookup_maps import Mapped
from ..managers.policies.owners import Owned, entities_of
from ..tables.columns import owner_column
from .blocks import BlockColumn, combine_times, put_where, row_cells, working_memory
from .grids.grid_layout import FIRST_CELL

if TYPE_CHECKING:
    from ..tables.columns import OwnedRows

    class OwnedIds(Protocol):
        """A manager whose rows have owners and ids."""

        @property
        def data(self) -> OwnedRows: ...
        @property
        def _entities(self) -> EntityPool: ...
        def resolve_many(self, ids: ArrayLike, /) -> RowArray: ...


def rows_of_live_entities(
    manager: Owned, entities: EntityArray, is_clean: bool = False
) -> RowArray:
    """Return the first row of each alive entity, NIL for others; O(k). `is_clean`: no rows of dead
    entities are left."""
    rows = manager.lookup_many(entities)
    return rows if is_clean else _of_living(rows, entities_of(manager), entities)


def rows_of_live_ids(manager: OwnedIds, ids: IdArray, is_clean: bool = False) -> RowArray:
    """Return the row of each id if its owner is alive, NIL for others; O(k)."""
    rows = manager.resolve_many(ids)
    owners = owner_column(manager.data)
    if is_clean or len(owners) == 0:
        return rows
    return _of_living(rows, manager._entities, owners.take(rows, mode="clip"))


def rows_of_cells(ids: IdArray, count: int) -> RowArray:
    """Return the row of each cell of `count` ones, NIL where an id is none; O(k)."""
    rows = ids - np.uint64(FIRST_CELL)  # of smaller ids a large number
    rows[rows >= count] = NIL
    return rows.view(np.int64)


def live_row_map(manager: Mapped) -> dict[int, int]:
    """Return the first row of each alive entity; O(n)."""
    rows = manager.first_rows()
    owners = owner_column(manager.data)[rows]
    alive = entities_of(manager).are_alive(owners)
    return dict(zip(owners[alive].tolist(), rows[alive].tolist(), strict=True))


def take_others(column: NDArray[Any], rows: RowArray, default: Any, out: NDArray[Any]) -> None:
    """Copy rows of a column to a block, both rows last; write a default where a row is NIL."""
    if column.shape[-1] == 0:
        out[...] = default
        return
    for cells, copy in zip(row_cells(column), row_cells(out), strict=True):
        cells.take(rows, out=copy, mode="clip")
    missing = rows == NIL
    if missing.any():
        put_where(out, missing, default)


def other_cells(column: NDArray[Any], rows: RowArray, default: Any) -> NDArray[Any]:
    """Return the rows' cells of a column, rows last, a default where a row is NIL."""
    out = working_memory(BlockColumn(column).memory, len(rows))
    take_others(column, rows, default, out)
    return out


def _of_living(rows: RowArray, entities: EntityPool, owners: EntityArray) -> RowArray:
    """Return rows, NIL where the owner is dead."""
    alive = entities.are_alive(owners)
    if not alive.all():
        rows[~alive] = NIL
    return rows


class Messages:
    """Messages to a field that the kernel neither reads nor writes: delivered with each block.

    `column` has rows last, `ufunc` combines its cells with messages (None: the last one is
    assigned), `steps` is the number of the kernel's steps that send to the field.
    """

    def __init__(self, column: NDArray[Any], ufunc: np.ufunc | None, steps: int) -> None:
        self._column = column
        self._ufunc = ufunc
        self._steps = steps
        self._held: list[tuple[RowArray, NDArray[Any]]] = []
        """Rows and values to be delivered after the last row."""
        self._ensure_capacity(0)

    def send(self, rows: RowArray, values: Any, heard: NDArray[np.bool_] | None = None) -> None:
        """Send each row's value in the only step to a row, or NIL, if `heard` is true; O(rows)."""
        shape = (*self._column.shape[:-1], len(rows))
        if heard is not None and not heard.all():
            rows = np.where(heard, rows, NIL)
        self._pass_on(rows, np.broadcast_to(values, shape))

    def put(self, step: int, rows: RowArray, values: Any) -> None:
        """Store rows and values of one of several steps, to be sent together."""
        if len(rows) != len(self._rows):
            self._ensure_capacity(len(rows))
        self._rows[:, step] = rows
        self._values[..., step] = values
        self._is_filled = True

    def send_all(self, heard: NDArray[np.bool_] | None = None) -> None:
        """Send the stored messages of the rows for which `heard` is true; O(rows)."""
        if not self._is_filled:  # all steps are in branches that no row takes
            return
        rows, values = self._rows, self._values
        if heard is not None and not heard.all():
            rows[~heard] = NIL
        self._pass_on(rows.reshape(-1), values.reshape(*values.shape[:-2], -1))
        rows.fill(NIL)
        self._is_filled = False

    def arrive(self) -> None:
        """Deliver the messages that wait for the last row; O(messages)."""
        for rows, values in self._held:
            self._deliver(rows, values)
        self._held = []

    def _ensure_capacity(self, count: int) -> None:
        shape = (*self._column.shape[:-1], count, self._steps)
        self._rows = np.full((count, self._steps), NIL, np.intp)
        self._values = np.empty(shape, self._column.dtype)
        self._is_filled = False

    def _pass_on(self, rows: RowArray, values: NDArray[Any]) -> None:
        self._deliver(rows, values)

    def _deliver(self, rows: RowArray, values: NDArray[Any]) -> None:
        sent = (rows != NIL).nonzero()[0]  # a random mask takes several times as long
        if len(sent) < len(rows):
            rows, values = rows.take(sent), values.take(sent, axis=-1)
        if len(rows) == 0:
            return
        for element in np.ndindex(self._column.shape[:-1]):
            cells, sent_values = self._column[element], values[element]
            if self._ufunc is None:
                cells[rows] = sent_values
            elif self._ufunc is np.logical_or:  # five times as fast as its `at`
                cells[rows.compress(sent_values)] = True
            elif self._ufunc is np.logical_and:
                cells[rows.compress(~sent_values)] = False
            elif self._ufunc is np.add or self._ufunc is np.subtract:
                add_messages(self._ufunc, cells, rows, sent_values)
            else:
                with np.errstate(invalid="ignore"):  # `at` of extremes warns of NaN
                    self._ufunc.at(cells, rows, sent_values)


def add_messages(
    ufunc: np.ufunc, cells: NDArray[Any], rows: RowArray, values: NDArray[Any]
) -> None:
    """Add values to cells, or subtract them, one after the other; sums of times wrap, too."""
    before = cells[rows] if cells.dtype.kind == "m" else None
    try:
        ufunc.at(cells, rows, values)
    except OverflowError:  # of times, from numpy 2.5 on
        cells[rows] = before
        units = cells.view(np.int64)
        for row, value in zip(rows.tolist(), values.view(np.int64), strict=True):
            units[row] = combine_times(ufunc, units[row], value)


class DeferredMessages(Messages):
    """Messages to a field that the kernel reads or writes: delivered after the last row."""

    def _pass_on(self, rows: RowArray, values: NDArray[Any]) -> None:
        self._held.append((rows.copy(), values.copy()))
