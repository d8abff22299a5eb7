"""What can be seen of components in chunks: which entities have them, and the chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from operator import index
from typing import Any, Generic, Protocol, SupportsIndex, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..columns.fields import component_name
from ..entities.arrays import as_entities
from ..entities.layout import HandleLayout
from ..errors import StructureLockedError
from ..handles import Entity, EntityArray, RowClass
from ..locks import Lockable
from ..placement import locked, missing
from ..proxies.chunks import chunk_proxy
from ..proxies.proxy import ProxyT
from ..reprs import bytes_text, count_text
from .chunks import ChunkBase, ChunkColumns
from .places import EntityPlaces
from .rows import Archetype
from .table import ArchetypeTable, load_archetypes, saved_archetypes

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
