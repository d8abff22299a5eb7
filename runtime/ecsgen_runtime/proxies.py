"""Row proxies: a row with its fields as attributes, found again after structural changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from .errors import EcsError, StaleInstanceError
from .handles import NIL, Entity, Id, Instance
from .per_class import speed_up, with_own_code
from .policies.ids import stale_id

# --- Row proxies: a row with its fields as attributes, found again after structural
# changes.


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


# --- Makes proxies of all rows --------------------------------------------------------


new_proxy: Final = object.__new__


_OWN: Final[dict[type[Any], Any]] = {}


def _own(loop: Any, kind: type[Any]) -> Any:
    """Return a loop with code of its own for each class of proxies, as `per_class` has it."""
    found = _OWN.get(kind)
    if found is None:
        found = _OWN[kind] = with_own_code(loop)
    return found


def following(
    kind: type[ProxyT],
    manager: Any,
    find: Callable[[Any], Instance],
    owners: list[Any],
    rows: list[Instance],
) -> Iterator[ProxyT]:
    """Iterate over proxies of the present rows, which `find` finds by their owners.

    Those that go before their turn are skipped.
    """
    version = manager.data._version
    pairs = list(zip(owners, rows, strict=True))
    loop: Iterator[ProxyT]
    loop = _own(_following, kind)(kind, manager, find, pairs, version)
    return loop


def _following(
    kind: type[ProxyT],
    manager: Any,
    find: Callable[[Any], Instance],
    pairs: Iterable[tuple[Any, Instance]],
    version: int,
) -> Iterator[ProxyT]:
    data = manager.data
    for owner, row in pairs:
        now = data._version
        if now != version:
            row = find(owner)
            if row == NIL:
                continue
        proxy = new_proxy(kind)
        proxy._manager = manager
        proxy._owner = owner
        proxy._row = row
        proxy._version = now
        yield proxy


def standing(
    kind: type[ProxyT], manager: Any, rows: list[Instance]
) -> Iterator[ProxyT]:
    """Iterate over proxies of the present rows; a structural change is StaleInstanceError."""
    loop: Iterator[ProxyT]
    loop = _own(_standing, kind)(kind, manager, rows, manager.data._version)
    return loop


def _standing(
    kind: type[ProxyT], manager: Any, rows: list[Instance], version: int
) -> Iterator[ProxyT]:
    data = manager.data
    for row in rows:
        if data._version != version:
            raise rows_changed(type(manager).__name__)
        proxy = new_proxy(kind)
        proxy._manager = manager
        proxy._owner = None
        proxy._row = row
        proxy._version = version
        yield proxy
    # The last row too: a loop must not pass because there is one row only.
    if data._version != version:
        raise rows_changed(type(manager).__name__)
