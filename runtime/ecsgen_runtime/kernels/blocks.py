"""What kernels run on: blocks of columns, rows that are chosen, and what is folded of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from math import nan, prod
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.fast_typing import NamedTuple
from ..base.handles import RowArray
from ..base.specialisation import NO_SLOTS
from ..managers.manager import BaseManager
from ..tables.buffers import Column, item_view, nested
from ..tables.bulk import Tuning
from ..tables.columns import Rows
from ..values.field_types import Converter
from ..world.queries.join_rows import RowOrder, member_rows

ALL_ROWS: RowArray = np.zeros(1, np.intp)
"""The first of all rows, for loops that take it that they follow each other."""

NO_MASK: NDArray[np.bool_] = np.zeros(0, np.bool_)
"""The mask of a call that names no rows, and so runs over all."""


class SelectedRows:
    """The rows that a call names: k distinct ones in the order given, or those of a mask.

    Raises:
        TypeError, ValueError, StaleInstanceError: as `destroy_many` does.
    """

    def __init__(self, manager: BaseManager, rows: ArrayLike, bound: int = -1) -> None:
        given = manager._require_rows(rows)
        manager._distinct(given)
        self.count = len(given)
        """How many were given."""
        self._running: NDArray[np.bool_] | None = None
        if bound >= 0:
            running = given < bound
            if not running.all():
                self._running, given = running, given[running]
        self.rows: RowArray = given
        """Those over which the kernel runs: with a bound, the ones before it."""

    def of_each(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values, one for each row given, of those that run."""
        return values if self._running is None else values[self._running]

    def mask(self, n: int) -> NDArray[np.bool_]:
        """Return for each of n rows whether the kernel runs over it."""
        found = np.zeros(n, np.bool_)
        found[self.rows] = True
        return found

    def spread(self, values: NDArray[Any], n: int) -> NDArray[Any]:
        """Return the values, one for each row given, where a loop over n rows looks for them."""
        spread = np.empty((n, *values.shape[1:]), values.dtype)
        spread[self.rows] = self.of_each(values)
        return spread


def passing_rows(mask: NDArray[np.bool_], chosen: SelectedRows | None = None) -> RowArray:
    """Return those of all rows, or of the chosen ones, in their order, for which a mask is true."""
    return mask.nonzero()[0] if chosen is None else chosen.rows[mask]


def each_value(
    converter: Converter, value: ArrayLike, count: int, *buffers: NDArray[np.uint8]
) -> NDArray[Any]:
    """Return a checked value for each row, shape (count, *shape), to be read only.

    It shares no memory with the buffers, which the kernel may write. Raises what
    `create_many` does for a field.
    """
    values = converter.to_column(value, count)
    if any(np.may_share_memory(values, buffer) for buffer in buffers):
        values = values.copy()
    return np.broadcast_to(values, (count, *converter.shape))


def check_unchanged(before: object, now: object) -> None:
    """Raise RuntimeError if there are other rows than those that values were counted for."""
    if now != before:
        raise RuntimeError("converting the values of an argument changed the rows")


class SelectedCells:
    """The cells of some rows: copies, of which those that are written are put back."""

    def __init__(self, rows: RowArray) -> None:
        self._rows = rows
        self.count = len(rows)
        self._written: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def read(self, column: NDArray[Any], elements: int = 1) -> NDArray[Any]:
        """Return the rows' cells of a column with so many elements per row."""
        return column.reshape(-1, elements)[self._rows].reshape(-1)

    def written(self, column: NDArray[Any], elements: int = 1) -> NDArray[Any]:
        """Return the same, to be put back."""
        copy = self.read(column, elements)
        self._written.append((column.reshape(-1, elements), copy))
        return copy

    def put(self) -> None:
        """Put back what is written."""
        for cells, copy in self._written:
            cells[self._rows] = copy.reshape(-1, cells.shape[1])


