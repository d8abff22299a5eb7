"""Readers of components, in managers and in archetype chunks.

They are called in ticks and return copies; no view of a column leaves this module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import Any, ClassVar, Final, Protocol, TypeAlias

import numpy as np
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.managers.policies.cold import cold_row_column
from ecsgen_runtime.values.field_tables import FieldInfo
from ecsgen_runtime.world.archetypes.chunks import chunk_columns
from numpy.typing import NDArray

from ecsgen.inspector.json_values import type_names
from ecsgen.inspector.tick_queue import RequestError, make_not_found
from ecsgen.model.columns import split_names

OWNER: Final = ""
"""Name for the column of entities, or of ids of unowned rows; no field has this name."""
CHUNKS: Final = 100
"""Maximum of chunks that a tick reads, a few microseconds each."""

Rows: TypeAlias = slice | NDArray[np.intp]
_Run: TypeAlias = tuple[Any, Any, Rows, Rows]
"""An archetype, one of its chunks, rows in it, and their places among those asked for."""


class ComponentReader(ABC):
    """Reads and edits one component: its rows, their cells and their owners."""

    def __init__(self, name: str, title: str, kind: Any, holder: Any) -> None:
        """`holder`: the manager, or the archetypes."""
        self.name = name
        self.title = title
        self._holder = holder
        self.fields: tuple[FieldInfo, ...] = kind.FIELDS
        self.field = {field.name: field for field in self.fields}
        self.owner = "entity"
        """Name of the owners' column: `id` if rows are unowned."""
        self.is_list = False
        """True if an entity may have several rows."""
        self.is_tree = False
        """True if rows may have parents."""
        self.has_holes = False
        """True if rows that are not in use may lie between others."""
        self.grid: list[int] | None = None
        """Cells along each axis if rows are cells of a grid."""

    @property
    def version(self) -> int:
        """Number of structural changes."""
        return int(self._holder.version)

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows, holes included."""

    @property
    def used(self) -> int:
        """Number of rows in use."""
        return self.n

    @property
    @abstractmethod
    def room(self) -> tuple[int, int]:
        """Capacity in rows, and its size in bytes."""

    @abstractmethod
    def owners(self, rows: Rows) -> NDArray[np.uint64]:
        """Return the owners of rows: entities, or ids; 0 for holes."""

    @abstractmethod
    def cells(self, field: str, rows: Rows) -> NDArray[Any]:
        """Return a field's cells of existing rows; for objects, the names of their types."""

    @abstractmethod
    def find(self, entities: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the first row of each entity, NIL without one."""

    def rows_of(self, entity: int) -> NDArray[np.intp]:
        """Return the rows of an entity, dead or alive, in order of creation."""
        rows = self.find(np.array([entity], np.uint64))
        return rows.compress(rows != NIL)

    def row_of_id(self, number: int) -> NDArray[np.intp]:
        """Return the row with an id, none if its row is gone. RequestError 404: rows have none."""
        raise make_not_found("row by id in", self.name)

    @abstractmethod
    def add(self, entity: int, values: Mapping[str, Any]) -> None:
        """Give an entity a row."""

    @abstractmethod
    def write(self, entity: int, instance: int, values: Mapping[str, Any]) -> None:
        """Write fields of one of an entity's rows, all of them or none."""

    @abstractmethod
    def remove(self, entity: int, instance: int | None) -> None:
        """Remove one of an entity's rows, or all."""

    @abstractmethod
    def layout(self) -> list[dict[str, Any]]:
        """Return where the columns lie, as JSON."""

    def column(self, name: str, rows: Rows) -> NDArray[Any]:
        """Return the owners, the cells of a field, or links to rows: `parent`."""
        return self.owners(rows) if name == OWNER else self.cells(name, rows)

    def step(self, name: str, nbytes: int) -> int:
        """Return the number of rows of a column that a tick may copy: about `nbytes`."""
        width = 8 if name == OWNER else 4
        if name in self.field:
            field = self.field[name]
            size = 8 if field.dtype is None else field.dtype.itemsize
            width = max(1, size * prod(field.shape))
        return max(1, nbytes // width)

    def spread(self, count: int) -> Rows:
        """Return at most `count` rows, evenly spread and ascending."""
        return slice(0, self.n, max(1, -(-self.n // max(1, count))))


class ManagerReader(ComponentReader):
    """A component with a manager."""

    def __init__(self, name: str, manager: Any) -> None:
        self.manager: Any = manager
        self.space: Any = getattr(manager, "_SPACE", None)
        """Fields and axes of positions (`SpaceLayout`), if rows have some."""
        title = manager.data.MANAGER.removesuffix("Manager")
        super().__init__(name, title, type(manager), manager)
        self.has_holes = hasattr(manager.data, "present")
        self.is_list = bool(manager.ALLOWS_MANY)
        self.is_tree = hasattr(manager, "set_parent")
        if not hasattr(type(manager.data), "entity"):
            self.owner = "_id" if "id" in self.field else "id"
        if hasattr(manager, "grid"):
            self.grid = [*manager.grid.shape]

    @property
    def n(self) -> int:
        return int(self.manager.data.n)

    @property
    def used(self) -> int:
        return len(self.manager)

    @property
    def room(self) -> tuple[int, int]:
        return int(self.manager.capacity), int(self.manager.nbytes)

    def owners(self, rows: Rows) -> NDArray[np.uint64]:
        owners: NDArray[np.uint64]
        if self.owner == "entity":
            owners = self.manager.data.entity[rows].copy()
        else:
            owners = self.manager.id_of_many(row_numbers(rows, self.n))
        return owners

    def column(self, name: str, rows: Rows) -> NDArray[Any]:
        if name == OWNER or name in self.field:
            return super().column(name, rows)
        data = self.manager.data
        links: NDArray[np.uint32] = getattr(data, f"_{name}_column")[: data.n][rows].copy()
        return links

    def cells(self, field: str, rows: Rows) -> NDArray[Any]:
        info, data = self.field[field], self.manager.data
        kinds = type(data), type(getattr(data, "_cold", None))
        is_whole = any(hasattr(kind, field) for kind in kinds)
        names = [field] if is_whole else split_names(field, info.shape)
        return joined([self._column(name, info, rows) for name in names], info)

    def _column(self, name: str, info: FieldInfo, rows: Rows) -> NDArray[Any]:
        """Return a column's cells; for cold columns, defaults where there is no cold row."""
        data = self.manager.data
        if hasattr(type(data), name):
            return _copied(getattr(data, name), rows)
        cold_rows = cold_row_column(data)[: data.n][rows]
        if info.dtype is None:
            cells = np.full(len(cold_rows), "NoneType", np.object_)
        else:
            default = data.cold.DEFAULTS[name]
            cells = np.full((len(cold_rows), *default.shape), default, info.dtype)
        has_cold_row = cold_rows != NIL
        rows = cold_rows[has_cold_row].astype(np.intp)
        cells[has_cold_row] = _copied(getattr(data.cold, name), rows)
        return cells

    def find(self, entities: NDArray[np.uint64]) -> NDArray[np.intp]:
        if self.owner != "entity":
            return np.full(len(entities), NIL, np.intp)
        return np.asarray(self.manager.lookup_many(entities), np.intp)

    def rows_of(self, entity: int) -> NDArray[np.intp]:
        if self.is_list and self.manager.has(entity):
            return np.fromiter(self.manager.instances(entity), np.intp)
        return super().rows_of(entity)

    def add(self, entity: int, values: Mapping[str, Any]) -> None:
        self.manager.create(entity, **values)

    def row_of_id(self, number: int) -> NDArray[np.intp]:
        if not hasattr(self.manager, "resolve"):
            return super().row_of_id(number)
        row = self.manager.resolve(number)
        return np.array([] if row == NIL else [row], np.intp)

    def write(self, entity: int, instance: int, values: Mapping[str, Any]) -> None:
        self.write_row(self._row(entity, instance), values)

    def write_row(self, row: int, values: Mapping[str, Any]) -> None:
        """Write fields of a row, all of them or none."""
        before, done = self.manager.row(row), list[str]()
        try:
            for name, value in values.items():
                getattr(self.manager, f"set_{name}")(row, value)
                done.append(name)
        except Exception:
            for name in done:
                getattr(self.manager, f"set_{name}")(row, getattr(before, name))
            raise

    def remove(self, entity: int, instance: int | None) -> None:
        self.manager.require(entity)
        if instance is None:
            self.manager.remove(entity)
        else:
            self.manager.destroy(self._row(entity, instance))

    def _row(self, entity: int, instance: int) -> int:
        """Return the row of an entity's instance, the first one being 0."""
        self.manager.require(entity)
        rows = self.rows_of(entity)
        if instance >= len(rows):
            raise RequestError(422, f"there is no instance {instance}: the entity has {len(rows)}")
        return int(rows[instance])

    def layout(self) -> list[dict[str, Any]]:
        manager = self.manager
        columns = columns_json(manager.LAYOUT, manager.capacity)
        if hasattr(manager, "LAYOUT_COLD"):
            room = manager.data.cold.allocated
            columns = [*columns, *columns_json(manager.LAYOUT_COLD, room, "cold")]
        return columns


class ChunkReader(ComponentReader):
    """A component whose rows live in archetype chunks, in the order of the archetypes."""

    def __init__(self, name: str, store: Any, row: type[Any]) -> None:
        self._number: int = store.number_of(row)
        self.part: Any = store.table.parts[self._number]
        super().__init__(name, row.__name__, self.part, store)
        self.store = store
        self.row = row
        self._found: tuple[Rows | None, int, int, list[_Run]] = None, -1, 0, []
        """The last rows, the version at which they were found, their number and their runs: all
        columns of an answer have the same rows."""

    def _archetypes(self) -> list[Any]:
        return [each for each in self.store.table.archetypes if each.has(self._number)]

    @property
    def n(self) -> int:
        return sum(archetype.n for archetype in self._archetypes())

    @property
    def room(self) -> tuple[int, int]:
        rows = sum(len(each.chunks) * each.capacity for each in self._archetypes())
        return rows, rows * sum(column.nbytes for column in self.part.LAYOUT)

    def owners(self, rows: Rows) -> NDArray[np.uint64]:
        return self._gathered(None, rows)

    def cells(self, field: str, rows: Rows) -> NDArray[Any]:
        info = self.field[field]
        names = [column.name for column in self.part.LAYOUT]
        wanted = [field] if field in names else split_names(field, info.shape)
        parts = [self._gathered(names.index(name), rows) for name in wanted]
        return joined([*map(type_names, parts)] if info.dtype is None else parts, info)

    def _gathered(self, column: int | None, rows: Rows) -> NDArray[Any]:
        """Return cells of rows, counted over all archetypes; O(rows + chunks). `column`: its number
        among those of the component, None for the entities."""
        known, version, count, runs = self._found
        if known is not rows or version != self.version:
            count, runs = self._find_runs(rows)
            self._found = rows, self.version, count, runs
        if column is None:
            cells = np.empty(count, np.uint64)
        else:
            info = self.part.LAYOUT[column]
            cells = np.empty((count, *info.shape), info.dtype)
        for archetype, chunk, inside, places in runs:
            first = archetype.layout.starts[self._number]
            number = 0 if column is None else first + column
            cells[places] = chunk_columns(chunk)[number][inside]
        return cells

    def _find_runs(self, rows: Rows) -> tuple[int, list[_Run]]:
        """Return the number of rows, and their runs by archetype; slices have no step."""
        runs, base = list[_Run](), 0
        if isinstance(rows, slice):
            first, last, _ = rows.indices(self.n)
            for archetype in self._archetypes():
                start, end = (min(max(at - base, 0), archetype.n) for at in (first, last))
                at = base + start - first
                for chunk, inside, part in archetype.spans(start, end):
                    runs.append((archetype, chunk, inside, slice(at + part.start, at + part.stop)))
                base += archetype.n
            return max(0, last - first), runs
        order = rows.argsort(kind="stable")
        for archetype in self._archetypes():
            start, end = rows.searchsorted([base, base + archetype.n], sorter=order).tolist()
            places = order[start:end]
            for chunk, inside, part in archetype.runs(rows[places] - base):
                runs.append((archetype, chunk, inside, places[part]))
            base += archetype.n
        return len(rows), runs

    def step(self, name: str, nbytes: int) -> int:
        smallest = min((each.capacity for each in self._archetypes()), default=1)
        return min(super().step(name, nbytes), max(1, CHUNKS * smallest))

    def spread(self, count: int) -> Rows:
        smallest = min((each.capacity for each in self._archetypes()), default=1)
        n, runs = self.n, CHUNKS // 2
        length = max(1, min(count // runs, smallest))
        if n <= runs * length:
            return slice(0, n)
        starts = np.arange(runs) * (n // runs)
        return (starts[:, np.newaxis] + np.arange(length)).ravel()

    def find(self, entities: NDArray[np.uint64]) -> NDArray[np.intp]:
        bases, before = {}, 0
        for archetype in self._archetypes():
            bases[id(archetype)] = before
            before += archetype.n
        rows = np.full(len(entities), NIL, np.intp)
        for index, entity in enumerate(entities.tolist()):
            archetype, position = self.store.table.of(entity)
            base = bases.get(id(archetype))
            if base is not None:
                rows[index] = base + position
        return rows

    def add(self, entity: int, values: Mapping[str, Any]) -> None:
        self.store.add(entity, self.row, **values)

    def write(self, entity: int, instance: int, values: Mapping[str, Any]) -> None:
        _check_only(instance)
        self.store.set(entity, self.row, **values)

    def remove(self, entity: int, instance: int | None) -> None:
        _check_only(instance)
        self.store.remove(entity, self.row)

    def layout(self) -> list[dict[str, Any]]:
        return columns_json(self.part.LAYOUT, None)


def row_numbers(rows: Rows, n: int) -> NDArray[np.intp]:
    """Return rows as numbers; `n`: the number of all rows."""
    return np.arange(*rows.indices(n)) if isinstance(rows, slice) else rows


def positions(wanted: NDArray[Any], among: NDArray[Any]) -> NDArray[np.intp]:
    """Return where each value first stands among others, their number where it does not."""
    if not len(among):
        return np.zeros(wanted.shape, np.intp)
    order = among.argsort(kind="stable")
    places = order[among[order].searchsorted(wanted).clip(max=len(among) - 1)]
    return np.where(among[places] == wanted, places, len(among))


def _copied(column: NDArray[Any], rows: Rows) -> NDArray[Any]:
    cells = column[rows]
    if cells.dtype.hasobject:
        return type_names(cells)
    return cells.copy() if cells.base is not None else cells


def joined(parts: list[NDArray[Any]], field: FieldInfo) -> NDArray[Any]:
    """Return the cells of a field; `parts`: its column, or one per element if it is split."""
    cells = parts[0] if len(parts) == 1 else np.stack(parts, axis=-1)
    return cells.reshape(-1, *field.shape)


@lru_cache(maxsize=1024)  # a page asks for all of them again and again
def columns_json(layout: Any, capacity: int | None, buffer: str = "main") -> list[dict[str, Any]]:
    return [
        {
            "column": column.name,
            "dtype": str(column.dtype),
            "shape": list(column.shape),
            "nbytes": column.nbytes,
            "tags": list(column.tags),
            "offset": None if capacity is None else column.offset(capacity),
            "buffer": buffer,
        }
        for column in layout
    ]


def _check_only(instance: int | None) -> None:
    """Raise RequestError for other instances than the first: archetypes have only one."""
    if instance:
        raise RequestError(422, f"there is no instance {instance}: an entity has one at most")


class InspectedWorld(Protocol):
    """A world of a generated package, which may have a copy of the library."""

    MANAGERS: ClassVar[tuple[str, ...]]
    QUERIES: ClassVar[tuple[str, ...]]
    GROUPS: ClassVar[tuple[str, ...]]

    @property
    def entities(self) -> Any: ...
    def destroy(self, entity: Any, /) -> None: ...
    def save(self, target: Any, /, *, codecs: Any = None) -> None: ...


def store_of(world: InspectedWorld) -> Any:
    """Return a world's archetypes, None without any: a component may have that name."""
    return getattr(world, "archetypes", None) if hasattr(world, "_chunked") else None


def make_readers(world: InspectedWorld) -> dict[str, ComponentReader]:
    """Return the readers of a world's components by their names in it."""
    readers: dict[str, ComponentReader] = {}
    for name in world.MANAGERS:
        readers[name] = ManagerReader(name, getattr(world, name))
    for row in getattr(world, "_chunked", ()):
        name = row.__module__.rpartition(".")[2]  # as chunks call it
        readers[name] = ChunkReader(name, store_of(world), row)
    return readers
