"""Ghosts: copies of other shards' rows, behind the own ones in the same columns.

They are good until the manager's next structural change. In managers with `lookup: direct` only
values lie there, for owners behind the last row would be rows when others come behind them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..columns.buffers import grown_capacity
from ..columns.field_info import FieldInfo
from ..columns.rows import OwnedRows
from ..entities.arrays import as_entities
from ..handles import NIL, EntityArray, RowArray
from ..owners.owned import Owned
from ..state import NO_SLOTS
from .entities import ShardedEntities
from .handle_map import HandleMap


class RowsNear:
    """Some rows of a manager and its ghosts: `n`, `entity`, and the fields that ghosts have.

    All read-only, and good until the manager's next structural change.
    """

    __slots__ = ("_end", "_manager", "_start")

    def __init__(self, manager: Haunted, start: int, end: int) -> None:
        self._manager = manager
        self._start = start
        self._end = end

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self._end - self._start

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,)."""
        owners = self._manager._owners_near()[self._start : self._end]
        owners.flags.writeable = False
        return owners

    def __getattr__(self, name: str) -> NDArray[Any]:
        manager = self._manager
        if name not in manager._ghost_columns():
            raise AttributeError(f"{type(manager).__name__} has no ghosts of {name!r}")
        column: NDArray[Any] = getattr(manager.data, f"_{name}_column")
        view = column[self._start : self._end]
        view.flags.writeable = False
        return view

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, owned or ghost, NIL where it has none, shape (k,); O(k)."""
        given = as_entities(entities)
        rows = np.full(len(given), NIL, np.intp)
        if not self._start:
            rows = self._manager.lookup_many(given)
        missed = (rows == NIL).nonzero()[0]
        found = self._manager._ghost_rows(given[missed])
        known = found >= 0
        rows[missed[known]] = found[known] - self._start
        return rows


class Haunt:
    """The ghosts of a manager: how many, of which version, and whose."""

    __slots__ = ("active", "count", "map", "owners", "version", "watch")

    def __init__(self) -> None:
        self.active: NDArray[np.bool_] | None = None
        """Which of them are active, in managers with a partition."""
        self.count = 0
        self.version = -1
        self.owners: EntityArray = np.zeros(0, np.uint64)
        self.map: HandleMap | None = None
        self.watch: Any = None
        """Who is told how far kernels look, if anybody."""


class Haunted(Owned):
    """A manager with ghosts."""

    __slots__ = NO_SLOTS
    FIELDS: ClassVar[tuple[FieldInfo, ...]]
    _GHOSTS: ClassVar[tuple[str, ...]] = ()
    """The fields that they have."""
    data: OwnedRows
    _entities: ShardedEntities
    _haunt: Haunt

    def _attach(self) -> None:
        super()._attach()
        self._haunt = Haunt()

    @property
    def ghosts(self) -> RowsNear:
        """The rows of others, by rank, then as they were sent."""
        n = self.data._n
        return RowsNear(self, n, n + self._n_ghosts)

    @property
    def nearby(self) -> RowsNear:
        """The own rows, then the ghosts: one view, no copy."""
        return RowsNear(self, 0, self.data._n + self._n_ghosts)

    @property
    def _n_ghosts(self) -> int:
        haunt = self._haunt
        return haunt.count if haunt.version == self.data._version else 0

    def _shrink(self) -> None:
        super()._shrink()
        self._haunt.version = -1  # they may have been in pages that were given back

    @classmethod
    def _ghost_columns(cls) -> tuple[str, ...]:
        """Return the columns that ghosts have: several for fields that are split."""
        held = [column.name for column in cls.LAYOUT]
        return tuple(
            name
            for field in cls._GHOSTS
            for name in ([field] if field in held else _elements(field, held))
        )

    def _owners_near(self) -> EntityArray:
        data = self.data
        if not hasattr(data, "_count"):
            return data._entity_column
        owners = self._haunt.owners[: self._n_ghosts]
        return np.concatenate((data._entity_column[: data._n], owners))

    def _ghost_rows(self, entities: EntityArray) -> RowArray:
        """Return the row of each ghost, -1 where it is none."""
        haunt = self._haunt
        if not self._n_ghosts or len(entities) == 0:
            return np.full(len(entities), -1)
        if haunt.map is None:
            haunt.map = HandleMap(self._entities._BULK)
            haunt.map.add(haunt.owners, np.arange(haunt.count) + self.data._n)
        return haunt.map.find(entities)

    def _take_ghosts(
        self,
        owners: EntityArray,
        columns: dict[str, list[NDArray[Any]]],
        borrowed: tuple[object, ...],
    ) -> None:
        """Have these ghosts, instead of those before; their cells come in several parts.

        `borrowed`: the caller's arguments.
        """
        data, haunt, count = self.data, self._haunt, len(owners)
        if data._n + count > data._allocated:
            # not by `_grow`: a ring that is full grows no more
            rows = grown_capacity(data._allocated, data._n + count)
            data._reserve(rows, borrowed, is_counted=True)
        start = data._n
        if not hasattr(data, "_count"):
            data._entity_column[start : start + count] = owners
        for name, parts in columns.items():
            column, place = getattr(data, f"_{name}_column"), start
            for part in parts:
                column[place : place + len(part)] = part
                place += len(part)
        haunt.owners, haunt.map = owners, None
        haunt.count, haunt.version = count, data._version


def _elements(field: str, held: list[str]) -> list[str]:
    return [name for name in held if name.rpartition("_")[0] == field and name != field]
