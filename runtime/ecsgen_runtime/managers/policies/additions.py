"""add: callbacks for rows that have just come, whatever creates them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...base.callbacks import Callbacks, Dispatch, Subscription
from ...base.fast_typing import NamedTuple
from ...base.handles import NIL, RowArray
from ...base.specialisation import NO_SLOTS
from ..manager import Manager
from .ids import IdMethods
from .owners import Owned


class AddedRows(NamedTuple):
    """New rows of a manager, to be announced once all others of the same change are there."""

    manager: Add
    version: int
    """Version of the manager when the rows were these."""
    rows: RowArray
    handles: NDArray[np.uint64]
    """Ids of the rows, or else their owners, by which they are found once they have moved."""


class Add(Manager):
    """A manager with callbacks for rows that have just come."""

    __slots__ = NO_SLOTS
    HAS_ADD_CALLBACKS: ClassVar[bool] = True
    _CALLBACKS: ClassVar = Callbacks
    _added: Callbacks[RowArray]

    def on_add(self, callback: Callable[[RowArray], object], /) -> Subscription:
        """Have `callback(rows)` called with rows that have just come, ascending, values and all.

        Once per creation; with `spawn` and the like after all components' rows are there. The
        array is read-only. Inside, this manager is locked, and entities that are destroyed
        wait for their turn. Exceptions stop nothing, and the rows stay; they are raised
        together, as an ExceptionGroup, when all is done. `cancel()` of what is returned ends
        it. Pickle does not save it.
        """
        return self._added.add(callback)

    def _init_transient(self) -> None:
        super()._init_transient()
        self._added = Callbacks()

    @property
    def has_add_listeners(self) -> bool:
        return bool(self._added.entries)

    def takes_small_batch(self, count: int) -> bool:
        return not self._added.entries and super().takes_small_batch(count)

    def _small_values(
        self, count: int, arguments: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]] | None:
        return None if self._added.entries else super()._small_values(count, arguments)

    def _create_many(self, *arguments: Any) -> NDArray[Any]:
        if not self._added.entries:
            return super()._create_many(*arguments)
        return self._dispatch.run(self._create_and_notify, *arguments)

    def _create_and_notify(self, *arguments: Any) -> NDArray[Any]:
        created = super()._create_many(*arguments)
        if len(created):
            self._complete_and_notify(self.added_rows(created).rows)
        return created

    def _notify_created(self, row: int) -> None:
        """Notify the callbacks of a row that `create` has just added."""
        self._dispatch.run(self._complete_and_notify, np.array([row]))

    def _complete_and_notify(self, rows: RowArray) -> None:
        self._complete_rows(rows)
        self._notify_locked(self._dispatch, self._added, np.sort(rows))

    def added_rows(self, created: NDArray[Any]) -> AddedRows:
        """Return the rows of what a creation returned, to be announced later."""
        if isinstance(self, Owned):
            rows: RowArray = created
            ids = self.id_of_many(rows) if isinstance(self, IdMethods) else None
            handles = self.data.entity[rows] if ids is None else ids
        else:
            rows, handles = self._rows_of(created), created
        return AddedRows(self, self.version, rows, handles)

    def announce_added(self, dispatch: Dispatch, added: AddedRows) -> None:
        """Notify the callbacks of those added rows that are still there."""
        if not self._added.entries:
            return
        moved = self.version != added.version
        rows = self._rows_of(added.handles) if moved else added.rows
        if len(rows):
            self._notify_locked(dispatch, self._added, np.sort(rows))

    def _rows_of(self, handles: NDArray[np.uint64]) -> RowArray:
        """Return the present rows of ids, or of entities if there are no ids."""
        if isinstance(self, IdMethods):
            rows = self.resolve_many(handles)
            return rows.compress(rows != NIL)
        assert isinstance(self, Owned)
        return self.rows_of_many(handles)


def announce_all(dispatch: Dispatch, additions: Iterable[AddedRows]) -> None:
    """Notify the callbacks of all added rows, component by component by name."""
    for added in sorted(additions, key=lambda added: added.manager.data.MANAGER):
        added.manager.announce_added(dispatch, added)
