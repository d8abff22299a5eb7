"""owner: rows belong to entities, which are alive or dead, or have ids instead of owners."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from operator import index
from types import FunctionType
from typing import Any, ClassVar, Concatenate, Final, ParamSpec, SupportsIndex, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.callbacks import Dispatch
from ...base.errors import DuplicateInstanceError, MissingInstanceError, StaleInstanceError
from ...base.handles import NIL, Entity, EntityArray, Id, IdArray, Instance, RowArray
from ...base.locks import mark_broken_if_changed
from ...base.specialisation import NO_SLOTS, accelerated, clone_function, specialised
from ...entities.entity_manager import EntityManagerBase
from ...tables.bulk import SMALL_REMOVAL
from ...tables.columns import OwnedRows, owner_column, used_rows
from ...tables.placement import (
    NO_ROWS,
    duplicate_instance_error,
    is_integer,
    missing_instance_error,
)
from ...values.array_coercion import SMALL_BATCH, as_entities, as_small_int_list, parse_count
from ...values.field_tables import unexpected_keyword_error
from ...values.field_types import check_values
from ...values.interchange import TableLike
from ..manager import Manager
from ..query_members import QueryMember
from ..row_proxies import ProxyT, iter_proxies, new_proxy, proxy_of_id
from .ids import IdMethods

_ManagerT = TypeVar("_ManagerT")
_Fields = ParamSpec("_Fields")


_ALL_ALIVE: Final[WeakKeyDictionary[Owned, tuple[int, int]]] = WeakKeyDictionary()
"""By manager: its version and the despawn count when no row belonged to a dead entity."""


class Owned(Manager):
    """A manager whose rows belong to entities."""

    __slots__ = NO_SLOTS
    MEMBER: ClassVar[type[QueryMember]] = QueryMember
    """How joins of queries find rows."""
    data: OwnedRows
    _entities: EntityManagerBase

    def __init__(self, entities: EntityManagerBase) -> None:
        self.ROWS.ENTITIES.check_entity_manager(entities, self)
        self._entities = entities
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "entities": self._entities}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._entities = state["entities"]
        super().__setstate__(state)

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, one per row, in row order."""
        return iter(self.data.entity.tolist())

    @accelerated("has")
    def __contains__(self, entity: object) -> bool:
        """Return whether an entity has an instance; O(1)."""
        return is_integer(entity) and self.lookup(Entity(index(entity))) != NIL

    @property
    def _dispatch(self) -> Dispatch:
        return self._entities.dispatch

    def are_all_alive(self) -> bool:
        """Return whether no row belongs to a dead entity; O(n), or O(1) since the last True."""
        data, entities = self.data, self._entities
        stamp = data._version, entities.despawn_count
        if _ALL_ALIVE.get(self) != stamp:
            if not entities.are_alive(owner_column(data)[: data.n]).all():
                return False
            _ALL_ALIVE[self] = stamp
        return True

    def row_keys(self) -> NDArray[np.uint64]:
        owners = owner_column(self.data)[: self.data.n]
        keys = self.ids_by_row() if isinstance(self, IdMethods) else owners
        alive = self._entities.are_alive(owners)
        return keys.copy() if alive.all() else keys * alive

    @property
    def row_keys_version(self) -> tuple[int, ...]:
        return self.data._version, self.data.n, self._entities.despawn_count

    @property
    @abstractmethod
    def create(self) -> Callable[..., Instance]:
        """Give an entity an instance and return its row; O(1)."""

    @abstractmethod
    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; with several instances the first one's. O(1)."""

    @abstractmethod
    def row(self, row: int, /) -> Any:
        """Return a copy of a row; O(1)."""

    @abstractmethod
    def remove(self, entity: Entity, /) -> int:
        """Remove all instances of the entity and return how many went."""

    @abstractmethod
    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""

    @accelerated("has")
    def has(self, entity: Entity, /) -> bool:
        """Return whether the entity has an instance; O(1)."""
        return self.lookup(entity) != NIL

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return which of k entities have an instance, shape (k,); O(k)."""
        rows: NDArray[np.bool_] = self.lookup_many(entities) != NIL
        return rows

    @accelerated("require")
    def require(self, entity: Entity, /) -> Instance:
        """Return the entity's row; O(1).

        Raises:
            MissingInstanceError: it has none.
        """
        row = self.lookup(entity)
        if row == NIL:
            raise self._missing(entity)
        return row

    def require_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, shape (k,); O(k).

        Raises:
            MissingInstanceError: one of them has none.
        """
        handles = as_entities(entities)
        rows = self.lookup_many(handles)
        absent = rows == NIL
        if absent.any():
            raise self._missing(int(handles[absent.argmax()]))
        return rows

    def _missing(self, entity: int) -> MissingInstanceError:
        name = type(self).__name__
        return missing_instance_error(name, entity, self._entities.HANDLE_LAYOUT)

    def _unused_row_error(self, row: int) -> StaleInstanceError:
        error = super()._unused_row_error(row)
        if row == NIL or not self._entities.alive(row):
            return error
        entity = self._entities.HANDLE_LAYOUT.format_short(row)
        return StaleInstanceError(
            f"{error}; that is the entity {entity}; lookup(entity) gives its row"
        )

    @accelerated("item")
    def _proxy(self, kind: type[ProxyT], entity: Entity) -> ProxyT:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        row = self.lookup(entity)
        if row == NIL:
            raise self._missing(entity)
        proxy = new_proxy(kind)  # set here: a function for it would cost as much again
        proxy._manager = self
        proxy._owner = entity
        proxy._row = row
        proxy._version = self.data._version
        return proxy

    @accelerated("rows")
    def _proxies(self, kind: type[ProxyT]) -> Iterator[ProxyT]:
        """Iterate over proxies of the present rows, which follow their entities; O(n)."""
        data = self.data
        rows = used_rows(data)
        owners = owner_column(data)[rows].tolist()
        return iter_proxies(kind, self, rows.tolist(), owners, self.lookup)

    def check_row_values(self, row: tuple[Any, ...]) -> None:
        check_values(self.CONVERTERS, row)

    def _copies_of(self, entity: Entity) -> Iterator[Any]:
        """Iterate over copies of the entity's rows."""
        row = self.lookup(entity)
        return map(self.row, [] if row == NIL else self._rows_with(row).tolist())

    def _copy_of(self, entity: Entity) -> Any:
        """Return a copy of the entity's row, or None; O(1)."""
        row = self.lookup(entity)
        return None if row == NIL else self.row(row)

    def _dead_rows(self, owners: EntityArray) -> RowArray:
        """Return the rows of dead entities, ascending."""
        alive = self._entities.are_alive(owners)
        return NO_ROWS if alive.all() else (~alive).nonzero()[0]

    @abstractmethod
    def _rows_with(self, row: Instance) -> RowArray:
        """Return all rows, ascending, of the entity whose first row this is."""

    @abstractmethod
    def rows_of_many(self, entities: EntityArray) -> RowArray:
        """Return all rows of k entities, ascending and distinct."""

    @accelerated("remove_many")
    def remove_many(self, entities: ArrayLike, /) -> int:
        """Remove all instances of k entities and return how many went; O(k + that number)."""
        if self._locks:
            self._raise_if_locked()
        few = as_small_int_list(entities, SMALL_REMOVAL)
        rows = self._single_rows(few) if few else None
        if rows is not None and (not rows or self._destroy_small_batch(rows)):
            return len(rows)
        return self.destroy_rows(self.rows_of_many(as_entities(entities)))

    def _remove_rows_of(self, entities: EntityArray) -> None:
        """Remove the rows of k entities; O(k + their number)."""
        if self.has_many(entities).any():
            self.remove_many(entities)

    def remove_rows_one_by_one(self, entities: EntityArray) -> None:
        """Remove entities' rows, locked or not, without memory to speak of."""
        try:
            for entity in entities.data:
                while (row := self.lookup(Entity(entity))) != NIL:
                    self._destroy_row(row)
        except BaseException:
            self._mark_broken()
            raise

    def _single_rows(self, entities: list[int]) -> list[int] | None:
        """Return the rows of a few entities that have one at most."""
        return None

    def _create_many(
        self, entities: ArrayLike, arguments: Mapping[str, Any], table: TableLike | None = None
    ) -> RowArray:
        """Give each of k entities an instance of these fields; O(k)."""
        if table is not None:
            count = len(as_entities(entities))
            try:
                arguments = self._columns_beside(arguments, table, count)
            except Exception:
                self._entities.require_many(entities)  # a dead entity is the more important error
                raise
        few = as_small_int_list(entities)
        if few:
            rows = self._create_small_batch(few, arguments)
            if rows is not None:
                return rows
        self._check_names(arguments)
        handles = as_entities(entities)
        try:
            columns = self._convert(len(handles), arguments)
        except Exception:
            self._entities.require_many(entities)  # a dead entity is the more important error
            raise
        handles = self._entities.require_handles(handles, entities)
        if self._locks:
            self._raise_if_locked()
        self._check_can_create(handles)
        borrowed = handles, entities, *arguments.values()
        return self.create_checked(handles, columns, borrowed)

    def _create_small_batch(
        self, entities: list[int], arguments: Mapping[str, Any]
    ) -> RowArray | None:
        """Create a few plain rows one by one; None if that does not serve.

        Stale rows do not serve: evicting them would move rows just created.
        """
        count = len(entities)
        fields = self._small_values(count, arguments)
        if fields is None or len(set(entities)) < count:
            return None
        if not self._entities.all_alive(entities):
            return None
        if not self._have_no_rows(entities):
            return None
        version, rows = self.data._version, np.empty(count, np.intp)
        create: Callable[..., Instance] = self.create
        try:
            for number, values in enumerate(fields):
                entity = entities[number]
                # no values, no dict to take apart: a call in two thirds of the time
                row = create(entity, **values) if values else create(entity)
                rows[number] = row
        except BaseException:
            mark_broken_if_changed(self, version)
            raise
        self.data._version = version + 1
        return rows

    @abstractmethod
    def _have_no_rows(self, entities: list[int]) -> bool:
        """Return whether no row has the indices of a few live entities."""

    def _surely_have_no_rows(self, entities: EntityArray) -> bool:
        """Return True if a quick look proves that no row has the indices of k >= 1 entities."""
        return False

    def _duplicate(self, entity: Entity) -> DuplicateInstanceError:
        name = self.data.MANAGER
        return duplicate_instance_error(name, entity, self._entities.HANDLE_LAYOUT)

    def _check_can_create(self, entities: EntityArray) -> None:
        """Raise if one of the entities cannot have another instance."""

    def _own_entities(self, entities: EntityArray) -> EntityArray:
        if self.HAS_RELEASE_CALLBACKS or np.may_share_memory(entities, self.data.buffer):
            return entities.copy()
        return entities

    def _evict_for(self, entities: EntityArray) -> int:
        """Remove all rows that block these entities' new ones, or none; return how many went."""
        return self.destroy_rows(self._rows_to_evict(entities))


