"""Copies of whole columns, made in parts by ticks, for work outside ticks such as sorting."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from time import monotonic
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.component_readers import OWNER, ComponentReader
from ecsgen.inspector.tick_queue import RequestError, TickQueue, make_not_found

PIECE: Final = 2 << 20
"""Bytes that one tick copies: about 0.5 ms, allocation included."""
FRESH: Final = 1.0
"""Seconds for which copied values are used, if no row was added, removed or moved."""
_KEPT: Final = 16
"""Number of columns kept."""
_LONGEST: Final = 10.0
"""Seconds that an unused column is kept."""
_TRIES: Final = 2
"""Attempts at a copy, which starts again if rows move meanwhile."""


class ColumnSource(NamedTuple):
    """A column to copy. All members but the key are called in ticks."""

    key: Hashable
    state: Callable[[], tuple[Hashable, int]]
    """Returns a version and the number of cells."""
    read: Callable[[slice], NDArray[Any]]
    """Returns copied cells."""
    step: Callable[[], int]
    """Returns the number of cells that a tick may copy."""
    is_lasting: bool = True
    """True if cells change with the version only; other copies expire after `FRESH`."""
    is_fresh: bool = False
    """True if an old copy does not count where one tick can make a new one."""


class CachedColumn:
    """A column as it was at a version."""

    __slots__ = ("_derived", "cells", "since", "used", "version")

    def __init__(self, version: Hashable, cells: NDArray[Any]) -> None:
        self.version = version
        self.cells = cells
        self.since = self.used = monotonic()
        self._derived: dict[Hashable, NDArray[np.intp]] = {}

    async def derived(
        self, key: Hashable, work: Callable[..., NDArray[np.intp]], *arguments: Any
    ) -> NDArray[np.intp]:
        """Return `work(cells, *arguments)`, done once per key, in another thread."""
        derived = self._derived.get(key)
        if derived is None:
            derived = self._derived[key] = await asyncio.to_thread(work, self.cells, *arguments)
        return derived


class ColumnCache:
    """Copies columns, and keeps those that are still valid."""

    def __init__(self, queue: TickQueue) -> None:
        self.ask = queue.run_in_tick
        self._kept: OrderedDict[Hashable, CachedColumn] = OrderedDict()

    async def column(
        self, reader: ComponentReader, name: str, *, is_fresh: bool = False
    ) -> CachedColumn:
        """Return a copy of a component's owners or of a field's cells. `is_fresh`: as they are now,
        if one tick can copy them."""
        return await self.of(
            ColumnSource(
                (reader.name, name),
                lambda: (reader.version, reader.n),
                lambda rows: reader.column(name, rows),
                lambda: reader.step(name, PIECE),
                is_lasting=name not in reader.field,
                is_fresh=is_fresh,
            )
        )

    async def of(self, source: ColumnSource) -> CachedColumn:
        """Return a copy of a source, kept until its version changes."""
        old = self._kept.get(source.key)

        def read(start: int) -> tuple[Hashable, int, NDArray[Any]] | None:
            """Return the version, the number of cells, and those from `start` on that one tick may
            copy; None if the old copy is still valid."""
            version, n = source.state()
            known = None if start or old is None or old.version != version else old
            if source.is_fresh and not source.is_lasting and n <= source.step():
                known = None
            if known is not None and (source.is_lasting or monotonic() - known.since < FRESH):
                return None
            return version, n, source.read(slice(min(start, n), min(start + source.step(), n)))

        for _ in range(_TRIES):
            begun = await self.ask(partial(read, 0))
            if begun is None:
                assert old is not None  # or there would be a new one
                old.used = monotonic()
                self._kept.move_to_end(source.key)
                return old
            version, n, cells = begun
            parts, done, versions = [cells], len(cells), {version}
            while done < n and len(cells):
                part = await self.ask(partial(read, done))
                assert part is not None  # only a whole copy is valid
                now, _, cells = part
                parts.append(cells)
                versions.add(now)
                done += len(cells)
            if len(versions) == 1:
                break
        cells = await asyncio.to_thread(np.concatenate, parts) if len(parts) > 1 else cells
        copy = self._kept[source.key] = CachedColumn(version, cells)
        self._kept.move_to_end(source.key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        self._forget(source.key, copy)
        return copy

    def _forget(self, key: Hashable, copy: CachedColumn) -> None:
        """Drop a copy that has not been used for `_LONGEST` seconds."""
        if self._kept.get(key) is not copy:
            return
        left = copy.used + _LONGEST - monotonic()
        if left > 0:
            asyncio.get_running_loop().call_later(left, self._forget, key, copy)
        else:
            del self._kept[key]


def sort_column(reader: ComponentReader, sort: str) -> str:
    """Return the column to sort by. Raises RequestError if there is none."""
    if sort == reader.owner:
        return OWNER
    if sort not in reader.field:
        raise make_not_found(f"field of {reader.name}", sort)
    field = reader.field[sort]
    if field.shape or field.dtype is None:
        raise RequestError(400, f"{reader.name}.{sort}: {field.type} has no order")
    return sort


def sorted_rows(key: NDArray[Any], desc: bool) -> NDArray[np.intp]:
    """Return the rows sorted by a key, stable, NaN last either way; O(n log n)."""
    if not desc:
        return key.argsort(kind="stable")
    last = len(key) - 1
    order = last - key[::-1].argsort(kind="stable")[::-1]
    if key.dtype.kind in "fmM":
        count = int((key != key).sum())
        order = np.concatenate([order[count:], order[:count]])
    return order
