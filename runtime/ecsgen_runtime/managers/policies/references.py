"""on_delete: fields that are cleared, or rows that go, when the entities die they refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...base.handles import Entity, EntityArray, RowArray
from ...base.locks import mark_broken
from ...base.specialisation import NO_SLOTS
from ...entities.entity_pool import single_entity_array
from ...tables.columns import used_among
from ...tables.placement import NO_ROWS
from ..manager import Manager
from .cold import IndirectRows
from .index import quick_index
from .owners import KnowsEntities, Owned, known_entities

Test: TypeAlias = Callable[[EntityArray], NDArray[np.bool_]]
"""Return which of k handles are those of entities that have died."""


class References(Manager):
    """A manager whose rows refer to entities, and change or go when these die."""

    __slots__ = NO_SLOTS
    ON_DELETE: ClassVar[Mapping[str, bool]]
    """By field: True if rows go, False if the field is cleared."""

    def _settle(self, find: Callable[[str], RowArray], removed: RowArray) -> int:
        """Clear fields that refer to the dead; remove rows that do, and the ascending rows
        `removed`. Return how many rows went.

        `find`: what returns the rows whose field of a name refers to the dead.
        """
        referring = {name: find(name) for name in self.ON_DELETE}
        for name, rows in referring.items():
            if self.ON_DELETE[name] and len(rows):
                removed = np.union1d(removed, rows)
        cleared = {
            name: np.setdiff1d(rows, removed, assume_unique=True)
            for name, rows in referring.items()
            if not self.ON_DELETE[name] and len(rows)
        }
        return self._clear_and_destroy(cleared, removed)

    def _clear_and_destroy(self, cleared: Mapping[str, RowArray], removed: RowArray) -> int:
        for name, rows in cleared.items():
            self._clear(name, rows)
        return self.destroy_rows(removed)

    def _referring(self, name: str, have_died: Test) -> RowArray:
        """Return the rows in use whose field refers to the dead, ascending; O(n)."""
        data = self.data
        cells_and_rows = data.cold_cells(name) if isinstance(data, IndirectRows) else None
        if cells_and_rows is not None:
            cells, rows = cells_and_rows
            return np.sort(rows[have_died(cells)])
        column = getattr(data, f"_{name}_column")[: data.n]
        return used_among(data, have_died(column).nonzero()[0])

    def _clear(self, name: str, rows: RowArray) -> None:
        """Set a field of k distinct rows to 0; O(k), of a cold field O(cold rows)."""
        data = self.data
        cells_and_rows = data.cold_cells(name) if isinstance(data, IndirectRows) else None
        if cells_and_rows is None:
            data._write_values(name, rows, np.zeros(1, np.uint64))
        else:
            cells, rows_with_cells = cells_and_rows
            cells[np.isin(rows_with_cells, rows)] = 0


class CollectedReferences(References):
    """A manager that looks for handles of the dead when it collects."""

    __slots__ = NO_SLOTS

    def collect(self) -> int:
        """Remove the rows of all dead entities, and the rows that `on_delete: cascade` removes.

        Fields with `on_delete: clear` that refer to the dead become 0. Returns how many rows
        went; O(n).
        """
        if self._locks:
            self._raise_if_locked()
        removed = self._dead_rows(self.data.entity) if isinstance(self, Owned) else NO_ROWS
        return self._settle(partial(self._referring, have_died=self._are_dead), removed)

    def _clear_and_destroy(self, cleared: Mapping[str, RowArray], removed: RowArray) -> int:
        try:
            return super()._clear_and_destroy(cleared, removed)
        except ExceptionGroup:
            raise  # of callbacks, when all is done
        except BaseException:
            if cleared:
                mark_broken(self)
            raise

    def _are_dead(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which of k handles are neither 0 nor alive."""
        dead = ~known_entities(self).are_alive(handles)
        dead &= handles != 0
        return dead


class FollowedReferences(References):
    """A manager that looks for handles of entities as soon as these die."""

    __slots__ = NO_SLOTS

    def _listen(self) -> None:
        known_entities(self).add_listener(self, type(self)._follow_death)

    def _check_can_despawn(self) -> None:
        if self._locks and (isinstance(self, Owned) or any(self.ON_DELETE.values())):
            self._raise_if_locked()

    def _follow_death(self, entity: Entity) -> int:
        """Clear fields and remove rows when one entity has died; O(k) where fields are indexed."""
        return self._follow_deaths(single_entity_array(entity))

    def _on_despawn(self, entities: EntityArray) -> None:
        self._follow_deaths(entities)

    def _follow_deaths(self, entities: EntityArray) -> int:
        """Clear fields and remove rows that refer to k entities which have just died.

        May be repeated after a failure: then only what is left is done.
        """

        def have_died(handles: EntityArray) -> NDArray[np.bool_]:
            if len(entities) == 1:
                return np.asarray(handles == entities[0])
            died = ~known_entities(self).are_alive(handles)
            died[died] = np.isin(handles[died], entities)
            return died

        def find(name: str) -> RowArray:
            index = quick_index(self.data, name)
            if index is not None:
                return np.sort(index.find_many(entities, self.data).rows)
            return self._referring(name, have_died)

        removed = self.rows_of_many(entities) if isinstance(self, Owned) else NO_ROWS
        return self._settle(find, removed)


class UnownedReferences(FollowedReferences, KnowsEntities):
    """A manager of rows without owners that looks for handles of entities as soon as they die."""

    __slots__ = NO_SLOTS

    def _init_transient(self) -> None:
        super()._init_transient()
        self._listen()
