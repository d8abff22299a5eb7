"""Row proxies: a row with its fields as attributes, found again after structural changes."""

from __future__ import annotations

from typing import Any, TypeVar

from ..errors import EcsError, StaleInstanceError
from ..fast import speed_up
from ..handles import NIL, Entity, Id, Instance
from ..ids.slots import stale_id

ProxyT = TypeVar("ProxyT", bound="RowProxy")


class RowProxy:
    """One row, which follows its owner; a generated class for each component adds the fields.

    Fields read as the accessors of managers do and write as their setters do. Shaped fields of
    numbers read as views of the buffer, which are good until the next structural change.
    """

    __slots__ = ("_manager", "_owner", "_row", "_version")

    _manager: Any
    """What has the row: a manager, or archetypes."""
    _owner: Any
    """What the row is found by; None if it is good until the next structural change only."""
    _row: Instance
    _version: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        speed_up(cls)

    def _find(self) -> None:
        """Find the row after a structural change, or raise."""
        raise NotImplementedError

    def _copied(self) -> Any:
        """Return a copy of the row."""
        raise NotImplementedError

    def _whose(self) -> str:
        """Return the owner as `repr` shows it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        try:
            return f"<{self._copied()!r} of {self._whose()}>"
        except EcsError as error:
            return f"<{type(self).__name__}: {error}>"


class ManagedProxy(RowProxy):
    """A row of a manager."""

    __slots__ = ()

    @property
    def row(self) -> Instance:
        """The row's present number.

        Raises:
            MissingInstanceError, StaleIdError: the instance is gone.
            StaleInstanceError: `rows` gave the row, there is no way back to it, and rows were
                added, removed or moved.
        """
        if self._manager.data._version != self._version:
            self._find()
        return self._row

    def _find(self) -> None:
        manager = self._manager
        if self._owner is None:
            raise rows_changed(type(manager).__name__)
        self._row = self._found(manager, self._owner)
        self._version = manager.data._version

    def _found(self, manager: Any, owner: Any) -> Instance:
        """Return an owner's row, or raise."""
        raise NotImplementedError

    def _copied(self) -> Any:
        return self._manager.row(self.row)


class EntityProxy(ManagedProxy):
    """A row that belongs to an entity: its only one, or its first."""

    __slots__ = ()

    @property
    def entity(self) -> Entity:
        """Whose row it is."""
        entity: Entity = self._owner
        return self._manager.entity(self.row) if entity is None else entity

    def _found(self, manager: Any, owner: Entity) -> Instance:
        row: Instance = manager.require(owner)
        return row

    def _whose(self) -> str:
        return f"entity {self._manager._entities._LAYOUT.name(self.entity)}"


class IdProxy(ManagedProxy):
    """A row that belongs to nobody, and follows its id."""

    __slots__ = ()

    def _found(self, manager: Any, owner: Id) -> Instance:
        return resolved(manager, owner)

    def _whose(self) -> str:
        return f"id {self._owner:#x}"


def resolved(manager: Any, id: Id) -> Instance:
    """Return the row of an id, or raise StaleIdError."""
    row: Instance = manager.resolve(id)
    if row == NIL:
        raise stale_id(type(manager).__name__, id)
    return row


def rows_changed(manager: str) -> StaleInstanceError:
    """Return the error of rows that cannot be found again."""
    return StaleInstanceError(f"{manager}: rows were added, removed or moved meanwhile")