def entities_of(manager: Owned) -> EntityManagerBase:
    """Return the entity manager that the owners of a manager's rows come from."""
    return manager._entities


def make_ensure(
    create: Callable[Concatenate[_ManagerT, Entity, _Fields], Instance],
) -> Callable[Concatenate[_ManagerT, Entity, _Fields], Instance]:
    """Return a manager's `ensure`, which takes what its `create` takes."""
    defaults: dict[str, Any] = cast(Any, create).__kwdefaults__

    def ensure(self: Any, entity: Entity, /, **fields: Any) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
            TypeError: there is no such field.
        """
        row: Instance = self.lookup(entity)
        try:
            if row == NIL:
                return self.create(entity, **fields)  # type: ignore[no-any-return]  # each class has its own
        except TypeError:
            refuse_others(self, fields)
            raise
        if fields:
            refuse_others(self, fields)
        self._entities.require(entity)  # there may be rows of dead entities
        return row

    def refuse_others(self: Any, fields: dict[str, Any]) -> None:
        if not defaults.keys() >= fields.keys():
            raise unexpected_keyword_error(f"{type(self).__name__}.ensure", fields, defaults)

    method: Any = clone_function(cast(FunctionType, ensure))
    method.__qualname__ = f"{create.__qualname__.rpartition('.')[0]}.ensure"
    method.__module__ = create.__module__
    method.__doc__ = ensure.__doc__
    method.__wrapped__ = create  # `help` shows its parameters
    return cast(Callable[Concatenate[_ManagerT, Entity, _Fields], Instance], method)


class Tag(Owned):
    """A manager whose rows have an owner and nothing else."""

    __slots__ = NO_SLOTS

    @abstractmethod
    def create(self, entity: Entity, /) -> Instance:
        """Give an entity an instance and return its row; O(1)."""

    def create_many(self, entities: ArrayLike, table: TableLike | None = None, /) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        A table may have a column `entity`, which is ignored, and no other. The errors are
        those of `create`; whatever raises changes nothing.
        """
        return self._create_many(entities, {}, table)

    @specialised
    def ensure(self, entity: Entity, /) -> Instance:
        """Return the entity's instance, or create one; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        return self.create(entity) if row == NIL else row


class Unowned(IdMethods):
    """A manager whose rows have no owners; a creation returns ids."""

    __slots__ = NO_SLOTS
    _CREATED_TYPE: ClassVar[type[np.integer[Any]]] = np.uint64
    _failures: Dispatch

    def _init_transient(self) -> None:
        super()._init_transient()
        self._failures = Dispatch()

    @property
    def _dispatch(self) -> Dispatch:
        return self._failures

    def row_keys(self) -> NDArray[np.uint64]:
        return self.ids_by_row()

    def __iter__(self) -> Iterator[Id]:
        """Iterate over the ids, in row order."""
        return iter(self.ids_by_row().tolist())

    @accelerated("has_id")
    def __contains__(self, id: object) -> bool:
        """Return whether an id has an instance; O(1)."""
        return is_integer(id) and self.resolve(Id(index(id))) != NIL

    _proxy = proxy_of_id

    def _proxies(self, kind: type[ProxyT]) -> Iterator[ProxyT]:
        """Iterate over proxies of the present rows, which follow their ids; O(n)."""
        rows = used_rows(self.data)
        ids = self.id_of_many(rows).tolist()
        return iter_proxies(kind, self, rows.tolist(), ids, self.resolve)

    def _create_many(
        self, count: SupportsIndex, arguments: Mapping[str, Any], table: TableLike | None = None
    ) -> IdArray:
        """Add `count` instances of these fields; O(count)."""
        count = parse_count(count, "instances", "n", type(self).__name__)
        if table is not None:
            arguments = self._columns_beside(arguments, table, count)
        if 0 < count <= SMALL_BATCH:
            ids = self._create_small_batch(count, arguments)
            if ids is not None:
                return ids
        self._check_names(arguments)
        columns = self._convert(count, arguments)
        if self._locks:
            self._raise_if_locked()
        self.data._check_room(self.data.capacity_for(count))
        nobody = np.zeros(count, np.uint64)
        return self.create_checked(nobody, columns, tuple(arguments.values()))

    def _create_small_batch(self, count: int, arguments: Mapping[str, Any]) -> IdArray | None:
        """Create a few plain instances one by one; None if that does not serve."""
        fields = self._small_values(count, arguments)
        if fields is None:
            return None
        version = self.data._version
        try:
            ids = np.array([self.create(**values) for values in fields], np.uint64)
        except BaseException:
            mark_broken_if_changed(self, version)
            raise
        self.data._version = version + 1
        return ids

    @property
    @abstractmethod
    def create(self) -> Callable[..., Id]:
        """Add an instance and return its id; O(1)."""


class KnowsEntities(Unowned):
    """A manager of rows without owners that refer to entities."""

    __slots__ = NO_SLOTS
    _known_entities: EntityManagerBase

    def __init__(self, entities: EntityManagerBase) -> None:
        self.ROWS.ENTITIES.check_entity_manager(entities, self)
        self._known_entities = entities
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "entities": self._known_entities}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._known_entities = state["entities"]
        super().__setstate__(state)

    @property
    def _dispatch(self) -> Dispatch:
        return self._known_entities.dispatch


def known_entities(manager: Manager) -> EntityManagerBase:
    """Return the manager of the entities that rows belong or refer to."""
    if isinstance(manager, KnowsEntities):
        return manager._known_entities
    assert isinstance(manager, Owned)
    return manager._entities
