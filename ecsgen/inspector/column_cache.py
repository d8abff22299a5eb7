"""Copies of whole columns, made in ticks piece by piece, for what is worked out elsewhere: which
row comes where in a sorted table, say."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.component_readers import OWNER, ComponentReader, ManagerReader
from ecsgen.inspector.tick_queue import RequestError, TickQueue, make_not_found

PIECE: Final = 2 << 20
"""Bytes that one tick copies: with the memory for them, some half a millisecond."""
FRESH: Final = 1.0
"""Seconds for which values count as the present ones, while no row comes, goes or moves."""
_KEPT: Final = 16
"""Columns that are kept."""
_LONGEST: Final = 10.0
"""Seconds that a column is kept for which nobody asks."""
_TRIES: Final = 2
"""How often a copy is begun again because rows moved meanwhile."""


class ColumnSource(NamedTuple):
    """What can be copied. All but the key is called in ticks."""

    key: Hashable
    state: Callable[[], tuple[Hashable, int]]
    """Returns a version, and how many cells there are."""
    read: Callable[[slice], NDArray[Any]]
    """Returns copied cells."""
    step: Callable[[], int]
    """Returns how many cells a tick may copy."""
    is_lasting: bool = True
    """Whether cells only change with the version; others are read again after a while."""


class CachedColumn:
    """A column as it was at a version."""

    __slots__ = ("_derived", "cells", "since", "used", "version")

    def __init__(self, version: Hashable, cells: NDArray[Any]) -> None:
        self.version = version
        self.cells = cells
        self.since = self.used = monotonic()
        self._derived: dict[Hashable, NDArray[np.intp]] = {}

    @property
    def is_fresh(self) -> bool:
        """Whether values count as the present ones."""
        return monotonic() - self.since < FRESH

    async def derived(
        self, key: Hashable, work: Callable[..., NDArray[np.intp]], *arguments: Any
    ) -> NDArray[np.intp]:
        """Return what some work makes of the cells, which another thread does once."""
        derived = self._derived.get(key)
        if derived is None:
            derived = self._derived[key] = await asyncio.to_thread(work, self.cells, *arguments)
        return derived


class ColumnCache:
    """Copies columns, and keeps those that are still true."""

    def __init__(self, questions: TickQueue) -> None:
        self.ask = questions.run_in_tick
        self._kept: OrderedDict[Hashable, CachedColumn] = OrderedDict()

    async def column(self, subject: ComponentReader, name: str) -> CachedColumn:
        """Return a copy of a component's owners, or of the cells of a field."""
        return await self.of(
            ColumnSource(
                (subject.name, name),
                lambda: (subject.version, subject.n),
                lambda rows: subject.column(name, rows),
                lambda: subject.step(name, PIECE),
                is_lasting=name == OWNER,
            )
        )

    async def links(self, subject: ManagerReader, name: str) -> CachedColumn:
        """Return a copy of a column of rows: `parent`."""
        data, column = subject.manager.data, f"_{name}_column"
        return await self.of(
            ColumnSource(
                (subject.name, f"·{name}"),
                lambda: (subject.version, subject.n),
                lambda rows: getattr(data, column)[: data._n][rows].copy(),
                lambda: PIECE // 4,
            )
        )

    async def of(self, source: ColumnSource) -> CachedColumn:
        """Return a copy of something, which is good until its version changes."""
        old = self._kept.get(source.key)

        def begin() -> tuple[Hashable, int, int, NDArray[Any]] | None:
            version, n = source.state()
            if old is not None and old.version == version and (source.is_lasting or old.is_fresh):
                return None
            size = source.step()
            return version, n, size, source.read(slice(0, min(size, n)))

        for _ in range(_TRIES):
            begun = await self.ask(begin)
            if begun is None:
                assert old is not None  # or there would be a new one
                old.used = monotonic()
                self._kept.move_to_end(source.key)
                return old
            version, n, size, first = begun
            pieces = [first]
            if n <= size or await self._rest(source, pieces, (version, n), size):
                break
        cells = await asyncio.to_thread(np.concatenate, pieces) if n > size else first
        copy = self._kept[source.key] = CachedColumn(version, cells)
        self._kept.move_to_end(source.key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        self._forget(source.key, copy)
        return copy

    async def _rest(
        self,
        source: ColumnSource,
        pieces: list[NDArray[Any]],
        state: tuple[Hashable, int],
        size: int,
    ) -> bool:
        """Read the other pieces; return whether nothing moved meanwhile."""
        version, n = state
        same = True
        for start in range(size, n, size):

            def piece(start: int = start) -> tuple[Hashable, NDArray[Any]]:
                now, length = source.state()
                return now, source.read(slice(min(start, length), min(start + size, length)))

            now, cells = await self.ask(piece)
            same = same and now == version
            pieces.append(cells)
        return same

    def _forget(self, key: Hashable, copy: CachedColumn) -> None:
        """Drop a copy once nobody has asked for it for a while."""
        if self._kept.get(key) is not copy:
            return
        left = copy.used + _LONGEST - monotonic()
        if left > 0:
            asyncio.get_running_loop().call_later(left, self._forget, key, copy)
        else:
            del self._kept[key]


async def table_order(
    copies: ColumnCache, subject: ComponentReader, sort: str, desc: bool
) -> NDArray[np.intp] | None:
    """Return the rows of a component in order; None if they are all rows as they lie."""
    holes = subject.has_holes
    if not sort and not holes:
        return None
    used = await copies.column(subject, OWNER) if holes else None
    if not sort:
        assert used is not None  # there are holes
        return await used.derived("used", np.flatnonzero)
    key = await copies.column(subject, sort_column(subject, sort))
    order = await key.derived(("order", desc), sorted_rows, desc)
    if used is None:
        return order
    return await asyncio.to_thread(_without_holes, order, used.cells)


def sort_column(subject: ComponentReader, sort: str) -> str:
    """Return the column to sort by, or refuse."""
    if sort == subject.owner:
        return OWNER
    if sort not in subject.field:
        raise make_not_found(f"field of {subject.name}", sort)
    field = subject.field[sort]
    if field.shape or field.dtype is None:
        raise RequestError(400, f"{subject.name}.{sort}: {field.type} has no order")
    return sort


def sorted_rows(key: NDArray[Any], desc: bool) -> NDArray[np.intp]:
    """Return the order of a key, equal ones as they lie, NaN last either way; O(n log n)."""
    if not desc:
        return key.argsort(kind="stable")
    last = len(key) - 1
    order = last - key[::-1].argsort(kind="stable")[::-1]
    if key.dtype.kind == "f":
        count = int(np.isnan(key).sum())
        order = np.concatenate([order[count:], order[:count]])
    return order


def _without_holes(order: NDArray[np.intp], owners: NDArray[np.uint64]) -> NDArray[np.intp]:
    order = order.compress(order < len(owners))
    return order.compress(owners[order] != 0)
