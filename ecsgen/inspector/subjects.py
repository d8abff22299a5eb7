"""Components as the inspector reads them: copies of cells, wherever their rows live.

All of it is called in ticks. What is returned is a copy; no view of a column leaves this module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from ecsgen_runtime.fields import FieldInfo
from ecsgen_runtime.handles import NIL
from numpy.typing import NDArray

from ecsgen.inspector.asking import RefusedError, missing
from ecsgen.inspector.json_cells import type_names
from ecsgen.model.columns import split_names

OWNER: Final = ""
"""The column of entities, or of ids where rows belong to nobody; no field is called so."""

Rows: TypeAlias = slice | NDArray[np.intp]


class Subject(ABC):
    """One component: how many rows there are, what is in them, and whose they are."""

    def __init__(self, name: str, title: str, kind: Any) -> None:
        self.name = name
        self.title = title
        self.fields: tuple[FieldInfo, ...] = kind.FIELDS
        self.field = {field.name: field for field in self.fields}
        self.owner = "entity"
        """What the owners' column is called: `id` where rows belong to nobody."""
        self.is_list = False
        """Whether an entity may have several rows."""
        self.grid: list[int] | None = None
        """How many cells there are along each axis, where rows are cells."""

    @property
    @abstractmethod
    def version(self) -> int:
        """How many structural changes there were."""

    @property
    @abstractmethod
    def n(self) -> int:
        """How many rows there are, holes included."""

    @property
    @abstractmethod
    def used(self) -> int:
        """How many rows are in use."""

    @property
    @abstractmethod
    def room(self) -> tuple[int, int]:
        """How many rows fit, and the bytes that they take."""

    @abstractmethod
    def owners(self, rows: Rows) -> NDArray[np.uint64]:
        """Return whose some rows are: entities, or ids; 0 for holes."""

    @abstractmethod
    def cells(self, field: str, rows: Rows) -> NDArray[Any]:
        """Return a field's cells of some rows that are there; of objects, the types' names."""

    @abstractmethod
    def find(self, entities: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the row of each entity, the first if there are several; NIL without one."""

    def rows_of(self, entity: int) -> NDArray[np.intp]:
        """Return the rows of an entity, dead or alive, in the order in which it got them."""
        rows = self.find(np.array([entity], np.uint64))
        return rows.compress(rows != NIL)

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
        """Return the owners, or the cells of a field."""
        return self.owners(rows) if name == OWNER else self.cells(name, rows)

    def step(self, name: str, nbytes: int) -> int:
        """Return how many rows of a column a tick may copy: about so many bytes."""
        width = 8
        if name != OWNER:
            field = self.field[name]
            size = 8 if field.dtype is None else field.dtype.itemsize
            width = max(1, size * prod(field.shape))
        return max(1, nbytes // width)

    def spread(self, count: int) -> Rows:
        """Return at most so many rows, evenly spread and ascending."""
        return slice(0, self.n, max(1, -(-self.n // max(1, count))))


class Managed(Subject):
    """A component with a manager."""

    def __init__(self, name: str, manager: Any) -> None:
        self.manager: Any = manager
        super().__init__(name, manager.data.MANAGER.removesuffix("Manager"), type(manager))
        self.has_holes = hasattr(manager.data, "present")
        self.is_list = bool(manager._IS_LIST)
        if not hasattr(type(manager.data), "entity"):
            self.owner = "_id" if "id" in self.field else "id"
        if hasattr(manager, "grid"):
            self.grid = [*manager.grid.shape]

    @property
    def version(self) -> int:
        return int(self.manager.version)

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
        if self.owner == "entity":
            found: NDArray[np.uint64] = self.manager.data.entity[rows].copy()
            return found
        numbers = row_numbers(rows, self.n)
        ids: NDArray[np.uint64] = self.manager.id_of_many(numbers)
        return ids

    def cells(self, field: str, rows: Rows) -> NDArray[Any]:
        info, data = self.field[field], self.manager.data
        if hasattr(type(data), field):
            return _copied(getattr(data, field), rows)
        names = split_names(info.name, info.shape)
        if hasattr(data, "_cold") and any(
            hasattr(type(data._cold), n) for n in (field, *names[:1])
        ):
            return self._cold_cells(info, rows)
        return joined([_copied(getattr(data, name), rows) for name in names], info)

    def _cold_cells(self, info: FieldInfo, rows: Rows) -> NDArray[Any]:
        """Return cells that lie in the second buffer, the default where there are none."""
        data = self.manager.data
        cold, places = data._cold, data._cold_row_column[: data._n][rows]
        kept = places != NIL
        is_one = hasattr(type(cold), info.name)
        names = [info.name] if is_one else split_names(info.name, info.shape)
        parts = []
        for name in names:
            if info.dtype is None:
                part = np.full(len(places), "NoneType", np.object_)
            else:
                default = cold.DEFAULTS[name]
                part = np.full((len(places), *default.shape), default, info.dtype)
            part[kept] = _copied(getattr(cold, name), places[kept].astype(np.intp))
            parts.append(part)
        return parts[0] if is_one else joined(parts, info)

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

    def write(self, entity: int, instance: int, values: Mapping[str, Any]) -> None:
        row = self._row(entity, instance)
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
            raise RefusedError(422, f"there is no instance {instance}: the entity has {len(rows)}")
        return int(rows[instance])

    def layout(self) -> list[dict[str, Any]]:
        manager = self.manager
        columns = columns_json(manager.LAYOUT, manager.capacity)
        if hasattr(manager, "LAYOUT_COLD"):
            room = manager.data._cold.allocated
            columns += columns_json(manager.LAYOUT_COLD, room, "cold")
        return columns


def row_numbers(rows: Rows, n: int) -> NDArray[np.intp]:
    """Return rows, of n, as numbers."""
    return np.arange(*rows.indices(n)) if isinstance(rows, slice) else rows


def _copied(column: NDArray[Any], rows: Rows) -> NDArray[Any]:
    cells = column[rows]
    if cells.dtype.hasobject:
        return type_names(cells)
    return cells.copy() if cells.base is not None else cells


def joined(parts: list[NDArray[Any]], field: FieldInfo) -> NDArray[Any]:
    """Return the cells of a split field, which are in a column for each element."""
    return np.stack(parts, axis=-1).reshape(-1, *field.shape)


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


def missing_field(subject: Subject, name: str) -> RefusedError:
    """Return the refusal of a field that a component has not."""
    return missing(f"field of {subject.name}", name)
