"""Components in chunks, as snapshots have them: whole columns, table by table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables.buffers import Column
from .documents import Codecs, Document, SnapshotContent
from .saved_world import SavedWorld
from .stored_columns import as_cells, loaded_objects, object_parts
from .writing import TensorGroup, single


class ChunkSerialiser:
    """The rows of a world's archetypes."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._table = store.table

    def object_columns(self) -> list[str]:
        """Return the fields that are Python objects: `weapon.model`."""
        return [name for name, _, _, column in self._columns() if column.dtype.hasobject]

    def state(self) -> Document:
        """Return the tables' entry in `state`: their components, and numbers of rows."""
        names = [part.ROW.__name__ for part in self._table.parts]
        return {
            "version": self._store.version,
            "tables": [
                [[names[number] for number in each.layout.components], each.n]
                for each in self._tables()
            ],
        }

    def parts(self, codecs: Codecs) -> Iterator[TensorGroup]:
        """Return the owners of all tables, and each component's cells; copies."""
        tables, none = self._tables(), np.empty(0, np.uint64)
        owners = np.concatenate([none, *(each.whole(0) for each in tables)])
        yield single("archetypes.entity", owners)
        for name, number, k, column in self._columns():
            having = [each for each in tables if each.has(number)]
            pieces = [each.whole(each.layout.starts[number] + k) for each in having]
            none = np.empty((0, *column.shape), column.dtype)
            cells = np.concatenate([none, *pieces])
            if column.dtype.hasobject:
                yield from object_parts(name, name, cells, codecs)
            else:
                yield single(name, cells)

    def load(self, saved: SnapshotContent, codecs: Codecs) -> None:
        """Load the rows of a snapshot into empty tables; O(n)."""
        state = saved.state["archetypes"]
        rows = [n for _, n in state["tables"]]
        archetypes: list[tuple[tuple[str, ...], list[Any]]] = [
            (tuple(names), []) for names, _ in state["tables"]
        ]
        _append_parts(saved.arrays["archetypes.entity"], rows, [parts for _, parts in archetypes])
        for name, number, _, column in self._columns():
            component = self._table.parts[number].ROW.__name__
            has_component = [component in names for names, _ in archetypes]
            counts = [*compress(rows, has_component)]
            if column.dtype.hasobject:
                cells = loaded_objects(saved, name, name, codecs, sum(counts))
            else:
                cells = as_cells(saved.arrays[name], column.dtype)
            _append_parts(
                cells, counts, [parts for _, parts in compress(archetypes, has_component)]
            )
        self._store.load_state({"version": state["version"], "archetypes": archetypes})

    def _tables(self) -> list[Any]:
        """Return all archetypes but that of entities without components, in order."""
        tables: list[Any] = self._table.archetypes[1:]
        return tables

    def _columns(self) -> Iterator[tuple[str, int, int, Column]]:
        """Yield each column's name, its component's number, and which one of that it is."""
        for number, part in enumerate(self._table.parts):
            module = part.ROW.__module__.rpartition(".")[2]
            for k, column in enumerate(part.LAYOUT):
                yield f"{module}.{column.name}", number, k, column


def chunk_serialisers(world: SavedWorld) -> list[ChunkSerialiser]:
    """Return what serialises a world's archetypes: nothing if it has none."""
    store = world.archetype_store()
    return [] if store is None else [ChunkSerialiser(store)]


def _append_parts(cells: NDArray[Any], counts: list[int], tables: list[list[NDArray[Any]]]) -> None:
    """Append to each table its part of a column, `counts[k]` cells."""
    bounds = np.cumsum(counts, dtype=np.intp)
    for table, part in zip(tables, np.split(cells, bounds), strict=False):
        table.append(part)