def flat_cells(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as an array of the one kind that a loop is compiled for."""
    return np.require(values, requirements=("C", "A", "W")).reshape(-1)


class KernelRows(Rows):
    """Rows with the blocks that kernels and reductions work on."""

    __slots__ = NO_SLOTS
    _kernels: dict[str, Any]
    """The blocks of each."""

    def _forget_views(self) -> None:
        super()._forget_views()
        self._kernels = {}

    def _nbytes(self) -> int:
        held: int = sum(blocks.nbytes for blocks in self._kernels.values())
        return super()._nbytes() + held


class WorldKernelRows(Rows):
    """Rows with the blocks of the world's kernels that look at them."""

    __slots__ = NO_SLOTS
    _world_kernels: dict[str, Any]
    """Of each, known to all whose columns it has."""

    def _init_empty(self) -> None:
        super()._init_empty()
        self._world_kernels = {}

    def _forget_views(self) -> None:
        super()._forget_views()
        for blocks in self._world_kernels.values():
            blocks.drop()
        self._world_kernels = {}

    def _nbytes(self) -> int:
        held: int = sum(blocks.nbytes for blocks in self._world_kernels.values())
        return super()._nbytes() + held


# --- What kernels run on: the columns in blocks that stay in the cache, and their
# working memory.
#
# In a block rows come last, `(*shape, rows)`: `position[0]` is one element of every
# row, and what is one number per row goes with each element of a shape.


_CACHED: Final = 1 << 20
"""Bytes of a block's columns and working memory together: what a core's own cache holds."""


_MOST_SHARED: Final = 4
"""How many times as large the blocks of several kernels are, which share most of the columns."""

_MISREAD: Final = frozenset((16, 64))
"""Strides with which `np.negative` is not to be trusted."""

ScratchSpec: TypeAlias = tuple[str, tuple[int, ...], bool]
"""Working memory of a kernel: dtype, shape per row, and whether a row's elements lie together."""


class BlockMemory:
    """Arrays for as many rows as a block has: the same ones again if they have room."""

    def __init__(self, cells: Sequence[ScratchSpec]) -> None:
        self._cells = cells
        self._room = -1
        self._arrays: list[NDArray[Any]] = []
        self.nbytes = 0
        """Bytes that are held."""

    def take(self, rows: int, room: int) -> list[NDArray[Any]]:
        """Return uninitialised arrays of shape (*shape, rows): of those that there are, or, if they
        have too few, of new ones of `room` rows."""
        if rows > self._room:
            self._room = room
            self._arrays = [working_memory(cells, room) for cells in self._cells]
            self.nbytes = sum(array.nbytes for array in self._arrays)
        return [array[..., :rows] for array in self._arrays]


class KernelBlocks:
    """Views of a kernel's columns and of its working memory, block after block.

    Good until the buffer moves or the stamp (the number of rows, or the version) changes. Those of
    another number of rows take over the memory of the `former` ones: all that it takes then is to
    cut it again.
    """

    most: int
    """Rows of a block at most."""
    _memory: BlockMemory

    def __init__(
        self,
        rows: int,
        columns: Sequence[NDArray[Any]],
        working: Sequence[ScratchSpec],
        former: KernelBlocks | None = None,
        kernels: int = 1,
    ) -> None:
        """With several `kernels`, of which each sees a part of the arrays, blocks are larger."""
        self.stamp = rows
        self.columns = columns
        self.working = working
        if former is not None:
            self.most, self._memory = former.most, former._memory
        else:
            each = [BlockColumn(array).memory for array in columns]
            self.most = block_rows([*each, *working], kernels)
            self._memory = BlockMemory(working)
        size = self.most
        some = min(rows, size)
        room = 1 << (some - 1).bit_length()
        memory = self._memory.take(some, room) if rows else []
        self.nbytes = self._memory.nbytes
        """Bytes that are held beside the columns."""
        self.views: list[tuple[Any, ...]] = []
        if 0 < rows <= size:  # few rows are what this has to be quick for
            self.views.append((*columns, *memory))
            return
        for start in range(0, rows, size):
            cut = [column[..., start : start + size] for column in columns]
            scratch = [array[..., : rows - start] for array in memory]
            self.views.append((*cut, *scratch))


def block_rows(cells: Iterable[ScratchSpec], kernels: int = 1, others: int = 0) -> int:
    """Return how many rows make a block, a power of two; of several kernels more.

    `others`: bytes of a row beside those of the cells.
    """
    row_bytes = (sum(map(_row_bytes, cells)) + others) // min(kernels, _MOST_SHARED)
    least, most = Tuning.block_rows
    fitting = max(least, min(most, _CACHED // max(row_bytes, 1)))
    return 1 << (fitting.bit_length() - 1)


@cache
def _row_bytes(cells: ScratchSpec) -> int:
    return prod(cells[1]) * np.dtype(cells[0]).itemsize


def working_memory(cells: ScratchSpec, rows: int) -> NDArray[Any]:
    """Return uninitialised memory of shape (*shape, rows)."""
    dtype, shape, together = cells
    if together:
        return rows_last(np.empty((rows, *shape), dtype))
    return np.empty((*shape, rows), dtype)


def block_memory(
    columns: Sequence[BlockColumn], working: Sequence[ScratchSpec], rows: int
) -> list[NDArray[Any]]:
    """Return memory of blocks: for columns that are gathered, and what the kernel works in."""
    rooms = [0 if column.rows is None else rows for column in columns]
    gathered = zip(columns, rooms, strict=True)
    return [
        *(working_memory(column.memory, room) for column, room in gathered),
        *(working_memory(cells, rows) for cells in working),
    ]


def rows_last(column: NDArray[Any]) -> NDArray[Any]:
    """Return a view of a column, shape (rows, *shape), as (*shape, rows)."""
    return column.transpose(*range(1, column.ndim), 0)  # moveaxis takes 5 µs


def planes(
    buffer: NDArray[np.uint8], first: Column, capacity: int, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return the columns of a split field, which follow each other, as (*shape, capacity)."""
    start = first.offset(capacity)
    size = prod(shape) * first.nbytes * capacity
    return buffer[start : start + size].view(first.dtype).reshape(*shape, capacity)


def put_where(target: NDArray[Any], mask: Any, values: Any) -> None:
    """Write values into a block where a mask is true; both fit it as numpy's broadcasting has it.

    Five times as fast as `np.copyto(target, values, where=mask)`.
    """
    if target.shape == np.shape(mask) and target.ndim == 1:
        if mask.all():  # a tenth of the time
            target[...] = values
        else:
            np.putmask(target, mask, values)
        return
    masks = np.broadcast_to(mask, target.shape)
    given = np.broadcast_to(np.asarray(values, target.dtype), target.shape)
    if target.strides[-1] == target.itemsize:
        for place in np.ndindex(target.shape[:-1]):
            np.putmask(target[place], masks[place], given[place])
    else:  # a row's elements lie together: so shall those of the others
        axes = (target.ndim - 1, *range(target.ndim - 1))
        np.putmask(target.transpose(axes), masks.transpose(axes), given.transpose(axes))


def negated(values: Any, out: NDArray[Any], dtype: Any = None) -> None:
    """Write -values to `out`, as `np.negative` does where it is right.

    numpy 2.4 takes other cells where those of values and `out` are both 16 or 64 bytes apart.
    """
    cells = np.asarray(values)
    if _MISREAD.isdisjoint(cells.strides):
        np.negative(cells, out=out, dtype=dtype)
    else:
        np.negative(cells.copy(), out=out, dtype=dtype)


def as_integers(values: Any, dtype: Any) -> NDArray[Any]:
    """Return floats as integers: cut towards zero, the range's end beyond it, 0 for NaN."""
    limits = np.iinfo(dtype)
    low, beyond = float(limits.min), float(limits.max + 1)  # powers of two, so exact
    given = np.asarray(values)
    fits = (given >= low) & (given < beyond)
    if fits.all():
        return given.astype(dtype)
    result = np.where(fits, given, 0).astype(dtype)
    np.copyto(result, limits.min, where=given < low)
    np.copyto(result, limits.max, where=given >= beyond)
    return result


def rows_below(levels: tuple[RowArray, ...], bound: int) -> tuple[RowArray, ...]:
    """Return the rows of each level that are less than a bound: the active ones."""
    return tuple(level[level < bound] for level in levels)


def row_cells(array: NDArray[Any]) -> list[NDArray[Any]]:
    """Return cells, rows last, as arrays of one item per row: one, or one per element."""
    if array.ndim == 1:
        return [array]
    is_vector = array.ndim == 2  # soonest done
    if array.strides[-1] != array.itemsize:
        rows_first = (-1, *range(array.ndim - 1))
        return [item_view(array.T if is_vector else array.transpose(rows_first))]
    if is_vector:
        return list(array)
    return [array[place] for place in np.ndindex(array.shape[:-1])]


# --- Blocks of rows that lie anywhere: copies, which are gathered before a block is
# worked on, and put back behind it where they are written.


Copied: TypeAlias = tuple[NDArray[Any], RowArray, NDArray[Any]]
"""Cells, some rows of them, and a copy of these; an item per row."""


class BlockColumn(NamedTuple):
    """A field of a kernel."""

    cells: NDArray[Any]
    """Rows last."""
    rows: Any = None
    """Where those over which the kernel runs are in it; None: they are its own."""
    is_read: bool = True
    is_written: bool = False

    @property
    def memory(self) -> ScratchSpec:
        """What the cells of a block are gathered in: laid out as the column is."""
        together = self.cells.strides[-1] != self.cells.itemsize
        return self.cells.dtype.str, self.cells.shape[:-1], together


class RowBatch(NamedTuple):
    """A block: what is copied before it, its arrays, and what is copied behind it."""

    gathered: list[Copied]
    views: tuple[Any, ...]
    put: list[Copied]


def batch_of(
    columns: Sequence[BlockColumn], rows: RowArray | slice, memory: Sequence[NDArray[Any]]
) -> RowBatch:
    """Return a batch of some rows: columns where they follow each other, else in memory, then what
    else there is of memory."""
    views = list(memory)
    gathered: list[Copied] = []
    put: list[Copied] = []
    for place, column in enumerate(columns):
        where = rows if column.rows is None else column.rows[rows]
        if isinstance(where, slice):
            views[place] = column.cells[..., where]
            continue
        moves = row_copies(column.cells, where, memory[place])
        if column.is_read:
            gathered += moves
        if column.is_written:
            put += moves
    return RowBatch(gathered, tuple(views), put)


def batches_of(
    columns: Sequence[BlockColumn], memory: Sequence[NDArray[Any]], count: int, size: int
) -> Iterator[RowBatch]:
    """Yield batches of so many rows, `size` in each, which all have the same memory."""
    for start in range(0, count, size or 1):
        end = min(start + size, count)
        some = [array[..., : end - start] for array in memory]
        yield batch_of(columns, slice(start, end), some)


def row_copies(column: NDArray[Any], rows: RowArray, copy: NDArray[Any]) -> list[Copied]:
    """Return what is copied of a column, rows last."""
    return list(zip(row_cells(column), repeat(rows), row_cells(copy), strict=False))


def moved_rows(batches: Iterable[RowBatch]) -> Iterator[tuple[Any, ...]]:
    """Yield the arrays of batches: copies are put back when the next one is asked for."""
    for gathered, views, put in batches:
        for cells, rows, copy in gathered:
            cells.take(rows, out=copy, mode="clip")
        yield views
        for cells, rows, copy in put:
            if cells.dtype.kind == "V":  # `put` takes half the time
                cells.put(rows, copy, "clip")
            else:
                cells[rows] = copy


def selected_blocks(
    whole: KernelBlocks, rows: RowArray, written: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """Yield blocks of some rows of those that a kernel has blocks of, with the same arrays;
    `written` says which of the columns are put back."""
    columns = [
        BlockColumn(cells, rows, True, place in written)
        for place, cells in enumerate(whole.columns)
    ]
    size = min(len(rows), whole.most)
    memory = block_memory(columns, whole.working, size)
    return moved_rows(batches_of(columns, memory, len(rows), size))


def with_row_values(
    blocks: Iterable[tuple[Any, ...]], *each: NDArray[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield blocks with the values of their rows behind the arrays; rows are last in all."""
    start = 0
    for views in blocks:
        end = start + views[0].shape[-1]
        yield (*views, *(values[..., start:end] for values in each))
        start = end


# --- Reductions: what the blocks gave, put together -----------------------------------


def combine_sums(parts: list[NDArray[Any]], dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return the sum of the blocks' sums as Python numbers, 0 for none; integers wrap."""
    total = np.zeros(shape, dtype)
    for part in parts:
        total = total + part
    return as_cell(total, shape)


def combine_means(parts: list[NDArray[Any]], rows: int, shape: tuple[int, ...]) -> Any:
    """Return the sum of the blocks' sums, divided by the number of rows; NaN for none."""
    if rows == 0:
        return nan_cell(shape)
    return as_cell(np.add.reduce(np.array(parts)) / rows, shape)


def combine_extremes(parts: list[NDArray[Any]], choose: np.ufunc, shape: tuple[int, ...]) -> Any:
    """Return the smallest or largest of those of blocks; NaN if one is, and for none."""
    return as_cell(choose.reduce(np.array(parts)), shape) if parts else nan_cell(shape)


def nan_cell(shape: tuple[int, ...]) -> Any:
    """Return NaN as a cell of a shape."""
    return nested([nan] * prod(shape), shape) if shape else nan


def as_cell(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a cell as a Python number, or (nested) tuples of them."""
    return nested(np.ravel(array).tolist(), shape) if shape else array.item()


class JoinedKernelBlocks:
    """Views of several managers' columns and working memory, block after block; kept.

    Good until one of the buffers moves, or the stamp (how many entities, or which match of
    a query) changes. Rows that follow each other are a view. Others are gathered as a block
    is asked for, or all of them at first where that is faster, and scattered when the next
    one is asked for, if they are written.
    """

    def __init__(
        self,
        stamp: object,
        n: int,
        columns: Sequence[BlockColumn],
        working: Sequence[ScratchSpec],
        kernels: int = 1,
    ) -> None:
        """With several `kernels`, of which each sees a part of the arrays, blocks are larger."""
        self.stamp = stamp
        cells = [*(column.memory for column in columns), *working]
        size = min(n, block_rows(cells, kernels))
        self._ordered: list[_Ordered] = []
        parts = [self._part(column, n) for column in columns]
        memory = block_memory(parts, working, size)
        self.nbytes = sum(array.nbytes for array in memory)
        """Bytes that are held beside the columns; of what several keep, the share of one."""
        self.nbytes += sum(one.copy.nbytes for one in self._ordered)
        self._batches = list(batches_of(parts, memory, n, size))
        for one in self._ordered:
            one.put_by(self._batches, size)
        self._views = [batch.views for batch in self._batches]
        is_moved = any(batch.gathered or batch.put for batch in self._batches)
        self._moves = bool(self._ordered) or is_moved

    def _part(self, column: BlockColumn, n: int) -> BlockColumn:
        """Return what blocks have parts of: cells that follow each other, in the column or in a
        copy of all, or any of them."""
        rows = member_rows(column.rows)
        if isinstance(rows, slice):
            return BlockColumn(column.cells[..., rows])
        order = None
        if column.is_read:
            order = column.rows.order(row_cells(column.cells)[0].itemsize)
        column = column._replace(rows=rows)
        if order is None:
            return column
        copy = working_memory(column.memory, n)
        self._ordered.append(_Ordered(order, column, copy))
        return BlockColumn(copy)

    def keep(self, name: str, holders: Sequence[WorldKernelRows]) -> Self:
        """Let all whose columns these are know them by the kernel's name."""
        self.nbytes = -(-self.nbytes // len(holders))
        for holder in holders:
            holder._world_kernels[name] = self
        return self

    def drop(self) -> None:
        """Let go of all views: a buffer is about to go."""
        self.stamp = None
        self.nbytes = 0
        self._moves = False
        self._ordered = []
        self._batches = []
        self._views = []

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks."""
        if not self._moves:
            return iter(self._views)
        for one in self._ordered:
            one.gather()
        return moved_rows(self._batches)


class _Ordered(NamedTuple):
    """A column that is gathered at once, in the order that is fast."""

    order: RowOrder
    column: BlockColumn
    copy: NDArray[Any]
    """Of all rows, rows last."""

    def gather(self) -> None:
        """Copy the cells of all rows."""
        cells, copy = row_cells(self.column.cells), row_cells(self.copy)
        self.order.gather(cells[0], copy[0])

    def put_by(self, batches: Sequence[RowBatch], size: int) -> None:
        """Let batches of so many rows put back what is written."""
        for place, batch in enumerate(batches if self.column.is_written else ()):
            some = slice(place * size, (place + 1) * size)
            rows, copy = self.column.rows[some], self.copy[..., some]
            batch.put.extend(row_copies(self.column.cells, rows, copy))
