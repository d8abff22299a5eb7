"""Queries whose components live in archetypes: the chunks and entities with certain ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Generic

import numpy as np

from ..archetypes.chunks import ChunkColumns
from ..archetypes.rows import Archetype
from ..archetypes.view import ArchetypeView, ChunkT
from ..entities.layout import HandleLayout
from ..handles import EntityArray, RowClass
from ..reprs import count_text, query_text
from .base import QueryBase, RowsT, RowT, changed_in_loop


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
        from ..arrow.chunked import chunk_structs
        from ..arrow.tables import struct_schema

        return struct_schema(chunk_structs(self._columns(), flat))

    def _arrow_batches(self, copy: bool, flat: bool) -> Iterator[Any]:
        from ..arrow.chunked import chunk_batches

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
