"""What can be seen of components in chunks: entities, chunks, and queries of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from operator import index
from typing import Any, ClassVar, Generic, Protocol, SupportsIndex, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import StructureLockedError
from ..fields import component_name
from ..given_arrays import as_entities
from ..handles import Entity, EntityArray, HandleLayout, RowClass
from ..locks import Lockable
from ..placement import locked, missing
from ..proxies import ProxyT
from ..queries.query import QueryBase, RowsT, RowT, changed_in_loop
from ..reprs import bytes_text, count_text, query_text
from .chunk_proxies import chunk_proxy
from .chunks import Archetype, ChunkBase, ChunkColumns
from .table import ArchetypeTable, EntityPlaces, load_archetypes, saved_archetypes

# --- What can be seen of components in chunks: which entities have them, and the
# chunks.


ChunkT = TypeVar("ChunkT", bound=ChunkBase)


class LiveEntities(Protocol):
    """What archetypes need of the entity manager."""

    @property
    def _LAYOUT(self) -> HandleLayout: ...  # noqa: N802  # a class attribute

    def create_many(self, n: SupportsIndex) -> EntityArray: ...

    def require(self, e: SupportsIndex) -> Entity: ...

    def require_many(self, es: ArrayLike) -> EntityArray: ...

    def _uncreate(self, es: EntityArray) -> None: ...

    def _attach(self, follower: Any, remove: Any) -> None: ...


class ArchetypeView(Lockable, Generic[ChunkT]):
    """The rows in chunks, found by entity or by component; what changes them comes later."""

    __slots__ = (
        "__weakref__",
        "_entities",
        "_holds",
        "_kept",
        "_locks",
        "_numbers",
        "_table",
        "_version",
    )

    def __init__(
        self,
        entities: LiveEntities,
        kind: type[ChunkT],
        parts: Sequence[type[ChunkColumns]],
        size: int,
        index_mask: int,
    ) -> None:
        self._entities = entities
        self._unlock()
        self._version = 0
        self._numbers: dict[RowClass, int] = {p._ROW: k for k, p in enumerate(parts)}
        self._table = ArchetypeTable(kind, parts, size, self._new_places(index_mask))
        self._table.store = ref(self)
        self._kept: dict[str, Any] = {}
        """By kernel: a KeptOfChunks."""
        self._attach()

    def _new_places(self, index_mask: int) -> EntityPlaces:
        """Return what will tell where the rows of entities are; there are none yet."""
        return EntityPlaces(index_mask)

    def __repr__(self) -> str:
        """Show how many rows there are; O(archetypes)."""
        chunks = sum(len(archetype.used()) for archetype in self._table.archetypes)
        rows = f"{count_text(len(self), 'row')} in {count_text(chunks, 'chunk')}"
        return f"<{type(self).__name__}: {rows}, {bytes_text(self.nbytes)}>"

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        return {
            "version": self._version,
            "entities": self._entities,
            "archetypes": saved_archetypes(self._table),
        }

    def _load(self, state: dict[str, Any]) -> None:
        self._version = state["version"]
        load_archetypes(self._table, state["archetypes"])

    def __len__(self) -> int:
        """Return the number of entities with components here; O(archetypes)."""
        return sum(archetype.n for archetype in self._table.archetypes)

    @property
    def version(self) -> int:
        """How many structural changes there were; views and chunks are good until the next."""
        return self._version

    @property
    def nbytes(self) -> int:
        """Bytes held: all chunks, the empty ones included, the map of entities, and the working
        memory of kernels; O(kernels)."""
        of_kernels: int = sum(kept.nbytes for kept in self._kept.values())
        return self._table.pool.nbytes + self._table.places.nbytes + of_kernels

    def locked(self) -> AbstractContextManager[object]:
        """Let structural changes raise StructureLockedError inside the `with` block.

        Destroying an entity counts as one, whatever components it has.
        """
        return super().locked()

    def _locked(self) -> StructureLockedError:
        return locked("Archetypes")

    def _attach(self) -> None:
        """Register with the entity manager."""
        raise NotImplementedError

    # --- finding -----------------------------------------------------------------------

    def chunks(
        self,
        *,
        all: Iterable[RowClass] = (),
        any: Iterable[RowClass] = (),
        none: Iterable[RowClass] = (),
    ) -> Iterator[ChunkT]:
        """Iterate over the chunks with rows of all, any and none of some components.

        An empty `any` asks for nothing. A structural change ends the iteration with
        RuntimeError; `with archetypes.locked()` refuses the change itself.
        """
        found = self._table.matching(self._bits(all), self._bits(any), self._bits(none))
        return self._chunks(found)

    def _chunks(self, archetypes: Iterable[Archetype]) -> Iterator[ChunkT]:
        """Iterate over the chunks of some archetypes while nothing changes."""
        found = [chunk for archetype in archetypes for chunk in archetype.used()]
        return self._iterate(found, self._version)

    def _iterate(self, chunks: list[ChunkT], version: int) -> Iterator[ChunkT]:
        for chunk in chunks:
            self._unchanged(version)
            yield chunk
        # The last round too: a loop must not pass because there is one chunk only.
        self._unchanged(version)

    def _unchanged(self, version: int) -> None:
        if self._version != version:
            raise RuntimeError("archetypes changed while their chunks were iterated")

    def has(self, entity: Entity, component: RowClass, /) -> bool:
        """Return whether an entity has a component; O(1)."""
        number = self._number(component)
        return self._table.of(index(entity))[0].has(number)

    def has_many(
        self, entities: ArrayLike, component: RowClass, /
    ) -> NDArray[np.bool_]:
        """Return which of k entities have a component, shape (k,); O(k)."""
        number = self._number(component)
        places = self._table.places.get_many(as_entities(entities))
        return self._table.having(places, number)

    def components(self, entity: Entity, /) -> tuple[RowClass, ...]:
        """Return the row classes of the components that an entity has; O(components)."""
        archetype, _ = self._table.of(index(entity))
        return tuple(part._ROW for part in archetype.layout.components.values())

    def _count(self, component: RowClass) -> int:
        """Return how many rows have a component; O(archetypes)."""
        number = self._number(component)
        return sum(each.n for each in self._table.archetypes if each.has(number))

    def _number(self, component: RowClass) -> int:
        try:
            return self._numbers[component]
        except (KeyError, TypeError):
            names = ", ".join(row.__name__ for row in self._numbers)
            given = component_name(component)
            raise TypeError(f"archetypes hold {names}, not {given}") from None

    def _bits(self, components: Iterable[RowClass]) -> int:
        bits = 0
        for component in components:
            bits |= 1 << self._number(component)
        return bits

    def _find(self, entity: Entity, component: RowClass) -> tuple[Any, int]:
        """Return the columns and the row of a live entity's component."""
        entity = self._entities.require(entity)
        number = self._number(component)
        archetype, position = self._table.of(entity)
        if not archetype.has(number):
            raise missing(component.__name__, entity, self._entities._LAYOUT)
        chunk, row = archetype.at(position)
        return chunk._parts[number], row

    def _proxy(self, kind: type[ProxyT], entity: Entity) -> ProxyT:
        """Return a proxy of a live entity's row; MissingInstanceError without one. O(1)."""
        return chunk_proxy(kind, self, entity)

    def _get(self, entity: Entity, component: RowClass) -> Any:
        columns, row = self._find(entity, component)
        return columns._row(row)

    def _set(self, entity: Entity, component: RowClass, fields: dict[str, Any]) -> None:
        part = self._table.parts[self._number(component)]
        try:
            values = part._some(fields)  # first: values may be objects that run code
        except Exception:
            self._find(entity, component)
            raise
        columns, row = self._find(entity, component)
        columns._set(row, values)


