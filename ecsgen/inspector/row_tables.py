"""Windows of tables: components, groups, queries and children of a parent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.values.field_tables import FieldInfo
from numpy.typing import NDArray

from ecsgen.inspector.column_cache import ColumnCache, sort_column, sorted_rows
from ecsgen.inspector.component_readers import OWNER, ComponentReader, ManagerReader, row_numbers
from ecsgen.inspector.entity_finder import Conditions, EntityFinder
from ecsgen.inspector.json_values import Json, json_column, whole_number
from ecsgen.inspector.labels import Labels
from ecsgen.inspector.row_filters import IN_USE, Filter, filtered_rows
from ecsgen.inspector.tick_queue import RequestError, make_not_found

MOST: Final = 500
"""Maximum of rows in an answer."""

Taken: TypeAlias = tuple[str, NDArray[Any], FieldInfo | None, NDArray[np.bool_] | None]
"""A column's name, copied cells, field, and mask of rows that have cells (None: all)."""


@dataclass(frozen=True, slots=True)
class Window:
    """A range of rows of a table, and their order."""

    start: int
    count: int
    sort: str = ""
    desc: bool = False

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + self.count)


class Tables:
    """Answers that have rows."""

    def __init__(
        self,
        cache: ColumnCache,
        readers: Mapping[str, ComponentReader],
        finder: EntityFinder,
        labels: Labels,
    ) -> None:
        self._ask = cache.ask
        self._cache = cache
        self._readers = readers
        self._finder = finder
        self._labels = labels

    async def component(
        self, reader: ComponentReader, window: Window, filters: list[Filter]
    ) -> Json:
        """Return rows of a component that fulfil conditions."""
        order = None
        if window.sort:
            key = await self._cache.column(reader, sort_column(reader, window.sort))
            order = await key.derived(("order", window.desc), sorted_rows, window.desc)
        filters = [*([IN_USE] if reader.has_holes else []), *filters]
        if filters:
            is_left = await filtered_rows(self._cache, reader, filters)
            order = await asyncio.to_thread(_rows_left, order, is_left)

        def read() -> tuple[int, NDArray[np.intp], list[Taken], list[str | None]]:
            n = reader.n
            rows = row_numbers(window.rows if order is None else order[window.rows], n)
            rows = rows.compress(rows < n)
            owners = reader.owners(rows)
            if order is not None and not owners.all():
                rows, owners = rows[owners != 0], owners[owners != 0]
            taken: list[Taken] = [(reader.owner, owners, None, None)]
            for field in reader.fields:
                taken.append((field.name, reader.cells(field.name, rows), field, None))
            labels = self._labels.of_rows(reader, rows)
            return n if order is None else len(order), rows, taken, labels

        n, rows, taken, labels = await self._ask(read)
        return _table(n, window.start, rows.tolist(), taken, labels)

    async def group(
        self, group: Any, members: Mapping[str, ComponentReader], window: Window
    ) -> Json:
        """Return rows that the members of a group share."""
        order = None
        if window.sort:
            reader, column = self._key(members, window.sort)
            key = await self._cache.column(reader, column)
            n = await self._ask(lambda: int(group.n))
            order = await key.derived(
                ("first", n, window.desc), lambda cells: sorted_rows(cells[:n], window.desc)
            )

        def read() -> tuple[int, NDArray[np.intp], list[Taken], list[str | None]]:
            n = group.n
            rows = row_numbers(window.rows if order is None else order[window.rows], n)
            rows = rows.compress(rows < n)
            entities = group.entity[rows].copy()
            taken: list[Taken] = [("entity", entities, None, None)]
            for reader in members.values():
                for field in reader.fields:
                    cells = reader.cells(field.name, rows)
                    taken.append((f"{reader.name}.{field.name}", cells, field, None))
            return n, rows, taken, self._labels.of(entities)

        n, rows, taken, labels = await self._ask(read)
        return _table(n, window.start, rows.tolist(), taken, labels)

    async def query(self, conditions: Conditions, window: Window) -> Json:
        """Return entities that a query finds, with their rows."""
        entities = await self._finder.find(conditions)
        if window.sort:
            entities = await self._sorted(conditions, entities, window)
        wanted = entities[window.rows]
        shown = [self._readers[name] for name in (*conditions.all, *conditions.optional)]

        def read() -> tuple[list[Taken], list[str | None]]:
            taken: list[Taken] = [("entity", wanted, None, None)]
            for reader in shown:
                rows = reader.find(wanted)
                there = rows != NIL
                for field in reader.fields:
                    cells = reader.cells(field.name, rows[there])
                    taken.append((f"{reader.name}.{field.name}", cells, field, there))
            return taken, self._labels.of(wanted)

        taken, labels = await self._ask(read)
        rows = range(window.start, window.start + len(wanted))
        return _table(len(entities), window.start, list(rows), taken, labels)

    async def _sorted(
        self, conditions: Conditions, entities: NDArray[np.uint64], window: Window
    ) -> NDArray[np.uint64]:
        shown = {name: self._readers[name] for name in (*conditions.all, *conditions.optional)}
        if window.sort == "entity":
            order = await asyncio.to_thread(sorted_rows, entities, window.desc)
            return entities.take(order)
        reader, column = self._key(shown, window.sort)
        if column == OWNER:
            raise make_not_found("column", window.sort)
        owners = await self._cache.column(reader, OWNER)
        cells = await self._cache.column(reader, column)
        sort = self._finder.sorted_by
        return await asyncio.to_thread(sort, entities, owners.cells, cells.cells, window.desc)

    async def tree(
        self, reader: ComponentReader, parent: int | None, row: int | None, window: Window
    ) -> Json:
        """Return the children of a parent in order of attachment, or the roots. `row`: the parent's
        row if it has several, by default its first. Links are copied first."""
        if not isinstance(reader, ManagerReader) or not reader.is_tree:
            raise make_not_found("hierarchy", reader.name)
        parents = await self._cache.column(reader, "parent")
        counts = await parents.derived("counts", _count_children)
        if parent is None:
            rows = await parents.derived("roots", lambda cells: (cells == NIL).nonzero()[0])
            wanted, n = rows[window.rows], len(rows)
        else:
            above, first = await self._ask(lambda: _first_child(reader, parent, row))
            nexts = (await self._cache.column(reader, "next_sibling")).cells
            wanted = await asyncio.to_thread(_siblings, nexts, first, window)
            n = int(counts[above]) if above < len(counts) else len(wanted)

        def read() -> tuple[NDArray[np.uint64], list[str | None]]:
            there = wanted[wanted < reader.n]
            return reader.owners(there), self._labels.of_rows(reader, there)

        owners, labels = await self._ask(read)
        nodes = [
            {reader.owner: str(owner), "row": row, "children": int(counts[row]), "label": label}
            for owner, row, label in zip(owners.tolist(), wanted.tolist(), labels, strict=False)
            if row < len(counts)
        ]
        return {"n": n, "start": window.start, "nodes": nodes}

    def _key(
        self, members: Mapping[str, ComponentReader], sort: str
    ) -> tuple[ComponentReader, str]:
        """Return the component and the column that `component.field` names."""
        name, _, field = sort.partition(".")
        if sort == "entity":
            return next(iter(members.values())), OWNER
        if name not in members:
            raise make_not_found("column", sort)
        return members[name], sort_column(members[name], field)


