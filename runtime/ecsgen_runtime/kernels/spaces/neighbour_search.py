"""Pairs of places that are in reach of each other, block after block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...base.handles import RowArray
from ..blocks import (
    BlockColumn,
    BlockMemory,
    RowBatch,
    ScratchSpec,
    batch_of,
    moved_rows,
    working_memory,
)
from ..references import DeferredMessages
from .cell_lists import (
    EntityKeys,
    Positions,
    cell_grid,
    numbered,
    runs_around,
    sorted_cells,
    take_around,
)

_CANDIDATES: Final = 1 << 15
"""Pairs that are looked at together, so that they stay in the cache."""


class NeighbourSearch:
    """Who is in reach of whom: members are found by those who ask.

    Places are f32 or f64, shape (axes, k); none at a place that is not finite is found, or
    finds any. Nobody finds who has the same name; without names, who asks as the k-th place
    does not find the k-th member if it `is_one` set that asks for itself.
    """

    asking: RowArray
    """Who asks k-th, shape (asking,)."""
    members: RowArray
    """Who is the k-th member in the order of cells, shape (members,)."""

    def __init__(
        self,
        asking: Positions,
        members: Positions,
        radius: float,
        wrap: Sequence[float],
        is_one: bool = False,
        names: tuple[EntityKeys, EntityKeys] | None = None,
    ) -> None:
        grid = cell_grid(radius, wrap, asking.dtype.type)
        self._reach, self._sizes = grid.reach, grid.sizes.T.tolist()
        self.is_one = is_one
        known = [finite_places(each) for each in ((asking,) if is_one else (asking, members))]
        lattice, numbers = numbered(grid, *known)
        most = lattice.most
        ordered = [sorted_cells(lattice.keys(each), most) for each in numbers]
        ask, met = ordered[0], ordered[-1]
        self.asking, self.members = ask.order, met.order
        firsts = ask.order[ask.starts[:-1]]
        self._runs = runs_around(lattice, [each[firsts] for each in numbers[0]], met)
        self._cell_of = ask.starts
        own = finite_places(asking, np.nan).take(ask.order, axis=1)
        seen = own
        if not (is_one and members is asking):
            seen = finite_places(members, np.nan).take(met.order, axis=1)
        self.places = own, seen
        self._names = names and (names[0][ask.order], names[1][met.order])

    def blocks(self) -> Iterator[NeighbourPairs]:
        """Iterate over all pairs, of some who ask after the other; everybody is in one block."""
        low, high = self._runs
        sizes = np.diff(self._cell_of)
        cells = np.repeat(np.arange(len(sizes)), sizes)
        counts = high - low
        ends = counts.sum(axis=1)[cells].cumsum()
        start, done = 0, 0
        while start < len(cells):
            stop = int(ends.searchsorted(done + _CANDIDATES, "right"))
            stop = max(stop, start + 1)
            some = cells[start:stop]
            with np.errstate(all="ignore"):
                pairs = self._pairs(slice(start, stop), low[some], counts[some])
            yield pairs
            start, done = stop, int(ends[stop - 1])

    def neighbours(self) -> tuple[RowArray, RowArray]:
        """Return all pairs by who asks, in the order given: where those of each begin, shape
        (asking + 1,), and the members found."""
        parts = [(each.who + each.asking.start, each.found) for each in self.blocks()]
        who = np.concatenate([np.empty(0, np.intp), *(who for who, _ in parts)])
        found = np.concatenate([np.empty(0, np.intp), *(found for _, found in parts)])
        counts = np.bincount(who, minlength=len(self.asking))
        starts = np.zeros(len(self.asking) + 1, np.intp)
        starts[self.asking + 1] = counts
        np.cumsum(starts, out=starts)
        shift = starts[self.asking] - (counts.cumsum() - counts)
        rows = np.empty_like(found)
        rows[np.arange(len(found)) + shift.repeat(counts)] = self.members[found]
        return starts, rows

    def _pairs(self, asking: slice, low: RowArray, counts: RowArray) -> NeighbourPairs:
        """Return the pairs of some who ask and of members in runs, shape (asking, runs)."""
        each = counts.sum(axis=1)
        flat = counts.ravel()
        shift = low.ravel() - flat.cumsum()
        shift += flat
        found = shift.repeat(flat)
        found += np.arange(len(found))
        own, others = self.places
        offset = np.empty((len(own), len(found)), own.dtype)
        for axis, (size, half) in enumerate(self._sizes):
            apart = others[axis].take(found, out=offset[axis], mode="clip")
            apart -= own[axis, asking].repeat(each)
            take_around(apart, size, half)
        square = np.square(offset[0])
        for apart in offset[1:]:
            square += np.square(apart)
        near = square <= self._reach
        who = np.arange(len(each)).repeat(each)
        if self.is_one:
            near &= found != who + asking.start
        elif self._names:
            one, other = self._names
            near &= other[found] != one[asking].repeat(each)
        kept = near.nonzero()[0]
        near_offset = np.empty((len(own), len(kept)), own.dtype)
        for apart, copy in zip(offset, near_offset, strict=True):
            apart.take(kept, out=copy, mode="clip")
        return NeighbourPairs(asking, who[kept], found[kept], near_offset, square[kept])


def finite_places(places: Positions, otherwise: float = 0) -> Positions:
    """Return places, others for those that are not finite: NaN is found by no comparison."""
    is_known = np.isfinite(places)
    if is_known.all():
        return places
    return np.where(is_known.all(axis=0), places, otherwise).astype(places.dtype)


class NeighbourPairs:
    """Who is in reach of some who ask, of each in the order in which they are met.

    Answers go to arrays of shape (*shape, asking); values have the shape (*shape, pairs), or
    one that broadcasts to it.
    """

    def __init__(
        self,
        asking: slice,
        who: RowArray,
        found: RowArray,
        offset: Positions,
        square: NDArray[Any],
        kept: RowArray | None = None,
    ) -> None:
        self._kept = kept
        self.asking = asking
        """Which they are, in the order of their cells."""
        self.who = who
        """Of each pair, which of them asks, from 0 on, ascending; shape (pairs,)."""
        self.found = found
        """The other one, in the order of cells; shape (pairs,)."""
        self.offset = offset
        """Its place less that of the one who asks, shape (axes, pairs)."""
        self.square = square
        """`dot(offset, offset)`, shape (pairs,)."""

    @cached_property
    def distance(self) -> NDArray[Any]:
        """How far the other one is, shape (pairs,)."""
        distance: NDArray[Any] = np.sqrt(self.square)
        return distance

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many pairs there are of each who asks, shape (asking,)."""
        return np.bincount(self.who, minlength=self.asking.stop - self.asking.start)

    def spread(self, values: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the value of who asks to each pair."""
        values.take(self.who, axis=-1, out=out, mode="clip")

    def where(self, values: Any) -> NeighbourPairs:
        """Return those for which the values are true; they are given the values of all."""
        return self._only(self._given(values).nonzero()[0])

    def best(self, choose: np.ufunc, values: Any, is_first: bool) -> NeighbourPairs:
        """Return those of each who asks whose value is the one to choose, `fmax` or `fmin`, of
        all; NaN loses, and is no value if this is the first that is asked for."""
        given = self._given(values)
        if is_first and given.dtype.kind == "f":
            some = self._only((given == given).nonzero()[0])
            if len(some.who) < len(self.who):
                return some.best(choose, values, True)
        counts = self.counts[self.counts > 0]
        starts = counts.cumsum() - counts
        found = choose.reduceat(given, starts) if len(counts) else given
        least = found.repeat(counts)
        is_best = given == least
        if given.dtype.kind == "f":
            is_best |= (given != given) & (least != least)
        return self._only(is_best.nonzero()[0])

    def _only(self, chosen: RowArray) -> NeighbourPairs:
        found = self.who[chosen], self.found[chosen], self.offset[:, chosen]
        kept = chosen if self._kept is None else self._kept[chosen]
        return NeighbourPairs(self.asking, *found, self.square[chosen], kept)

    def _given(self, values: Any, shape: tuple[int, ...] = ()) -> NDArray[Any]:
        """Return the values of these pairs, shape (*shape, pairs)."""
        given = np.asarray(values)
        if self._kept is not None and given.shape[-1:] not in ((), (1,)):
            given = given[..., self._kept]
        return np.broadcast_to(given, (*shape, len(self.who)))

    def choice(self, which: RowArray, values: Any, out: NDArray[Any]) -> None:
        """Write the value of the pair with a number among those of each who asks; 0 of none."""
        starts = self.counts.cumsum() - self.counts
        self._pick((starts + which)[self.counts > 0], values, out)

    def count(self, values: Any, out: NDArray[Any]) -> None:
        """Write for how many the values are true."""
        if values is True:
            out[...] = self.counts
        else:
            out[...] = np.bincount(self.who[self._given(values)], minlength=len(out))

    def sum(self, values: Any, out: NDArray[Any]) -> None:
        """Write sums: of floats in f64, in order; of integers in 64 bits, which wrap."""
        for given, answer in self._planes(values, out):
            if out.dtype.kind == "f":
                answer[...] = self._added(given)
            else:
                total = np.zeros(len(given) + 1, out.dtype)
                np.cumsum(given, dtype=out.dtype, out=total[1:])
                ends = self.counts.cumsum()
                np.subtract(total[ends], total[ends - self.counts], out=answer)

    def mean(self, values: Any, out: NDArray[Any]) -> None:
        """Write means, NaN of none."""
        for given, answer in self._planes(values, out):
            answer[...] = self._added(given) / self.counts
            answer[self.counts == 0] = np.nan  # whatever sign 0 / 0 has

    def min(self, values: Any, out: NDArray[Any]) -> None:
        """Write the least values; NaN, or 0 of integers, of none."""
        self._extreme(np.minimum, values, out)

    def max(self, values: Any, out: NDArray[Any]) -> None:
        """Write the greatest values; as `min` otherwise."""
        self._extreme(np.maximum, values, out)

    def nearest(self, values: Any, out: NDArray[Any]) -> None:
        """Write the values of the nearest, of several the first; 0 of none."""
        self._pick(self._nearest, values, out)

    def _pick(self, places: RowArray, values: Any, out: NDArray[Any]) -> None:
        """Write the values of one pair of each who has any; 0 of none."""
        some = self.counts > 0
        for given, answer in self._planes(values, out):
            answer[...] = 0
            answer[some] = given[places]

    @cached_property
    def _nearest(self) -> RowArray:
        """Which pair is the nearest of each who has any."""
        counts = self.counts[self.counts > 0]
        starts = counts.cumsum() - counts
        least = np.minimum.reduceat(self.square, starts) if len(counts) else starts
        places = (self.square == least.repeat(counts)).nonzero()[0]
        who = self.who[places]
        is_first = np.ones(len(who), np.bool_)
        np.not_equal(who[1:], who[:-1], out=is_first[1:])
        found: RowArray = places[is_first]
        return found

    def _added(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return sums in f64, from the first to the last: no pairs are added first."""
        given = values.astype(np.float64, copy=False)
        found: Any = np.bincount(self.who, weights=given, minlength=len(self.counts))
        return np.asarray(found, np.float64)

    def _extreme(self, choose: np.ufunc, values: Any, out: NDArray[Any]) -> None:
        some = self.counts > 0
        starts = self.counts.cumsum() - self.counts
        for given, answer in self._planes(values, out):
            answer[...] = np.nan if out.dtype.kind == "f" else 0
            if len(given):
                answer[some] = choose.reduceat(given, starts[some])

    def _planes(self, values: Any, out: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return each element of all pairs, with that of the answers."""
        shape = out.shape[:-1]
        given = self._given(values, shape)
        return [(given[place], out[place]) for place in np.ndindex(shape)]


class NeighbourBlocks:
    """Blocks of a kernel: the pairs, the fields of the rows that ask, those of their neighbours as
    they were before, pair by pair, and working memory of rows and of pairs.

    Fields are gathered before a block is worked on, and written ones put back behind it.
    """

    asking: RowArray
    """Who they are in the block at hand, shape (rows,)."""

    def __init__(
        self,
        search: NeighbourSearch,
        columns: Sequence[BlockColumn],
        others: Sequence[BlockColumn],
        working: Sequence[ScratchSpec],
        paired: Sequence[ScratchSpec],
    ) -> None:
        self._search = search
        self._columns = columns
        self._working = [*(column.memory for column in columns), *working]
        self._other_members = [BlockColumn(self._copy(one)) for one in others]
        self._paired = [*(one.memory for one in self._other_members), *paired]

    def _copy(self, other: BlockColumn) -> NDArray[Any]:
        """Return a field of all who may be asked, in the order of their cells."""
        rows = self._search.members
        if other.rows is not None:
            rows = other.rows[rows]
        memory: ScratchSpec = (other.cells.dtype.str, other.cells.shape[:-1], False)
        copy = working_memory(memory, len(rows))
        for place in np.ndindex(copy.shape[:-1]):
            other.cells[place].take(rows, out=copy[place], mode="clip")
        return copy

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks."""
        return moved_rows(self._batches())

    def _batches(self) -> Iterator[RowBatch]:
        """Find the blocks, which share their memory."""
        for_rows, for_pairs = BlockMemory(self._working), BlockMemory(self._paired)
        fields, others = len(self._columns), len(self._other_members)
        for pairs in self._search.blocks():
            self.asking = rows = self._search.asking[pairs.asking]
            found = pairs.found
            memory = for_rows.take(len(rows), _room(rows))
            own = batch_of(self._columns, rows, memory)
            memory = for_pairs.take(len(found), _room(found))
            near = batch_of(self._other_members, found, memory)
            views = (*own.views[:fields], *near.views[:others])
            working = (*own.views[fields:], *near.views[others:])
            gathered = own.gathered + near.gathered
            yield RowBatch(gathered, (pairs, *views, *working), own.put)

    def with_row_values(self, *each: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks with values for each row that asks behind the arrays."""
        for arrays in self:
            yield (*arrays, *(values[..., self.asking] for values in each))


def _room(rows: RowArray) -> int:
    """Return how many rows memory is taken for: at least one, because of none no strides tell the
    layout; planes whose distance is a power of two would share places in the cache."""
    return max(1, len(rows) + len(rows) // 4)


class CellMessages(DeferredMessages):
    """Messages of rows that come cell by cell: they wait for the last row, and arrive in the
    order of rows."""

    def __init__(
        self, column: NDArray[Any], ufunc: np.ufunc, steps: int, blocks: NeighbourBlocks
    ) -> None:
        super().__init__(column, ufunc, steps)
        self._blocks = blocks
        self._asking: list[RowArray] = []

    def arrive(self) -> None:
        """Let all messages arrive; O(k log k) for k rows that send any."""
        if not self._held:
            return
        order = np.concatenate(self._asking).argsort()
        steps = self._steps
        rows = np.concatenate([rows for rows, _ in self._held]).reshape(-1, steps)
        values = np.concatenate([values for _, values in self._held], axis=-1)
        values = values.reshape(*values.shape[:-1], -1, steps)[..., order, :]
        self._deliver(rows[order].reshape(-1), values.reshape(*values.shape[:-2], -1))

    def _pass_on(self, rows: RowArray, values: NDArray[Any]) -> None:
        super()._pass_on(rows, values)
        self._asking.append(self._blocks.asking)
