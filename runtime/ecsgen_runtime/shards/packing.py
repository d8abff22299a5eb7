"""How what leaves a world becomes the bytes of a parcel."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import Column
from ..handles import NIL, EntityArray, RowArray
from .leaving import Leaving
from .parcels import (
    LENGTH,
    Component,
    ParcelPlan,
    header_of,
    plan_of,
    starts_of,
    view_of,
)

Source: TypeAlias = tuple[Any, tuple[tuple[Column, int], ...], RowArray]
"""Data of a manager, columns of it with their numbers in the parcel, and rows."""


def packed(world: Any, found: Leaving) -> NDArray[np.uint8]:
    """Return the bytes of a parcel of what leaves."""
    plan = plan_of(type(world))
    counts = [0] * plan.n_tables
    cells: dict[int, NDArray[Any]] = {}
    sources: list[Source] = []
    for one in plan.managed:
        rows = found.rows.get(one.attribute)
        if rows is None or len(rows) == 0:
            continue
        manager = getattr(world, one.attribute)
        counts[one.table] = len(rows)
        if one.is_owned:
            is_whole = one.is_one and len(rows) == len(found.entities)
            owners = found.entities if is_whole else manager.data._entity_column[rows]
            cells[one.columns["entity"]] = owners
        cells.update(_bookkeeping(one, manager, rows))
        sources.append((manager.data, one.sources, rows))
        if one.cold:
            _pack_cold(plan, one, manager, rows, counts, cells, sources)
        if one.objects:
            _pack_objects(plan, one, manager, rows, counts, cells)
    if plan.chunked:
        world._store._pack(plan, found.entities, counts, cells)
    return _laid_out(plan, found.entities, counts, cells, sources)


def pickled(values: list[Any]) -> NDArray[np.uint8]:
    """Return objects as bytes."""
    return np.frombuffer(pickle.dumps(values, protocol=4), np.uint8)


def _laid_out(
    plan: ParcelPlan,
    entities: EntityArray,
    counts: list[int],
    cells: Mapping[int, NDArray[Any]],
    sources: list[Source],
) -> NDArray[np.uint8]:
    n, head = len(entities), header_of(plan, len(entities), counts)
    nbytes, starts = head.item(LENGTH), starts_of(plan, n, counts)
    words = np.empty(-(-nbytes // 8), np.uint64)
    words[: len(head)] = head
    words[len(head) : len(head) + n] = entities
    buffer = words.view(np.uint8)[:nbytes]
    for data, columns, rows in sources:
        held, allocated, count = data._buffer, data._allocated, len(rows)
        for column, number in columns:
            nbytes, item = column.nbytes, plan.columns[number].item
            first, start = column.before * allocated, starts[number]
            source = held[first : first + nbytes * allocated].view(item)
            target = buffer[start : start + nbytes * count].view(item)
            source.take(rows, out=target, mode="clip")
    for number, values in cells.items():
        packed_column = plan.columns[number]
        count = counts[packed_column.table]
        view_of(buffer, starts[number], count, packed_column)[:] = values
    return buffer


def _bookkeeping(
    one: Component, manager: Any, rows: RowArray
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield what stands for ids, links and parts of rows."""
    data, columns = manager.data, one.columns
    if "~id" in columns:
        yield columns["~id"], manager._ids_in(rows)
    if "~active" in columns:
        yield columns["~active"], rows < data._n_active
    if "~parent" in columns:
        place = np.full(data._n, NIL, np.uint32)
        place[rows] = np.arange(len(rows), dtype=np.uint32)
        parents = data._parent_column[rows]
        has_parent = (parents != NIL).nonzero()[0]
        above = np.full(len(rows), NIL, np.uint32)
        above[has_parent] = place[parents[has_parent]]
        yield columns["~parent"], above
        yield columns["~rank"], _ranks(data, rows, above)


def _ranks(data: Any, rows: RowArray, above: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return where each row stands among its siblings, 0 for roots."""
    ranks = np.zeros(len(rows), np.uint32)
    place = np.full(data._n, NIL, np.uint32)
    place[rows] = np.arange(len(rows), dtype=np.uint32)
    here, rank = data._first_child_column[rows], 0
    here = here[here != NIL]
    while len(here):
        ranks[place[here]] = rank
        here = data._next_sibling_column[here]
        here, rank = here[here != NIL], rank + 1
    return ranks


def _pack_cold(
    plan: ParcelPlan,
    one: Component,
    manager: Any,
    rows: RowArray,
    counts: list[int],
    cells: dict[int, NDArray[Any]],
    sources: list[Source],
) -> None:
    """Take along the cold rows of those that have one."""
    places = manager.data._cold_row_column[rows]
    which = (places != NIL).nonzero()[0]
    places = places[which].astype(np.intp)
    counts[plan.columns[one.cold["~row"]].table] = len(which)
    cells[one.cold["~row"]] = which
    if len(which):
        sources.append((manager.data._cold, one.cold_sources, places))


def _pack_objects(
    plan: ParcelPlan,
    one: Component,
    manager: Any,
    rows: RowArray,
    counts: list[int],
    cells: dict[int, NDArray[Any]],
) -> None:
    """Take along pickles of all objects of rows."""
    for field, number in one.objects.items():
        data, name = manager.data, f"_{field}_column"
        if name in data.OBJECTS:
            values = getattr(data, name)[rows].tolist()
        else:
            places = data._cold_row_column[rows].tolist()
            column = getattr(data._cold, name)
            values = [None if k == NIL else column[k] for k in places]
        cells[number] = pickled(values)
        counts[plan.columns[number].table] = len(cells[number])
