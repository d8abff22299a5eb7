"""Worlds of the interpreter that are like a generated package's, and comparisons of the two."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any

import numpy as np
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.tables.columns import owner_column, used_rows
from numpy.typing import NDArray

from .naive_world import Row, World
from .schema import Field, Schema
from .values import Value, dtype_of, value


def manager_of(world: Any, schema: Schema, name: str) -> Any:
    """Return the manager of a component in a generated world."""
    return getattr(world, schema.components[name].module)


def rows_of(manager: Any) -> list[int]:
    """Return the rows that are there; `direct` managers have holes."""
    rows: list[int] = used_rows(manager.data).tolist()
    return rows


def column_of(manager: Any, name: str, field: Field) -> NDArray[Any]:
    """Return a copy of a field of all rows that are there."""
    rows = used_rows(manager.data)
    if hasattr(manager.data, name):
        cells = getattr(manager.data, name)[rows]
    else:  # in several columns
        cells = [getattr(manager, name)(row) for row in rows.tolist()]
    return np.array(cells, dtype_of(field.type)).reshape(len(rows), *field.shape)


class CopiedCells(dict[str, Value]):
    """Fields of a row of copied columns, each made when it is asked for."""

    def __init__(self, columns: dict[str, tuple[str, NDArray[Any]]], row: int) -> None:
        self._columns, self._row = columns, row

    def __missing__(self, name: str) -> Value:
        type_, column = self._columns[name]
        self[name] = cell = Value(type_, column[self._row])
        return cell


class HandlesOfCopy:
    """Handles that new entities get, and ids of rows without owner: those in a copy of a world."""

    def __init__(self, world: Any, schema: Schema) -> None:
        self._world, self._schema = world, schema

    @cached_property
    def _copy(self) -> Any:
        return deepcopy(self._world)

    def __call__(self, name: str, owners: Sequence[int]) -> Sequence[int]:
        """Create entities in the copy, or rows of a component."""
        manager = manager_of(self._copy, self._schema, name) if name else self._copy.entities
        created: list[int] = manager.create_many(len(owners)).tolist()
        return created


def copied_world(world: Any, schema: Schema) -> World:
    """Return a world of the interpreter with the rows of a generated one."""
    grids = [name for name, component in schema.components.items() if component.shape]
    shapes = {name: manager_of(world, schema, name).grid.shape for name in grids}
    copy = World(schema, HandlesOfCopy(world, schema), shapes)
    copy.entities = {int(entity) for entity in world.entities}
    copy.tick = getattr(world, "tick", 0)
    for name, f in schema.settings.items():
        copy.settings[name] = value(f.type, getattr(world.settings, name), f.shape)
    for name in grids:
        copy.grids[name].wrap = manager_of(world, schema, name).wrap
    for name, component in schema.components.items():
        if component.is_chunked:
            copy.rows[name] = [*_chunk_rows(world, copy, name)]
        else:
            copy.rows[name] = [*_copied_rows(world, copy, name)]
            copy.sizes[name] = getattr(manager_of(world, schema, name), "wrap", ())
    for query in schema.queries:
        copy.orders[query] = [int(entity) for entity in getattr(world, query).rows().entity]
    return copy


def chunks_of(world: Any, schema: Schema, name: str) -> Iterator[tuple[list[int], Any]]:
    """Yield the entities of each archetype chunk that has a component, and its columns."""
    for chunk in world.archetypes.chunks():
        if name in [row.__name__ for row in chunk.components]:
            yield chunk.entity.tolist(), getattr(chunk, schema.components[name].module)


def columns_of(data: Any, name: str, field: Field) -> list[NDArray[Any]]:
    """Return the column of a field, or those of its elements."""
    if hasattr(data, name):
        return [getattr(data, name)]
    count = math.prod(field.shape)
    return [getattr(data, f"{name}_{k}") for k in ("xyzw"[:count] if count <= 4 else range(count))]


def _chunk_rows(world: Any, copy: World, name: str) -> Iterator[Row]:
    fields, numbers = copy.schema.components[name].fields.items(), itertools.count()
    for entities, data in chunks_of(world, copy.schema, name):
        columns = {}
        for field, f in fields:
            parts = columns_of(data, field, f)
            cells = np.stack(parts, axis=1) if parts[1:] else parts[0]
            columns[field] = f.type, np.array(cells, dtype_of(f.type)).reshape(-1, *f.shape)
        for row, entity in enumerate(entities):
            copied = CopiedCells(columns, row)
            yield Row(name, entity, 0, copied, row, is_active=True, number=next(numbers))


def _copied_rows(world: Any, copy: World, name: str) -> Iterator[Row]:
    manager, component = manager_of(world, copy.schema, name), copy.schema.components[name]
    numbers = used_rows(manager.data)
    if not len(numbers):
        return
    fields, zeros = component.fields.items(), np.zeros(len(numbers), np.uint64)
    columns = {field: (f.type, column_of(manager, field, f)) for field, f in fields}
    owners = owner_column(manager.data)[numbers] if component.is_owned else zeros
    ids = manager.id_of_many(numbers) if component.has_ids else zeros
    rows: dict[int, Row] = {}
    has_several, has_inactive = hasattr(manager, "previous"), hasattr(manager, "is_active")
    handles = zip(numbers.tolist(), owners.tolist(), ids.tolist(), strict=True)
    for index, (number, owner, id_) in enumerate(handles):
        serial = index
        if has_several:
            order = list(manager.instances(owner)) if owner in copy.entities else [number]
            serial = order.index(number)
        is_active = not has_inactive or manager.is_active(number)
        cells = CopiedCells(columns, index)
        rows[number] = Row(name, owner, id_, cells, serial, is_active, number=number)
    for number, row in rows.items() if hasattr(manager, "parent") else ():
        parent = manager.parent(number)
        row.parent = None if parent == NIL else rows[parent]
    yield from rows.values()


def stacked(copy: World, name: str, field: str) -> NDArray[Any]:
    """Return a field of all rows of a component."""
    like = copy.field(name, field).initial
    cells = [row.cells[field].data for row in copy.rows[name]]
    assert all(cell.dtype == like.data.dtype for cell in cells)
    return np.array(cells, like.data.dtype).reshape(len(cells), *like.shape)
