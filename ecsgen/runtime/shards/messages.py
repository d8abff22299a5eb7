"""What goes from rank to rank beside parcels: values of ghosts, as packed columns."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..handles import EntityArray
from ..typed import NamedTuple
from .errors import ShardError
from .tables import alignment

_MAGIC: Final = int.from_bytes(b"ecsghost", "little")


class GhostMessage(NamedTuple):
    """Ghosts of one rank."""

    entities: EntityArray
    columns: dict[tuple[str, str], NDArray[Any]]
    """By component and column."""


def _layout(world: Any) -> list[tuple[str, Any]]:
    """Return the columns of a message: components, and the managers' columns."""
    found = [
        (name, column)
        for name in type(world)._GHOSTS
        for manager in [getattr(world, name)]
        for column in manager.LAYOUT
        if column.name in manager._ghost_columns()
    ]
    return sorted(found, key=lambda it: -alignment(it[1].dtype))


def ghost_message(world: Any, entities: EntityArray) -> Any:
    """Return the bytes that say what entities are like; MissingInstanceError if they lack one."""
    layout, count = _layout(world), len(entities)
    cells: dict[tuple[str, str], NDArray[Any]] = {}
    for name in type(world)._GHOSTS:
        manager = getattr(world, name)
        rows = manager.require_many(entities)
        names = manager._ghost_columns()
        sent = zip(names, manager._sent_cells(rows), strict=True)
        cells |= {(name, column): found for column, found in sent}
    size = 16 + 8 * count + sum(column.nbytes * count for _, column in layout)
    words = np.empty(-(-size // 8), np.uint64)
    words[:2] = _MAGIC, count
    words[2 : 2 + count] = entities
    buffer, place = words.view(np.uint8), 16 + 8 * count
    for name, column in layout:
        nbytes = column.nbytes * count
        target = buffer[place : place + nbytes].view(column.dtype)
        target.reshape(count, *column.shape)[:] = cells[name, column.name]
        place += nbytes
    return buffer[:size].data


def received_ghosts(world: Any, part: Any) -> GhostMessage:
    """Return what a message says."""
    data = np.frombuffer(part, np.uint8)
    if data.ctypes.data % 8:
        data = data.copy()
    head = data[:16].view(np.uint64) if len(data) >= 16 else np.zeros(2, np.uint64)
    count, layout = int(head[1]), _layout(world)
    size = 16 + count * (8 + sum(column.nbytes for _, column in layout))
    if int(head[0]) != _MAGIC or len(data) != size:
        raise ShardError("another rank has called something else than refresh")
    place, columns = 16 + 8 * count, {}
    for name, column in layout:
        nbytes = prod(column.shape) * column.dtype.itemsize * count
        cells = data[place : place + nbytes].view(column.dtype)
        columns[name, column.name] = cells.reshape(count, *column.shape)
        place += nbytes
    return GhostMessage(data[16 : 16 + 8 * count].view(np.uint64), columns)
