"""How what leaves a world becomes the bytes of a parcel."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import items
from ..handles import NIL, EntityArray, RowArray
from .departing import Leaving
from .parcel import header_nbytes, header_of, nbytes_of, starts_of, view_of
from .tables import Component, ParcelPlan, plan_of


def packed(world: Any, found: Leaving) -> NDArray[np.uint8]:
    """Return the bytes of a parcel of what leaves."""
    plan = plan_of(type(world))
    counts = [0] * plan.n_tables
    cells: dict[int, NDArray[Any]] = {}
    sources: dict[int, tuple[NDArray[Any], RowArray]] = {}
    for one in plan.managed:
        rows = found.rows.get(one.attribute)
        if rows is None or len(rows) == 0:
            continue
        manager = getattr(world, one.attribute)
        counts[one.table] = len(rows)
        cells |= dict(_bookkeeping(one, manager, rows))
        sources |= {k: (c, rows) for k, c in _columns(one.columns, manager.data)}
        if one.cold:
            _pack_cold(plan, one, manager, rows, counts, cells, sources)
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
    sources: Mapping[int, tuple[NDArray[Any], RowArray]],
) -> NDArray[np.uint8]:
    n = len(entities)
    words = np.empty(-(-nbytes_of(plan, n, counts) // 8), np.uint64)
    buffer = words.view(np.uint8)[: nbytes_of(plan, n, counts)]
    head = header_nbytes(plan)
    buffer[:head] = header_of(plan, n, counts).view(np.uint8)
    buffer[head : head + 8 * n].view(np.uint64)[:] = entities
    starts = starts_of(plan, n, counts)
    for number, (source, rows) in sources.items():
        column = plan.columns[number]
        target = view_of(buffer, starts[number], len(rows), column)
        if column.shape:
            source, target = items(source), items(target)
        source.take(rows, out=target, mode="clip")
    for number, values in cells.items():
        column = plan.columns[number]
        view_of(buffer, starts[number], counts[column.table], column)[:] = values
    return buffer


def _columns(
    wanted: Mapping[str, int], data: Any
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the columns of a manager that parcels have as they are."""
    for number, column in enumerate(data.LAYOUT):
        if column.name in wanted:
            yield wanted[column.name], data._cut(number)


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
    sources: dict[int, tuple[NDArray[Any], RowArray]],
) -> None:
    """Take along the cold rows of those that have one."""
    places = manager.data._cold_row_column[rows]
    which = (places != NIL).nonzero()[0]
    places = places[which].astype(np.intp)
    counts[plan.columns[one.cold["~row"]].table] = len(which)
    cells[one.cold["~row"]] = which
    if len(which):
        cold = manager.data._cold
        sources |= {k: (c, places) for k, c in _columns(one.cold, cold)}


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
