"""A world with archetypes: holders of components, and rows for entities to be created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.handles import NIL, Columns, Entity, EntityArray, RowClass
from ...base.locks import raise_if_locked
from ...tables.placement import first_present
from ...values.field_tables import ColumnsOrRow
from ...values.field_types import check_values
from ..entity_views import EntityViewWorld, RowsByClass, columns_of
from ..world_base import ComponentHolder, RollbackTarget, SpawnPart
from .archetype_store import ArchetypeStore
from .archetype_table import NO_LOCATION

_ValueT = TypeVar("_ValueT")


class ArchetypeComponent:
    """Holder of one component in chunks, with methods as a manager has."""

    __slots__ = ("_component", "_store")

    ALLOWS_MANY: ClassVar = False

    def __init__(self, store: ArchetypeStore[Any], component: RowClass) -> None:
        self._store = store
        self._component = component

    def has(self, entity: Entity, /) -> bool:
        """Return True if an entity has the component; O(1)."""
        return self._store.has(entity, self._component)

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return a mask of the entities that have the component, shape (k,); O(k)."""
        return self._store.has_many(entities, self._component)

    def remove(self, entity: Entity, /) -> int:
        """Remove the component from an entity, if present; return 1 or 0. O(columns)."""
        if not self.has(entity):
            return 0
        self._store.remove(entity, self._component)
        return 1

    def _copy_of(self, entity: Entity, /) -> Any:
        return self._store.get_row(entity, self._component) if self.has(entity) else None

    def _copies_of(self, entity: Entity, /) -> Iterator[Any]:
        return iter([self._copy_of(entity)])

    def check_row_values(self, row: tuple[Any, ...], /) -> None:
        store = self._store
        part = store.table.parts[store.number_of(self._component)]
        check_values(part.CONVERTERS, row)


class ArchetypeSpawn:
    """Checked rows of components for entities that are about to be created."""

    __slots__ = ("_bits", "_columns", "_store")

    def __init__(
        self,
        store: ArchetypeStore[Any],
        count: int,
        components: Mapping[RowClass, ColumnsOrRow],
        is_watched: bool = False,
    ) -> None:
        self._store = store
        self._bits = 0
        self._columns: dict[int, Sequence[NDArray[Any]]] = {}
        for component, fields in components.items():
            number = store.number_of(component)
            self._bits |= 1 << number
            columns = store.converted(number, count, fields)
            if is_watched:  # callbacks may write to the caller's arrays
                columns = tuple(column.copy() for column in columns)
            self._columns[number] = columns
        raise_if_locked(store)

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None:
        self._store.table.make_room(self._bits, entities)

    def _evict_for(self, entities: EntityArray, /) -> int:
        return 0

    def _check_can_create(self, entities: EntityArray, /) -> None:
        """Raise if one of the entities already has a row of any components."""
        locations = self._store.table.locations.get_many(entities)
        rows = np.where(locations == NO_LOCATION, NIL, 0)
        layout = self._store._entities.HANDLE_LAYOUT
        first_present(type(self._store).__name__, entities, rows, layout)

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> None:
        self._store.append(self._bits, entities, self._columns)


class ArchetypeAdd:
    """Rows of components for one entity, which may have others."""

    __slots__ = ("_rows", "_store")

    def __init__(self, store: ArchetypeStore[Any], rows: Sequence[tuple[Any, ...]]) -> None:
        self._store = store
        self._rows = rows

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None:
        """Raise if nothing may change; capacity is reserved by component."""
        raise_if_locked(self._store)

    def _evict_for(self, entities: EntityArray, /) -> int:
        return 0

    def _check_can_create(self, entities: EntityArray, /) -> None:
        """Raise if the entity has one of the components."""
        for row in self._rows:
            self._store.require_addable(int(entities[0]), self._store.number_of(type(row)))

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> None:
        store, entity = self._store, Entity(int(entities[0]))
        added: list[RowClass] = []
        try:
            for row in self._rows:
                # what a row requires is among the rows, or there already
                ArchetypeStore._add(store, entity, type(row), row._asdict())  # type: ignore[attr-defined]  # a NamedTuple
                added.append(type(row))
        except BaseException:
            for component in added:
                store.remove(entity, component)
            raise


class ArchetypeWorld(EntityViewWorld):
    """A world with components that live in chunks."""

    __slots__ = ("_chunked", "_store")

    _store: ArchetypeStore[Any]
    _chunked: dict[RowClass, ArchetypeComponent]
    """Holder of each component in chunks, by row class."""

    def _hold(self, store: ArchetypeStore[Any]) -> None:
        self._store = store
        self._chunked = {row: ArchetypeComponent(store, row) for row in store.numbers}

    def __getstate__(self) -> Any:
        attributes, slots = super().__getstate__()
        saved = {name: slots[name] for name in slots if name != "_chunked"}
        return attributes, saved

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self._hold(self._store)

    def archetype_store(self) -> ArchetypeStore[Any]:
        return self._store

    def _holders(self) -> Iterator[tuple[str, int, object]]:
        yield from super()._holders()
        for component in self._chunked:
            name = component.__module__.rpartition(".")[2]  # as chunks call it
            yield name, self._store.count_rows(component), self._store

    def _members(self) -> Iterable[tuple[RowClass, ComponentHolder]]:
        return chain(super()._members(), self._chunked.items())

    def _prepare_parts(
        self, n: int, components: Mapping[RowClass, ColumnsOrRow]
    ) -> list[SpawnPart]:
        if self._chunked.keys().isdisjoint(components):
            return super()._prepare_parts(n, components)
        chunked, managed = self._parted(components)
        parts = super()._prepare_parts(n, managed)
        rows = ArchetypeSpawn(self._store, n, chunked, self._has_release_listeners(managed))
        parts.append((rows, {}, 1))
        return parts

    def _holder(self, component: RowClass) -> Any:
        if isinstance(component, type) and component in self._chunked:
            return self._chunked[component]
        return super()._holder(component)

    def _new_parts(self, rows_by_class: RowsByClass) -> list[SpawnPart]:
        chunked, managed = self._parted(rows_by_class)
        parts = super()._new_parts(managed)
        if chunked:
            columns = {kind: columns_of(kind, rows) for kind, rows in chunked.items()}
            parts.append((ArchetypeSpawn(self._store, 1, columns), {}, 1))
        return parts

    def _old_parts(self, rows_by_class: RowsByClass) -> list[SpawnPart]:
        chunked, managed = self._parted(rows_by_class)
        parts = super()._old_parts(managed)
        if not chunked:
            return parts
        rows = [row for (row,) in chunked.values()]
        added = ArchetypeAdd(self._store, rows)
        return [(added, {}, 1), *parts]  # first, for it may still fail

    def _parted(
        self, by_class: Mapping[RowClass, _ValueT]
    ) -> tuple[dict[RowClass, _ValueT], dict[RowClass, _ValueT]]:
        chunked = {kind: by_class[kind] for kind in by_class if kind in self._chunked}
        managed = {kind: by_class[kind] for kind in by_class if kind not in self._chunked}
        return chunked, managed

    def _rollback_targets(self) -> Iterable[RollbackTarget]:
        return (self._store, *super()._rollback_targets())