def _table(
    n: int, start: int, rows: list[int], taken: list[Taken], labels: list[str | None]
) -> Json:
    columns = {}
    for name, cells, field, there in taken:
        values = json_column(cells, field)
        if there is not None and not there.all():
            present = iter(values)
            values = [next(present) if is_there else None for is_there in there.tolist()]
        columns[name] = values
    return {"n": n, "start": start, "rows": rows, "columns": columns, "label": labels}


def _rows_left(order: NDArray[np.intp] | None, is_left: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the rows of a mask in an order; None for memory order."""
    if order is None:
        return np.flatnonzero(is_left)
    order = order[order < len(is_left)]
    return order.compress(is_left[order])


def _first_child(reader: ManagerReader, parent: int, parent_row: int | None) -> tuple[int, int]:
    """Return the row of a parent, named by entity or id, and the row of its first child."""
    manager = reader.manager
    if parent_row is not None and parent_row in reader.rows_of(parent):
        return parent_row, int(manager.first_child(parent_row))
    row = manager.lookup(parent) if reader.owner == "entity" else manager.resolve(parent)
    if row == NIL:
        raise make_not_found(f"row of {reader.name} of", parent)
    return int(row), int(manager.first_child(row))


def _count_children(parents: NDArray[np.uint32]) -> NDArray[np.intp]:
    inner = parents[parents < len(parents)].astype(np.intp)
    return np.bincount(inner, minlength=len(parents))


def _siblings(nexts: NDArray[np.uint32], first: int, window: Window) -> NDArray[np.intp]:
    """Return a window of the chain of siblings that begins with `first`."""
    cells = memoryview(nexts)  # type: ignore[arg-type]  # an array has a buffer
    rows, row = [], first
    for index in range(min(window.start + window.count, len(nexts))):
        if row >= len(nexts):
            break
        if index >= window.start:
            rows.append(row)
        row = cells[row]
    return np.array(rows, np.intp)


def window_of(parameters: Mapping[str, str]) -> Window:
    """Return the window that a request's parameters ask for."""
    start, count = number(parameters, "start", 0), number(parameters, "count", 100)
    desc = parameters.get("desc", "").lower() in ("1", "true", "yes")
    return Window(start, min(count, MOST), parameters.get("sort", ""), desc)


def number(parameters: Mapping[str, str], name: str, default: int) -> int:
    """Return a parameter that is a whole number, 0 or more."""
    text = parameters.get(name, "")
    if not text:
        return default
    number = whole_number(text, 10**18)
    if number is None:
        raise RequestError(400, f"{name}: wanted a whole number, not {text[:100]!r}")
    return number
