"""Reductions of rows' values for a table, block after block, with the same bits for any blocks and
in compiled loops.

Floats are added in lanes: the k-th of BLOCK rows is added to lane k % LANES, the lanes of a block
to those of all blocks before, and these at last in order. So up to LANES rows are added in their
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import nan, sqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.fast_typing import NamedTuple
from .blocks import (
    BlockColumn,
    ScratchSpec,
    as_cell,
    batches_of,
    block_memory,
    moved_rows,
    working_memory,
)

LANES: Final = 512
"""Number of sums that are added in parallel."""
BLOCK: Final = 16384
"""Number of rows of a block, whose values stay in the cache."""

_STEP: Final = 4096
"""Number of values that are accumulated at a time."""

if TYPE_CHECKING:
    from ..tables.placement import RowsOrSlice

Where = NDArray[np.bool_] | bool | None
"""Mask of the rows of a block that match; None for all."""


class RecordedRows(NamedTuple):
    """Rows that are reduced or recorded, in one manager or in several."""

    n: int
    members: tuple[RowsOrSlice, ...]
    """Rows in each manager, in the same order."""


def leading_rows(n: int) -> RecordedRows:
    """Return the first rows of a manager."""
    return RecordedRows(n, (slice(0, n),))


def rows_in_use(owners: NDArray[np.uint64], n: int) -> RecordedRows:
    """Return the rows among a manager's first n that have an owner."""
    rows = np.flatnonzero(owners[:n])
    return RecordedRows(len(rows), (rows,))


def recorded_cells(column: NDArray[Any], rows: RowsOrSlice, elements: int = 1) -> NDArray[Any]:
    """Return the cells of some rows of a flat column: a view, if the rows follow each other."""
    if isinstance(rows, slice):
        return column[rows.start * elements :] if rows.start else column
    return column.reshape(-1, elements)[rows].reshape(-1)


def table_blocks(
    count: int, columns: Sequence[BlockColumn], working: Sequence[ScratchSpec]
) -> Iterator[tuple[Any, ...]]:
    """Yield blocks of `count` rows: the number of the block's rows, columns, working memory."""
    columns = [
        BlockColumn(c.cells[..., c.rows]) if isinstance(c.rows, slice) else c for c in columns
    ]
    is_gathered = any(column.rows is not None for column in columns)
    if 0 < count <= BLOCK and not is_gathered:  # a fast path for few rows
        memory = [working_memory(kind, count) for kind in working]
        yield (count, *(column.cells for column in columns), *memory)
        return
    size = min(count, BLOCK) or 1
    memory = block_memory(columns, working, size)
    blocks = moved_rows(batches_of(columns, memory, count, size))
    for start, views in zip(range(0, count, size), blocks, strict=True):
        yield (min(size, count - start), *views)


# `add` takes the values of n rows, or one value for all, and a mask of those that match; `result`
# is the reduction of all matching rows.


def _cells(n: int, values: Any, where: Where, without: Any) -> NDArray[Any]:
    """Return a value for each of n rows, `without` for those that do not match."""
    if where is not None:
        values = np.where(where, values, without)
    cells = np.asarray(values)
    return cells if cells.ndim else np.full(n, cells)


class CountReduction:
    """Number of rows for which values are true."""

    def __init__(self) -> None:
        self.result = 0

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Add the bools of n rows."""
        self.result += int(np.count_nonzero(_cells(n, values, where, False)))


class IntegerSumReduction:
    """Sum of integers, which wraps."""

    def __init__(self, dtype: type[np.int64 | np.uint64]) -> None:
        self._total: NDArray[Any] = np.zeros(1, dtype)

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Add the values of n rows."""
        cells = _cells(n, values, None, 0)
        cells = cells if where is None else cells * where
        self._total += np.add.reduce(cells, dtype=self._total.dtype)

    @property
    def result(self) -> int:
        """Sum of all values."""
        return int(self._total[0])


