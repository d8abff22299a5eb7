"""cold: indirect: cold fields live in a second, packed buffer; rows pay four bytes.

An instance takes a cold row at the first value that is not the default, and keeps it for good.
`cold_row` is the cold row of an instance, the cold buffer's `row` the instance's row. The last
cold row moves into a hole, as rows do; for a batch once all rows have moved.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ...base.handles import NIL, Columns, EntityArray, RowArray
from ...base.specialisation import NO_SLOTS
from ...tables.buffers import Column, copied_if_view, item_view, read_only
from ...tables.columns import Rows
from ...tables.placement import swap_remove_moves
from ...values.field_types import Field
from .packed import Packed

_FEW: Final = 32
"""At most so many elements of a cell are compared one after the other, for all rows at once."""


def default_cell(field: Field, stored: bytes) -> NDArray[Any]:
    """Return a field's default, given as the bytes of its cell, as an array of the cell's shape."""
    return np.frombuffer(stored, field.dtype).reshape(field.shape)


def differing(
    columns: Mapping[str, NDArray[Any]], defaults: Mapping[str, NDArray[Any]], count: int
) -> NDArray[np.bool_]:
    """Return which of `count` new rows have a cell that is not the default; O(count).

    Cells are compared bit for bit, so that -0.0 is not 0.0 and a NaN is itself. Objects differ
    from the default unless they are None.
    """
    mask = np.zeros(count, np.bool_)
    for name, default in defaults.items():
        differs = _other_cells(_bits(columns[name]), _bits(default))
        if differs.any():
            mask |= differs
    return mask


def _other_cells(bits: NDArray[Any], default: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which cells differ from the default, shape (count,), or (1,) if all are the same.

    Element by element of a cell: `any` over the few elements of each cell takes far longer.
    """
    if default.ndim == 0:
        return np.atleast_1d(bits != default)
    if bits.ndim <= default.ndim:
        return np.array([(bits != default).any()])
    cells = np.broadcast_to(bits, (len(bits), *default.shape))
    if default.size > _FEW:
        differs: NDArray[np.bool_] = (cells != default).any(axis=tuple(range(1, cells.ndim)))
        return differs
    differing_rows = np.zeros(len(bits), np.bool_)
    for element in np.ndindex(default.shape):
        differing_rows |= cells[(slice(None), *element)] != default[element]
    return differing_rows


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return scalars as integers of their size, text as it is, objects as: is it not None."""
    if array.dtype.kind == "O":
        is_set = (value is not None for value in array.flat)
        return np.fromiter(is_set, np.bool_, array.size).reshape(array.shape)
    return array if array.dtype.kind == "S" else array.view(f"u{array.itemsize}")


def select_rows(values: NDArray[Any], shape: tuple[int, ...], wanted: RowArray) -> NDArray[Any]:
    """Return the wanted rows of values that broadcast to `shape`, or what is the same for all."""
    by_row = values.ndim == len(shape) and len(values) == shape[0]
    if not by_row:
        return values
    if values.ndim == 1 or values.shape != shape or not values.flags.c_contiguous:
        return values[wanted]
    cells = item_view(values).take(wanted)
    return cells.view(values.dtype).reshape(-1, *shape[1:])


class ColdRows(Rows):
    """Cold columns, one cold row per instance that has other values than defaults.

    `row` is the instance's row. A view is good until cold rows are added or removed, which does not
    count in the manager's `version`.
    """

    __slots__ = NO_SLOTS
    DEFAULTS: ClassVar[Mapping[str, NDArray[Any]]]
    """The default of each field, one cell."""
    _row_column: NDArray[np.uint32]
    _row_cells: memoryview[int]

    @property
    def row(self) -> NDArray[np.uint32]:
        """The row that each cold row belongs to, shape (n,); read-only."""
        return read_only(self._row_column[: self._n])

    @abstractmethod
    def _move_row(self, src: int, dst: int) -> None:
        """Copy one row over another, column by column."""

    @abstractmethod
    def _reset(self, cold_row: int) -> None:
        """Set a cold row to the defaults."""

    @abstractmethod
    def _fill(self, cold_rows: slice, columns: Columns, count: int, wanted: RowArray) -> None:
        """Fill cold rows with the `wanted` of `count` new rows' checked columns."""

    def _ensure_capacity(self, count: int, borrowed: tuple[object, ...] = ()) -> None:
        """Make room for `count` more cold rows; O(n) if the buffer grows."""
        needed = self._n + count
        if needed > self._allocated:
            self._grow(needed, borrowed)

    def _take(self, row: int) -> int:
        """Assign the next cold row to a row, and return it; the caller has reserved it and fills
        it."""
        cold_row = self._n
        self._row_cells[cold_row] = row
        self._n = cold_row + 1
        return cold_row

    def _fill_free(self, columns: Columns, count: int, wanted: RowArray) -> None:
        """Fill cold rows behind the last one with the `wanted` of `count` new rows."""
        start, end = self._n, self._n + len(wanted)
        try:
            self._fill(slice(start, end), columns, count, wanted)
        except BaseException:
            self.empty_objects(slice(start, end))
            raise


