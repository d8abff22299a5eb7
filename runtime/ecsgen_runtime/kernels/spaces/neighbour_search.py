"""Pairs of positions within a radius of each other, block after block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ...base.handles import RowArray
from ...tables.placement import joined_ranges
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
"""Number of pairs that are compared together, so that they stay in the cache."""


class NeighbourSearch:
    """Search for the members within a radius of asking positions.

    Positions are f32 or f64, shape (axes, k); one that is not finite neither finds nor is found. No
    pair has equal keys; without keys, the k-th asking position does not find the k-th member if
    both are one set (`is_one`).
    """

    asking: RowArray
    """Numbers of the asking positions in the order of their cells, shape (asking,)."""
    members: RowArray
    """Numbers of the members in the order of their cells, shape (members,)."""

    def __init__(
        self,
        asking: Positions,
        members: Positions,
        radius: float,
        wrap: tuple[float, ...],
        is_one: bool = False,
        names: tuple[EntityKeys, EntityKeys] | None = None,
    ) -> None:
        grid = cell_grid(radius, wrap, asking.dtype)
        self._reach, self._sizes = grid.reach, grid.sizes.T.tolist()
        self.is_one = is_one
        finite = [finite_positions(each) for each in ((asking,) if is_one else (asking, members))]
        lattice, numbers = numbered(grid, *finite)
        key_limit = lattice.key_limit
        ordered = [sorted_cells(lattice.keys(each), key_limit) for each in numbers]
        asking_cells, member_cells = ordered[0], ordered[-1]
        self.asking, self.members = asking_cells.order, member_cells.order
        firsts = asking_cells.order[asking_cells.starts[:-1]]
        self._runs = runs_around(lattice, [each[firsts] for each in numbers[0]], member_cells)
        self._cell_of = asking_cells.starts
        asking_positions = finite_positions(asking, np.nan).take(asking_cells.order, axis=1)
        visible = asking_positions
        if not (is_one and members is asking):
            visible = finite_positions(members, np.nan).take(member_cells.order, axis=1)
        self.positions = asking_positions, visible
        self._names = names and (names[0][asking_cells.order], names[1][member_cells.order])

    def blocks(self) -> Iterator[NeighbourPairs]:
        """Iterate over all pairs; each asking position is in one block."""
        low, high = self._runs
        sizes = np.diff(self._cell_of)
        cells = np.repeat(np.arange(len(sizes)), sizes)
        counts = high - low
        ends = counts.sum(axis=1)[cells].cumsum()
        start, done = 0, 0
        while start < len(cells):
            stop = int(ends.searchsorted(done + _CANDIDATES, "right"))
            stop = max(stop, start + 1)
            block_cells = cells[start:stop]
            with np.errstate(all="ignore"):
                pairs = self._pairs(slice(start, stop), low[block_cells], counts[block_cells])
            yield pairs
            start, done = stop, int(ends[stop - 1])

    def neighbours(self) -> tuple[RowArray, RowArray]:
        """Return the members near each asking position, and before them the start of each one's,
        shape (asking + 1,), in the order of the positions."""
        parts = [(each.who + each.asking.start, each.found) for each in self.blocks()]
        askers = np.concatenate([np.empty(0, np.intp), *(askers for askers, _ in parts)])
        members = np.concatenate([np.empty(0, np.intp), *(members for _, members in parts)])
        counts = np.bincount(askers, minlength=len(self.asking))
        starts = np.zeros(len(self.asking) + 1, np.intp)
        starts[self.asking + 1] = counts
        np.cumsum(starts, out=starts)
        rows = np.empty_like(members)
        rows[joined_ranges(starts[self.asking], counts)[1]] = self.members[members]
        return starts, rows

    def _pairs(self, asking: slice, low: RowArray, counts: RowArray) -> NeighbourPairs:
        """Return the pairs of asking positions and of members in runs, shape (asking, runs)."""
        pairs_of = counts.sum(axis=1)
        _, members = joined_ranges(low.ravel(), counts.ravel())
        asking_positions, member_positions = self.positions
        offset = np.empty((len(asking_positions), len(members)), asking_positions.dtype)
        for axis, (size, half) in enumerate(self._sizes):
            apart = member_positions[axis].take(members, out=offset[axis], mode="clip")
            apart -= asking_positions[axis, asking].repeat(pairs_of)
            take_around(apart, size, half)
        square = np.square(offset[0])
        for apart in offset[1:]:
            square += np.square(apart)
        near = square <= self._reach
        askers = np.arange(len(pairs_of)).repeat(pairs_of)
        if self.is_one:
            near &= members != askers + asking.start
        elif self._names:
            keys, other_keys = self._names
            near &= other_keys[members] != keys[asking].repeat(pairs_of)
        indices = near.nonzero()[0]
        near_offset = np.empty((len(asking_positions), len(indices)), asking_positions.dtype)
        for apart, copy in zip(offset, near_offset, strict=True):
            apart.take(indices, out=copy, mode="clip")
        return NeighbourPairs(
            asking, askers[indices], members[indices], near_offset, square[indices]
        )


def finite_positions(positions: Positions, otherwise: float = 0) -> Positions:
    """Return positions, `otherwise` for those that are not finite; no comparison finds NaN."""
    is_known = np.isfinite(positions)
    if is_known.all():
        return positions
    return np.where(is_known.all(axis=0), positions, otherwise).astype(positions.dtype)


class NeighbourPairs:
    """Pairs of asking positions and members within the radius, in the order of the search.

    Aggregates go to arrays of shape (*shape, asking); values have the shape (*shape, pairs), or
    one that broadcasts to it.
    """

    def __init__(
        self,
        asking: slice,
        who: RowArray,
        members: RowArray | slice,
        offset: Positions,
        square: NDArray[Any],
        indices: RowArray | None = None,
    ) -> None:
        self._indices = indices
        self.asking = asking
        """Slice of the asking positions, in the order of their cells."""
        self.who = who
        """Number of each pair's asking position in the slice, ascending; shape (pairs,)."""
        self.found = members
        """Number of each pair's member in the order of cells, shape (pairs,); of links a slice."""
        self.offset = offset
        """Member's position minus the asking one, shape (axes, pairs)."""
        self.square = square
        """`dot(offset, offset)`, shape (pairs,)."""

    @cached_property
    def distance(self) -> NDArray[Any]:
        """Distance of each pair, shape (pairs,)."""
        distance: NDArray[Any] = np.sqrt(self.square)
        return distance

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of pairs of each asking position, shape (asking,)."""
        return np.bincount(self.who, minlength=self.asking.stop - self.asking.start)

    @cached_property
    def _starts(self) -> RowArray:
        """First pair of each asking position that has any, shape (asking,)."""
        return self.counts.cumsum() - self.counts

    def spread(self, values: NDArray[Any], out: NDArray[Any]) -> None:
        """Write each asking position's value to its pairs."""
        values.take(self.who, axis=-1, out=out, mode="clip")

    def where(self, values: Any) -> NeighbourPairs:
        """Return the pairs for which the values are true; they still take the values of all."""
        return self._only(self._pair_values(values).nonzero()[0])

    def best(self, choose: np.ufunc, values: Any, is_first: bool) -> NeighbourPairs:
        """Return each asking position's pairs with the extreme value, by `fmax` or `fmin`. NaN
        loses; the first criterion (`is_first`) leaves pairs with NaN out."""
        pair_values = self._pair_values(values)
        if is_first and pair_values.dtype.kind == "f":
            comparable = self._only((pair_values == pair_values).nonzero()[0])
            if len(comparable.who) < len(self.who):
                return comparable.best(choose, values, True)
        least = self._least(choose, pair_values)
        is_best = pair_values == least
        if pair_values.dtype.kind == "f":
            is_best |= (pair_values != pair_values) & (least != least)
        return self._only(is_best.nonzero()[0])

    def _only(self, chosen: RowArray) -> NeighbourPairs:
        known = self.found
        members = known.start + chosen if isinstance(known, slice) else known[chosen]
        arrays = self.who[chosen], members, self.offset.take(chosen, axis=1)
        indices = chosen if self._indices is None else self._indices[chosen]
        return NeighbourPairs(self.asking, *arrays, self.square[chosen], indices)

    def _pair_values(self, values: Any, shape: tuple[int, ...] = ()) -> NDArray[Any]:
        """Return the values of these pairs, shape (*shape, pairs)."""
        pair_values = np.asarray(values)
        if self._indices is not None and pair_values.shape[-1:] not in ((), (1,)):
            pair_values = pair_values.take(self._indices, axis=-1)
        pairs_shape = *shape, len(self.who)
        is_whole = pair_values.shape == pairs_shape
        return pair_values if is_whole else np.broadcast_to(pair_values, pairs_shape)

    def choice(self, which: RowArray, values: Any, out: NDArray[Any]) -> None:
        """Write the value of one numbered pair of each asking position; 0 if it has none."""
        self._pick((self._starts + which)[self.counts > 0], values, out)

    def weighted(self, weights: Any, drawn: NDArray[np.float64]) -> NeighbourPairs:
        """Return one pair of each asking position: the first of which the running sum of weights
        exceeds `drawn`, in [0, 1), times all; none if no weight is finite and above 0.

        As many steps as the most pairs of a position."""
        weights = self._pair_values(weights)
        weights = np.where((weights > 0) & (weights < np.inf), weights, 0.0)
        limits = drawn * np.bincount(self.who, weights, len(self.counts))
        running, chosen = np.zeros(len(limits)), np.full(len(limits), -1)
        for step in range(int(self.counts.max(initial=0))):
            askers = ((self.counts > step) & (chosen < 0)).nonzero()[0]
            pairs = self._starts[askers] + step
            running[askers] += weights[pairs]
            is_chosen = running[askers] > limits[askers]
            chosen[askers[is_chosen]] = pairs[is_chosen]
        return self._only(chosen[chosen >= 0])

    def mode(self, values: Any, out: NDArray[Any]) -> None:
        """Write the most frequent values, of several those of the first pair; 0 if there are no
        pairs. O(k log k)."""
        pair_values = self._pair_values(values)
        order = np.lexsort((pair_values, self.who))  # stable: equal ones stay in order
        askers, ordered = self.who[order], pair_values[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (askers[1:] != askers[:-1]) | (ordered[1:] != ordered[:-1])
        starts = is_first.nonzero()[0]
        often = np.diff(starts, append=len(order))
        ranked = np.lexsort((order[starts], -often, askers[starts]))
        best = ranked[np.diff(askers[starts][ranked], prepend=-1) > 0]
        self._pick(order[starts[best]], values, out)

    def count(self, values: Any, out: NDArray[Any]) -> None:
        """Write the numbers of pairs for which the values are true."""
        if values is True:
            out[...] = self.counts
        else:
            askers = self.who.compress(self._pair_values(values))
            out[...] = np.bincount(askers, minlength=len(out))

    def sum(self, values: Any, out: NDArray[Any]) -> None:
        """Write sums: of floats in f64, in order; of integers in 64 bits, which wrap."""
        for pair_values, answer in self._planes(values, out):
            if out.dtype.kind == "f":
                answer[...] = self._added(pair_values)
            else:
                total = np.zeros(len(pair_values) + 1, out.dtype)
                np.cumsum(pair_values, dtype=out.dtype, out=total[1:])
                ends = self.counts.cumsum()
                np.subtract(total[ends], total[ends - self.counts], out=answer)

    def mean(self, values: Any, out: NDArray[Any]) -> None:
        """Write means, NaN if there are no pairs."""
        for pair_values, answer in self._planes(values, out):
            answer[...] = self._added(pair_values) / self.counts
            answer[self.counts == 0] = np.nan  # whatever sign 0 / 0 has

    def min(self, values: Any, out: NDArray[Any]) -> None:
        """Write the least values; NaN, or 0 for integers, if there are no pairs."""
        self._extreme(np.minimum, values, out)

    def max(self, values: Any, out: NDArray[Any]) -> None:
        """Write the greatest values; NaN, or 0 for integers, if there are no pairs."""
        self._extreme(np.maximum, values, out)

    def nearest(self, values: Any, out: NDArray[Any]) -> None:
        """Write the values of the first nearest pairs; 0 if there are no pairs."""
        self._pick(self._nearest, values, out)

    def _pick(self, pairs: RowArray, values: Any, out: NDArray[Any]) -> None:
        """Write the values of one pair of each asking position that has any, else 0."""
        has_pairs = self.counts > 0
        for pair_values, answer in self._planes(values, out):
            answer[...] = 0
            answer[has_pairs] = pair_values[pairs]

    @cached_property
    def _nearest(self) -> RowArray:
        """Nearest pair of each asking position that has any."""
        pairs = (self.square == self._least(np.minimum, self.square)).nonzero()[0]
        nearest: RowArray = pairs[np.diff(self.who[pairs], prepend=-1) > 0]
        return nearest

    def _least(self, choose: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Return the extreme value of each pair's asking position."""
        has_pairs = self.counts > 0
        extremes = choose.reduceat(values, self._starts[has_pairs]) if len(values) else values
        return extremes.repeat(self.counts[has_pairs])

    def _added(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return sums in f64, added in order, not pairwise."""
        weights = values.astype(np.float64, copy=False)
        sums: Any = np.bincount(self.who, weights=weights, minlength=len(self.counts))
        return np.asarray(sums, np.float64)

    def _extreme(self, choose: np.ufunc, values: Any, out: NDArray[Any]) -> None:
        has_pairs = self.counts > 0
        for pair_values, answer in self._planes(values, out):
            answer[...] = np.nan if out.dtype.kind == "f" else 0
            if len(pair_values):
                answer[has_pairs] = choose.reduceat(pair_values, self._starts[has_pairs])

    def _planes(self, values: Any, out: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return each element's values of all pairs, and its plane of `out`."""
        shape = out.shape[:-1]
        pair_values = self._pair_values(values, shape)
        return [(pair_values[index], out[index]) for index in np.ndindex(shape)]


class PairSource(Protocol):
    """Pairs of rows and their neighbours, in space or by links."""

    asking: RowArray
    members: Any

    def blocks(self) -> Iterator[NeighbourPairs]:
        """Iterate over all pairs; each asking row is in one block."""
        ...


class NeighbourBlocks:
    """Blocks of a kernel: pairs, fields of the asking rows, former fields of their neighbours by
    pair, and working memory of rows and of pairs.

    Fields are gathered before each block, and written ones are put back after it.
    """

    asking: RowArray
    """Asking rows of the current block, shape (rows,)."""

    def __init__(
        self,
        search: PairSource,
        columns: Sequence[BlockColumn],
        others: Sequence[BlockColumn],
        working: Sequence[ScratchSpec],
        paired: Sequence[ScratchSpec],
    ) -> None:
        self._search = search
        self._columns = columns
        self._working = [*(column.memory for column in columns), *working]
        self._other_members = [*map(self._as_before, others)]
        self._paired = [*(member.memory for member in self._other_members), *paired]

    def _as_before(self, other: BlockColumn) -> BlockColumn:
        """Return a field of all members, in the order of pairs if these are links: a copy, unless
        that would be gathered by block as well, and the kernel does not write the field."""
        written = (column.cells for column in self._columns if column.is_written)
        is_gathered = isinstance(self._search.members, slice) and other.rows is not None
        if is_gathered and not any(np.may_share_memory(cells, other.cells) for cells in written):
            return other
        return BlockColumn(self._copy(other))

    def _copy(self, other: BlockColumn) -> NDArray[Any]:
        """Return a copy of a field of all members, in the order of their cells."""
        rows = self._search.members
        if other.rows is not None:
            rows = other.rows[rows]
        memory: ScratchSpec = (other.cells.dtype.str, other.cells.shape[:-1], False)
        copy = working_memory(memory, len(rows))
        for index in np.ndindex(copy.shape[:-1]):
            other.cells[index].take(rows, out=copy[index], mode="clip")
        return copy

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks."""
        return moved_rows(self._batches())

    def _batches(self) -> Iterator[RowBatch]:
        """Yield the blocks, which share their memory."""
        for_rows, for_pairs = BlockMemory(self._working), BlockMemory(self._paired)
        fields, others = len(self._columns), len(self._other_members)
        for pairs in self._search.blocks():
            self.asking = rows = self._search.asking[pairs.asking]
            memory = for_rows.take(len(rows), _spare_capacity(rows))
            asking_rows = batch_of(self._columns, rows, memory)
            memory = for_pairs.take(len(pairs.who), _spare_capacity(pairs.who))
            member_rows = batch_of(self._other_members, pairs.found, memory)
            views = (*asking_rows.views[:fields], *member_rows.views[:others])
            working = (*asking_rows.views[fields:], *member_rows.views[others:])
            gathered = asking_rows.gathered + member_rows.gathered
            yield RowBatch(gathered, (pairs, *views, *working), asking_rows.put)

    def with_row_values(self, *each: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks with values for each asking row after the arrays."""
        for arrays in self:
            yield (*arrays, *(values[..., self.asking] for values in each))


def _spare_capacity(rows: RowArray) -> int:
    """Return the number of rows to allocate: at least one, because arrays without rows have no
    strides; more than needed, because planes a power of two apart would share cache lines."""
    return max(1, len(rows) + len(rows) // 4)


class CellMessages(DeferredMessages):
    """Messages of rows that run cell by cell: delivered after the last one, in row order."""

    def __init__(
        self, column: NDArray[Any], ufunc: np.ufunc | None, steps: int, blocks: NeighbourBlocks
    ) -> None:
        super().__init__(column, ufunc, steps)
        self._blocks = blocks
        self._asking: list[RowArray] = []

    def arrive(self) -> None:
        """Deliver all messages; O(k log k) for k rows that send any."""
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