class FloatSumReduction:
    """Sum of floats."""

    _lanes: NDArray[np.float64]

    def __init__(self) -> None:
        self._seen = 0

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Add the values of n rows: a full block unless it is the last one."""
        cells = _cells(n, values, None, 0.0)
        if cells.dtype != np.float64:
            cells = cells.astype(np.float64)
        if where is not None:  # all bits or none: no branch that could be mispredicted
            cells = (cells.view(np.uint64) * where).view(np.float64)
        rest = n % LANES
        if n > rest:
            lanes = np.add.reduce(cells[: n - rest].reshape(-1, LANES))
            lanes[:rest] += cells[n - rest :]
        else:
            lanes = cells.copy()  # the kernel writes to this memory again
        if self._seen:
            self._lanes[: len(lanes)] += lanes
        else:
            self._lanes = lanes
        self._seen += n

    @property
    def result(self) -> float:
        """Sum of all values; 0 for none."""
        return in_order(self._lanes) if self._seen else 0.0


class ExtremeReduction:
    """Smallest or largest value; NaN if one is NaN."""

    def __init__(self, choose: np.ufunc, without: Any) -> None:
        """`choose`: np.minimum or np.maximum; `without`: its neutral element."""
        self._choose = choose
        self.result = self._without = without

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Add the values of n rows."""
        if n:
            extreme = self._choose.reduce(_cells(n, values, where, self._without))
            self.result = self._choose(self.result, extreme)


class ValuesReduction:
    """All values as floats, for reductions that need all of them."""

    def __init__(self, count: int, dtype: Any = np.float64) -> None:
        self._values: NDArray[Any] = np.empty(count, dtype)
        self._end = 0

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Add the values of n rows."""
        end = self._end + n
        if where is not None:
            values = np.broadcast_to(values, n).compress(np.broadcast_to(where, n))
            end = self._end + len(values)
        self._values[self._end : end] = values
        self._end = end

    @property
    def result(self) -> NDArray[Any]:
        """Values of the rows that match, in order."""
        return self._values[: self._end]


def in_order(values: NDArray[np.float64]) -> float:
    """Return the sum of values, added in order; 0 for none."""
    total = 0.0
    for start in range(0, len(values), _STEP):
        part = values[start : start + _STEP]
        if start:
            part = part.copy()
            part[0] += total
        total = float(np.add.accumulate(part)[-1]) + 0.0  # not -0.0
    return total


def mean_of(total: float, n: int) -> float:
    """Return the mean of n values by their sum; NaN for none."""
    return total / n if n else nan


def extreme_of(extreme: Any, n: int) -> float:
    """Return the extreme of n values as a float; NaN for none."""
    return float(extreme) if n else nan


def std_of(values: NDArray[np.float64]) -> float:
    """Return the population standard deviation, in two passes; NaN for none."""
    n = len(values)
    if n == 0:
        return nan
    with np.errstate(all="ignore"):
        apart = values - in_order(values) / n
        return sqrt(in_order(apart * apart) / n)


def median_of(values: NDArray[np.float64]) -> float:
    """Return numpy's median: NaN if a value is NaN, and for none."""
    with np.errstate(all="ignore"):
        return float(np.median(values)) if len(values) else nan


def ranked_sums(ranked: NDArray[np.float64]) -> tuple[float, float]:
    """Return the sum of values weighted by rank from 1, and the plain sum."""
    ranks = np.arange(1.0, len(ranked) + 1)
    return in_order(ranks * ranked), in_order(ranked)


def gini_of(
    values: NDArray[np.float64],
    sums: Callable[[NDArray[np.float64]], tuple[float, float]] = ranked_sums,
) -> float:
    """Return the Gini coefficient; NaN for none, or if all are 0."""
    n = len(values)
    if n == 0:
        return nan
    with np.errstate(all="ignore"):
        weighted, total = sums(np.sort(values))
        scale = np.float64(n) * total
        return float(np.float64(2) * weighted / scale - (n + 1) / n)


def of_lines(
    parts: list[NDArray[Any]], make: Callable[[NDArray[np.float64]], float], shape: tuple[int, ...]
) -> Any:
    """Return the reduction of each element's values as a cell; rows are last in parts."""
    values = np.concatenate(parts, axis=-1) if parts else np.empty((*shape, 0))
    lines = values.reshape(int(np.prod(shape)), values.shape[-1])
    results = [make(np.ascontiguousarray(line, np.float64)) for line in lines]
    return as_cell(np.array(results).reshape(shape), shape)
