"""Queries of components with managers as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..handles import NIL
from ..queries.join import QueryJoin
from ..queries.rows import QueryRows, as_array
from .tables import ComponentStruct, field_parts, struct_batch


def join_structs(
    join: QueryJoin, names: Sequence[str], flat: bool
) -> list[ComponentStruct]:
    """Return the components of a query that a row can have, the required ones first."""
    return [
        _struct(name, data, flat)
        for name, data in zip(names, join.columns(), strict=True)
    ]


def _struct(name: str, data: Any, flat: bool) -> ComponentStruct:
    kinds: list[Any] = [type(data)]
    if hasattr(data, "_cold"):
        kinds.append(type(data._cold))
    parts = [part for kind in kinds for part in field_parts(kind, flat)]
    places = {field.name: place for place, field in enumerate(data.FIELDS)}
    return ComponentStruct(
        name, kinds[0], sorted(parts, key=lambda part: places[part.field_name])
    )


def join_batch(join: QueryJoin, names: Sequence[str], copy: bool, flat: bool) -> Any:
    """Return what a query finds; O(components), and O(n) for each column that is gathered."""
    structs = join_structs(join, names, flat)
    match, owners = join.match(), join.arrays()[0]
    arrays = [
        _array(struct, data, rows, match.count, copy)
        for struct, data, rows in zip(
            structs, join.columns(), match.members, strict=True
        )
    ]
    return struct_batch(owners, structs, arrays, copy)


def _array(
    struct: ComponentStruct, data: Any, found: QueryRows, count: int, copy: bool
) -> Any:
    absent = as_array(found.rows) == NIL if found.has_nil else None
    cells = {
        source: _cells(data, source, found, absent)
        for source in dict.fromkeys(part.source for part in struct.parts)
    }
    return struct.array(cells, count, copy, absent)


def _cells(
    data: Any, source: str, found: QueryRows, absent: NDArray[np.bool_] | None
) -> NDArray[Any]:
    """Return a field's cells in the rows of a query; zeros where there is no row."""
    if not hasattr(data, source):
        return _cold_cells(data, source, found, absent)
    column: NDArray[Any] = getattr(data, source)
    if isinstance(found.rows, slice):
        return column[found.rows]
    if absent is None:
        return found.gather(column)
    cells = np.zeros((len(absent), *column.shape[1:]), column.dtype)
    cells[~absent] = column.take(found.rows[~absent], axis=0)
    return cells


def _cold_cells(
    data: Any, source: str, found: QueryRows, absent: NDArray[np.bool_] | None
) -> NDArray[Any]:
    """Return a cold field's cells: the default where a row has no cold row."""
    column, default = getattr(data._cold, source), data._cold.DEFAULTS[source]
    places = np.full(len(as_array(found.rows)), NIL, np.uint32)
    present = slice(None) if absent is None else ~absent
    places[present] = data._cold_row_column[as_array(found.rows)[present]]
    cells = np.empty((len(places), *column.shape[1:]), column.dtype)
    cells[...] = default
    held = places != NIL
    cells[held] = column[places[held]]
    return cells
