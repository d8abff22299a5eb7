"""Archetypes: components with rows in chunks, one signature per chunk, and queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from operator import index
from typing import Any, ClassVar, Generic, SupportsIndex, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import DuplicateInstanceError, StructureLockedError
from ...base.extensions import arrow
from ...base.handles import Entity, EntityArray, HandleLayout, RowClass
from ...base.locks import Lockable, is_broken
from ...base.text import format_bytes, format_count, query_text
from ...entities.entity_manager import EntityManagerBase
from ...entities.entity_pool import remove_rows_with_fallback
from ...managers.row_proxies import ProxyT, new_proxy
from ...tables.placement import (
    duplicate_instance_error,
    first_repeated,
    locked_error,
    missing_instance_error,
)
from ...values.array_coercion import as_entities, find_first_duplicate, parse_count
from ...values.field_tables import ColumnsOrRow, component_name, parse_columns, parse_row
from ..queries.query import QueryBase, RowsT, RowT, changed_during_iteration_error
from ..world_base import rollback_creation
from .archetype_table import (
    ArchetypeTable,
    EntityLocations,
    NewColumns,
    load_archetypes,
    saved_archetypes,
)
from .chunks import Archetype, ChunkBase, ChunkColumns

ChunkT = TypeVar("ChunkT", bound=ChunkBase)
_ItemT = TypeVar("_ItemT")


class ArchetypeStore(Lockable, Generic[ChunkT]):
    """All rows in chunks; the generated class adds methods typed by component.

    An entity's row is removed before `entities.destroy` returns. Rows, chunks and views are valid
    until the next structural change; `version` counts those. Not thread-safe.
    """

    __slots__ = (
        "__weakref__",
        "_entities",
        "_holds",
        "_locks",
        "_version",
        "kernel_blocks",
        "numbers",
        "table",
    )

    def __init__(
        self,
        entities: EntityManagerBase,
        kind: type[ChunkT],
        parts: Sequence[type[ChunkColumns]],
        size: int,
    ) -> None:
        self._entities = entities
        self._unlock()
        self._version = 0
        self.numbers: dict[RowClass, int] = {p.ROW: k for k, p in enumerate(parts)}
        self.table = ArchetypeTable(kind, parts, size, EntityLocations(entities))
        self.table.store = ref(self)
        self.kernel_blocks: dict[str, Any] = {}
        """ChunkCache of each kernel, by name."""
        entities.add_listener(self, type(self)._on_despawn_one)

    def __repr__(self) -> str:
        """Return the numbers of rows and chunks; O(archetypes)."""
        chunks = sum(len(archetype.used()) for archetype in self.table.archetypes)
        rows = f"{format_count(len(self), 'row')} in {format_count(chunks, 'chunk')}"
        return f"<{type(self).__name__}: {rows}, {format_bytes(self.nbytes)}>"

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the callbacks, for pickle and deepcopy."""
        return {
            "version": self._version,
            "entities": self._entities,
            "archetypes": saved_archetypes(self.table),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self._version = state["version"]
        load_archetypes(self.table, state["archetypes"])

    def __len__(self) -> int:
        """Return the number of entities with components here; O(archetypes)."""
        return sum(archetype.n for archetype in self.table.archetypes)

    @property
    def version(self) -> int:
        """Number of structural changes; views and chunks are valid until the next one."""
        return self._version

    @property
    def nbytes(self) -> int:
        """Bytes held: all chunks, the empty ones included, the map of entities, and the working
        memory of kernels; O(kernels)."""
        of_kernels: int = sum(cache.nbytes for cache in self.kernel_blocks.values())
        return self.table.pool.nbytes + self.table.locations.nbytes + of_kernels

    def locked(self) -> AbstractContextManager[object]:
        """Return a context manager in which structural changes, which destroying any entity is,
        raise StructureLockedError."""
        return super().locked()

    def _lock_error(self) -> StructureLockedError:
        return locked_error("Archetypes")

    def chunks(
        self,
        *,
        all: Iterable[RowClass] = (),
        any: Iterable[RowClass] = (),
        none: Iterable[RowClass] = (),
    ) -> Iterator[ChunkT]:
        """Iterate over the chunks with all, any and none of these components.

        An empty `any` is no condition. A structural change ends the iteration with
        RuntimeError; `with archetypes.locked()` refuses the change itself.
        """
        archetypes = self.table.matching(self.bits_of(all), self.bits_of(any), self.bits_of(none))
        return self._chunks(archetypes)

    def _chunks(self, archetypes: Iterable[Archetype]) -> Iterator[ChunkT]:
        """Iterate over the chunks of archetypes, until a structural change."""
        chunks = [chunk for archetype in archetypes for chunk in archetype.used()]
        changed = RuntimeError("archetypes changed while their chunks were iterated")
        return self._iterate(iter(chunks), self._version, changed)

    def _iterate(
        self, items: Iterator[_ItemT], version: int, changed: RuntimeError
    ) -> Iterator[_ItemT]:
        for item in items:
            if self._version != version:
                raise changed
            yield item
        # After the last round as well: a loop over one chunk must not pass.
        if self._version != version:
            raise changed

    def has(self, entity: Entity, component: RowClass, /) -> bool:
        """Return True if an entity has a component; O(1)."""
        number = self.number_of(component)
        return self.table.of(index(entity))[0].has(number)

    def has_many(self, entities: ArrayLike, component: RowClass, /) -> NDArray[np.bool_]:
        """Return a mask of the entities that have a component, shape (k,); O(k)."""
        number = self.number_of(component)
        locations = self.table.locations.get_many(as_entities(entities))
        return self.table.having(locations, number)

    def components(self, entity: Entity, /) -> tuple[RowClass, ...]:
        """Return the row classes of an entity's components; O(components)."""
        archetype, _ = self.table.of(index(entity))
        return tuple(part.ROW for part in archetype.layout.components.values())

    def count_rows(self, component: RowClass) -> int:
        """Return the number of rows with a component; O(archetypes)."""
        number = self.number_of(component)
        return sum(each.n for each in self.table.archetypes if each.has(number))

    def number_of(self, component: RowClass) -> int:
        try:
            return self.numbers[component]
        except (KeyError, TypeError):
            names = ", ".join(row.__name__ for row in self.numbers)
            name = component_name(component)
            raise TypeError(f"archetypes hold {names}, not {name}") from None

    def bits_of(self, components: Iterable[RowClass]) -> int:
        bits = 0
        for component in components:
            bits |= 1 << self.number_of(component)
        return bits

    def _find(self, entity: Entity, component: RowClass) -> tuple[Any, int]:
        """Return the columns and the row of a live entity's component."""
        entity = self._entities.require(entity)
        number = self.number_of(component)
        archetype, position = self.table.of(entity)
        if not archetype.has(number):
            raise missing_instance_error(component.__name__, entity, self._entities.HANDLE_LAYOUT)
        chunk, row = archetype.at(position)
        return chunk._parts[number], row

    def _proxy(self, kind: type[ProxyT], entity: Entity) -> ProxyT:
        """Return a proxy of an alive entity's row, or raise MissingInstanceError; O(1)."""
        proxy = new_proxy(kind)
        proxy._manager = self
        proxy._owner = entity
        proxy._find()
        return proxy

    def get_row(self, entity: Entity, component: RowClass) -> Any:
        columns, row = self._find(entity, component)
        return columns._row(row)

    def _set(self, entity: Entity, component: RowClass, fields: dict[str, Any]) -> None:
        part = self.table.parts[self.number_of(component)]
        try:
            values = part._some(fields)  # first: values may be objects that run code
        except Exception:
            self._find(entity, component)
            raise
        columns, row = self._find(entity, component)
        columns._set(row, values)

    def remove(self, entity: Entity, component: RowClass, /) -> None:
        """Remove a component from an entity, which may have none then; O(columns).

        Raises:
            StaleEntityError: the entity is dead.
            MissingInstanceError: the entity does not have the component.
            StructureLockedError: the archetypes are locked.
        """
        entity = self._entities.require(entity)
        self._raise_if_locked()
        number = self.number_of(component)
        if not self.table.of(entity)[0].has(number):
            raise missing_instance_error(component.__name__, entity, self._entities.HANDLE_LAYOUT)
        _left = self._left_by(entity)
        self.table.toggle(entity, number)
        self._version += 1

    def remove_many(self, entities: ArrayLike, component: RowClass, /) -> None:
        """Remove a component from each of k entities; O(k). Raises what `remove` does; a repeated
        entity is a MissingInstanceError."""
        entities = self._entities.require_many(entities)
        self._raise_if_locked()
        number = self.number_of(component)
        locations = self.table.locations.get_many(entities)
        lacking = ~self.table.having(locations, number)
        lacking[find_first_duplicate(entities) :][:1] = True
        if lacking.any():
            first, layout = int(entities[lacking.argmax()]), self._entities.HANDLE_LAYOUT
            raise missing_instance_error(component.__name__, first, layout)
        if len(entities):
            _left = self._left_by(entities)
            self.table.toggle_many(_owned(entities), locations, number, ())
            self._version += 1

    def clear(self) -> None:
        """Remove every row; entities stay alive. Chunks are kept for new rows. O(n)."""
        self._raise_if_locked()
        _left = [self._left_by(chunk.entity) for chunk in self.chunks()]
        if self.table.clear():
            self._version += 1

    def shrink_to_fit(self) -> None:
        """Free the memory of empty chunks and of kernels; O(chunks)."""
        self._raise_if_locked()
        for archetype in self.table.archetypes:
            archetype.trim()
        self.table.pool.clear()
        for cache in self.kernel_blocks.values():
            cache.drop()

    def _create(
        self, components: Iterable[RowClass], n: SupportsIndex, values: Mapping[int, Any]
    ) -> EntityArray:
        """Create n entities; `values` are fields by component, or None."""
        count = parse_count(n)
        self._raise_if_locked()
        numbers = [self.number_of(component) for component in components]
        for k, number in enumerate(numbers):
            if number in numbers[:k]:
                name = self._name(number)
                raise DuplicateInstanceError(f"{name} stands twice among the components")
        for number, fields in values.items():
            if fields is not None and number not in numbers:
                name = self._name(number)
                raise TypeError(f"{name} is given, but not one of the components")
        columns = {
            k: self.converted(k, count, {} if values[k] is None else values[k])
            for k in sorted(numbers)
        }
        bits, pool = sum(1 << number for number in numbers), self._entities
        created: list[EntityArray] = []
        try:
            # created and recorded at once: an interrupt may come after a call
            created.extend(map(pool.create_many, (count,)))
            self.append(bits, created[0], columns)
            return created[0]
        except BaseException:
            for entities in created:
                rollback_creation(pool, (self,), entities)
            raise

    def _add(
        self, entity: Entity, component: RowClass | tuple[Any, ...], fields: dict[str, Any]
    ) -> None:
        number, named = self._named(component, fields)
        part = self.table.parts[number]
        try:
            known = parse_row(part.ROW, named)
            values = part._one(**known)  # first: values may be objects that run code
        except Exception:
            self.require_addable(entity, number)
            raise
        entity = self.require_addable(entity, number)
        self.table.toggle(entity, number, values)
        self._version += 1

    def require_addable(self, handle: SupportsIndex, number: int) -> Entity:
        """Return an alive entity without a component, or raise what `add` does."""
        entity = self._entities.require(handle)
        self._raise_if_locked()
        if self.table.of(entity)[0].has(number):
            raise duplicate_instance_error(self._name(number), entity, self._entities.HANDLE_LAYOUT)
        return entity

    def _named(
        self, component: RowClass | tuple[Any, ...], fields: dict[str, Any]
    ) -> tuple[int, ColumnsOrRow]:
        """Return the number of a component, given by class or by row, and its values."""
        if not isinstance(component, tuple):
            return self.number_of(component), fields
        number = self.number_of(type(component))
        if fields:
            name = self._name(number)
            raise TypeError(f"a row of {name} has all fields; name some with the class")
        return number, component

    def _add_many(
        self, es: ArrayLike, component: RowClass | tuple[Any, ...], fields: dict[str, Any]
    ) -> None:
        number, row = self._named(component, fields)
        entities = _owned(as_entities(es))
        try:
            columns = self.converted(number, len(entities), row)
        except Exception:
            self._addable_many(entities, number)
            raise
        locations = self._addable_many(entities, number)
        if len(entities):
            self.table.toggle_many(entities, locations, number, columns)
            self._version += 1

    def _addable_many(self, entities: EntityArray, number: int) -> NDArray[np.uint64]:
        """Return the locations of alive entities without a component, or raise what `add` does."""
        self._entities.require_many(entities)
        self._raise_if_locked()
        layout = self._entities.HANDLE_LAYOUT
        first_repeated(self._name(number), entities, layout)
        locations = self.table.locations.get_many(entities)
        having = self.table.having(locations, number)
        if having.any():
            first = int(entities[having.argmax()])
            raise duplicate_instance_error(self._name(number), first, layout)
        return locations

    def _name(self, number: int) -> str:
        return self.table.parts[number].ROW.__name__

    def converted(self, number: int, count: int, values: ColumnsOrRow) -> tuple[NDArray[Any], ...]:
        part = self.table.parts[number]
        columns = parse_columns(part.ROW, values, part.CONVERTERS, count)
        arrays = part._many(count, **columns)
        return tuple(_owned(array) for array in arrays)

    def append(self, bits: int, entities: EntityArray, columns: NewColumns) -> None:
        if bits and len(entities):
            self.table.append(bits, entities, columns)
            self._version += 1

    def _left_by(self, entities: Entity | EntityArray) -> object:
        """Return the objects in entities' rows, to be held during the removal: the end of an object
        may run code that changes the archetypes, which must be consistent by then."""
        if not self.table.holds_objects:
            return None
        return self.table.objects_of(np.atleast_1d(np.asarray(entities, np.uint64)))

    def _check_can_despawn(self) -> None:
        self._raise_if_locked()

    def _on_despawn_one(self, entity: Entity) -> None:
        _left = self._left_by(entity)
        self._version += self.table.drop(entity)

    def _on_despawn(self, entities: EntityArray) -> None:
        remove_rows_with_fallback(self, self._remove_rows_of, entities)

    def remove_rows_one_by_one(self, entities: EntityArray) -> None:
        """Remove the rows of distinct entities, almost without allocating; O(k)."""
        if is_broken(self):
            return
        version = self._version
        try:
            for entity in entities.data:
                if self.table.drop(entity):
                    self._version = version + 1
        except BaseException:
            self.table.fail()
            raise

    def _remove_rows_of(self, entities: EntityArray) -> None:
        """Remove the rows of distinct entities; O(k)."""
        _left = self._left_by(entities)
        if len(entities) == 1:
            removed = int(self.table.drop(int(entities[0])))
        else:
            removed = self.table.drop_many(entities)
        if removed:
            self._version += 1


def store_of(query: ChunkQuery[Any, Any, Any]) -> ArchetypeStore[Any]:
    """Return the store whose chunks a query goes through."""
    return query._store


def _owned(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array, or a copy of a view, whose memory may move before it is used."""
    return array if array.base is None else array.copy()


class ChunkQuery(QueryBase[RowsT, RowT], Generic[ChunkT, RowsT, RowT]):
    """Archetypes with certain components, which the generated class names: found once, and again
    after a new archetype. All rows are of alive entities, for a row is removed with its entity."""

    __slots__ = ("_all", "_any", "_entities", "_none", "_store", "_version")

    ALL: ClassVar[tuple[RowClass, ...]] = ()
    ANY: ClassVar[tuple[RowClass, ...]] = ()
    """Components of which one is required; empty for no condition."""
    NONE: ClassVar[tuple[RowClass, ...]] = ()
    OPTIONAL: ClassVar[tuple[RowClass, ...]] = ()

    def __init__(self, store: ArchetypeStore[ChunkT]) -> None:
        self._store = store
        self._all = store.bits_of(self.ALL)
        self._any = store.bits_of(self.ANY)
        self._none = store.bits_of(self.NONE)
        self._version = -1
        self._entities: EntityArray = np.empty(0, np.uint64)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return type(self), (self._store,)

    def __repr__(self) -> str:
        """Return the number of entities and the conditions; O(matching archetypes)."""
        clauses = (self.ALL, self.ANY, self.NONE, self.OPTIONAL)
        asked = query_text(*([row.__name__ for row in rows] for rows in clauses))
        count = format_count(len(self), "entity", "entities")
        return f"<{type(self).__name__}: {count}; {asked}>"

    def __len__(self) -> int:
        """Return the number of entities; O(matching archetypes)."""
        return sum(archetype.n for archetype in self._archetypes())

    def chunks(self) -> Iterator[ChunkT]:
        """Iterate over the chunks, as the archetypes' `chunks` does.

        A structural change ends the iteration with RuntimeError; `with archetypes.locked()`
        refuses the change itself.
        """
        return self._store._chunks(self._archetypes())

    def _archetypes(self) -> list[Archetype]:
        return self._store.table.matching(self._all, self._any, self._none)

    @property
    def _layout(self) -> HandleLayout:
        return self._store._entities.HANDLE_LAYOUT

    def _arrow(self, copy: bool, flat: bool) -> tuple[Any, Iterator[Any]]:
        columns, chunks = self._columns(), self.chunks()
        table: tuple[Any, Iterator[Any]] = arrow().chunk_table(columns, chunks, copy, flat)
        return table

    def _columns(self) -> dict[int, type[ChunkColumns]]:
        """Return the classes of the columns that rows can have, by component number."""
        store = self._store
        numbers = map(store.number_of, (*self.ALL, *self.OPTIONAL))
        return {number: store.table.parts[number] for number in numbers}

    def _while_unchanged(self, rows: Iterator[RowT]) -> Iterator[RowT]:
        return self._store._iterate(rows, self._version, changed_during_iteration_error())

    def _arrays(self) -> tuple[EntityArray]:
        """Return the entities, read-only, chunk by chunk; O(entities) after a structural change."""
        if self._version != self._store.version:
            owners = [archetype.whole(0) for archetype in self._archetypes()]
            self._entities = np.concatenate([*owners, np.empty(0, np.uint64)])
            self._entities.flags.writeable = False
            self._version = self._store.version
        return (self._entities,)
