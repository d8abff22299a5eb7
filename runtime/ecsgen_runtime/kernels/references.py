"""Other rows: those that entities and ids of a kernel's rows lead to, their fields, and messages.

Rows of dead entities that are not collected yet are not found, so that it does not matter when they
are. What rows send to others arrives in the order of rows, and what one sends in the order of its
steps, one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.handles import NIL, EntityArray, IdArray, RowArray
from ..entities.entity_pool import EntityPool
from ..managers.policies.lookup_maps import Mapped
from ..managers.policies.owners import Owned
from .blocks import BlockColumn, put_where, row_cells, working_memory


def rows_of_live_entities(
    manager: Owned, entities: EntityArray, is_clean: bool = False
) -> RowArray:
    """Return the first row that each living entity has, NIL for others; O(k).

    `is_clean`: no rows of dead entities are left.
    """
    rows = manager.lookup_many(entities)
    return rows if is_clean else _of_living(rows, manager._entities, entities)


def rows_of_live_ids(manager: Any, ids: IdArray, is_clean: bool = False) -> RowArray:
    """Return the row with each id if its owner is alive, NIL for others; O(k).

    `manager`: of entities' rows that have ids.
    """
    rows: RowArray = manager.resolve_many(ids)
    owners = manager.data._entity_column
    if is_clean or len(owners) == 0:
        return rows
    return _of_living(rows, manager._entities, owners.take(rows, mode="clip"))


def live_row_map(manager: Mapped) -> dict[int, int]:
    """Return the first row that each living entity has; O(n)."""
    rows = manager._first_rows()
    owners = manager.data._entity_column[rows]
    alive = manager._entities._are_alive(owners)
    return dict(zip(owners[alive].tolist(), rows[alive].tolist(), strict=True))


def take_others(column: NDArray[Any], rows: RowArray, default: Any, out: NDArray[Any]) -> None:
    """Copy rows of a column into a block, both rows last, and a default where a row is NIL."""
    if column.shape[-1] == 0:
        out[...] = default
        return
    for cells, copy in zip(row_cells(column), row_cells(out), strict=True):
        cells.take(rows, out=copy, mode="clip")
    missing = rows == NIL
    if missing.any():
        put_where(out, missing, default)


def other_cells(column: NDArray[Any], rows: RowArray, default: Any) -> NDArray[Any]:
    """Return rows of a column, rows last, and a default where a row is NIL."""
    out = working_memory(BlockColumn(column).memory, len(rows))
    take_others(column, rows, default, out)
    return out


def _of_living(rows: RowArray, entities: EntityPool, owners: EntityArray) -> RowArray:
    """Return rows, NIL where the owner is dead."""
    alive = entities._are_alive(owners)
    if not alive.all():
        rows[~alive] = NIL
    return rows


class Messages:
    """Messages to a field, which the kernel neither reads nor writes: they arrive with each block.

    `column` has rows last, `ufunc` is what is done with what is there, `steps` how many of the
    kernel's steps send to the field.
    """

    def __init__(self, column: NDArray[Any], ufunc: np.ufunc, steps: int) -> None:
        self._column = column
        self._ufunc = ufunc
        self._steps = steps
        self._held: list[tuple[RowArray, NDArray[Any]]] = []
        """What waits for the last row."""
        self._ensure_capacity(0)

    def send(self, rows: RowArray, values: Any, heard: NDArray[np.bool_] | None = None) -> None:
        """Send what each row of a block says in the only step: to which row, NIL for none, and
        whether it is heard; O(rows)."""
        shape = (*self._column.shape[:-1], len(rows))
        if heard is not None and not heard.all():
            rows = np.where(heard, rows, NIL)
        self._pass_on(rows, np.broadcast_to(values, shape))

    def put(self, step: int, rows: RowArray, values: Any) -> None:
        """Set the same of one of several steps, to be sent together."""
        if step == 0 and len(rows) != len(self._rows):
            self._ensure_capacity(len(rows))
        self._rows[:, step] = rows
        self._values[..., step] = values

    def send_all(self, heard: NDArray[np.bool_] | None = None) -> None:
        """Send what the block's rows have put, those that are heard; O(rows)."""
        rows, values = self._rows, self._values
        if heard is not None and not heard.all():
            rows[~heard] = NIL
        self._pass_on(rows.reshape(-1), values.reshape(*values.shape[:-2], -1))

    def arrive(self) -> None:
        """Let messages arrive that have waited for the last row; O(messages)."""
        for rows, values in self._held:
            self._deliver(rows, values)
        self._held = []

    def _ensure_capacity(self, count: int) -> None:
        shape = (*self._column.shape[:-1], count, self._steps)
        self._rows = np.empty((count, self._steps), np.intp)
        self._values = np.empty(shape, self._column.dtype)

    def _pass_on(self, rows: RowArray, values: NDArray[Any]) -> None:
        self._deliver(rows, values)

    def _deliver(self, rows: RowArray, values: NDArray[Any]) -> None:
        sent = rows != NIL
        if not sent.all():
            rows, values = rows[sent], values[..., sent]
        if len(rows) == 0:
            return
        for place in np.ndindex(self._column.shape[:-1]):
            cells, given = self._column[place], values[place]
            if self._ufunc is np.logical_or:  # five times as fast as its `at`
                cells[rows[given]] = True
            elif self._ufunc is np.logical_and:
                cells[rows[~given]] = False
            else:
                self._ufunc.at(cells, rows, given)


class DeferredMessages(Messages):
    """Messages to a field that the kernel itself reads or writes: they wait for the last row."""

    def _pass_on(self, rows: RowArray, values: NDArray[Any]) -> None:
        self._held.append((rows.copy(), values.copy()))
