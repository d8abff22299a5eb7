"""Pairs of those who ask and those who are asked, and what comes of it for each who asks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..handles import RowArray
from .cells import Places


class NearPairs:
    """Who is in reach of some who ask, of each in the order in which they are met.

    Answers go to arrays of shape (*shape, asking); values have the shape (*shape, pairs), or
    one that broadcasts to it.
    """

    __slots__ = (
        "_counts",
        "_distance",
        "_firsts",
        "asking",
        "found",
        "offset",
        "square",
        "who",
    )

    def __init__(
        self,
        asking: slice,
        who: RowArray,
        found: RowArray,
        offset: Places,
        square: NDArray[Any],
    ) -> None:
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
        self._counts: NDArray[np.int64] | None = None
        self._distance: NDArray[Any] | None = None
        self._firsts: RowArray | None = None

    @property
    def distance(self) -> NDArray[Any]:
        """How far the other one is, shape (pairs,)."""
        if self._distance is None:
            self._distance = np.sqrt(self.square)
        return self._distance

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many pairs there are of each who asks, shape (asking,)."""
        if self._counts is None:
            most = self.asking.stop - self.asking.start
            self._counts = np.bincount(self.who, minlength=most)
        return self._counts

    def spread(self, values: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the value of who asks to each pair."""
        values.take(self.who, axis=-1, out=out, mode="clip")

    def count(self, values: Any, out: NDArray[Any]) -> None:
        """Write for how many the values are true."""
        if values is True:
            out[...] = self.counts
        else:
            true = np.broadcast_to(values, self.who.shape)
            out[...] = np.bincount(self.who[true], minlength=len(out))

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

    def min(self, values: Any, out: NDArray[Any]) -> None:
        """Write the least values; NaN, or 0 of integers, of none."""
        self._extreme(np.minimum, values, out)

    def max(self, values: Any, out: NDArray[Any]) -> None:
        """Write the greatest values; as `min` otherwise."""
        self._extreme(np.maximum, values, out)

    def nearest(self, values: Any, out: NDArray[Any]) -> None:
        """Write the values of the nearest, of several the first; 0 of none."""
        some, firsts = self.counts > 0, self._nearest
        for given, answer in self._planes(values, out):
            answer[...] = 0
            answer[some] = given[firsts]

    @property
    def _nearest(self) -> RowArray:
        """Which pair is the nearest of each who has any."""
        if self._firsts is None:
            counts = self.counts[self.counts > 0]
            starts = counts.cumsum() - counts
            least = np.minimum.reduceat(self.square, starts) if len(counts) else starts
            places = (self.square == least.repeat(counts)).nonzero()[0]
            who = self.who[places]
            is_first = np.ones(len(who), np.bool_)
            np.not_equal(who[1:], who[:-1], out=is_first[1:])
            self._firsts = places[is_first]
        return self._firsts

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

    def _planes(
        self, values: Any, out: NDArray[Any]
    ) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return each element of all pairs, with that of the answers."""
        shape = out.shape[:-1]
        given = np.broadcast_to(values, (*shape, len(self.who)))
        return [(given[place], out[place]) for place in np.ndindex(shape)]
