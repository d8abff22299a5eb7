"""Components of a query: how joins find the rows of each manager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.handles import EntityArray, RowArray
from ..tables.placement import FoundRows, RowsOrSlice

if TYPE_CHECKING:
    from ..entities.entity_manager import EntityManagerBase
    from ..tables.columns import OwnedRows

    class QueriedManager(Protocol):
        """A manager whose rows belong to entities."""

        @property
        def data(self) -> OwnedRows: ...
        def __len__(self) -> int: ...
        def lookup(self, entity: Any, /) -> int: ...
        def lookup_many(self, entities: ArrayLike, /) -> RowArray: ...

    class SparseManager(QueriedManager, Protocol):
        """One that finds rows through a sparse array."""

        _entities: EntityManagerBase
        _sparse: NDArray[np.uint32]

    class ListManager(QueriedManager, Protocol):
        """One with any number of rows per entity."""

        def first_rows(self) -> RowsOrSlice: ...


class QueryMember:
    """A component of a query, of which an entity has one instance at most."""

    __slots__ = ("manager",)

    def __init__(self, manager: QueriedManager) -> None:
        self.manager = manager

    def owners(self) -> EntityArray:
        """Return the owner of each row: a view, not to be kept."""
        owners: EntityArray = self.manager.data.entity
        return owners

    def candidates(self) -> RowsOrSlice:
        """Return all rows with an owner, ascending, one for each owner."""
        owners = self.owners()
        if len(self.manager) < len(owners):  # there are holes
            return owners.nonzero()[0]
        return slice(0, len(owners))

    def find(self, entities: EntityArray, all_live: bool) -> FoundRows:
        """Return the row of each entity, NIL where it has none; O(k).

        Where the owners of consecutive rows are these very entities, that is seen in a fifth
        of the time that looking them up takes. `all_live`: neither these entities nor an owner
        of a row is dead.
        """
        owners, count = self.owners(), len(entities)
        if 0 < count <= len(owners):
            first = self.manager.lookup(entities.item(0))
            rows = slice(first, first + count)
            if rows.stop <= len(owners) and _equal(owners[rows], entities):
                return rows
        return self._look_up(entities, all_live)

    def _look_up(self, entities: EntityArray, all_live: bool) -> NDArray[Any]:
        """Return the row of each entity, NIL where it has none; O(k)."""
        return self.manager.lookup_many(entities)


class QuerySparseMember(QueryMember):
    """A component whose manager finds rows through a sparse array."""

    __slots__ = ()

    manager: SparseManager

    def _look_up(self, entities: EntityArray, all_live: bool) -> NDArray[Any]:
        """Return the row of each entity, NIL where it has none; O(k).

        Among the living an index belongs to one, so that the row's owner need not be looked at:
        that is the greater part of a lookup, for owners are far from each other.
        """
        rows_of = self.manager._sparse
        if all_live:
            wanted = self.manager._entities.slots(entities)
            if int(wanted.max(initial=0)) < len(rows_of):
                return rows_of.take(wanted, mode="clip")
        return self.manager.lookup_many(entities)


class QueryListMember(QueryMember):
    """A component of a query, of which an entity may have several: its first one counts."""

    __slots__ = ()

    manager: ListManager

    def candidates(self) -> RowsOrSlice:
        """Return the first row of each owner, ascending."""
        return self.manager.first_rows()

    def find(self, entities: EntityArray, all_live: bool) -> FoundRows:
        """Return the first row of each entity, NIL where it has none; O(k)."""
        return self.manager.lookup_many(entities)


def _equal(owners: EntityArray, entities: EntityArray) -> bool:
    """Return whether all are equal, which unequal ones in the middle or at the end refute."""
    ends = owners[-1] == entities[-1] and owners[len(owners) // 2] == entities[len(owners) // 2]
    return bool(ends) and bool((owners == entities).all())
