"""Members of a query: how its join finds the rows of one component's manager."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..entities.layout import HandleLayout
from ..entities.living import IndexQueue, LivingEntities
from ..handles import EntityArray, RowArray
from ..policies.chains import first_rows

RowsOrSlice: TypeAlias = slice | RowArray
"""Rows of one manager; a slice where they follow each other."""

FoundRows: TypeAlias = slice | NDArray[Any]
"""The same while a join goes on: u32 or intp."""


class QueriedManager(Protocol):
    """What a query needs of a manager."""

    _MEMBER: ClassVar[type[QueryMember]]

    @property
    def data(self) -> Any: ...

    def __len__(self) -> int: ...

    def lookup(self, entity: Any, /) -> int: ...

    def lookup_many(self, entities: ArrayLike, /) -> RowArray: ...


class QueriedEntities(Protocol):
    """What a query needs of the entity manager."""

    @property
    def _LAYOUT(self) -> HandleLayout: ...  # noqa: N802  # a constant of its class

    @property
    def _free(self) -> IndexQueue: ...

    @property
    def _n_retired(self) -> int: ...

    @property
    def _deaths(self) -> int: ...

    def alive_many(self, es: ArrayLike, /) -> NDArray[np.bool_]: ...


class QueriedSparseManager(QueriedManager, Protocol):
    """A manager that finds rows through a sparse array."""

    _sparse: NDArray[np.uint32]

    @property
    def _entities(self) -> LivingEntities: ...


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
            first = self.manager.lookup(int(entities[0]))
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

    manager: QueriedSparseManager

    def __init__(self, manager: QueriedSparseManager) -> None:
        super().__init__(manager)

    def _look_up(self, entities: EntityArray, all_live: bool) -> NDArray[Any]:
        """Return the row of each entity, NIL where it has none; O(k).

        Among the living an index belongs to one, so that the row's owner need not be looked at:
        that is the greater part of a lookup, for owners are far from each other.
        """
        rows_of = self.manager._sparse
        if all_live:
            wanted = self.manager._entities._indices(entities)
            if int(wanted.max(initial=0)) < len(rows_of):
                return rows_of.take(wanted, mode="clip")
        return self.manager.lookup_many(entities)


class QueryListMember(QueryMember):
    """A component of a query, of which an entity may have several: its first one counts."""

    __slots__ = ()

    def candidates(self) -> RowsOrSlice:
        """Return the first row of each owner, ascending."""
        data, n = self.manager.data, len(self.manager)
        return first_rows(data._next_column[:n], data._previous_column[:n])

    def find(self, entities: EntityArray, all_live: bool) -> FoundRows:
        """Return the first row of each entity, NIL where it has none; O(k)."""
        return self.manager.lookup_many(entities)


class QueryLiving:
    """Which members have no rows of dead entities; known while nobody dies.

    A component is created for the living alone, so what is known stays true until the next death.
    Finding it out takes as long as it spares a join, so it waits for a second one.
    """

    __slots__ = ("_deaths", "_entities", "_found", "_members")

    def __init__(
        self, entities: QueriedEntities, members: tuple[QueryMember, ...]
    ) -> None:
        self._entities = entities
        self._members = members
        self._deaths = -1
        self._found: frozenset[QueryMember] | None = None

    def members(self) -> frozenset[QueryMember]:
        """Return those that are known to have none; O(rows) once between two deaths."""
        deaths = self._entities._deaths
        if deaths != self._deaths:
            self._deaths, self._found = deaths, None
            return frozenset()
        if self._found is None:
            alive_many = self._entities.alive_many
            self._found = frozenset(
                member for member in self._members if alive_many(member.owners()).all()
            )
        return self._found


def _equal(owners: EntityArray, entities: EntityArray) -> bool:
    """Return whether all are equal, which unequal ones in the middle or at the end refute."""
    ends = (
        owners[-1] == entities[-1]
        and owners[len(owners) // 2] == entities[len(owners) // 2]
    )
    return bool(ends) and bool((owners == entities).all())
