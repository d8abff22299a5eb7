"""release: callbacks see the rows about to go, still readable, on every way out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from io import BytesIO
from typing import ClassVar
from weakref import ref

import numpy as np

from ..callbacks import Callbacks, Subscription
from ..handles import Columns, Instance, RowArray
from ..manager import Manager
from ..per_class import per_class
from ..state import NO_SLOTS


class Release(Manager):
    """A manager that tells which rows are about to go."""

    __slots__ = NO_SLOTS
    _RELEASES: ClassVar[bool] = True
    _released: Callbacks[RowArray]

    def on_release(self, callback: Callable[[RowArray], object], /) -> Subscription:
        """Have `callback(rows)` called with rows about to go, still readable, on every way out.

        The array is read-only. Inside, this manager is locked, and entities that are
        destroyed wait for their turn. Exceptions stop nothing; they are raised together,
        as an ExceptionGroup, when all is done. `cancel()` of what is returned ends it.
        Pickle does not save it.
        """
        return self._released.add(callback)

    def _attach(self) -> None:
        super()._attach()
        self._released = Callbacks()

    def _own(self, columns: Columns) -> Columns:
        """Copy views, and all if there are callbacks, which may write to the caller's arrays."""
        kept = not self._released.entries
        return {
            name: c if kept and c.base is None else c.copy()
            for name, c in columns.items()
        }

    @property
    def _is_watched(self) -> bool:
        return bool(self._released.entries)

    @per_class
    def _takes_few(self, count: int) -> bool:
        if self._released.entries or self._locks:
            return False
        return self._SINGLY and self._has_room(count)

    def _release(self, rows: RowArray) -> None:
        """Tell the callbacks of rows about to go."""
        if not self._released.entries:
            return
        shown = rows.copy()  # not what is going to be removed
        shown.flags.writeable = False
        with BytesIO() as hold:  # as `locked` does it
            self._lock(ref(hold))
            del hold  # but from the block
            self._dispatch.tell(self._released.run, shown)

    def _destroy_told(self, row: Instance) -> int:
        """Remove a row of which the callbacks are told first."""
        return self._dispatch.run(self._tell_and_destroy, row)

    def _tell_and_destroy(self, row: Instance) -> int:
        self._release(np.array([row]))
        return self._destroy_row(row, told=True)

    @abstractmethod
    def _destroy_row(self, row: Instance, told: bool = False) -> int:
        """Remove a row that is known to be in use and return how many went.

        `told`: whether the callbacks know of it.
        """
