"""Components in chunks where worlds are several: rows of visitors, and tables in parcels."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.handles import EntityArray
from ..tables.buffers import Column
from ..world.archetypes.archetype_store import ArchetypeStore, ChunkT
from ..world.archetypes.archetype_table import NO_LOCATION, group_by_archetype
from .arrivals import ParcelIndex
from .departures import ParcelWriter
from .parcels import ParcelBase, ParcelRows
from .sharded_entities import ShardedEntities

Batch: TypeAlias = tuple[int, EntityArray, dict[int, list[NDArray[Any]]]]
"""The signature of rows that are to be appended, their owners, and columns by component."""


class ShardedArchetypeStore(ArchetypeStore[ChunkT]):
    """All rows in chunks, found by slot; the generated class adds what is typed by component."""

    __slots__ = ()
    _entities: ShardedEntities

    def _has_any(self, entities: EntityArray) -> bool:
        return bool((self._table.places.get_many(entities) != NO_LOCATION).any())

    def _pack(self, packing: ParcelWriter) -> None:
        """Find the cells of all components of entities for a parcel."""
        entities = packing.entities
        places = self._table.places.get_many(entities)
        for one in packing.plan.chunked:
            number = self._number(one.kind._ROW)
            owners, columns = self._cells_of(entities, places, number)
            if not len(owners):
                continue
            packing.put(one.columns["entity"], owners)
            for column, values in zip(one.kind.LAYOUT, columns, strict=True):
                if column.name in one.objects:
                    packing.put_objects(one.objects[column.name], values.tolist())
                else:
                    shape = (len(owners), *column.shape)
                    cells = values.view(column.dtype).reshape(shape)
                    packing.put(one.columns[column.name], cells)

    def _cells_of(
        self, entities: EntityArray, places: NDArray[np.uint64], number: int
    ) -> tuple[EntityArray, list[NDArray[Any]]]:
        """Return the owners of a component's rows, in the order of entities, and its columns."""
        table = self._table
        layout = table.parts[number].LAYOUT
        which: list[NDArray[np.intp]] = []
        found: list[list[NDArray[Any]]] = []
        for place, some, positions in group_by_archetype(places):
            archetype = table.archetypes[place]
            if not archetype.has(number):
                continue
            start, runs = archetype.layout.starts[number], archetype.runs(positions)
            which.append(np.arange(len(entities)) if some is None else some)
            columns = range(start, start + len(layout))
            found.append([archetype.take(k, len(positions), runs) for k in columns])
        if not which:
            return entities[:0], []
        chosen = np.concatenate(which)
        order = chosen.argsort()
        whole = [np.concatenate(parts)[order] for parts in zip(*found, strict=True)]
        return entities[chosen[order]], whole

    def _batches(self, parcel: ParcelBase, places: ParcelIndex) -> list[Batch]:
        """Check what a parcel has for chunks, and return it by signature."""
        count = len(places.entities)
        bits = np.zeros(count, np.uint64)
        rows: dict[int, NDArray[np.intp]] = {}
        columns: dict[int, list[NDArray[Any]]] = {}
        for one in parcel._plan().chunked:
            arriving = ParcelRows(parcel, one)
            if not arriving.count:
                continue
            number = self._number(one.kind._ROW)
            at = places.of(one.name, arriving.column("entity"), several=False)
            bits[at] |= np.uint64(1 << number)
            rows[number] = np.full(count, -1)
            rows[number][at] = np.arange(len(at))
            columns[number] = [_checked(arriving, it) for it in one.kind.LAYOUT]
        found = []
        for signature in np.unique(bits[bits > 0]).tolist():
            some = (bits == np.uint64(signature)).nonzero()[0]
            chosen = {
                number: [column[rows[number][some]] for column in columns[number]]
                for number in columns
                if signature >> number & 1
            }
            found.append((signature, places.entities[some], chosen))
        if found:
            self._raise_if_locked()
        return found


def _checked(rows: ParcelRows, column: Column) -> NDArray[Any]:
    if column.name in rows.one.objects:
        return rows.objects(column.name)
    cells = rows.column(column.name)
    if column.name not in rows.one.kind._CONVERTERS:
        return cells  # an element of a field that is split
    field, _ = rows.one.kind._CONVERTERS[column.name]
    return rows.checked(column.name, field, cells)
