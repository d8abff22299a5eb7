"""What leaves a world, and how it becomes the bytes of a parcel. Nothing is changed here."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..columns.buffers import items
from ..entities.arrays import all_different, as_entities, first_repeat
from ..errors import HierarchyError, StaleEntityError, StaleIdError
from ..handles import NIL, EntityArray, IdArray, RowArray
from ..typed import NamedTuple
from .distinct import are_distinct
from .parcel import header_nbytes, header_of, nbytes_of, starts_of, view_of
from .shown import shown_entity
from .tables import Component, ParcelPlan, plan_of


class Leaving(NamedTuple):
    """Who leaves a world, and with which rows, in the order that parcels have."""

    entities: EntityArray
    ids: Mapping[str, IdArray]
    """By attribute: those of rows without owners."""
    rows: Mapping[str, RowArray]
    """By attribute."""


def leaving(world: Any, es: ArrayLike, ids: Mapping[str, ArrayLike]) -> Leaving:
    """Find out who leaves: entities, their descendants, and rows by id.

    Raises what `extract` does; but for rows of the dead that hierarchies collect, nothing
    has changed then.
    """
    plan = plan_of(type(world))
    entities = distinct_entities(world, es)
    given = {name: _checked_ids(world, plan, name, ids[name]) for name in ids}
    families = [one for one in plan.managed if "~parent" in one.columns]
    check_locks(world, entities, given)
    for one in families:
        manager = getattr(world, one.attribute)
        if one.is_owned and hasattr(manager, "collect"):
            manager.collect()
    entities = _with_families(world, families, entities)
    rows: dict[str, RowArray] = {}
    for one in plan.managed:
        manager = getattr(world, one.attribute)
        if one.is_owned:
            rows[one.attribute] = rows_of(one, manager, entities)
        elif one.attribute in given:
            found = manager.resolve_many(given[one.attribute])
            if one in families:
                found = _whole_family(manager, found)
                given[one.attribute] = manager._ids_in(found)
            rows[one.attribute] = found
    for one in families:
        _check_parents(one, getattr(world, one.attribute), rows.get(one.attribute))
    check_locks(world, entities, given)
    return Leaving(entities, given, rows)


def distinct_entities(world: Any, es: ArrayLike) -> EntityArray:
    """Return live entities as an array of one's own; StaleEntityError for dead or repeated."""
    entities: EntityArray = world.entities.require_many(es)
    slots = world.entities._slots(entities)
    if not all_different(slots, world.entities._n_used):
        position = first_repeat(entities)
        e = shown_entity(entities[position])
        raise StaleEntityError(f"entity {e} at position {position} is repeated")
    return entities.copy()


def _checked_ids(world: Any, plan: ParcelPlan, name: str, ids: ArrayLike) -> IdArray:
    component = next((one for one in plan.managed if one.attribute == name), None)
    if component is None or component.is_owned:
        raise TypeError(f"{name} is no component whose rows belong to nobody")
    given = as_entities(ids).copy()
    rows = getattr(world, name).resolve_many(given)
    stale = rows == NIL
    if stale.any():
        raise StaleIdError(
            f"{name}: id {int(given[stale.argmax()]):#x} has no instance here"
        )
    if not are_distinct(given):
        again = int(given[first_repeat(given)])
        raise StaleIdError(f"{name}: id {again:#x} is given twice")
    return given


def check_locks(world: Any, entities: EntityArray, ids: Mapping[str, Any]) -> None:
    """Raise StructureLockedError if rows that leave are in something that is locked."""
    for name in world.MANAGERS:
        manager = getattr(world, name)
        if not manager._locks:
            continue
        if len(ids.get(name, ())) or (
            hasattr(manager, "lookup") and manager.has_many(entities).any()
        ):
            raise manager._locked()
    store = getattr(world, "_store", None)
    if store is not None and store._locks and store._has_any(entities):
        store._refuse_locked()


def _with_families(
    world: Any, families: list[Component], entities: EntityArray
) -> EntityArray:
    """Return entities with the owners of all that is below rows of theirs."""
    managers = [getattr(world, one.attribute) for one in families if one.is_owned]
    while managers:
        below = [
            m.data._entity_column[m._with_descendants(m._rows_of_many(entities))]
            for m in managers
        ]
        found = np.concatenate(below)
        new = found[~np.isin(found, entities)]
        _, first = np.unique(new, return_index=True)
        new = new[np.sort(first)]
        new = new[world.entities.alive_many(new)]
        if len(new) == 0:
            break
        entities = np.concatenate((entities, new))
    return entities


def _whole_family(manager: Any, rows: RowArray) -> RowArray:
    """Return rows, then what is below them and not among them."""
    below = manager._with_descendants(np.sort(rows))
    return np.concatenate((rows, below[~np.isin(below, rows)]))


def _check_parents(one: Component, manager: Any, rows: RowArray | None) -> None:
    if rows is None or len(rows) == 0:
        return
    parents = manager.data._parent_column[rows]
    stays = (parents != NIL) & ~np.isin(parents, rows)
    if stays.any():
        row = int(rows[stays.argmax()])
        raise HierarchyError(
            f"{type(manager).__name__}: the parent of row {row} stays behind; detach it first"
        )


def rows_of(one: Component, manager: Any, entities: EntityArray) -> RowArray:
    """Return all rows of distinct entities: by entity, each one's in order; in a ring by age."""
    rows: RowArray = manager.lookup_many(entities)
    rows = rows[rows != NIL]
    if manager._IS_LIST:
        rows = _lists(manager, rows)
    if hasattr(manager, "by_age") and len(rows):
        age = np.empty(manager.data._n, np.intp)
        age[manager.by_age()] = np.arange(len(age))
        rows = rows[age[rows].argsort()]
    return rows


def _lists(manager: Any, heads: RowArray) -> RowArray:
    """Return the rows of lists, one list after the other."""
    nexts = manager.data._next_column
    rows, whose = [heads], [np.arange(len(heads))]
    here, place = heads, whose[0]
    for _ in range(64):
        following = nexts[here]
        more = following != NIL
        here, place = following[more].astype(np.intp), place[more]
        if len(here) == 0:
            break
        rows.append(here)
        whose.append(place)
    else:
        for row, number in zip(here.tolist(), place.tolist(), strict=True):
            rest = manager._rows_from(row)[1:]
            rows.append(rest)
            whose.append(np.full(len(rest), number))
    order = np.concatenate(whose).argsort(kind="stable")
    return np.concatenate(rows)[order]


# --- packing --------------------------------------------------------------------------------


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