# --- Queries whose components live in archetypes: the chunks and entities with certain
# ones.


class QueriedChunks(QueryBase[RowsT, RowT], Generic[ChunkT, RowsT, RowT]):
    """The archetypes with certain components; the generated class says which.

    They are found once, and again when an archetype is new. Their rows are those of live entities:
    a row goes with its entity.
    """

    __slots__ = ("_all", "_any", "_entities", "_none", "_store", "_version")

    _ALL: ClassVar[tuple[RowClass, ...]] = ()
    _ANY: ClassVar[tuple[RowClass, ...]] = ()
    """Where there are none, nothing is asked for."""
    _NONE: ClassVar[tuple[RowClass, ...]] = ()
    _OPTIONAL: ClassVar[tuple[RowClass, ...]] = ()

    def __init__(self, store: ArchetypeView[ChunkT]) -> None:
        self._store = store
        self._all = store._bits(self._ALL)
        self._any = store._bits(self._ANY)
        self._none = store._bits(self._NONE)
        self._version = -1
        self._entities: EntityArray = np.empty(0, np.uint64)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return type(self), (self._store,)

    def __repr__(self) -> str:
        """Show how many entities there are; O(matching archetypes)."""
        clauses = (self._ALL, self._ANY, self._NONE, self._OPTIONAL)
        asked = query_text(*([row.__name__ for row in rows] for rows in clauses))
        count = count_text(len(self), "entity", "entities")
        return f"<{type(self).__name__}: {count}; {asked}>"

    def __len__(self) -> int:
        """Return how many entities there are; O(matching archetypes)."""
        return sum(archetype.n for archetype in self._archetypes())

    def chunks(self) -> Iterator[ChunkT]:
        """Iterate over the chunks, as the archetypes' `chunks` does.

        A structural change ends the iteration with RuntimeError; `with archetypes.locked()`
        refuses the change itself.
        """
        return self._store._chunks(self._archetypes())

    def _archetypes(self) -> list[Archetype]:
        return self._store._table.matching(self._all, self._any, self._none)

    @property
    def _layout(self) -> HandleLayout:
        return self._store._entities._LAYOUT

    def _arrays(self) -> tuple[EntityArray]:
        return (self._owners(),)

    def _arrow_schema(self, flat: bool) -> Any:
        from ..arrow_tables import chunk_structs, struct_schema

        return struct_schema(chunk_structs(self._columns(), flat))

    def _arrow_batches(self, copy: bool, flat: bool) -> Iterator[Any]:
        from ..arrow_tables import chunk_batches

        return chunk_batches(self._columns(), self.chunks(), copy, flat)

    def _columns(self) -> dict[int, type[ChunkColumns]]:
        """Return the classes of the columns that rows can have, by component number."""
        store = self._store
        numbers = map(store._number, (*self._ALL, *self._OPTIONAL))
        return {number: store._table.parts[number] for number in numbers}

    def _while_unchanged(self, rows: Iterator[RowT]) -> Iterator[RowT]:
        store, version = self._store, self._version
        for row in rows:
            if store._version != version:
                raise changed_in_loop()
            yield row
        if store._version != version:
            raise changed_in_loop()

    def _owners(self) -> EntityArray:
        """Return the entities, read-only, chunk by chunk; O(entities) after a structural change."""
        if self._version != self._store.version:
            owners = [archetype.whole(0) for archetype in self._archetypes()]
            self._entities = np.concatenate([*owners, np.empty(0, np.uint64)])
            self._entities.flags.writeable = False
            self._version = self._store.version
        return self._entities
