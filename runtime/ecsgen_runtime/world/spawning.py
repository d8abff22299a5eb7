"""Spawning: new entities with rows in several places, or nothing at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..handles import Columns, EntityArray
from ..locks import is_broken

ONCE: Final = ((),)
"""For `starmap`, which calls what takes no arguments: no interrupt comes between the call and who
keeps what it returns, as one may behind a call of ours."""


class SpawnStore(Protocol):
    """Takes the rows of new entities."""

    def remove_many(self, entities: ArrayLike, /) -> int: ...

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None: ...

    def _evict_many(self, entities: EntityArray, /) -> int: ...

    def _admit_many(self, entities: EntityArray, /) -> None: ...

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> object: ...


class RowTaker(Protocol):
    """Has rows of entities that can be taken back."""

    def _remove_rows(self, entities: EntityArray, /) -> None: ...

    def _remove_each(self, entities: EntityArray, /) -> None: ...


def undo_creation(
    living: Any, takers: Iterable[RowTaker], entities: EntityArray
) -> None:
    """Take entities back with all rows that they have; who cannot do that is broken.

    Nothing is raised but what is meant for others, an interrupt say.
    """
    interrupt: BaseException | None = None
    for taker in takers:
        try:
            _undo_rows(taker, entities)
        except Exception:
            continue  # it is broken
        except BaseException as error:
            interrupt = error
    if not is_broken(living):
        living._uncreate(entities)
    if interrupt is not None:
        raise interrupt


def _undo_rows(taker: RowTaker, entities: EntityArray) -> None:
    """Remove what rows entities have, if need be one by one, which takes no memory."""
    if is_broken(taker):
        return
    try:
        taker._remove_rows(entities)
    except BaseException as error:
        if not is_broken(taker):
            taker._remove_each(entities)
        if not isinstance(error, Exception):
            raise


class SeveralRows:
    """Gives each entity several rows of one component."""

    __slots__ = ("_count", "_store")

    def __init__(self, store: SpawnStore, count: int) -> None:
        self._store = store
        self._count = count

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Remove all rows of the entities."""
        return self._store.remove_many(entities)

    def _each(self, entities: EntityArray) -> EntityArray:
        return np.repeat(entities, self._count)

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None:
        self._store._make_room(self._each(entities), columns, borrowed)

    def _evict_many(self, entities: EntityArray, /) -> int:
        return self._store._evict_many(self._each(entities))

    def _admit_many(self, entities: EntityArray, /) -> None:
        self._store._admit_many(self._each(entities))

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> object:
        return self._store._append_many(self._each(entities), columns)


SpawnPart: TypeAlias = tuple[SpawnStore, Columns]
"""What takes rows, and the checked columns of these."""


def append_parts(
    entities: EntityArray, parts: Sequence[SpawnPart], borrowed: tuple[object, ...]
) -> None:
    """Give new entities their rows; O(k) for each part.

    What is in the way goes first, until nothing is, for callbacks may then change anything:
    only behind them is it certain who has what. `borrowed`: the caller's arguments.
    """
    for store, columns in parts:
        store._make_room(entities, columns, borrowed)
    while _evict(entities, parts):
        for store, columns in parts:
            store._admit_many(entities)
            store._make_room(entities, columns, ())
    for store, columns in parts:
        store._append_many(entities, columns)


def _evict(entities: EntityArray, parts: Sequence[SpawnPart]) -> int:
    """Remove what is in the way of the entities' rows; return how many went."""
    gone = 0
    for store, _ in parts:
        gone += store._evict_many(entities)
    return gone


def own_columns(columns: Columns, is_watched: bool) -> Columns:
    """Copy views, for what they look at may move before the new rows are filled.

    `is_watched`: callbacks may run before that, and write to the caller's own arrays, too.
    """
    own: dict[str, NDArray[Any]] = {}
    for name, c in columns.items():
        own[name] = c.copy() if is_watched or c.base is not None else c
    return own
