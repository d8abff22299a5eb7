"""Components in chunks, in parcels: a table each, by entity."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archetypes.chunk_layout import ChunkColumns
from ..archetypes.places import NOWHERE, POSITION_BITS, by_archetype
from ..archetypes.table import ArchetypeTable
from ..columns.buffers import Column
from ..handles import EntityArray
from ..typed import NamedTuple
from .arriving import ParcelPlaces
from .checking import checked_column, unpickled
from .parcel import ParcelBase
from .tables import Component, ParcelPlan


class Batch(NamedTuple):
    """Rows of one signature that are to be appended."""

    bits: int
    entities: EntityArray
    columns: dict[int, list[NDArray[Any]]]
    """By component."""


def packed_chunks(
    table: ArchetypeTable,
    plan: ParcelPlan,
    entities: EntityArray,
    counts: list[int],
    cells: dict[int, NDArray[Any]],
) -> None:
    """Find the cells of all components in chunks."""
    places = table.places.get_many(entities)
    numbers = _numbers(table)
    for one in plan.chunked:
        owners, columns = _cells(table, entities, places, numbers[one.kind])
        counts[one.table] = count = len(owners)
        if not count:
            continue
        cells[one.columns["entity"]] = owners
        for column, values in zip(one.kind.LAYOUT, columns, strict=True):
            if column.name in one.objects:
                place = one.objects[column.name]
                text = pickle.dumps(values.tolist(), protocol=4)
                cells[place] = np.frombuffer(text, np.uint8)
                counts[plan.columns[place].table] = len(text)
            else:
                shaped = values.view(column.dtype).reshape(count, *column.shape)
                cells[one.columns[column.name]] = shaped


def _numbers(table: ArchetypeTable) -> dict[type[ChunkColumns], int]:
    return {part: number for number, part in enumerate(table.parts)}


def _cells(
    table: ArchetypeTable,
    entities: EntityArray,
    places: NDArray[np.uint64],
    number: int,
) -> tuple[EntityArray, list[NDArray[Any]]]:
    """Return the owners of a component's rows, in the order of entities, and its columns."""
    layout = table.parts[number].LAYOUT
    which: list[NDArray[np.intp]] = []
    found: list[list[NDArray[Any]]] = []
    for place, some, positions in by_archetype(places):
        if place == NOWHERE >> POSITION_BITS or not table.archetypes[place].has(number):
            continue
        archetype = table.archetypes[place]
        start, runs = archetype.layout.starts[number], archetype.runs(positions)
        which.append(np.arange(len(entities)) if some is None else some)
        cells = (
            archetype.take(start + k, len(positions), runs) for k in range(len(layout))
        )
        found.append([*cells])
    if not which:
        return entities[:0], []
    chosen = np.concatenate(which)
    order = chosen.argsort()
    columns = [np.concatenate(parts)[order] for parts in zip(*found, strict=True)]
    return entities[chosen[order]], columns


def batches(
    table: ArchetypeTable, parcel: ParcelBase, places: ParcelPlaces
) -> list[Batch]:
    """Return what is to be appended, checked, by signature."""
    numbers, count = _numbers(table), len(places.entities)
    bits = np.zeros(count, np.uint64)
    rows: dict[int, NDArray[np.intp]] = {}
    columns: dict[int, list[NDArray[Any]]] = {}
    for one in parcel._plan().chunked:
        if not parcel._counts[one.table]:
            continue
        number = numbers[one.kind]
        at = places.of(one.name, parcel._column(one.columns["entity"]), several=False)
        bits[at] |= np.uint64(1 << number)
        rows[number] = np.full(count, -1)
        rows[number][at] = np.arange(len(at))
        columns[number] = [_column(parcel, one, column) for column in one.kind.LAYOUT]
    found = []
    for signature in np.unique(bits[bits > 0]).tolist():
        some = (bits == np.uint64(signature)).nonzero()[0]
        chosen = {
            number: [column[rows[number][some]] for column in columns[number]]
            for number in columns
            if signature >> number & 1
        }
        found.append(Batch(signature, places.entities[some], chosen))
    return found


def _column(parcel: ParcelBase, one: Component, column: Column) -> NDArray[Any]:
    count = parcel._counts[one.table]
    if column.name in one.objects:
        return unpickled(parcel, one, column.name, count)
    cells = parcel._column(one.columns[column.name])
    if column.name not in one.kind._CONVERTERS:
        return cells  # an element of a field that is split
    field, _ = one.kind._CONVERTERS[column.name]
    return checked_column(one, column.name, field, cells, count)
