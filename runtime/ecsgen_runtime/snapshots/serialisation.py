"""Content of a world for a snapshot: columns as tensors, parts, `state`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..managers.manager import BaseManager
from ..tables.buffers import Column, round_up_pages, round_up_rows
from ..tables.columns import Rows
from ..world.settings import SettingsTable, SettingsWorld
from ..world.world_base import WorldBase
from .documents import SETTINGS, WORLD, Codecs, Document, SnapshotContent, state_key
from .saved_world import SavedWorld
from .stored_columns import as_cells, loaded_objects, object_parts
from .writing import Tensor, TensorGroup, single

if TYPE_CHECKING:
    from .snapshot_format import SnapshotFormat


# Each policy says itself what it holds (`saved_columns`, `extra_arrays` and the like), for
# pickles as for snapshots; here that gets its names and places in the file.


def managers_of(world: WorldBase) -> dict[str, BaseManager]:
    """Return a world's managers by module, in its order, then its settings as one."""
    managers = {name: getattr(world, name) for name in world.MANAGERS}
    if isinstance(world, SettingsWorld):
        managers[SETTINGS] = SettingsTable(world.settings)
    return managers


def object_columns(world: SavedWorld) -> list[str]:
    """Return the fields that are Python objects: `effect.handle`."""
    columns = [
        f"{module}.{field}"
        for module, manager in managers_of(world).items()
        for rows in (manager.data, *manager.data.subtables().values())
        for field in rows.saved_objects()
    ]
    return [*columns, *(name for c in chunk_serialisers(world) for name in c.object_columns())]


def serialise_tensors(
    world: SavedWorld, saving: SnapshotFormat, codecs: Codecs
) -> Iterator[TensorGroup]:
    """Return all tensors of a world, in places from which they can be mapped; views mostly."""
    state = world.entities.__getstate__()
    for name, dtype in saving.ENTITY_TENSORS.items():
        yield single(f"entities.{name}", state[name].astype(dtype, copy=False))
    noted = world.noted_entities()
    if len(noted):
        yield single("entities.noted", noted)
    for module, manager in managers_of(world).items():
        yield rows_part(module, manager.data)
        for name, array in manager.extra_arrays().items():
            yield single(f"{module}.{name}", array)
        yield from _object_parts(module, module, manager.data, codecs)
        for name, rows in manager.data.subtables().items():
            yield rows_part(f"{module}.{name}", rows)
            yield from _object_parts(f"{module}.{name}", module, rows, codecs)
    for chunked in chunk_serialisers(world):
        yield from chunked.parts(codecs)


def rows_part(prefix: str, rows: Rows) -> TensorGroup:
    """Return columns as they lie in a buffer of the smallest capacity that holds them."""
    places, size = layout_of(rows, rows.held_rows())
    tensors = [
        Tensor(f"{prefix}.{name}", column, places[name])
        for name, column in rows.without_holes(rows.saved_columns()).items()
    ]
    return TensorGroup(tuple(tensors), size)


def layout_of(rows: Rows, held: int) -> tuple[dict[str, int], int]:
    """Return the first byte of each column in the smallest buffer, and the bytes of that."""
    capacity = round_up_rows(held)
    places = {column.name: column.offset(capacity) for column in rows.LAYOUT}
    return places, round_up_pages(rows.ROW_BYTES * capacity)


def _object_parts(prefix: str, module: str, rows: Rows, codecs: Codecs) -> Iterator[TensorGroup]:
    for field, cells in rows.without_holes(rows.saved_objects()).items():
        yield from object_parts(f"{prefix}.{field}", f"{module}.{field}", cells, codecs)


def serialise_state(world: SavedWorld, saving: SnapshotFormat) -> Document:
    """Return the numbers of a world."""
    entities = world.entities.__getstate__()
    state: Document = {"entities": {key: entities[key] for key in saving.ENTITY_NUMBERS}}
    for module, manager in managers_of(world).items():
        rows = manager.data
        numbers = {name[1:]: number for name, number in rows.saved_numbers().items()}
        numbers |= {f"n_{name}": part.n for name, part in rows.subtables().items()}
        state[state_key(module)] = numbers | manager.json_state()
    for chunked in chunk_serialisers(world):
        state["archetypes"] = chunked.state()
    state["groups"] = {name: getattr(world, name).n for name in world.GROUPS}
    if notes := world.json_state():
        state[WORLD] = notes
    return state


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
