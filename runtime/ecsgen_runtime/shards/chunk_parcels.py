"""Components in chunks in worlds with shards: rows of foreign entities, tables in parcels."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.handles import EntityArray
from ..snapshots.row_migration import number_tables
from ..tables.buffers import Column
from ..world.archetypes.archetype_store import ArchetypeStore, ChunkT
from ..world.archetypes.archetype_table import NO_LOCATION, group_by_archetype
from .arrivals import ParcelIndex
from .departures import ParcelWriter
from .parcels import ParcelBase, ParcelRows
from .sharded_entities import ShardedEntities

Batch: TypeAlias = tuple[int, EntityArray, dict[int, list[NDArray[Any]]]]
"""The signature of rows to append, their owners, and columns by component."""


class ShardedArchetypeStore(ArchetypeStore[ChunkT]):
    """All rows in chunks, found by slot; the generated class adds methods typed by component."""

    __slots__ = ()
    _entities: ShardedEntities

    def has_any(self, entities: EntityArray) -> bool:
        return bool((self.table.locations.get_many(entities) != NO_LOCATION).any())

    def pack(self, writer: ParcelWriter) -> None:
        """Write the cells of all components in chunks to a parcel."""
        entities = writer.entities
        locations = self.table.locations.get_many(entities)
        for component in writer.plan.chunked:
            number = self.number_of(component.kind.ROW)
            owners, columns = self._cells_of(entities, locations, number)
            if not len(owners):
                continue
            writer.put(component.columns["entity"], owners)
            for column, values in zip(component.kind.LAYOUT, columns, strict=True):
                if column.name in component.objects:
                    writer.put_objects(component.objects[column.name], values.tolist())
                else:
                    shape = (len(owners), *column.shape)
                    cells = values.view(column.dtype).reshape(shape)
                    writer.put(component.columns[column.name], cells)

    def _cells_of(
        self, entities: EntityArray, locations: NDArray[np.uint64], number: int
    ) -> tuple[EntityArray, list[NDArray[Any]]]:
        """Return the owners of a component's rows, in the order of entities, and its columns."""
        table = self.table
        layout = table.parts[number].LAYOUT
        row_parts: list[NDArray[np.intp]] = []
        column_parts: list[list[NDArray[Any]]] = []
        for archetype_index, rows, positions in group_by_archetype(locations):
            archetype = table.archetypes[archetype_index]
            if not archetype.has(number):
                continue
            start, runs = archetype.layout.starts[number], archetype.runs(positions)
            row_parts.append(np.arange(len(entities)) if rows is None else rows)
            columns = range(start, start + len(layout))
            column_parts.append([archetype.take(k, len(positions), runs) for k in columns])
        if not row_parts:
            return entities[:0], []
        unordered = np.concatenate(row_parts)
        order = unordered.argsort()
        columns_in_order = [
            np.concatenate(parts)[order] for parts in zip(*column_parts, strict=True)
        ]
        return entities[unordered[order]], columns_in_order

    def batches(self, parcel: ParcelBase, parcel_index: ParcelIndex) -> list[Batch]:
        """Check the parcel's rows for chunks, and return them by signature."""
        count = len(parcel_index.entities)
        rows: dict[int, NDArray[np.intp]] = {}
        columns: dict[int, list[NDArray[Any]]] = {}
        for component in parcel.plan().chunked:
            parcel_rows = ParcelRows(parcel, component)
            if not parcel_rows.count:
                continue
            number = self.number_of(component.kind.ROW)
            positions = parcel_index.of(
                component.name, parcel_rows.column("entity"), allows_many=False
            )
            rows[number] = np.full(count, -1)
            rows[number][positions] = np.arange(len(positions))
            columns[number] = [_checked(parcel_rows, c) for c in component.kind.LAYOUT]
        table_of, firsts = number_tables([each >= 0 for each in rows.values()], count)
        batches = []
        for table, first in enumerate(firsts.tolist()):
            numbers = [number for number in rows if rows[number][first] >= 0]
            if not numbers:
                continue
            owners = (table_of == table).nonzero()[0]
            batch_columns = {
                number: [column[rows[number][owners]] for column in columns[number]]
                for number in numbers
            }
            signature = sum(1 << number for number in numbers)
            batches.append((signature, parcel_index.entities[owners], batch_columns))
        if batches:
            self._raise_if_locked()
        return batches


def _checked(rows: ParcelRows, column: Column) -> NDArray[Any]:
    if column.name in rows.component.objects:
        return rows.objects(column.name)
    cells = rows.column(column.name)
    if column.name not in rows.component.kind.CONVERTERS:
        return cells  # an element of a field that is split
    field, _ = rows.component.kind.CONVERTERS[column.name]
    return rows.checked(column.name, field, cells)