class IndirectRows(Rows):
    """Rows of which some have a cold row."""

    __slots__ = NO_SLOTS
    COLD: ClassVar[type[ColdRows]]
    _COLD_CAPACITY: ClassVar[int] = 0
    _cold: ColdRows
    _cold_row_column: NDArray[np.uint32]
    _cold_row_cells: memoryview[int]

    def _init_empty(self) -> None:
        super()._init_empty()
        self._cold = self.COLD(self._COLD_CAPACITY)

    def subtables(self) -> dict[str, Rows]:
        return {**super().subtables(), "cold": self._cold}

    def cold_cells(self, name: str) -> tuple[NDArray[Any], RowArray] | None:
        """Return the cells that a cold field has in use, and their rows; None if it is no such
        field."""
        cold, n = self._cold, self._cold._n
        if name not in cold.DEFAULTS:
            return None
        return getattr(cold, f"_{name}_column")[:n], cold._row_column[:n].astype(np.intp)

    def _nbytes(self) -> int:
        return super()._nbytes() + self._cold._nbytes()

    def _shrink(self, is_counted: bool = False) -> None:
        self._cold._shrink()
        super()._shrink(is_counted)

    def take_cold_row(self, row: int, borrowed: tuple[object, ...] = ()) -> int:
        """Assign a cold row of defaults to a row; O(1). `borrowed`: the caller's arguments."""
        cold = self._cold
        cold._ensure_capacity(1, borrowed)
        cold_row = cold._n
        cold._reset(cold_row)
        cold._row_cells[cold_row] = row
        # at once: no interrupt comes between
        self._cold_row_cells[row], cold._n = cold_row, cold_row + 1
        return cold_row

    def _plan_cold_rows(self, columns: Columns, count: int) -> tuple[RowArray, RowArray]:
        """Fill free cold rows with values other than the defaults; O(k).

        Returns which of the new rows get a cold row, and which one.
        """
        cold = self._cold
        positions = differing(columns, cold.DEFAULTS, count).nonzero()[0]
        cold_rows = np.arange(cold._n, cold._n + len(positions))
        if len(positions):
            cold._fill_free(columns, count, positions)
        return positions, cold_rows

    def _append_cold_rows(self, rows: RowArray, new: tuple[RowArray, RowArray]) -> None:
        """Assign the filled cold rows to their new rows; O(k)."""
        cold, (positions, cold_rows) = self._cold, new
        owners = rows[positions]
        self._cold_row_column[rows] = NIL
        self._cold_row_column[owners] = cold_rows
        cold._row_column[cold_rows] = owners
        cold._n += len(owners)

    def _drop_cold_row(self, cold_row: int) -> object:
        """Free a cold row; the last one moves into its place.

        Returns the objects in it, which the caller holds until its row is removed.
        """
        cold = self._cold
        objects = cold.objects_of([cold_row]) if cold.OBJECTS else None
        last = cold._n - 1
        if cold_row != last:
            cold._move_row(last, cold_row)
            self._cold_row_cells[cold._row_cells[cold_row]] = cold_row
        cold._n = last
        cold.empty_objects(slice(last, last + 1))
        return objects

    def objects_of(self, rows: RowArray | list[int]) -> list[NDArray[np.object_]]:
        cold_rows = self._cold_row_column[rows]
        return [
            *super().objects_of(rows),
            *self._cold.objects_of(cold_rows[cold_rows != NIL].astype(np.intp)),
        ]

    def _drop_cold_rows(self, src: RowArray, dst: RowArray, count: int, objects: object) -> None:
        """Free cold rows once their rows are removed; the last ones, `src`, move to `dst`. `left`:
        the objects in the freed rows, which live until then."""
        cold, n = self._cold, self._cold._n
        cold._move_rows(src, dst)
        self._cold_row_column[cold._row_column[dst]] = dst
        cold._n = n - count
        cold.empty_objects(slice(cold._n, n))


def cold_row_column(rows: IndirectRows) -> NDArray[np.uint32]:
    """Return the cold row of each row, NIL where all values are defaults; shape (allocated,)."""
    return rows._cold_row_column


class Indirect(Packed):
    """A manager whose cold fields lie in a second buffer."""

    __slots__ = NO_SLOTS
    _PLAN_REMOVE: ClassVar[tuple[str, ...]] = ("_plan_cold_removal",)
    _AFTER_MOVE: ClassVar[tuple[str, ...]] = ("_move_cold_owners",)
    LAYOUT_COLD: ClassVar[tuple[Column, ...]]
    data: IndirectRows

    def _convert(self, count: int, arguments: Mapping[str, Any]) -> Columns:
        columns, buffer = super()._convert(count, arguments), self.data._cold.buffer
        return {name: copied_if_view(cells, buffer) for name, cells in columns.items()}

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        super()._ensure_capacity(entities, columns, borrowed)
        cold, count = self.data._cold, len(entities)
        wanted = int(np.count_nonzero(differing(columns, cold.DEFAULTS, count)))
        # no more than there will be rows: evicted ones free theirs
        wanted = min(wanted, self.data.capacity_for(count) - cold._n)
        cold._ensure_capacity(wanted, borrowed)

    def _plan_cold_removal(self, removed: RowArray) -> Callable[[], None]:
        data, cold = self.data, self.data._cold
        held = data._cold_row_column[removed]
        places = np.sort(held[held != NIL]).astype(np.intp)
        src, dst = swap_remove_moves(places, cold._n)
        left = cold.objects_of(places)
        return partial(data._drop_cold_rows, src, dst, len(places), left)

    def _move_cold_owners(self, dst: RowArray) -> None:
        """Update the rows that cold rows belong to, for instances that are at `dst` now."""
        cold_rows = self.data._cold_row_column[dst]
        held = cold_rows != NIL
        self.data._cold._row_column[cold_rows[held]] = dst[held]

    def _column(self, name: str) -> NDArray[Any]:
        """Return a scalar field's value in each row, defaults included; O(n)."""
        data, cold = self.data, self.data._cold
        if name not in cold.DEFAULTS:
            return super()._column(name)
        default = cold.DEFAULTS[name]
        column = np.full(data._n, default, default.dtype)
        column[cold.row] = getattr(cold, name)
        return column
