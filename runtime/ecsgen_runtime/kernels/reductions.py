"""What is made of the values of rows for a table, block after block: the same bits whatever the
blocks are, and as compiled loops have them.

Floats are added in lanes: of each BLOCK rows, the k-th one to what there is of those before it in
lane k % LANES; these to the lanes of all blocks before, and at last these one after the other. So
up to LANES rows are added in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import nan, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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
"""Sums of rows that are added side by side."""
BLOCK: Final = 16384
"""Rows of a block, whose values stay in the cache."""

_STEP: Final = 4096
"""Values that are added one after the other at a time."""

Where = NDArray[np.bool_] | bool | None
"""Of a block: which rows match; None for all."""


def table_blocks(
    count: int, columns: Sequence[BlockColumn], working: Sequence[ScratchSpec]
) -> Iterator[tuple[Any, ...]]:
    """Yield blocks of so many rows: how many there are, their columns, working memory."""
    columns = [
        BlockColumn(c.cells[..., c.rows]) if isinstance(c.rows, slice) else c for c in columns
    ]
    lie_apart = any(column.rows is not None for column in columns)
    if 0 < count <= BLOCK and not lie_apart:  # few rows have to be quick
        memory = [working_memory(kind, count) for kind in working]
        yield (count, *(column.cells for column in columns), *memory)
        return
    size = min(count, BLOCK) or 1
    memory = block_memory(columns, working, size)
    blocks = moved_rows(batches_of(columns, memory, count, size))
    for start, views in zip(range(0, count, size), blocks, strict=True):
        yield (min(size, count - start), *views)


# --- Folds: `add` takes the values of n rows, or one that they all have, of those that match;
# `result` is what is made of all.


def _cells(n: int, values: Any, where: Where, without: Any) -> NDArray[Any]:
    """Return a value for each of n rows, another one for those that do not match."""
    if where is not None:
        values = np.where(where, values, without)
    cells = np.asarray(values)
    return cells if cells.ndim else np.full(n, cells)


class CountReduction:
    """In how many rows something is true."""

    def __init__(self) -> None:
        self.result = 0

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Take whether it is true in n rows."""
        self.result += int(np.count_nonzero(_cells(n, values, where, False)))


class IntegerSumReduction:
    """The sum of integers, which wraps."""

    def __init__(self, dtype: type[np.int64 | np.uint64]) -> None:
        self._total: NDArray[Any] = np.zeros(1, dtype)

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Take the values of n rows."""
        cells = _cells(n, values, None, 0)
        cells = cells if where is None else cells * where
        self._total += np.add.reduce(cells, dtype=self._total.dtype)

    @property
    def result(self) -> int:
        """The sum."""
        return int(self._total[0])


class FloatSumReduction:
    """The sum of floats."""

    _lanes: NDArray[np.float64]

    def __init__(self) -> None:
        self._seen = 0

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Take the values of n rows, as many as a block has but for the last one."""
        cells = _cells(n, values, None, 0.0)
        if cells.dtype != np.float64:
            cells = cells.astype(np.float64)
        if where is not None:  # all bits or none: no branch that nobody can foresee
            cells = (cells.view(np.uint64) * where).view(np.float64)
        rest = n % LANES
        if n > rest:
            lanes = np.add.reduce(cells[: n - rest].reshape(-1, LANES))
            lanes[:rest] += cells[n - rest :]
        else:
            lanes = cells.copy()  # of memory that others write to
        if self._seen:
            self._lanes[: len(lanes)] += lanes
        else:
            self._lanes = lanes
        self._seen += n

    @property
    def result(self) -> float:
        """The sum; 0 of none."""
        return in_order(self._lanes) if self._seen else 0.0


class ExtremeReduction:
    """The smallest value, or the largest; NaN if one is."""

    def __init__(self, choose: np.ufunc, without: Any) -> None:
        """`choose`: np.minimum or np.maximum; `without`: what no value is beyond, of their type."""
        self._choose = choose
        self.result = self._without = without

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Take the values of n rows."""
        if n:
            found = self._choose.reduce(_cells(n, values, where, self._without))
            self.result = self._choose(self.result, found)


class ValuesReduction:
    """The values themselves, as floats, for what needs all of them."""

    def __init__(self, count: int, dtype: Any = np.float64) -> None:
        self._values: NDArray[Any] = np.empty(count, dtype)
        self._end = 0

    def add(self, n: int, values: Any, where: Where = None) -> None:
        """Take the values of n rows."""
        end = self._end + n
        if where is not None:
            values = np.broadcast_to(values, n)[np.broadcast_to(where, n)]
            end = self._end + len(values)
        self._values[self._end : end] = values
        self._end = end

    @property
    def result(self) -> NDArray[Any]:
        """Those of the rows that match, in order."""
        return self._values[: self._end]


# --- What is made of all values at once -----------------------------------------------


def in_order(values: NDArray[np.float64]) -> float:
    """Return the sum of values, added one after the other; 0 for none."""
    total = 0.0
    for start in range(0, len(values), _STEP):
        some = values[start : start + _STEP]
        if start:
            some = some.copy()
            some[0] += total
        total = float(np.add.accumulate(some)[-1]) + 0.0  # not -0.0
    return total


def mean_of(total: float, n: int) -> float:
    """Return the mean of n values, of their sum; NaN of none."""
    return total / n if n else nan


def extreme_of(found: Any, n: int) -> float:
    """Return the smallest or largest of n values; NaN of none."""
    return float(found) if n else nan


def std_of(values: NDArray[np.float64]) -> float:
    """Return the standard deviation of a whole population, in two passes; NaN of none."""
    n = len(values)
    if n == 0:
        return nan
    with np.errstate(all="ignore"):
        apart = values - in_order(values) / n
        return sqrt(in_order(apart * apart) / n)


def median_of(values: NDArray[np.float64]) -> float:
    """Return the median as numpy has it: NaN if one is, and of none."""
    with np.errstate(all="ignore"):
        return float(np.median(values)) if len(values) else nan


def ranked_sums(ranked: NDArray[np.float64]) -> tuple[float, float]:
    """Return the sum of values, each by its place from 1, and their own."""
    places = np.arange(1.0, len(ranked) + 1)
    return in_order(places * ranked), in_order(ranked)


def gini_of(
    values: NDArray[np.float64],
    sums: Callable[[NDArray[np.float64]], tuple[float, float]] = ranked_sums,
) -> float:
    """Return the Gini coefficient; NaN of none, or if all are 0."""
    n = len(values)
    if n == 0:
        return nan
    with np.errstate(all="ignore"):
        weighted, total = sums(np.sort(values))
        whole = np.float64(n) * total
        return float(np.float64(2) * weighted / whole - (n + 1) / n)


def of_lines(
    parts: list[NDArray[Any]], make: Callable[[NDArray[np.float64]], float], shape: tuple[int, ...]
) -> Any:
    """Return what is made of the values of each element of a shape, rows last in all parts."""
    whole = np.concatenate(parts, axis=-1) if parts else np.empty((*shape, 0))
    lines = whole.reshape(int(np.prod(shape)), whole.shape[-1])
    made = [make(np.ascontiguousarray(line, np.float64)) for line in lines]
    return as_cell(np.array(made).reshape(shape), shape)
