"""What both maps have: a way from an entity to its first row, among rows without holes."""

from __future__ import annotations

from abc import abstractmethod

from ..handles import Entity, EntityArray, Instance, RowArray
from ..owners.owned import Owned
from ..per_class import per_class
from ..placement.packed import Packed
from ..state import NO_SLOTS


class Mapped(Packed, Owned):
    """A manager that finds the rows of entities by a map."""

    __slots__ = NO_SLOTS

    @per_class
    def entity(self, row: int, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return data._entity_cells[row]

    def _first_rows(self) -> RowArray:
        """Return the first row of each owner, ascending."""
        return self._all_rows()

    def _enter_firsts(self) -> None:
        """Let the map, which is empty, have every owner's first row; O(n)."""
        rows = self._first_rows()
        self._enter_many(self.data._entity_column[rows], rows)

    @per_class
    def _forget_rows(self, gone: RowArray) -> None:
        """Take the owners of rows out of the map."""
        self._forget_many(self.data._entity_column[gone])

    @per_class
    def _enter_moved(self, dst: RowArray) -> None:
        """Let the map have the rows that the owners of moved ones have now."""
        self._enter_many(self.data._entity_column[dst], dst)

    @abstractmethod
    def _enter(self, entity: Entity, row: Instance) -> None:
        """Let the map have an entity's first row."""

    @abstractmethod
    def _enter_many(self, entities: EntityArray, rows: RowArray) -> None:
        """Let the map have the first rows of k entities."""

    @abstractmethod
    def _first_of(self, entity: Entity) -> Instance:
        """Return the first row of an entity that is in the map."""

    @abstractmethod
    def _firsts_of(self, entities: EntityArray) -> RowArray:
        """Return the first rows of k entities that are in the map."""

    @abstractmethod
    def _forget(self, entity: Entity) -> None:
        """Take an entity out of the map."""

    @abstractmethod
    def _forget_many(self, entities: EntityArray) -> None:
        """Take k entities out of the map."""
