"""destroy and release: removal of the rows of dead entities, and callbacks for removed rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ...base.callbacks import Callbacks, Subscription
from ...base.handles import NULL_ENTITY, Columns, EntityArray, Instance, RowArray
from ...base.specialisation import NO_SLOTS, specialised
from ...entities.entity_pool import remove_rows_with_fallback
from ...tables.bulk import SMALL_REMOVAL
from ..manager import Manager
from .owners import Owned


class Callback(Owned):
    """A manager that removes rows when their entities are destroyed."""

    __slots__ = NO_SLOTS

    def _init_transient(self) -> None:
        super()._init_transient()
        self._listen()

    def _listen(self) -> None:
        """Have rows removed when entities die."""
        self._entities.add_listener(self, type(self).remove)

    def _check_can_despawn(self) -> None:
        if self._locks:
            self._raise_if_locked()

    def _on_despawn(self, entities: EntityArray) -> None:
        remove_rows_with_fallback(self, self.remove_many, entities)


_UNTOUCHED: Final = Random(0).getstate()[:2]
"""The version and the words of a generator that has not picked anything yet."""


class Gc(Owned):
    """A manager that finds rows of dead entities by random picks, or by a sweep."""

    __slots__ = NO_SLOTS
    _rng: Random

    @specialised
    def gc(self, rng: Random | None = None) -> int:
        """Remove rows of dead entities, picked at random, until four picks in a row are alive.

        Costs next to nothing when no entity died, and finds dead ones quickly when many
        did. Returns how many rows went. The manager's own generator is seeded, so runs
        repeat. (Bitsquid, "Building a Data-Oriented Entity System".)
        """
        if self._locks:
            self._raise_if_locked()
        if self.HAS_RELEASE_CALLBACKS and not self._dispatch.is_open():
            # raises what callbacks raise when all is done
            return self._dispatch.run(self.gc, rng)
        data = self.data
        pick = (self._rng if rng is None else rng).random
        alive = self._entities.alive
        collected = in_a_row = 0
        while data._n and in_a_row < 4:
            row: Instance = int(pick() * data._n)  # type: ignore[assignment]  # calling Instance takes time
            owner = data._entity_cells[row]
            if owner == NULL_ENTITY or alive(owner):  # a row without an owner is a hole
                in_a_row += 1
                continue
            in_a_row = 0
            collected += self._destroy_row(row)
        return collected

    def collect(self) -> int:
        """Remove the rows of all dead entities at once and return how many went; O(n)."""
        if self._locks:
            self._raise_if_locked()
        rows = self._dead_rows(self.data.entity)
        if 0 < len(rows) <= SMALL_REMOVAL and self._destroy_small_batch(rows.tolist()):
            return len(rows)
        return self.destroy_rows(rows)

    def _init_empty(self) -> None:
        super()._init_empty()
        self._rng = Random(0)

    def extra_arrays(self) -> dict[str, NDArray[Any]]:
        version, words, _ = self._rng.getstate()
        if (version, words) == _UNTOUCHED:
            return super().extra_arrays()
        return {**super().extra_arrays(), "_rng": np.array(words, np.uint32)}

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        self._rng = Random(0)
        if "_rng" in extras:
            words = tuple(extras["_rng"].tolist())
            self._rng.setstate((_UNTOUCHED[0], words, None))


class Release(Manager):
    """A manager with callbacks for rows about to be removed."""

    __slots__ = NO_SLOTS
    HAS_RELEASE_CALLBACKS: ClassVar[bool] = True
    _CALLBACKS: ClassVar = Callbacks
    _released: Callbacks[RowArray]

    def on_release(self, callback: Callable[[RowArray], object], /) -> Subscription:
        """Have `callback(rows)` called with rows about to go, still readable, on every way out.

        The array is read-only. Inside, this manager is locked, and entities that are
        destroyed wait for their turn. Exceptions stop nothing; they are raised together,
        as an ExceptionGroup, when all is done. `cancel()` of what is returned ends it.
        Pickle does not save it.
        """
        return self._released.add(callback)

    def _init_transient(self) -> None:
        super()._init_transient()
        self._released = Callbacks()

    def _own(self, columns: Columns) -> Columns:
        """Copy views; copy all if there are callbacks, which may write to the caller's arrays."""
        no_callbacks = not self._released.entries
        return {
            name: c if no_callbacks and c.base is None else c.copy() for name, c in columns.items()
        }

    @property
    def _has_release_listeners(self) -> bool:
        return bool(self._released.entries)

    @specialised
    def takes_small_batch(self, count: int) -> bool:
        if self._released.entries or self._locks:
            return False
        return self._ACCEPTS_ANY_VALUES and self._has_capacity(count)

    def _notify_release(self, rows: RowArray) -> None:
        if not self._released.entries:
            return
        shown = rows.copy()  # not what is going to be removed
        self._notify_locked(self._dispatch, self._released, shown)

    def _destroy_notified(self, row: Instance) -> int:
        return self._dispatch.run(self._notify_and_destroy, row)

    def _notify_and_destroy(self, row: Instance) -> int:
        self._notify_release(np.array([row]))
        return self._destroy_row(row, True)

    @abstractmethod
    def _destroy_row(self, row: Instance, is_notified: bool = False, /) -> int:
        """Remove a row that is known to be in use and return how many rows went.

        `is_notified`: True if the callbacks have run.
        """
