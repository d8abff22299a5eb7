"""Blocks of columns that kernels run on, selected rows, and the end of reductions."""

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
from .arithmetic import NAT

ALL_ROWS: RowArray = np.zeros(1, np.intp)
"""The first row, for loops over all rows, which are consecutive."""

NO_MASK: NDArray[np.bool_] = np.zeros(0, np.bool_)
"""The mask of a call that names no rows, and so runs over all."""


class SelectedRows:
    """Rows that a call names: k distinct ones in its order, or those of a mask. With `may_repeat`
    it may name a row several times.

    Raises:
        TypeError, ValueError, StaleInstanceError: as `destroy_many` does.
    """

    def __init__(
        self, manager: BaseManager, rows: ArrayLike, boundary: int = -1, may_repeat: bool = False
    ) -> None:
        selected = manager._require_rows(rows)
        if not may_repeat:
            manager._distinct(selected)
        self.count = len(selected)
        """Number of rows that the call names."""
        self._running: NDArray[np.bool_] | None = None
        if boundary >= 0:
            running = selected < boundary
            if not running.all():
                self._running, selected = running, selected[running]
        self.rows: RowArray = selected
        """Rows over which the kernel runs: with a boundary, the ones before it."""

    def of_each(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the rows that run, of one for each row that the call names."""
        return values if self._running is None else values[self._running]

    def mask(self, n: int) -> NDArray[np.bool_]:
        """Return a mask, (n,), of the rows over which the kernel runs."""
        mask = np.zeros(n, np.bool_)
        mask[self.rows] = True
        return mask

    def spread(self, values: NDArray[Any], n: int) -> NDArray[Any]:
        """Return the values, one for each row that the call names, by row: (n, ...)."""
        spread = np.empty((n, *values.shape[1:]), values.dtype)
        spread[self.rows] = self.of_each(values)
        return spread


def rows_without_holes(manager: BaseManager, rows: ArrayLike | None) -> ArrayLike | None:
    """Return the rows that a call names; if it names none, those in use where there are holes."""
    data: Any = manager.data
    return data.present if rows is None and len(manager) < data.n else rows


def passing_rows(mask: NDArray[np.bool_], chosen: SelectedRows | None = None) -> RowArray:
    """Return the rows, or those of the selected ones in their order, for which a mask is true."""
    return mask.nonzero()[0] if chosen is None else chosen.rows[mask]


def each_value(
    converter: Converter, value: ArrayLike, count: int, *buffers: NDArray[np.uint8]
) -> NDArray[Any]:
    """Return a checked value for each row, shape (count, *shape), read only.

    The array shares no memory with `buffers`, which the kernel may write. Raises what
    `create_many` raises for a field.
    """
    values = converter.to_column(value, count)
    if any(np.may_share_memory(values, buffer) for buffer in buffers):
        values = values.copy()
    return np.broadcast_to(values, (count, *converter.shape))


def check_unchanged(before: object, now: object) -> None:
    """Raise RuntimeError if the rows changed while an argument was converted."""
    if now != before:
        raise RuntimeError("converting the values of an argument changed the rows")


class SelectedCells:
    """Copies of the cells of selected rows; `put` writes those back that a kernel writes."""

    def __init__(self, rows: RowArray) -> None:
        self._rows = rows
        self.count = len(rows)
        self._written: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def read(self, column: NDArray[Any], elements: int = 1) -> NDArray[Any]:
        """Return a copy of the rows' cells of a column with `elements` elements per row."""
        return column.reshape(-1, elements)[self._rows].reshape(-1)

    def written(self, column: NDArray[Any], elements: int = 1) -> NDArray[Any]:
        """Return what `read` returns; `put` will write it back."""
        copy = self.read(column, elements)
        self._written.append((column.reshape(-1, elements), copy))
        return copy

    def put(self) -> None:
        """Write back the copies that `written` returned."""
        for cells, copy in self._written:
            cells[self._rows] = copy.reshape(-1, cells.shape[1])


def flat_cells(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as a flat, contiguous, writeable array, for which loops are compiled."""
    return np.require(values, requirements=("C", "A", "W")).reshape(-1)


class KernelRows(Rows):
    """Rows with the blocks that kernels and reductions work on."""

    __slots__ = NO_SLOTS
    _kernels: dict[str, Any]
    """Blocks of each kernel, by name."""

    def _forget_views(self) -> None:
        super()._forget_views()
        self._kernels = {}

    def _nbytes(self) -> int:
        held: int = sum(blocks.nbytes for blocks in self._kernels.values())
        return super()._nbytes() + held


class WorldKernelRows(Rows):
    """Rows with the blocks of the world's kernels that read or write them."""

    __slots__ = NO_SLOTS
    _world_kernels: dict[str, Any]
    """Blocks of each kernel, by name; every manager with a column in them holds them."""

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


# In a block, which stays in the cache, rows come last, `(*shape, rows)`: `position[0]` is one
# element of every row, and one number per row broadcasts with each element of a shape.

_CACHED: Final = 1 << 20
"""Bytes of a block's columns and working memory together: a core's own cache."""

_MAX_SHARED: Final = 4
"""Factor by which blocks of several kernels, which share most columns, are larger."""

_MISREAD: Final = frozenset((16, 64))
"""Strides with which `np.negative` may read wrong cells."""

ScratchSpec: TypeAlias = tuple[str, tuple[int, ...], bool]
"""Working memory of a kernel: dtype, shape per row, and True if a row's elements are adjacent."""


class BlockMemory:
    """Arrays for the rows of a block, reused while they are large enough."""

    def __init__(self, specs: Sequence[ScratchSpec]) -> None:
        self._specs = specs
        self._capacity = -1
        self._arrays: list[NDArray[Any]] = []
        self.nbytes = 0
        """Bytes that are held."""

    def take(self, rows: int, capacity: int) -> list[NDArray[Any]]:
        """Return uninitialised arrays of shape (*shape, rows), views of present arrays or, if those
        are too small, of new ones for `capacity` rows."""
        if rows > self._capacity:
            self._capacity = capacity
            self._arrays = [working_memory(spec, capacity) for spec in self._specs]
            self.nbytes = sum(array.nbytes for array in self._arrays)
        return [array[..., :rows] for array in self._arrays]


class KernelBlocks:
    """Views of a kernel's columns and of its working memory, block after block.

    Valid until the buffer moves or the stamp (the number of rows, or the version) changes. Blocks
    for another number of rows take over the memory of the `former` ones.
    """

    max_rows: int
    """Maximal rows of a block."""
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
            self.max_rows, self._memory = former.max_rows, former._memory
        else:
            each = [BlockColumn(array).memory for array in columns]
            self.max_rows = block_rows([*each, *working], kernels)
            self._memory = BlockMemory(working)
        size = self.max_rows
        used = min(rows, size)
        capacity = 1 << (used - 1).bit_length()
        memory = self._memory.take(used, capacity) if rows else []
        self.nbytes = self._memory.nbytes
        """Bytes of working memory."""
        self.views: list[tuple[Any, ...]] = []
        if 0 < rows <= size:  # a fast path: with few rows this code takes most of the time
            self.views.append((*columns, *memory))
            return
        for start in range(0, rows, size):
            views = [column[..., start : start + size] for column in columns]
            scratch = [array[..., : rows - start] for array in memory]
            self.views.append((*views, *scratch))


def block_rows(specs: Iterable[ScratchSpec], kernels: int = 1, others: int = 0) -> int:
    """Return the number of rows of a block, a power of two; more for several kernels. `others`:
    bytes of a row beside those of `specs`."""
    row_bytes = (sum(map(_row_bytes, specs)) + others) // min(kernels, _MAX_SHARED)
    least, most = Tuning.block_rows
    fitting = max(least, min(most, _CACHED // max(row_bytes, 1)))
    return 1 << (fitting.bit_length() - 1)


@cache
def _row_bytes(spec: ScratchSpec) -> int:
    return prod(spec[1]) * np.dtype(spec[0]).itemsize


def working_memory(spec: ScratchSpec, rows: int) -> NDArray[Any]:
    """Return uninitialised memory of shape (*shape, rows)."""
    dtype, shape, is_adjacent = spec
    if is_adjacent:
        return rows_last(np.empty((rows, *shape), dtype))
    return np.empty((*shape, rows), dtype)


def block_memory(
    columns: Sequence[BlockColumn], working: Sequence[ScratchSpec], rows: int
) -> list[NDArray[Any]]:
    """Return memory of blocks: for columns that are gathered, and the kernel's working memory."""
    sizes = [0 if column.rows is None else rows for column in columns]
    gathered = zip(columns, sizes, strict=True)
    return [
        *(working_memory(column.memory, size) for column, size in gathered),
        *(working_memory(spec, rows) for spec in working),
    ]


def rows_last(column: NDArray[Any]) -> NDArray[Any]:
    """Return a view of a column, shape (rows, *shape), as (*shape, rows)."""
    return column.transpose(*range(1, column.ndim), 0)  # moveaxis takes 5 µs


def planes(
    buffer: NDArray[np.uint8], first: Column, capacity: int, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return the adjacent columns of a split field as (*shape, capacity)."""
    start = first.offset(capacity)
    size = prod(shape) * first.nbytes * capacity
    return buffer[start : start + size].view(first.dtype).reshape(*shape, capacity)


def put_where(target: NDArray[Any], mask: Any, values: Any) -> None:
    """Write values into a block where a mask is true; both fit it as numpy's broadcasting has it.
    Five times as fast as `np.copyto(target, values, where=mask)`."""
    if target.shape == np.shape(mask) and target.ndim == 1:
        if mask.all():  # a tenth of the time
            target[...] = values
        elif mask.any():
            np.putmask(target, mask, values)
        return
    masks = np.broadcast_to(mask, target.shape)
    sources = np.broadcast_to(np.asarray(values, target.dtype), target.shape)
    if target.strides[-1] == target.itemsize:
        for index in np.ndindex(target.shape[:-1]):
            np.putmask(target[index], masks[index], sources[index])
    else:  # a row's elements are adjacent: lay out the other arrays alike
        axes = (target.ndim - 1, *range(target.ndim - 1))
        np.putmask(target.transpose(axes), masks.transpose(axes), sources.transpose(axes))


def combine_times(ufunc: np.ufunc, a: Any, b: Any, out: NDArray[np.int64] | None = None) -> Any:
    """Return sums, differences or, with `np.multiply`, multiples of times, as numbers of units.

    NaT stays NaT, and what does not fit wraps; of numpy's own times that is an OverflowError."""
    is_nat = a == NAT
    if ufunc is not np.multiply:
        is_nat = is_nat | (b == NAT)
    if out is None:
        return np.where(is_nat, NAT, ufunc(a, b))[()]
    ufunc(a, b, out=out)
    put_where(out, is_nat, NAT)
    return out


def negated(values: Any, out: NDArray[Any], dtype: Any = None) -> None:
    """Write -values to `out`, as `np.negative` should. numpy 2.4 reads wrong cells if the strides
    of values and `out` are both 16 or both 64 bytes."""
    cells = np.asarray(values)
    if _MISREAD.isdisjoint(cells.strides):
        np.negative(cells, out=out, dtype=dtype)
    else:
        np.negative(cells.copy(), out=out, dtype=dtype)


def as_integers(values: Any, dtype: Any) -> NDArray[Any]:
    """Return floats as integers: truncated, clipped to the dtype's range, 0 for NaN."""
    limits = np.iinfo(dtype)
    low, beyond = float(limits.min), float(limits.max + 1)  # powers of two, so exact
    floats = np.asarray(values)
    fits = (floats >= low) & (floats < beyond)
    if fits.all():
        return floats.astype(dtype)
    result = np.where(fits, floats, 0).astype(dtype)
    np.copyto(result, limits.min, where=floats < low)
    np.copyto(result, limits.max, where=floats >= beyond)
    return result


def power_of_counts(base: Any, counts: NDArray[np.int64], out: NDArray[np.float64]) -> None:
    """Write a float to the power of each of many integers; each power is computed once if there
    are few, as of counts of neighbours."""
    if len(counts) < _FEW_POWERS or counts.min() < 0 or (most := counts.max()) > _FEW_POWERS:
        np.power(base, counts, out=out)
    else:
        np.power(base, np.arange(most + 1.0)).take(counts, out=out, mode="clip")


_FEW_POWERS: Final = 256


def index_of_extreme(is_beyond: np.ufunc, elements: NDArray[Any]) -> NDArray[np.int64]:
    """Return by row the index of the first of the least or greatest elements; NaN goes first.
    `is_beyond`: np.less or np.greater; `elements`: shape (elements, rows). O(elements * rows)."""
    best = elements[0].copy()
    indices = np.zeros(best.shape, np.int64)
    for index, element in enumerate(elements[1:], 1):
        is_better = is_beyond(element, best)
        if best.dtype.kind == "f":
            is_better |= (element != element) & (best == best)
        np.putmask(best, is_better, element)
        np.putmask(indices, is_better, index)
    return indices


def rows_below(levels: tuple[RowArray, ...], boundary: int) -> tuple[RowArray, ...]:
    """Return the rows of each level before a boundary: the active ones."""
    return tuple(level[level < boundary] for level in levels)


def row_cells(array: NDArray[Any]) -> list[NDArray[Any]]:
    """Return cells, rows last, as arrays of one item per row: one array, or one per element."""
    if array.ndim == 1:
        return [array]
    is_vector = array.ndim == 2  # a fast path
    if array.strides[-1] != array.itemsize:
        rows_first = (-1, *range(array.ndim - 1))
        return [item_view(array.T if is_vector else array.transpose(rows_first))]
    if is_vector:
        return list(array)
    return [array[index] for index in np.ndindex(array.shape[:-1])]


Copied: TypeAlias = tuple[NDArray[Any], RowArray, NDArray[Any]]
"""Cells, rows, and a copy of the rows' cells; an item per row."""


class BlockColumn(NamedTuple):
    """Column of a kernel's field."""

    cells: NDArray[Any]
    """Cells of all rows, rows last."""
    rows: Any = None
    """Rows in the column over which the kernel runs; None if the kernel runs over the column's."""
    is_read: bool = True
    is_written: bool = False

    @property
    def memory(self) -> ScratchSpec:
        """Memory into which a block's cells are gathered, laid out as the column is."""
        is_adjacent = self.cells.strides[-1] != self.cells.itemsize
        return self.cells.dtype.str, self.cells.shape[:-1], is_adjacent


class RowBatch(NamedTuple):
    """A block of rows anywhere: copies to gather before it, its arrays, copies to put after it."""

    gathered: list[Copied]
    views: tuple[Any, ...]
    put: list[Copied]


def batch_of(
    columns: Sequence[BlockColumn], rows: RowArray | slice, memory: Sequence[NDArray[Any]]
) -> RowBatch:
    """Return a batch of rows: views of columns where rows are consecutive, else of memory, then the
    rest of the memory."""
    views = list(memory)
    gathered: list[Copied] = []
    put: list[Copied] = []
    for index, column in enumerate(columns):
        column_rows = rows if column.rows is None else column.rows[rows]
        if isinstance(column_rows, slice):
            views[index] = column.cells[..., column_rows]
            continue
        moves = row_copies(column.cells, column_rows, memory[index])
        if column.is_read:
            gathered += moves
        if column.is_written:
            put += moves
    return RowBatch(gathered, tuple(views), put)


def batches_of(
    columns: Sequence[BlockColumn], memory: Sequence[NDArray[Any]], count: int, size: int
) -> Iterator[RowBatch]:
    """Yield batches of `count` rows, `size` in each, which share one memory."""
    for start in range(0, count, size or 1):
        end = min(start + size, count)
        views = [array[..., : end - start] for array in memory]
        yield batch_of(columns, slice(start, end), views)


def row_copies(column: NDArray[Any], rows: RowArray, copy: NDArray[Any]) -> list[Copied]:
    """Return the copies of rows of a column, rows last."""
    return list(zip(row_cells(column), repeat(rows), row_cells(copy), strict=False))


def moved_rows(batches: Iterable[RowBatch]) -> Iterator[tuple[Any, ...]]:
    """Yield the arrays of batches; written copies are put back as the next batch is requested."""
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
    blocks: KernelBlocks | JoinedKernelBlocks, rows: RowArray, written: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """Yield blocks of a kernel's selected rows; columns with an index in `written` are put back."""
    columns = [
        BlockColumn(cells, rows, True, index in written)
        for index, cells in enumerate(blocks.columns)
    ]
    size = min(len(rows), blocks.max_rows)
    memory = block_memory(columns, blocks.working, size)
    return moved_rows(batches_of(columns, memory, len(rows), size))


def with_row_values(blocks: Iterable[tuple[Any, ...]], *each: Any) -> Iterator[tuple[Any, ...]]:
    """Yield blocks with the values of their rows after the arrays; rows are last in all."""
    start = 0
    for views in blocks:
        end = start + views[0].shape[-1]
        yield (*views, *(values[..., start:end] for values in each))
        start = end


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
    """Return the smallest or largest of the blocks' extremes; NaN if one is NaN, and for none."""
    return as_cell(choose.reduce(np.array(parts)), shape) if parts else nan_cell(shape)


def nan_cell(shape: tuple[int, ...]) -> Any:
    """Return NaN as a cell of a shape."""
    return nested([nan] * prod(shape), shape) if shape else nan


def as_cell(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a cell as a Python number, or (nested) tuples of them."""
    return nested(np.ravel(array).tolist(), shape) if shape else array.item()


class JoinedKernelBlocks:
    """Views of several managers' columns and working memory, block after block; cached.

    Valid until one of the buffers moves, or the stamp (the number of entities, or the match of a
    query) changes. Consecutive rows are a view. Other rows are gathered as a block is requested, or
    all at first where that is faster; written ones are scattered as the next block is requested.
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
        self.max_rows = size = min(n, block_rows(cells, kernels))
        """Maximal rows of a block."""
        self.columns = [column.cells for column in columns]
        self.working = working
        self._ordered: list[_Ordered] = []
        parts = [self._part(column, n) for column in columns]
        memory = block_memory(parts, working, size)
        self.nbytes = sum(array.nbytes for array in memory)
        """Bytes of working memory; if several managers hold these blocks, the share of one."""
        self.nbytes += sum(ordered.copy.nbytes for ordered in self._ordered)
        self._batches = list(batches_of(parts, memory, n, size))
        for ordered in self._ordered:
            ordered.put_by(self._batches, size)
        self._views = [batch.views for batch in self._batches]
        is_moved = any(batch.gathered or batch.put for batch in self._batches)
        self._moves = bool(self._ordered) or is_moved

    def _part(self, column: BlockColumn, n: int) -> BlockColumn:
        """Return the column that blocks are parts of: consecutive cells, in the column or in a copy
        of all rows, or cells anywhere."""
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
        """Store the blocks by the kernel's name with all managers whose columns they have."""
        self.nbytes = -(-self.nbytes // len(holders))
        for holder in holders:
            holder._world_kernels[name] = self
        return self

    def drop(self) -> None:
        """Release all views: a buffer is about to be freed."""
        self.stamp = None
        self.nbytes = 0
        self._moves = False
        self.columns = []
        self._ordered = []
        self._batches = []
        self._views = []

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks."""
        if not self._moves:
            return iter(self._views)
        for ordered in self._ordered:
            ordered.gather()
        return moved_rows(self._batches)


class _Ordered(NamedTuple):
    """A column whose rows are gathered all at once, in a fast order."""

    order: RowOrder
    column: BlockColumn
    copy: NDArray[Any]
    """Copy of all rows, rows last."""

    def gather(self) -> None:
        """Copy the cells of all rows."""
        cells, copy = row_cells(self.column.cells), row_cells(self.copy)
        self.order.gather(cells[0], copy[0])

    def put_by(self, batches: Sequence[RowBatch], size: int) -> None:
        """Make batches of `size` rows put back the cells, if they are written."""
        for number, batch in enumerate(batches if self.column.is_written else ()):
            positions = slice(number * size, (number + 1) * size)
            rows, copy = self.column.rows[positions], self.copy[..., positions]
            batch.put.extend(row_copies(self.column.cells, rows, copy))
